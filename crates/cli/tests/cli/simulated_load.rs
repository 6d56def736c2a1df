//! Raw load on modelled storage, by the program itself: the page and the numbers that it leaves.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::program::brunt;

#[test]
fn a_simulation_of_load_leaves_a_page_and_its_numbers() {
    let home = TempDir::new().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arrays");
    let run = brunt(home.path())
        .arg("simulate")
        .arg(examples.join("raid5-degraded.toml"))
        .args(["--duration=20s", "--set=simulate.warm_up=2s"])
        .args(["--set=simulate.interval=5s", "--out", "made"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}");
    let folder = fs::read_dir(home.path().join("made")).unwrap().next();
    let folder = folder.unwrap().unwrap().path();
    assert!(said.contains("report.html"), "{said}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert_eq!(page.matches("role=\"img\"").count(), 4);
    for part in [
        "DONE",
        "No data was lost.",
        "RAID 5 &quot;data&quot; over 5 drives",
        "drive 2 failed",
        "Where the time went",
        "--duration=20s",
        "raid5-degraded",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let numbers = fs::read_to_string(folder.join("simulation.json")).unwrap();
    let numbers: Value = serde_json::from_str(&numbers).unwrap();
    assert_eq!(numbers["version"], "brunt.simulation/1");
    assert_eq!(numbers["intervals"].as_array().unwrap().len(), 4);
}

#[test]
fn a_load_of_which_nothing_came_back_says_so() {
    let home = TempDir::new().unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/simulate.in/raid5.toml");
    let run = brunt(home.path())
        .arg("simulate")
        .arg(scenario)
        .args(["--set=array.front.transport=fc8", "--set=array.front.latency=1h"])
        .arg("--quiet")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(said.contains("no host I/O came back in "), "{said}");
}
