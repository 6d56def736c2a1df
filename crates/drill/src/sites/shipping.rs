//! What log shipping leaves at risk: the log that is not closed yet, and closed ones that have not
//! arrived.

use brunt_units::{ByteSize, Time};

use crate::AtRisk;

/// Where the logs of a source end, over time.
#[derive(Default)]
pub(super) struct Shipping {
    seen: Vec<(Time, Vec<u64>)>,
}

impl Shipping {
    /// Logs end at `ends`, in bytes from the beginning of their first files.
    pub(super) fn seen(&mut self, at: Time, ends: Vec<u64>) {
        self.seen.push((at, ends));
    }

    /// What is at risk where the destination has the logs up to `stored`, of `log_file` bytes each.
    ///
    /// The oldest write at risk is no older than the last look that found nothing beyond `stored`.
    pub(super) fn at_risk(&self, stored: &[u32], log_file: u64) -> AtRisk {
        let mut at_risk = AtRisk::default();
        for (stream, stored) in stored.iter().enumerate() {
            let has = u64::from(*stored) * log_file;
            let end = |(_, ends): &(Time, Vec<u64>)| ends.get(stream).copied().unwrap_or(0);
            let bytes = self.seen.last().map_or(0, end).saturating_sub(has);
            let safe = self.seen.iter().rev().find(|one| end(one) <= has);
            let since = safe.map_or(Time::ZERO, |(at, _)| *at);
            at_risk.bytes = ByteSize::bytes(at_risk.bytes.get() + bytes);
            at_risk.since = Some(at_risk.since.map_or(since, |first: Time| first.min(since)));
        }
        at_risk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_last_log_that_arrived_is_at_risk() {
        let mut shipping = Shipping::default();
        for (at, ends) in [(1, [900, 100]), (2, [1_000, 200]), (3, [1_300, 300]), (4, [2_500, 400])]
        {
            shipping.seen(Time(at), ends.into());
        }
        let at_risk = shipping.at_risk(&[1, 0], 1_000);
        assert_eq!((at_risk.bytes.get(), at_risk.since), (1_500 + 400, Some(Time::ZERO)));
        let at_risk = shipping.at_risk(&[1, 1], 1_000);
        assert_eq!((at_risk.bytes.get(), at_risk.since), (1_500, Some(Time(2))));
    }
}
