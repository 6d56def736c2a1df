//! `brunt drill` on pairs that are not brunt's: folders that a script copies, and the example of
//! two loop devices, which needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{
    SERVER, all_hold, controls_are_red, interrupt, is_gone, names_of_steps, outcome, rule, said,
    skip,
};

const SCENARIO: &str = r#"
[replication]
mode = "external"
[drill]
recovery_point = "0s"
sample = "1s"
after = "1s"
[[event]]
at = "1s"
what = "source lost"
[[event]]
at = "1s"
what = "failover"
[[step]]
when = "clean up"
name = "remove the copy"
run = ["./pair.sh", "clean"]
"#;

/// The replication, and what goes wrong with it.
const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$BRUNT_SOURCE")" || exit 1
case $1 in
  copy) cp -a "$BRUNT_SOURCE" "$BRUNT_DESTINATION" ;;
  copy-in-use) cp -a "$BRUNT_SOURCE" "$BRUNT_DESTINATION" || true ;;
  move) mv "$BRUNT_SOURCE" "$BRUNT_DESTINATION" ;;
  burn) rm -rf "$BRUNT_SOURCE" ;;
  nothing) ;;
  environment) env >environment; pwd >>environment; cat >>environment ;;
  fail) echo "array 7 is asleep" >&2; exit 3 ;;
  hang) trap 'touch undone; exit 1' TERM; sleep 600 & echo $! >pid.new; mv pid.new pid; wait ;;
  clean) rm -rf "$BRUNT_DESTINATION"; touch cleaned ;;
esac
"#;

/// Not below /tmp, which may be a file system in memory.
fn home(more: &[(&str, &str)]) -> TempDir {
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let steps = more.iter().map(|(when, verb)| {
        let when = match *when {
            "exec" => "[[event]]\nat = \"500ms\"\nwhat = \"exec\"".to_owned(),
            when => format!("[[step]]\nwhen = \"{when}\""),
        };
        format!("{when}\nname = \"do {verb}\"\nrun = [\"./pair.sh\", \"{verb}\"]\n")
    });
    let text = format!("name = \"pair\"\n{SERVER}{SCENARIO}") + &steps.collect::<String>();
    fs::write(home.path().join("pair.toml"), text).unwrap();
    let script = home.path().join("pair.sh");
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    home
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = super::command(home, "pair.toml", arguments);
    command.env("SECRET", "swordfish");
    command
}

fn drill(home: &Path, arguments: &[&str]) -> (Output, Value) {
    outcome(&mut command(home, arguments))
}

const ALLOWED: [&str; 4] = ["--allow-exec", "--allow", ".", "--no-controls"];

/// Whether the clean-up step was run and neither folder is left.
fn is_clean(home: &Path) -> bool {
    home.join("cleaned").exists() && ["a", "b"].iter().all(|name| !home.join(name).exists())
}

#[test]
fn a_copy_of_a_folder_is_recovered_and_compared() {
    let home = home(&[("failover", "copy"), ("prepare", "environment")]);
    let (output, result) = drill(home.path(), &ALLOWED[..3]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(result["drill"]["rpo"]["transactions"], 0);
    assert!(result["drill"]["rpo"]["kept"].as_u64() > Some(0));
    let steps = ["decision", "fencing", "do copy", "log replay", "mount", "first operation"];
    assert_eq!(names_of_steps(&result), steps);
    controls_are_red(&result);
    assert_eq!(rule(&result, "drill-records"), "ok");
    // What is not brunt's says nothing of what is at risk.
    assert_eq!(rule(&result, "drill-as-reported"), "not measured");
    assert!(is_clean(home.path()));
    let runs = home.path().join("runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(run.join("scenario.toml")).unwrap();
    assert!(kept.contains("when = \"failover\"\nname = \"do copy\""), "{kept}");
    // Nothing of the user's environment reaches a command; it works in / and has nothing on stdin.
    let seen = fs::read_to_string(home.path().join("environment")).unwrap();
    assert!(!seen.contains("swordfish") && !seen.contains("HOME="), "{seen}");
    for own in ["LC_ALL=C\n", "BRUNT_DESTINATION_DEVICE=\n", "PATH=/usr/local/sbin:"] {
        assert!(seen.contains(own), "{own}: {seen}");
    }
    assert!(seen.contains(&format!("BRUNT_SOURCE={}/a\n", home.path().display())), "{seen}");
}

#[test]
fn a_copy_under_load_loses_what_came_later_or_is_none() {
    // Nothing stops the server meanwhile: whatever a copy of files in use is, the drill says it.
    let home = home(&[("exec", "copy-in-use")]);
    let later = ["--set=event.0.at=3s", "--set=event.1.at=3s"];
    let (output, result) = drill(home.path(), &[&ALLOWED[..], &later].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let failed = ["drill-order", "drill-recovery-point"];
    assert!(failed.iter().any(|id| rule(&result, id) == "failed"), "{result}");
    assert!(is_clean(home.path()));
}

#[test]
fn a_destination_without_this_run_is_no_survivor() {
    let home = home(&[("failover", "nothing")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let rules = result["rules"].to_string();
    assert!(rules.contains("nothing has arrived: "), "{rules}");
    // Service did not come back, and that is what is said.
    assert_eq!(rule(&result, "drill-recovery-time"), "failed");
    assert_eq!(rule(&result, "drill-in-step"), "not measured");
    assert!(result["drill"]["out_of_service_s"].as_f64() > Some(0.0));
    let sentence = sentence(&result);
    assert!(sentence.contains("Users had no service for the last"), "{sentence}");
    assert!(is_clean(home.path()));
    // A foreign folder is none either, and is left alone. The clean-up of this pair removes it.
    fs::create_dir(home.path().join("b")).unwrap();
    fs::write(home.path().join("b/thesis.doc"), "x").unwrap();
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let rules = result["rules"].to_string();
    assert!(rules.contains("nothing of this drill has arrived"), "{rules}");
}

fn sentence(result: &Value) -> &str {
    let sentence = &result["storage"]["details"]["sentence"];
    sentence.as_str().unwrap_or_default()
}

#[test]
fn a_destination_that_is_the_source_itself_is_no_survivor() {
    let home = home(&[("failover", "move")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let rules = result["rules"].to_string();
    assert!(rules.contains("is the storage of the source itself"), "{rules}");
    assert_eq!(rule(&result, "drill-recovery-time"), "failed");
}

#[test]
fn what_is_copied_from_the_lost_source_is_found_by_a_cut() {
    // A failover step that reads the storage of the lost server: without a cut that works, and is
    // said.
    let home = home(&[("failover", "copy")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let told = sentence(&result);
    assert!(told.contains("its storage was alive until the failover ended"), "{told}");
    let home = self::home(&[("failover", "copy"), ("cut", "burn")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!sentence(&result).contains("its storage was alive"));
    assert!(is_clean(home.path()));
    // A cut that cuts nothing is no drill.
    let home = self::home(&[("failover", "copy"), ("cut", "nothing")]);
    let (output, _) = drill(home.path(), &ALLOWED);
    let words = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("can still be read after the cut steps"), "{words}");
    assert!(is_clean(home.path()));
}

#[test]
fn nothing_is_run_without_consent() {
    let home = home(&[("prepare", "fail")]);
    let refused = |arguments: &[&str], words: &[&str]| {
        let (output, _) = drill(home.path(), arguments);
        assert_eq!(output.status.code(), Some(2));
        for word in words {
            assert!(said(&output).contains(word), "{word}: {}", said(&output));
        }
    };
    refused(&[], &["nobody has allowed that", "add --allow-exec:\n  prepare: /", "pair.sh clean"]);
    refused(&["--allow-exec"], &["nobody has allowed to write there\n  to allow it: --allow /"]);
    refused(&["--allow-exec", "--allow=a"], &["pair.toml:25: `folder = \"b\"`", "--allow /"]);
    let device = "--set=site.source.device=/dev/sdb";
    refused(&[&ALLOWED[..], &[device]].concat(), &["to allow it: --allow /dev/sdb"]);
    // A typing error is found before anything is run.
    let text = fs::read_to_string(home.path().join("pair.toml")).unwrap();
    let typo = text.replace("\"./pair.sh\", \"clean\"", "\"./pear.sh\", \"clean\"");
    fs::write(home.path().join("pair.toml"), typo).unwrap();
    refused(&ALLOWED, &["there is no such program\n  a program with a slash"]);
    assert!(!home.path().join("cleaned").exists());
}

#[test]
fn a_step_that_fails_ends_the_drill_by_its_name() {
    let home = home(&[("prepare", "fail")]);
    let (output, _) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(2));
    let words = said(&output);
    assert!(words.contains("\"do fail\" failed: exit status: 3: array 7 is asleep"), "{words}");
    assert!(is_clean(home.path()), "{words}");
    // At a failover the destination is what has failed.
    let home = self::home(&[("failover", "fail")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(result["rules"].to_string().contains("array 7 is asleep"), "{result}");
    assert!(is_clean(home.path()));
    // A clean-up that fails does not go unsaid.
    let home = self::home(&[("failover", "copy"), ("clean up", "fail")]);
    let (output, result) = drill(home.path(), &ALLOWED);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let reasons = result["reasons"].to_string();
    assert!(reasons.contains("clean up: \\\"do fail\\\" failed"), "{reasons}");
    assert!(is_clean(home.path()));
}

#[test]
fn a_step_that_hangs_is_ended_with_its_group() {
    let home = home(&[("prepare", "hang")]);
    let timeout = "--set=step.1.timeout=5s";
    let (output, _) = drill(home.path(), &[&ALLOWED[..], &[timeout]].concat());
    let words = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("\"do hang\" took longer than 5.0 s"), "{words}");
    let pid = fs::read_to_string(home.path().join("pid")).unwrap();
    assert!(is_gone(pid.trim().parse().unwrap()) && is_clean(home.path()), "{words}");
    assert!(home.path().join("undone").exists(), "it had no time to undo what it did");
}

#[test]
fn a_stop_ends_commands_and_cleans_up() {
    for when in ["exec", "prepare"] {
        let home = home(&[(when, "hang")]);
        let mut drill = command(home.path(), &ALLOWED);
        let drill = drill.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = home.path().join("pid");
        for _ in 0..600 {
            if pid.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        interrupt(drill);
        assert!(is_gone(fs::read_to_string(&pid).unwrap().trim().parse().unwrap()));
        assert!(home.path().join("undone").exists() && is_clean(home.path()), "{when}");
    }
}

/// Whether loop devices can be made and file systems mounted.
fn has_loop_devices() -> bool {
    let is_there = |program: &str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        found.is_ok_and(|found| found.status.success())
    };
    let tools = ["losetup", "mkfs.ext4", "e2fsck", "fsfreeze", "mountpoint"];
    let free = Command::new("losetup").arg("--find").output();
    rustix::process::geteuid().is_root()
        && tools.iter().all(|tool| is_there(tool))
        && free.is_ok_and(|free| free.status.success())
}

/// What is attached or mounted below `home`.
fn left_in(home: &Path) -> String {
    let loops = Command::new("losetup").arg("--all").output().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let all = String::from_utf8_lossy(&loops.stdout).into_owned() + &mounts;
    let home = home.display().to_string();
    let left: Vec<&str> = all.lines().filter(|line| line.contains(&home)).collect();
    left.join("\n")
}

#[test]
fn the_example_of_two_loop_devices() {
    if !has_loop_devices() {
        return skip(
            "real_drill::pair::the_example_of_two_loop_devices",
            "no root, or no loop devices",
        );
    }
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/loop-pair.toml");
    let drill = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command
            .arg("drill")
            .arg(&example)
            .args(["--json", "--allow-exec", "--allow"])
            .arg(home.path());
        for (key, name) in [
            ("source.folder", "a"),
            ("source.device", "a.img"),
            ("destination.folder", "b"),
            ("destination.device", "b.img"),
        ] {
            command.arg(format!("--set=site.{key}={}", path(name)));
        }
        command.args(crate::LENIENT).args(more).current_dir(home.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let output = drill(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rpo = &result["drill"]["rpo"];
    // The server went on after the snapshot: that much is lost, and no more.
    assert!(rpo["transactions"].as_u64() > Some(0) && rpo["kept"].as_u64() > Some(0), "{rpo}");
    assert!(rpo["seconds"].as_f64() < Some(4.0), "{rpo}");
    assert!(names_of_steps(&result).contains(&"mount the snapshot"));
    let rules = ["drill-order", "drill-records", "drill-remote-checksum", "drill-controls"];
    all_hold(&result, &rules);
    assert_eq!(left_in(home.path()), "");
    // Stopped under load, and while the file system is frozen.
    for mark in ["a/files/db1/DB1.edb", "frozen"] {
        let child = drill(&["--no-controls"]).spawn().unwrap();
        let is_time = || match mark {
            "frozen" => is_frozen(&home.path().join("a")),
            mark => home.path().join(mark).exists(),
        };
        for _ in 0..30_000 {
            if is_time() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        interrupt(child);
        assert_eq!(left_in(home.path()), "", "{mark}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "{mark}: only runs");
    }
}

/// Whether a process copies the device of the pair, which it does while the file system is frozen.
fn is_frozen(mounted: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let own: Vec<PathBuf> = processes.map(|one| one.path().join("cmdline")).collect();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let source = mounts.lines().find(|line| line.contains(&mounted.display().to_string()));
    let Some(device) = source.and_then(|line| line.split(' ').next()) else {
        return false;
    };
    let copies = format!("if={device}\0");
    own.iter().any(|path| {
        let words = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&copies)
    })
}
