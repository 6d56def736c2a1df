//! The guide leads from a number of mailboxes to a paper, and one changed digit in the paper is
//! found.
//!
//! The commands are read out of `docs/guide.md` and run in order in an empty folder, as written but
//! for one: the simulation is given less to do. What the guide shows of an output is in the output.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::program::said;

#[path = "../../../paper/tests/paper/forger.rs"]
mod forger;

const GUIDE: &str = include_str!("../../../../docs/guide.md");

/// A minute of virtual time instead of two hours.
const SHORTER: &str = " --duration 60s --set test.min_warmup=5s";

/// A command of the guide, and the lines that it shows of the output.
struct Step {
    command: &'static str,
    shown: Vec<&'static str>,
}

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in GUIDE.split("\n```").skip(1).step_by(2) {
        let mut lines = block.lines();
        match lines.next() {
            Some("console") => {
                steps.extend(lines.map(|command| Step { command, shown: Vec::new() }))
            }
            Some("text") => steps.last_mut().unwrap().shown.extend(lines),
            other => panic!("{other:?} is no block of the guide"),
        }
    }
    steps
}

/// Runs `line` by a shell that finds this build of brunt.
fn run(folder: &Path, line: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_brunt")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap()
}

#[test]
fn five_commands_lead_from_a_mailbox_count_to_a_paper_and_a_forged_digit_is_found() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let steps = steps();
    let names: Vec<&str> = steps.iter().filter_map(|step| step.command.split(' ').nth(1)).collect();
    assert_eq!(names, ["init", "size", "check", "simulate", "paper", "verify"]);
    assert!(steps[0].command.contains("--mailboxes 4000"));
    for (step, name) in steps.iter().zip(names) {
        assert_eq!(home.join("paper.pdf").exists(), name == "verify");
        let output = match name {
            "simulate" => run(home, &format!("{}{SHORTER}", step.command)),
            _ => run(home, step.command),
        };
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{}\n{text}", step.command);
        for line in &step.shown {
            let mut printed = text.lines().map(str::trim_end);
            assert!(printed.any(|one| one == *line), "{}: {line}\n{text}", step.command);
        }
    }

    let mut paper = lopdf::Document::load(home.join("paper.pdf")).unwrap();
    let number = forger::flip_a_digit(&mut paper, 1);
    paper.compress();
    paper.save(home.join("forged.pdf")).unwrap();
    let checked = run(home, "brunt verify forged.pdf");
    let text = said(&checked);
    assert_eq!(checked.status.code(), Some(1), "{text}");
    assert!(text.ends_with("FAIL  1 thing does not follow from the evidence\n"), "{text}");
    let named = text.lines().find(|line| line.starts_with("  page 1"));
    let follows = named.and_then(|line| {
        let (_, rest) = line.split_once(", but ")?;
        rest.strip_suffix(" follows")
    });
    assert!(follows.is_some_and(|follows| number.contains(follows)), "{number}\n{text}");
}
