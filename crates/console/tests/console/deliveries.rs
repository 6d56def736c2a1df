//! Alarms reach programs that fail, hang, flood their output or do not listen.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use brunt_console::State;
use brunt_console::alarms::{Deliveries, Patience, Standing};
use brunt_units::Span;

use crate::kit;

/// What became of one alarm whose program is `script`, and what was said of failures. The folder of
/// the program is `$1`.
fn deliver(folder: &Path, script: &str, timeout: &str) -> (Standing, Vec<String>) {
    kit::program(&folder.join("tell"), &format!("#!/bin/sh\n{script}\n"));
    let text = format!(
        "[[alarm]]\nwhen = \"run ended\"\nrun = [\"./tell\", \"{}\"]\ntimeout = \"{timeout}\"\n",
        folder.display()
    );
    let mut alarms = kit::alarms(folder, &text);
    let patience = Patience { first: Span::millis(1), longest: Span::millis(2), tries: 3 };
    let said = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&said);
    let tell = move |words: &str| own.lock().unwrap().push(words.to_owned());
    let deliveries = Deliveries::begin(&alarms, patience, tell);
    let told = kit::observe(&mut alarms, State::Ended);
    assert_eq!(told.len(), 1);
    told.into_iter().for_each(|notice| deliveries.deliver(notice));
    let standing = deliveries.settle();
    drop(deliveries);
    let said = said.lock().unwrap().clone();
    (standing, said)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn what_arrives_is_one_line_of_json_and_a_clean_environment() {
    let folder = folder();
    let (standing, said) = deliver(folder.path(), "cat > $1/stdin; env | sort > $1/env", "60s");
    assert_eq!((standing.delivered, standing.failure), (1, None));
    assert_eq!(said, [""; 0]);
    let line = fs::read_to_string(folder.path().join("stdin")).unwrap();
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(object["schema"], "brunt.alarm/1");
    assert_eq!((&object["run"], &object["sample"]), (&"2026-demo".into(), &2.into()));
    let env = fs::read_to_string(folder.path().join("env")).unwrap();
    let names: Vec<_> = env.lines().filter_map(|line| line.split('=').next()).collect();
    // A shell adds the last two.
    let own = ["BRUNT_ALARM", "BRUNT_TEXT", "BRUNT_WHEN", "LC_ALL", "PATH"];
    let others = names.iter().filter(|name| !["PWD", "_", "OLDPWD", "SHLVL"].contains(name));
    assert_eq!(others.copied().collect::<Vec<_>>(), own);
}

#[test]
fn a_program_that_fails_is_tried_again_and_its_failure_shown() {
    let folder = folder();
    let script = "echo x >> $1/tries; test $(wc -l < $1/tries) = 3 || { echo relay down; exit 4; }";
    let (standing, said) = deliver(folder.path(), script, "60s");
    assert_eq!((standing.delivered, standing.given_up, standing.failure), (1, 0, None));
    assert_eq!(said.len(), 2);
    let end = "failed: exit status: 4: relay down; it is tried again in 1.00 ms";
    assert!(
        said[0].starts_with("an alarm was not delivered: /") && said[0].ends_with(end),
        "{said:?}"
    );
}

#[test]
fn one_that_never_succeeds_is_given_up() {
    let (standing, said) = deliver(folder().path(), "exit 1", "60s");
    assert_eq!((standing.delivered, standing.waiting, standing.given_up), (0, 0, 1));
    assert_eq!(said.len(), 3);
    assert_eq!(standing.failure.as_ref(), said.last());
    assert!(said[2].ends_with("it was given up"), "{said:?}");
}

#[test]
fn one_that_hangs_is_ended_after_its_timeout() {
    let (standing, said) = deliver(folder().path(), "exec sleep 600", "20ms");
    assert_eq!(standing.given_up, 1);
    assert!(said[0].contains("took longer than 20.00 ms"), "{said:?}");
}

#[test]
fn one_that_floods_its_output_or_does_not_listen_has_still_done_its_work() {
    let (standing, said) = deliver(folder().path(), "yes | head -c 3000000", "60s");
    assert_eq!((standing.delivered, said.len()), (1, 0));
    let (standing, said) = deliver(folder().path(), "exec <&-; exit 0", "60s");
    assert_eq!((standing.delivered, said.len()), (1, 0));
    let (_, said) = deliver(folder().path(), "yes | head -c 3000000; exit 9", "60s");
    assert!(said[0].len() < 1_000, "{}", said[0].len());
}
