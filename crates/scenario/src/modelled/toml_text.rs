//! The storage of a scenario as TOML again, with what the command line replaced.
//!
//! Files that it names are written with their whole path, so that the text can lie in another
//! folder.

use std::path::Path;

use super::super::events::Entry;
use super::super::tree::{Node, Value};

/// `event` of an array, which is named where there are several.
pub(super) fn event(event: &Entry, array: Option<&String>) -> toml::Value {
    let (what, entries) = event.written();
    let mut table = toml::Table::new();
    table.insert("what".to_owned(), what.into());
    table.extend(array.map(|name| ("array".to_owned(), name.as_str().into())));
    // Events name no files.
    table.extend(self::table(entries, Path::new("")));
    table.into()
}

pub(in super::super) fn table(entries: &[(String, Node)], folder: &Path) -> toml::Table {
    let entries = entries.iter();
    entries.map(|(key, node)| (key.clone(), value(key, node, folder))).collect()
}

/// `key` is the name of the value in its table; it shows whether the value is a file.
fn value(key: &str, node: &Node, folder: &Path) -> toml::Value {
    match &node.value {
        Value::Text(text) if key == "file" => {
            toml::Value::String(folder.join(text).to_string_lossy().into_owned())
        }
        Value::Text(text) => toml::Value::String(text.clone()),
        Value::Integer(number) => toml::Value::Integer(*number),
        Value::Float(number) => toml::Value::Float(*number),
        Value::Switch(switch) => toml::Value::Boolean(*switch),
        Value::List(nodes) => {
            toml::Value::Array(nodes.iter().map(|node| value(key, node, folder)).collect())
        }
        Value::Table(entries) => toml::Value::Table(table(entries, folder)),
        // No key takes a date, so a scenario with one is refused before its text is of use.
        Value::Date => toml::Value::String(String::new()),
    }
}

/// What stands before the first table of `text`, and the rest.
pub(super) fn top_and_tables(text: &str) -> (&str, &str) {
    let first = text
        .lines()
        .take_while(|line| !line.starts_with('['))
        .map(|line| line.len() + 1)
        .sum::<usize>();
    text.split_at(first.min(text.len()))
}
