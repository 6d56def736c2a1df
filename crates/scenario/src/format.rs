//! Values as TOML writes them.

use std::path::Path;

use brunt_units::{ByteSize, Span};

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

pub(super) fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A size that reads back exactly: what its usual form would round is written in smaller units.
pub(super) fn size_text(bytes: ByteSize) -> String {
    let millions = format!("{} MB", bytes.get().div_euclid(1_000_000));
    let exact = [bytes.to_string(), millions].into_iter().find(|text| text.parse() == Ok(bytes));
    exact.unwrap_or_else(|| format!("{} B", bytes.get()))
}

pub(super) fn size(bytes: ByteSize) -> String {
    quoted(&size_text(bytes))
}

pub(super) fn span(span: Span) -> String {
    quoted(&span_text(span))
}

/// A length of time in the largest unit that reads back exactly.
pub(super) fn span_text(span: Span) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let mut texts = units.iter().map(|(ns, unit)| format!("{}{unit}", span.0.div_euclid(*ns)));
    texts.find(|text| text.parse() == Ok(span)).unwrap_or_else(|| format!("{}ns", span.0))
}

/// The word for `value` in `choices`, which has one for each.
pub(super) fn word<T: Copy + PartialEq>(choices: &[(&'static str, T)], value: T) -> String {
    quoted(bare_word(choices, value))
}

/// The same without quotes.
pub(super) fn bare_word<'c, T: Copy + PartialEq>(choices: &[(&'c str, T)], value: T) -> &'c str {
    let found = choices.iter().find(|(_, choice)| *choice == value);
    found.expect("every choice has a word").0
}
