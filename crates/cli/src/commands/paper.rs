//! `brunt paper`: the paper about a storage solution, from the run folders of its tests.
//!
//! The runs are read first, and whatever keeps them from being one paper is said before anything is
//! written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brunt_paper::evidence::{POINTS, Redacted};
use brunt_paper::{Evidence, Paper, PaperError, RunFiles, is_page, is_paper};
use brunt_report::{ReadError, grouped, one_line, open_in, write_new};
use brunt_scenario::{Document, Refusal};
use clap::Args;

use super::report::newest_below;
use crate::exit::Exit;
use crate::output::Output;
use crate::version;

/// Arguments of `paper`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt paper RUN --out mail.pdf                              one performance test
  brunt paper performance/ stress/ backup/ recovery/          all four kinds, in paper.pdf
  brunt paper design/ rebuilding/ until-fail/                 a prediction with a rebuild and its margin
  brunt paper host-a/ host-b/ --solution ours.toml --redact   two hosts, tested at the same time
  brunt verify paper.pdf                                      does every number follow from the evidence?

The exit code is 0 when the paper was written, whatever its verdict, and 2 otherwise.")]
pub struct PaperArgs {
    /// Run folders of one system: for each kind of test, a run of each server
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// File to write, .pdf or .html; replaces only a paper of brunt
    #[arg(long, value_name = "FILE", default_value = "paper.pdf")]
    pub out: PathBuf,

    /// Describe the solution by the [solution] of this file instead of those of the runs
    #[arg(long, value_name = "FILE")]
    pub solution: Option<PathBuf>,

    /// Replace names of the organisation, hosts and users, addresses and serial numbers, in the
    /// paper and in the evidence
    #[arg(long)]
    pub redact: bool,

    /// Replace this word as well, wherever it stands; implies --redact, and may be given several
    /// times
    #[arg(long, value_name = "WORD")]
    pub redact_word: Vec<String>,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no paper.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A folder that runs are in.
    #[error("{}: is not a run, but has runs in it\n  for example: brunt paper {}", .0.display(), .1.display())]
    Above(PathBuf, PathBuf),
    /// The runs are no paper.
    #[error(transparent)]
    Paper(#[from] PaperError),
    /// The description of the solution is wrong.
    #[error(transparent)]
    Solution(#[from] Refusal),
    /// It describes nothing.
    #[error("{}: has no [solution]\n  examples/scenario.toml has its keys", .0.display())]
    NoSolution(PathBuf),
    /// A paper has one of two formats.
    #[error("{}: a paper is a .pdf or an .html", .0.display())]
    Format(PathBuf),
    /// A page to sign has one of three.
    #[error("{}: a page to sign is a .pdf, an .html or a .json", .0.display())]
    SignOffFormat(PathBuf),
    /// Something else stands where the paper belongs.
    #[error("{}: {what}, and is left alone\n  name another file with --out", path.display())]
    Taken {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: io::Error,
    },
    /// A folder without runs.
    #[error("{}: there is no run in it\n  brunt run writes one for each test", .0.display())]
    NoRuns(PathBuf),
    /// Several servers ran the same tests; each with the runs of its page.
    #[error("{}", of_servers(.0))]
    Servers(Vec<(String, Vec<String>)>),
    /// No run came to an answer.
    #[error("no test came to an answer, so there is nothing to sign")]
    NothingToSign,
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes the paper.
///
/// # Errors
/// [`CommandError`] when there is none; nothing is written then.
pub fn run(args: &PaperArgs, output: &Output) -> Result<Exit, CommandError> {
    let extension = args.out.extension().unwrap_or_default();
    let is_pdf = match extension.to_string_lossy().as_ref() {
        "pdf" => true,
        "html" => false,
        _ => return Err(CommandError::Format(args.out.clone())),
    };
    let mut evidence = Evidence {
        program: version::LONG.to_owned(),
        redacted: false,
        sign_off: false,
        runs: Vec::new(),
        solution: args.solution.as_deref().map(solution).transpose()?,
    };
    for run in &args.runs {
        evidence.runs.push(read(run)?);
    }
    let mut redacted = None;
    if args.redact || !args.redact_word.is_empty() {
        redacted = Some(evidence.redact(&args.redact_word)?);
    }
    let paper = Paper::new(&evidence)?;
    match is_pdf {
        true => write(&args.out, &paper.to_pdf()?, is_paper)?,
        false => write(&args.out, paper.to_html().as_bytes(), is_page)?,
    }
    let mut text = said(args, &paper, &evidence, is_pdf, output);
    if let Some(redacted) = &redacted {
        text += &of_redacted(redacted);
    }
    output.talk(&text);
    Ok(Exit::Passed)
}

/// The description of the solution in a file that may hold a whole scenario.
fn solution(path: &Path) -> Result<String, CommandError> {
    let text = fs::read_to_string(path)
        .map_err(|source| CommandError::File { path: path.to_owned(), source })?;
    let document = Document::new(&path.display().to_string(), &text, Path::new("/"))?;
    match document.solution()?.is_empty() {
        true => Err(CommandError::NoSolution(path.to_owned())),
        false => Ok(text),
    }
}

fn read(run: &Path) -> Result<RunFiles, CommandError> {
    let folder = match run.file_name() {
        Some(name) if name == "result.json" => run.parent().unwrap_or(Path::new("")),
        _ => run,
    };
    let files = RunFiles::read(&folder.display().to_string(), |name| open_in(folder, name))?;
    if ["result.json", POINTS].iter().any(|name| files.bytes(name).is_some()) {
        return Ok(files);
    }
    Err(match newest_below(folder) {
        Some(newest) => CommandError::Above(folder.to_owned(), newest),
        None => ReadError::NoRun(folder.to_owned()).into(),
    })
}

pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    is_ours: fn(&[u8]) -> bool,
) -> Result<(), CommandError> {
    write_new(path, bytes, is_ours).map_err(|error| {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => CommandError::Taken { path, what: error },
            _ => CommandError::File { path, source: error },
        }
    })
}

/// Why there is no one page for `servers`, and how each gets its own.
fn of_servers(servers: &[(String, Vec<String>)]) -> String {
    let mut text =
        format!("the runs are of {} servers, and a page is signed for one:", servers.len());
    for (server, runs) in servers {
        let (server, runs) = (one_line(server), runs.join(" "));
        text += &format!("\n  brunt handover {runs} --out signoff-{server}.pdf");
    }
    text + "\n  or, of tests at the same time: brunt paper RUN... adds the servers up"
}

/// What was replaced, and what the user may want to have replaced as well.
fn of_redacted(redacted: &Redacted) -> String {
    let mut text = String::new();
    for (name, other) in &redacted.replaced {
        text += &format!("\n{:14}{} by {other}", "replaced", one_line(name));
    }
    if redacted.replaced.is_empty() {
        text += &format!("\n{:14}nothing", "replaced");
    }
    if !redacted.stays.is_empty() {
        let stays: Vec<String> =
            redacted.stays.iter().map(|name| one_line(name).into_owned()).collect();
        let stays = stays.join(", ");
        text += &format!("\n{:14}{stays}: --redact-word WORD replaces one", "stays");
    }
    text
}

fn said(
    args: &PaperArgs,
    paper: &Paper,
    evidence: &Evidence,
    is_pdf: bool,
    output: &Output,
) -> String {
    let out = args.out.display();
    let headline = output.paint_talk(paper.colour.into(), &paper.headline);
    let mut text = format!("{headline}  {}\n\n{:14}{out}", one_line(&paper.sentence), "paper");
    let files: usize = evidence.runs.iter().map(|run| run.files.len()).sum();
    let digest = &paper.digest[..12];
    let runs = brunt_report::counted(evidence.runs.len() as u64, "run");
    text += &format!("\n{:14}{files} files of {runs}, SHA-256 {digest}...", "evidence");
    let shortened = evidence.runs.iter().flat_map(|run| &run.files);
    if shortened.clone().any(|file| file.whole.is_some()) {
        text += "; long tables are shortened";
    }
    for wrong in &paper.audit.wrong {
        text += &format!(
            "\n{:14}run{}: {} is {}, but {} follows",
            "doubtful",
            wrong.run,
            one_line(&wrong.what),
            wrong.stated,
            wrong.follows
        );
    }
    for what in &paper.audit.unproven {
        text += &format!("\n{:14}{}", "not proven", one_line(what));
    }
    if !paper.unshown.is_empty() {
        let count = grouped(paper.unshown.len() as u64);
        text += &format!(
            "\n{:14}{count} characters that its fonts lack; the paper lists them",
            "not shown"
        );
    }
    match is_pdf {
        true => text + &format!("\n{:14}brunt verify {out}", "check"),
        false => text + &format!("\n{:14}only a PDF carries the evidence: --out FILE.pdf", "note"),
    }
}
