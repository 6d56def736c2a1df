//! What the processes of a server use: processor time, memory, and I/O, from `/proc`.
//!
//! A process that ended counts with the one that waited for it: the kernel adds its times (fields 16
//! and 17 of `stat`) and its I/O (`io`) to those of its parent. So the sum over a group only grows while
//! the group lives.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

use crate::processes::Process;

/// What a server has used since it was started, and the memory that it has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub processes: usize,
    /// In programs and in the kernel.
    pub cpu: Duration,
    /// From storage.
    pub read_bytes: u64,
    /// To storage, or to caches that will write it.
    pub written_bytes: u64,
    /// Memory that is shared by several processes counts once (PSS).
    pub memory_bytes: u64,
}

impl Usage {
    /// Of these processes, of those that one may look into.
    pub(crate) fn of(processes: &[Process]) -> Self {
        let mut usage = Self { processes: processes.len(), ..Self::default() };
        for process in processes {
            let read = |name: &str| {
                fs::read_to_string(format!("/proc/{}/{name}", process.pid)).unwrap_or_default()
            };
            let ticks = ticks(&read("stat"));
            usage.cpu +=
                Duration::from_millis((1_000 * ticks).div_euclid(clock_ticks_per_second().max(1)));
            let io = read("io");
            usage.read_bytes += value(&io, "read_bytes:");
            usage.written_bytes += value(&io, "write_bytes:");
            usage.memory_bytes += value(&read("smaps_rollup"), "Pss:") << 10;
        }
        usage
    }
}

/// `utime`, `stime`, `cutime` and `cstime`, which follow eleven fields after the name.
fn ticks(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let times = fields.split_whitespace().skip(11).take(4);
    times.filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The number behind `key`, at the beginning of a line.
fn value(table: &str, key: &str) -> u64 {
    let line = table.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_children_used_counts_when_they_have_ended() {
        // The children end before the shell, which waits for them.
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{work}' & wait; echo; read line");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).process_group(0);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let group = i32::try_from(child.id()).unwrap();
        let usage = Usage::of(&Process::of_group(group));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(usage.processes, 1);
        assert!(usage.cpu >= Duration::from_millis(10), "{usage:?}");
        assert!(usage.memory_bytes > 10_000, "{usage:?}");
        assert_eq!(Usage::of(&Process::of_group(group)), Usage::default());
    }

    #[test]
    fn fields_are_taken_from_behind_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 900 80 1 2 11 12 13 14 20 0 1 0 99";
        assert_eq!(ticks(stat), 50);
        assert_eq!(ticks("gone"), 0);
        assert_eq!(value("rchar: 5\nread_bytes: 4096\nwrite_bytes: 1\n", "read_bytes:"), 4096);
        assert_eq!(value("Rss: 8 kB\nPss:     12 kB\nPss_Dirty: 3 kB", "Pss:"), 12);
    }
}
