//! An agent's process: it holds the claim, starts the worker, and outlives logins.
//!
//! ```text
//!   socket: connections --.                       .--> worker: its stdin, its end
//!   worker: lines, end ---+--> events --> Agent --+--> the newest connection
//!   time -----------------'                       '--> status.json
//! ```
//!
//! One thread decides; others only read and write. So the beat goes on whatever the worker, a disk
//! or a connection does.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use brunt_fleet::{Agent, FromAgent, Hello, How, Order, Progress, ToAgent};
use brunt_report::result::Verdict;
use brunt_units::{Span, Time};

use crate::claim::{keep_status, result_folder};
use crate::error::{AgentError, file};
use crate::facts;
use crate::files::Files;
use crate::monotonic;
use crate::pipes::{Reader, Writer};
use crate::process::Worker;
use crate::worker::{FromWorker, ToWorker};

/// How often time is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a line that a worker says.
const LINE_MAX: u64 = 256 << 10;

/// What happens to a keeper.
enum Event {
    Attached { number: u64, coordinator: u64, stream: UnixStream },
    Said { number: u64, message: ToAgent },
    Gone { number: u64 },
    Worker(FromWorker),
    WorkerEnded(Option<ExitStatus>),
}

/// Keeps the run in `folder`, whose claim the caller's stdin is, to its end; it waits for `wait`
/// when nobody speaks to it. `worker` is the command of the test: the scenario's file and the folder
/// for its output are appended.
///
/// # Errors
/// [`AgentError`] when it could not begin.
pub fn keep(
    folder: &Path,
    worker: &[OsString],
    wait: Span,
    boot: Option<String>,
) -> Result<(), AgentError> {
    // A login that ends takes its session with it. It fails where this is one already.
    let _ = rustix::process::setsid();
    let socket = folder.join("socket");
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(file(&socket))?;
    let (events, coming) = channel();
    let accepting = events.clone();
    let thread = thread::Builder::new().name("accepts".to_owned());
    thread.spawn(move || accept(&listener, &accepting)).map_err(file(&socket))?;
    let mut keeper = Keeper {
        folder: folder.to_owned(),
        command: worker.to_vec(),
        boot: boot.unwrap_or_else(facts::boot),
        wait,
        agent: Agent::new(wait, monotonic()),
        events,
        worker: None,
        scenario: String::new(),
        verdict: None,
        gave_up: None,
        connection: None,
        files: Files::default(),
        ended: None,
    };
    let run = keeper.run(&coming);
    let _ = fs::remove_file(&socket);
    run
}

fn accept(listener: &UnixListener, events: &Sender<Event>) {
    for (number, stream) in (1..).zip(listener.incoming()) {
        let (Ok(stream), events) = (stream, events.clone()) else { continue };
        let thread = thread::Builder::new().name(format!("hears {number}"));
        let _ = thread.spawn(move || listen(number, stream, &events));
    }
}

fn listen(number: u64, stream: UnixStream, events: &Sender<Event>) {
    let Ok(writing) = stream.try_clone() else { return };
    let mut reader = Reader::new(stream);
    let hello = reader.next_content().ok().flatten().and_then(|content| Hello::read(&content));
    if let Some(Hello { coordinator, .. }) = hello {
        let _ = events.send(Event::Attached { number, coordinator, stream: writing });
        while let Ok(Some(content)) = reader.next_content() {
            let message = ToAgent::read(&content);
            message
                .into_iter()
                .for_each(|message| drop(events.send(Event::Said { number, message })));
        }
    }
    let _ = events.send(Event::Gone { number });
}

struct Keeper {
    folder: PathBuf,
    command: Vec<OsString>,
    boot: String,
    wait: Span,
    agent: Agent,
    events: Sender<Event>,
    worker: Option<Worker>,
    scenario: String,
    /// The worker's own end.
    verdict: Option<(Verdict, PathBuf)>,
    gave_up: Option<String>,
    connection: Option<(u64, Writer)>,
    files: Files,
    /// When the status of the end was kept.
    ended: Option<Time>,
}

impl Keeper {
    fn run(&mut self, coming: &Receiver<Event>) -> Result<(), AgentError> {
        loop {
            match coming.recv_timeout(LOOK) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = monotonic();
            self.agent.tick(now);
            let mut leaves = false;
            for order in self.agent.orders() {
                leaves |= order == Order::Leave;
                self.carry_out(order);
            }
            if self.agent.status().end.is_some() && self.ended.is_none() {
                keep_status(&self.folder, self.agent.status())?;
                self.ended = Some(now);
            }
            for message in self.agent.said() {
                self.say(&message);
            }
            // What is over is served from its folder.
            if leaves || self.ended.is_some_and(|ended| now.since(ended) > self.wait) {
                if let Some((_, writer)) = self.connection.take() {
                    writer.finish();
                }
                return Ok(());
            }
        }
    }

    fn say(&self, message: &FromAgent) {
        if let Some((_, writer)) = &self.connection {
            writer.send_content(&message.to_content());
        }
    }

    fn take(&mut self, event: Event) {
        let now = monotonic();
        match event {
            Event::Attached { number, coordinator, stream } => {
                let Ok(writer) = Writer::new(stream) else { return };
                writer.send(brunt_fleet::FIRST.to_vec());
                let replaced = self.agent.connected(coordinator, now);
                replaced.iter().for_each(|replaced| self.say(replaced));
                self.connection = Some((number, writer));
            }
            Event::Said { number, message } => {
                if self.connection.as_ref().is_some_and(|(newest, _)| *newest == number) {
                    self.agent.hear(message, now);
                }
            }
            Event::Gone { number } => {
                self.connection.take_if(|(newest, _)| *newest == number);
            }
            Event::Worker(said) => self.hear(said, now),
            Event::WorkerEnded(status) => {
                self.worker = None;
                let how = self.how(status);
                let has_folder = result_folder(&self.folder).is_some();
                self.agent.progress(Progress::Ended { how, has_folder }, now);
            }
        }
    }

    fn hear(&mut self, said: FromWorker, now: Time) {
        let progress = match said {
            FromWorker::Checked { folders } => {
                let facts = facts::facts(&self.scenario, &folders, &self.boot);
                Progress::Checked(Box::new(facts))
            }
            FromWorker::Ready => Progress::Ready,
            FromWorker::Warm => Progress::Warm,
            FromWorker::Collecting => Progress::Collecting,
            FromWorker::Closing => Progress::Closing,
            FromWorker::News { json } => Progress::News(json),
            FromWorker::GaveUp { why } => {
                self.gave_up = Some(why);
                Progress::Closing
            }
            FromWorker::Ended { verdict, folder } => {
                self.verdict = Some((verdict, folder));
                return;
            }
        };
        self.agent.progress(progress, now);
    }

    /// What the end of the worker's process means.
    fn how(&mut self, status: Option<ExitStatus>) -> How {
        let words = || last_words(&self.folder);
        let has_begun = self.agent.status().begin.is_some();
        match (self.verdict.take(), self.gave_up.take()) {
            (_, Some(why)) => How::GaveUp { why },
            (Some((Verdict::Interrupted, _)), None) => How::Stopped,
            (Some((Verdict::Error, _)), None) => How::Broke { why: words() },
            (Some((verdict, _)), None) => How::Complete(verdict),
            (None, None) => {
                use std::os::unix::process::ExitStatusExt;
                match status.and_then(|status| status.signal()) {
                    Some(9) => How::Killed { why: "signal 9, as when memory is short".to_owned() },
                    Some(signal) => How::Killed { why: format!("signal {signal}") },
                    None if has_begun => How::Broke { why: words() },
                    None => How::NotBegun { why: words() },
                }
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Check { scenario } => self.begin(scenario),
            Order::Prepare => self.tell(&ToWorker::Prepare),
            Order::Begin { at } => self.tell(&ToWorker::Begin { at }),
            Order::Collect { at } => self.tell(&ToWorker::Collect { at }),
            Order::Cut => self.tell(&ToWorker::Cut),
            // Its stdin ends, and so does it.
            Order::Stop => self.worker.iter_mut().for_each(Worker::dismiss),
            Order::List => {
                let listed = match result_folder(&self.folder) {
                    Some(folder) => self.files.list(&folder),
                    None => FromAgent::Unread { file: 0, why: "there is no folder".to_owned() },
                };
                self.say(&listed);
            }
            Order::Read { file, offset } => self.say(&self.files.read(file, offset)),
            Order::Leave => {}
        }
    }

    fn tell(&mut self, message: &ToWorker) {
        self.worker.iter_mut().for_each(|worker| worker.tell(message));
    }

    /// Starts the worker on `scenario`.
    fn begin(&mut self, scenario: String) {
        match Worker::start(&self.command, &self.folder, &scenario) {
            Ok((worker, stdout)) => {
                self.worker = Some(worker);
                let events = self.events.clone();
                let ending = self.worker.as_ref().map(Worker::process);
                let thread = thread::Builder::new().name("hears the worker".to_owned());
                let _ = thread.spawn(move || {
                    hear_lines(stdout, &events);
                    let status = ending.and_then(|process| process.lock().ok()?.wait().ok());
                    let _ = events.send(Event::WorkerEnded(status));
                });
            }
            Err(error) => {
                let how = How::NotBegun { why: error.to_string() };
                let ended = Progress::Ended { how, has_folder: false };
                self.agent.progress(ended, monotonic());
            }
        }
        self.scenario = scenario;
    }
}

fn hear_lines(stdout: impl Read, events: &Sender<Event>) {
    let mut lines = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match (&mut lines).take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let said = FromWorker::parse(String::from_utf8_lossy(&line).trim_end());
                said.into_iter().for_each(|said| drop(events.send(Event::Worker(said))));
            }
        }
    }
}

/// What the worker said last on stderr, in one line.
fn last_words(folder: &Path) -> String {
    let words = fs::read(folder.join("worker.log")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words[words.len().saturating_sub(2_000)..]).into_owned();
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => "it ended without a word".to_owned(),
        lines => lines[lines.len().saturating_sub(3)..].join("; "),
    }
}
