//! Comparisons by the program itself: of simulated runs, and of real ones in turns.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::program::{answer, said};

const SYSTEM: &str = include_str!("../../../lab/examples/small-system.toml");
/// What is simulated in these tests: ten samples.
const SHORT: [&str; 3] = ["--set=test.min_warmup=10s", "--duration=150s", "--complete"];
/// The scenario of `brunt init`, small enough for a test.
const SMALL: [&str; 6] = [
    "--set=profile.cache_min=4MiB",
    "--set=profile.cache_max=16MiB",
    "--set=instance.0.database_size=32MiB",
    "--set=instance.1.database_size=32MiB",
    "--sessions=4",
    "--duration=1s",
];

fn simulate(home: &Path, side: &str, seed: &str, more: &[&str]) -> PathBuf {
    fs::write(home.join("system.toml"), SYSTEM).unwrap();
    let args =
        [&["simulate", "system.toml", "--quiet", "--out", side, "--seed", seed], &SHORT[..], more]
            .concat();
    let output = answer(home, &args);
    assert!(output.status.success(), "{}", said(&output));
    let mut made: Vec<PathBuf> =
        fs::read_dir(home.join(side)).unwrap().map(|entry| entry.unwrap().path()).collect();
    made.sort();
    made.pop().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_slower_array_is_worse_and_a_gate_says_so() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let a = simulate(home, "a", "1", &[]);
    let b = simulate(home, "b", "2", &["--set=array.controller.read=2ms"]);
    let compare = |args: &[&str]| answer(home, &[&["compare"], args].concat());
    let output = compare(&[text(&a), text(&b), "--gate", "--html=page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = said(&output);
    let mut lines = told.lines();
    assert!(lines.next().unwrap().starts_with("WORSE         B is worse than A: "), "{told}");
    assert_eq!(lines.next(), Some("changed       array.controller.read 100us -> 2ms"));
    assert!(said(&output).ends_with("\npage          page.html\n"), "{}", said(&output));
    assert!(fs::read_to_string(home.join("page.html")).unwrap().contains("B is worse"));
    let output = compare(&[text(&a), text(&b), "--markdown=pr.md", "--junit=ci.xml"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let read = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    assert!(read("pr.md").contains("\n\nChanged: array.controller.read 100us -&gt; 2ms\n"));
    assert!(read("ci.xml").contains("name=\"not worse\"><failure "), "{}", read("ci.xml"));
    // Again: it replaces its own files, and no others.
    assert!(compare(&[text(&a), text(&b), "--junit=ci.xml"]).status.success());
    let refused = compare(&[text(&a), text(&b), "--markdown=system.toml"]);
    assert!(said(&refused).contains("name another file with --markdown"), "{}", said(&refused));
    let output = compare(&[text(&b), "--with", text(&a), "--gate", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["schema"], &json["verdict"]),
        (&"brunt.comparison/1".into(), &"better".into())
    );
    // The same seed and the same array: the same samples, and too few of them to exclude 3 %.
    let again = simulate(home, "again", "1", &[]);
    let output = compare(&[text(&a), text(&again), "--gate"]);
    assert!(said(&output).contains("CANNOT TELL"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));

    let error = |args: &[&str], wanted: &str| {
        let output = compare(args);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).starts_with(&format!("error: {wanted}")), "{}", said(&output));
    };
    let twice = format!("{}/.", text(&a));
    error(&[text(&a), &twice], &format!("{twice}: is given twice"));
    error(&[text(&a)], "one run is named, and a comparison takes two\n");
    error(&[text(&a), text(&b), "c"], "3 runs are named: which of them are B?\n");
    error(&[text(&a), "--with", text(&b), text(&again)], "A has 1 runs and B has 2");
    error(&["a", "b"], "a: is not a run, but has runs in it\n");
    error(&["--history", "a"], "a: has 1 runs that can be compared, and a history needs 4");
    error(&["--history", "nowhere"], "nowhere: ");
    let other = simulate(home, "other", "1", &["--sessions=2"]);
    error(
        &[text(&a), text(&other)],
        &format!("{} and {} do different work:\n  sessions: 1 and 2\n", text(&a), text(&other)),
    );
    let outline = fs::read_to_string(b.join("result.json")).unwrap();
    let mut result: Value = serde_json::from_str(&outline).unwrap();
    result["times"]["ended"] = Value::Null;
    fs::write(b.join("result.json"), result.to_string()).unwrap();
    error(
        &[text(&a), text(&b)],
        &format!("{}: has not ended: it is running, or its host died\n", text(&b)),
    );
}

#[test]
fn two_scenarios_take_turns_on_the_same_storage() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let init = answer(home, &["init", "now.toml"]);
    assert!(init.status.success(), "{}", said(&init));
    let now = fs::read_to_string(home.join("now.toml")).unwrap();
    let new = now.replace("name = \"my-storage\"", "name = \"new\"");
    fs::write(home.join("new.toml"), new).unwrap();
    let ab =
        |more: &[&str]| answer(home, &[&["ab", "now.toml", "new.toml"], &SMALL[..], more].concat());
    let refused = ab(&["--set=profile.version=exchange-2019", "--rounds=0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let check = ab(&["--check", "--rounds=1"]);
    assert_eq!(check.status.code(), Some(0), "{}", said(&check));
    assert!(said(&check).contains("rounds        4 runs: A B B A"), "{}", said(&check));
    assert!(!home.join("runs").exists());
    let done = ab(&["--rounds=1", "--quiet", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((json["a"].as_array().unwrap().len(), json["b"].as_array().unwrap().len()), (2, 2));
    let order: Vec<&str> = ["a", "b"]
        .iter()
        .flat_map(|side| json[side].as_array().unwrap())
        .map(|run| run["scenario"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["my-storage", "my-storage", "new", "new"]);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(home.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("comparison.json").is_file());
    let [folder] = &folders[..] else { panic!("{folders:?}") };
    assert!(text(folder).ends_with("-my-storage-vs-new"));
    assert!(folder.join("report.html").is_file());
    // Other work is refused before anything is tested.
    fs::remove_dir_all(home.join("brunt-scratch")).unwrap();
    fs::write(home.join("new.toml"), now.replace("sessions = 8", "sessions = 9")).unwrap();
    let refused = answer(home, &["ab", "now.toml", "new.toml"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused)
            .contains("error: now.toml and new.toml do different work:\n  sessions: 8 and 9\n"),
        "{}",
        said(&refused)
    );
}
