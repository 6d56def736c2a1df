//! Links and processors: each serves one request at a time and records only when it will be free.
//!
//! That costs no events, and is exact for requests served in order of arrival. What still has to
//! pass another stage takes its place when it arrives at the first, and ends no sooner than it
//! could (`occupy_later`): a place in the time to come would keep the server from all that reaches
//! it before.

use brunt_units::{Span, Time};

/// A server that handles one request at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    free_at: Time,
    /// Total time spent serving, including work still to come.
    spent: Span,
}

impl Busy {
    /// Serves for `span`, starting at `from` or when it is free; returns the end.
    pub(crate) fn occupy(&mut self, from: Time, span: Span) -> Time {
        self.free_at = self.free_at.max(from) + span;
        self.spent += span;
        self.free_at
    }

    /// Serves for `span` what arrives now, at `arrived`, but can be served only from `from` on.
    pub(crate) fn occupy_later(&mut self, arrived: Time, from: Time, span: Span) -> Time {
        self.occupy(arrived, span).max(from + span)
    }

    /// Restarts measurement at `now`.
    pub(crate) fn forget(&mut self, now: Time) {
        self.spent = self.free_at - now;
    }

    /// Time spent serving up to `now`.
    pub(crate) fn spent(&self, now: Time) -> Span {
        self.spent - (self.free_at - now)
    }
}

/// Several identical servers; each request goes to the one that is free first.
#[derive(Clone, Debug)]
pub(crate) struct Pool(Vec<Busy>);

impl Pool {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Busy::default(); count.max(1)])
    }

    pub(crate) fn occupy(&mut self, from: Time, span: Span) -> Time {
        let first = self.0.iter_mut().min_by_key(|one| one.free_at);
        first.expect("there is at least one").occupy(from, span)
    }

    /// As [`Busy::occupy_later`].
    pub(crate) fn occupy_later(&mut self, arrived: Time, from: Time, span: Span) -> Time {
        self.occupy(arrived, span).max(from + span)
    }

    pub(crate) fn forget(&mut self, now: Time) {
        for one in &mut self.0 {
            one.forget(now);
        }
    }

    /// Time spent serving up to `now`, in seconds, as the mean of all.
    pub(crate) fn spent_s(&self, now: Time) -> f64 {
        let spent: f64 = self.0.iter().map(|one| one.spent(now).as_seconds()).sum();
        spent / self.0.len() as f64
    }

    /// The share of `elapsed` up to `now` spent serving, 0 to 1.
    pub(crate) fn utilisation(&self, now: Time, elapsed: Span) -> f64 {
        let spent: f64 = self.0.iter().map(|one| one.spent(now).as_seconds()).sum();
        if elapsed == Span::ZERO { 0.0 } else { spent / elapsed.as_seconds() / self.0.len() as f64 }
    }
}

/// The time to transfer `bytes` at `bytes_per_s`; zero means unlimited.
pub(crate) fn transfer(bytes: u64, bytes_per_s: u64) -> Span {
    const NANOS: u64 = 1_000_000_000;
    if bytes <= u64::MAX.div_euclid(NANOS) {
        return Span((bytes * NANOS).checked_div(bytes_per_s).unwrap_or(0));
    }
    let nanos = (u128::from(bytes) * u128::from(NANOS)).checked_div(u128::from(bytes_per_s));
    Span(nanos.map_or(0, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_is_in_turn_and_counted_as_it_passes() {
        let mut link = Busy::default();
        assert_eq!(link.occupy(Time(10), Span(5)), Time(15));
        assert_eq!(link.occupy(Time(12), Span(5)), Time(20));
        assert_eq!(link.occupy(Time(30), Span(5)), Time(35));
        assert_eq!(link.spent(Time(35)), Span(15));
        assert_eq!(link.spent(Time(32)), Span(12));
        let mut cores = Pool::new(2);
        let ends: Vec<u64> = (0..3).map(|_| cores.occupy(Time(0), Span(10)).0).collect();
        assert_eq!(ends, [10, 10, 20]);
        assert!((cores.utilisation(Time(20), Span(20)) - 0.75).abs() < 1e-9);
        assert_eq!(transfer(1_000_000, 400_000_000), Span::micros(2500));
    }
}
