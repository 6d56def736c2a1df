//! `brunt load`: do mail servers keep their word?
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every delivery that was accepted is there, once and as it was sent |
//! | 1 | a promise was broken |
//! | 2 | there is no answer: a server did not start, or a mailbox could not be read |
//! | 130 | it was stopped; what was sent until then was looked for |
//!
//! The host does the work; here is what is said and kept.

mod foreign;
mod page;
mod profiles;
mod scenario;
mod sweep;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_host::keeping::Keeping;
use brunt_host::load::{
    Demand, LoadError, LoadListener, LoadOptions, Telling, audit, outline, run as run_load, target,
};
use brunt_host::recorder::Heard;
use brunt_report::parts::Parts;
use brunt_report::result::RunResult;
use brunt_report::{Event, FolderError, Run, RunFolder, report_html};
use brunt_run::{Head, Stop};
use brunt_scenario::{MailScenario, Refusal};
use clap::{Args, ValueEnum};

use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::records::Lines;
use crate::set::SetKeys;
use crate::teller::Teller;
use crate::test_args::OutputArgs;
use crate::version;
pub use profiles::ProfileRefused;

pub(super) use page::closing;

/// Arguments of `load`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt load                                   the servers that are installed, 50 users, a minute
  brunt load --server dovecot --store maildir  Dovecot alone, which needs no root
  brunt load --power-cut                       does mail survive when the power goes? Needs root
  brunt load --deliveries 100000 --json | jq .mail.ledger
  brunt load --profile mmb3 --day 2min --no-kill   users at work: are they served in time?
  brunt load --profile mmb3 --explain              what these users do, and where each figure is from
  brunt load --profile mmb3 --sweep users=50..2000/5   how many users are served in time?
  brunt load mail.toml                         what the scenario says; flags win
  brunt load --audit runs/2026-11-27-041500-load   look at the mailboxes of that run again
  brunt load mine.toml --allow-target mail.example.org    servers of your own: docs/mail.md
  brunt load --clean runs/2026-11-27-041500-mine   remove the messages of that run from them")]
pub struct LoadArgs {
    /// A scenario of mail servers; without one, what the flags say
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,

    /// The servers to start [default: Postfix (root) or Exim before Dovecot, or Dovecot alone]
    #[arg(long, value_enum, value_name = "SERVER")]
    pub server: Option<Server>,

    /// How Dovecot stores mail [default: sdbox]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub store: Option<StoreFormat>,

    /// When Dovecot forces mail to the disk; never loses mail with the power [default: optimized]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub mail_fsync: Option<Fsync>,

    /// Users, each with a mailbox [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub users: Option<String>,

    /// Deliveries, at least: a message to three recipients is three [default: 5000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub deliveries: Option<String>,

    /// Let users work instead of only sending: the name of a profile, or a TOML file
    #[arg(long, value_name = "PROFILE", conflicts_with = "deliveries")]
    pub profile: Option<String>,

    /// With --profile: print what its users do, and where each figure is from
    #[arg(long)]
    pub explain: bool,

    /// With --profile: how long a user's day takes; eight hours in two minutes [default: 2min]
    #[arg(long, value_name = "TIME")]
    pub day: Option<String>,

    /// With --profile: how long users work [default: a day]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,

    /// With --profile: fill mailboxes first, as the profile says
    #[arg(long)]
    pub fill: bool,

    /// With --profile: each user begins the next task when the last one is done, however many that makes
    #[arg(long)]
    pub stress: bool,

    /// With --profile: end as soon as this rule has failed; no other can fail for good before the end
    #[arg(long, value_enum, value_name = "RULE")]
    pub until: Option<UntilRule>,

    /// With --profile: try several numbers of users, until they are not served: users=50..2000/5
    #[arg(long, value_name = "users=VALUES", conflicts_with_all = ["users", "stress", "audit", "clean"])]
    pub sweep: Option<String>,

    /// Longest time from the acceptance of a message until it is there; later is a failure
    #[arg(long, value_name = "TIME")]
    pub limit: Option<String>,

    /// Random seed; equal seeds send equal messages [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<String>,

    /// Override a value of the scenario, such as mail.users=8; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = SetKeys, hide_possible_values = true)]
    pub set: Vec<String>,

    /// Kill nothing
    #[arg(long)]
    pub no_kill: bool,

    /// Cut the power of the servers in the middle, instead of killing them. Needs root
    #[arg(long, conflicts_with = "no_kill")]
    pub power_cut: bool,

    /// Send nothing: look at the mailboxes of an earlier run again, after a restore for instance
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["scenario", "server", "store", "mail_fsync", "users", "deliveries", "profile", "day", "duration", "fill", "stress", "until", "limit", "seed", "set", "no_kill", "power_cut", "check"]
    )]
    pub audit: Option<PathBuf>,

    /// Send nothing: remove the messages of an earlier run from its mailboxes, and nothing else
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["audit", "scenario", "server", "store", "mail_fsync", "users", "deliveries", "profile", "day", "duration", "fill", "stress", "until", "limit", "seed", "set", "no_kill", "power_cut", "check", "json"]
    )]
    pub clean: Option<PathBuf>,

    /// Allow to test this host with [target]; without it only this machine's own addresses
    #[arg(long, value_name = "HOST")]
    pub allow_target: Vec<String>,

    /// With [target]: do not look at certificates
    #[arg(long)]
    pub insecure: bool,

    /// With [target]: allow to run its queue_command
    #[arg(long)]
    pub allow_exec: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Servers that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    /// Dovecot alone: mail is sent to it by LMTP
    Dovecot,
    /// Postfix before Dovecot; needs root
    Postfix,
    /// Exim before Dovecot
    Exim,
    /// Cyrus IMAP alone: mail is sent to it by LMTP
    Cyrus,
}

/// Formats of Dovecot's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreFormat {
    /// A file for each message, Dovecot's own indexes
    Sdbox,
    /// A file for each message, as qmail has it
    Maildir,
    /// Many messages in a file
    Mdbox,
}

/// When Dovecot syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fsync {
    /// Where a loss would be noticed
    Optimized,
    /// After every write
    Always,
    /// Never
    Never,
}

/// Rules that can fail for good while users work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UntilRule {
    /// More tasks wait at once than LoadSim allows; judged with --no-kill
    UsersTasksWaiting,
    /// A server refuses a message for good, for an account that exists
    MailRefused,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum LoadCommandError {
    /// There was no test.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The scenario is wrong, or a flag.
    #[error(transparent)]
    Scenario(#[from] Mistakes),
    /// A flag for servers of the user's own, and there are none.
    #[error("{0} is for servers of your own\n  a scenario with [target] names them: docs/mail.md")]
    NoTarget(&'static str),
    /// Each number of users needs mailboxes that are empty.
    #[error("--sweep starts servers for each number of users, and [target] has others")]
    SweptTarget,
    /// Where something is done to servers, waiting is not judged.
    #[error(
        "--sweep judges how long users wait, and something is done to the servers\n  leave out --power-cut, and [[event]]"
    )]
    Disturbed,
    /// No sweep.
    #[error(transparent)]
    Sweep(#[from] Refusal),
    /// A profile without mailboxes.
    #[error(
        "--fill: the profile {0} does not say how many messages are in a mailbox\n  in a profile of your own: mailbox_messages = {{ value = 1000, certainty = \"assumed\" }}"
    )]
    NoMailbox(String),
    /// There are no users at work.
    #[error(
        "--sweep needs users with a profile\n  for example: --profile mmb3 --sweep users=50..2000/5"
    )]
    NoUsers,
    /// Nothing is to be explained.
    #[error("there is no profile to explain\n  for example: --profile mmb3 --explain")]
    NoProfile,
    /// The run's folder cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileRefused),
    /// A signal cannot be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Tests servers, or looks at mailboxes again.
///
/// # Errors
/// [`LoadCommandError`] when there is no result.
pub fn run(args: &LoadArgs, output: &Output) -> Result<Exit, LoadCommandError> {
    if args.explain {
        let profile = args.scenario(&[])?.mail.profile.ok_or(LoadCommandError::NoProfile)?;
        output.show(&profiles::explained(&profiles::read(&profile)?));
        return Ok(Exit::Passed);
    }
    match (&args.audit, &args.clean, &args.sweep) {
        (Some(folder), ..) => again(args, folder, output),
        (None, Some(folder), _) => foreign::remove(args, folder, output),
        (None, None, Some(sweep)) => sweep::run(args, sweep, output),
        (None, None, None) => test(args, output),
    }
}

fn test(args: &LoadArgs, output: &Output) -> Result<Exit, LoadCommandError> {
    let scenario = args.scenario(&[])?;
    let servers = match foreign::find(args, &scenario)? {
        Some(foreign) => Servers::Foreign(Box::new((foreign, scenario::demand(&scenario.mail)?))),
        None => {
            let (options, left_out) = scenario::options(&scenario)?;
            Servers::Own(Box::new(options), left_out)
        }
    };
    let opening = match &servers {
        Servers::Foreign(target) => foreign::opening(&scenario, &target.0, &target.1),
        Servers::Own(options, left_out) => {
            page::opening(&scenario.name, options, left_out.as_deref())
        }
    };
    if args.output.check {
        output.show(opening.trim_end());
        return Ok(Exit::Passed);
    }
    output.talk(&opening);
    let stop = Stop::from(Interrupt::listen()?.flag());
    let folder = RunFolder::create(&args.output.out, now(), &scenario.name)?;
    let lines = Lines::of(&args.output.printed, output);
    let demand = match &servers {
        Servers::Foreign(target) => &target.1,
        Servers::Own(options, _) => &options.demand,
    };
    let heard = (lines.heard(), Teller::new(output, "send"));
    let result = recorded((&scenario, demand), &folder, heard, |listener| match &servers {
        Servers::Foreign(target) => {
            target::test(&target.0, &target.1, &folder, version::origin, listener, &stop)
        }
        Servers::Own(options, _) => run_load(options, &folder, version::origin, listener, &stop),
    })??;
    tell(&result, &folder, "report.html", lines, output);
    Ok(result.verdict.into())
}

/// Runs a test of `scenario` with everything that its folder keeps. Of one without a result nothing
/// stays, and the inner error says why.
fn recorded(
    (scenario, demand): (&MailScenario, &Demand),
    folder: &RunFolder,
    (heard, teller): (Option<Heard>, Teller),
    test: impl FnOnce(&Rc<dyn LoadListener>) -> Result<RunResult, LoadError>,
) -> Result<Result<RunResult, LoadError>, FolderError> {
    // Before anything is sent: a run that is killed is audited by what it says.
    let kept = folder.write("scenario.toml", scenario.to_toml().as_bytes());
    kept.inspect_err(|_| folder.clone().discard())?;
    let telling = Rc::new(telling(scenario, demand, folder, heard, teller)?);
    let listener: Rc<dyn LoadListener> = Rc::<Telling<_>>::clone(&telling);
    let result = test(&listener);
    let keeping = telling.listener();
    keeping.shown().clear();
    match &result {
        Ok(result) => {
            keeping.ended(result.verdict)?;
            keep(folder, result, keeping.shown().events(), ["result.json", "report.html"])?;
        }
        Err(_) => {
            keeping.end()?;
            folder.clone().discard();
        }
    }
    Ok(result)
}

/// What hears of a run of `scenario`: its journal in `folder`, `heard`, and the screen.
fn telling(
    scenario: &MailScenario,
    demand: &Demand,
    folder: &RunFolder,
    heard: Option<Heard>,
    teller: Teller,
) -> Result<Telling<Keeping<Teller>>, FolderError> {
    let (began, run_id) = (now(), demand.run_id());
    let origin = version::origin(scenario.mail.seed, run_id.clone());
    let outline =
        outline(&scenario.name, scenario.mail.users.unwrap_or_default().into(), began, origin);
    let head = Head {
        run_id,
        began_unix_s: began.unix_seconds,
        scenario: scenario.to_toml(),
        outline: outline.to_json(),
    };
    Ok(Telling::new(Keeping::begin(head, Some(folder), heard, teller)?))
}

/// The servers of a test.
enum Servers {
    /// Those of the user.
    Foreign(Box<(target::Foreign, Demand)>),
    /// Those that are started for it, and why one is left out.
    Own(Box<LoadOptions>, Option<String>),
}

/// Looks at the mailboxes of the run in `folder` again. Its own result stays as it is.
fn again(args: &LoadArgs, folder: &Path, output: &Output) -> Result<Exit, LoadCommandError> {
    let telling = Rc::new(Telling::new(Teller::new(output, "send")));
    let listener: Rc<dyn LoadListener> = Rc::<Telling<_>>::clone(&telling);
    let result = match foreign::of_run(args, folder)? {
        Some(own) => target::audit(&own, folder, version::origin, &listener),
        None => audit(folder, version::origin, &listener),
    };
    let teller = telling.listener();
    teller.clear();
    let result = result?;
    let folder = RunFolder::at(folder);
    keep(&folder, &result, teller.events(), ["audit.json", "audit.html"])?;
    let lines = Lines::of(&args.output.printed, output);
    tell(&result, &folder, "audit.html", lines, output);
    Ok(result.verdict.into())
}

/// Writes the page and the result, which is the last.
fn keep(
    folder: &RunFolder,
    result: &RunResult,
    events: Vec<Event>,
    [json, html]: [&str; 2],
) -> Result<(), FolderError> {
    let run = Run {
        result: result.clone(),
        scenario: String::new(),
        events,
        samples: Vec::new(),
        parts: Parts::default(),
    };
    folder.write(html, report_html(&run).as_bytes())?;
    folder.write(json, result.to_json().as_bytes())
}

/// The last lines, or the result as JSON.
fn tell(result: &RunResult, folder: &RunFolder, report: &str, lines: Lines, output: &Output) {
    let text = result.to_json();
    lines.tell((result.verdict.word(), &text), output, || {
        output.talk("");
        let report = folder.file(report);
        output.show(&closing(result, folder.path(), &report, output));
    });
}
