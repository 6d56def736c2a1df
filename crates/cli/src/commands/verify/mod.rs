//! `brunt verify`: are these database and log files intact? Does a paper follow from its evidence
//! ([`papers`])?
//!
//! Files are only read, one after the other, past the page cache. The table goes to stdout; with
//! `--json` one line of JSON for each file goes there instead, with every finding that was kept.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every file is intact |
//! | 1 | at least one is damaged, if only by a flipped bit that an engine would repair |
//! | 2 | none is known to be damaged, but at least one could not be judged, or its owned space could not be read |

mod limits;
mod papers;

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::format::header::DatabaseState;
use brunt_ese::verify::{FileKind, FileReport, Finding, Place, VerifyError, verify};
use brunt_qualify::truth::verification::verified_file;
use brunt_report::result::VerifiedFile;
use brunt_report::{Column, Row, Table, decimals, grouped, one_line, table};
use brunt_units::ByteSize;
use brunt_world::{Disk, Io, Ticket, World};
use brunt_world_real::{Options, RealWorld, StartError};
use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::output::{Output, Tone};
use crate::progress::Progress;

/// Arguments of `verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  brunt verify /srv/mail/*.edb
  brunt verify --json one.edb E0000000A.log | jq .pages_bad
  brunt verify paper.pdf                       does every number follow from the evidence in it?
  brunt verify paper.pdf --extract evidence/   keep the run folders that it carries
  brunt verify paper.pdf --paper own.pdf       write the paper that they make")]
pub struct VerifyArgs {
    /// Databases of any program that uses ESE; logs, checkpoints, flush maps and papers of brunt
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Keep the evidence of a paper in this folder, which must not exist
    #[arg(long, value_name = "FOLDER")]
    pub extract: Option<PathBuf>,

    /// Write the paper that follows from the evidence of a paper; replaces only a paper of brunt
    #[arg(long, value_name = "FILE")]
    pub paper: Option<PathBuf>,

    /// Print one line of JSON for each file
    #[arg(long)]
    pub json: bool,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,

    /// Read a paper in this process, within limits
    #[arg(long, hide = true)]
    pub within_limits: bool,
}

/// Findings of one file that the table's reader is shown; `--json` has more.
const SHOWN_MAX: usize = 20;
/// The version of a line of `--json`.
const SCHEMA_VERSION: u32 = 1;

/// What became of one file.
type Judged = (PathBuf, Result<FileReport, VerifyError>);

/// Judges the files.
///
/// # Errors
/// When there is no real world to read them in.
pub fn run(args: &VerifyArgs, output: &Output) -> Result<Exit, StartError> {
    let (papers, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.files.iter().partition(|path| papers::is_paper(path));
    let mut ends = Vec::new();
    if (args.paper.is_some() || args.extract.is_some()) && papers.len() != 1 {
        output.error("--paper and --extract are about one paper\n  name one PDF");
        return Ok(Exit::NoAnswer);
    }
    for path in papers {
        ends.push(papers::judge(path, args, output));
    }
    if !files.is_empty() {
        ends.push(run_files(&files, args.json, output)?);
    }
    let is = |exit| ends.contains(&exit);
    Ok(match (is(Exit::Failed), is(Exit::NoAnswer)) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::NoAnswer,
        (false, false) => Exit::Passed,
    })
}

fn run_files(files: &[&PathBuf], json: bool, output: &Output) -> Result<Exit, StartError> {
    let mut real = RealWorld::new(&Options::default())?;
    let mut judged = Vec::new();
    for path in files {
        let report = judge(&mut real, path, output);
        if json {
            output.data(&self::json(path, &report));
        }
        judged.push(((*path).clone(), report));
    }
    if !json {
        show(&judged, output);
    }
    Ok(exit(&judged))
}

fn judge(real: &mut RealWorld, path: &Path, output: &Output) -> Result<FileReport, VerifyError> {
    let bytes = fs::metadata(path).map_or(0, |status| status.len());
    let watched = Rc::new(WatchedDisk {
        inner: Rc::clone(&real.world.disk),
        read_bytes: Cell::new(0),
        total_bytes: bytes,
        progress: RefCell::new(output.progress("verify")),
    });
    let world = World { disk: watched.clone(), ..real.world.clone() };
    let path = path.to_owned();
    let report = real.executor.block_on(async move { verify(&world, &path).await });
    watched.progress.borrow_mut().vanish();
    report
}

/// A disk that shows how far reading is.
struct WatchedDisk {
    inner: Rc<dyn Disk>,
    read_bytes: Cell<u64>,
    total_bytes: u64,
    progress: RefCell<Progress>,
}

impl Disk for WatchedDisk {
    fn submit(&self, io: Io) -> Ticket {
        let read = self.read_bytes.get() + io.length();
        self.read_bytes.set(read);
        let share = read as f64 / self.total_bytes.max(1) as f64;
        let [done, total] = [read, self.total_bytes].map(ByteSize::bytes);
        self.progress.borrow_mut().show_paced(
            share,
            || format!("{done} of {total}"),
            |seconds| format!("{} MiB/s", mebibytes(read as f64 / seconds)),
        );
        self.inner.submit(io)
    }
}

fn mebibytes(bytes: f64) -> String {
    decimals(bytes / f64::from(1 << 20))
}

fn is_damaged((_, report): &Judged) -> bool {
    match report {
        Ok(report) => !report.is_intact(),
        Err(error) => error.is_damage(),
    }
}

fn is_unjudged((_, report): &Judged) -> bool {
    !report.as_ref().is_ok_and(FileReport::is_judged)
}

fn exit(judged: &[Judged]) -> Exit {
    if judged.iter().any(is_damaged) {
        Exit::Failed
    } else if judged.iter().any(is_unjudged) {
        Exit::NoAnswer
    } else {
        Exit::Passed
    }
}

fn show(judged: &[Judged], output: &Output) {
    let reports: Vec<_> = judged.iter().filter_map(|(_, report)| report.as_ref().ok()).collect();
    if !reports.is_empty() {
        let words = ["file", "kind"].map(Column::words);
        let numbers = ["pages", "bad", "correctable", "wrong page number", "size", "MiB/s"];
        let columns = words.into_iter().chain(numbers.map(Column::numbers));
        let table = Table::new(columns, reports.iter().map(|report| row(report)));
        output.show(&table.to_text());
    }
    for report in &reports {
        details(report, output);
    }
    for (path, report) in judged {
        if let Err(error) = report {
            let path = path.display().to_string();
            output.error(&format!("{}: {error}", one_line(&path)));
        }
    }
    output.show(&format!("\n{}", verdict(judged, output)));
}

fn row(report: &FileReport) -> Row {
    let rate = report.bytes as f64 / report.elapsed.as_seconds().max(1e-9);
    Row::new([
        table::Cell::from(report.file.display().to_string()),
        kind(&report.kind).into(),
        report.pages_seen.into(),
        report.pages_bad.into(),
        report.pages_correctable.into(),
        report.pages_wrong_number.into(),
        ByteSize::bytes(report.bytes).to_string().into(),
        mebibytes(rate).into(),
    ])
}

fn kind(kind: &FileKind) -> String {
    match kind {
        FileKind::Database { page_size, state, .. } => {
            format!("database, {page_size} pages, {}", state_word(*state))
        }
        FileKind::Log { generation } => format!("log {generation:X}"),
        FileKind::BlankLog => "log, not written yet".to_owned(),
        FileKind::Checkpoint => "checkpoint".to_owned(),
        FileKind::FlushMap => "flush map".to_owned(),
    }
}

fn details(report: &FileReport, output: &Output) {
    let file = report.file.display().to_string();
    let file = one_line(&file);
    for finding in report.findings.iter().take(SHOWN_MAX) {
        let place = place(finding.place);
        output.show(&format!("{file}: {place} (offset {}): {}", finding.offset, finding.fault));
    }
    let shown = report.findings.len().min(SHOWN_MAX) as u64;
    let more = report.pages_bad + report.pages_correctable - shown;
    if more > 0 {
        output.show(&format!("{file}: and {} more", grouped(more)));
    }
    for note in &report.notes {
        let note = format!("{file}: {note}");
        output.show(&output.paint(Tone::Faint, &note));
    }
}

fn place(place: Place) -> String {
    match place {
        Place::Header => "header".to_owned(),
        Place::Shadow => "second header".to_owned(),
        Place::Page(page) => format!("page {page}"),
        Place::Segment(segment) => format!("segment {segment}"),
    }
}

fn verdict(judged: &[Judged], output: &Output) -> String {
    let count = judged.len();
    let files = if count == 1 { "file" } else { "files" };
    let of = |wanted: fn(&Judged) -> bool| judged.iter().filter(|one| wanted(one)).count();
    let exit = exit(judged);
    let why = match exit {
        Exit::Passed => format!("{count} {files} intact"),
        Exit::Failed => format!("{} of {count} {files} damaged", of(is_damaged)),
        _ => format!("{} of {count} {files} could not be judged", of(is_unjudged)),
    };
    format!("{}  {why}", output.answer(exit))
}

/// A judged file as a line of JSON.
#[derive(Serialize)]
struct JudgedLine {
    schema_version: u32,
    #[serde(flatten)]
    counts: VerifiedFile,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// Whether it is known which pages had to be judged.
    judged: bool,
    findings: Vec<FindingLine>,
    findings_omitted: u64,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct FindingLine {
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    offset_bytes: u64,
    ese_error: i32,
    text: String,
}

/// A file that was not judged as a line of JSON.
#[derive(Serialize)]
struct RefusedLine {
    schema_version: u32,
    file: String,
    error: String,
}

fn json(path: &Path, report: &Result<FileReport, VerifyError>) -> String {
    let line = match report {
        Ok(report) => serde_json::to_string(&judged_line(report)),
        Err(error) => serde_json::to_string(&RefusedLine {
            schema_version: SCHEMA_VERSION,
            file: path.display().to_string(),
            error: error.to_string(),
        }),
    };
    line.expect("maps have string keys")
}

fn judged_line(report: &FileReport) -> JudgedLine {
    let (kind, page_bytes, state) = match &report.kind {
        FileKind::Database { page_size, state, .. } => {
            ("database", Some(page_size.bytes_u64()), Some(state_word(*state)))
        }
        FileKind::Log { .. } => ("log", None, None),
        FileKind::BlankLog => ("blank log", None, None),
        FileKind::Checkpoint => ("checkpoint", None, None),
        FileKind::FlushMap => ("flush map", None, None),
    };
    JudgedLine {
        schema_version: SCHEMA_VERSION,
        counts: verified_file(report),
        kind,
        page_bytes,
        state,
        judged: report.is_judged(),
        findings: report.findings.iter().map(finding_line).collect(),
        findings_omitted: report.findings_omitted(),
        notes: report.notes.iter().map(ToString::to_string).collect(),
    }
}

fn finding_line(finding: &Finding) -> FindingLine {
    FindingLine {
        place: place(finding.place),
        page: match finding.place {
            Place::Page(page) => Some(page.0),
            _ => None,
        },
        offset_bytes: finding.offset,
        ese_error: finding.fault.code(),
        text: finding.fault.to_string(),
    }
}

fn state_word(state: DatabaseState) -> &'static str {
    match state {
        DatabaseState::JustCreated => "just created",
        DatabaseState::Dirty => "dirty shutdown",
        DatabaseState::Clean => "clean shutdown",
        DatabaseState::Other(_) => "other",
    }
}
