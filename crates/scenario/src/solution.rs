//! `[solution]`: whose storage is tested, and what it consists of. A test does not use it; a paper
//! shows it.
//!
//! ```text
//!   [solution]                                   who, for whom, what it can do
//!   [solution.hardware], [solution.software]     the array and the way to it
//!   [solution.database_disks], .log_disks, .backup_disks
//! ```
//!
//! [`FIELDS`] has every key with its name in a paper. Names and their order are those of published
//! ESRP papers (EqualLogic PS5000XV, 2008; Dell PowerVault MD3820f, 2015).

use std::collections::BTreeMap;
use std::fmt;

use brunt_units::ByteSize;

use super::format::quoted;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::{Node, Value};

/// A part of `[solution]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `[solution]` itself.
    Overview,
    /// `[solution.hardware]`.
    Hardware,
    /// `[solution.software]`.
    Software,
    /// `[solution.database_disks]`.
    DatabaseDisks,
    /// `[solution.log_disks]`.
    LogDisks,
    /// `[solution.backup_disks]`.
    BackupDisks,
}

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// A list of texts.
    List,
    /// A whole number above zero.
    Count,
    /// A size above zero, with its unit.
    Size,
}

/// A key of `[solution]`.
struct Field {
    part: Part,
    key: &'static str,
    /// Its name in a paper.
    title: &'static str,
    kind: Kind,
}

use Kind::{Count, List, Size, Text};
use Part::{BackupDisks, DatabaseDisks, Hardware, LogDisks, Overview, Software};

const fn field(part: Part, key: &'static str, title: &'static str, kind: Kind) -> Field {
    Field { part, key, title, kind }
}

/// Every key, in the order of a paper.
const FIELDS: &[Field] = &[
    field(Overview, "vendor", "Vendor", Text),
    field(Overview, "product", "Product", Text),
    field(Overview, "contact", "Contact", Text),
    field(Overview, "tested_by", "Tested by", Text),
    field(Overview, "overview", "Overview", Text),
    field(Overview, "features", "Features", List),
    field(Overview, "description", "Solution description", Text),
    field(Overview, "out_of_scope", "Out of scope", List),
    field(Overview, "customers", "Targeted customers", Text),
    field(Overview, "backup_strategy", "Backup strategy", Text),
    field(Overview, "restore_time", "Restore time", Text),
    field(Overview, "best_practices", "Best practices", List),
    field(Overview, "conclusion", "Conclusion", Text),
    field(Hardware, "connectivity", "Storage connectivity", Text),
    field(Hardware, "model", "Storage model", Text),
    field(Hardware, "firmware", "Storage firmware", Text),
    field(Hardware, "cache", "Storage cache", Text),
    field(Hardware, "controllers", "Storage controllers", Count),
    field(Hardware, "ports", "Storage ports", Count),
    field(Hardware, "bandwidth", "Maximum bandwidth to hosts", Text),
    field(Hardware, "switch", "Switch type, model, firmware", Text),
    field(Hardware, "hba", "HBA model and firmware", Text),
    field(Hardware, "hbas_per_host", "HBAs per host", Count),
    field(Hardware, "host", "Host server type", Text),
    field(Hardware, "disks_tested", "Total disks tested", Count),
    field(Hardware, "disks_most", "Maximum disks hosted", Count),
    field(Software, "hba_driver", "HBA driver", Text),
    field(Software, "queue_target", "HBA queue target", Text),
    field(Software, "queue_depth", "HBA queue depth", Count),
    field(Software, "multipathing", "Multipathing", Text),
    field(Software, "replication", "Replication solution", Text),
    field(DatabaseDisks, "type", "Disk type, speed, firmware", Text),
    field(DatabaseDisks, "disk_size", "Raw capacity per disk", Size),
    field(DatabaseDisks, "disks", "Disks in the test", Count),
    field(DatabaseDisks, "per_lun", "Disks or slice per LUN", Text),
    field(DatabaseDisks, "lun_size", "LUN size", Size),
    field(DatabaseDisks, "luns", "LUNs", Count),
    field(DatabaseDisks, "raid", "RAID level", Text),
    field(LogDisks, "type", "Disk type, speed, firmware", Text),
    field(LogDisks, "disk_size", "Raw capacity per disk", Size),
    field(LogDisks, "disks", "Disks in the test", Count),
    field(LogDisks, "per_lun", "Disks or slice per LUN", Text),
    field(LogDisks, "lun_size", "LUN size", Size),
    field(LogDisks, "luns", "LUNs", Count),
    field(LogDisks, "raid", "RAID level", Text),
    field(BackupDisks, "type", "Disk type, speed, firmware", Text),
    field(BackupDisks, "disk_size", "Raw capacity per disk", Size),
    field(BackupDisks, "disks", "Disks in the test", Count),
    field(BackupDisks, "per_lun", "Disks or slice per LUN", Text),
    field(BackupDisks, "lun_size", "LUN size", Size),
    field(BackupDisks, "luns", "LUNs", Count),
    field(BackupDisks, "raid", "RAID level", Text),
];

/// The largest number of disks, ports or LUNs.
const COUNT_MAX: u64 = 1_000_000;

impl Part {
    /// The tables within `[solution]`.
    const TABLES: [(&'static str, Self); 5] = [
        ("hardware", Hardware),
        ("software", Software),
        ("database_disks", DatabaseDisks),
        ("log_disks", LogDisks),
        ("backup_disks", BackupDisks),
    ];

    /// The keys of this part, and those of tables in it.
    fn keys(self) -> Vec<&'static str> {
        let own = FIELDS.iter().filter(|field| field.part == self);
        let tables = Self::TABLES.iter().filter(|_| self == Overview);
        own.map(|field| field.key).chain(tables.map(|(key, _)| *key)).collect()
    }
}

/// What was said about the storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    values: BTreeMap<(Part, &'static str), FieldValue>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum FieldValue {
    Text(String),
    List(Vec<String>),
    Count(u64),
    Size(ByteSize),
}

impl Solution {
    /// Takes `[solution]` out of the sections of a scenario; nothing is said where it is not
    /// written.
    pub(super) fn take(top: &mut Section) -> Self {
        top.take("solution").map_or(Self::default(), Self::read)
    }

    pub(super) fn read(node: Node) -> Self {
        let mut solution = Self::default();
        let mut top = Section::new(node, "[solution]", &Overview.keys());
        for (key, part) in Part::TABLES {
            let Some(node) = top.take(key) else { continue };
            let section = Section::new(node, &format!("[solution.{key}]"), &part.keys());
            solution.read_part(section, part);
        }
        solution.read_part(top, Overview);
        solution
    }

    fn read_part(&mut self, mut section: Section, part: Part) {
        for field in FIELDS.iter().filter(|field| field.part == part) {
            let value = section.read(field.key, |node| read(node, field.kind));
            self.values.extend(value.map(|value| ((part, field.key), value.value)));
        }
    }

    /// Writes what was said.
    pub(super) fn write(&self, out: &mut String) {
        let tables = Part::TABLES.map(|(key, part)| (format!("[solution.{key}]"), part));
        let parts = [("[solution]".to_owned(), Overview)];
        for (head, part) in parts.into_iter().chain(tables) {
            let all = FIELDS.iter().filter(|field| field.part == part);
            let values = all.filter_map(|field| Some((field.key, self.value(part, field.key)?)));
            let lines: String = values.map(|(key, value)| format!("{key} = {value}\n")).collect();
            if !lines.is_empty() {
                *out += &format!("\n{head}\n{lines}");
            }
        }
    }

    fn value(&self, part: Part, key: &str) -> Option<&FieldValue> {
        let field = FIELDS.iter().find(|f| f.part == part && f.key == key)?;
        self.values.get(&(part, field.key))
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The text `key` of `[solution]`.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.value(Overview, key)? {
            FieldValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What was said of `key` of `part`, as a paper has it.
    pub fn in_words(&self, part: Part, key: &str) -> Option<String> {
        self.value(part, key).map(FieldValue::for_people)
    }

    /// The list `key` of `[solution]`.
    pub fn list(&self, key: &str) -> &[String] {
        match self.value(Overview, key) {
            Some(FieldValue::List(items)) => items,
            _ => &[],
        }
    }

    /// The number `key` of `part`.
    pub fn count(&self, part: Part, key: &str) -> Option<u64> {
        match self.value(part, key)? {
            FieldValue::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// The size `key` of `part`.
    pub fn size(&self, part: Part, key: &str) -> Option<ByteSize> {
        match self.value(part, key)? {
            FieldValue::Size(size) => Some(*size),
            _ => None,
        }
    }

    /// Everything in `part`, with the names of a paper.
    pub fn all(&self, part: Part) -> Vec<(&'static str, String)> {
        let fields = FIELDS.iter().filter(|field| field.part == part);
        let values = fields
            .filter_map(|field| Some((field.title, self.value(part, field.key)?.for_people())));
        values.collect()
    }
}

impl FieldValue {
    fn for_people(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => items.join("; "),
            Self::Count(count) => brunt_report::grouped(*count),
            Self::Size(size) => label(*size),
        }
    }
}

/// A size as labels of drives have it, in whole GB or TB, or else as everywhere.
fn label(size: ByteSize) -> String {
    const UNITS: [(u64, &str); 2] = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB")];
    let bytes = size.get();
    let units = UNITS.iter();
    let mut whole = units.filter(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.next().map_or_else(
        || size.to_string(),
        |(unit, name)| format!("{} {name}", brunt_report::grouped(bytes.div_euclid(*unit))),
    )
}

impl fmt::Display for FieldValue {
    /// The value as TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Count(count) => count.fmt(f),
            Self::Size(size) => f.write_str(&super::format::size(*size)),
        }
    }
}

fn read(node: &Node, kind: Kind) -> Result<FieldValue, Refusal> {
    match kind {
        Text => Ok(FieldValue::Text(section::text(node)?)),
        List => {
            let Value::List(items) = &node.value else {
                let what = format!("is {}, not a list of texts", node.value.kind());
                let refusal = node.place.refuse(what);
                return Err(refusal.hint("for example: features = [\"two controllers\"]"));
            };
            let items: Result<_, _> = items.iter().map(section::text).collect();
            Ok(FieldValue::List(items?))
        }
        Count => Ok(FieldValue::Count(section::integer(node, 1..=COUNT_MAX)?)),
        Size => match section::size(node)? {
            size if size.get() > 0 => Ok(FieldValue::Size(size)),
            _ => Err(node.place.refuse("is not above zero")),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Document;

    const SOME: &str = "[solution]\nvendor = \"V \\\"x\\\"\"\nfeatures = [\"a\", \"b\"]\noverview = \"one\\ntwo\"\n\
                        [solution.database_disks]\ndisks = 12\ndisk_size = \"600 GB\"\n";

    fn solution(text: &str) -> Result<Solution, Refusal> {
        Document::new("t.toml", text, Path::new("/")).unwrap().solution()
    }

    #[test]
    fn what_was_said_is_written_and_read_again() {
        let read = solution(SOME).unwrap();
        assert_eq!(read.text("vendor"), Some("V \"x\""));
        assert_eq!(read.list("features"), ["a", "b"]);
        assert_eq!(read.count(DatabaseDisks, "disks"), Some(12));
        let size = read.size(DatabaseDisks, "disk_size").unwrap();
        assert_eq!(size.get(), 600_000_000_000);
        let label = |size: &str| label(size.parse().unwrap());
        assert_eq!(label("600 GB"), "600 GB");
        assert_eq!(label("1 TB"), "1 TB");
        assert_eq!(label("120 GiB"), "120 GiB");
        let mut text = String::new();
        read.write(&mut text);
        assert_eq!(solution(&text).unwrap(), read, "{text}");
        assert!(solution("[test]").unwrap().is_empty());
    }

    #[test]
    fn a_resolved_test_keeps_it() {
        let text = format!(
            "scratch = \"s\"\n{SOME}[test]\nduration = \"2h\"\nsessions = 1\n[[instance]]\nlog = \"l\"\ndatabases = [\"d.edb\"]\ndatabase_size = \"64 MiB\"\n"
        );
        let document = Document::new("t.toml", &text, Path::new("/")).unwrap();
        let resolved = document.test(&[]).unwrap().to_toml();
        assert_eq!(solution(&resolved).unwrap(), solution(SOME).unwrap());
    }

    #[test]
    fn what_is_wrong_is_refused_where_it_stands() {
        let said = |text: &str| solution(text).unwrap_err().to_string();
        assert_eq!(
            said("[solution]\nvendr = \"x\""),
            "t.toml:2: `vendr = \"x\"`: unknown key `vendr` in [solution]\n  did you mean `vendor`?"
        );
        assert!(said("[solution.hardware]\nports = 0").contains("not between 1 and 1000000"));
        assert!(said("[solution]\nfeatures = \"x\"").contains("is a text, not a list of texts"));
        assert!(said("[solution.log_disks]\ndisk_size = \"0 B\"").contains("is not above zero"));
    }
}
