//! The processes of one server: one group, known by its first process, and killed as a whole.
//!
//! A group keeps its number as long as it has a member, and its first process is told from a
//! stranger with the same number by the time at which it was started.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::ServerError;
use crate::guard::Guard;
use crate::processes::Process;

/// What a server has to end when it is asked to. It may finish deliveries first.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// What a process has to disappear when it is killed.
const DIES_WITHIN: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(3);

/// A server's processes. They are killed when this is dropped.
pub(crate) struct Group {
    server: &'static str,
    leader: Process,
    /// The first process, where it is our child: until it is waited for, its number stays taken,
    /// and Dovecot refuses to start beside it.
    child: Option<Child>,
    _guard: Guard,
}

impl Group {
    /// Starts `command` as the first process of a new group.
    pub(crate) fn start(server: &'static str, command: &mut Command) -> Result<Self, ServerError> {
        let failed = |error: io::Error| not_started(server, error.to_string());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        // It is our child, so even one that has ended keeps its number until it is waited for.
        let leader = i32::try_from(child.id()).ok().and_then(Process::of);
        let Some(leader) = leader else {
            let how = child.wait().map_err(failed)?;
            return Err(not_started(server, format!("it ended at once: {how}")));
        };
        match Guard::post(&leader) {
            Ok(guard) => Ok(Self { server, leader, child: Some(child), _guard: guard }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(error))
            }
        }
    }

    /// Takes a daemon that has made a group of its own.
    pub(crate) fn adopt(server: &'static str, pid: i32) -> Result<Self, ServerError> {
        let leader = Process::of(pid).filter(|leader| leader.group == pid);
        let leader =
            leader.ok_or_else(|| not_started(server, format!("process {pid} leads no group")))?;
        let guard = Guard::post(&leader).map_err(|error| not_started(server, error.to_string()))?;
        Ok(Self { server, leader, child: None, _guard: guard })
    }

    /// Every process that lives.
    pub(crate) fn members(&self) -> Vec<Process> {
        match Process::of(self.leader.pid) {
            // The number has passed to another process: the whole group must have been gone.
            Some(other) if other.started != self.leader.started => Vec::new(),
            _ => Process::of_group(self.leader.pid),
        }
    }

    /// Whether the first process lives.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.reap();
        Process::of(self.leader.pid).is_some_and(|now| now.started == self.leader.started)
    }

    /// How the first process ended, if it has and is our child.
    pub(crate) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// Sends `signal` to every process.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.members().is_empty()
            && let Some(group) = Pid::from_raw(self.leader.pid)
        {
            // They may have ended by themselves.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Whose processes they are.
    pub(crate) fn server(&self) -> &'static str {
        self.server
    }

    /// Sends `signal` to every process that runs the program `service`; returns how many.
    pub(crate) fn signal_service(
        &self,
        service: &'static str,
        signal: Signal,
    ) -> Result<usize, ServerError> {
        let members = self.members();
        let found: Vec<&Process> = members.iter().filter(|one| one.program == service).collect();
        for process in &found {
            process.signal(signal);
        }
        match found.len() {
            0 => Err(ServerError::NoService { server: self.server, service }),
            count => Ok(count),
        }
    }

    /// Kills everything, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<(), ServerError> {
        let until = Instant::now() + DIES_WITHIN;
        loop {
            self.signal(Signal::KILL);
            self.reap();
            match self.members().len() {
                0 => return Ok(()),
                left if Instant::now() >= until => {
                    return Err(ServerError::Undead(left, self.server));
                }
                _ => thread::sleep(LOOK),
            }
        }
    }

    /// Asks the first process to end, which ends the others, and kills what does not.
    pub(crate) fn stop(&mut self) -> Result<(), ServerError> {
        self.signal(Signal::CONT);
        self.leader.signal(Signal::TERM);
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            self.reap();
            if self.members().is_empty() {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        self.kill()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What hangs in the kernel is left to it.
        let _ = self.kill();
    }
}

fn not_started(server: &'static str, why: String) -> ServerError {
    ServerError::NotStarted { server, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of a shell and two sleepers, of which one ignores SIGTERM.
    fn group() -> Group {
        let script = "(trap '' TERM; while :; do sleep 60; done) & sleep 60 & wait";
        let group = Group::start("test", Command::new("sh").args(["-c", script])).unwrap();
        while group.members().len() < 4 {
            thread::sleep(LOOK);
        }
        group
    }

    #[test]
    fn nothing_is_left_of_a_group_that_is_dropped() {
        let group = group();
        let pid = group.leader.pid;
        drop(group);
        assert_eq!(Process::of_group(pid), []);
    }

    #[test]
    fn a_service_is_killed_alone_and_the_group_as_a_whole() {
        let mut group = group();
        assert_eq!(group.signal_service("sleep", Signal::KILL).unwrap(), 2);
        assert!(group.is_alive());
        let missing = group.signal_service("lmtp", Signal::KILL).unwrap_err().to_string();
        assert_eq!(missing, "test has no process lmtp");
        group.signal(Signal::STOP);
        group.kill().unwrap();
        assert!(!group.is_alive() && group.members().is_empty());
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let error = Group::start("test", &mut Command::new("/nowhere/at/all")).err().unwrap();
        assert!(error.to_string().starts_with("test did not start: No such file"), "{error}");
    }
}
