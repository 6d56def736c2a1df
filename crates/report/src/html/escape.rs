//! Escapes text that a user wrote.

use minijinja::value::Value;
use minijinja::{Error, Output, State, escape_formatter};

use crate::escaped as shown;

/// `text` with the five special characters of HTML escaped, and control characters except tab and
/// line feed written out.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in shown(text, |c| matches!(c, '\n' | '\t')).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// `text` as one part of an address.
pub fn in_address(text: &str) -> String {
    let of = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(of).collect()
}

/// Escapes values in templates. The default of minijinja also escapes slashes, and scripts would
/// not find `I/O`.
pub(super) fn formatter(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&escape(text))?),
        _ => escape_formatter(out, state, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_meaning_is_written_out() {
        assert_eq!(
            escape("I/O <a href=\"x\">'&'"),
            "I/O &lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;"
        );
        assert_eq!(escape("a\n\u{1b}[2J"), "a\n\\u{1b}[2J");
    }
}
