//! What is done to servers while mail is sent: each word of a scenario on real servers, and power
//! cuts, which leave nothing mounted however brunt ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use brunt_servers::Installed;

use super::{folder, has_dovecot, load, nothing_runs, of, run_folder};
use crate::drill::{said, skip};

/// Whether Dovecot is here, and file systems can be mounted; else the test is skipped.
fn has_power(name: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if has_dovecot(name) && !is_root {
        skip(name, "a power cut needs root");
    }
    let mounts = || {
        let inner = ["-m", "mount", "-t", "tmpfs", "none", "/mnt"];
        Command::new("unshare").args(inner).status().is_ok_and(|status| status.success())
    };
    let can = is_root && Path::new("/dev/loop-control").exists() && mounts();
    if is_root && !can {
        skip(name, "nothing can be mounted here");
    }
    has_dovecot(name) && can
}

/// Mounts and loop devices that name `home`.
fn mounted(home: &Path) -> Vec<String> {
    let home = home.to_string_lossy().into_owned();
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let images = devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let lines = mounts.lines().map(str::to_owned).chain(images);
    lines.filter(|line| line.contains(&home)).collect()
}

/// Runs a scenario with these events.
fn with_events(home: &Path, mail: &str, events: &str) -> (std::process::Output, serde_json::Value) {
    let scenario = home.join("events.toml");
    fs::write(&scenario, format!("[mail]\n{mail}\n{events}")).unwrap();
    load(home, &["events.toml"])
}

#[test]
fn the_example_with_events_keeps_its_word() {
    if !has_dovecot("load::faults::the_example_with_events_keeps_its_word") {
        return;
    }
    let home = folder();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mail-events.toml");
    let (output, result) = load(home.path(), &[example]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let faults = result["mail"]["faults"].as_array().unwrap();
    let what: Vec<&str> = faults.iter().map(|fault| fault["what"].as_str().unwrap()).collect();
    assert_eq!(
        what,
        [
            "lmtp of Dovecot frozen",
            "connections from the client to the first server broken",
            "connections from users to their mailboxes slow",
            "lmtp of Dovecot killed",
            "Dovecot killed",
        ]
    );
    // It stood still for a second.
    let frozen = &faults[0];
    let [from, until] = ["from_s", "until_s"].map(|key| frozen[key].as_f64().unwrap());
    assert!(until - from >= 1.0, "{frozen}");
    nothing_runs(home.path());
}

#[test]
fn what_happens_between_relay_and_store_is_kept_too() {
    let name = "load::faults::what_happens_between_relay_and_store_is_kept_too";
    if !has_power(name) {
        return;
    }
    if let Err(why) = Installed::postfix() {
        return skip(name, &why.to_string());
    }
    let home = folder();
    let events = "
        [[event]]\nat = \"300ms\"\nwhat = \"connections half-open\"\nhop = \"delivery\"\nlasts = \"1s\"
        [[event]]\nat = \"300ms\"\nwhat = \"connections cut\"\nhop = \"delivery\"
        [[event]]\nat = \"300ms\"\nwhat = \"disk full\"\nserver = \"store\"\nlasts = \"1s\"
        [[event]]\nat = \"300ms\"\nwhat = \"kill\"\nservice = \"queue\"
        [[event]]\nat = \"300ms\"\nwhat = \"restart\"\nserver = \"relay\"\n";
    // Sending has to outlast the events on a fast machine.
    let mail = "server = \"postfix\"\nusers = 8\ndeliveries = 8000";
    let (output, result) = with_events(home.path(), mail, &events.replace("        ", ""));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(result["mail"]["faults"].as_array().unwrap().len(), 5, "{result}");
    assert_eq!(result["mail"]["queue"]["messages"], 0);
    assert!(result["mail"]["control"].is_null() && of(&result, "lost") == 0, "{result}");
    assert_eq!(mounted(home.path()), [""; 0]);
    nothing_runs(home.path());
}

#[test]
fn full_mailboxes_refuse_and_a_relay_waits_for_them() {
    let name = "load::faults::full_mailboxes_refuse_and_a_relay_waits_for_them";
    if !has_dovecot(name) {
        return;
    }
    // Dovecot looks at limits once a second.
    let event = "[[event]]\nat = \"300ms\"\nwhat = \"quota full\"\nlasts = \"3s\"\n";
    let mail = |server: &str| format!("server = \"{server}\"\nusers = 8\ndeliveries = 3000");
    let home = folder();
    let (output, result) = with_events(home.path(), &mail("dovecot"), event);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(of(&result, "refused") > 0 && of(&result, "lost") == 0, "{result}");
    assert_eq!(of(&result, "found"), of(&result, "accepted"), "{result}");
    assert_eq!(result["mail"]["faults"][0]["what"], "mailboxes of Dovecot full");
    let (output, _) = with_events(home.path(), &mail("cyrus"), event);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    if let Err(why) = Installed::postfix() {
        return skip(name, &why.to_string());
    }
    let home = folder();
    let (output, result) = with_events(home.path(), &mail("postfix"), event);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!((of(&result, "refused"), of(&result, "bounced")), (0, 0), "{result}");
    assert_eq!(of(&result, "found"), of(&result, "accepted"), "{result}");
    assert_eq!(result["mail"]["faults"][0]["what"], "mailboxes of Dovecot full");
}

#[test]
fn a_power_cut_loses_nothing_but_in_its_control() {
    let name = "load::faults::a_power_cut_loses_nothing_but_in_its_control";
    if !has_power(name) {
        return;
    }
    let home = folder();
    let small = ["--server", "dovecot", "--users", "5", "--deliveries", "300", "--power-cut"];
    let (output, result) = load(home.path(), &small);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!((of(&result, "lost"), of(&result, "accepted") > 0), (0, true), "{result}");
    assert_eq!(result["mail"]["cut_loses_unsynced"], true);
    let control = &result["mail"]["control"];
    assert!(control["lost"].as_u64() > Some(0), "{control}");
    let reasons = result["reasons"].to_string();
    assert!(
        reasons.contains("the power of the file systems was cut")
            && !reasons.contains("the machine was not")
    );
    assert_eq!(mounted(home.path()), [""; 0]);
    // What survived is there for another look.
    let run = run_folder(home.path());
    let (output, again) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(of(&again, "found"), of(&result, "found"), "{again}");
    for key in ["control", "cut_loses_unsynced", "faults"] {
        assert_eq!(again["mail"][key], result["mail"][key], "{key}");
    }
    assert!(again["reasons"].to_string().contains("the power of the file systems was cut"));
    assert_eq!(mounted(home.path()), [""; 0]);
}

#[test]
fn a_server_that_never_syncs_fails_a_cut_and_passes_a_kill() {
    let name = "load::faults::a_server_that_never_syncs_fails_a_cut_and_passes_a_kill";
    if !has_power(name) {
        return;
    }
    let never = ["--server", "dovecot", "--users", "3", "--deliveries", "200", "--mail-fsync"];
    let never = [&never[..], &["never"]].concat();
    let home = folder();
    let (output, _) = load(home.path(), &never);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let home = folder();
    let (output, result) = load(home.path(), &[&never[..], &["--power-cut"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(of(&result, "lost") + of(&result, "unreadable") > 50, "{result}");
    assert!(result["mail"]["control"].is_null(), "{result}");
}

#[test]
fn a_brunt_that_is_killed_in_a_cut_leaves_nothing_mounted() {
    let name = "load::faults::a_brunt_that_is_killed_in_a_cut_leaves_nothing_mounted";
    if !has_power(name) {
        return;
    }
    let home = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--server", "dovecot", "--users", "3", "--deliveries", "400"]);
    command.args(["--power-cut", "--json"]).current_dir(home.path());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let look = || std::thread::sleep(Duration::from_millis(2));
    while mounted(home.path()).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before it was to");
        look();
    }
    // Its file system is gone for a moment while it has no power.
    while !mounted(home.path()).is_empty() && child.try_wait().unwrap().is_none() {
        look();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut looks = (0..8_000).map(|_| look());
    let is_clean = || mounted(home.path()).is_empty();
    // What it was about to mount may still come, and then goes.
    assert!(is_clean() || looks.any(|()| is_clean()), "{:?}", mounted(home.path()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_clean() || looks.any(|()| is_clean()), "{:?}", mounted(home.path()));
    // Its control had sent nothing of the run itself, and its servers go all the same.
    let run = run_folder(home.path());
    let (output, _) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    assert!(said(&output).contains("ended before it sent anything"), "{}", said(&output));
    let mut clean = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let output = clean.arg("clean").arg(&run).arg("--yes").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!run.join("servers").exists());
}
