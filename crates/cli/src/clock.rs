//! The clock on the wall: when something begins, and when it ends.

use std::time::SystemTime;

use brunt_report::Timestamp;
use brunt_units::Span;

/// This second.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// The time of day `later` than `now`, to the next minute; with the day where that is another one.
pub(crate) fn time_of_day(now: Timestamp, later: Span) -> String {
    let end = now.unix_seconds.saturating_add(later.0.div_ceil(1_000_000_000));
    let end = Timestamp { unix_seconds: end.div_ceil(60).saturating_mul(60) };
    let [now, end] = [now, end].map(Timestamp::for_people);
    // `2026-11-21 18:15:03 UTC`, without the seconds.
    let (day, time) = (&end[..10], &end[11..16]);
    match now.starts_with(day) {
        true => format!("{time} UTC"),
        false => format!("{day} {time} UTC"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_of_day() {
        // 2027-01-15 08:00:00
        let now = Timestamp { unix_seconds: 1_800_000_000 };
        assert_eq!(time_of_day(now, Span::seconds(8_390)), "10:20 UTC");
        assert_eq!(time_of_day(now, Span::seconds(60_000)), "2027-01-16 00:40 UTC");
    }
}
