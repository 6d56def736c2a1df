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

use brunt_fleet::{Agent, FromAgent, Hello, How, Order, Progress, Task, ToAgent};
use brunt_report::result::Verdict;
use brunt_units::{ByteSize, Span, Time};

use crate::claim::{keep_status, result_folder};
use crate::error::{AgentError, file};
use crate::facts;
use crate::files::Files;
use crate::monotonic;
use crate::permit::Permit;
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

/// How a run is kept.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// The command of the test. Appended are `--replace` where databases may be replaced, the
    /// server's name, the scenario's file and the folder for its output.
    pub worker: Vec<OsString>,
    /// How long it waits when nobody speaks to it.
    pub wait: Span,
    /// Which boot of which machine this is; read from the kernel if it is not given.
    pub boot: Option<String>,
    /// Where the owner of the host says what is allowed: `/etc/brunt/agent.toml`.
    pub permit: PathBuf,
}

/// Keeps the run in `folder`, whose claim the caller's stdin is, to its end.
///
/// # Errors
/// [`AgentError`] when it could not begin.
pub fn keep(folder: &Path, keeping: Keeping) -> Result<(), AgentError> {
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
        boot: keeping.boot.clone().unwrap_or_else(facts::boot),
        agent: Agent::new(keeping.wait, monotonic()),
        permit: Permit::read(&keeping.permit),
        keeping,
        began: monotonic(),
        events,
        worker: None,
        scenario: String::new(),
        verdict: None,
        gave_up: None,
        refused: None,
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
    keeping: Keeping,
    boot: String,
    permit: Result<Permit, AgentError>,
    began: Time,
    agent: Agent,
    events: Sender<Event>,
    worker: Option<Worker>,
    scenario: String,
    /// The worker's own end.
    verdict: Option<(Verdict, PathBuf)>,
    gave_up: Option<String>,
    /// Why the owner of the host does not allow it.
    refused: Option<String>,
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
            self.watch_time(now);
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
            if leaves || self.ended.is_some_and(|ended| now.since(ended) > self.keeping.wait) {
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
            FromWorker::Checked { folders, bytes, lasts } => {
                let refused = match &self.permit {
                    Ok(permit) => permit.refusal(&folders, ByteSize::bytes(bytes), lasts),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(why) = refused {
                    return self.refuse(why);
                }
                let facts = facts::facts(&self.scenario, &folders, &self.boot);
                Progress::Checked(Box::new(facts))
            }
            FromWorker::Ready => Progress::Ready,
            FromWorker::Warm => Progress::Warm,
            FromWorker::Collecting { at } => Progress::Collecting { at },
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

    /// The owner of the host does not allow the test: it ends before it has changed anything.
    fn refuse(&mut self, why: String) {
        self.refused = Some(why);
        self.worker.iter_mut().for_each(Worker::dismiss);
    }

    /// A test that takes longer than the owner of the host allows ends in order.
    fn watch_time(&mut self, now: Time) {
        let longest = self.permit.as_ref().ok().and_then(Permit::longest);
        let is_over = longest.is_some_and(|longest| now.since(self.began) > longest);
        if let (true, None, Some(longest)) = (is_over, &self.gave_up, longest) {
            self.gave_up = Some(format!("this host allows {longest}"));
            self.worker.iter_mut().for_each(Worker::dismiss);
        }
    }

    /// What the end of the worker's process means.
    fn how(&mut self, status: Option<ExitStatus>) -> How {
        let words = || last_words(&self.folder);
        let has_begun = self.agent.status().begin.is_some();
        if let Some(why) = self.refused.take() {
            return How::NotBegun { why };
        }
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
            Order::Check(task) => self.begin(*task),
            Order::Prepare => self.tell(&ToWorker::Prepare),
            Order::Begin { at } => self.tell(&ToWorker::Begin { at }),
            Order::Collect { at } => self.tell(&ToWorker::Collect { at }),
            Order::Cut => self.tell(&ToWorker::Cut),
            // Its stdin ends, and so does it.
            Order::Stop => self.worker.iter_mut().for_each(Worker::dismiss),
            Order::List | Order::Read { .. } => {
                let answer = self.files.answer(&self.folder, &order);
                answer.iter().for_each(|answer| self.say(answer));
            }
            Order::Leave => {}
        }
    }

    fn tell(&mut self, message: &ToWorker) {
        self.worker.iter_mut().for_each(|worker| worker.tell(message));
    }

    /// Starts the worker on `task`.
    fn begin(&mut self, task: Task) {
        match Worker::start(&self.keeping.worker, &self.folder, &task) {
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
        self.scenario = task.scenario;
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
