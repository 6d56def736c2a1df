//! Servers that brunt did not start, from the accounts file to the verdict and back to empty
//! mailboxes. Another process has started them, and all that brunt gets is the example, with
//! addresses, a certificate and accounts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use brunt_servers::{Format, MailFsync, MailSystem, Plan, Store};
use tempfile::TempDir;

use super::{folder, has_dovecot, of, own_as};
use crate::drill::said;

/// A Dovecot with six users, and what a user of brunt writes about it.
struct Own {
    system: MailSystem,
    home: TempDir,
    flags: Vec<String>,
}

impl Own {
    fn new() -> Self {
        let home = folder();
        let store = Store::Dovecot { format: Format::Maildir, fsync: MailFsync::Optimized };
        let plan = Plan { store, relay: None, users: 6 };
        let mut system = MailSystem::make(&home.path().join("elsewhere"), &plan).unwrap();
        system.start().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-server.toml");
        fs::copy(example, home.path().join("own.toml")).unwrap();
        fs::write(home.path().join("server.pem"), system.certificate().unwrap()).unwrap();
        let lines = system.accounts().iter().map(|account| {
            format!("{} {} {}\n", account.address(), account.name, account.password.reveal())
        });
        let accounts = home.path().join("accounts.txt");
        fs::write(&accounts, lines.collect::<String>()).unwrap();
        fs::set_permissions(&accounts, Permissions::from_mode(0o600)).unwrap();
        let at = system.addresses();
        let flags = [
            format!("target.send=localhost:{}", at.lmtp.port()),
            "target.protocol=lmtp".to_owned(),
            format!("target.read=localhost:{}", at.imaps.port()),
            "target.certificate=server.pem".to_owned(),
            "mail.deliveries=120".to_owned(),
        ];
        let flags = flags.into_iter().map(|set| format!("--set={set}")).collect();
        Self { system, home, flags }
    }

    /// Exit code, stdout, and both streams.
    fn brunt(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.arg("load").args(arguments).current_dir(self.home.path()).env("NO_COLOR", "1");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let data = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), data, said(&output))
    }

    fn load(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let own = self.flags.iter().map(String::as_str);
        let arguments: Vec<&str> =
            ["own.toml", "--json"].into_iter().chain(own).chain(more.iter().copied()).collect();
        self.brunt(&arguments)
    }

    fn refused(&self, more: &[&str], says: &[&str]) {
        let (code, _, said) = self.load(more);
        assert_eq!(code, Some(2), "{said}");
        for words in says {
            assert!(said.contains(words), "lacks {words}: {said}");
        }
        let runs = fs::read_dir(self.home.path().join("runs"));
        assert!(
            runs.is_ok_and(|mut runs| runs.next().is_none())
                || !self.home.path().join("runs").exists()
        );
    }

    fn secrets(&self) -> Vec<String> {
        self.system.accounts().iter().map(|one| one.password.reveal().to_owned()).collect()
    }
}

/// Files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn the_example_of_own_servers_runs_to_its_end() {
    if !has_dovecot("load::foreign::the_example_of_own_servers_runs_to_its_end") {
        return;
    }
    let own = Own::new();
    let elsewhere = "--set=target.send=192.0.2.7:24";
    own.refused(
        &[elsewhere],
        &["is not this machine, and testing it is not allowed", "--allow-target 192.0.2.7"],
    );
    own.refused(&[elsewhere, "--allow-target=192.0.2.8"], &["testing it is not allowed"]);
    own.refused(&["--set=target.queue_command=[\"true\"]"], &["--allow-exec: true"]);
    own.refused(&["--server=dovecot"], &["[target] has others"]);
    own.refused(&["--users=7"], &["has 6 accounts, and 7 users are asked for"]);
    let accounts = own.home.path().join("accounts.txt");
    fs::set_permissions(&accounts, Permissions::from_mode(0o644)).unwrap();
    own.refused(&[], &["accounts.txt: holds passwords", "chmod 600"]);
    fs::set_permissions(&accounts, Permissions::from_mode(0o600)).unwrap();
    own.refused(&["--set=target.certificate=own.toml"], &["no certificate in PEM form"]);

    let (code, data, talk) = own.load(&[]);
    assert_eq!(code, Some(0), "{talk}");
    let result: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert!(of(&result, "found") >= 120, "{data}");
    assert_eq!(result["mail"]["servers"][1]["role"], "mailboxes");
    let run = super::run_folder(own.home.path());
    for path in files(&run) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for secret in own.secrets() {
            assert!(!text.contains(&secret) && !talk.contains(&secret), "{}", path.display());
        }
    }
    let run = run.to_str().unwrap();
    let (code, data, talk) = own.brunt(&["--audit", run, "--json"]);
    assert_eq!(code, Some(0), "{talk}");
    let again: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(of(&again, "found"), of(&result, "found"));

    let (code, data, talk) = own.brunt(&["--clean", run]);
    let there = of(&result, "found");
    assert_eq!(
        (code, data.trim()),
        (Some(0), &*format!("removed       {there} messages")),
        "{talk}"
    );
    let (code, data, _) = own.brunt(&["--clean", run]);
    assert_eq!((code, data.trim()), (Some(0), "nothing of this run was there"));
    let (code, _, talk) = own.brunt(&["--audit", run]);
    assert_eq!(code, Some(1), "{talk}");
    assert!(talk.contains(&format!("{there} lost")), "{talk}");
}

#[test]
fn a_mailbox_with_other_mail_and_a_wrong_password_are_named_before_anything_is_sent() {
    let name = "load::foreign::a_mailbox_with_other_mail_and_a_wrong_password_are_named_before_anything_is_sent";
    if !has_dovecot(name) {
        return;
    }
    let own = Own::new();
    let accounts = own.home.path().join("accounts.txt");
    let right = fs::read_to_string(&accounts).unwrap();
    let third = own.system.accounts().iter().nth(2).unwrap();
    let wrong = right.replace(third.password.reveal(), "wrong");
    fs::write(&accounts, wrong).unwrap();
    own.refused(&[], &[&third.address(), "login refused"]);
    fs::write(&accounts, &right).unwrap();
    own.refused(
        &["--set=target.name=other.invalid", "--set=target.ca=server.pem"],
        &["certificate"],
    );

    // A letter that is not brunt's, as another program delivers it.
    let (code, _, talk) = own.load(&[]);
    assert_eq!(code, Some(0), "{talk}");
    let mailboxes = files(&own.home.path().join("elsewhere"));
    let message = mailboxes.iter().find(|path| {
        let text = path.to_string_lossy();
        text.contains("/new/") || text.contains("/cur/")
    });
    let message = message.expect("mail was delivered");
    let user =
        own.system.accounts().iter().find(|account| {
            message.components().any(|part| part.as_os_str() == account.name.as_str())
        });
    let letter = message.parent().unwrap().with_file_name("new").join("1700000000.M1P1.letter");
    fs::write(&letter, "Subject: a letter\n\nfrom home\n").unwrap();
    own_as(&letter, message);
    let run = super::run_folder(own.home.path());
    fs::rename(run, own.home.path().join("first")).unwrap();
    own.refused(&[], &["holds 1 message without our mark", &user.unwrap().address()]);
}
