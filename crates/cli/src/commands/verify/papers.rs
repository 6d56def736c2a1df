//! `brunt verify PAPER.pdf`: does every number in a paper follow from the evidence in it?
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | it is byte for byte what its evidence makes |
//! | 1 | something in it contradicts the evidence, or a file of the evidence was changed |
//! | 2 | not judged: another version of brunt made it, another program wrote it anew, it is no paper, or reading it takes too much |

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use brunt_paper::verify::{Answer, Checked, Difference, VerifyError, verify};
use brunt_paper::{is_paper as is_ours, is_pdf};
use brunt_report::{counted, grouped, one_line, write_new};
use serde_json::json;

use super::VerifyArgs;
use super::limits::{self, LimitError};
use crate::exit::Exit;
use crate::output::Output;
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
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("the evidence cannot be written to {}: {source}\n  name a folder that is not there yet", path.display())]
    Extract { path: PathBuf, source: io::Error },
    #[error("the paper cannot be written to {}: {source}\n  name a file that is not there yet", path.display())]
    Paper { path: PathBuf, source: io::Error },
}

/// What to write besides the answer.
#[derive(Clone, Copy, Debug)]
struct Kept<'a> {
    /// A folder for the evidence.
    extract: Option<&'a Path>,
    /// A file for the paper that follows.
    paper: Option<&'a Path>,
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

impl From<Answer> for Exit {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Follows => Self::Passed,
            Answer::Contradicted => Self::Failed,
            Answer::OtherVersion | Answer::Rewritten | Answer::Unproven => Self::NoAnswer,
        }
    }
}

/// Judges the paper at `path`, in a process of its own ([`super::limits`]).
pub(super) fn judge(path: &Path, args: &VerifyArgs, output: &Output) -> Exit {
    let kept = Kept { extract: args.extract.as_deref(), paper: args.paper.as_deref() };
    let judged = match args.within_limits {
        true => limits::set().map_err(PaperError::Io).and_then(|()| check(path, kept)),
        false => match limits::judge(path, args) {
            Ok(exit) => return exit,
            Err(error) => Err(error.into()),
        },
    };
    let exit = match &judged {
        Ok(checked) => checked.answer.into(),
        Err(PaperError::Verify(error)) if error.is_damage() => Exit::Failed,
        _ => Exit::NoAnswer,
    };
    match (&judged, args.json) {
        (_, true) => output.data(&line(path, &judged)),
        (Ok(checked), false) => output.show(&said(path, checked, kept, output)),
        (Err(error), false) => {
            let path = path.display().to_string();
            output.error(&format!("{}: {error}", one_line(&path)));
            let why = match exit {
                Exit::Failed => "the evidence in this paper was changed",
                _ => "this file could not be judged as a paper",
            };
            output.show(&format!("{}  {why}", output.answer(exit)));
        }
    }
    exit
}

fn check(path: &Path, kept: Kept<'_>) -> Result<Checked, PaperError> {
    let mut bytes = Vec::new();
    let file = fs::OpenOptions::new().read(true).open(path)?;
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let checked = verify(&bytes, version::LONG)?;
    if let Some(out) = kept.paper {
        write_new(out, &checked.follows, is_ours)
            .map_err(|source| PaperError::Paper { path: out.to_owned(), source })?;
    }
    if let Some(folder) = kept.extract {
        keep(&checked, folder)
            .map_err(|source| PaperError::Extract { path: folder.to_owned(), source })?;
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

fn said(path: &Path, checked: &Checked, kept: Kept<'_>, output: &Output) -> String {
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
        let least = if checked.more > 0 { "at least " } else { "" };
        text += &format!("\n  and {least}{} more", grouped(more as u64));
    }
    for what in checked.unproven.iter().take(SHOWN_MAX) {
        text += &format!("\n{:14}{}", "not proven", one_line(what));
    }
    text += &format!("\n{:14}SHA-256 {}", "evidence", checked.digest);
    text += &format!("\n{:14}{}", "verdict", checked.headline);
    if let Some(out) = kept.paper {
        let out = out.display().to_string();
        text += &format!("\n{:14}{}", "it makes", one_line(&out));
    }
    let numbers = counted(checked.numbers as u64, "number");
    let mut end = match checked.answer {
        Answer::Follows => format!("all {numbers} follow from the evidence"),
        Answer::Contradicted => format!("{} not follow from the evidence", does(checked)),
        Answer::OtherVersion => format!(
            "the evidence holds together, but another version of brunt made the paper, so its pages were not compared\n  \
             ask that version: brunt {}",
            one_line(&checked.program)
        ),
        Answer::Rewritten => {
            "it is not byte for byte what its evidence makes: another program wrote it anew, or changed what only some \
             programs show"
                .to_owned()
        }
        Answer::Unproven => {
            "it is what its evidence makes, but the evidence lacks what its figures could be recomputed from".to_owned()
        }
    };
    let is_other = matches!(checked.answer, Answer::OtherVersion | Answer::Rewritten);
    if is_other && kept.paper.is_none() {
        end += "\n  show the paper that its evidence makes instead: --paper FILE.pdf";
    }
    format!("{text}\n\n{}  {end}", output.answer(checked.answer.into()))
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
        Difference::Word { page, beside, shown, follows } => {
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
            format!("it has {}, but {follows} follow", counted(*shown as u64, "page"))
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
            "same_program": checked.program == version::LONG,
            "answer": match checked.answer {
                Answer::Follows => "follows",
                Answer::Contradicted => "contradicted",
                Answer::OtherVersion => "other version",
                Answer::Rewritten => "rewritten",
                Answer::Unproven => "unproven",
            },
            "unproven": checked.unproven,
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
