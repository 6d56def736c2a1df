//! What `/proc` says about processes and listeners.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// When it was started, in ticks since the machine was: with the number it names a process.
    pub(crate) started: u64,
    pub(crate) group: i32,
    /// The file name of its program.
    pub(crate) program: String,
}

impl Process {
    /// The process with the number `pid`, unless it has ended: a zombie has.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (started, group, name) = parse(&stat)?;
        // The name in `stat` is cut at 15 characters, and a process may set it.
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
        let program = program.as_deref().and_then(Path::file_name).map(|name| {
            let name = name.to_string_lossy();
            name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
        });
        Some(Self { pid, started, group, program: program.unwrap_or(name) })
    }

    /// Every process of the group `group` that lives.
    pub(crate) fn of_group(group: i32) -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let processes = pids.filter_map(|pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            (parse(&stat)?.1 == group).then(|| Self::of(pid)).flatten()
        });
        processes.collect()
    }

    /// Sends `signal`, if this is still the process that was seen.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        // The handle is taken first: from then on the number cannot pass to another process unseen.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
            && Self::of(self.pid).is_some_and(|now| now.started == self.started)
        {
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// The numbers of the sockets that it has open; nothing where we may not look.
    fn sockets(&self) -> Vec<u64> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid)).into_iter().flatten();
        let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        let numbers = links.filter_map(|link| {
            let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            number.parse().ok()
        });
        numbers.collect()
    }
}

/// Start, group and name of a process that lives, from its line in `/proc`.
fn parse(stat: &str) -> Option<(u64, i32, String)> {
    // The name stands in parentheses and may contain anything.
    let (front, rest) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then(|| (started, group, name.to_owned()))
}

/// Who listens at a port of 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// None.
    None,
    /// The processes in question alone.
    Ours,
    /// Another process, perhaps beside them.
    Foreign,
}

/// Who listens at `port`: `processes`, or others.
pub(crate) fn listener(port: u16, processes: &[Process]) -> Listener {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let listening = listening(&table, port);
    let ours: BTreeSet<u64> = processes.iter().flat_map(Process::sockets).collect();
    match (listening.is_empty(), listening.is_subset(&ours)) {
        (true, _) => Listener::None,
        (false, true) => Listener::Ours,
        (false, false) => Listener::Foreign,
    }
}

/// The numbers of the sockets that listen at `port`, on loopback or on every address.
fn listening(table: &str, port: u16) -> BTreeSet<u64> {
    let addresses = [format!("0100007F:{port:04X}"), format!("00000000:{port:04X}")];
    let sockets = table.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (address, state) = (fields.nth(1)?, fields.nth(1)?);
        let number = fields.nth(5)?.parse().ok()?;
        (state == "0A" && addresses.iter().any(|known| known == address)).then_some(number)
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::Command;

    #[test]
    fn a_line_of_proc_is_read_whatever_the_name() {
        let line = "42 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 100 200";
        assert_eq!(parse(line), Some((9_876, 7, "a) b".to_owned())));
        assert_eq!(parse(&line.replace(" S ", " Z ")), None);
        assert_eq!(parse("42 (a"), None);
    }

    #[test]
    fn a_listener_belongs_to_its_process() {
        let listener_of_ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener_of_ours.local_addr().unwrap().port();
        let me = Process::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert_eq!(listener(port, std::slice::from_ref(&me)), Listener::Ours);
        assert_eq!(listener(port, &[]), Listener::Foreign);
        drop(listener_of_ours);
        // A child that another test is starting has it for a moment more.
        let is_gone = || listener(port, std::slice::from_ref(&me)) == Listener::None;
        let mut looks = (0..5_000).map(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        assert!(is_gone() || looks.any(|()| is_gone()));
    }

    #[test]
    fn a_signal_reaches_the_process_that_was_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let seen = Process::of(i32::try_from(child.id()).unwrap()).unwrap();
        Process { started: seen.started + 1, ..seen.clone() }.signal(Signal::KILL);
        assert!(child.try_wait().unwrap().is_none());
        seen.signal(Signal::KILL);
        assert!(!child.wait().unwrap().success());
        assert_eq!(Process::of(seen.pid), None);
    }
}
