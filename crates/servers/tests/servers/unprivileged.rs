//! Dovecot without root, and a program that is killed without a word.
//!
//! This program starts itself again: as another user where it is root, and to be killed.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use brunt_servers::{Format, MailSystem, Relay, User};

use crate::client::{deliver, subjects};
use crate::{folder, has_dovecot, plan, processes_of, started};

/// Names the folder in which the second program works.
const HOME: &str = "BRUNT_TEST_SERVERS_HOME";
const INNER: &str = "unprivileged::inner";

/// This program again, to run `INNER` in `home`, as the user of servers.
fn again(home: &Path) -> Command {
    let program = home.join("again");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let user = User::of_servers().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", INNER, "--nocapture"]).env(HOME, home).current_dir("/");
    if rustix::process::geteuid().is_root() {
        chown(home, Some(user.uid), Some(user.gid)).unwrap();
        command.gid(user.gid).uid(user.uid);
    }
    command
}

/// What the second program does: with a relay it has to be refused, then it serves, and waits for
/// its end where the test wants to kill it.
#[test]
fn inner() {
    let Some(home) = std::env::var_os(HOME) else {
        return;
    };
    let home = Path::new(&home);
    assert!(!rustix::process::geteuid().is_root());
    let relayed = plan(Format::Sdbox, Some(Relay::Postfix));
    let refused = MailSystem::make(&home.join("relayed"), &relayed).err().unwrap().to_string();
    assert!(refused.contains("Postfix starts only as root") || refused.contains("not installed"));
    let system = started(home, &plan(Format::Sdbox, None));
    let account = system.accounts().iter().next().unwrap();
    deliver(system.addresses().lmtp, "LHLO", &[account], "one");
    assert_eq!(subjects(system.addresses().imap, account), ["one"]);
    eprintln!("serving");
    if home.join("wait").exists() {
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn dovecot_needs_no_root() {
    if !has_dovecot("unprivileged::dovecot_needs_no_root") {
        return;
    }
    let home = folder();
    let output = again(home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("serving"), "{said}");
    assert_eq!(processes_of(home.path()), [""; 0]);
}

#[test]
fn servers_die_with_a_program_that_is_killed() {
    if !has_dovecot("unprivileged::servers_die_with_a_program_that_is_killed") {
        return;
    }
    let home = folder();
    fs::write(home.path().join("wait"), "").unwrap();
    let mut child =
        again(home.path()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    assert!(said.lines().map_while(Result::ok).any(|line| line == "serving"));
    assert!(!processes_of(home.path()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    // The guard needs a moment.
    for _ in 0..2_000 {
        if processes_of(home.path()).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{:?}", processes_of(home.path()));
}
