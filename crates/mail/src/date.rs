//! Dates of messages: RFC 5322, in whole seconds of Unix time.

use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use jiff::tz::TimeZone;

/// `seconds` as the value of a Date header; 1970 when out of the calendar's range.
pub fn written(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(0);
    let at = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let printer = DateTimePrinter::new();
    printer.zoned_to_string(&at.to_zoned(TimeZone::UTC)).unwrap_or_default()
}

/// Seconds of a date that a server wrote, with whatever comments; `None` when it is none.
pub fn read(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let parser = DateTimeParser::new().relaxed_weekday(true);
    u64::try_from(parser.parse_timestamp(text).ok()?.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_four_servers_are_read() {
        let at = 1_795_751_195;
        for text in [
            "Fri, 27 Nov 2026 03:46:35 +0000 (UTC)",
            "Fri, 27 Nov 2026 04:46:35 +0100 (CET)",
            "27 Nov 2026 03:46:35 GMT",
            " Thu, 26 Nov 2026 22:46:35 -0500",
        ] {
            assert_eq!(read(text.as_bytes()), Some(at), "{text}");
        }
        for text in ["", "yesterday", "32 Nov 2026 03:46:35 +0000", "\u{ff}"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(written(at), "Fri, 27 Nov 2026 03:46:35 +0000");
        assert_eq!(read(written(u64::MAX).as_bytes()), Some(0));
    }
}
