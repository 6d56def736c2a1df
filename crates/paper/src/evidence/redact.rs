//! Replaces what tells whose system it is: `server1`, `user1`, `address1`, `serial1`.
//!
//! | what | known from | replaced by |
//! | --- | --- | --- |
//! | the organisation | `[design]` of a prediction's scenario | `organisation1` |
//! | hosts | results: the name, its first label, and its domain by itself | `server1`, `domain1` |
//! | users | folders below `/home` and `/Users` | `user1` |
//! | IP and MAC addresses | their form; not those of the loopback | `address1` |
//! | serial numbers, and world wide names | results; their form: `0x`, `naa.` or `eui.` and 16 digits | `serial1` |
//! | other words | the user | `word1` |
//!
//! In any case, and where neither a letter nor a digit touches it, so `hail` also in `HAIL`,
//! `/srv/hail`, `hail--vg-root` and `hail-2`; words of the user anywhere. Which texts are changed:
//!
//! ```text
//!   result.json      texts, not keys
//!   scenario.toml    strings and comments, not keys; likewise solution.toml
//!   events.log       all
//!   counters.csv     names of streams, so that they are those of the result
//!   latency.hlog     likewise
//! ```
//!
//! Words that the formats give a meaning are never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use brunt_report::result::World;
use brunt_report::{ReadError, streams};
use brunt_scenario::Document;
use serde_json::Value;

use crate::margin;

use super::{Evidence, File, Redacted};

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

/// What is replaced by what.
#[derive(Clone, Debug, Default)]
struct Names {
    /// Where they stand alone.
    alone: BTreeMap<String, String>,
    anywhere: BTreeMap<String, String>,
}

impl Names {
    /// Has `name` replaced by `kind` and a number, unless it is known or nothing.
    fn add(&mut self, name: &str, kind: &str) {
        let known = self.alone.values().filter(|other| {
            let number = other.strip_prefix(kind).map(str::parse::<usize>);
            matches!(number, Some(Ok(_)))
        });
        let known: BTreeSet<&String> = known.collect();
        let other = format!("{kind}{}", known.len() + 1);
        self.add_as(name, &other);
    }

    fn add_as(&mut self, name: &str, other: &str) {
        let is_known = || self.alone.keys().any(|known| known.eq_ignore_ascii_case(name));
        if !name.is_empty() && !is_known() {
            self.alone.insert(name.to_owned(), other.to_owned());
        }
    }

    /// A host by its name in full, by its first label, and its domain.
    fn add_host(&mut self, name: &str, other: &str) {
        self.add_as(name, other);
        if name.parse::<Ipv4Addr>().is_ok() {
            return;
        }
        if let Some((label, domain)) = name.split_once('.') {
            self.add_as(label, other);
            if domain.contains('.') {
                self.add(domain, "domain");
            }
        }
    }

    /// Adds forms in other places: the device mapper doubles hyphens, and streams have no spaces.
    fn with_forms(mut self) -> Self {
        for (name, other) in self.alone.clone() {
            for form in [name.replace('-', "--"), streams::tag(&name)] {
                self.add_as(&form, &other);
            }
        }
        self
    }
}

pub(super) fn redact(evidence: &mut Evidence, words: &[String]) -> Result<Redacted, ReadError> {
    let mut names = Names::default();
    let mut runs = Vec::new();
    for files in evidence.runs.iter().filter(|files| !margin::is_search(files)) {
        runs.push(files.run()?.result);
    }
    let mut hosts = 0;
    for run in &runs {
        let is_real = run.world == World::Real;
        // A modelled server without a name of its own has that of the scenario.
        let is_named = |name: &str| is_real || name != run.scenario;
        let servers = run.storage.servers.iter();
        for server in servers.filter(|server| is_named(&server.name)) {
            let known = names.alone.get(&server.name).cloned();
            let own = known.unwrap_or_else(|| {
                hosts += 1;
                format!("server{hosts}")
            });
            names.add_host(&server.name, &own);
            names.add_host(&server.details.machine.name, &own);
        }
    }
    for run in &runs {
        let servers = run.storage.servers.iter();
        let volumes = servers.flat_map(|server| &server.details.backend.volumes);
        let devices = volumes.flat_map(|volume| &volume.stack);
        for serial in devices.filter_map(|device| device.serial.as_deref()) {
            names.add(serial, "serial");
        }
    }
    for organisation in organisations(evidence) {
        names.add(&organisation, "organisation");
    }
    for (number, word) in (1..).zip(words.iter().filter(|word| !word.is_empty())) {
        names.anywhere.insert(word.clone(), format!("word{number}"));
    }
    for text in texts(evidence) {
        found_in(&text, &mut names);
    }
    let names = names.with_forms();
    for file in evidence.runs.iter_mut().flat_map(|run| &mut run.files) {
        change(file, &names);
    }
    if let Some(solution) = &mut evidence.solution {
        *solution = in_scenario(solution, &names);
    }
    evidence.redacted = true;
    let stays = stays(evidence, &runs, &names);
    let replaced = names.alone.into_iter().chain(names.anywhere).collect();
    Ok(Redacted { replaced, stays })
}

/// The organisations whose designs were simulated. A name that every text may have, such as `mail`,
/// is none that could be found again.
fn organisations(evidence: &Evidence) -> Vec<String> {
    let scenarios = evidence.runs.iter().filter_map(|run| run.bytes("scenario.toml"));
    let names = scenarios.filter_map(|scenario| {
        let text = String::from_utf8_lossy(scenario);
        let document = Document::new("scenario.toml", &text, "/".as_ref()).ok()?;
        Some(document.design(&brunt_sizing::keys()).ok()??.name)
    });
    names.filter(|name| !USUAL.contains(&name.to_lowercase().as_str())).collect()
}

/// The files in which people write.
fn texts(evidence: &Evidence) -> Vec<String> {
    let files = evidence.runs.iter().flat_map(|run| &run.files);
    let files =
        files.filter(|file| ["result.json", "scenario.toml", "events.log"].contains(&file.name));
    let texts = files.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    texts.chain(evidence.solution.clone()).collect()
}

/// Adds users and addresses of `text`.
fn found_in(text: &str, names: &mut Names) {
    for home in ["/home/", "/Users/"] {
        for after in text.split(home).skip(1) {
            let end = after.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
            names.add(&after[..end.unwrap_or(after.len())], "user");
        }
    }
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".:-".contains(c)));
    for part in parts {
        let part = part.trim_matches(['.', ':', '-']);
        // An address is followed by a port.
        let host = part.split(':').next().unwrap_or_default();
        if is_address_4(host) {
            names.add(host, "address");
        } else if is_address_6(part) || is_hardware(part) {
            names.add(part, "address");
        } else if is_world_wide(part) {
            names.add(part, "serial");
        }
    }
}

fn is_address_4(part: &str) -> bool {
    let address = part.parse::<Ipv4Addr>();
    address.is_ok_and(|address| !address.is_loopback() && !address.is_unspecified())
}

fn is_address_6(part: &str) -> bool {
    let address = part.parse::<Ipv6Addr>();
    address.is_ok_and(|address| !address.is_loopback() && !address.is_unspecified())
}

/// `aa:bb:cc:dd:ee:ff`, also with hyphens.
fn is_hardware(part: &str) -> bool {
    let is_pair = |pair: &str| pair.len() == 2 && pair.chars().all(|c| c.is_ascii_hexdigit());
    [':', '-'].into_iter().any(|between| {
        let pairs = part.split(between);
        pairs.clone().count() == 6 && pairs.into_iter().all(is_pair)
    })
}

/// `naa.5000c500a1b2c3d4` and its like.
fn is_world_wide(part: &str) -> bool {
    let part = part.strip_prefix("wwn-").unwrap_or(part);
    let kinds = ["0x", "naa.", "eui."];
    let digits = kinds.into_iter().find_map(|kind| part.strip_prefix(kind));
    digits.is_some_and(|digits| digits.len() >= 16 && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

/// How names of files end.
const FILES: [&str; 10] =
    ["chk", "csv", "edb", "hlog", "html", "img", "jrs", "json", "log", "toml"];
/// Folders that every system has.
const USUAL: [&str; 22] = [
    "bin", "boot", "data", "db", "dev", "disk", "disks", "etc", "home", "log", "logs", "mail",
    "mapper", "media", "mnt", "opt", "proc", "root", "run", "srv", "tmp", "var",
];

/// What looks like a name and was not replaced: folders, hosts, mail addresses, and what scenarios
/// are called.
fn stays(evidence: &Evidence, runs: &[brunt_report::RunResult], names: &Names) -> Vec<String> {
    let others: BTreeSet<&String> = names.alone.values().chain(names.anywhere.values()).collect();
    let mut found: BTreeSet<String> =
        runs.iter().map(|run| changed(&run.scenario, names)).collect();
    for text in texts(evidence) {
        let words = text.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>=".contains(c));
        for word in words {
            let word = word.trim_matches(['.', ':']);
            if let Some(path) = word.strip_prefix('/') {
                // The last part is a file.
                let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
                found.extend(folders.split('/').map(str::to_owned));
            } else if is_domain(word.rsplit('@').next().unwrap_or_default(), word.contains('@')) {
                found.insert(word.to_owned());
            }
        }
    }
    let is_ours = |word: &String| others.iter().any(|other| word.contains(other.as_str()));
    found.retain(|word| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters > 2 && !USUAL.contains(&word.as_str()) && !is_ours(word)
    });
    found.into_iter().collect()
}

/// Whether `word` is a name of a host with its domain.
fn is_domain(word: &str, is_mail: bool) -> bool {
    let labels: Vec<&str> = word.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let last = labels.last().copied().unwrap_or_default();
    labels.len() >= if is_mail { 2 } else { 3 }
        && !FILES.contains(&last)
        && labels.iter().all(is_label)
        && last.len() >= 2
        && last.chars().all(|c| c.is_ascii_alphabetic())
}

fn change(file: &mut File, names: &Names) {
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

fn change_value(value: &mut Value, names: &Names) {
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
fn in_scenario(toml: &str, names: &Names) -> String {
    let mut scenario = String::with_capacity(toml.len());
    let mut rest = toml;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        let (bare, text) = rest.split_at(at);
        let (text, after) = text.split_at(length_of_text(text));
        let key = bare.rsplit('\n').next().and_then(|line| line.trim_end().strip_suffix('='));
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
            let more =
                toml[at..].chars().take_while(|c| quotes.len() == 3 && quotes.starts_with(*c));
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
fn changed_toml(text: &str, names: &Names) -> String {
    let table = format!("text = {text}").parse::<toml::Table>();
    let Some(meant) = table.ok().and_then(|table| Some(table["text"].as_str()?.to_owned())) else {
        return changed(text, names);
    };
    match changed(&meant, names) {
        same if same == meant => text.to_owned(),
        other => toml::Value::String(other).to_string(),
    }
}

fn in_counters(table: &str, names: &Names) -> String {
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

fn in_latency_log(log: &str, names: &Names) -> String {
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

/// The name of a stream changed as the result is: `hail.read` follows its database `hail`. Its kind
/// stays, and so do streams of a whole server.
fn changed_stream(stream: &str, names: &Names) -> String {
    for prefix in [streams::HOST, streams::ARRAY] {
        if let Some(rest) = stream.strip_prefix(prefix) {
            return format!("{prefix}{}", changed(rest, names));
        }
    }
    match stream.rsplit_once('.') {
        Some((name, kind)) => format!("{}.{kind}", changed(name, names)),
        None => stream.to_owned(),
    }
}

/// `text` with every name that stands alone replaced, in any case; the longest name counts.
fn changed(text: &str, names: &Names) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let begins = !before.is_some_and(char::is_alphanumeric);
        let is_here =
            |name: &str| rest.get(..name.len()).is_some_and(|here| here.eq_ignore_ascii_case(name));
        let alone = names.alone.iter();
        let alone =
            alone.filter(|(name, _)| begins && is_here(name) && !continues(&rest[name.len()..]));
        let found = alone.chain(names.anywhere.iter().filter(|(name, _)| is_here(name)));
        let (length, last) = match found.max_by_key(|(name, _)| name.len()) {
            Some((name, other)) => {
                changed.push_str(other);
                (name.len(), rest[..name.len()].chars().last())
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

/// Whether a name goes on with `rest`. A domain that follows goes with it only when it is part of
/// the name itself.
fn continues(rest: &str) -> bool {
    rest.starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let names = [("hail", "server1"), ("hail-2", "server2"), ("S3/x", "serial1")];
        Names {
            alone: names.map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            anywhere: BTreeMap::new(),
        }
    }

    #[test]
    fn a_host_has_many_names() {
        let mut names = Names::default();
        names.add_host("mail-srv7.corp.example.com", "server1");
        names.anywhere.insert("contoso".to_owned(), "word1".to_owned());
        let names = names.with_forms();
        let text = "MAIL-SRV7.CORP.example.com: /srv/mail-srv7/a, mail--srv7-vg, smtp.corp.example.com, mail-srv70, xContoso7";
        assert_eq!(
            changed(text, &names),
            "server1: /srv/server1/a, server1-vg, smtp.domain1, mail-srv70, xword17"
        );
    }

    #[test]
    fn users_and_addresses_are_found_by_their_form() {
        let mut names = Names::default();
        let text = "/home/ann/x on 10.0.7.5:3260, fe80::1, [2001:db8::7]:80 52:54:00:ab:cd:ef, 127.0.0.1 ::1 at \
                    2026-11-21T18:15:03Z for 00:10:20, 1.2.3 and wwn-0x5000c500a1b2c3d4, naa.5000c500a1b2c3d5";
        found_in(text, &mut names);
        let found: Vec<(&str, &str)> =
            names.alone.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            found,
            [
                ("10.0.7.5", "address1"),
                ("2001:db8::7", "address3"),
                ("52:54:00:ab:cd:ef", "address4"),
                ("ann", "user1"),
                ("fe80::1", "address2"),
                ("naa.5000c500a1b2c3d5", "serial2"),
                ("wwn-0x5000c500a1b2c3d4", "serial1"),
            ]
        );
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
        let both = |text| changed(text, &names().with_forms());
        assert_eq!(both("hail--vg-root (LVM2)"), "server1--vg-root (LVM2)");
        assert_eq!(both("/dev/mapper/hail--2--vg-root"), "/dev/mapper/server2--vg-root");
        assert_eq!(both("nvme-X_S3/x-part1 vg_hail"), "nvme-X_serial1-part1 vg_server1");
    }

    #[test]
    fn every_string_and_comment_of_a_scenario_is_changed() {
        for (toml, wanted) in [
            ("hail = \"hail\"\nx = ['a hail']", "hail = \"server1\"\nx = [\"a server1\"]"),
            ("a = '19\" rack'\nb = \"hail\"", "a = '19\" rack'\nb = \"server1\""),
            ("a = \"19\\\" rack\"\nb = \"hail\"", "a = \"19\\\" rack\"\nb = \"server1\""),
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
        let table = "begin_s,stream,count\n1,hail.log.read,2\n1,\"x,hail.hail\",2\n1,hail,2\n1,host: hail busy,2\n1,array: LUN hail 1.0,2\n";
        assert_eq!(
            in_counters(table, &names()),
            "begin_s,stream,count\n1,server1.log.read,2\n1,\"x,server1.hail\",2\n1,hail,2\n1,host: server1 busy,2\n1,array: LUN server1 1.0,2\n"
        );
        let log = "#[hail]\nTag=hail-2.read,1.0,HIST\nTag=hail,1.0,HIST\n";
        assert_eq!(
            in_latency_log(log, &names()),
            "#[hail]\nTag=server2.read,1.0,HIST\nTag=hail,1.0,HIST\n"
        );
    }
}
