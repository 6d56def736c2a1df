//! One connection to a host: stdin and stdout of a login.
//!
//! ```text
//!   Hello -> claim -> Greeting
//!     begun      a keeper is started, in a session of its own; then as attached
//!     attached   bytes go to its socket and back; a keeper that says nothing is reported
//!     served     the run is over: this process answers from its folder
//! ```

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use brunt_fleet::{
    Admission, Agent, FromAgent, Greeting, Hello, Listening, Order, Program, Status, ToAgent, admit,
};

use crate::claim::{self, Found};
use crate::error::{AgentError, file};
use crate::facts;
use crate::files::Files;
use crate::monotonic;
use crate::pipes::{Reader, Writer};

/// How often it is looked whether a keeper is there, or silent.
const LOOK: Duration = Duration::from_millis(100);
/// A keeper has its socket within this time.
const BEGINS_LOOKS: u32 = 100;

/// What a host is for agents.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where claims are kept, on a disk that outlives the machine's boot.
    pub state: PathBuf,
    pub program: Program,
    /// The command that calls [`keep`](crate::keep); the run's folder is appended.
    pub keeper: Vec<OsString>,
    /// Which boot of which machine this is; read from the kernel if it is not given.
    pub boot: Option<String>,
}

impl Place {
    fn boot(&self) -> String {
        self.boot.clone().unwrap_or_else(facts::boot)
    }
}

/// Serves one connection to its end.
///
/// # Errors
/// [`AgentError`] when nothing can be served; it was said to the other side if that listens.
pub fn serve(
    place: &Place,
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
) -> Result<(), AgentError> {
    let mut reader = Reader::new(from);
    let writer = Writer::new(to).map_err(|error| AgentError::Stream(error.to_string()))?;
    let hello = reader.next_content().map_err(AgentError::Stream)?;
    let hello = hello.and_then(|content| Hello::read(&content));
    let hello = hello.ok_or_else(|| {
        AgentError::Stream("the connection ended before the first message of brunt".to_owned())
    })?;
    let admitted = admitted(place, &hello);
    let (admission, status) = match &admitted {
        Ok((admission, status, _)) => (admission.clone(), status.clone()),
        Err(error) => (Admission::Refused { why: error.to_string() }, None),
    };
    let greeting = Greeting { program: place.program.clone(), admission };
    writer.send_first(&greeting.to_content());
    let (_, _, folder) = match admitted {
        Ok(admitted) if !matches!(greeting.admission, Admission::Refused { .. }) => admitted,
        Ok(_) => {
            writer.finish();
            return Ok(());
        }
        Err(error) => {
            writer.finish();
            return Err(error);
        }
    };
    match status {
        Some(status) => answer(&folder, status, reader, writer),
        None => relay(&folder, &hello, reader, writer),
    }
}

fn admitted(
    place: &Place,
    hello: &Hello,
) -> Result<(Admission, Option<Status>, PathBuf), AgentError> {
    let folder = claim::folder(&place.state, &hello.run)?;
    // Another program never gets as far as a claim.
    if let (refused @ Admission::Refused { .. }, _) =
        admit(hello, &place.program, &brunt_fleet::Claim::Free)
    {
        return Ok((refused, None, folder));
    }
    match claim::look(&folder, &place.boot())? {
        Found::Taken(claimed) => {
            begin(place, &folder, claimed)?;
            Ok((Admission::Begun, None, folder))
        }
        Found::Known(claim) => {
            let (admission, status) = admit(hello, &place.program, &claim);
            Ok((admission, status, folder))
        }
    }
}

/// Starts a keeper, which has the claim from now on.
fn begin(place: &Place, folder: &Path, claimed: File) -> Result<(), AgentError> {
    let log = folder.join("keeper.log");
    let words = OpenOptions::new().create(true).append(true).open(&log).map_err(file(&log))?;
    let also = words.try_clone().map_err(file(&log))?;
    let program = place.keeper.first().cloned().unwrap_or_default();
    let started = Command::new(&program)
        .args(place.keeper.iter().skip(1))
        .arg(folder)
        .stdin(Stdio::from(claimed))
        .stdout(Stdio::from(words))
        .stderr(Stdio::from(also))
        .current_dir(folder)
        .spawn();
    // It is not waited for: it outlives this process.
    started
        .map(drop)
        .map_err(|error| AgentError::NotBegun(format!("{}: {error}", program.to_string_lossy())))
}

/// The keeper's socket; it may have begun a moment ago.
fn attach(folder: &Path) -> Result<UnixStream, AgentError> {
    let socket = folder.join("socket");
    let mut why = String::new();
    for _ in 0..BEGINS_LOOKS {
        match UnixStream::connect(&socket) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error.to_string(),
        }
        thread::sleep(LOOK);
    }
    Err(AgentError::NotBegun(why))
}

/// Carries messages to the keeper and back, and says when it is silent.
fn relay(
    folder: &Path,
    hello: &Hello,
    mut from: Reader<impl Read + Send + 'static>,
    to: Writer,
) -> Result<(), AgentError> {
    let stream = attach(folder)?;
    let failed = |error: std::io::Error| AgentError::Stream(error.to_string());
    let keeper = Writer::new(stream.try_clone().map_err(failed)?).map_err(failed)?;
    keeper.send_first(&hello.to_content());
    let (said, heard) = channel();
    let end = said.clone();
    let other_way = thread::Builder::new().name("hears the coordinator".to_owned());
    let started = other_way.spawn(move || {
        while let Ok(Some(content)) = from.next_content() {
            keeper.send_content(&content);
        }
        // The login is over; the keeper has heard all of it.
        keeper.finish();
        let _ = end.send(None);
    });
    started.map_err(failed)?;
    let mut answers = Reader::new(stream);
    let this_way = thread::Builder::new().name("hears the keeper".to_owned());
    let started = this_way.spawn(move || {
        while let Ok(Some(content)) = answers.next_content() {
            let _ = said.send(Some(content));
        }
        let _ = said.send(None);
    });
    started.map_err(failed)?;
    let mut listening = Listening::begin(monotonic());
    let mut is_first = false;
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(Some(content)) => {
                listening.heard(monotonic());
                to.send_content(&content);
                is_first = true;
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(lasted) = listening.silent(monotonic()) {
                    to.send_content(&FromAgent::Silent { lasted }.to_content());
                }
            }
        }
    }
    to.finish();
    match is_first {
        true => Ok(()),
        false => Err(AgentError::NotBegun("its keeper has left without a word".to_owned())),
    }
}

/// Answers for a run that is over.
fn answer(
    folder: &Path,
    status: Status,
    mut from: Reader<impl Read + Send + 'static>,
    to: Writer,
) -> Result<(), AgentError> {
    let mut agent = Agent::ended(status, monotonic());
    let mut files = Files::default();
    let (said, heard) = channel();
    let thread = thread::Builder::new().name("hears the coordinator".to_owned());
    let started = thread.spawn(move || {
        while let Ok(Some(content)) = from.next_content() {
            let _ = said.send(content);
        }
    });
    started.map_err(|error| AgentError::Stream(error.to_string()))?;
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(content) => {
                ToAgent::read(&content).into_iter().for_each(|m| agent.hear(m, monotonic()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        agent.tick(monotonic());
        for message in agent.said() {
            to.send_content(&message.to_content());
        }
        for order in agent.orders() {
            if order == Order::Leave {
                to.finish();
                return Ok(());
            }
            // A run that is over does nothing else.
            if let Some(answer) = files.answer(folder, &order) {
                to.send_content(&answer.to_content());
            }
        }
    }
    to.finish();
    Ok(())
}
