//! A fleet of this machine, each server with a folder of claims of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_agents::{AgentError, Conducting, HostWay, conduct};
use brunt_fleet::{Fate, HostPlan, Limits, Phase, Plan, Report, Row};
use brunt_report::result::Verdict;
use brunt_units::Span;
use tempfile::TempDir;

use crate::roles::{Wish, command, keeper, program, workers};

pub(crate) const RUN: &str = "run-1";

/// What a test does when the hosts are at some point.
pub(crate) type Watcher<'a> = Box<dyn FnMut(&[Row<'_>], &Fleet) -> u32 + 'a>;

pub(crate) struct Fleet {
    made: TempDir,
    /// What is asked of each server.
    pub(crate) wishes: Vec<String>,
    /// Words before each door's command, and variables of it.
    pub(crate) launchers: Vec<Vec<String>>,
    pub(crate) variables: Vec<Vec<String>>,
    pub(crate) same_machine: bool,
    pub(crate) coordinator: u64,
    pub(crate) out: PathBuf,
}

impl Fleet {
    pub(crate) fn of(servers: usize) -> Self {
        let made = tempfile::tempdir().unwrap();
        Self {
            out: made.path().join("out"),
            made,
            wishes: vec![String::new(); servers],
            launchers: vec![Vec::new(); servers],
            variables: vec![Vec::new(); servers],
            same_machine: true,
            coordinator: 1,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.made.path()
    }

    /// The folder of claims of a server.
    pub(crate) fn state(&self, server: usize) -> PathBuf {
        self.path().join(format!("state-{server}"))
    }

    pub(crate) fn worker(&self, server: usize) -> Option<i32> {
        workers(&self.state(server), RUN).last().copied()
    }

    pub(crate) fn keeper(&self, server: usize) -> Option<i32> {
        self.worker(server).and_then(keeper)
    }

    /// The command of the door of `server`.
    pub(crate) fn door(&self, server: usize) -> Vec<String> {
        let mut door = command("door");
        let state = format!("BRUNT_TEST_STATE={}", self.state(server).display());
        door.splice(1..1, self.variables[server].iter().cloned().chain([state]));
        door
    }

    pub(crate) fn conduct(&self, watcher: Watcher<'_>) -> Result<Report, AgentError> {
        let host = |(number, wish): (usize, &String)| HostPlan {
            name: format!("MAIL{}", number + 1),
            run: RUN.to_owned(),
            scenario: wish.clone(),
        };
        let plan = Plan {
            program: program(),
            coordinator: self.coordinator,
            replace: false,
            hosts: self.wishes.iter().enumerate().map(host).collect(),
            limits: Limits {
                wait: Span::seconds(40),
                max_skew: Span::millis(500),
                same_machine: self.same_machine,
                reach: Span::seconds(20),
                lasts: Span::seconds(2),
                bytes_max: 16 << 20,
            },
        };
        let ways: Vec<HostWay> = (0..self.wishes.len()).map(|server| self.way(server)).collect();
        let mut user = User { fleet: self, watcher, stops: 0 };
        conduct(plan, &ways, &self.out, &mut user)
    }

    fn way(&self, server: usize) -> HostWay {
        let shell = ["sh", "-c", "exec 3>&1 1>/dev/null; exec \"$@\"", "sh"].map(str::to_owned);
        let words = self.launchers[server].iter().cloned().chain(shell).chain(self.door(server));
        HostWay { command: words.map(OsString::from).collect() }
    }

    /// To its end, with nothing done to it.
    pub(crate) fn run(&self) -> Report {
        self.conduct(Box::new(|_, _| 0)).unwrap()
    }

    /// Does something once a server is in `phase`.
    pub(crate) fn run_and(&self, server: usize, phase: Phase, what: impl Fn(&Self)) -> Report {
        let mut is_done = false;
        let watcher = move |rows: &[Row<'_>], fleet: &Self| {
            if rows[server].phase >= phase
                && !std::mem::replace(&mut is_done, rows[server].phase >= phase)
            {
                what(fleet);
            }
            0
        };
        self.conduct(Box::new(watcher)).unwrap()
    }

    /// Whether every folder is here as it is there.
    pub(crate) fn is_whole(&self) -> bool {
        self.wishes.iter().enumerate().all(|(number, wish)| {
            let here = self.out.join(format!("MAIL{}", number + 1)).join("journal");
            fs::read(here).is_ok_and(|bytes| bytes == Wish::of(wish).journal())
        })
    }

    /// How often a test has begun on each server.
    pub(crate) fn begun(&self) -> Vec<usize> {
        let count = |server| workers(&self.state(server), RUN).len();
        (0..self.wishes.len()).map(count).collect()
    }
}

impl Drop for Fleet {
    /// Nothing that a failed test began goes on.
    fn drop(&mut self) {
        for server in 0..self.wishes.len() {
            if let Some(keeper) = self.keeper(server).filter(|keeper| *keeper > 1) {
                signal(keeper, rustix::process::Signal::KILL);
            }
            if let Some(worker) = self.worker(server) {
                // It has ended if its number is not that of a worker of ours any more.
                let path = format!("/proc/{worker}/environ");
                let is_ours = fs::read(path)
                    .is_ok_and(|said| said.windows(17).any(|words| words == b"BRUNT_ROLE=worker"));
                if is_ours {
                    signal(worker, rustix::process::Signal::KILL);
                }
            }
        }
    }
}

pub(crate) fn signal(process: i32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process).unwrap();
    let _ = rustix::process::kill_process(process, signal);
}

struct User<'a> {
    fleet: &'a Fleet,
    watcher: Watcher<'a>,
    stops: u32,
}

impl Conducting for User<'_> {
    fn stops(&self) -> u32 {
        self.stops
    }

    fn rows(&mut self, rows: &[Row<'_>]) {
        self.stops += (self.watcher)(rows, self.fleet);
    }

    fn advise(&mut self, _: &str) {}
}

#[test]
fn three_servers_of_this_machine() {
    let fleet = Fleet::of(3);
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Pass, "{report:?}");
    assert!(report.skew.unwrap() <= Span::millis(500), "{report:?}");
    for agent in &report.agents {
        // One machine has one clock.
        let (offset, bound) = (agent.offset_ns.unwrap(), agent.offset_bound.unwrap());
        assert!(offset.unsigned_abs() <= bound.0, "{agent:?}");
    }
    assert!(fleet.is_whole());
    assert_eq!(fleet.begun(), [1, 1, 1]);
}

#[test]
fn one_over_a_limit_and_one_that_ends_early() {
    let mut fleet = Fleet::of(2);
    fleet.wishes[1] = "fails=1".to_owned();
    let report = fleet.run();
    assert_eq!(
        (report.verdict, &report.reasons[..]),
        (Verdict::Fail, &["MAIL2: fail".to_owned()][..])
    );
    let mut fleet = Fleet::of(2);
    fleet.wishes[0] = "gives_up=its databases are full\ncollect_ms=2000".to_owned();
    fleet.wishes[1] = "collect_ms=20000".to_owned();
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Invalid);
    assert_eq!(report.reasons, ["MAIL1: ended early: its databases are full"]);
    assert_eq!(report.agents[1].fate, Fate::WithOthers, "it did not collect for twenty seconds");
    assert!(fleet.is_whole(), "what they have is here");
}

#[test]
fn the_user_stops() {
    for phase in [Phase::Checked, Phase::Collecting] {
        let mut fleet = Fleet::of(2);
        fleet.wishes = vec!["create_ms=1000\ncollect_ms=20000".to_owned(); 2];
        let mut is_asked = false;
        let report = fleet.conduct(Box::new(|rows, _| {
            let is_now = rows.iter().all(|row| row.phase >= phase);
            u32::from(is_now && !std::mem::replace(&mut is_asked, is_now))
        }));
        let report = report.unwrap();
        assert_eq!(report.verdict, Verdict::Interrupted, "{phase:?}: {report:?}");
    }
}
