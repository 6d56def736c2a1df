//! `brunt handover`: a page to sign, with the paper behind it, from the newest run of each kind.
//!
//! Which runs these are is decided in `brunt_paper::Handover`; whatever stays behind is named.

use std::path::{Path, PathBuf};

use brunt_paper::{Evidence, Handover, Paper, RunFiles, SignOff, is_page, is_paper};
use brunt_report::result::Colour;
use brunt_report::{one_line, open_in};
use clap::Args;

use super::paper::{CommandError, write};
use super::report::runs_below;
use crate::exit::Exit;
use crate::output::Output;
use crate::version;

/// Arguments of `handover`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt handover                               of the tests in runs/: signoff.pdf
  brunt handover runs/ --out mail.pdf          with another name
  brunt handover runs/ --out signoff.html      the same page for reading, .json for programs

Performance, backup and recovery are needed; stress is added where it was run. A page is for one server.
The exit code is that of the verdict: 0 passed, 1 failed, 2 something is missing.")]
pub struct HandoverArgs {
    /// Run folders, or folders with runs in them
    #[arg(value_name = "RUNS", default_value = "runs")]
    pub runs: Vec<PathBuf>,

    /// File to write, .pdf, .html or .json; replaces only a page of brunt
    #[arg(long, value_name = "FILE", default_value = "signoff.pdf")]
    pub out: PathBuf,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// Writes the page.
///
/// # Errors
/// [`CommandError`] when there is no run to hand over, or it cannot be written.
pub fn run(args: &HandoverArgs, output: &Output) -> Result<Exit, CommandError> {
    Format::of(&args.out)?;
    let signing = Signing::of(&args.runs, output)?;
    signing.write(&args.out)?;
    Ok(signing.tell(&args.out, output))
}

/// A page to sign, and what it is made from.
pub(crate) struct Signing {
    evidence: Evidence,
    paper: Paper,
    page: SignOff,
}

impl Signing {
    /// That of the newest run of each kind in `folders`.
    pub(crate) fn of(folders: &[PathBuf], output: &Output) -> Result<Self, CommandError> {
        let mut runs = Vec::new();
        for folder in folders {
            let below = runs_in(folder);
            if below.is_empty() {
                return Err(CommandError::NoRuns(folder.clone()));
            }
            for run in below {
                runs.push(RunFiles::read(&run.display().to_string(), |name| open_in(&run, name))?);
            }
        }
        let handover = Handover::among(runs);
        for (label, why) in &handover.left_out {
            output.talk(&format!("{:14}{}: {why}", "left out", one_line(label)));
        }
        if handover.servers.len() > 1 {
            return Err(CommandError::Servers(handover.servers));
        }
        if handover.chosen.is_empty() {
            return Err(CommandError::NothingToSign);
        }
        let evidence = Evidence {
            program: version::LONG.to_owned(),
            sign_off: true,
            runs: handover.chosen,
            ..Evidence::default()
        };
        let paper = Paper::new(&evidence)?;
        let page = paper.sign_off.clone().expect("the evidence asks for it");
        Ok(Self { evidence, paper, page })
    }

    pub(crate) fn write(&self, out: &Path) -> Result<(), CommandError> {
        match Format::of(out)? {
            Format::Pdf => write(out, &self.paper.to_pdf()?, is_paper),
            Format::Html => write(out, self.paper.to_html().as_bytes(), is_page),
            Format::Json => {
                let json = serde_json::to_string_pretty(&self.page).expect("texts and numbers");
                write(out, (json + "\n").as_bytes(), is_json)
            }
        }
    }

    /// Says what is in the file `out`; the exit code is that of the verdict.
    pub(crate) fn tell(&self, out: &Path, output: &Output) -> Exit {
        output.talk(&said(&self.page, &self.evidence, out, output));
        match self.page.colour {
            Colour::Green | Colour::Amber => Exit::Passed,
            Colour::Red => Exit::Failed,
            Colour::Grey => Exit::NoAnswer,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pdf,
    Html,
    Json,
}

impl Format {
    fn of(path: &Path) -> Result<Self, CommandError> {
        match path.extension().unwrap_or_default().to_string_lossy().as_ref() {
            "pdf" => Ok(Self::Pdf),
            "html" => Ok(Self::Html),
            "json" => Ok(Self::Json),
            _ => Err(CommandError::SignOffFormat(path.to_owned())),
        }
    }
}

/// Whether `bytes` are a page as JSON.
fn is_json(bytes: &[u8]) -> bool {
    let value: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    value.is_ok_and(|value| {
        value["schema"].as_str().is_some_and(|schema| schema.starts_with("brunt.handover/"))
    })
}

/// The run in `folder`, or those in its folders.
fn runs_in(folder: &Path) -> Vec<PathBuf> {
    match folder.join("result.json").is_file() {
        true => vec![folder.to_owned()],
        false => runs_below(folder).collect(),
    }
}

fn said(page: &SignOff, evidence: &Evidence, out: &Path, output: &Output) -> String {
    let verdict = output.paint_talk(page.colour.into(), &page.verdict);
    let mut text = format!("{verdict}  {}\n\n", one_line(&page.sentence));
    for test in &page.tests {
        let runs = test.runs.iter().map(|number| one_line(&evidence.runs[number - 1].label));
        let runs: Vec<_> = runs.collect();
        text += &format!("  {:18}{:28}{}\n", test.kind.word(), test.verdict, runs.join(", "));
    }
    text += &format!("\n{:14}{}", "to sign", out.display());
    match Format::of(out) {
        Ok(Format::Pdf) => text + &format!("\n{:14}brunt verify {}", "check", out.display()),
        _ => text + &format!("\n{:14}only a PDF carries the evidence: --out signoff.pdf", "note"),
    }
}
