//! When to flush the log buffer, and how large the buffer is.
//!
//! Transactions append to the buffer. One flush at a time writes what is ready; everything appended
//! meanwhile goes with the next one (group commit). See [`FlushReason`] for why a flush begins.
//!
//! Capacity and reasons: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logwrite.cxx
//! (buffer size limits, write at half the buffer, lazy commit); unit and default of the parameter,
//! sysparamtable.g.cxx.

use brunt_units::{LogPosition, PageSize, Time};

use super::log_shape::LogShape;

/// Unit of the buffer size parameter.
pub const UNIT_BYTES: usize = 512;

/// ESE's default buffer size, in units of 512 bytes.
pub const UNITS: u32 = 126;

/// Buffer size in bytes for a parameter of `units`.
///
/// At least two pages and four segments, so that the largest record fits; at most what one log file
/// can hold. In tiny files the second rule wins. So logs of 1 MiB cut the 9,000 units that Exchange
/// administrators set to 1 MiB less the header.
pub fn capacity(units: u32, page: PageSize, shape: LogShape) -> usize {
    let least = 2 * page.bytes() + 4 * shape.segment_bytes();
    let asked = units as usize * UNIT_BYTES;
    asked.max(least).min(shape.usable_bytes())
}

/// Why a flush begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlushReason {
    /// A transaction waits for its commit record to be durable.
    Commit,
    /// A dirty page must be written, and its log first.
    Page,
    /// The stream is starting or closing, and waits for everything.
    Drain,
    /// The log file is full: the rest of the buffer belongs to the next generation.
    FileFull,
    /// Half of the buffer is ready.
    Capacity,
    /// The oldest lazy commit has waited for the lazy wait.
    Lazy,
}

impl FlushReason {
    /// Every reason, in order of precedence.
    pub const ALL: [Self; 6] =
        [Self::Commit, Self::Page, Self::Drain, Self::FileFull, Self::Capacity, Self::Lazy];
}

/// The positions that waiting operations need to be durable. By default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The furthest position a hard commit waits for.
    pub commit: LogPosition,
    /// The furthest position a dirty page waits for.
    pub page: LogPosition,
    /// The furthest position needed independent of a transaction or page.
    pub drain: LogPosition,
}

impl Wanted {
    /// An operation waits for everything before `end`.
    ///
    /// # Panics
    /// When `reason` is not one that operations wait for.
    pub fn raise(&mut self, end: LogPosition, reason: FlushReason) {
        let furthest = match reason {
            FlushReason::Commit => &mut self.commit,
            FlushReason::Page => &mut self.page,
            FlushReason::Drain => &mut self.drain,
            FlushReason::FileFull | FlushReason::Capacity | FlushReason::Lazy => {
                panic!("{reason:?} is for the flusher to notice")
            }
        };
        *furthest = end.max(*furthest);
    }
}

/// Input for a decision to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Bytes in the buffer: [`capacity`].
    pub capacity: usize,
    /// Bytes appended and not yet taken by a flush.
    pub ready: usize,
    /// Whether the oldest of them belong to a full file.
    pub file_full: bool,
    /// Everything before this is durable.
    pub durable: LogPosition,
    /// What operations wait for.
    pub wanted: Wanted,
    /// When the oldest lazy commit must be flushed.
    pub lazy_due: Option<Time>,
}

/// Whether to start a flush now, and why. Only one flush is ever in progress.
///
/// Call after each append, at the end of each flush and at `lazy_due`.
pub fn flush_reason(now: Time, state: &LogState) -> Option<FlushReason> {
    if state.ready == 0 {
        return None;
    }
    let holds = |reason: &FlushReason| match reason {
        FlushReason::Commit => state.wanted.commit > state.durable,
        FlushReason::Page => state.wanted.page > state.durable,
        FlushReason::Drain => state.wanted.drain > state.durable,
        FlushReason::FileFull => state.file_full,
        FlushReason::Capacity => is_half_full(state.ready, state.capacity),
        FlushReason::Lazy => state.lazy_due.is_some_and(|due| due <= now),
    };
    FlushReason::ALL.into_iter().find(holds)
}

/// Whether `ready` bytes justify a flush of a buffer of `capacity`.
pub fn is_half_full(ready: usize, capacity: usize) -> bool {
    2 * ready >= capacity
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn capacity_is_cut_by_the_log_file() {
        let mib = LogShape::new(512, 1 << 20);
        let of = |units| capacity(units, PageSize::KIB_8, mib);
        assert_eq!(of(UNITS), 64_512);
        assert_eq!(of(9_000), (1 << 20) - 4096);
        assert_eq!(of(1), 2 * 8192 + 4 * 512);
        let tiny = LogShape::new(512, 64 << 10);
        assert_eq!(capacity(UNITS, PageSize::KIB_32, tiny), (64 << 10) - 4096);
    }

    fn quiet() -> LogState {
        LogState {
            capacity: 1_000,
            ready: 1,
            file_full: false,
            durable: LogPosition::start_of(7),
            wanted: Wanted::default(),
            lazy_due: None,
        }
    }

    #[test]
    fn each_reason_alone_suffices() {
        let now = Time(100);
        let reason = |state: LogState| flush_reason(now, &state);
        assert_eq!(reason(quiet()), None);
        for asked in [FlushReason::Commit, FlushReason::Page, FlushReason::Drain] {
            for (generation, expected) in [(7, None), (8, Some(asked))] {
                let mut state = quiet();
                let end = LogPosition::start_of(generation);
                state.wanted.raise(end, asked);
                assert_eq!(reason(state), expected);
            }
        }
        let full = LogState { file_full: true, ..quiet() };
        assert_eq!(reason(full), Some(FlushReason::FileFull));
        for (ready, expected) in [(499, None), (500, Some(FlushReason::Capacity))] {
            assert_eq!(reason(LogState { ready, ..quiet() }), expected);
        }
        for (due, expected) in [(101, None), (100, Some(FlushReason::Lazy))] {
            let lazy_due = Some(Time(due));
            let state = LogState { lazy_due, ..quiet() };
            assert_eq!(reason(state), expected);
        }
    }

    #[test]
    fn a_flush_happens_exactly_when_there_is_something_and_a_reason() {
        let mut random = Streams::new(6).named("flush");
        for _ in 0..5_000 {
            let mut draw = |bound| random.below(bound);
            let generation = |number: u64| LogPosition::start_of(u32::try_from(number).unwrap());
            let bytes = |number: u64| usize::try_from(number).unwrap();
            let state = LogState {
                capacity: bytes(1 + draw(1_000)),
                ready: bytes(draw(600)),
                file_full: draw(3) == 0,
                durable: generation(draw(5)),
                wanted: Wanted {
                    commit: generation(draw(5)),
                    page: generation(draw(5)),
                    drain: generation(draw(5)),
                },
                lazy_due: (draw(2) == 0).then(|| Time(draw(20))),
            };
            let now = Time(draw(20));
            let Wanted { commit, page, drain } = state.wanted;
            let wanted = [commit, page, drain].iter().any(|end| *end > state.durable)
                || state.file_full
                || state.ready + state.ready >= state.capacity
                || state.lazy_due.unwrap_or(Time::MAX) <= now;
            assert_eq!(flush_reason(now, &state).is_some(), wanted && state.ready > 0);
        }
    }
}
