//! `brunt drill` on two folders: processes that are really killed, frozen and cut off, and what is
//! found afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use brunt_world::random::Streams;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    SERVER, all_hold, controls_are_red, interrupt, is_gone, names_of_steps, outcome, rule, said,
    skip,
};

/// A drill of a second or two.
const SCENARIO: &str = r#"
[drill]
sample = "1s"
after = "2s"
[[event]]
at = "1s"
what = "source lost"
[[event]]
at = "1s"
what = "failover"
"#;

/// Not below /tmp, which may be a file system in memory.
fn home() -> TempDir {
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(home.path().join("short.toml"), scenario()).unwrap();
    home
}

fn scenario() -> String {
    format!("name = \"short\"\n{SERVER}{SCENARIO}")
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    super::command(home, "short.toml", arguments)
}

fn drill(home: &Path, arguments: &[&str]) -> (Output, Value) {
    outcome(&mut command(home, arguments))
}

fn is_clean(home: &Path) -> bool {
    ["a", "b"].iter().all(|name| !home.join(name).exists())
}

/// Waits for a folder to appear, for at most a minute.
fn wait_for(path: &Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{} did not appear", path.display());
}

#[test]
fn a_killed_source_loses_nothing_and_controls_are_red() {
    let home = home();
    let (output, result) = drill(home.path(), &[]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let drill = &result["drill"];
    assert_eq!(drill["rpo"]["transactions"], 0, "{drill}");
    assert!(drill["rpo"]["kept"].as_u64() > Some(10), "{drill}");
    assert!(drill["rto_s"].as_f64() > Some(0.0), "{drill}");
    assert_eq!(
        names_of_steps(&result),
        ["decision", "fencing", "log replay", "mount", "first operation"]
    );
    controls_are_red(&result);
    let rules = [
        "drill-order",
        "drill-recovery-point",
        "drill-records",
        "drill-remote-checksum",
        "drill-one-side",
    ];
    all_hold(&result, &rules);
    assert!(is_clean(home.path()), "{said}");
    let run = fs::read_dir(home.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("RPO"));
    assert!(run.join("scenario.toml").exists() && run.join("events.log").exists());
}

#[test]
fn a_source_that_wakes_up_is_fenced() {
    for loss in ["source frozen", "link lost"] {
        let home = home();
        let set = format!("--set=event.0.what={loss}");
        let (output, result) = drill(home.path(), &["--no-controls", &set]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let events = result["drill"]["events"].to_string();
        assert!(events.contains("the source learns that it is fenced by epoch 2"), "{events}");
        assert_eq!(result["drill"]["rpo"]["transactions"], 0);
        assert_eq!(rule(&result, "drill-one-side"), "ok");
    }
}

#[test]
fn the_witness_misses_a_silent_source_and_fails_over() {
    for loss in ["source lost", "source frozen"] {
        let home = home();
        let text = scenario()
            .replace("\"source lost\"", &format!("\"{loss}\""))
            .replace("at = \"1s\"\nwhat = \"failover\"", "what = \"failover\"\nsilence = \"1s\"");
        fs::write(home.path().join("short.toml"), text).unwrap();
        let (output, result) = drill(home.path(), &["--no-controls"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let drill = &result["drill"];
        assert_eq!(drill["rpo"]["transactions"], 0, "{drill}");
        let detection = &drill["steps"][0];
        assert_eq!(detection["name"], "detection", "{drill}");
        // It was heard at most one beat before it was lost.
        assert!(detection["seconds"].as_f64() > Some(0.5), "{drill}");
        assert!(drill["rto_s"].as_f64() > detection["seconds"].as_f64());
        assert_eq!(rule(&result, "drill-one-side"), "ok", "{result}");
        assert!(is_clean(home.path()));
    }
}

#[test]
fn a_frozen_source_that_somebody_lets_go_on_is_not_waited_for() {
    let home = home();
    let text = scenario()
        .replace("\"source lost\"", "\"source frozen\"")
        .replace("at = \"1s\"\nwhat = \"failover\"", "what = \"failover\"\nsilence = \"1min\"");
    fs::write(home.path().join("short.toml"), text).unwrap();
    let (drill, sites) = started(home.path(), &["--no-controls"]);
    let stat = format!("/proc/{}/stat", sites[0]);
    let is_frozen = || {
        let stat = fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    };
    for _ in 0..6000 {
        if is_frozen() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let number = rustix::process::Pid::from_raw(sites[0].try_into().unwrap()).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::CONT).unwrap();
    let output = drill.wait_with_output().unwrap();
    let words = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("another program resumed the frozen source"), "{words}");
    assert!(is_clean(home.path()), "{words}");
}

#[test]
fn packets_are_lost_and_commits_are_not() {
    let home = home();
    let link = ["--set=link.rtt=2ms", "--set=link.loss_per_million=5000"];
    let (output, result) = drill(home.path(), &[&link[..], &["--no-controls"]].concat());
    if said(&output).contains("this system refuses") {
        return skip(
            "real_drill::own::packets_are_lost_and_commits_are_not",
            "no networks of its own here",
        );
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let events = result["drill"]["events"].as_array().unwrap().iter();
    let mut told = events.filter_map(|event| event["what"].as_str());
    let words = told.rfind(|what| what.contains("crossed the link")).unwrap();
    assert!(words.contains("lost: ") && !words.contains("lost: 0"), "{words}");
    assert_eq!(result["drill"]["rpo"]["transactions"], 0);
    assert_eq!(rule(&result, "drill-one-side"), "ok");
    assert!(is_clean(home.path()));
}

/// Stands in for ssh: the other host is this one.
const SSH: &str = r#"#!/bin/bash
while [ $# -gt 0 ]; do
  case "$1" in
    -o) shift 2 ;;
    -T) shift ;;
    -W) way=$2; shift 2 ;;
    --) host=$2; shift 2; break ;;
    *) echo "ssh: what is $1?" >&2; exit 255 ;;
  esac
done
[ "$host" = elsewhere ] || { echo "ssh: no host $host" >&2; exit 255; }
if [ -n "$way" ]; then
  exec 3<>"/dev/tcp/${way%:*}/${way##*:}"
  cat <&3 &
  exec cat >&3
fi
cd / && exec sh -c "$*"
"#;

#[test]
fn a_destination_on_another_host_takes_over_and_leaves_nothing() {
    let home = home();
    let (bin, there) = (home.path().join("bin"), home.path().join("there"));
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("ssh"), SSH).unwrap();
    fs::set_permissions(bin.join("ssh"), Permissions::from_mode(0o755)).unwrap();
    let usual = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{usual}", bin.display());
    let site = |key: &str, value: &str| format!("--set=site.destination.{key}={value}");
    let program = site("program", env!("CARGO_BIN_EXE_brunt"));
    let folder = site("folder", there.to_str().unwrap());
    let drill = |host: &str, more: &str| {
        let host = site("host", host);
        let arguments = ["--no-controls", "--allow-exec", &program, &folder, &host, more];
        let output = command(home.path(), &arguments).env("PATH", &path).output();
        output.unwrap()
    };
    for more in ["--set=event.0.what=link lost", "--asynchronous"] {
        let output = drill("elsewhere", more);
        let code = if more == "--asynchronous" { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let lost = result["drill"]["rpo"]["transactions"].as_u64().unwrap();
        assert_eq!(lost > 0, more == "--asynchronous");
        assert!(!there.exists() && is_clean(home.path()));
    }
    // What is there and not of a drill is left alone, and a host that cannot be reached is named.
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "").unwrap();
    let output = drill("elsewhere", "--new");
    assert!(said(&output).contains("is not empty, and brunt did not make it"));
    assert!(there.join("mine").exists());
    let output = drill("nowhere", "--new");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("the destination ended: ssh: no host nowhere"));
}

#[test]
fn what_asynchronous_replication_loses_is_said_exactly() {
    for loss in ["source lost", "link lost"] {
        let home = home();
        let set = format!("--set=event.0.what={loss}");
        let arguments = ["--no-controls", "--asynchronous", &set];
        let (output, result) = drill(home.path(), &arguments);
        // Nobody has said how much may be lost.
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert_eq!(result["verdict"], "no_limit_set");
        let reasons = result["reasons"].to_string();
        assert!(reasons.contains("set drill.recovery_point"), "{reasons}");
        let rpo = &result["drill"]["rpo"];
        // The log that is being written exists at the source alone.
        assert!(rpo["transactions"].as_u64() > Some(0) && rpo["bytes"].as_u64() > Some(0), "{rpo}");
        assert!(rpo["seconds"].as_f64() > Some(0.0), "{rpo}");
        for id in ["drill-order", "drill-as-reported", "drill-records", "drill-one-side"] {
            assert_eq!(rule(&result, id), "ok", "{id}: {result}");
        }
        assert!(is_clean(home.path()));
    }
}

#[test]
fn a_planned_failover_shuts_down_first() {
    let home = home();
    let text = scenario().replace("[[event]]\nat = \"1s\"\nwhat = \"source lost\"\n", "")
        + "planned = true\n";
    fs::write(home.path().join("short.toml"), text).unwrap();
    let (output, result) = drill(home.path(), &["--no-controls"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(result["drill"]["steps"][0]["name"], "shutdown");
    assert_eq!(result["drill"]["rpo"]["transactions"], 0);
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let drills = std::env::var("BRUNT_DRILLS").map_or(2, |text| text.parse().unwrap());
    let seed = std::env::var("BRUNT_SEED").map_or(1, |text| text.parse().unwrap());
    let mut draw = Streams::new(seed).named("drills");
    let (mut kept, mut longest) = (0, 0.0_f64);
    for number in 0..drills {
        let home = home();
        let at = format!("{}ms", 1 + draw.below(1_500));
        let seed = draw.below(1 << 40).to_string();
        let sets = [0, 1].map(|event| format!("--set=event.{event}.at={at}"));
        let arguments = ["--no-controls", "--seed", &seed, &sets[0], &sets[1]];
        let (output, result) = drill(home.path(), &arguments);
        let words = format!("drill {number}, killed after {at}, --seed {seed}: {}", said(&output));
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert_eq!(result["drill"]["rpo"]["transactions"], 0, "{words}");
        kept += result["drill"]["rpo"]["kept"].as_u64().unwrap();
        longest = longest.max(result["drill"]["rto_s"].as_f64().unwrap());
    }
    println!(
        "{drills} kills: {kept} acknowledged commits, none lost; the longest RTO was {longest:.3} s"
    );
    assert!(kept > 0);
}

/// The processes that `parent` has started.
fn children_of(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// A drill that is under way, with both of its processes.
fn under_way(home: &Path) -> (Child, Vec<u32>) {
    let later = ["--set=event.0.at=60s", "--set=event.1.at=61s"];
    started(home, &[&["--no-controls"], &later[..]].concat())
}

/// A drill that has begun, with both of its processes.
fn started(home: &Path, arguments: &[&str]) -> (Child, Vec<u32>) {
    let child =
        command(home, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&home.join("b/files/db1/1.edb"));
    let sites = children_of(child.id());
    assert_eq!(sites.len(), 2);
    (child, sites)
}

fn wait_until_gone(pids: &[u32]) {
    for _ in 0..300 {
        if pids.iter().all(|pid| is_gone(*pid)) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{pids:?} are still there");
}

#[test]
fn a_stop_leaves_nothing_and_a_death_no_process() {
    let home = home();
    let (drill, sites) = under_way(home.path());
    let output = interrupt(drill);
    wait_until_gone(&sites);
    assert!(is_clean(home.path()), "{}", said(&output));
    let stopped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(stopped["verdict"], "interrupted");
    fs::remove_dir_all(home.path().join("runs")).unwrap();
    // A drill that is killed cannot clean up, but its processes die with it.
    let (mut drill, sites) = under_way(home.path());
    let run = fs::read_dir(home.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    wait_for(&run.join("counters.csv"));
    drill.kill().unwrap();
    drill.wait().unwrap();
    wait_until_gone(&sites);
    killed_is_interrupted(home.path(), &run);
    let (output, _) = self::drill(home.path(), &[]);
    let refused = said(&output);
    assert!(
        refused.contains("holds what a drill has left that did not end\n  to replace it: --new"),
        "{refused}"
    );
    let (output, _) = self::drill(home.path(), &["--no-controls", "--new"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(is_clean(home.path()));
}

/// What is said of a drill that was killed under load.
fn killed_is_interrupted(home: &Path, run: &Path) {
    assert!(!run.join("result.json").exists());
    let mut report = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let report = report.arg("report").arg(run).arg("--json").current_dir(home).output().unwrap();
    let result: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((report.status.code(), &result["verdict"]), (Some(0), &"interrupted".into()));
    assert!(!result["drill"]["samples"].as_array().unwrap().is_empty(), "{result}");
    assert!(run.join("report.html").exists());
}

#[test]
fn a_site_that_dies_by_itself_is_reported() {
    let home = home();
    let (drill, sites) = under_way(home.path());
    let number = rustix::process::Pid::from_raw(sites[1].try_into().unwrap()).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    let output = drill.wait_with_output().unwrap();
    let words = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("the destination ended: it ended without a word: signal: 9"), "{words}");
    assert!(is_clean(home.path()), "{words}");
}

#[test]
fn foreign_files_are_left_alone() {
    let home = home();
    fs::create_dir(home.path().join("a")).unwrap();
    fs::write(home.path().join("a/thesis.doc"), "x").unwrap();
    let (output, _) = drill(home.path(), &["--new"]);
    assert_eq!(output.status.code(), Some(2));
    let words = said(&output);
    assert!(
        words.contains("short.toml:23: `folder = \"a\"`: is not empty, and brunt did not make it"),
        "{words}"
    );
    assert!(home.path().join("a/thesis.doc").exists() && !home.path().join("b").exists());
}
