//! A guard kills a group of processes when this program ends without a word.
//!
//! It is a shell that waits for a line on its stdin. Whoever holds the other end sends the line when
//! the group is gone; if this program is killed, the kernel closes that end instead. The signal of
//! the kernel for this purpose, `PR_SET_PDEATHSIG`, does not serve: it is tied to the thread that
//! started the child, Postfix loses it when it changes its user, and it reaches one process.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::processes::Process;

/// Kills the group of `$1`, if `$1` is still the process that was started at `$2`.
const SCRIPT: &str = r#"
read -r word
[ "$word" = done ] && exit 0
stat=$(cat "/proc/$1/stat" 2>/dev/null) || exit 0
set -- "$1" "$2" ${stat##*) }
[ "${22}" = "$2" ] && kill -s KILL -- "-$1"
"#;

/// The guard of one group.
pub(crate) struct Guard {
    shell: Child,
    line: Option<ChildStdin>,
}

impl Guard {
    /// Guards the group whose first process is `leader`.
    pub(crate) fn post(leader: &Process) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "brunt-guard"])
            .args([leader.pid.to_string(), leader.started.to_string()])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for us, who stop the servers.
            .process_group(0)
            .spawn()?;
        let line = shell.stdin.take();
        Ok(Self { shell, line })
    }

    /// Sends the guard home: the group is gone.
    fn dismiss(&mut self) {
        if let Some(mut line) = self.line.take() {
            let _ = line.write_all(b"done\n");
        }
        let _ = self.shell.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.dismiss();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> (Child, Process) {
        let child = Command::new("sh").args(["-c", "sleep 60 & wait"]).process_group(0).spawn();
        let child = child.unwrap();
        let leader = Process::of(i32::try_from(child.id()).unwrap()).unwrap();
        (child, leader)
    }

    #[test]
    fn a_group_dies_with_whoever_holds_its_guard() {
        let (mut child, leader) = group();
        let mut guard = Guard::post(&leader).unwrap();
        // What the kernel does for a program that was killed.
        drop(guard.line.take());
        guard.shell.wait().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_guard_that_is_dismissed_or_deceived_kills_nothing() {
        let (mut child, leader) = group();
        drop(Guard::post(&leader).unwrap());
        let other = Process { started: leader.started + 1, ..leader.clone() };
        let mut guard = Guard::post(&other).unwrap();
        drop(guard.line.take());
        guard.shell.wait().unwrap();
        assert!(child.try_wait().unwrap().is_none());
        for process in Process::of_group(leader.pid) {
            process.signal(rustix::process::Signal::KILL);
        }
        child.wait().unwrap();
    }
}
