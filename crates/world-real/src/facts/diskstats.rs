//! The kernel's counters of a device's I/O: `/proc/diskstats`.
//!
//! The verdict compares them with the engine's, so that a run can state how many of its reads
//! reached the device. Fields and units: kernel documentation,
//! `Documentation/admin-guide/iostats.rst`.

use std::fs;
use std::io;

use brunt_units::{ByteSize, Span};

/// Counters of a device or partition since system start. Adjacent requests may be merged before
/// they are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    pub read_bytes: ByteSize,
    /// Total time of all reads, from queueing to completion. The kernel counts milliseconds.
    pub read_time: Span,
    /// Writes completed.
    pub writes: u64,
    pub written_bytes: ByteSize,
    /// Total time of all writes.
    pub write_time: Span,
    /// Requests in flight now; not cumulative.
    pub in_flight: u64,
    /// Time during which any request was in flight.
    pub busy: Span,
    /// Flushes completed (Linux 5.5 and later). Counted for whole disks only.
    pub flushes: Option<u64>,
    /// Total time of all flushes.
    pub flush_time: Option<Span>,
}

/// The counters of the device called `name`; `None` when the kernel lists no such device.
///
/// # Errors
/// `/proc/diskstats` cannot be read.
pub fn disk_counters(name: &str) -> io::Result<Option<DiskCounters>> {
    let table = fs::read_to_string("/proc/diskstats")?;
    Ok(table.lines().find_map(|line| counters(line, name)))
}

fn counters(line: &str, name: &str) -> Option<DiskCounters> {
    let mut words = line.split_ascii_whitespace().skip(2);
    if words.next() != Some(name) {
        return None;
    }
    let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let field = |number: usize| fields.get(number - 1).copied();
    // Sectors in this file are 512 bytes for every device.
    let bytes = |sectors: u64| ByteSize::bytes(sectors.saturating_mul(512));
    Some(DiskCounters {
        reads: field(1)?,
        read_bytes: bytes(field(3)?),
        read_time: Span::millis(field(4)?),
        writes: field(5)?,
        written_bytes: bytes(field(7)?),
        write_time: Span::millis(field(8)?),
        in_flight: field(9)?,
        busy: Span::millis(field(10)?),
        flushes: field(16),
        flush_time: field(17).map(Span::millis),
    })
}

impl DiskCounters {
    /// Whether nothing was counted. Of the [difference](Self::since) of a device in use: its
    /// counters stand still.
    pub fn is_still(&self) -> bool {
        let completed = self.reads + self.writes + self.flushes.unwrap_or(0);
        completed == 0 && self.busy == Span::ZERO
    }

    /// The difference from `earlier` counters.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let bytes =
            |now: ByteSize, then: ByteSize| ByteSize::bytes(now.get().saturating_sub(then.get()));
        let count = |now: u64, then: u64| now.saturating_sub(then);
        Self {
            reads: count(self.reads, earlier.reads),
            read_bytes: bytes(self.read_bytes, earlier.read_bytes),
            read_time: self.read_time - earlier.read_time,
            writes: count(self.writes, earlier.writes),
            written_bytes: bytes(self.written_bytes, earlier.written_bytes),
            write_time: self.write_time - earlier.write_time,
            in_flight: self.in_flight,
            busy: self.busy - earlier.busy,
            flushes: self.flushes.zip(earlier.flushes).map(|(now, then)| count(now, then)),
            flush_time: self.flush_time.zip(earlier.flush_time).map(|(now, then)| now - then),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_kernel_puts_them() {
        let line = " 259 0 nvme0n1 100 5 1600 20 200 7 6400 40 3 50 60 1 0 8 2 9 4";
        let now = counters(line, "nvme0n1").unwrap();
        let expected = DiskCounters {
            reads: 100,
            read_bytes: ByteSize::bytes(819_200),
            read_time: Span::millis(20),
            writes: 200,
            written_bytes: ByteSize::bytes(3_276_800),
            write_time: Span::millis(40),
            in_flight: 3,
            busy: Span::millis(50),
            flushes: Some(9),
            flush_time: Some(Span::millis(4)),
        };
        assert_eq!(now, expected);
        assert_eq!(counters(line, "nvme0n"), None);
        let old = " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11";
        assert_eq!(counters(old, "sda").unwrap().flushes, None);
        assert_eq!(counters("8 0 sda 1 2", "sda"), None);
    }

    #[test]
    fn differences_leave_the_queue_length_alone() {
        let line = |reads: u64| format!("8 0 sda {reads} 0 16 4 5 6 7 8 9 10 11");
        let at = |reads| counters(&line(reads), "sda").unwrap();
        let between = at(30).since(at(10));
        assert_eq!((between.reads, between.in_flight), (20, 9));
        assert!(!between.is_still() && at(10).since(at(10)).is_still());
        assert_eq!(between.read_bytes, ByteSize::bytes(0));
    }
}
