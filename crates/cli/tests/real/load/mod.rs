//! `brunt load` against the mail servers of this machine: a run with a kill passes, and what is
//! done to the mail of a stopped store is named with the number of the message.
//!
//! Without Dovecot the tests are skipped; those of Postfix need root as well.

mod ended;
mod faults;
mod foreign;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use brunt_servers::Installed;
use serde_json::Value;
use tempfile::TempDir;

use crate::drill::{said, skip};

/// A folder that the users of servers can enter.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs `brunt load` in `home`; its result is null where there is none.
fn load(home: &Path, arguments: &[&str]) -> (Output, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--json"]).args(arguments).current_dir(home).env("NO_COLOR", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, result)
}

/// The folder of the only run in `home`.
fn run_folder(home: &Path) -> PathBuf {
    let mut runs = fs::read_dir(home.join("runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    assert!(runs.next().is_none());
    run
}

fn has_dovecot(name: &str) -> bool {
    Installed::dovecot().map_err(|error| skip(name, &error.to_string())).is_ok()
}

/// Deliveries with an outcome.
fn of(result: &Value, outcome: &str) -> u64 {
    result["mail"]["ledger"][outcome].as_u64().unwrap()
}

/// Nothing runs whose command line names `home`.
fn nothing_runs(home: &Path) {
    let home = home.to_string_lossy().into_owned();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!command.contains(&home), "{command}");
    }
}

#[test]
fn dovecot_keeps_its_word_over_a_kill() {
    if !has_dovecot("load::dovecot_keeps_its_word_over_a_kill") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--users", "5", "--deliveries", "300"];
    let (output, result) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(result["verdict"], "pass");
    assert!(of(&result, "found") >= 250, "{result}");
    assert_eq!(result["mail"]["faults"].as_array().unwrap().len(), 1);
    assert!(result["mail"]["faults"][0]["until_s"].is_number(), "{result}");
    nothing_runs(home.path());
    let run = run_folder(home.path());
    for name in ["result.json", "report.html", "ledger.bin", "load.json", "events.log"] {
        assert!(run.join(name).is_file(), "{name}");
    }
    let passwords = run.join("servers/dovecot/passwd");
    assert_eq!(passwords.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let secret = fs::read_to_string(&passwords).unwrap();
    let secret = secret.split([':', '}']).nth(2).unwrap().to_owned();
    for name in ["result.json", "report.html", "conversations.log", "events.log"] {
        let text = fs::read_to_string(run.join(name)).unwrap_or_default();
        assert!(!text.contains(&secret), "{name}");
    }
}

#[test]
fn a_scenario_describes_a_run_and_repeats_it() {
    if !has_dovecot("load::a_scenario_describes_a_run_and_repeats_it") {
        return;
    }
    let home = folder();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mail.toml");
    fs::copy(&example, home.path().join("mail.toml")).unwrap();
    let (output, result) = load(home.path(), &["mail.toml", "--users=4", "--day=20s"]);
    // Times depend on the machine; what was promised does not.
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{}", said(&output));
    assert_eq!(result["mail"]["users"], 4, "{result}");
    assert_eq!(result["mail"]["work"]["profile"], "mmb3");
    assert_eq!(result["mail"]["servers"][0]["settings"], "sdbox, mail_fsync = optimized");
    assert_eq!(of(&result, "lost"), 0);
    assert_eq!(result["mail"]["faults"].as_array().unwrap().len(), 0);
    let run = run_folder(home.path());
    assert!(run.to_string_lossy().ends_with("-office"), "{}", run.display());
    let kept = fs::read_to_string(run.join("scenario.toml")).unwrap();
    for line in ["users = 4", "day = \"20s\"", "kill = false", "server = \"dovecot\""] {
        assert!(kept.lines().any(|own| own == line), "{line}: {kept}");
    }
    fs::write(home.path().join("again.toml"), &kept).unwrap();
    let (output, _) = load(home.path(), &["again.toml", "--server=cyrus"]);
    let refusal = said(&output);
    assert!(refusal.contains("is for Dovecot"), "{refusal}");
}

#[test]
fn postfix_and_dovecot_keep_their_word_over_kills() {
    let name = "load::postfix_and_dovecot_keep_their_word_over_kills";
    if !has_dovecot(name) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip(name, "Postfix needs root");
    }
    if let Err(why) = Installed::postfix() {
        return skip(name, &why.to_string());
    }
    let home = folder();
    let arguments = ["--server", "postfix", "--users", "8", "--deliveries", "400"];
    let (output, result) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let both = of(&result, "found") + of(&result, "explained_double");
    assert_eq!(both, of(&result, "accepted"), "{result}");
    assert_eq!(result["mail"]["faults"].as_array().unwrap().len(), 2);
    assert_eq!(result["mail"]["queue"]["messages"], 0);
    nothing_runs(home.path());
}

/// What is done to a store after its run.
struct Deed {
    outcome: &'static str,
    act: fn(&Path, &Path),
}

const DEEDS: [Deed; 4] = [
    Deed { outcome: "lost", act: |file, _| fs::remove_file(file).unwrap() },
    Deed {
        outcome: "changed",
        act: |file, _| {
            let mut bytes = fs::read(file).unwrap();
            let at = bytes.len() - 10;
            bytes[at] ^= 1;
            // One recipient's file may be another one's as well: a new file is this one's alone.
            let new = file.with_file_name("new-file");
            fs::copy(file, &new).unwrap();
            fs::write(&new, bytes).unwrap();
            own_as(&new, file);
            fs::rename(new, file).unwrap();
        },
    },
    Deed {
        outcome: "doubled",
        act: |file, _| {
            let name = file.file_name().unwrap().to_str().unwrap();
            let (_, sizes) = name.split_once(',').unwrap();
            let copy = file.with_file_name(format!("1700000000.M1P1.copy,{sizes}"));
            fs::copy(file, &copy).unwrap();
            own_as(&copy, file);
        },
    },
    Deed {
        outcome: "misdelivered",
        act: |file, other| fs::rename(file, other.join(file.file_name().unwrap())).unwrap(),
    },
];

fn own_as(file: &Path, like: &Path) {
    use std::os::unix::fs::{MetadataExt, chown};
    let status = like.metadata().unwrap();
    chown(file, Some(status.uid()), Some(status.gid())).unwrap();
}

/// The number in the mark of a message, and whether it was addressed to one user alone.
fn number(file: &Path) -> Option<u64> {
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mark = text.lines().find_map(|line| line.strip_prefix("X-Brunt: "))?;
    mark.split('-').nth(1)?.parse().ok()
}

#[test]
fn what_is_done_to_a_stopped_store_is_named() {
    if !has_dovecot("load::what_is_done_to_a_stopped_store_is_named") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--store", "maildir", "--no-kill"];
    let arguments = [&arguments[..], &["--users", "4", "--deliveries", "60"]].concat();
    let (output, _) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = run_folder(home.path());
    let mail = run.join("servers/dovecot/mail");
    let whole = home.path().join("whole");
    copy(&run.join("servers"), &whole);
    for deed in DEEDS {
        fs::remove_dir_all(run.join("servers")).unwrap();
        copy(&whole, &run.join("servers"));
        let (file, message, other) = victim(&mail);
        (deed.act)(&file, &other);
        let (output, result) = load(home.path(), &["--audit", run.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}: {}", deed.outcome, said(&output));
        assert_eq!(of(&result, deed.outcome), 1, "{result}");
        let findings = result["mail"]["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["outcome"] == deed.outcome).unwrap();
        assert_eq!(found["message"], message, "{result}");
    }
    // What the run itself found has stayed as it was.
    let kept: Value = serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
    assert_eq!(kept["verdict"], "pass");
    nothing_runs(home.path());
}

/// A message of a user, its number, and the folder of a user who did not get it.
fn victim(mail: &Path) -> (PathBuf, u64, PathBuf) {
    let inboxes: Vec<PathBuf> =
        (0..4).map(|user| mail.join(format!("u{user:04}/Maildir/new"))).collect();
    let messages = |inbox: &Path| {
        let files = fs::read_dir(inbox).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files
    };
    for inbox in &inboxes {
        for file in messages(inbox) {
            let message = number(&file).unwrap();
            let has_it =
                |other: &&PathBuf| messages(other).iter().any(|file| number(file) == Some(message));
            if let Some(other) = inboxes.iter().find(|other| !has_it(other)) {
                return (file, message, other.clone());
            }
        }
    }
    panic!("every message went to everybody");
}

/// Copies a folder with owners and links.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

#[test]
fn servers_that_do_not_start_are_no_loss() {
    if !has_dovecot("load::servers_that_do_not_start_are_no_loss") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--no-kill", "--users", "2", "--deliveries", "10"];
    let (output, _) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = run_folder(home.path());
    fs::remove_file(run.join("servers/dovecot/key.pem")).unwrap();
    let (output, result) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    let text = said(&output);
    assert_eq!((output.status.code(), &result), (Some(2), &Value::Null), "{text}");
    assert!(text.contains("Dovecot did not start") && !text.contains("lost"), "{text}");
    nothing_runs(home.path());
}

/// One user's mailbox cannot be opened: no answer, and not *lost*.
#[test]
fn a_mailbox_that_cannot_be_read_is_no_loss() {
    if !has_dovecot("load::a_mailbox_that_cannot_be_read_is_no_loss") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--no-kill", "--users", "3", "--deliveries", "30"];
    let (output, _) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = run_folder(home.path());
    let mailbox = run.join("servers/dovecot/mail/u0001");
    fs::rename(&mailbox, mailbox.with_file_name("away")).unwrap();
    fs::write(&mailbox, "not a folder").unwrap();
    let (output, result) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!((of(&result, "lost"), result["mail"]["unread"][0].as_str()), (0, Some("u0001")));
    assert!(of(&result, "unchecked") > 0, "{result}");
}

/// What a busy machine does to times is not judged here.
#[test]
fn users_at_work_keep_servers_to_their_word() {
    if !has_dovecot("load::users_at_work_keep_servers_to_their_word") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--users", "8", "--profile", "mmb3", "--day", "12s"];
    let (output, result) = load(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(result["mail"]["faults"].as_array().unwrap().len(), 1);
    // Deleted mail is gone, and what was moved, flagged and appended is as users left it.
    assert!(of(&result, "removed") > 0 && of(&result, "found") > 100, "{result}");
    let work = &result["mail"]["work"];
    assert_eq!(work["profile"], "mmb3");
    let tasks = work["tasks"].as_array().unwrap();
    let named = |name: &str| tasks.iter().find(|task| task["task"] == name);
    for name in ["check-inbox", "read", "send", "reply", "delete"] {
        let task = named(name).unwrap_or_else(|| panic!("{name}: {work}"));
        assert!(task["done"].as_u64().unwrap() > 0, "{task}");
    }
    assert!(result["reasons"].to_string().contains("--no-kill judges it"), "{result}");
    nothing_runs(home.path());
}

/// Whether users are served in time is for the machine of the day; what is said and kept is not.
#[test]
fn a_sweep_leaves_its_points_and_no_servers() {
    if !has_dovecot("load::a_sweep_leaves_its_points_and_no_servers") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--profile", "domino-r6mail", "--day", "10s"];
    let sweep = ["--sweep", "users=2,4"];
    let (output, points) = load(home.path(), &[&arguments[..], &sweep[..]].concat());
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", said(&output));
    assert_eq!(points["schema"], "brunt.points/1");
    let all = points["points"].as_array().unwrap();
    assert!(!all.is_empty(), "{points}");
    let sweep = run_folder(home.path());
    for point in all {
        assert!(point["ledger"]["accepted"].as_u64().unwrap() > 0, "{point}");
        assert_eq!(point["ledger"]["lost"], 0, "{point}");
        let run = sweep.join(format!("users-{}", point["value"].as_str().unwrap()));
        let kept = |name: &str| run.join(name).exists();
        assert!(kept("result.json") && kept("ledger.bin") && !kept("servers"), "{point}");
    }
    let page = fs::read_to_string(sweep.join("report.html")).unwrap();
    assert!(page.contains("Tasks waiting") && page.contains("LoadSim"), "{page}");
    nothing_runs(home.path());
}

#[test]
fn filled_mailboxes_and_stress_are_in_the_ledger_and_said() {
    if !has_dovecot("load::filled_mailboxes_and_stress_are_in_the_ledger_and_said") {
        return;
    }
    let home = folder();
    let arguments = ["--server", "dovecot", "--users", "4", "--profile", "loadsim-heavy"];
    let more = ["--duration", "10s", "--no-kill", "--stress", "--fill"];
    let (output, result) = load(home.path(), &[&arguments[..], &more[..]].concat());
    // What it says of brunt's own processor is for the machine of the day.
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", said(&output));
    let work = &result["mail"]["work"];
    assert_eq!((&work["is_stress"], &work["filled"]), (&true.into(), &36.into()), "{work}");
    assert!(work["score_ms"].is_null() && work["schedule_error"].is_null(), "{work}");
    let tasks = work["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| task["response"].is_null()), "{work}");
    assert!(tasks.iter().any(|task| task["service"]["count"].as_u64() > Some(0)), "{work}");
    assert_eq!(of(&result, "lost"), 0);
    assert!(of(&result, "accepted") > 36, "{result}");
    let usage = &result["mail"]["usage"];
    assert_eq!(usage["servers"][0]["server"], "Dovecot");
    assert!(usage["servers"][0]["processors"].as_f64().unwrap() > 0.0, "{usage}");
    let page = fs::read_to_string(run_folder(home.path()).join("report.html")).unwrap();
    assert!(page.contains("in stress mode") && page.contains("<h2>LoadSim"), "{page}");
    nothing_runs(home.path());
}

#[test]
fn profiles_are_explained_and_mistyped_ones_named() {
    let home = folder();
    let brunt = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.arg("load").args(arguments).current_dir(home.path()).stdin(Stdio::null());
        command.output().unwrap()
    };
    let explained = brunt(&["--profile", "mmb3", "--explain"]);
    let text = String::from_utf8(explained.stdout).unwrap();
    assert!(text.contains("fitted") && text.contains("85.0 messages submitted"), "{text}");
    let mistyped = brunt(&["--profile", "mmb-1989"]);
    assert_eq!(mistyped.status.code(), Some(2));
    assert!(said(&mistyped).contains("did you mean \"mmb-1998\"?"), "{}", said(&mistyped));
    let own = home.path().join("own.toml");
    fs::write(&own, "title = \"x\"\nabout = \"\"\nday = \"8h\"\n").unwrap();
    let own = brunt(&["--profile", "own.toml", "--explain"]);
    assert_eq!(own.status.code(), Some(2));
    assert!(said(&own).contains("own.toml"), "{}", said(&own));
}
