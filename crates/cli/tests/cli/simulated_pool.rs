//! Tests on LUNs in pages: events of a storage pool while a mail server works on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use super::program::brunt;

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-pool.toml");

/// The example, made small enough for a test: small databases, small pages, everything within a
/// minute.
fn small() -> String {
    let mut text = EXAMPLE.to_owned();
    for (from, to) in [
        ("\"12 GiB\"", "\"96 MiB\""),
        ("\"20min\"", "\"50s\""),
        ("\"2min\"", "\"2s\""),
        ("\"64 MiB\"\ncache_max = \"256 MiB\"", "\"6 MiB\"\ncache_max = \"12 MiB\""),
        ("size = \"15 MiB\"", "size = \"1 MiB\""),
        ("drive_size = \"8 GB\"", "drive_size = \"120 MB\""),
        ("write = \"256 MiB\"\nread = \"64 MiB\"", "write = \"4 MiB\"\nread = \"2 MiB\""),
        ("balance_every = \"3min\"", "balance_every = \"5s\""),
        ("balance_gap = \"4ms\"", "balance_gap = \"1ms\""),
        ("at = \"4min\"", "at = \"10s\""),
        ("at = \"6min\"", "at = \"15s\""),
        ("at = \"14min\"", "at = \"30s\""),
        ("at = \"18min\"", "at = \"40s\""),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

struct Simulated {
    _home: TempDir,
    folder: PathBuf,
    output: Output,
}

impl Simulated {
    fn said(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        text(&self.output.stdout) + &text(&self.output.stderr)
    }

    fn result(&self) -> Value {
        let text = fs::read(self.folder.join("result.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

fn simulate(scenario: &str, more: &[&str]) -> Simulated {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("pool.toml"), scenario).unwrap();
    let mut command = brunt(home.path());
    command.args(["simulate", "pool.toml", "--out", "out"]);
    let output = command.args(more).output().unwrap();
    let folder = only_folder(&home.path().join("out"));
    Simulated { folder, output, _home: home }
}

/// The one folder of a simulation; no folder when there is none.
fn only_folder(out: &Path) -> PathBuf {
    let mut runs = fs::read_dir(out).into_iter().flatten();
    runs.next().map_or(PathBuf::new(), |run| run.unwrap().path())
}

fn array(result: &Value) -> &Value {
    &result["storage"]["details"]["model"]["arrays"][0]
}

#[test]
fn what_happens_to_a_pool_under_a_test_is_told_with_its_cost() {
    for engine in ["--engine=twin", "--engine=bytes"] {
        let run = simulate(&small(), &[engine]);
        assert_eq!(run.output.status.code(), Some(0), "{}", run.said());
        let result = run.result();
        let notes = array(&result)["notes"].to_string();
        for note in [
            "has what \\\"databases 1\\\" has now at 10.0 s",
            "member 1: drive 2 takes 6 times as long at 15.0 s",
            "member 1 is slower than member",
            "member 3 has joined at 30.0 s",
            "\\\"databases 1 before the backup\\\" removed at 40.0 s",
        ] {
            assert!(notes.contains(note), "{engine}, {note}: {notes}");
        }
        let pages = &array(&result)["pages"];
        let count = |key: &str| pages[key].as_u64().unwrap();
        for key in ["redirected", "map_writes", "around_bytes", "moved", "copied_bytes"] {
            assert!(count(key) > 0, "{engine}, {key}: {pages}");
        }
        assert_eq!(count("refused"), 0, "{engine}: {pages}");
        let joined = &pages["members"][3];
        assert_eq!(joined["used_before"], 0.0, "{engine}: {joined}");
        assert!(joined["used"].as_f64().unwrap() > 0.0, "{engine}: {joined}");
        // Snapshots that are gone have no line, the other LUNs have pages for the databases at
        // least.
        let luns = pages["luns"].as_array().unwrap();
        assert_eq!(luns.len(), 3, "{engine}: {pages}");
        assert!(luns[0]["room_bytes"].as_u64().unwrap() >= 96 << 20, "{pages}");
        for words in ["room", "pages moved", "redirected", "thin LUNs", "what happened"] {
            assert!(run.said().contains(words), "{engine}, {words}: {}", run.said());
        }
        let report = fs::read_to_string(run.folder.join("report.html")).unwrap();
        for title in ["LUNs in pages", "Incidents"] {
            assert!(report.contains(title), "{engine}: {title}");
        }
    }
}

#[test]
fn databases_without_content_lie_on_drives_from_the_beginning() {
    let small = small();
    let (without_events, _) = small.split_once("[[event]]").unwrap();
    let run = simulate(without_events, &["--duration=8s"]);
    let result = run.result();
    let groups = array(&result)["groups"].as_array().unwrap();
    let reads = |group: &Value| group["back_reads_per_s"].as_f64().unwrap();
    assert!(reads(&groups[0]) > 10.0, "{groups:?}");
    assert_eq!(reads(&groups[3]), 0.0, "it has not joined");
    assert_eq!(array(&result)["pages"]["zeros"], 0, "{}", run.said());
}

#[test]
fn a_pool_that_fills_up_ends_the_test_as_a_full_volume_does() {
    // The databases need 192 of 360 MB. A page that a snapshot shares needs another one, and there
    // is a snapshot every second.
    let mut text = small().replace("drive_size = \"120 MB\"", "drive_size = \"40 MB\"");
    for second in 3..12 {
        text.push_str(&format!(
            "\n[[event]]\nat = \"{second}s\"\nwhat = \"snapshot\"\nlun = \"databases 2\"\n"
        ));
    }
    for engine in ["--engine=twin", "--engine=bytes"] {
        let run = simulate(&text, &[engine]);
        let result = run.result();
        assert_eq!(result["verdict"], "error", "{engine}: {}", run.said());
        assert_eq!(run.output.status.code(), Some(2), "{engine}: {}", run.said());
        assert!(run.said().contains("no space left on the volume (ESE -1808)"), "{}", run.said());
        let notes = array(&result)["notes"].to_string();
        assert!(notes.contains("pool full: writes that need a new page fail"), "{notes}");
        let pages = &array(&result)["pages"];
        assert!(pages["refused"].as_u64().unwrap() > 0, "{engine}: {pages}");
    }
}

#[test]
fn a_lun_that_is_taken_away_ends_the_test() {
    let text = small().replace(
        "at = \"40s\"\nwhat = \"remove lun\"\nlun = \"databases 1 before the backup\"",
        "at = \"20s\"\nwhat = \"remove lun\"\nlun = \"databases 2\"",
    );
    let run = simulate(&text, &[]);
    assert_eq!(run.result()["verdict"], "fail", "{}", run.said());
    let words = "the read failed (ESE -1022)";
    assert!(run.said().contains(words), "{}", run.said());
}

#[test]
fn a_pool_without_room_for_the_databases_is_refused() {
    let text = small().replace("120 MB", "15 MB");
    let run = simulate(&text, &[]);
    assert_eq!(run.output.status.code(), Some(2), "{}", run.said());
    let words = "databases of 192 MiB lie on thin LUNs, and the pool of \"array\" has room for";
    assert!(run.said().contains(words), "{}", run.said());
    assert!(run.said().contains("pool.toml:"), "{}", run.said());
}
