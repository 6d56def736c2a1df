//! Keys: each is declared once, with its kind, what it is without one, and what it means.
//!
//! ```text
//!   keys! { CACHE = "[array.cache]";
//!           /// room for dirty data                      reading     section.get(&WRITE, usual)
//!           WRITE: ByteSize = "write", SIZE, "512 MiB";  writing     WRITE.write(value, out)
//!   }                                                    typos       CACHE.names()
//!                                                        documents   docs/keys.md, docs/scenario.schema.json
//! ```
//!
//! What a key is without one may follow from other keys, so it is a value where it is read, and
//! words here.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;

use brunt_units::{ByteSize, Span};
use serde_json::{Value as Json, json};

use super::format::bare_word;
use super::kept::Keep;
use super::place::Refusal;
use super::section;
use super::tree::Node;

/// A key of a table, with values of type `T`.
pub(super) struct Key<T: 'static> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What it is without one, as TOML or in words.
    pub(super) usual: &'static str,
    pub(super) kind: &'static dyn Kind<T>,
}

impl<T> Key<T> {
    /// Writes `name = value`.
    pub(super) fn write(&self, value: &T, out: &mut String) -> fmt::Result {
        writeln!(out, "{} = {}", self.name, self.kind.keep(value))
    }
}

/// What values a key takes.
pub(super) trait Kind<T>: Sync {
    fn read(&self, node: &Node) -> Result<T, Refusal>;
    fn keep(&self, value: &T) -> toml::Value;
    /// For people.
    fn words(&self) -> String;
    /// For editors.
    fn schema(&self) -> Json;
}

/// A whole number in a range.
pub(super) struct Whole(pub(super) RangeInclusive<u64>);
/// One of these words.
pub(super) struct Word<T: 'static>(pub(super) &'static [(&'static str, T)]);
/// What a function reads: its values in words, and for editors.
pub(super) struct Own<T>(fn(&Node) -> Result<T, Refusal>, &'static str, fn() -> Json);

/// What `read` reads from a text or a number, with words for its values.
pub(super) const fn own<T>(read: fn(&Node) -> Result<T, Refusal>, words: &'static str) -> Own<T> {
    Own(read, words, || json!({ "type": ["string", "integer"] }))
}

/// A size with its unit.
pub(super) const SIZE: Own<ByteSize> = Own(
    section::size,
    "size",
    || json!({ "anyOf": [{ "type": "string", "pattern": UNITS }, { "const": 0 }] }),
);
/// A length of time with its unit.
pub(super) const TIME: Own<Span> = Own(section::span, "time", times);
/// The same, also in microseconds.
pub(super) const COST: Own<Span> = Own(section::short_span, "time", times);
pub(super) const SWITCH: Own<bool> =
    Own(section::switch, "`true`, `false`", || json!({ "type": "boolean" }));

const UNITS: &str = "^[0-9.]+ ?(B|[KMGT]i?B)$";
const TIMES: &str = "^([0-9.]+ ?(ns|us|ms|s|min|m|h|d) ?)+$";

fn times() -> Json {
    json!({ "type": "string", "pattern": TIMES })
}

impl Kind<u32> for Whole {
    fn read(&self, node: &Node) -> Result<u32, Refusal> {
        let number = section::integer(node, self.0.clone())?;
        Ok(u32::try_from(number).expect("ranges end below 2^32"))
    }
    fn keep(&self, value: &u32) -> toml::Value {
        value.keep()
    }
    fn words(&self) -> String {
        format!("{} to {}", self.0.start(), self.0.end())
    }
    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": self.0.start(), "maximum": self.0.end() })
    }
}

impl<T: Copy + PartialEq + Sync> Kind<T> for Word<T> {
    fn read(&self, node: &Node) -> Result<T, Refusal> {
        section::choice(node, self.0)
    }
    fn keep(&self, value: &T) -> toml::Value {
        bare_word(self.0, *value).into()
    }
    fn words(&self) -> String {
        let words = self.0.iter().map(|(word, _)| format!("`\"{word}\"`"));
        words.collect::<Vec<_>>().join(", ")
    }
    fn schema(&self) -> Json {
        json!({ "enum": self.0.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
    }
}

impl<T: Keep> Kind<T> for Own<T> {
    fn read(&self, node: &Node) -> Result<T, Refusal> {
        (self.0)(node)
    }
    fn keep(&self, value: &T) -> toml::Value {
        value.keep()
    }
    fn words(&self) -> String {
        self.1.to_owned()
    }
    fn schema(&self) -> Json {
        (self.2)()
    }
}

/// A key without the type of its values.
pub(super) trait AnyKey: Sync {
    fn name(&self) -> &'static str;
    /// Its row in a table for people.
    fn row(&self) -> String;
    fn schema(&self) -> Json;
}

impl<T> AnyKey for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn row(&self) -> String {
        let Self { name, about, usual, kind } = self;
        format!("| `{name}` | {} | {usual} | {} |\n", kind.words(), about.trim())
    }
    fn schema(&self) -> Json {
        let mut schema = self.kind.schema();
        let usual = self.usual.replace('`', "");
        schema["description"] = format!("{} Without it: {usual}.", self.about.trim()).into();
        schema
    }
}

/// A table and its keys.
pub(super) struct Table {
    /// As it is written, with its brackets.
    pub(super) title: &'static str,
    pub(super) keys: &'static [&'static dyn AnyKey],
}

impl Table {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name()).collect()
    }
}

/// Declares the keys of a table: a line of what it means; name, kind, and what it is without one.
macro_rules! keys {
    ($table:ident = $title:literal;
     $(#[doc = $about:literal] $key:ident: $type:ty = $name:literal, $kind:expr, $usual:literal;)+) => {
        $(#[doc = $about]
        static $key: $crate::keys::Key<$type> =
            $crate::keys::Key { name: $name, about: $about, usual: $usual, kind: &$kind };)+
        pub(crate) static $table: $crate::keys::Table =
            $crate::keys::Table { title: $title, keys: &[$(&$key),+] };
    };
}
pub(super) use keys;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_what_it_writes() {
        static WORD: Word<u32> = Word(&[("one", 1), ("two", 2)]);
        fn same<T: PartialEq + std::fmt::Debug>(kind: &'static dyn Kind<T>, value: T) {
            let key = Key { name: "key", about: "", usual: "", kind };
            let mut text = String::new();
            key.write(&value, &mut text).unwrap();
            let root = super::super::tree::parse("t", &text).unwrap();
            assert_eq!(kind.read(&root.entries()[0].1).unwrap(), value, "{text}");
        }
        for bytes in [0, 1, 512, 64 << 10, 118_000_000, 2_500_000_000, (1 << 40) + 1] {
            same(&SIZE, ByteSize::bytes(bytes));
        }
        for nanos in [0, 1, 999, 80_000, 25_000, 1_125_000, 500_000_000, 7_200_000_000_000] {
            same(&TIME, Span::nanos(nanos));
            same(&COST, Span::nanos(nanos));
        }
        same(&SWITCH, true);
        same(&Whole(0..=9), 9);
        same(&WORD, 2);
    }
}
