//! `brunt size`: how much storage an organisation needs, and a scenario of it.
//!
//! | asked for | printed or written |
//! | --- | --- |
//! | nothing | verdict, tables, limits |
//! | `--explain` | every figure with formula, inputs, source and certainty |
//! | `--json`, `--csv` | the same for programs |
//! | `--search` | the best drives and groups, the first that passes a simulation |
//! | `--write` | the design as a scenario, for `simulate` or, where storage is real, for `run` |
//!
//! Nothing is written unless all of it can be.

mod search;

use std::io;
use std::path::{Path, PathBuf};

use brunt_lab::LabError;
use brunt_report::FolderError;
use brunt_report::result::Verdict;
use brunt_scenario::{Document, Organisation, Override, Place, Refusal, Subject};
use brunt_sizing::{DesignError, Sizing, explain, export, keys, size, unused, words};
use clap::Args;

use crate::exit::Exit;
use crate::mistakes::Mistakes;
use crate::new_file::{self, NewFileError};
use crate::opening::labelled;
use crate::output::{Output, Tone};
use crate::records::Lines;
use crate::set::SetKeys;
use crate::source::Source;
use crate::test_args::{Json, Printed};
use search::Searched;
use serde_json::json;

/// Arguments of `size`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt size examples/org.toml
  brunt size examples/org.toml --explain | less
  brunt size examples/org.toml --set org.copies=3 --set storage.level=raid5 --set storage.group_drives=5
  brunt size examples/org-search.toml --search
  brunt size examples/org.toml --write design.toml && brunt simulate design.toml
  brunt simulate design.toml --set 'event=[{ at = \"10min\", what = \"drive fails\", drive = 0 }]'")]
pub struct SizeArgs {
    /// Organisation (TOML), or - for stdin: mailboxes, servers, copies, storage
    #[arg(value_name = "ORG")]
    pub org: PathBuf,

    /// Write the design as a scenario, for `simulate` or, with `luns`, for `run`; - for stdout
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// Let --write replace a file
    #[arg(long, requires = "write")]
    pub force: bool,

    /// Find drives and groups: the cheapest, or without prices the fewest drives, that pass a
    /// simulation
    #[arg(long)]
    pub search: bool,

    /// Do not simulate what a search finds
    #[arg(long, requires = "search")]
    pub no_simulation: bool,

    /// Print every figure with its formula, inputs, source and certainty
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub explain: bool,

    /// Override a value of the organisation, such as org.copies=3; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = SetKeys, hide_possible_values = true)]
    pub set: Vec<String>,

    #[command(flatten)]
    pub printed: Printed,

    /// Print every figure as CSV on stdout
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no size, or no scenario of it.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// A signal cannot be had.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The organisation is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The organisation is wrong, in everything that is said.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// There is no scenario of it.
    #[error("{0}")]
    Design(#[from] DesignError),
    /// A search has nothing to choose.
    #[error("{0}")]
    Search(String),
    /// What a search found cannot be simulated.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its records cannot be told.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It was stopped.
    #[error("stopped, and nothing was written")]
    Stopped,
    /// The scenario cannot be written.
    #[error(transparent)]
    File(#[from] NewFileError),
}

/// Sizes the organisation: [`Exit::Failed`] when it does not keep to a limit.
///
/// # Errors
/// [`SizeError`] when there is no size, or when the design cannot be written.
pub fn run(args: &SizeArgs, output: &Output) -> Result<Exit, SizeError> {
    let mut org = organisation(args)?;
    if let Some(refusal) = unused(&org) {
        return Err(refusal.into());
    }
    if args.printed.json == Some(Json::Records) && !args.search {
        return Err(Place::flag("--json=records").refuse("is for --search").into());
    }
    let lines = Lines::of(&args.printed, output);
    let searched = match args.search {
        true => Some(searched(args, &org, &lines, output)?),
        false => None,
    };
    if let Some(searched) = &searched {
        match searched.chosen() {
            Some(chosen) => org = chosen.applied(&org),
            None => {
                let json = json!({ "verdict": "nothing found", "search": searched.json() });
                lines.tell((Verdict::Fail.word(), &pretty(&json)), output, || {
                    output.show(&format!(
                        "{:14}no design holds\n{}",
                        output.paint(Tone::Bad, "NOTHING FOUND"),
                        searched.text()
                    ));
                });
                return Ok(Exit::Failed);
            }
        }
    }
    let sizing = size(&org);
    let written = match &args.write {
        Some(path) => Some((path, design(args, &sizing)?)),
        None => None,
    };
    if let Some((path, text)) = &written {
        new_file::write(path, text, args.force)?;
    }
    let verdict = match sizing.holds() {
        true => Verdict::Pass,
        false => Verdict::Fail,
    };
    match (args.printed.json, args.csv) {
        (Some(_), _) => {
            let mut json = export::json(&sizing);
            if let (Some(searched), Some(object)) = (&searched, json.as_object_mut()) {
                object.insert("search".to_owned(), searched.json());
            }
            lines.tell((verdict.word(), &pretty(&json)), output, || {});
        }
        (_, true) => output.data(export::csv(&sizing).trim_end()),
        _ if is_stdout(args.write.as_deref()) => output.data(written.expect("it was").1.trim_end()),
        _ if args.explain => output.show(&explain::explanation(&sizing)),
        _ => output.show(&told(&sizing, searched.as_ref(), output)),
    }
    if let Some(path) = args.write.as_deref().filter(|path| !is_stdout(Some(path))) {
        output.talk(&then(path, &org));
    }
    Ok(verdict.into())
}

/// What a search finds for `org`.
fn searched(
    args: &SizeArgs,
    org: &Organisation,
    lines: &Lines,
    output: &Output,
) -> Result<Searched, SizeError> {
    if !org.storage.luns.is_empty() {
        let what = "[storage] names folders, so there are no drives to choose\n  leave `luns` out, or `--search`";
        return Err(SizeError::Search(what.to_owned()));
    }
    Searched::new(org, args.no_simulation, lines, output)
}

fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(new_file::is_stdout)
}

/// The organisation, with everything that is wrong with it at once.
fn organisation(args: &SizeArgs) -> Result<Organisation, SizeError> {
    let otherwise = format!("to have one written: brunt init --org {}", args.org.display());
    let source = Source::of(&args.org, &[&otherwise])?;
    let document = source.document()?;
    let overrides = Override::all(&args.set, &[])?;
    if document.subject() != Subject::Organisation {
        return Ok(document.organisation(&overrides, &keys())?);
    }
    let checked = document.check_organisation(&overrides, &keys());
    Ok(Mistakes::none_or(checked)?)
}

/// The design, which can be read again.
fn design(args: &SizeArgs, sizing: &Sizing<'_>) -> Result<String, SizeError> {
    let text = sizing.scenario(&Source::name(&args.org))?;
    let document = Document::new("the design", &text, Path::new("/"))?;
    match document.subject() {
        Subject::ModelledTest => {
            let checked = document.check_modelled_test(&[]);
            Mistakes::none_or(checked)?;
        }
        _ => {
            let checked = document.check_test(&[]);
            Mistakes::none_or(checked)?;
        }
    }
    Ok(text)
}

/// Everything for people, the verdict first.
fn told(sizing: &Sizing<'_>, searched: Option<&Searched>, output: &Output) -> String {
    let (word, sentence) = words::verdict(sizing);
    let tone = match sizing.holds() {
        true => Tone::Good,
        false => Tone::Bad,
    };
    let mut text = format!(
        "{}{sentence}\n{}\n",
        output.paint(tone, &format!("{word:14}")),
        words::head(sizing)
    );
    for (label, remark) in words::remarks(sizing) {
        text += &format!("{}\n", labelled(label, [remark]).join("\n"));
    }
    if let Some(searched) = searched {
        text += &format!("{}\n", searched.text());
    }
    let tables = [
        Some(words::demand(sizing)),
        words::block(sizing),
        Some(words::server(sizing)),
        Some(words::limits(sizing)),
    ];
    for table in tables.into_iter().flatten() {
        text += &format!("\n{}", table.to_indented_text());
    }
    text.trim_end().to_owned()
}

/// What to do with the design.
fn then(path: &Path, org: &Organisation) -> String {
    let path = path.display();
    let written = format!("\nwrote {path}");
    match org.storage.luns.is_empty() {
        true => format!(
            "{written}\n\n{:14}brunt simulate {path}\n{:14}brunt simulate {path} --set 'event=[{{ at = \"10min\", what = \"drive fails\", drive = 0 }}]'",
            "worst hour", "rebuilding"
        ),
        false => {
            format!("{written}\n\n{:14}brunt run {path} --check\n{:14}brunt run {path}", "then", "")
        }
    }
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("numbers and texts can be written")
}
