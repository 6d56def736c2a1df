//! The storage of a scenario as TOML again, with what the command line replaced.
//!
//! Files that it names are written with their whole path, so that the text can lie in another folder.

use std::path::Path;

use super::super::section::Section;
use super::super::tree::{Node, Value};

/// The text of everything in `storage`.
pub(super) fn storage(storage: &Section, folder: &Path) -> String {
    let mut table = toml::Table::new();
    for (key, node) in storage.entries() {
        table.insert(key.clone(), value(key, node, folder));
    }
    toml::to_string(&table).expect("it was TOML before")
}

/// `key` is the name that the value has in its table: files are told by it.
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
        Value::Table(entries) => toml::Value::Table(
            entries
                .iter()
                .map(|(key, node)| (key.clone(), value(key, node, folder)))
                .collect(),
        ),
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
