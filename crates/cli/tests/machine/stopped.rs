//! A program that is stopped for three seconds in the middle of a test, as a virtual machine is
//! that moves. Everything in flight looks as slow as that, and nothing of it is the storage's.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use brunt_qualify::rules::RuleId;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, brunt, fails, reasons, scenario, turn};

const STOPPED: Duration = Duration::from_secs(3);

#[test]
fn a_program_that_is_stopped_blames_no_storage() {
    let _turn = turn();
    let home = TempDir::new().unwrap();
    // Three of ten seconds miss a target.
    let text = scenario(&home.path().join("scratch"), "sessions = 2\ntarget_io_per_s = 50");
    fs::write(home.path().join("machine.toml"), text.replace("\"4s\"", "\"10s\"")).unwrap();
    let mut start = brunt();
    start.args(["run", "machine.toml", "--json"]).current_dir(home.path());
    start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Ended(start.spawn().unwrap());
    let mut talk = BufReader::new(running.0.stderr.take().unwrap()).lines();
    let measures = talk.by_ref().map(Result::unwrap).find(|line| line.starts_with("test: "));
    assert!(measures.is_some(), "it measures");
    let pid = Pid::from_child(&running.0);
    kill_process(pid, Signal::STOP).unwrap();
    thread::sleep(STOPPED);
    kill_process(pid, Signal::CONT).unwrap();
    let listener = thread::spawn(move || talk.map_while(Result::ok).collect::<Vec<String>>());
    let mut said = String::new();
    running.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let status = running.0.wait().unwrap();
    let talk = listener.join().unwrap().join("\n");
    let result: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{talk}"));
    assert_eq!((result["verdict"].as_str(), status.code()), (Some("invalid"), Some(2)), "{talk}");
    let still = fails(&result, RuleId::TesterStandstill, "failed");
    assert!(still["measured"].as_f64() > Some(2_900.0), "{still}");
    for text in [still["remark"].to_string(), reasons(&result), talk] {
        let gap = text.split_once("brunt did not run for ").map(|(_, gap)| gap);
        assert!(gap.is_some_and(|gap| gap.contains(" s after the start")), "{text}");
    }
    let stop = super::rule(&result, RuleId::LongestStop);
    assert!(stop["measured"].as_f64() < Some(3_000.0), "it is no stop of the storage: {stop}");
}
