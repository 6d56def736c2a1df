//! What happens to processes, connections and disks.

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use brunt_agents::devices;
use brunt_fleet::{Fate, Phase};
use brunt_report::result::Verdict;
use rustix::process::Signal;

use crate::fleet::{Fleet, signal};

fn skipped(test: &str, why: &str) {
    if let Some(list) = std::env::var_os("BRUNT_SKIPPED") {
        let mut list = fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        writeln!(list, "{test}: {why}").unwrap();
    }
}

#[test]
fn a_worker_killed_in_each_phase() {
    for phase in [Phase::Checked, Phase::Preparing, Phase::Ready, Phase::Warming, Phase::Collecting]
    {
        let mut fleet = Fleet::of(2);
        fleet.wishes = vec!["create_ms=1500\nwarm_ms=800\ncollect_ms=8000".to_owned(); 2];
        let report = fleet.run_and(1, phase, |fleet| {
            fleet.worker(1).into_iter().for_each(|worker| signal(worker, Signal::KILL));
        });
        assert_eq!(report.verdict, Verdict::Invalid, "{phase:?}: {report:?}");
        let why = "MAIL2: was killed: signal 9, as when memory is short";
        assert_eq!(report.reasons, [why], "{phase:?}");
        assert_eq!(report.agents[0].fate, Fate::WithOthers, "{phase:?}");
    }
}

#[test]
fn a_keeper_killed_takes_its_worker_with_it() {
    let mut fleet = Fleet::of(2);
    fleet.wishes = vec!["collect_ms=8000".to_owned(); 2];
    let report = fleet.run_and(1, Phase::Collecting, |fleet| {
        fleet.keeper(1).into_iter().for_each(|keeper| signal(keeper, Signal::KILL));
    });
    assert_eq!(report.verdict, Verdict::Invalid, "{report:?}");
    assert!(matches!(report.agents[1].fate, Fate::Killed { .. }), "{report:?}");
    assert!(fleet.is_whole(), "what it has is here");
}

#[test]
fn a_worker_that_stands_still() {
    let stop_for = |phase, millis: u64| {
        let mut fleet = Fleet::of(2);
        fleet.wishes = vec!["create_ms=1000\ncollect_ms=9000".to_owned(); 2];
        let report = fleet.run_and(1, phase, |fleet| {
            let Some(worker) = fleet.worker(1) else { return };
            signal(worker, Signal::STOP);
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(millis));
                signal(worker, Signal::CONT);
            });
        });
        (report.verdict, report.agents[1].fate.clone())
    };
    let (verdict, fate) = stop_for(Phase::Collecting, 7_000);
    assert_eq!(verdict, Verdict::Invalid, "{fate:?}");
    assert!(matches!(fate, Fate::Silent { .. }), "{fate:?}");
    let (verdict, fate) = stop_for(Phase::Preparing, 2_000);
    assert_eq!(verdict, Verdict::Pass, "it was only late: {fate:?}");
}

#[test]
fn a_keeper_that_stands_still_is_reported_by_its_door() {
    let mut fleet = Fleet::of(2);
    fleet.wishes = vec!["collect_ms=9000".to_owned(); 2];
    let report = fleet.run_and(1, Phase::Collecting, |fleet| {
        let Some(keeper) = fleet.keeper(1) else { return };
        signal(keeper, Signal::STOP);
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(7_000));
            signal(keeper, Signal::CONT);
        });
    });
    assert_eq!(report.verdict, Verdict::Invalid, "{report:?}");
    assert!(matches!(report.agents[1].fate, Fate::Silent { .. }), "{report:?}");
}

#[test]
fn a_coordinator_that_dies_is_followed_by_another() {
    for phase in [Phase::Checked, Phase::Ready, Phase::Warm, Phase::Collecting, Phase::Closing] {
        let mut fleet = Fleet::of(2);
        fleet.wishes = vec!["create_ms=600\ncollect_ms=2500\nclose_ms=600".to_owned(); 2];
        let died = catch_unwind(AssertUnwindSafe(|| {
            fleet.conduct(Box::new(|rows, _| {
                assert!(rows[0].phase < phase, "dies on purpose");
                0
            }))
        }));
        assert!(died.is_err(), "{phase:?}");
        fleet.coordinator = 2;
        let report = fleet.run();
        assert_eq!(report.verdict, Verdict::Pass, "{phase:?}: {report:?}");
        assert!(fleet.is_whole(), "{phase:?}");
        assert_eq!(fleet.begun(), [1, 1], "{phase:?}");
        fleet.coordinator = 3;
        let again = fleet.run();
        assert_eq!(again.verdict, Verdict::Pass, "collected once more: {again:?}");
        assert_eq!(fleet.begun(), [1, 1], "{phase:?}");
    }
}

#[test]
fn a_launcher_that_drops_its_stream_changes_nothing() {
    let mut fleet = Fleet::of(2);
    fleet.wishes = vec!["create_ms=2000\ncollect_ms=9000\nbytes=3000000".to_owned(); 2];
    fleet.launchers[1] = ["timeout", "3"].map(str::to_owned).to_vec();
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Pass, "{report:?}");
    assert!(fleet.is_whole());
    assert_eq!(fleet.begun(), [1, 1]);
}

#[test]
fn a_folder_damaged_on_its_way_is_fetched_again() {
    let mut fleet = Fleet::of(1);
    let marker = fleet.path().join("damaged");
    let mut damager = crate::roles::command("damage");
    damager.push(marker.display().to_string());
    // The launcher of a door whose answers pass through another program.
    let script = format!(
        "exec 4>&1; \"$@\" | ({}) 3>&4 1>/dev/null",
        damager.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
    );
    fleet.launchers[0] = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Pass, "{report:?}");
    assert!(marker.exists(), "a byte was changed");
    assert!(fleet.is_whole());
}

#[test]
fn another_commit_never_begins() {
    let mut fleet = Fleet::of(2);
    fleet.variables[1] = vec!["BRUNT_TEST_COMMIT=older".to_owned()];
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Error);
    let why = "MAIL2: cannot begin: here is brunt 0.1.0 (older), there is 0.1.0 (new)";
    assert_eq!(report.reasons, [why]);
    assert!(!fleet.state(1).exists(), "it has claimed nothing");
}

#[test]
fn a_host_that_cannot_be_reached_or_refuses() {
    let mut fleet = Fleet::of(2);
    fleet.wishes[1] = "refuses=error: there is no room".to_owned();
    let report = fleet.run();
    assert_eq!(report.reasons, ["MAIL2: cannot begin: error: there is no room"]);
    let mut fleet = Fleet::of(2);
    let refused = "echo 'ssh: connect to host a2: Connection refused' >&2; exit 255";
    fleet.launchers[1] = ["sh", "-c", refused].map(str::to_owned).to_vec();
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Error);
    let why = "MAIL2: not reached: ssh: connect to host a2: Connection refused";
    assert_eq!(report.reasons, [why]);
    let mut fleet = Fleet::of(1);
    fleet.launchers[0] =
        ["sh", "-c", "echo Welcome to a1; exec \"$@\"", "sh"].map(str::to_owned).to_vec();
    let report = fleet.run();
    assert!(report.reasons[0].contains("not brunt answers there"), "{report:?}");
}

#[test]
fn a_machine_or_a_device_twice() {
    let mut fleet = Fleet::of(2);
    fleet.same_machine = false;
    let report = fleet.run();
    assert_eq!(report.reasons, ["MAIL2: is the machine of MAIL1"]);
    let mut fleet = Fleet::of(2);
    fleet.same_machine = false;
    fleet.variables[1] = vec!["BRUNT_TEST_BOOT=another machine".to_owned()];
    let here = fleet.path().to_owned();
    if devices(std::slice::from_ref(&here)).is_empty() {
        skipped(
            "a_machine_or_a_device_twice",
            "nothing names the device under the folder of tests",
        );
        return;
    }
    fleet.wishes = vec![format!("folder={}", here.display()); 2];
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Error);
    assert!(report.reasons[0].ends_with("which MAIL1 writes to"), "{report:?}");
    assert!(!fleet.state(0).join("run-1/out/run").exists(), "nothing was written");
}

#[test]
fn the_owner_of_a_host_has_the_last_word() {
    let says = |text: &str| {
        let mut fleet = Fleet::of(2);
        fleet.wishes = vec!["collect_ms=6000".to_owned(); 2];
        fs::create_dir_all(fleet.state(1)).unwrap();
        fs::write(fleet.state(1).join("agent.toml"), text).unwrap();
        let report = fleet.run();
        let is_written = fleet.state(1).join("run-1/out/run").exists();
        (report.verdict, report.reasons.concat(), is_written)
    };
    let (verdict, why, is_written) = says("bytes = \"1 KiB\"");
    assert_eq!((verdict, is_written), (Verdict::Error, false), "{why}");
    assert!(why.contains("1 KiB are allowed"), "{why}");
    let (verdict, why, is_written) = says("folders = [\"/mnt/elsewhere\"]");
    assert_eq!((verdict, is_written), (Verdict::Error, false), "{why}");
    let (verdict, why, is_written) = says("what = 1");
    assert_eq!((verdict, is_written), (Verdict::Error, false), "{why}");
    let (verdict, why, _) = says("longest = \"4s\"");
    assert_eq!(verdict, Verdict::Invalid, "{why}");
    assert_eq!(why, "MAIL2: ended early: this host allows 4.0 s");
}

/// A file system of 256 KiB, for as long as this lives.
struct Small(std::path::PathBuf);

impl Small {
    fn at(path: &std::path::Path) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "brunt-test"])
            .arg(path)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_here_and_there() {
    let fleet = Fleet::of(1);
    let Some(there) = Small::at(&fleet.state(0)) else {
        skipped("a_full_disk_here_and_there", "it may not mount a small file system");
        return;
    };
    let report = fleet.run();
    assert_eq!(report.verdict, Verdict::Invalid, "{report:?}");
    drop((fleet, there));
    let mut fleet = Fleet::of(1);
    fleet.out = fleet.path().join("small");
    let here = Small::at(&fleet.out).unwrap();
    let refused = fleet.conduct(Box::new(|_, _| 0)).unwrap_err().to_string();
    assert!(refused.contains("No space left"), "{refused}");
    drop(here);
    fleet.out = fleet.path().join("out");
    fleet.coordinator = 2;
    assert_eq!(fleet.run().verdict, Verdict::Pass, "it is collected elsewhere");
    assert!(fleet.is_whole());
}
