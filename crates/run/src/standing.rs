//! What a test knows of itself besides its samples: faults, stops, and how late it ran.

use brunt_stats::Latencies;
use brunt_units::Span;
use serde::{Deserialize, Serialize};

/// A test so far, apart from its samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Sessions in the pool.
    pub sessions: u32,
    /// Sizes of all databases when sessions began, in bytes.
    pub initial_bytes: Vec<u64>,
    /// Sizes of all databases now, in bytes.
    pub last_bytes: Vec<u64>,
    /// Which log had not gone through the checkpoint depth when the collection began, in words.
    pub short_of: Option<String>,
    /// Wrong records that sessions met.
    pub findings: Findings,
    pub errors: Errors,
    /// Faults of the storage, in words.
    pub found: Vec<String>,
    pub hung: Hung,
    /// How late the program's tasks ran.
    pub delays: Latencies,
    pub stop: LongestStop,
    pub standstill: Standstill,
}

impl Standing {
    /// This and the standing of a part that began `after` the beginning of this one's collection.
    #[must_use]
    pub fn followed_by(mut self, next: Self, after: Span) -> Self {
        self.hung.absorb(next.hung);
        self.delays.merge(&next.delays);
        self.found.extend(next.found);
        Self {
            sessions: next.sessions,
            initial_bytes: self.initial_bytes,
            last_bytes: next.last_bytes,
            short_of: self.short_of.or(next.short_of),
            findings: self.findings.and(next.findings),
            errors: self.errors.and(next.errors),
            found: self.found,
            hung: self.hung,
            delays: self.delays,
            stop: self.stop.or(next.stop.later_by(after)),
            standstill: self.standstill.and(next.standstill, after),
        }
    }
}

/// Failed I/Os and bad pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    pub count: u64,
    /// The first of them, in words; empty without any.
    pub first: String,
}

impl Errors {
    /// Counts `count` more; `first` are the words for the first of them.
    pub fn add(&mut self, count: u64, first: impl FnOnce() -> String) {
        self.count = self.count.saturating_add(count);
        if self.first.is_empty() && count > 0 {
            self.first = first();
        }
    }

    /// These and `later` ones.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.add(later.count, || later.first);
        self
    }
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is missing or unreadable.
    Lost,
    /// It is intact, but older than the version committed last.
    Stale,
    /// It was deleted, was never inserted, or is newer than any committed version.
    Phantom,
    /// Its bytes match no version.
    Torn,
}

/// The number of findings of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Missing or unreadable.
    pub lost: u64,
    /// An older version.
    pub stale: u64,
    /// Records that must not be there.
    pub phantom: u64,
    /// Bytes that match no version.
    pub torn: u64,
}

impl Findings {
    /// Counts one finding.
    pub fn add(&mut self, finding: Finding) {
        *match finding {
            Finding::Lost => &mut self.lost,
            Finding::Stale => &mut self.stale,
            Finding::Phantom => &mut self.phantom,
            Finding::Torn => &mut self.torn,
        } += 1;
    }

    /// The sum over all kinds.
    pub fn total(self) -> u64 {
        [self.stale, self.phantom, self.torn].into_iter().fold(self.lost, u64::saturating_add)
    }

    /// Adds the counts of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost.saturating_add(other.lost),
            stale: self.stale.saturating_add(other.stale),
            phantom: self.phantom.saturating_add(other.phantom),
            torn: self.torn.saturating_add(other.torn),
        }
    }

    /// The maximum of each count: the same record is often found twice, during the test and after
    /// it.
    pub fn at_least(self, other: Self) -> Self {
        Self {
            lost: self.lost.max(other.lost),
            stale: self.stale.max(other.stale),
            phantom: self.phantom.max(other.phantom),
            torn: self.torn.max(other.torn),
        }
    }
}

/// I/Os that hung.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hung {
    /// Their number.
    pub count: u64,
    /// The longest time in flight that was seen.
    pub longest: Span,
    /// The first of them, in words; empty without any.
    pub first: String,
}

impl Hung {
    /// The first of them and the longest, in words.
    pub fn remark(&self) -> String {
        format!("{}, seen in flight for {:.0} s", self.first, self.longest.as_seconds())
    }

    /// Adds those of another test.
    pub fn absorb(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.longest = self.longest.max(other.longest);
        if self.first.is_empty() {
            self.first = other.first;
        }
    }

    /// Counts one, which `describe` puts into words.
    pub fn add(&mut self, describe: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_empty() {
            self.first = describe();
        }
    }
}

/// The longest stop of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongestStop {
    /// How long it lasted.
    pub length: Span,
    /// When it began, from the beginning of the collection.
    pub after: Span,
    /// The stream: `reads of DB1`; empty when there was no I/O.
    pub what: String,
}

impl LongestStop {
    /// Where and when.
    pub fn remark(&self) -> String {
        match self.what.as_str() {
            "" => "there was no I/O".to_owned(),
            what => format!("{what}, {:.1} s after the start", self.after.as_seconds()),
        }
    }

    /// The longer of the two.
    pub fn or(self, other: Self) -> Self {
        match other.length > self.length {
            true => other,
            false => self,
        }
    }

    /// The same, with a collection of `length` before its own.
    pub fn later_by(self, length: Span) -> Self {
        Self { after: Span(length.0.saturating_add(self.after.0)), ..self }
    }
}

/// The times in which the program did not run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    /// Their number.
    pub count: u64,
    /// The length of the longest.
    pub longest: Span,
    /// When that began, from the beginning of the collection.
    pub after: Span,
    /// Whether the machine was suspended meanwhile.
    pub suspended: bool,
}

impl Standstill {
    /// In words: where and when.
    pub fn words(&self) -> String {
        let what = match self.suspended {
            true => "the machine was suspended",
            false => "brunt did not run",
        };
        let more = match self.count {
            0 | 1 => String::new(),
            count => format!(", the longest of {count} times"),
        };
        format!(
            "{what} for {:.1} s, {:.0} s after the start{more}",
            self.longest.as_seconds(),
            self.after.as_seconds()
        )
    }

    /// These and those of another, whose collection began `later`.
    pub fn and(self, other: Self, later: Span) -> Self {
        let count = self.count.saturating_add(other.count);
        let longer = match other.longest > self.longest {
            true => Self { after: Span(later.0.saturating_add(other.after.0)), ..other },
            false => self,
        };
        Self { count, ..longer }
    }

    /// Those of threads that stood still together.
    pub fn beside(self, other: Self) -> Self {
        match other.longest > self.longest {
            true => other,
            false => self,
        }
    }
}
