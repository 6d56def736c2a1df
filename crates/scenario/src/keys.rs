//! Keys: each is declared once, with its kind, what it is without one, and what it means.
//!
//! ```text
//!   keys! { DRILL of Drill = "[drill]";
//!           /// The longest time without service.                    reading     DRILL.read(node, &mut drill)
//!           recovery_time: Span = [recovery_time], TIME, "15min";     writing     DRILL.write(&drill, out)
//!   }                                                                 typos       the names of DRILL
//!                                                                     documents   docs/keys.md, docs/scenario.schema.json
//! ```
//!
//! A key is bound to a place of what its table describes, which has its default before it is read.
//! A default that follows from keys before it is put there by a last expression.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;

use brunt_units::{ByteSize, Span};
use serde_json::{Value as Json, json};

use super::format::bare_word;
use super::kept::Keep;
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::tree::Node;

/// A key of a table, with values of type `T`.
pub(super) struct Key<T: 'static> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What it is without one, as TOML or in words; of one that has to be there, an example.
    pub(super) usual: &'static str,
    pub(super) is_needed: bool,
    /// Whether no value of it makes a test lighter; of keys of tests on real storage.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test asks"))]
    pub(super) is_neutral: bool,
    pub(super) kind: &'static dyn Kind<T>,
}

/// What values a key takes.
pub(super) trait Kind<T>: Sync {
    fn read(&self, node: &Node) -> Result<T, Refusal>;
    /// As TOML; nothing for a value that is written by leaving the key out.
    fn keep(&self, value: &T) -> Option<toml::Value>;
    /// For people.
    fn words(&self) -> String;
    /// For editors.
    fn schema(&self) -> Json;
}

/// A whole number in a range.
pub(super) struct Whole(pub(super) RangeInclusive<u64>);
/// One of these words.
pub(super) struct Word<T: 'static>(pub(super) &'static [(&'static str, T)]);
/// What a function reads: how it is kept, its values in words, and for editors.
pub(super) struct Own<T>(
    fn(&Node) -> Result<T, Refusal>,
    fn(&T) -> toml::Value,
    &'static str,
    fn() -> Json,
);
/// A value of another kind, or none.
pub(super) struct Maybe<K>(pub(super) K);
/// A value of another kind, and where it was written.
pub(super) struct At<K>(pub(super) K);

/// What `read` reads from a text or a number, with words for its values.
pub(super) const fn own<T: Keep>(
    read: fn(&Node) -> Result<T, Refusal>,
    words: &'static str,
) -> Own<T> {
    Own(read, T::keep, words, || json!({ "type": ["string", "integer"] }))
}

/// What `read` reads from a list.
pub(super) const fn list<T: Keep>(
    read: fn(&Node) -> Result<Vec<T>, Refusal>,
    words: &'static str,
) -> Own<Vec<T>> {
    Own(read, Vec::keep, words, || json!({ "type": "array" }))
}

/// A number that `read` takes.
pub(super) const fn number(
    read: fn(&Node) -> Result<f64, Refusal>,
    words: &'static str,
) -> Own<f64> {
    Own(read, f64::keep, words, || json!({ "type": "number" }))
}

/// A length of time that `read` takes.
pub(super) const fn time(
    read: fn(&Node) -> Result<Span, Refusal>,
    words: &'static str,
) -> Own<Span> {
    Own(read, Span::keep, words, times)
}

/// A size that `read` takes.
pub(super) const fn sized(
    read: fn(&Node) -> Result<ByteSize, Refusal>,
    words: &'static str,
) -> Own<ByteSize> {
    Own(read, ByteSize::keep, words, sizes)
}

/// The same as a small number of bytes.
pub(super) const fn small_size(
    read: fn(&Node) -> Result<u32, Refusal>,
    words: &'static str,
) -> Own<u32> {
    Own(read, |bytes| ByteSize::bytes((*bytes).into()).keep(), words, sizes)
}

/// A size with its unit.
pub(super) const SIZE: Own<ByteSize> = sized(section::size, "size");
/// The same as a number of bytes: a rate is written as the size that passes in a second.
pub(super) const BYTES: Own<u64> = Own(
    |node| Ok(section::size(node)?.get()),
    |bytes| ByteSize::bytes(*bytes).keep(),
    "size",
    sizes,
);
/// A length of time with its unit.
pub(super) const TIME: Own<Span> = time(section::span, "time");
/// The same, but not zero.
pub(super) const SOME_TIME: Own<Span> = time(section::some_time, "time above 0");
pub(super) const ABOVE_ZERO: Own<Span> = time(section::above_zero, "time above 0");
/// A length of time, also in microseconds.
pub(super) const COST: Own<Span> = time(section::short_span, "time");
pub(super) const SWITCH: Own<bool> =
    Own(section::switch, bool::keep, "`true`, `false`", || json!({ "type": "boolean" }));
pub(super) const TEXT: Own<String> = own(section::text, "text");
/// A name of ours, which folders are called after.
pub(super) const NAME: Own<String> = own(section::name, "name");
pub(super) const PATH: Own<std::path::PathBuf> = own(section::path, "path");
/// A rate per second.
pub(super) const RATE: Own<f64> = number(section::rate, "number above 0");
pub(super) const NOT_NEGATIVE: Own<f64> = number(section::not_negative, "number, 0 or more");
pub(super) const PERCENT: Whole = Whole(0..=100);
/// The largest number of TOML.
pub(super) const SEED: Whole = Whole(0..=i64::MAX.unsigned_abs());

const UNITS: &str = "^[0-9.]+ ?(B|[KMGT]i?B)$";
const TIMES: &str = "^([0-9.]+ ?(ns|us|ms|s|min|m|h|d) ?)+$";

fn times() -> Json {
    json!({ "type": "string", "pattern": TIMES })
}

fn sizes() -> Json {
    json!({ "anyOf": [{ "type": "string", "pattern": UNITS }, { "const": 0 }] })
}

impl<T: Copy + TryFrom<u64>> Kind<T> for Whole
where
    i64: TryFrom<T>,
{
    fn read(&self, node: &Node) -> Result<T, Refusal> {
        let number = section::integer(node, self.0.clone())?;
        Ok(T::try_from(number).unwrap_or_else(|_| unreachable!("ranges are those of types")))
    }
    fn keep(&self, value: &T) -> Option<toml::Value> {
        Some(i64::try_from(*value).unwrap_or(i64::MAX).into())
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
    fn keep(&self, value: &T) -> Option<toml::Value> {
        Some(bare_word(self.0, *value).into())
    }
    fn words(&self) -> String {
        let words = self.0.iter().map(|(word, _)| format!("`\"{word}\"`"));
        words.collect::<Vec<_>>().join(", ")
    }
    fn schema(&self) -> Json {
        json!({ "enum": self.0.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
    }
}

impl<T> Kind<T> for Own<T> {
    fn read(&self, node: &Node) -> Result<T, Refusal> {
        (self.0)(node)
    }
    fn keep(&self, value: &T) -> Option<toml::Value> {
        Some((self.1)(value))
    }
    fn words(&self) -> String {
        self.2.to_owned()
    }
    fn schema(&self) -> Json {
        (self.3)()
    }
}

impl<T, K: Kind<T>> Kind<Option<T>> for Maybe<K> {
    fn read(&self, node: &Node) -> Result<Option<T>, Refusal> {
        self.0.read(node).map(Some)
    }
    fn keep(&self, value: &Option<T>) -> Option<toml::Value> {
        value.as_ref().and_then(|value| self.0.keep(value))
    }
    fn words(&self) -> String {
        self.0.words()
    }
    fn schema(&self) -> Json {
        self.0.schema()
    }
}

impl<T, K: Kind<T>> Kind<Placed<T>> for At<K> {
    fn read(&self, node: &Node) -> Result<Placed<T>, Refusal> {
        Ok(Placed { value: self.0.read(node)?, place: node.place.clone() })
    }
    fn keep(&self, value: &Placed<T>) -> Option<toml::Value> {
        self.0.keep(&value.value)
    }
    fn words(&self) -> String {
        self.0.words()
    }
    fn schema(&self) -> Json {
        self.0.schema()
    }
}

/// A key without the type of its values.
pub(super) trait AnyKey: Sync {
    fn name(&self) -> &'static str;
    fn about(&self) -> &'static str;
    #[cfg(test)]
    fn is_neutral(&self) -> bool;
    /// Its row in a table for people.
    fn row(&self) -> String;
    fn schema(&self) -> Json;
}

impl<T> AnyKey for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about.trim()
    }
    #[cfg(test)]
    fn is_neutral(&self) -> bool {
        self.is_neutral
    }
    fn row(&self) -> String {
        let Self { name, about, usual, is_needed, kind, .. } = self;
        let usual = if *is_needed { "has to be there" } else { usual };
        format!("| `{name}` | {} | {usual} | {} |\n", kind.words(), about.trim())
    }
    fn schema(&self) -> Json {
        let mut schema = self.kind.schema();
        let usual = self.usual.replace('`', "");
        schema["description"] = match self.is_needed {
            true => format!("{} For example: {usual}.", self.about.trim()).into(),
            false => format!("{} Without it: {usual}.", self.about.trim()).into(),
        };
        schema
    }
}

/// A key that is bound to a place of `S`.
pub(super) struct Bound<S: 'static, T: 'static> {
    pub(super) get: fn(&S) -> T,
    pub(super) set: fn(&mut S, T),
    /// Puts the default there, if it follows from keys before it.
    pub(super) before: fn(&mut S),
    pub(super) key: Key<T>,
}

/// The same without the type of its values.
pub(super) trait Field<S>: Sync {
    fn key(&self) -> &dyn AnyKey;
    fn read(&self, section: &mut Section, into: &mut S);
    /// `name = value`, if it is not left out.
    fn write(&self, of: &S, out: &mut String);
}

impl<S, T> Field<S> for Bound<S, T> {
    fn key(&self) -> &dyn AnyKey {
        &self.key
    }
    fn read(&self, section: &mut Section, into: &mut S) {
        (self.before)(into);
        let Key { name, usual, kind, .. } = self.key;
        let read = |node: &Node| kind.read(node);
        let found = match self.key.is_needed {
            true => Some(section.need(name, usual, read)),
            false => section.read(name, read),
        };
        match found {
            Some(found) => (self.set)(into, found.value),
            None => section.note(name, kind.keep(&(self.get)(into))),
        }
    }
    fn write(&self, of: &S, out: &mut String) {
        if let Some(value) = self.key.kind.keep(&(self.get)(of)) {
            writeln!(out, "{} = {value}", self.key.name).expect("a string takes all");
        }
    }
}

/// A table, and what of `S` its keys are.
pub(super) struct Table<S: 'static> {
    pub(super) title: &'static str,
    pub(super) keys: Cow<'static, [&'static dyn Field<S>]>,
}

impl<S> Table<S> {
    /// The same without the keys `names`.
    pub(super) fn without(&self, names: &[&str]) -> Self {
        let keys = self.keys.iter().copied();
        let keys = keys.filter(|key| !names.contains(&key.key().name())).collect();
        Self { title: self.title, keys }
    }

    /// The same under another name.
    pub(super) fn titled(&self, title: &'static str) -> Self {
        Self { title, keys: self.keys.clone() }
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.key().name()).collect()
    }

    /// The table `node`, of which nothing has been read.
    pub(super) fn open(&self, node: Node) -> Section {
        Section::new(node, self.title, &self.names())
    }

    /// Reads the table `node` into what has every default, and returns what is left of it.
    pub(super) fn read(&self, node: Node, into: &mut S) -> Section {
        self.read_beside(node, &[], into)
    }

    /// The same of a table that has `more` keys, which stay in it.
    pub(super) fn read_beside(&self, node: Node, more: &[&str], into: &mut S) -> Section {
        let mut section = Section::new(node, self.title, &[&self.names(), more].concat());
        self.read_keys(&mut section, into);
        section
    }

    /// The same of a table that is known already.
    pub(super) fn read_keys(&self, section: &mut Section, into: &mut S) {
        self.keys.iter().for_each(|key| key.read(section, into));
    }

    /// Writes the table.
    pub(super) fn write(&self, of: &S, out: &mut String) {
        *out += &format!("\n{}\n", self.title);
        self.write_keys(of, out);
    }

    /// Writes its keys alone.
    pub(super) fn write_keys(&self, of: &S, out: &mut String) {
        self.keys.iter().for_each(|key| key.write(of, out));
    }
}

/// A table for documents, whatever it is bound to.
pub(super) trait Page: Sync {
    fn title(&self) -> &'static str;
    fn all(&self) -> Vec<&dyn AnyKey>;
}

impl<S> Page for Table<S> {
    fn title(&self) -> &'static str {
        self.title
    }
    fn all(&self) -> Vec<&dyn AnyKey> {
        self.keys.iter().map(|key| key.key()).collect()
    }
}

/// Declares the keys of a table: a line of what it means; name, type, its place, kind, and what it
/// is without one, or `needs` and an example; `is neutral`, if no value makes a test lighter. With
/// `struct`, it also declares what is read, with a
/// field for each key, and a value instead of the place.
macro_rules! keys {
    ($(#[$meta:meta])* $vis:vis struct $of:ident; $table:ident = $title:literal;
     $(#[doc = $about:literal] $name:ident: $type:ty = $value:expr, $kind:expr,
       $(needs $example:literal)? $($usual:literal)? $(is $neutral:ident)? $(, $before:expr)?;)+) => {
        $(#[$meta])*
        $vis struct $of { $($vis $name: $type,)+ }
        impl Default for $of {
            fn default() -> Self {
                Self { $($name: $value,)+ }
            }
        }
        $crate::keys::keys! {
            $table of $of = $title;
            $(#[doc = $about] $name: $type = [$name], $kind,
              $(needs $example)? $($usual)? $(is $neutral)? $(, $before)?;)+
        }
    };
    ($table:ident of $of:ty = $title:literal;
     $(#[doc = $about:literal] $name:ident: $type:ty = [$($place:tt)+], $kind:expr,
       $(needs $example:literal)? $($usual:literal)? $(is $neutral:ident)? $(, $before:expr)?;)+) => {
        pub(crate) static $table: $crate::keys::Table<$of> = $crate::keys::Table {
            title: $title,
            keys: std::borrow::Cow::Borrowed(&[$(&$crate::keys::Bound::<$of, $type> {
                get: $crate::keys::keys!(@get $of; $($place)+),
                set: $crate::keys::keys!(@set $of; $($place)+),
                before: $crate::keys::keys!(@before $($before)?),
                key: $crate::keys::Key {
                    name: stringify!($name),
                    about: $about,
                    usual: concat!($($example)? $($usual)?),
                    is_needed: $crate::keys::keys!(@is $($example)?),
                    is_neutral: $crate::keys::keys!(@is $($neutral)?),
                    kind: &$kind,
                },
            }),+]),
        };
    };
    (@get $of:ty; $($field:ident).+) => { |of: &$of| Clone::clone(&of.$($field).+) };
    (@get $of:ty; $get:expr, $set:expr) => { $get };
    (@set $of:ty; $($field:ident).+) => { |of: &mut $of, value| of.$($field).+ = value };
    (@set $of:ty; $get:expr, $set:expr) => { $set };
    (@before) => { |_| {} };
    (@before $before:expr) => { $before };
    (@is) => { false };
    (@is $word:tt) => { true };
}
pub(super) use keys;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_what_it_writes() {
        static WORD: Word<u32> = Word(&[("one", 1), ("two", 2)]);
        fn same<T: PartialEq + std::fmt::Debug>(kind: &'static dyn Kind<T>, value: T) {
            let text = format!("key = {}", kind.keep(&value).unwrap());
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
        same::<u32>(&Whole(0..=9), 9);
        same(&WORD, 2);
    }
}
