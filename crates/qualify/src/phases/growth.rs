//! Limits the growth of databases.
//!
//! A mix inserts more than it deletes, so databases grow during a test. Jetstress keeps a quarter
//! of their size free on the volume for this. Here the growth is forecast when the collection
//! begins, from the rate of operations and the size of a record, and reported with the time at
//! which it reaches its limit:
//!
//! ```text
//!    size        balance at                          end of the reserve
//!     |------------->|- - - - - - - - - - - - - - - - - - ->|
//!          16 %             for pages that keep splitting
//! ```
//!
//! When a database reaches the limit, the record counts of all databases are held: as many records
//! are deleted as inserted, which is an event of the test. If the scenario says so, the test is
//! refused instead when this is foreseeable. The rest of the reserve is for pages that keep
//! splitting until their fill has settled, and for bursts of large messages.
//!
//! Holding the record count does not hold the file size: the same records need more pages when
//! pages are less full, and a file never shrinks. Deleting the oldest messages of a new database
//! thins all pages of their bodies before it frees the first one, because bodies were loaded in the
//! order of message ids, which are scattered. This would make the database two fifths larger. So a
//! database that still grows loses records ([`Brake`]), until enough space is freed for the
//! inserts. A database that exceeds its whole reserve all the same ends the test with a message;
//! the volume must not run out of space.

use brunt_report::decimals;
use brunt_units::{ByteSize, Span};
use brunt_workload::keys::Population;
use brunt_workload::mix::Kind;
use brunt_workload::operations::Workload;

use crate::phases::sizing;
use crate::plan::Plan;

/// Growth up to this share of the reserve is allowed; our choice. With a reserve of 25 % that is 4
/// %, and pages that keep splitting may take another 20 %: 1.04 × 1.20 is below 1.25.
const SHARE_PERCENT: u64 = 16;
/// A limit that is reached sooner than this is as good as reached.
const SOON: Span = Span::seconds(1);

/// Tracks whether databases have reached their limit.
pub(crate) struct Reserve {
    /// The size of each database from which its reserve counts.
    base: Vec<ByteSize>,
    /// The initial size of each database; a file that was too large already may not grow further.
    first: Vec<ByteSize>,
    /// The brake of each database; empty until the first has reached its limit.
    brakes: Vec<Brake>,
}

/// The state of a database when the brake was applied.
#[derive(Clone, Copy, Debug)]
struct Brake {
    size: ByteSize,
    records: u64,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Growing {
    /// Nothing new.
    On,
    /// Record counts are held from now on, in words.
    Held(String),
    /// A database has exceeded its reserve, in words.
    Over(String),
}

/// When the first database will reach its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Growth of each database per hour.
    per_hour: ByteSize,
    /// Time until the limit, from now; `None` without growth.
    pub(crate) arrival: Option<Span>,
}

impl Reserve {
    pub(crate) fn new(plan: &Plan, sizes: &[ByteSize]) -> Self {
        // A database larger than the scenario's has used some of its reserve in earlier tests.
        let wanted = plan.databases().map(|database| database.size);
        let base = sizes.iter().zip(wanted);
        Self {
            base: base.map(|(size, wanted)| wanted.min(*size)).collect(),
            first: sizes.to_vec(),
            brakes: Vec::new(),
        }
    }

    /// The size of each database at which inserts and deletes balance.
    fn limits(&self, plan: &Plan) -> impl Iterator<Item = u64> {
        let percent = u128::from(plan.limits.reserve_percent) * u128::from(SHARE_PERCENT);
        self.base.iter().map(move |base| {
            let grown = u128::from(base.get()) * (10_000 + percent);
            u64::try_from(grown.div_euclid(10_000)).unwrap_or(u64::MAX)
        })
    }

    /// The maximum size of each database: its whole reserve and one step of its file, because files
    /// grow in steps, before the records that need the space arrive.
    fn ends(&self, plan: &Plan) -> impl Iterator<Item = u64> {
        self.base.iter().zip(&self.first).map(move |(base, first)| {
            let more = first.get().saturating_sub(whole(plan, *base));
            size_max(plan, *base).get().saturating_add(more)
        })
    }

    /// Whether record counts are held.
    pub(crate) fn holds(&self) -> bool {
        !self.brakes.is_empty()
    }

    /// The growth of databases with these sizes at `per_s` operations per second.
    pub(crate) fn forecast(&self, plan: &Plan, sizes: &[ByteSize], per_s: f64) -> Forecast {
        let mix = plan.load.mix;
        let net = f64::from(mix.percent(Kind::Insert)) - f64::from(mix.percent(Kind::Delete));
        let record = sizing::bytes_per_record(plan.engine.page, &plan.load.shape);
        let growth = per_s * (net / 100.0).max(0.0) * record / sizes.len().max(1) as f64;
        let room = self.limits(plan).zip(sizes);
        let room = room.map(|(limit, size)| limit.saturating_sub(size.get()));
        let arrival = (growth > 0.0).then(|| room.min().unwrap_or(0) as f64 / growth);
        Forecast {
            per_hour: whole_bytes(growth * 3600.0),
            arrival: arrival.map(Span::from_seconds),
        }
    }

    /// Checks the sizes, and applies or adjusts the brakes.
    pub(crate) fn watch(
        &mut self,
        plan: &Plan,
        sizes: &[ByteSize],
        workload: &mut Workload,
    ) -> Growing {
        let over = self.limits(plan).zip(sizes).position(|(limit, size)| size.get() > limit);
        let Some(over) = over else {
            return Growing::On;
        };
        let began = self.brakes.is_empty();
        if began {
            let records = workload.populations().iter().map(Population::len);
            let brakes = sizes.iter().zip(records);
            self.brakes = brakes.map(|(size, records)| Brake { size: *size, records }).collect();
        }
        for (at, (brake, size)) in self.brakes.iter().zip(sizes).enumerate() {
            workload.hold(at, Some(brake.records_at(*size)));
        }
        let ends = self.ends(plan);
        let past = ends.zip(sizes).position(|(end, size)| size.get() > end);
        if let Some((past, database)) = past.and_then(|at| Some((at, plan.databases().nth(at)?))) {
            return Growing::Over(format!(
                "{} has grown to {}, past its reserve of {} %, although records were deleted",
                database.name, sizes[past], plan.limits.reserve_percent
            ));
        }
        match (began, plan.databases().nth(over)) {
            (true, Some(database)) => Growing::Held(format!(
                "{} has grown as far as it may; from now on it keeps its size",
                database.name
            )),
            _ => Growing::On,
        }
    }
}

impl Brake {
    /// The number of records that the database may have at this size.
    ///
    /// For each percent of growth it loses two percent of its records. So its growth factor settles
    /// at the cube root of the factor that thin pages alone would cause.
    fn records_at(&self, size: ByteSize) -> u64 {
        let (was, is) = (u128::from(self.size.get()), u128::from(size.get()));
        if is <= was {
            return self.records;
        }
        // Two steps, because records times the square of a size may overflow 128 bits.
        let shrunk = |records: u128| (records * was).div_euclid(is);
        u64::try_from(shrunk(shrunk(self.records.into()))).unwrap_or(self.records)
    }
}

impl Forecast {
    /// Whether the limit is reached within `duration`.
    pub(crate) fn is_within(&self, duration: Span) -> bool {
        self.arrival.is_some_and(|arrival| arrival < duration)
    }

    /// For the test log.
    pub(crate) fn note(&self, duration: Span) -> String {
        let growth = format!("each database will grow by about {} an hour", self.per_hour);
        match self.arrival {
            None => "databases do not grow: there are as many deletes as inserts".to_owned(),
            Some(arrival) if arrival < SOON => {
                "databases have already grown as far as they may, and keep their size".to_owned()
            }
            Some(arrival) if self.is_within(duration) => format!(
                "{growth}; after {} inserts and deletes are balanced so that they stop growing",
                rough(arrival)
            ),
            Some(_) => format!("{growth}, and have room for this test"),
        }
    }

    /// Why the test is refused.
    pub(crate) fn refusal(&self, duration: Span) -> String {
        format!(
            "databases would reach their room to grow after {} of {}; make them larger, lower the target, or set test.growth = \"balance\"",
            rough(self.arrival.unwrap_or_default()),
            rough(duration)
        )
    }
}

/// The largest file of a database of `size`: all of its reserve, and one step of its file.
pub(crate) fn size_max(plan: &Plan, size: ByteSize) -> ByteSize {
    let step = step(plan, size).get();
    ByteSize::bytes(whole(plan, size).saturating_add(step))
}

/// A database of `size` and all of its reserve, in bytes.
fn whole(plan: &Plan, size: ByteSize) -> u64 {
    let percent = u64::from(plan.limits.reserve_percent);
    let reserve = size.get().div_euclid(100).saturating_mul(percent);
    size.get().saturating_add(reserve)
}

/// Maximum growth step of the file of a database of `size`, in bytes: two steps of the engine (one
/// in use, one kept free ahead of use) and the largest message of the workload.
pub(crate) fn step(plan: &Plan, size: ByteSize) -> ByteSize {
    let page = plan.engine.page.bytes_u64();
    let extent = u64::from(brunt_ese::space::extent_pages(size.get().div_euclid(page)));
    let pages = extent.max(u64::from(plan.engine.extension_pages));
    ByteSize::bytes(2 * pages * page + u64::from(plan.load.shape.large_max))
}

/// A length of time for people.
pub(crate) fn rough(span: Span) -> String {
    let seconds = span.as_seconds();
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{} h", decimals(s / 3600.0)),
    }
}

fn whole_bytes(bytes: f64) -> ByteSize {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float cast saturates, and is not below zero"
    )]
    let whole = bytes.max(0.0) as u64;
    ByteSize::bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;
    use brunt_workload::mix::Mix;
    use brunt_workload::profile::InstanceChoice;
    use brunt_workload::session::PoolShape;
    use brunt_world::random::Streams;

    #[test]
    fn growth_is_foreseen_from_the_rate_and_the_mix() {
        let plan = plan();
        let sizes = vec![ByteSize::mib(4); 2];
        let reserve = Reserve::new(&plan, &sizes);
        let record = sizing::bytes_per_record(plan.engine.page, &plan.load.shape);
        // One operation in five adds a record; two databases share them; each may grow by 4 % of 4
        // MiB.
        let forecast = reserve.forecast(&plan, &sizes, 100.0);
        let expected = 0.04 * f64::from(4 << 20) / (100.0 * 0.2 * record / 2.0);
        let arrival = forecast.arrival.unwrap().as_seconds();
        assert!((arrival / expected - 1.0).abs() < 0.01, "{arrival} s");
        assert!(forecast.is_within(Span::seconds(60)));
        assert!(
            forecast
                .note(Span::seconds(60))
                .contains("inserts and deletes are balanced so that they stop")
        );
        assert!(forecast.note(Span::seconds(1)).ends_with("an hour, and have room for this test"));
        let mut balanced = plan.clone();
        balanced.load.mix = Mix::new(30, 30, 5, 70).unwrap();
        assert_eq!(reserve.forecast(&balanced, &sizes, 100.0).arrival, None);
    }

    fn workload(records: u64) -> Workload {
        let streams = Streams::new(3);
        let shape =
            PoolShape { sessions: 1, instances: 2, batch: 1, choice: InstanceChoice::Rotation };
        let populations = (0..2).map(|at| Population::new(Workload::mixer(streams, at), records));
        let mix = plan().load.mix;
        Workload::new(shape, mix, populations.collect(), 1, streams)
    }

    #[test]
    fn what_earlier_tests_have_used_is_used() {
        let plan = plan();
        let sizes = [ByteSize::mib(5), ByteSize::mib(4)];
        let mut reserve = Reserve::new(&plan, &sizes);
        let forecast = reserve.forecast(&plan, &sizes, 100.0);
        assert_eq!(forecast.arrival, Some(Span::ZERO));
        let said = forecast.note(Span::seconds(60));
        assert!(said.starts_with("databases have already grown as far as they may"), "{said}");
        let mut workload = workload(1_000);
        match reserve.watch(&plan, &sizes, &mut workload) {
            Growing::Held(note) => {
                assert_eq!(note, "DB1 has grown as far as it may; from now on it keeps its size")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((workload.held(0), workload.held(1)), (Some(1_000), Some(1_000)));
        assert_eq!(reserve.watch(&plan, &sizes, &mut workload), Growing::On, "said once");
    }

    #[test]
    fn a_file_that_grows_on_loses_records_and_at_last_ends_the_test() {
        let mut plan = plan();
        plan.engine.extension_pages = 16;
        let mut reserve = Reserve::new(&plan, &[ByteSize::mib(4); 2]);
        let mut workload = workload(1_000);
        let mut at = |percent: u64, workload: &mut Workload| {
            let size = ByteSize::bytes(ByteSize::mib(4).get().div_euclid(100) * percent);
            reserve.watch(&plan, &[size, ByteSize::mib(4)], workload)
        };
        assert_eq!(at(103, &mut workload), Growing::On);
        assert_eq!(workload.held(0), None);
        assert!(matches!(at(105, &mut workload), Growing::Held(_)));
        // A tenth larger, so about a fifth fewer records: 1,000 / 1.1².
        assert_eq!(at(115, &mut workload), Growing::On);
        let held = workload.held(0).unwrap();
        assert!((830..838).contains(&held), "{held}");
        assert_eq!(workload.held(1), Some(1_000), "each for itself");
        // 125 %, plus a step: twice 16 pages of 4 KiB, and 256 KiB, which is 9.4 % of 4 MiB.
        assert_eq!(at(134, &mut workload), Growing::On);
        match at(135, &mut workload) {
            Growing::Over(why) => assert!(why.starts_with("DB1 has grown to 5.40 MiB"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
