//! What a table says once every default is filled in.
//!
//! ```text
//!   node -> section: get(STRIP, 64 KiB)               nobody wrote it
//!     |        |
//!     +- Kept <+                                      strip = "64 KiB"
//!     |
//!   whole: what was written, and what is kept         for the run folder
//! ```
//!
//! A node and the section that is read from it share what is kept. So whoever asks for a value says
//! what it is without one, and nothing else has to know: a default that changes later does not
//! change what a kept scenario means.

use std::sync::{Arc, Mutex, MutexGuard};

use brunt_units::{ByteSize, PageSize, Span};
use toml::Value;

use super::format;
use super::tree::{Node, Value as Written};

/// Values of a table that its reader filled in, or put in the place of what was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<Vec<(String, Entry)>>>);

#[derive(Clone, Debug)]
enum Entry {
    Value(Value),
    /// A table that was not written.
    Table(Kept),
}

impl Kept {
    /// `key` means `value`.
    pub(super) fn note(&self, key: &str, value: Value) {
        self.push(key, Entry::Value(value));
    }

    /// What is kept of a table `key` that was not written.
    pub(super) fn table(&self, key: &str) -> Self {
        let table = Self::default();
        self.push(key, Entry::Table(table.clone()));
        table
    }

    fn push(&self, key: &str, entry: Entry) {
        let mut entries = self.entries();
        entries.retain(|(own, _)| own != key);
        entries.push((key.to_owned(), entry));
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(String, Entry)>> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Puts everything into `table`.
    pub(super) fn fill(&self, table: &mut toml::Table) {
        for (key, entry) in &*self.entries() {
            let value = match entry {
                Entry::Value(value) => value.clone(),
                Entry::Table(kept) => {
                    let mut inner = toml::Table::new();
                    kept.fill(&mut inner);
                    inner.into()
                }
            };
            table.insert(key.clone(), value);
        }
    }
}

/// A table with these entries, and with what their readers have filled in by now.
pub(super) fn table(entries: &[(String, Node)]) -> toml::Table {
    entries.iter().map(|(key, node)| (key.clone(), value(node))).collect()
}

fn value(node: &Node) -> Value {
    match &node.value {
        Written::Text(text) => Value::String(text.clone()),
        Written::Integer(number) => Value::Integer(*number),
        Written::Float(number) => Value::Float(*number),
        Written::Switch(switch) => Value::Boolean(*switch),
        Written::List(nodes) => Value::Array(nodes.iter().map(value).collect()),
        Written::Table(entries) => {
            let mut table = table(entries);
            node.kept.fill(&mut table);
            table.into()
        }
        // No key takes a date, so a scenario with one is refused before its text is of use.
        Written::Date => Value::String(String::new()),
    }
}

/// A value that TOML can write.
pub(super) trait Keep {
    fn keep(&self) -> Value;
}

impl Keep for bool {
    fn keep(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl Keep for u64 {
    fn keep(&self) -> Value {
        Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl Keep for u32 {
    fn keep(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl Keep for f64 {
    fn keep(&self) -> Value {
        Value::Float(*self)
    }
}

impl Keep for String {
    fn keep(&self) -> Value {
        Value::String(self.clone())
    }
}

impl Keep for std::path::PathBuf {
    fn keep(&self) -> Value {
        Value::String(self.to_string_lossy().into_owned())
    }
}

impl<T: Keep> Keep for Vec<T> {
    fn keep(&self) -> Value {
        Value::Array(self.iter().map(T::keep).collect())
    }
}

impl Keep for ByteSize {
    fn keep(&self) -> Value {
        Value::String(format::size_text(*self))
    }
}

impl Keep for PageSize {
    fn keep(&self) -> Value {
        ByteSize::bytes(self.bytes_u64()).keep()
    }
}

impl Keep for Span {
    fn keep(&self) -> Value {
        Value::String(format::span_text(*self))
    }
}
