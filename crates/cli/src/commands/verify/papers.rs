//! `brunt verify PAPER.pdf`: does every number in a paper follow from the evidence in it?
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | everything follows |
//! | 1 | something does not, or a file of the evidence was changed |
//! | 2 | it is no paper, cannot be read, or was made by another version of brunt and differs from what this one makes |

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use brunt_paper::is_pdf;
use brunt_paper::verify::{Checked, Difference, VerifyError, verify};
use brunt_report::{counted, grouped, one_line};
use serde_json::json;

use crate::exit::Exit;
use crate::output::{Output, Tone};
use crate::version;

/// Differences that the reader is shown; `--json` has more.
const SHOWN_MAX: usize = 20;
/// Larger files are no papers; the reader of PDFs says so.
const BYTES_MAX: u64 = (64 << 20) + 1;

/// Why a paper could not be judged.
#[derive(Debug, thiserror::Error)]
enum PaperError {
    #[error(transparent)]
    Verify(#[from] VerifyError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the evidence cannot be written to {}: {source}\n  name a folder that is not there yet", path.display())]
    Extract { path: PathBuf, source: io::Error },
}

/// Whether the file at `path` is a PDF, by its first bytes.
pub(super) fn is_paper(path: &Path) -> bool {
    let mut begin = [0; 5];
    let read = fs::metadata(path).is_ok_and(|status| status.is_file())
        && fs::OpenOptions::new()
            .read(true)
            .open(path)
            .and_then(|mut file| file.read_exact(&mut begin))
            .is_ok();
    read && is_pdf(&begin)
}

/// Judges the paper at `path`, and keeps its evidence in the folder `extract`.
pub(super) fn judge(path: &Path, extract: Option<&Path>, json: bool, output: &Output) -> Exit {
    let judged = check(path, extract);
    let exit = match &judged {
        Ok(checked) if checked.differences.is_empty() => Exit::Passed,
        Ok(checked) if checked.is_own => Exit::Failed,
        Err(PaperError::Verify(error)) if error.is_damage() => Exit::Failed,
        _ => Exit::NoAnswer,
    };
    match (&judged, json) {
        (_, true) => output.data(&line(path, &judged)),
        (Ok(checked), false) => output.show(&said(path, checked, output)),
        (Err(error), false) => {
            let path = path.display().to_string();
            output.error(&format!("{}: {error}", one_line(&path)));
            if exit == Exit::Failed {
                let word = output.paint(Tone::Bad, "FAIL");
                output.show(&format!("{word}  the evidence in this paper was changed"));
            }
        }
    }
    exit
}

fn check(path: &Path, extract: Option<&Path>) -> Result<Checked, PaperError> {
    let mut bytes = Vec::new();
    let file = fs::OpenOptions::new().read(true).open(path)?;
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let checked = verify(&bytes, version::LONG)?;
    if let Some(folder) = extract {
        keep(&checked, folder).map_err(|source| PaperError::Extract {
            path: folder.to_owned(),
            source,
        })?;
    }
    Ok(checked)
}

/// Writes the evidence to a new folder. Its names are ours.
fn keep(checked: &Checked, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for file in &checked.attachments {
        let (run, name) = file.place();
        let own = run.map_or(folder.to_owned(), |run| folder.join(run));
        if !own.is_dir() {
            fs::create_dir(&own)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut written = options.write(true).create_new(true).open(own.join(name))?;
        io::Write::write_all(&mut written, &file.bytes)?;
    }
    Ok(())
}

fn said(path: &Path, checked: &Checked, output: &Output) -> String {
    let name = path.display().to_string();
    let mut text = format!(
        "{}: {}, {}, made by brunt {}",
        one_line(&name),
        counted(checked.runs as u64, "run"),
        counted(checked.pages as u64, "page"),
        one_line(&checked.program)
    );
    for difference in checked.differences.iter().take(SHOWN_MAX) {
        text += &format!("\n  {}", one_line(&in_words(difference)));
    }
    let shown = checked.differences.len().min(SHOWN_MAX);
    let more = checked.differences.len() - shown + checked.more;
    if more > 0 {
        text += &format!("\n  and {} more", grouped(more as u64));
    }
    text += &format!("\n{:14}SHA-256 {}", "evidence", checked.digest);
    text += &format!("\n{:14}{}", "verdict", checked.headline);
    let numbers = counted(checked.numbers as u64, "number");
    let end = match (checked.differences.is_empty(), checked.is_own) {
        (true, true) => format!(
            "{}  all {numbers} follow from the evidence",
            output.paint(Tone::Good, "PASS")
        ),
        (true, false) => format!(
            "{}  all {numbers} follow from the evidence; another version made the paper, so only its words were compared",
            output.paint(Tone::Good, "PASS")
        ),
        (false, true) => format!(
            "{}  {} not follow from the evidence",
            output.paint(Tone::Bad, "FAIL"),
            does(checked)
        ),
        (false, false) => format!(
            "{}  {} not follow, but another version made the paper and may word it otherwise\n  ask that version: brunt {}",
            output.paint(Tone::Doubt, "ERROR"),
            does(checked),
            one_line(&checked.program)
        ),
    };
    format!("{text}\n\n{end}")
}

/// `1 thing does`, `3 things do`.
fn does(checked: &Checked) -> String {
    let count = checked.differences.len() + checked.more;
    match count {
        1 => "1 thing does".to_owned(),
        count => format!("{} things do", grouped(count as u64)),
    }
}

fn in_words(difference: &Difference) -> String {
    match difference {
        Difference::Word {
            page,
            beside,
            shown,
            follows,
        } => {
            let place = match beside.is_empty() {
                true => format!("page {page}"),
                false => format!("page {page}, {beside}"),
            };
            match (shown.as_str(), follows.as_str()) {
                ("", follows) => format!("{place}: {follows} is missing"),
                (shown, "") => format!("{place}: {shown} does not follow"),
                (shown, follows) => format!("{place}: {shown}, but {follows} follows"),
            }
        }
        Difference::Drawing { page, place } => {
            format!("page {page}: the words follow, but not how they are drawn ({place})")
        }
        Difference::Pages { shown, follows } => {
            format!(
                "it has {}, but {follows} follow",
                counted(*shown as u64, "page")
            )
        }
        Difference::Besides(what) => format!("besides the pages: {what} is not as brunt writes it"),
        Difference::Sum(wrong) => format!(
            "run{}: {} is {}, but {} follows",
            wrong.run, wrong.what, wrong.stated, wrong.follows
        ),
    }
}

fn line(path: &Path, judged: &Result<Checked, PaperError>) -> String {
    let file = path.display().to_string();
    let line = match judged {
        Ok(checked) => json!({
            "schema_version": super::SCHEMA_VERSION,
            "file": file,
            "kind": "paper",
            "program": checked.program,
            "same_program": checked.is_own,
            "verdict": checked.headline,
            "evidence_sha256": checked.digest,
            "runs": checked.runs,
            "pages": checked.pages,
            "numbers": checked.numbers,
            "differences": checked.differences.iter().map(in_words).collect::<Vec<_>>(),
            "differences_omitted": checked.more,
        }),
        Err(error) => json!({
            "schema_version": super::SCHEMA_VERSION,
            "file": file,
            "kind": "paper",
            "error": error.to_string(),
        }),
    };
    line.to_string()
}
