//! Databases grow, and may grow so far and no further.
//!
//! A mix inserts more than it deletes, so databases grow while they are tested. Jetstress keeps a quarter of their size free
//! for that on the volume. Here the growth is foreseen when the collection begins, from the rate of operations and what a
//! record takes, and said with its time of arrival:
//!
//! ```text
//!    size        balance at                          end of the reserve
//!     |------------->|- - - - - - - - - - - - - - - - - - ->|
//!          16 %             for pages that go on splitting
//! ```
//!
//! When a database arrives there, as many records are deleted as are inserted from then on, which is an event of the test;
//! or the test is refused when that is foreseen, if the scenario says so. The rest of the reserve is for pages that go on
//! splitting until their fill has settled. Running out of space is not a way to end.

use brunt_report::decimals;
use brunt_units::{ByteSize, Span};
use brunt_workload::mix::Kind;

use crate::plan::Plan;
use crate::sizing;

/// Growth up to this share of the reserve is let be. Pages are loaded to four fifths and settle at about two thirds, so a
/// balanced database still becomes almost a fifth larger: with a reserve of 25 %, 1.04 × 1.19 stays below 1.25.
const SHARE_PERCENT: u64 = 16;

/// Whether databases have grown as far as they may.
pub(crate) struct Reserve {
    /// The size of each database that its reserve counts from.
    base: Vec<ByteSize>,
    balanced: bool,
}

/// When the first database will have grown as far as it may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Bytes that each database grows by in an hour.
    per_hour: ByteSize,
    /// From now on; nothing when it does not grow.
    pub(crate) arrival: Option<Span>,
}

impl Reserve {
    pub(crate) fn new(plan: &Plan, sizes: &[ByteSize]) -> Self {
        // What is larger than the scenario says has used up some of its reserve in earlier tests.
        let wanted = plan.databases().map(|database| database.size);
        let base = sizes.iter().zip(wanted);
        Self {
            base: base.map(|(size, wanted)| wanted.min(*size)).collect(),
            balanced: false,
        }
    }

    /// Where inserts and deletes balance, for each database.
    fn limits(&self, plan: &Plan) -> impl Iterator<Item = u64> {
        let percent = u128::from(plan.limits.reserve_percent) * u128::from(SHARE_PERCENT);
        self.base.iter().map(move |base| {
            let grown = u128::from(base.get()) * (10_000 + percent);
            u64::try_from(grown.div_euclid(10_000)).unwrap_or(u64::MAX)
        })
    }

    /// What so many operations a second will make of databases that have these sizes now.
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

    /// The first database that has grown as far as it may, once.
    pub(crate) fn reached(&mut self, sizes: &[ByteSize], plan: &Plan) -> Option<String> {
        let grown = |(limit, size): (u64, &ByteSize)| size.get() > limit;
        let at = self.limits(plan).zip(sizes).position(grown);
        let database = plan.databases().nth(at.filter(|_| !self.balanced)?)?;
        self.balanced = true;
        Some(format!(
            "{} has grown by {} %: from now on there are as many deletes as inserts",
            database.name,
            (u64::from(plan.limits.reserve_percent) * SHARE_PERCENT).div_euclid(100)
        ))
    }
}

impl Forecast {
    /// Whether it arrives before `duration` has passed.
    pub(crate) fn is_within(&self, duration: Span) -> bool {
        self.arrival.is_some_and(|arrival| arrival < duration)
    }

    /// For the test log.
    pub(crate) fn note(&self, duration: Span) -> String {
        let growth = format!("each database will grow by about {} an hour", self.per_hour);
        match self.arrival {
            None => "databases do not grow: there are as many deletes as inserts".to_owned(),
            Some(Span::ZERO) => format!(
                "{growth}, and have grown as far as they may already: inserts and deletes balance"
            ),
            Some(arrival) if self.is_within(duration) => format!(
                "{growth}; after {} they have grown as far as they may, and inserts and deletes balance",
                rough(arrival)
            ),
            Some(arrival) => format!(
                "{growth}; they have room for {} of it, and the test lasts {}",
                rough(arrival),
                rough(duration)
            ),
        }
    }

    /// Why the test is refused.
    pub(crate) fn refusal(&self, duration: Span) -> String {
        format!(
            "databases would have grown as far as they may after {} of {}; make them larger, lower the target, or set test.growth = \"balance\"",
            rough(self.arrival.unwrap_or_default()),
            rough(duration)
        )
    }
}

/// A length of time as people say it.
fn rough(span: Span) -> String {
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

    #[test]
    fn growth_is_foreseen_from_the_rate_and_the_mix() {
        let plan = plan();
        let sizes = vec![ByteSize::mib(4); 2];
        let reserve = Reserve::new(&plan, &sizes);
        let record = sizing::bytes_per_record(plan.engine.page, &plan.load.shape);
        // One operation in five adds a record; two databases share them; each may grow by 4 % of 4 MiB.
        let forecast = reserve.forecast(&plan, &sizes, 100.0);
        let expected = 0.04 * f64::from(4 << 20) / (100.0 * 0.2 * record / 2.0);
        let arrival = forecast.arrival.unwrap().as_seconds();
        assert!((arrival / expected - 1.0).abs() < 0.01, "{arrival} s");
        assert!(forecast.is_within(Span::seconds(60)));
        assert!(
            forecast
                .note(Span::seconds(60))
                .contains("inserts and deletes balance")
        );
        assert!(
            forecast
                .note(Span::seconds(1))
                .contains("they have room for")
        );
        let mut balanced = plan.clone();
        balanced.load.mix = Mix::new(30, 30, 5, 70).unwrap();
        assert_eq!(reserve.forecast(&balanced, &sizes, 100.0).arrival, None);
    }

    #[test]
    fn what_earlier_tests_have_used_is_used() {
        let plan = plan();
        let mut reserve = Reserve::new(&plan, &[ByteSize::mib(5), ByteSize::mib(4)]);
        let forecast = reserve.forecast(&plan, &[ByteSize::mib(5), ByteSize::mib(4)], 100.0);
        assert_eq!(forecast.arrival, Some(Span::ZERO));
        let note = reserve.reached(&[ByteSize::mib(5), ByteSize::mib(4)], &plan);
        assert!(note.unwrap().starts_with("DB1 has grown by 4 %"));
        assert_eq!(
            reserve.reached(&[ByteSize::mib(6); 2], &plan),
            None,
            "said once"
        );
    }
}
