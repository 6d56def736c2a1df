//! `brunt console`: watch runs in a browser while they go on, and find the old ones.
//!
//! It is a process of its own that only reads folders, at the lowest priority: it cannot disturb a
//! test, may come late, and may be ended at any time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use brunt_console::alarms::{Alarms, AlarmsError, Deliveries, Notice, Observed, Patience};
use brunt_console::{Address, Console, Noticed, Seen, State, Token, TokenError};
use brunt_report::one_line;
use clap::Args;

use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;

/// Arguments of `console`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt console                             the runs below ./runs, in a browser
  brunt console /srv/runs --no-browser      only print the address
  brunt console --reference runs/2026-11-21-181503-mail-performance
  brunt console --alarms alarms.toml --allow-exec --headless
  ssh -L 8080:127.0.0.1:8080 HOST brunt console --listen 127.0.0.1:8080 --no-browser

It ends with Ctrl-C; runs go on.")]
pub struct ConsoleArgs {
    /// Folders with runs in them, or runs [default: runs]
    #[arg(value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,

    /// Where to listen; an address other than this machine's own needs --token-file, and nothing
    /// is encrypted there
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))]
    pub listen: SocketAddr,

    /// File with the token that the address needs, readable by you alone [default: a new token]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// The run that was accepted: later ones show how they differ from it
    #[arg(long, value_name = "RUN")]
    pub reference: Option<PathBuf>,

    /// File that says what to be told, and by which commands: docs/alarms.md
    #[arg(long, value_name = "FILE")]
    pub alarms: Option<PathBuf>,

    /// Run the commands of --alarms
    #[arg(long, requires = "alarms")]
    pub allow_exec: bool,

    /// Serve no pages, only tell alarms
    #[arg(long, requires = "alarms", conflicts_with_all = ["token_file", "no_browser"])]
    pub headless: bool,

    /// Do not open a browser
    #[arg(long)]
    pub no_browser: bool,

    /// Print only the address and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// It cannot be reached there.
    #[error("--listen {at}: {source}")]
    Listen {
        /// Where.
        at: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Others could read it.
    #[error(
        "--listen {0}: other machines reach this address, so it needs --token-file\n  nothing is encrypted there; from elsewhere: ssh -L 8080:127.0.0.1:8080 HOST, with --listen 127.0.0.1:8080"
    )]
    Exposed(SocketAddr),
    /// Nobody could say what it is called.
    #[error("--listen {0}: names no address, and requests are answered only under the one that is printed\n  for example: --listen 192.0.2.7:{port}", port = .0.port())]
    Nameless(SocketAddr),
    /// The token.
    #[error("--token-file {0}")]
    Token(#[from] TokenError),
    /// Nothing will be found there.
    #[error("{}: there is no such folder", .0.display())]
    Missing(PathBuf),
    /// It is not among the runs that are shown.
    #[error("--reference {}: is not a run in the folders that are shown", .0.display())]
    Reference(PathBuf),
    /// The file of alarms.
    #[error(transparent)]
    Alarms(#[from] AlarmsError),
    /// Commands without consent.
    #[error("{}: these alarms run commands: {commands}\n  read the file, then repeat this with --allow-exec", path.display())]
    Exec {
        /// The file.
        path: PathBuf,
        /// The programs in it.
        commands: String,
    },
    /// Something else.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Shows runs until it is interrupted.
///
/// # Errors
/// [`ConsoleError`] when it cannot begin.
pub fn run(args: &ConsoleArgs, output: &Output) -> Result<Exit, ConsoleError> {
    let folders = match args.folders.as_slice() {
        [] => vec![PathBuf::from("runs")],
        // `runs` may come with the first run; a folder that was named is there.
        named => {
            if let Some(missing) = named.iter().find(|folder| !folder.is_dir()) {
                return Err(ConsoleError::Missing(missing.clone()));
            }
            named.to_vec()
        }
    };
    if !args.listen.ip().is_loopback() && args.token_file.is_none() {
        return Err(ConsoleError::Exposed(args.listen));
    }
    if args.listen.ip().is_unspecified() {
        return Err(ConsoleError::Nameless(args.listen));
    }
    let bell = Bell::of(args, output)?;
    let console = Console {
        folders,
        reference: reference(args)?,
        program: concat!("brunt ", env!("BRUNT_LONG_VERSION")),
        finds_changes: bell.is_some(),
    };
    let interrupt = Interrupt::listen()?;
    let site = if args.headless { None } else { Some(site(args, output)?) };
    // A test beside it comes first. That this is refused never happens.
    let _ = rustix::process::setpriority_process(None, 19);
    let mut told = Told { bell, output };
    console.run(site, || interrupt.is_asked(), |noticed| told.hear(&noticed))?;
    Ok(Exit::Interrupted)
}

/// Where pages are served; its address is printed.
fn site(args: &ConsoleArgs, output: &Output) -> Result<(Address, Token), ConsoleError> {
    let token = match &args.token_file {
        Some(path) => Token::read(path)?,
        None => Token::random()?,
    };
    let address = Address::take(args.listen);
    let address = address.map_err(|source| ConsoleError::Listen { at: args.listen, source })?;
    let url = format!("http://{}/?token={}", address.at, token.text());
    output.data(&url);
    if !args.listen.ip().is_loopback() {
        output.talk("note          nothing is encrypted: the network sees pages and token");
    }
    if !args.no_browser {
        open(&url);
    }
    Ok((address, token))
}

/// Tells what the user asked to be told.
struct Bell {
    alarms: Alarms,
    deliveries: Deliveries,
}

impl Bell {
    fn of(args: &ConsoleArgs, output: &Output) -> Result<Option<Self>, ConsoleError> {
        let Some(path) = &args.alarms else { return Ok(None) };
        let alarms = Alarms::read(path)?;
        if !args.allow_exec {
            let programs = alarms.commands().filter_map(|command| command.first().cloned());
            let commands = programs.collect::<Vec<_>>().join(", ");
            return Err(ConsoleError::Exec { path: path.clone(), commands });
        }
        let talking = output.clone();
        let deliveries = Deliveries::begin(&alarms, Patience::default(), move |failure| {
            talking.talk(&format!("{:14}{}", "alarm", one_line(failure)));
        });
        Ok(Some(Self { alarms, deliveries }))
    }
}

/// Says on the terminal what is noticed, and rings the bell.
struct Told<'a> {
    bell: Option<Bell>,
    output: &'a Output,
}

impl Told<'_> {
    fn hear(&mut self, noticed: &Noticed<'_>) {
        let now = now();
        let alarms = self.bell.as_mut().map(|bell| &mut bell.alarms);
        let notices: Vec<Notice> = match (noticed, alarms) {
            (Noticed::Changed(Seen::Run(look), changes), Some(alarms)) => {
                let full_in = look.full_in();
                alarms.observe(Observed { look, changes, full_in, now })
            }
            (Noticed::Gone(name), Some(alarms)) => alarms.gone(name, now),
            _ => Vec::new(),
        };
        if let Noticed::Changed(seen, _) = noticed {
            tell(seen, self.output);
        }
        for notice in notices {
            self.output.talk(&format!("{:14}{}", "alarm", notice.text()));
            if let Some(bell) = &self.bell {
                bell.deliveries.deliver(notice);
            }
        }
    }
}

/// The name of the run that was accepted.
fn reference(args: &ConsoleArgs) -> Result<Option<String>, ConsoleError> {
    let Some(path) = &args.reference else { return Ok(None) };
    let missing = || ConsoleError::Reference(path.clone());
    let path = path.canonicalize().map_err(|_| missing())?;
    let name = path.file_name().ok_or_else(missing)?;
    Ok(Some(name.to_string_lossy().into_owned()))
}

/// Opens the browser of a desktop, where there is one.
fn open(url: &str) {
    let has_desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_desktop {
        return;
    }
    let mut opening = Command::new("xdg-open");
    let quiet = opening.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The address was printed, so a browser that does not open costs nothing.
    if let Ok(mut child) = quiet.spawn() {
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}

/// A line when a run has ended or fallen silent.
fn tell(seen: &Seen, output: &Output) {
    let (name, state) = (seen.name(), seen.state());
    match state {
        State::GoesOn => {}
        State::Silent => output.talk(&format!("{:14}{name}", state.word())),
        State::Ended => output.talk(&format!("{:14}{name}: {}", state.word(), seen.headline())),
    }
}
