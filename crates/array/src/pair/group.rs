//! The state of a group: what happens to a write, and when the destination is in step again. Pure:
//! no requests, no time of its own.
//!
//! ```text
//!             lost, failsafe                 connected
//!    Normal -----------------> Locked ----------------------> Normal
//!      |  lost                 connected            log empty
//!      +-------> Logging -----------------> Merging -------> Normal
//!                   | full     (lost: Logging) | full
//!                   v                          v
//!               Overflowed ---------------> Copying -------> Normal
//!                              connected        all copied
//!                              (lost: Overflowed)
//! ```

use std::fmt;

use brunt_units::{ByteSize, Span, Time};

use super::blocks::{BLOCK_SECTORS, Blocks};
use super::design::{HistoryDesign, Mode, PairGroupDesign};
use super::order::{Entry, EntryKind, GroupExtent, Order};
use super::roles::{Roles, Site};

/// The state of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Every write goes to both systems.
    #[default]
    Normal,
    /// Failsafe: the destination cannot be reached, and hosts have lost their LUNs.
    Locked,
    /// The destination is not there: writes go into the write history log.
    Logging,
    /// The log is full and was given up; a full copy is due.
    Overflowed,
    /// The log is replayed while new writes append.
    Merging,
    /// A full copy runs.
    Copying,
    /// Both sites serve, each with what it has; nothing is replicated.
    Split,
}

impl Phase {
    /// Name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Locked => "locked",
            Self::Logging => "logging",
            Self::Overflowed => "log overflowed",
            Self::Merging => "merging",
            Self::Copying => "full copy",
            Self::Split => "split",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What would be lost if the serving site were lost now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtRisk {
    /// Acknowledged writes that the other site does not have.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the first of them was acknowledged.
    pub since: Option<Time>,
}

impl AtRisk {
    pub(super) fn add(&mut self, bytes: u64, acknowledged_at: Time) {
        self.writes += 1;
        self.bytes += bytes;
        let since = self.since.map_or(acknowledged_at, |at| at.min(acknowledged_at));
        self.since = Some(since);
    }
}

/// The write history log of a group at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogFill {
    /// Bytes of writes that have not been replayed.
    pub used: ByteSize,
    /// What it may grow to.
    pub limit: ByteSize,
    /// When it is full at the pace since it began to fill; `None` while it does not grow.
    pub full_in: Option<Span>,
    /// Whether it is fuller than the alarm.
    pub is_alarm: bool,
}

/// What is done with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// The host has lost its LUN.
    Refused,
    /// The host waits for the destination.
    Direct(u64),
    /// The host waits for the log.
    Logged(u64),
    /// Its blocks are marked for a full copy.
    Marked,
}

/// What becomes of hosts that waited for the destination when it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Their writes fail.
    Fail,
    /// Their writes are logged.
    Log,
    /// Their blocks are marked for a full copy.
    Release,
}

/// The write history log, without its writes.
#[derive(Default)]
struct History {
    used: u64,
    allocated: u64,
    peak: u64,
    /// Bytes ever written to the log, and ever confirmed: places in it.
    written: u64,
    confirmed: u64,
    read: u64,
    /// Since when it fills, and what it had then.
    since: Option<(Time, u64)>,
}

pub(super) struct Group {
    pub(super) name: String,
    mode: Mode,
    pub(super) failsafe: bool,
    initial: u64,
    pub(super) limit: u64,
    pub(super) phase: Phase,
    /// Whether the destination answers.
    pub(super) is_connected: bool,
    pub(super) is_suspended: bool,
    /// Whether the destination has refused a write, or the source could not read one.
    pub(super) is_broken: bool,
    /// Whether the destination is the source as it was at some time.
    pub(super) is_consistent: bool,
    /// Counts full copies: marks of earlier ones no longer matter.
    pub(super) generation: u32,
    pub(super) order: Order,
    /// Blocks written since the destination was lost, or still to be copied.
    pub(super) blocks: Blocks,
    /// Entries of the order, by kind.
    logged: u64,
    copies: u64,
    history: History,
    pub(super) dropped: AtRisk,
    /// Writes of an order that was given up which the destination may have, or which are not
    /// acknowledged yet.
    maybe: Vec<(u64, Entry)>,
    /// The numbers of the order that was given up.
    gone: std::ops::Range<u64>,
    pub(super) copied_bytes: u64,
    /// Bytes of all writes of hosts that were not refused.
    pub(super) taken_bytes: u64,
    /// Whether the order was given up, until somebody looks.
    pub(super) has_given_up: bool,
    pub(super) roles: Roles,
}

impl Group {
    pub(super) fn new(design: &PairGroupDesign, history: &HistoryDesign, sizes: Vec<u64>) -> Self {
        let initial = history.initial.get();
        Self {
            name: design.name.clone(),
            mode: design.mode,
            failsafe: design.failsafe,
            initial,
            limit: history.limit.get(),
            phase: Phase::Normal,
            is_connected: true,
            is_suspended: false,
            is_broken: false,
            is_consistent: true,
            generation: 0,
            order: Order::default(),
            blocks: Blocks::new(sizes),
            logged: 0,
            copies: 0,
            history: History { allocated: initial, ..History::default() },
            dropped: AtRisk::default(),
            maybe: Vec::new(),
            gone: 0..0,
            copied_bytes: 0,
            taken_bytes: 0,
            has_given_up: false,
            roles: Roles::new(),
        }
    }

    /// What is done with a write at `now`; the log may have up to `room`.
    pub(super) fn accept(&mut self, now: Time, place: GroupExtent, room: u64) -> Accepted {
        if self.phase == Phase::Locked {
            return Accepted::Refused;
        }
        self.taken_bytes += place.extent.bytes();
        let kind = match (self.phase, self.mode) {
            (Phase::Overflowed | Phase::Split, _) => {
                self.blocks.mark(place);
                return Accepted::Marked;
            }
            (Phase::Copying, _) | (Phase::Normal, Mode::Synchronous) => EntryKind::Direct,
            // Nothing waits to be sent: this write is the next.
            (Phase::Merging, Mode::Synchronous) if self.order.next() == self.order.end() => {
                EntryKind::Direct
            }
            _ => EntryKind::Logged,
        };
        if kind == EntryKind::Direct {
            return Accepted::Direct(self.order.push(Entry::new(place, kind)));
        }
        if !self.append(now, place, room) {
            self.overflow();
            self.blocks.mark(place);
            return Accepted::Marked;
        }
        Accepted::Logged(self.order.push(Entry::new(place, kind)))
    }

    /// Takes room in the log for a write; whether there is any.
    fn append(&mut self, now: Time, place: GroupExtent, room: u64) -> bool {
        let bytes = place.extent.bytes();
        let log = &mut self.history;
        if log.used + bytes > room {
            return false;
        }
        log.since.get_or_insert((now, log.used));
        log.used += bytes;
        log.written += bytes;
        log.peak = log.peak.max(log.used);
        log.allocated = log.allocated.max(log.used);
        self.logged += 1;
        self.blocks.mark(place);
        true
    }

    /// Gives up the log. All blocks written since the destination was lost are marked already.
    fn overflow(&mut self) {
        self.give_up_order();
        self.phase = Phase::Overflowed;
    }

    pub(super) fn give_up_order(&mut self) {
        self.has_given_up = true;
        let first = if self.gone.is_empty() { self.order.base() } else { self.gone.start };
        self.gone = first..self.order.end();
        for (number, entry) in self.order.iter() {
            self.blocks.mark(entry.place());
            let is_acknowledged = entry.acknowledged_at != Time::MAX;
            if entry.kind == EntryKind::Copy {
                continue;
            } else if is_acknowledged && number >= self.order.unsent() {
                self.dropped.add(entry.bytes(), entry.acknowledged_at);
            } else {
                self.maybe.push((number, *entry));
            }
        }
        self.order.clear();
        (self.logged, self.copies) = (0, 0);
        self.empty_log();
    }

    /// Forgets what was lost of an order that was given up.
    pub(super) fn forget_lost(&mut self) {
        self.dropped = AtRisk::default();
        self.maybe.clear();
        self.gone = 0..0;
    }

    pub(super) fn is_failsafe(&self) -> bool {
        self.failsafe && !self.roles.is_waived
    }

    pub(super) fn empty_log(&mut self) {
        let log = &mut self.history;
        log.used = 0;
        log.allocated = self.initial;
        log.since = None;
        (log.confirmed, log.read) = (log.written, log.written);
    }

    /// The destination is lost at `now`: by its link, by itself, or because the group is suspended.
    pub(super) fn disconnect(&mut self, now: Time, room: u64) -> Waiting {
        self.is_connected = false;
        self.order.rewind();
        self.history.read = self.history.confirmed;
        match self.phase {
            Phase::Split => Waiting::Release,
            Phase::Copying => {
                self.give_up_order();
                self.phase = if self.is_failsafe() { Phase::Locked } else { Phase::Overflowed };
                if self.is_failsafe() { Waiting::Fail } else { Waiting::Release }
            }
            _ if self.is_failsafe() && self.phase != Phase::Overflowed => {
                self.phase = Phase::Locked;
                Waiting::Fail
            }
            Phase::Normal | Phase::Merging => {
                self.phase = Phase::Logging;
                self.log_what_waits(now, room)
            }
            Phase::Overflowed => Waiting::Release,
            Phase::Locked | Phase::Logging => Waiting::Log,
        }
    }

    /// Moves writes that waited for the destination into the log.
    fn log_what_waits(&mut self, now: Time, room: u64) -> Waiting {
        let direct = self.order.iter().filter(|(_, entry)| entry.kind == EntryKind::Direct);
        let places: Vec<GroupExtent> = direct.map(|(_, entry)| entry.place()).collect();
        if !places.into_iter().all(|place| self.append(now, place, room)) {
            self.overflow();
            return Waiting::Release;
        }
        for entry in self.order.iter_mut() {
            entry.kind = EntryKind::Logged;
        }
        Waiting::Log
    }

    /// The destination answers again and has every write before `confirmed`.
    pub(super) fn connect(&mut self, confirmed: u64) -> Vec<u64> {
        self.is_connected = true;
        let done = self.confirm(confirmed);
        self.order.rewind();
        self.history.read = self.history.confirmed;
        let is_copy = match self.phase {
            Phase::Overflowed => true,
            Phase::Locked => self.blocks.count() > 0,
            _ => self.roles.is_divergent,
        };
        if is_copy {
            self.give_up_order();
            self.is_consistent = false;
            self.phase = Phase::Copying;
        } else if self.logged > 0 {
            self.phase = Phase::Merging;
        } else {
            self.phase = Phase::Normal;
            self.blocks.clear();
            self.empty_log();
            self.in_step();
        }
        done
    }

    /// The destination has every write before `until`; returns those whose hosts waited for it.
    pub(super) fn confirm(&mut self, until: u64) -> Vec<u64> {
        let mut done = Vec::new();
        while let Some((number, entry)) = self.order.confirm(until) {
            match entry.kind {
                EntryKind::Direct => done.push(number),
                EntryKind::Logged => {
                    self.logged -= 1;
                    self.history.used -= entry.bytes();
                    self.history.confirmed += entry.bytes();
                }
                EntryKind::Copy => {
                    self.copies -= 1;
                    self.copied_bytes += entry.bytes();
                }
            }
        }
        self.history.read = self.history.read.max(self.history.confirmed);
        done
    }

    /// Ends a replay or a full copy that is done; `is_reading` while blocks are on their way into
    /// the order. Whether it has ended.
    pub(super) fn settle(&mut self, is_reading: bool) -> bool {
        let is_done = match self.phase {
            // A log that is replayed all the time is in step when nothing waits.
            Phase::Merging => match self.mode {
                Mode::Synchronous => self.logged == 0,
                Mode::Asynchronous => self.order.next() == self.order.end(),
            },
            Phase::Copying => self.blocks.count() == 0 && self.copies == 0 && !is_reading,
            _ => false,
        };
        if self.phase == Phase::Normal && self.logged == 0 && self.mode == Mode::Asynchronous {
            self.blocks.clear();
            self.history.since = None;
        }
        if !is_done {
            return false;
        }
        if self.phase == Phase::Copying {
            self.is_consistent = true;
            self.generation += 1;
            self.forget_lost();
        }
        self.phase = Phase::Normal;
        self.in_step();
        if self.logged == 0 {
            self.blocks.clear();
            self.empty_log();
        }
        true
    }

    /// The next write to send, if it may be: `most` of them are under way while a log is replayed
    /// or blocks are copied.
    pub(super) fn next_to_send(&self, most: u64) -> Option<(u64, Entry)> {
        let number = self.order.next();
        let entry = *self.order.get(number)?;
        let may = entry.kind == EntryKind::Direct || self.order.under_way() < most;
        (self.is_connected && may).then_some((number, entry))
    }

    /// Counts the next write as sent; returns where it lies in the log.
    pub(super) fn sent(&mut self, entry: &Entry) -> Option<u64> {
        self.order.sent();
        (entry.kind == EntryKind::Logged).then(|| {
            self.history.read += entry.bytes();
            self.history.read - entry.bytes()
        })
    }

    /// Where the newest write of `bytes` lies in the log.
    pub(super) fn logged_at(&self, bytes: u64) -> u64 {
        self.history.written - bytes
    }

    /// Adds a block that has been read from the source to the order.
    pub(super) fn copy(&mut self, block: GroupExtent) {
        self.copies += 1;
        self.order.push(Entry::new(block, EntryKind::Copy));
    }

    /// Blocks that may be read now, `reading` of which are.
    pub(super) fn may_copy(&self, reading: usize, most: u64) -> bool {
        self.phase == Phase::Copying
            && self.is_connected
            && self.blocks.count() > 0
            && self.copies + (reading as u64) < most
    }

    /// Marks everything: a full copy begins at once, or with the next connection.
    pub(super) fn demand_full_copy(&mut self) {
        if self.is_connected {
            self.is_consistent = false;
            self.phase = Phase::Copying;
        } else {
            self.give_up_order();
            if !matches!(self.phase, Phase::Locked | Phase::Split) {
                self.phase = Phase::Overflowed;
            }
        }
        self.blocks.mark_all();
    }

    /// The host of a write at `site` has its acknowledgement; `number` if it was in the order, and
    /// `generation` when it was accepted.
    pub(super) fn acknowledged(
        &mut self,
        site: Site,
        number: Option<u64>,
        bytes: u64,
        generation: u32,
        now: Time,
    ) {
        if self.acknowledged_apart(site, number, bytes, generation, now) {
            return;
        }
        let Some(number) = number else {
            // A full copy since then has brought it.
            if generation == self.generation {
                self.dropped.add(bytes, now);
            }
            return;
        };
        if let Some(entry) = self.order.get_mut(number) {
            entry.acknowledged_at = now;
        } else if self.gone.contains(&number) {
            let mut maybe = self.maybe.iter_mut();
            if let Some((_, entry)) = maybe.find(|(one, _)| *one == number) {
                entry.acknowledged_at = now;
            }
        }
    }

    /// What would be lost with the source, when the destination has every write before `done`;
    /// `None` while a full copy has left it inconsistent.
    pub(super) fn at_risk(&self, done: u64) -> Option<AtRisk> {
        let mut lost = self.dropped;
        let maybe = self.maybe.iter().map(|(number, entry)| (*number, entry));
        for (number, entry) in maybe.chain(self.order.iter()) {
            if number >= done && entry.acknowledged_at != Time::MAX {
                lost.add(entry.bytes(), entry.acknowledged_at);
            }
        }
        let is_known = self.is_consistent && !self.roles.is_unknown && self.phase != Phase::Split;
        is_known.then_some(lost)
    }

    /// What the log has taken of the room of all logs.
    pub(super) fn allocated(&self) -> u64 {
        self.history.allocated
    }

    /// The most that the log ever held.
    pub(super) fn peak(&self) -> u64 {
        self.history.peak
    }

    /// How full the log is at `now`, which may grow to `room`.
    pub(super) fn fill(&self, now: Time, room: u64, alarm: u32) -> LogFill {
        let used = self.history.used;
        let full_in = self.history.since.and_then(|(since, had)| {
            let grown = used.checked_sub(had).filter(|grown| *grown > 0)?;
            let rate = grown as f64 / now.since(since).as_seconds();
            let left = room.saturating_sub(used) as f64;
            rate.is_finite().then(|| Span::from_seconds(left / rate))
        });
        LogFill {
            used: ByteSize::bytes(used),
            limit: ByteSize::bytes(room),
            full_in,
            is_alarm: u128::from(used) * 100 >= u128::from(room) * u128::from(alarm),
        }
    }

    /// The younger half of the log disappears, but for what is before `from`.
    pub(super) fn lose_tail(&mut self, from: u64) -> bool {
        let mut lost = 0;
        let half = self.logged.div_ceil(2);
        while lost < half
            && let Some(entry) = self.order.lose_last(from)
        {
            lost += 1;
            if entry.kind == EntryKind::Logged {
                self.logged -= 1;
                self.history.used -= entry.bytes();
            }
        }
        lost > 0
    }

    /// Bytes that a full copy still has to bring, at most.
    pub(super) fn left_to_copy(&self) -> u64 {
        self.blocks.count() * BLOCK_SECTORS * 512
    }
}
