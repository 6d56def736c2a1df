//! A guard kills a group of processes when this program ends without a word.
//!
//! It is a shell that waits for a line on its stdin. The holder of the other end sends the line when
//! the group is gone; if this program is killed, the kernel closes that end instead. The signal of
//! the kernel for this purpose, `PR_SET_PDEATHSIG`, does not serve: it is tied to the thread that
//! started the child, Postfix loses it when it changes its user, and it reaches one process.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
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

/// Kills the group of the daemon whose number the file `$1` has, or will have within a minute, if it
/// works in the folder `$2`.
const DAEMON: &str = r#"
read -r word
[ "$word" = done ] && exit 0
looks=0
while [ $looks -lt 120 ]; do
    pid=$(tr -cd 0-9 <"$1" 2>/dev/null)
    if [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd")" = "$2" ]; then
        kill -s KILL -- "-$pid"
        exit 0
    fi
    looks=$((looks + 1))
    sleep 0.5
done
"#;

/// The guard of one group.
pub(crate) struct Guard {
    shell: Child,
    line: Option<ChildStdin>,
}

impl Guard {
    /// Guards the group whose first process is `leader`.
    pub(crate) fn post(leader: &Process) -> io::Result<Self> {
        let [pid, started] = [leader.pid.to_string(), leader.started.to_string()];
        Self::stand(SCRIPT, &[Path::new(&pid), Path::new(&started)])
    }

    /// Guards a daemon while it is being started: it writes its number to `pid_file`, and works in
    /// `folder`.
    pub(crate) fn await_daemon(pid_file: &Path, folder: &Path) -> io::Result<Self> {
        Self::stand(DAEMON, &[pid_file, folder])
    }

    fn stand(script: &str, arguments: &[&Path]) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", script, "brunt-guard"])
            .args(arguments)
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
    fn a_group_dies_with_the_holder_of_its_guard() {
        let (mut child, leader) = group();
        let mut guard = Guard::post(&leader).unwrap();
        // What the kernel does for a program that was killed.
        drop(guard.line.take());
        guard.shell.wait().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_daemon_that_appears_later_dies_too_if_it_is_the_one_that_was_meant() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let file = at.join("pid");
        let daemon = |at: &Path| {
            let mut command = Command::new("sleep");
            command.arg("60").process_group(0).current_dir(at).spawn().unwrap()
        };
        let mut guard = Guard::await_daemon(&file, &at).unwrap();
        drop(guard.line.take());
        let mut stranger = daemon(Path::new("/"));
        std::fs::write(&file, format!("  {}\n", stranger.id())).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        assert!(stranger.try_wait().unwrap().is_none());
        let mut child = daemon(&at);
        std::fs::write(&file, format!("  {}\n", child.id())).unwrap();
        guard.shell.wait().unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
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
