//! Exim before Dovecot, and Cyrus: both without root. Debian's packages of them conflict with those
//! of Postfix and Dovecot, so `./test` unpacks them into a folder, which
//! `BRUNT_UNPACKED_SERVERS` names.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use brunt_servers::{Format, Installed, MailSystem, Part, Plan, Relay, ServerError, Store, User};

use crate::client::{deliver, logs_in, recipient, subjects};
use crate::{folder, has_dovecot, plan, processes_of, skip, started};

const PATIENCE: Duration = Duration::from_secs(60);
/// Set for the program that runs again with a table of users of its own.
const INNER: &str = "BRUNT_TEST_SERVERS_EXIM";
/// The user whom Debian's Exim looks for at its start.
const EXIM_USER: &str = "Debian-exim";

#[test]
fn exim_keeps_what_its_store_does_not_take() {
    let name = "others::exim_keeps_what_its_store_does_not_take";
    let is_inner = std::env::var_os(INNER).is_some();
    match Installed::exim() {
        Ok(_) if has_dovecot(name) => exim(),
        // Unpacked, it does not even say its version without its user.
        Err(ServerError::Command { .. }) if !is_inner && has_dovecot(name) => again(name),
        Ok(_) | Err(ServerError::Command { .. }) => {}
        Err(why) => skip(name, &why.to_string()),
    }
}

/// Runs the test called `name` again where the system knows the user of Exim.
fn again(name: &str) {
    if User::named(EXIM_USER).is_ok() || !rustix::process::geteuid().is_root() {
        return skip(name, "an unpacked Exim needs root for a table of users of its own");
    }
    let home = folder();
    let [passwd, group] = ["passwd", "group"].map(|name| {
        let own = home.path().join(name);
        let known = fs::read_to_string(format!("/etc/{name}")).unwrap();
        let line = if name == "group" { "54320:" } else { "54320:54320::/:/usr/sbin/nologin" };
        fs::write(&own, format!("{known}{EXIM_USER}:x:{line}\n")).unwrap();
        own
    });
    // As root, who becomes that user, and as somebody who has its number in a namespace.
    for own in ["exec", "exec setpriv --reuid=65534 --regid=65534 --clear-groups"] {
        run_again(name, own, [&passwd, &group]);
    }
}

fn run_again(name: &str, own: &str, [passwd, group]: [&Path; 2]) {
    let program = passwd.with_file_name("again");
    if !program.exists() {
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    }
    let mounts = "mount --bind \"$1\" /etc/passwd && mount --bind \"$2\" /etc/group && shift 2";
    let script = format!("{mounts} && {own} \"$@\"");
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", &script, "sh"])
        .args([passwd, group, &program])
        .args(["--exact", name, "--nocapture"])
        .env(INNER, "1")
        .output();
    let output = output.unwrap();
    let [said, more] = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && said.contains("exim delivered"), "{said}{more}");
}

fn exim() {
    let home = folder();
    let mut system = started(home.path(), &plan(Format::Sdbox, Some(Relay::Exim)));
    let at = system.addresses();
    let smtp = at.smtp.unwrap();
    let accounts: Vec<_> = system.accounts().iter().cloned().collect();
    deliver(smtp, "EHLO", &[&accounts[0]], "one");
    assert!(system.drain(PATIENCE).unwrap().is_empty());
    system.kill(Part::Store).unwrap();
    let reply = deliver(smtp, "EHLO", &[&accounts[0], &accounts[1]], "two");
    assert!(reply[0].starts_with("250 "), "{reply:?}");
    system.kill(Part::Relay).unwrap();
    let waiting = system.queue().unwrap();
    assert_eq!((waiting.messages, waiting.deliveries), (1, 2));
    system.start_part(Part::Store).unwrap();
    system.start_part(Part::Relay).unwrap();
    assert!(system.drain(PATIENCE).unwrap().is_empty());
    assert_eq!(subjects(at.imap, &accounts[0]), ["one", "two"]);
    assert_eq!(subjects(at.imap, &accounts[1]), ["two"]);
    for address in ["someone@example.org", "nobody@test.invalid"] {
        let reply = recipient(smtp, "EHLO", address);
        assert!(reply.starts_with('5'), "{address}: {reply}");
    }
    system.stop().unwrap();
    assert_eq!(processes_of(home.path()), [""; 0]);
    eprintln!("exim delivered");
}

/// Whether everybody may enter a folder.
fn is_open(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|status| status.permissions().mode() & 0o001 != 0)
}

/// Whether Cyrus can be started; else the test called `name` is skipped.
pub(crate) fn has_cyrus(name: &str) -> bool {
    let found = match Installed::cyrus() {
        Err(why) => {
            skip(name, &why.to_string());
            return false;
        }
        Ok(found) => found,
    };
    let servers = User::of_servers().unwrap();
    let closed = found.program.ancestors().skip(1).find(|at| !is_open(at));
    if let Some(closed) = closed.filter(|_| rustix::process::geteuid().is_root()) {
        skip(name, &format!("{} cannot enter {}", servers.name, closed.display()));
        return false;
    }
    true
}

#[test]
fn cyrus_keeps_mail_over_a_kill() {
    if !has_cyrus("others::cyrus_keeps_mail_over_a_kill") {
        return;
    }
    let home = folder();
    let cyrus = Plan { store: Store::Cyrus, relay: None, users: 3 };
    let mut system = started(home.path(), &cyrus);
    let at = system.addresses();
    let accounts: Vec<_> = system.accounts().iter().cloned().collect();
    let replies = deliver(at.lmtp, "LHLO", &[&accounts[1], &accounts[2]], "one");
    assert!(replies.iter().all(|reply| reply.starts_with("250 ")), "{replies:?}");
    assert!(recipient(at.lmtp, "LHLO", "nobody@test.invalid").starts_with("550"));
    assert!(!logs_in(at.imap, &accounts[1].name, "secret"));
    system.kill(Part::Store).unwrap();
    assert!(system.is_gone(Part::Store));
    system.start_part(Part::Store).unwrap();
    deliver(at.lmtp, "LHLO", &[&accounts[1]], "one");
    // Equal Message-IDs are two messages all the same.
    assert_eq!(subjects(at.imap, &accounts[1]), ["one", "one"]);
    system.stop().unwrap();
    assert_eq!(processes_of(home.path()), [""; 0]);
    let mut again = MailSystem::open(&home.path().join("servers")).unwrap();
    again.start().unwrap();
    assert_eq!(subjects(again.addresses().imap, &accounts[2]), ["one"]);
}
