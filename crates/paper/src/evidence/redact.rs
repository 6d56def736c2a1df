//! Replaces names of hosts and serial numbers: `server1`, `serial1`.
//!
//! They are known from the results. A name is changed where neither a letter nor a digit touches it, so `hail` also in `hail--vg-root`
//! and in `hail-2`. Which texts are changed:
//!
//! ```text
//!   result.json      texts, not keys
//!   scenario.toml    strings and comments, not keys
//!   events.log       all
//!   counters.csv     names of streams, so that they are those of the result
//!   latency.hlog     likewise
//! ```
//!
//! Words that the formats give a meaning are never changed.

use std::collections::BTreeMap;

use brunt_report::result::World;
use brunt_report::{ReadError, streams};
use serde_json::Value;

use super::{Evidence, File};

/// Fields of a result whose texts are not of a user.
const KEPT: [&str; 14] = [
    "phase",
    "io",
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

/// Keys of a scenario whose texts are likewise words.
const KEPT_IN_SCENARIO: [&str; 2] = ["kind", "version"];

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
    let names = with_forms(names);
    for file in evidence.runs.iter_mut().flat_map(|run| &mut run.files) {
        change(file, &names);
    }
    evidence.redacted = true;
    Ok(())
}

/// `names` with their forms in other places: the device mapper doubles hyphens, and streams have no spaces.
fn with_forms(mut names: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for (name, other) in names.clone() {
        for form in [name.replace('-', "--"), streams::tag(&name)] {
            names.entry(form).or_insert_with(|| other.clone());
        }
    }
    names
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
        "scenario.toml" => in_scenario(&text, names),
        "events.log" => changed(&text, names),
        "counters.csv" => in_counters(&text, names),
        "latency.hlog" => in_latency_log(&text, names),
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

/// What stands in strings and comments changed, and all else as it is.
fn in_scenario(toml: &str, names: &BTreeMap<String, String>) -> String {
    let mut scenario = String::with_capacity(toml.len());
    let mut rest = toml;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        let (bare, text) = rest.split_at(at);
        let (text, after) = text.split_at(length_of_text(text));
        let key = bare
            .rsplit('\n')
            .next()
            .and_then(|line| line.trim_end().strip_suffix('='));
        scenario.push_str(bare);
        scenario.push_str(&match key {
            Some(key) if KEPT_IN_SCENARIO.contains(&key.trim()) => text.to_owned(),
            _ => changed_toml(text, names),
        });
        rest = after;
    }
    scenario + rest
}

/// The bytes of the string or comment at the beginning of `toml`; without an end it is all.
fn length_of_text(toml: &str) -> usize {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let Some(quotes) = quotes.into_iter().find(|quotes| toml.starts_with(quotes)) else {
        return toml.find('\n').unwrap_or(toml.len());
    };
    let is_basic = quotes.starts_with('"');
    let mut at = quotes.len();
    while let Some(first) = toml[at..].chars().next() {
        if toml[at..].starts_with(quotes) {
            at += quotes.len();
            // Two more quotes may belong to a long string.
            let more = toml[at..]
                .chars()
                .take_while(|c| quotes.len() == 3 && quotes.starts_with(*c));
            return at + more.count();
        }
        at += first.len_utf8();
        if is_basic && first == '\\' {
            at += toml[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    toml.len()
}

/// A string of TOML, or a comment, with its text changed.
fn changed_toml(text: &str, names: &BTreeMap<String, String>) -> String {
    let table = format!("text = {text}").parse::<toml::Table>();
    let Some(meant) = table
        .ok()
        .and_then(|table| Some(table["text"].as_str()?.to_owned()))
    else {
        return changed(text, names);
    };
    match changed(&meant, names) {
        same if same == meant => text.to_owned(),
        other => toml::Value::String(other).to_string(),
    }
}

fn in_counters(table: &str, names: &BTreeMap<String, String>) -> String {
    let head = table.lines().next().unwrap_or_default();
    let Some(column) = head.split(',').position(|name| name == "stream") else {
        return table.to_owned();
    };
    let lines = table.split_inclusive('\n').map(|line| {
        let mut is_quoted = false;
        let fields = line.split(|c| {
            is_quoted ^= c == '"';
            c == ',' && !is_quoted
        });
        let fields = fields.enumerate().map(|(at, field)| match at == column {
            true => changed_stream(field, names),
            false => field.to_owned(),
        });
        fields.collect::<Vec<_>>().join(",")
    });
    lines.collect()
}

fn in_latency_log(log: &str, names: &BTreeMap<String, String>) -> String {
    const TAG: &str = "Tag=";
    let lines = log.split_inclusive('\n').map(|line| {
        let stream = line.strip_prefix(TAG).and_then(|line| line.split_once(','));
        stream.map_or_else(
            || line.to_owned(),
            |(stream, rest)| format!("{TAG}{},{rest}", changed_stream(stream, names)),
        )
    });
    lines.collect()
}

/// The name of a stream changed as the result is: `hail.read` follows its database `hail`. Its kind stays, and so do streams of a whole
/// server.
fn changed_stream(stream: &str, names: &BTreeMap<String, String>) -> String {
    if let Some(counter) = stream.strip_prefix(streams::HOST) {
        return format!("{}{}", streams::HOST, changed(counter, names));
    }
    match stream.rsplit_once('.') {
        Some((name, kind)) => format!("{}.{kind}", changed(name, names)),
        None => stream.to_owned(),
    }
}

/// `text` with every name that stands alone replaced; the longest name counts.
fn changed(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let begins = !before.is_some_and(char::is_alphanumeric);
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

/// Whether a name goes on with `rest`. A domain that follows goes with it only when it is part of the name itself.
fn continues(rest: &str) -> bool {
    rest.starts_with(char::is_alphanumeric)
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
    }

    #[test]
    fn a_logical_volume_is_called_after_its_host() {
        let both = |text| changed(text, &with_forms(names()));
        assert_eq!(both("hail--vg-root (LVM2)"), "server1--vg-root (LVM2)");
        assert_eq!(
            both("/dev/mapper/hail--2--vg-root"),
            "/dev/mapper/server2--vg-root"
        );
        assert_eq!(
            both("nvme-X_S3/x-part1 vg_hail"),
            "nvme-X_serial1-part1 vg_server1"
        );
    }

    #[test]
    fn every_string_and_comment_of_a_scenario_is_changed() {
        for (toml, wanted) in [
            (
                "hail = \"hail\"\nx = ['a hail']",
                "hail = \"server1\"\nx = [\"a server1\"]",
            ),
            (
                "a = '19\" rack'\nb = \"hail\"",
                "a = '19\" rack'\nb = \"server1\"",
            ),
            (
                "a = \"19\\\" rack\"\nb = \"hail\"",
                "a = \"19\\\" rack\"\nb = \"server1\"",
            ),
            (
                "a = 1 # hail's\nb = 'C:\\'\nhail = 'hail'",
                "a = 1 # server1's\nb = 'C:\\'\nhail = \"server1\"",
            ),
            (
                "a = \"\"\"\"19\" x\"\"\"\"\nhail = ''''hail''''",
                "a = \"\"\"\"19\" x\"\"\"\"\nhail = \"'server1'\"",
            ),
            ("a = \"\\thail\"", "a = \"\\tserver1\""),
            ("a = \"hail", "a = \"server1"),
            ("version = \"hail-2013\"", "version = \"hail-2013\""),
        ] {
            assert_eq!(in_scenario(toml, &names()), wanted);
        }
    }

    #[test]
    fn streams_are_called_as_in_the_result() {
        let table = "begin_s,stream,count\n1,hail.log.read,2\n1,\"x,hail.hail\",2\n1,hail,2\n1,host: hail busy,2\n";
        assert_eq!(
            in_counters(table, &names()),
            "begin_s,stream,count\n1,server1.log.read,2\n1,\"x,server1.hail\",2\n1,hail,2\n1,host: server1 busy,2\n"
        );
        let log = "#[hail]\nTag=hail-2.read,1.0,HIST\nTag=hail,1.0,HIST\n";
        assert_eq!(
            in_latency_log(log, &names()),
            "#[hail]\nTag=server2.read,1.0,HIST\nTag=hail,1.0,HIST\n"
        );
    }
}
