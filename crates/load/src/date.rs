//! The dates of INTERNALDATE: `26-Nov-2026 10:00:00 +0000` (RFC 3501, `date-time`).

/// Unix seconds of such a date, from 1970 on.
pub(crate) fn internal(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let mut words = text.trim().split(' ').filter(|word| !word.is_empty());
    let mut date = words.next()?.split('-');
    let day: i64 = date.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = date.next()?.to_ascii_lowercase();
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == month)?.0;
    let year: i64 = date.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let zone = words.next()?;
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let zone: i64 = zone.get(1..)?.parse().ok().filter(|zone| (0..10_000).contains(zone))?;
    let offset = sign * (zone.div_euclid(100) * 3600 + zone.rem_euclid(100) * 60);
    let at = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    u64::try_from(at).ok().filter(|_| is_time)
}

/// Days from 1970-01-01. Source: H. Hinnant, *chrono-compatible low-level date algorithms*.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9).rem_euclid(12)) + 2).div_euclid(5) + day - 1;
    let of_era = of_era * 365 + of_era.div_euclid(4) - of_era.div_euclid(100) + of_year;
    era * 146_097 + of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_servers_are_read() {
        for (text, at) in [
            ("01-Jan-1970 00:00:00 +0000", Some(0)),
            (" 1-Jan-1970 01:00:00 +0100", Some(0)),
            ("26-Nov-2026 10:00:00 +0000", Some(1_795_687_200)),
            ("29-Feb-2024 23:59:59 -0330", Some(1_709_263_799)),
            ("31-Dec-1969 23:59:59 +0000", None),
            ("1-Jan-1970 00:00:00 +0100", None),
            ("26-Foo-2026 10:00:00 +0000", None),
            ("26-Nov-2026 24:00:00 +0000", None),
            ("26-Nov-2026 10:00:00", None),
            ("26-Nov-2026 10:00:00 \u{e4}", None),
            ("", None),
        ] {
            assert_eq!(internal(text), at, "{text}");
        }
    }
}
