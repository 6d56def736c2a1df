//! This program in the place of others. `BRUNT_ROLE` says which; what a door says goes to descriptor
//! 3, because the test harness has said something on stdout by then.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use brunt_agents::{FromWorker, Keeping, Place, ToWorker, keep, monotonic, serve};
use brunt_fleet::Program;
use brunt_report::result::Verdict;
use brunt_units::{Span, Time};

/// How long a keeper waits that nobody speaks to.
const WAIT: Span = Span::seconds(20);

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

pub(crate) fn program() -> Program {
    let commit = variable("BRUNT_TEST_COMMIT").unwrap_or_else(|| "new".to_owned());
    Program { version: "0.1.0".to_owned(), commit: Some(commit) }
}

/// The command of this program in `role`.
pub(crate) fn command(role: &str) -> Vec<String> {
    let me = env::current_exe().unwrap().display().to_string();
    let role = format!("BRUNT_ROLE={role}");
    ["env", &role, &me, "roles::role", "--exact", "--nocapture"].map(str::to_owned).to_vec()
}

fn os(words: Vec<String>) -> Vec<std::ffi::OsString> {
    words.into_iter().map(Into::into).collect()
}

#[test]
fn role() {
    let Some(role) = variable("BRUNT_ROLE") else { return };
    let arguments: Vec<PathBuf> = env::args().skip(4).map(PathBuf::from).collect();
    match role.as_str() {
        "door" => door(),
        "keeper" => {
            let keeping = Keeping {
                worker: os(command("worker")),
                wait: WAIT,
                boot: variable("BRUNT_TEST_BOOT"),
                permit: arguments[0].with_file_name("agent.toml"),
            };
            let kept = keep(&arguments[0], keeping);
            kept.unwrap_or_else(|error| panic!("{error}"));
        }
        "worker" => work(&arguments[1], &arguments[2]),
        "damage" => damage(&arguments[0]),
        other => panic!("{other} is no role"),
    }
    exit(0);
}

fn door() {
    let place = Place {
        state: variable("BRUNT_TEST_STATE").unwrap().into(),
        program: program(),
        keeper: os(command("keeper")),
        boot: variable("BRUNT_TEST_BOOT"),
    };
    let out = OpenOptions::new().write(true).open("/proc/self/fd/3").unwrap();
    if let Err(error) = serve(&place, io::stdin(), out) {
        eprintln!("{error}");
        exit(1);
    }
}

/// Passes on what a door says, with one byte changed; once, as `marker` remembers.
fn damage(marker: &Path) {
    let mut out = OpenOptions::new().write(true).open("/proc/self/fd/3").unwrap();
    let (mut bytes, mut passed) = (vec![0; 4096], 0);
    while let Ok(count @ 1..) = io::stdin().read(&mut bytes) {
        passed += count;
        if passed > 300_000 && OpenOptions::new().write(true).create_new(true).open(marker).is_ok()
        {
            bytes[count >> 1] ^= 0x10;
        }
        if out.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// What the scenario of a test says: `name=value` on lines.
pub(crate) struct Wish(String);

impl Wish {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    }

    fn millis(&self, name: &str, usual: u64) -> Duration {
        Duration::from_millis(self.get(name).map_or(usual, |text| text.parse().unwrap()))
    }

    /// The bytes of the folder's journal.
    pub(crate) fn journal(&self) -> Vec<u8> {
        let count = self.get("bytes").map_or(700_000, |text| text.parse().unwrap());
        (0..count).map(|at: u32| (at % 251).to_le_bytes()[0]).collect()
    }
}

fn say(message: &FromWorker) {
    let line = serde_json::to_string(message).unwrap() + "\n";
    io::stdout().write_all(line.as_bytes()).unwrap();
}

/// Waits for an order; ends the process in order when the keeper is gone or wants it to stop.
fn order(orders: &Receiver<ToWorker>, out: &Path) -> ToWorker {
    orders.recv().unwrap_or_else(|_| finish(Verdict::Interrupted, out))
}

fn finish(verdict: Verdict, out: &Path) -> ! {
    say(&FromWorker::Ended { verdict, folder: out.to_owned() });
    exit(0);
}

/// Lets time pass under load; `false` when it was cut.
fn load(orders: &Receiver<ToWorker>, out: &Path, lasts: Duration) -> bool {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        say(&FromWorker::News { json: "{}".to_owned() });
        match orders.recv_timeout(Duration::from_millis(100)) {
            Ok(ToWorker::Cut) => return false,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => finish(Verdict::Interrupted, out),
        }
    }
    true
}

fn sleep_until(at: Time) {
    thread::sleep(Duration::from_nanos(at.since(monotonic()).0));
}

/// A test that only takes its time.
fn work(scenario: &Path, out: &Path) {
    let wish = Wish(fs::read_to_string(scenario).unwrap());
    let (asked, orders) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let order = serde_json::from_str(&line).unwrap();
            if asked.send(order).is_err() {
                return;
            }
        }
    });
    let begun = scenario.with_file_name("begun");
    let mut begun = OpenOptions::new().create(true).append(true).open(begun).unwrap();
    writeln!(begun, "{}", std::process::id()).unwrap();
    if let Some(why) = wish.get("refuses") {
        eprintln!("{why}");
        exit(2);
    }
    let folder = wish.get("folder").map_or_else(|| out.to_owned(), PathBuf::from);
    let bytes = wish.journal().len() as u64;
    say(&FromWorker::Checked { folders: vec![folder], bytes, lasts: Span::seconds(3) });
    assert_eq!(order(&orders, out), ToWorker::Prepare);
    thread::sleep(wish.millis("create_ms", 200));
    let folder = out.join("run");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("journal"), wish.journal()).unwrap();
    fs::write(folder.join("result.json"), b"{}").unwrap();
    say(&FromWorker::Ready);
    let ToWorker::Begin { at } = order(&orders, out) else { panic!("it was to begin") };
    sleep_until(at);
    let is_whole = load(&orders, out, wish.millis("warm_ms", 300));
    if is_whole {
        say(&FromWorker::Warm);
        let collect = loop {
            match orders.recv_timeout(Duration::from_millis(200)) {
                Ok(order) => break order,
                Err(RecvTimeoutError::Timeout) => say(&FromWorker::News { json: "{}".to_owned() }),
                Err(RecvTimeoutError::Disconnected) => finish(Verdict::Interrupted, out),
            }
        };
        if let ToWorker::Collect { at } = collect {
            sleep_until(at);
            say(&FromWorker::Collecting { at: monotonic() });
            let collects = wish.millis("collect_ms", 1_500);
            if let Some(why) = wish.get("gives_up") {
                load(&orders, out, collects / 2);
                say(&FromWorker::GaveUp { why: why.to_owned() });
            } else {
                load(&orders, out, collects);
                say(&FromWorker::Closing);
            }
        }
    }
    thread::sleep(wish.millis("close_ms", 200));
    finish(if wish.get("fails").is_some() { Verdict::Fail } else { Verdict::Pass }, out);
}

/// The processes of a run, by the file that its worker leaves, and the lock of its claim.
pub(crate) fn workers(state: &Path, run: &str) -> Vec<i32> {
    let begun = fs::read_to_string(state.join(run).join("begun")).unwrap_or_default();
    begun.lines().map(|line| line.parse().unwrap()).collect()
}

/// The keeper: the parent of the worker.
pub(crate) fn keeper(worker: i32) -> Option<i32> {
    let mut text = String::new();
    File::open(format!("/proc/{worker}/stat")).ok()?.read_to_string(&mut text).ok()?;
    text.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}
