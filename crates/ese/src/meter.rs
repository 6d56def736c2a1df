//! Engine counters: I/O of each database and log stream by purpose, stalls, flushes.
//!
//! Latencies are device latencies, from submission to completion. The driver records; the sampler
//! closes the intervals.

use std::cell::RefCell;

use brunt_stats::{Counter, Meter};
use brunt_units::Span;

use crate::log::FlushReason;

/// The I/O of one database.
#[derive(Clone, Debug, Default)]
pub struct DatabaseMeters {
    /// Pages read for operations; a coalesced read counts once.
    pub reads: Meter,
    /// Dirty pages written; a coalesced write counts once.
    pub writes: Meter,
    /// Background maintenance reads.
    pub maintenance: Meter,
    /// Online backup reads.
    pub backup: Meter,
    /// Bytes of blank pages read by maintenance and backup. A file system knows that unwritten
    /// space is zero and reads no device for it.
    pub blank: Counter,
    /// Writes of zeros into the new part of a growing file.
    pub growth: Meter,
    /// Waits of operations for a free frame; the sum over databases is
    /// [`Meters::page_fault_stalls`].
    pub page_fault_stalls: Counter,
    /// Waits of operations because no extent was free.
    pub growth_stalls: Counter,
    /// Syncs of the file.
    pub syncs: Meter,
    /// Bad pages repaired from a copy ([`crate::patch`]).
    pub patched: Counter,
    /// Bad pages that no copy could repair, although there are copies.
    pub unpatched: Counter,
    /// Pages of copies that were refused: outdated, bad, or of another history.
    pub refused_copies: Counter,
}

/// The I/O of one log stream.
#[derive(Clone, Debug, Default)]
pub struct LogMeters {
    /// Flushes of the log buffer, each until it is durable. This is the log write latency.
    pub writes: Meter,
    /// The sync part of each flush, when write and sync are separate ([`crate::log::Durability`]).
    pub syncs: Meter,
    /// Writes that format the next log file.
    pub format: Meter,
    /// Rolls to the next log file, from the first rename to the last, during which nothing is
    /// flushed. They carry no bytes.
    pub rolls: Meter,
    /// The part of each roll spent waiting for the next file to be formatted; zero unless
    /// formatting is too slow.
    pub roll_waits: Meter,
    /// Requests for reserve files because the volume was full ([`crate::log::reserve`]).
    pub reserves: Counter,
    /// Reads of log files.
    pub reads: Meter,
    /// Reads of log files for log shipping to copies of the databases.
    pub replication: Meter,
    /// Flushes by reason, in the order of [`FlushReason::ALL`].
    pub flushes: [Counter; FlushReason::ALL.len()],
}

/// All counters of an engine.
#[derive(Clone, Debug, Default)]
pub struct Meters {
    /// By number of the database in the cache.
    pub databases: Vec<DatabaseMeters>,
    /// By number of the instance.
    pub logs: Vec<LogMeters>,
    /// Waits of operations for a free frame.
    pub page_fault_stalls: Counter,
    pub page_requests: Counter,
    /// Pages requested and found in the cache.
    pub page_hits: Counter,
    /// Single-bit errors corrected on read.
    pub corrected: Counter,
}

impl Meters {
    /// Adds the totals of `other`, an engine with as many databases and logs.
    pub fn absorb(&mut self, other: &Self) {
        for (own, other) in self.databases.iter_mut().zip(&other.databases) {
            own.absorb(other);
        }
        for (own, other) in self.logs.iter_mut().zip(&other.logs) {
            own.absorb(other);
        }
        for (own, other) in [
            (&mut self.page_fault_stalls, other.page_fault_stalls),
            (&mut self.page_requests, other.page_requests),
            (&mut self.page_hits, other.page_hits),
            (&mut self.corrected, other.corrected),
        ] {
            own.carry(other.total());
        }
    }
}

impl DatabaseMeters {
    fn absorb(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.reads, &other.reads),
            (&mut self.writes, &other.writes),
            (&mut self.maintenance, &other.maintenance),
            (&mut self.backup, &other.backup),
            (&mut self.growth, &other.growth),
            (&mut self.syncs, &other.syncs),
        ] {
            own.absorb(other);
        }
        for (own, other) in [
            (&mut self.blank, other.blank),
            (&mut self.page_fault_stalls, other.page_fault_stalls),
            (&mut self.growth_stalls, other.growth_stalls),
            (&mut self.patched, other.patched),
            (&mut self.unpatched, other.unpatched),
            (&mut self.refused_copies, other.refused_copies),
        ] {
            own.carry(other.total());
        }
    }
}

impl LogMeters {
    fn absorb(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.writes, &other.writes),
            (&mut self.syncs, &other.syncs),
            (&mut self.format, &other.format),
            (&mut self.rolls, &other.rolls),
            (&mut self.roll_waits, &other.roll_waits),
            (&mut self.reads, &other.reads),
            (&mut self.replication, &other.replication),
        ] {
            own.absorb(other);
        }
        self.reserves.carry(other.reserves.total());
        for (own, other) in self.flushes.iter_mut().zip(&other.flushes) {
            own.carry(other.total());
        }
    }
}

/// A shared handle of [`Meters`].
#[derive(Debug, Default)]
pub struct MeterBoard(RefCell<Meters>);

impl MeterBoard {
    /// Counters for `databases` databases over `logs` log streams.
    pub fn new(databases: usize, logs: usize) -> Self {
        let mut meters = Meters::default();
        meters.databases.resize_with(databases, DatabaseMeters::default);
        meters.logs.resize_with(logs, LogMeters::default);
        Self(RefCell::new(meters))
    }

    /// Reads or closes the meters.
    pub fn with<T>(&self, look: impl FnOnce(&mut Meters) -> T) -> T {
        look(&mut self.0.borrow_mut())
    }

    /// Counts one I/O of a database.
    pub fn database(
        &self,
        database: u8,
        pick: impl FnOnce(&mut DatabaseMeters) -> &mut Meter,
        bytes: u64,
        latency: Span,
    ) {
        let mut meters = self.0.borrow_mut();
        pick(&mut meters.databases[usize::from(database)]).record(latency, bytes);
    }

    /// Counts one I/O of a log stream.
    pub fn log(
        &self,
        log: u8,
        pick: impl FnOnce(&mut LogMeters) -> &mut Meter,
        bytes: u64,
        latency: Span,
    ) {
        let mut meters = self.0.borrow_mut();
        pick(&mut meters.logs[usize::from(log)]).record(latency, bytes);
    }

    /// Counts a flush.
    pub fn flush(&self, log: u8, reason: FlushReason) {
        self.0.borrow_mut().logs[usize::from(log)].flushes[reason as usize].tick();
    }
}
