//! Values as TOML writes them.

use std::path::Path;

use brunt_units::{ByteSize, Span};

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

pub(super) fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A size that reads back exactly: what its usual form would round is written in bytes.
pub(super) fn size(bytes: ByteSize) -> String {
    let usual = bytes.to_string();
    let exact = usual.parse() == Ok(bytes);
    quoted(&if exact { usual } else { format!("{} B", bytes.get()) })
}

pub(super) fn span(span: Span) -> String {
    let (seconds, millis) = (span.0.div_euclid(1_000_000_000), span.0.div_euclid(1_000_000));
    if Span::seconds(seconds) == span {
        format!("\"{seconds}s\"")
    } else if Span::millis(millis) == span {
        format!("\"{millis}ms\"")
    } else {
        format!("\"{}ns\"", span.0)
    }
}

/// The word for `value` in `choices`, which has one for each.
pub(super) fn word<T: Copy + PartialEq>(choices: &[(&'static str, T)], value: T) -> String {
    let found = choices.iter().find(|(_, choice)| *choice == value);
    quoted(found.expect("every choice has a word").0)
}
