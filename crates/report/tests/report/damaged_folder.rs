//! Damaged run folders: files are missing, cut off, or replaced by links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use brunt_report::{Counters, Run};
use brunt_stats::{Latencies, LatencyLog, Reading};
use brunt_units::{Span, Time};
use tempfile::TempDir;

const RESULT: &str = include_str!("result_v2.json");

/// The folder of a run that recorded two samples of two instances with one database each.
fn run_folder(parent: &TempDir) -> PathBuf {
    let folder = parent.path().join("2026-11-21-181503-my-test");
    fs::create_dir(&folder).unwrap();
    let latency = Some(Span::micros(50));
    let reading = Reading {
        count: 100,
        bytes: 100 * 4096,
        mean: latency,
        p50: latency,
        p99: latency,
        p999: latency,
        max: latency,
    };
    let mut latencies = Latencies::new();
    (1..=100).for_each(|at| latencies.record(Span::micros(at)));
    let (mut counters, mut log) = (Counters::new(), LatencyLog::new(1_795_284_903));
    for at in [40, 50] {
        let (begin, length) = (Time::ZERO + Span::seconds(at), Span::seconds(10));
        for stream in [
            "database-read",
            "DB2.read",
            "DB10.read",
            "Instance-1.log-write",
            "Instance-2.log-write",
        ] {
            counters.add(begin, length, stream, &reading);
            log.add(stream, begin, length, &latencies);
        }
    }
    let text = format!("{}{}", Counters::HEAD, counters.take());
    fs::write(folder.join("counters.csv"), text).unwrap();
    fs::write(folder.join("latency.hlog"), log.take()).unwrap();
    fs::write(folder.join("events.log"), "2026-11-21T18:15:03Z Test begins\n").unwrap();
    fs::write(folder.join("result.json"), RESULT).unwrap();
    folder
}

fn error(folder: &Path) -> String {
    let error = Run::read(folder).expect_err("it cannot be read");
    error.to_string().replace(folder.to_str().unwrap(), "RUN")
}

#[test]
fn a_result_that_was_cut_off_is_no_result() {
    let parent = TempDir::new().unwrap();
    let folder = run_folder(&parent);
    for length in (0..RESULT.len()).step_by(997) {
        fs::write(folder.join("result.json"), &RESULT[..length]).unwrap();
        assert!(error(&folder).starts_with("RUN/result.json: "));
    }
    // A result of another version is not damaged.
    fs::write(folder.join("result.json"), "{\"schema\": \"brunt.result/9\"}").unwrap();
    assert!(error(&folder).contains("its schema is"));
}

#[test]
fn the_folder_of_another_simulation_is_named() {
    let parent = TempDir::new().unwrap();
    let folder = run_folder(&parent);
    for name in ["result.json", "counters.csv", "latency.hlog", "events.log"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    for (table, what) in [("simulation.json", "raw load"), ("points.json", "sweep or search")] {
        fs::write(folder.join(table), "{}").unwrap();
        let said = format!(
            "RUN: is the folder of a {what}, not of a run; its figures are in report.html and {table}"
        );
        assert_eq!(error(&folder), said);
    }
}

#[test]
fn a_run_that_was_stopped_before_it_began_is_named() {
    let parent = TempDir::new().unwrap();
    let folder = run_folder(&parent);
    fs::remove_file(folder.join("result.json")).unwrap();
    fs::write(folder.join("counters.csv"), Counters::HEAD).unwrap();
    let said = "RUN: is the folder of a run that was stopped before its test began; there is nothing to report";
    assert_eq!(error(&folder), said);
    for name in ["counters.csv", "latency.hlog", "events.log"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    assert_eq!(error(&folder), said);
    let other = parent.path().join("photos");
    fs::create_dir(&other).unwrap();
    assert_eq!(error(&other), "RUN: is not the folder of a run: it has no result.json");
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let parent = TempDir::new().unwrap();
    let secret = parent.path().join("secret");
    fs::write(&secret, "2026-11-21T18:15:03Z secret\n").unwrap();
    for name in ["result.json", "counters.csv", "events.log", "scenario.toml"] {
        let folder = run_folder(&parent);
        let path = folder.join(name);
        for target in [&*secret, Path::new("/dev/zero")] {
            let _ = fs::remove_file(&path);
            symlink(target, &path).unwrap();
            assert_eq!(error(&folder), format!("RUN/{name}: is a symbolic link"));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn a_table_without_an_end_is_an_error() {
    let parent = TempDir::new().unwrap();
    let folder = run_folder(&parent);
    let table = fs::OpenOptions::new().write(true).open(folder.join("counters.csv")).unwrap();
    // A sparse file: it takes no space, and reads as zeros for a long time.
    table.set_len(1 << 40).unwrap();
    assert_eq!(error(&folder), "RUN/counters.csv: has a line of more than 16 MiB");
}
