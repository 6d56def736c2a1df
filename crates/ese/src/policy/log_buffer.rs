//! When log bytes leave the buffer, and how large the buffer is.
//!
//! Transactions append to the buffer; one flush at a time takes what is ready to disk, and everything appended
//! meanwhile goes with the next one (group commit). A flush begins for one of five reasons, see [`FlushReason`].
//! Capacity and reasons: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logwrite.cxx (buffer size limits,
//! write at half the buffer, lazy commit); unit and default of the parameter, sysparamtable.g.cxx.

use brunt_units::{LogPosition, PageSize, Time};

use super::log_geometry::LogGeometry;

/// The unit in which the size of the buffer is given.
pub const UNIT_BYTES: u64 = 512;

/// ESE's default size of the buffer, in units of 512 bytes.
pub const UNITS: u32 = 126;

/// Bytes in the buffer that a parameter of `units` gives.
///
/// At least two pages and four segments, so that the largest record fits; at most what one log file can hold. In tiny
/// files the second rule wins. So the 9,000 units that Exchange administrators set are cut to 1 MiB less header and
/// shadow by logs of 1 MiB.
pub fn capacity(units: u32, page: PageSize, geometry: LogGeometry) -> u64 {
    let least = 2 * page.bytes_u64() + 4 * u64::from(geometry.segment_bytes);
    let asked = u64::from(units) * UNIT_BYTES;
    asked.max(least).min(geometry.usable_bytes())
}

/// Bytes in the buffer during recovery: at least one whole log file, so that each file is read at once.
pub fn capacity_in_redo(units: u32, page: PageSize, geometry: LogGeometry) -> u64 {
    capacity(units, page, geometry).max(geometry.file_bytes())
}

/// Why a flush begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlushReason {
    /// A transaction waits for its commit record to be durable.
    HardCommit,
    /// A dirty page has to be written, and its log first.
    WriteAhead,
    /// The log file is full: the rest of the buffer belongs to the next generation.
    FileFull,
    /// Half of the buffer is ready.
    Capacity,
    /// The oldest lazy commit has waited as long as it may.
    Timer,
}

impl FlushReason {
    /// Every reason, in the order in which they are looked for.
    pub const ALL: [Self; 5] = [
        Self::HardCommit,
        Self::WriteAhead,
        Self::FileFull,
        Self::Capacity,
        Self::Timer,
    ];
}

/// What a decision to flush depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Bytes in the buffer: [`capacity`].
    pub capacity: u64,
    /// Bytes appended that no flush has taken yet.
    pub ready: u64,
    /// Bytes of records that the current log file can still take after those; zero when it is full.
    pub room: u64,
    /// Everything before this is durable or in the flush under way.
    pub covered: LogPosition,
    /// The furthest position that a hard commit waits for.
    pub hard_commit: Option<LogPosition>,
    /// The furthest position that a dirty page waits for.
    pub write_ahead: Option<LogPosition>,
    /// When the oldest lazy commit must be on its way.
    pub lazy_due: Option<Time>,
    /// Whether a flush is under way. There is never a second one.
    pub in_flight: bool,
}

/// Whether to begin a flush now, and why.
///
/// Ask after each append, at the end of each flush and at `lazy_due`.
pub fn flush_reason(now: Time, state: &LogState) -> Option<FlushReason> {
    if state.in_flight || state.ready == 0 {
        return None;
    }
    let uncovered = |wanted: Option<LogPosition>| wanted.is_some_and(|at| at > state.covered);
    let holds = |reason: &FlushReason| match reason {
        FlushReason::HardCommit => uncovered(state.hard_commit),
        FlushReason::WriteAhead => uncovered(state.write_ahead),
        FlushReason::FileFull => state.room == 0,
        FlushReason::Capacity => 2 * state.ready >= state.capacity,
        FlushReason::Timer => state.lazy_due.is_some_and(|due| due <= now),
    };
    FlushReason::ALL.into_iter().find(holds)
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn capacity_is_cut_by_the_log_file() {
        let mib = LogGeometry::new(1 << 20, 512, 4096);
        let of = |units| capacity(units, PageSize::KIB_8, mib);
        assert_eq!(of(UNITS), 64_512);
        assert_eq!(of(9_000), (1 << 20) - 4096 - 512);
        assert_eq!(of(1), 2 * 8192 + 4 * 512);
        assert_eq!(
            capacity_in_redo(UNITS, PageSize::KIB_8, mib),
            mib.file_bytes()
        );
        let tiny = LogGeometry::new(64 << 10, 512, 4096);
        assert_eq!(capacity(UNITS, PageSize::KIB_32, tiny), tiny.usable_bytes());
    }

    fn quiet() -> LogState {
        LogState {
            capacity: 1_000,
            ready: 1,
            room: 5_000,
            covered: LogPosition::start_of(7),
            hard_commit: None,
            write_ahead: None,
            lazy_due: None,
            in_flight: false,
        }
    }

    #[test]
    fn each_reason_alone_suffices() {
        let now = Time(100);
        let reason = |state: LogState| flush_reason(now, &state);
        let after = Some(LogPosition::start_of(8));
        let before = Some(LogPosition::start_of(7));
        assert_eq!(reason(quiet()), None);
        let hard_commit = LogState {
            hard_commit: after,
            ..quiet()
        };
        assert_eq!(reason(hard_commit), Some(FlushReason::HardCommit));
        let write_ahead = LogState {
            write_ahead: after,
            ..quiet()
        };
        assert_eq!(reason(write_ahead), Some(FlushReason::WriteAhead));
        let covered = LogState {
            hard_commit: before,
            write_ahead: before,
            ..quiet()
        };
        assert_eq!(reason(covered), None);
        for (ready, expected) in [(499, None), (500, Some(FlushReason::Capacity))] {
            assert_eq!(reason(LogState { ready, ..quiet() }), expected);
        }
        assert_eq!(
            reason(LogState { room: 0, ..quiet() }),
            Some(FlushReason::FileFull)
        );
        for (due, expected) in [(101, None), (100, Some(FlushReason::Timer))] {
            let lazy_due = Some(Time(due));
            assert_eq!(
                reason(LogState {
                    lazy_due,
                    ..quiet()
                }),
                expected
            );
        }
    }

    #[test]
    fn one_flush_at_a_time_and_none_of_nothing() {
        let mut random = Streams::new(6).named("flush");
        for _ in 0..5_000 {
            let mut draw = |bound| random.below(bound);
            let generation = |number: u64| LogPosition::start_of(u32::try_from(number).unwrap());
            let state = LogState {
                capacity: 1 + draw(1_000),
                ready: draw(600),
                room: draw(3),
                covered: generation(draw(5)),
                hard_commit: (draw(2) == 0).then(|| generation(draw(5))),
                write_ahead: (draw(2) == 0).then(|| generation(draw(5))),
                lazy_due: (draw(2) == 0).then(|| Time(draw(20))),
                in_flight: draw(2) == 0,
            };
            let now = Time(draw(20));
            let wanted = state.hard_commit.max(state.write_ahead) > Some(state.covered)
                || state.room == 0
                || state.ready + state.ready >= state.capacity
                || state.lazy_due.unwrap_or(Time::MAX) <= now;
            let may = state.ready > 0 && !state.in_flight;
            assert_eq!(flush_reason(now, &state).is_some(), wanted && may);
        }
    }
}
