//! How fast hosts write to the groups of a pair: what a link has to carry, and a write history log
//! to take.
//!
//! Bytes of writes as hosts ask for them, from the first [`WriteMeter::begin`]: without commands,
//! framing, or the blocks of full copies. Refused writes do not count. The busiest of equal samples
//! shows what a mean hides.

use brunt_units::Time;

use super::state::Replication;

/// The rate of writes, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteRate {
    /// Over the whole time.
    pub mean: f64,
    /// In the busiest sample; at least the mean.
    pub busiest: f64,
}

/// The rates of writes to all groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteRates {
    /// Of each group, in the design's order.
    pub groups: Vec<WriteRate>,
    /// Of all groups together, whose busiest samples need not be the same.
    pub all: WriteRate,
}

impl WriteRate {
    fn and(self, other: Self, share: f64) -> Self {
        Self {
            mean: share * self.mean + (1.0 - share) * other.mean,
            busiest: self.busiest.max(other.busiest),
        }
    }
}

impl WriteRates {
    /// Together with those of the same pair at another time; `share` of both times is this one's.
    #[must_use]
    pub fn and(&self, other: &Self, share: f64) -> Self {
        let groups = self.groups.iter().zip(&other.groups);
        Self {
            groups: groups.map(|(one, two)| one.and(*two, share)).collect(),
            all: self.all.and(other.all, share),
        }
    }
}

/// Measures [`WriteRates`].
#[derive(Clone, Debug)]
pub struct WriteMeter {
    /// When it began, and what each group had taken then.
    first: (Time, Vec<u64>),
    /// The same at the last sample.
    last: (Time, Vec<u64>),
    busiest: Vec<f64>,
    busiest_all: f64,
}

impl WriteMeter {
    /// Begins now.
    pub fn begin(pair: &Replication) -> Self {
        let first = Self::look(pair);
        Self { last: first.clone(), busiest: vec![0.0; first.1.len()], busiest_all: 0.0, first }
    }

    fn look(pair: &Replication) -> (Time, Vec<u64>) {
        (pair.now(), pair.taken_bytes().collect())
    }

    /// Ends a sample now.
    pub fn sample(&mut self, pair: &Replication) {
        let now = Self::look(pair);
        let (rates, all) = between(&self.last, &now);
        for (busiest, rate) in self.busiest.iter_mut().zip(rates) {
            *busiest = busiest.max(rate);
        }
        self.busiest_all = self.busiest_all.max(all);
        self.last = now;
    }

    /// What was measured until now.
    pub fn rates(&self, pair: &Replication) -> WriteRates {
        let (means, all) = between(&self.first, &Self::look(pair));
        let rate = |mean: f64, busiest: f64| WriteRate { mean, busiest: busiest.max(mean) };
        let groups = means.into_iter().zip(&self.busiest);
        WriteRates {
            groups: groups.map(|(mean, busiest)| rate(mean, *busiest)).collect(),
            all: rate(all, self.busiest_all),
        }
    }
}

/// Bytes per second of each group, and of all.
fn between(from: &(Time, Vec<u64>), to: &(Time, Vec<u64>)) -> (Vec<f64>, f64) {
    let seconds = (to.0 - from.0).as_seconds();
    if seconds == 0.0 {
        return (vec![0.0; to.1.len()], 0.0);
    }
    let bytes = from.1.iter().zip(&to.1);
    let rates: Vec<f64> = bytes.map(|(from, to)| (to - from) as f64 / seconds).collect();
    let all = rates.iter().sum();
    (rates, all)
}
