//! `brunt init`: writes a scenario to begin with.
//!
//! | asked for | written |
//! | --- | --- |
//! | nothing | every key explained; it runs as it is, in a scratch folder |
//! | `--mailboxes`, `--quota`, `--lun` | a test of this machine's storage that can qualify; see [`design`] |
//! | `--array` | a modelled array, every key with its default |
//! | `--org` | an organisation for `brunt size`; with `--mailboxes` and `--quota`, of one kind of users; see [`org`] |
//!
//! What is missing is asked for at a terminal.

mod design;
mod org;
mod text;

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgGroup, Args};

use brunt_scenario::{ARRAY_TEMPLATE, Refusal, TEMPLATE};
use brunt_units::{ByteSize, Span};
use brunt_workload::profile::Version;

use crate::exit::Exit;
use crate::outlook::OutlookError;
use crate::output::Output;
use design::{Design, Wish};

/// Arguments of `init`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("sized").args(["mailboxes", "quota", "lun"]).multiple(true))]
#[command(after_help = "\
Examples:
  brunt init                    write scenario.toml, with every key
  brunt init mail.toml --mailboxes 4000 --quota 2GiB --lun /mnt/a --lun /mnt/b --log /mnt/c
                                write a test of these volumes, and say whether it can qualify
  brunt init --array            write a modelled array for brunt simulate, with every key
  brunt init --org org.toml --mailboxes 4000 --quota 2GiB
                                write an organisation for brunt size
  brunt init - | less           look at it first

Then:
  brunt run mail.toml --check
  brunt run mail.toml")]
pub struct InitArgs {
    /// File to write, or - for stdout; never overwrites
    #[arg(default_value = "scenario.toml")]
    pub file: PathBuf,

    /// Size the test for this number of mailboxes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub mailboxes: Option<u64>,

    /// What each mailbox may hold, such as 2GiB
    #[arg(long, value_name = "SIZE")]
    pub quota: Option<Typed<ByteSize>>,

    /// Folder on a volume for databases; repeat it for each volume
    #[arg(long, value_name = "DIR", conflicts_with = "org")]
    pub lun: Vec<PathBuf>,

    /// Folder on a volume for logs; may be repeated [default: each database logs to the next --lun]
    #[arg(long, value_name = "DIR", requires = "sized")]
    pub log: Vec<PathBuf>,

    /// Exchange version, 2003 to 2019 [default: exchange-2019]
    #[arg(long, value_name = "VERSION", requires = "sized")]
    pub profile: Option<Version>,

    /// Database I/Os per second of one mailbox in the busiest hours [default: a published figure of
    /// the version]
    #[arg(long, value_name = "RATE", requires = "sized")]
    pub io_per_mailbox: Option<f64>,

    /// How long to measure [default: 2h, the least that qualifies]
    #[arg(long, value_name = "TIME", requires = "sized")]
    pub duration: Option<Typed<Span>>,

    /// Write a modelled array instead, for brunt simulate
    #[arg(long, conflicts_with = "sized")]
    pub array: bool,

    /// Write an organisation instead, for brunt size; --mailboxes and --quota go together
    #[arg(long, conflicts_with_all = ["array", "log", "profile", "io_per_mailbox", "duration"])]
    pub org: bool,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// A value as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed<T> {
    text: String,
    value: T,
}

impl<T: FromStr> FromStr for Typed<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}

/// A scenario that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is one.
    #[error("{}: is there already, and is left alone\n  name another file, such as `brunt init other.toml`", .0.display())]
    There(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not all that a test needs was said.
    #[error("a test of storage needs {}\n  for example: brunt init mail.toml --mailboxes 4000 --quota 2GiB --lun /mnt/a --lun /mnt/b --log /mnt/c", .0.join(", "))]
    Lacks(Vec<&'static str>),
    /// Half of what an organisation needs was said.
    #[error(
        "an organisation also needs {0}\n  for example: brunt init --org org.toml --mailboxes 4000 --quota 2GiB"
    )]
    Users(&'static str),
    /// It cannot be done; the sentence says what can.
    #[error("{0}")]
    Impossible(String),
    /// The scenario that was made is not one.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What a run would do cannot be said.
    #[error(transparent)]
    Outlook(#[from] OutlookError),
}

/// Writes the scenario.
///
/// # Errors
/// [`InitError`] when there is a file of that name, when it cannot be written, or when there is no
/// such test.
pub fn run(args: &InitArgs, output: &Output) -> Result<Exit, InitError> {
    if args.org {
        return organisation(args, output);
    }
    let is_sized = args.mailboxes.is_some() || args.quota.is_some() || !args.lun.is_empty();
    if is_sized {
        return sized(args, output);
    }
    let (text, then) = match args.array {
        true => (ARRAY_TEMPLATE, "simulate"),
        false => (TEMPLATE, "run"),
    };
    let path = &args.file;
    if is_stdout(path) {
        output.data(text.trim_end());
        return Ok(Exit::Passed);
    }
    write(path, text)?;
    let path = path.display();
    let what = match args.array {
        true => "every key of a modelled array with its default",
        false => "put in your own paths and sizes",
    };
    output.talk(&format!("wrote {path}: {what}\n\nthen          brunt {then} {path}"));
    Ok(Exit::Passed)
}

/// Writes an organisation.
fn organisation(args: &InitArgs, output: &Output) -> Result<Exit, InitError> {
    let users = match (args.mailboxes, &args.quota) {
        (Some(mailboxes), Some(quota)) => Some((mailboxes, quota.text.as_str())),
        (None, None) => None,
        (Some(_), None) => return Err(InitError::Users("--quota")),
        (None, Some(_)) => return Err(InitError::Users("--mailboxes")),
    };
    let path = &args.file;
    let text = org::text(&path.to_string_lossy(), users);
    if is_stdout(path) {
        output.data(text.trim_end());
        return Ok(Exit::Passed);
    }
    write(path, &text)?;
    let path = path.display();
    output.talk(&format!(
        "wrote {path}: describe your users, and the drives and array you have in mind\n\nthen          brunt size {path}"
    ));
    Ok(Exit::Passed)
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn write(path: &Path, text: &str) -> Result<(), InitError> {
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => InitError::There(path.to_owned()),
        _ => InitError::Write { path: path.to_owned(), source },
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(refused)?;
    file.write_all(text.as_bytes()).map_err(refused)
}

/// Writes a test of this machine's storage.
fn sized(args: &InitArgs, output: &Output) -> Result<Exit, InitError> {
    let path = &args.file;
    if !is_stdout(path) && path.exists() {
        return Err(InitError::There(path.clone()));
    }
    let design = Design::new(complete(args, output)?)?;
    let folders = design.missing_folders();
    if is_stdout(path) {
        output.data(design.text().trim_end());
        let folders: Vec<String> = folders.iter().map(|at| at.display().to_string()).collect();
        if !folders.is_empty() {
            output.talk(&format!("it needs      mkdir {}", folders.join(" ")));
        }
        return Ok(Exit::Passed);
    }
    for folder in &folders {
        fs::create_dir(folder)
            .map_err(|source| InitError::Write { path: folder.clone(), source })?;
    }
    write(path, design.text())?;
    let path = path.display();
    let made: Vec<String> = folders.iter().map(|at| at.display().to_string()).collect();
    let made = match made.is_empty() {
        true => String::new(),
        false => format!(", and made {}", made.join(", ")),
    };
    output.talk(&format!(
        "wrote {path}{made}\n\n{}\n\nthen          brunt run {path} --check\n{:14}brunt run {path}",
        design.outlook()?,
        ""
    ));
    Ok(Exit::Passed)
}

/// Everything that a test needs; what was not said is asked for.
fn complete(args: &InitArgs, output: &Output) -> Result<Wish, InitError> {
    let answer = |question: &'static str| -> Result<Option<String>, InitError> {
        if !io::stdout().is_terminal() {
            return Ok(None);
        }
        let answer = output.ask(question);
        answer.map_err(|source| InitError::Write { path: PathBuf::from("stdin"), source })
    };
    let wrong = |why: &str| output.talk(why);
    let mut lacks = Vec::new();
    let mailboxes = match args.mailboxes {
        Some(count) => Some(count),
        None => understood("How many mailboxes?", answer, wrong, |text| {
            let number: u64 = text
                .replace([',', '_'], "")
                .parse()
                .map_err(|_| "a whole number, such as 4000".to_owned())?;
            (number > 0).then_some(number).ok_or("more than none".to_owned())
        })?,
    };
    lacks.extend(mailboxes.is_none().then_some("--mailboxes"));
    let quota = match &args.quota {
        Some(quota) => Some(quota.clone()),
        None => understood("How large may a mailbox be?", answer, wrong, |text| {
            text.parse::<Typed<ByteSize>>().map_err(|error| error.to_string())
        })?,
    };
    lacks.extend(quota.is_none().then_some("--quota"));
    let mut lun = args.lun.clone();
    if lun.is_empty() {
        const QUESTION: &str =
            "Which folders are for databases? (one on each volume, separated by blanks)";
        let folders = understood(QUESTION, answer, wrong, |text| {
            let folders: Vec<PathBuf> = text.split_whitespace().map(PathBuf::from).collect();
            match folders.is_empty() {
                true => Err("at least one folder, such as /mnt/a".to_owned()),
                false => Ok(folders),
            }
        })?;
        lun.extend(folders.into_iter().flatten());
    }
    lacks.extend(lun.is_empty().then_some("--lun"));
    let (Some(mailboxes), Some(quota), true) = (mailboxes, quota, lacks.is_empty()) else {
        return Err(InitError::Lacks(lacks));
    };
    let stem = match is_stdout(&args.file) {
        true => None,
        false => args.file.file_stem(),
    };
    let name = stem.map(|stem| stem.to_string_lossy().into_owned());
    Ok(Wish {
        name: name.unwrap_or("scenario".to_owned()),
        mailboxes,
        quota,
        luns: absolute(&lun)?,
        logs: absolute(&args.log)?,
        version: args.profile.unwrap_or(Version::Exchange2019),
        io_per_mailbox: args.io_per_mailbox,
        duration: args.duration.clone(),
    })
}

/// The answer to `question` as `read` understands it, asked again until it does; `None` when nobody
/// can be asked.
fn understood<T>(
    question: &'static str,
    answer: impl Fn(&'static str) -> Result<Option<String>, InitError>,
    wrong: impl Fn(&str),
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, InitError> {
    while let Some(answer) = answer(question)? {
        match read(&answer) {
            Ok(value) => return Ok(Some(value)),
            Err(why) => wrong(&why),
        }
    }
    Ok(None)
}

fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, InitError> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path).map_err(|source| InitError::Write { path: path.clone(), source })
    };
    paths.iter().map(absolute).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_wrong_answer_is_asked_for_again() {
        let answers = RefCell::new(vec!["4000", "", "2 gigs"]);
        let told = RefCell::new(Vec::new());
        let ask = |_| Ok(answers.borrow_mut().pop().map(str::to_owned));
        let wrong = |why: &str| told.borrow_mut().push(why.to_owned());
        let read = |text: &str| text.parse::<u64>().map_err(|_| format!("not {text}"));
        assert_eq!(understood("How many?", ask, wrong, read).unwrap(), Some(4000));
        assert_eq!(*told.borrow(), ["not 2 gigs", "not "]);
        // The terminal is gone.
        assert_eq!(understood("How many?", ask, wrong, read).unwrap(), None);
    }
}
