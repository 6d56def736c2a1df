//! Replaces names of hosts and serial numbers: `server1`, `serial1`.
//!
//! They are known from the results. In `result.json` texts are changed and keys are not; in the other files a name is changed where it
//! stands alone, between characters that do not belong to names. Words that the formats give a meaning are never changed.

use std::collections::BTreeMap;

use brunt_report::ReadError;
use brunt_report::result::World;
use serde_json::Value;

use super::{Evidence, File};

/// Fields of a result whose texts are not of a user.
const KEPT: [&str; 12] = [
    "schema",
    "world",
    "verdict",
    "group",
    "title",
    "direction",
    "unit",
    "outcome",
    "id",
    "test",
    "profile",
    "run_id",
];

pub(super) fn redact(evidence: &mut Evidence) -> Result<(), ReadError> {
    let mut names = BTreeMap::new();
    for files in &evidence.runs {
        let run = files.run()?;
        let is_real = run.result.world == World::Real;
        // A modelled server without a name of its own has that of the scenario.
        let is_named = |name: &str| is_real || name != run.result.scenario;
        let servers = run.result.storage.servers.iter();
        for server in servers.filter(|server| is_named(&server.name)) {
            let machine = &server.details.machine;
            let known = names.len() + 1;
            names
                .entry(server.name.clone())
                .or_insert_with(|| format!("server{known}"));
            let own = names[&server.name].clone();
            names.entry(machine.name.clone()).or_insert(own);
        }
    }
    let mut serials = BTreeMap::new();
    for files in &evidence.runs {
        let run = files.run()?;
        let servers = run.result.storage.servers.iter();
        let volumes = servers.flat_map(|server| &server.details.backend.volumes);
        let devices = volumes.flat_map(|volume| &volume.stack);
        for serial in devices.filter_map(|device| device.serial.clone()) {
            let known = serials.len() + 1;
            serials
                .entry(serial)
                .or_insert_with(|| format!("serial{known}"));
        }
    }
    names.extend(serials);
    names.remove("");
    for file in evidence.runs.iter_mut().flat_map(|run| &mut run.files) {
        change(file, &names);
    }
    evidence.redacted = true;
    Ok(())
}

fn change(file: &mut File, names: &BTreeMap<String, String>) {
    let text = String::from_utf8_lossy(&file.bytes);
    let changed = match file.name {
        "result.json" => match serde_json::from_str::<Value>(&text) {
            Ok(mut value) => {
                change_value(&mut value, names);
                let text = serde_json::to_string_pretty(&value);
                text.expect("it was JSON before") + "\n"
            }
            Err(_) => changed(&text, names),
        },
        // Its keys are words, so only what is quoted is changed.
        "scenario.toml" => in_quotes(&text, names),
        "events.log" => changed(&text, names),
        _ => return,
    };
    file.bytes = changed.into_bytes();
}

fn change_value(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => *text = changed(text, names),
        Value::Array(values) => values.iter_mut().for_each(|v| change_value(v, names)),
        Value::Object(fields) => {
            let fields = fields.iter_mut();
            fields
                .filter(|(key, _)| !KEPT.contains(&key.as_str()))
                .for_each(|(_, value)| change_value(value, names));
        }
        _ => {}
    }
}

/// What stands between quotes changed, and all else as it is.
fn in_quotes(text: &str, names: &BTreeMap<String, String>) -> String {
    let pieces = text.split_inclusive('"').enumerate();
    let pieces = pieces.map(|(at, piece)| match at.is_multiple_of(2) {
        true => piece.to_owned(),
        false => changed(piece, names),
    });
    pieces.collect()
}

/// `text` with every name that stands alone replaced; the longest name counts.
fn changed(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let begins = !before.is_some_and(is_of_name);
        let found = names.iter().filter(|(name, _)| {
            begins && rest.starts_with(name.as_str()) && !continues(&rest[name.len()..])
        });
        let (length, last) = match found.max_by_key(|(name, _)| name.len()) {
            Some((name, other)) => {
                changed.push_str(other);
                (name.len(), name.chars().last())
            }
            None => {
                changed.push(first);
                (first.len_utf8(), Some(first))
            }
        };
        rest = &rest[length..];
        before = last;
    }
    changed
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// Whether a name goes on with `rest`. A domain that follows goes with it only when it is part of the name itself.
fn continues(rest: &str) -> bool {
    rest.chars().next().is_some_and(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> BTreeMap<String, String> {
        let names = [
            ("hail", "server1"),
            ("hail-2", "server2"),
            ("S3/x", "serial1"),
        ];
        names.map(|(a, b)| (a.to_owned(), b.to_owned())).into()
    }

    #[test]
    fn a_name_is_replaced_where_it_stands_alone() {
        let text = "hail: on hail-2 and hailstone, whail; S3/x, \"hail\"";
        assert_eq!(
            changed(text, &names()),
            "server1: on server2 and hailstone, whail; serial1, \"server1\""
        );
    }

    #[test]
    fn words_of_the_format_stay() {
        let mut value = serde_json::json!({"hail": "hail", "unit": "hail", "remark": ["of hail"]});
        change_value(&mut value, &names());
        let wanted =
            serde_json::json!({"hail": "server1", "unit": "hail", "remark": ["of server1"]});
        assert_eq!(value, wanted);
        assert_eq!(
            in_quotes("hail = \"hail\"\nx = [\"a hail\"]", &names()),
            "hail = \"server1\"\nx = [\"a server1\"]"
        );
    }
}
