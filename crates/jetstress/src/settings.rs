//! What a configuration of Jetstress asks for, in brunt's terms, and what became of each of its
//! elements.

use std::collections::BTreeMap;

use brunt_report::result::TestKind;

/// Where tuning begins; other tests have as many.
const SESSIONS: u32 = 8;

/// What became of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It became these keys.
    Keys(String),
    /// It is a comment of the scenario, because brunt always does so, or does not need it.
    Comment(String),
    /// brunt cannot do it.
    NotSupported(String),
}

/// An element and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its name, with that of an attribute: `OperationMix InsertOps`.
    pub name: String,
    pub value: String,
    /// What became of it.
    pub fate: Fate,
}

/// A log stream and its databases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instance {
    /// Folder of the log.
    pub(crate) log: String,
    /// Folders of the databases.
    pub(crate) databases: Vec<String>,
}

/// A scenario in the making.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Keys by table, as TOML; the empty name is the top.
    pub(crate) keys: BTreeMap<&'static str, Vec<(&'static str, String)>>,
    /// The kind of test, which is also among the keys.
    kind: Option<TestKind>,
    pub(crate) instances: Vec<Instance>,
    /// Every element, in the order of the file.
    pub noted: Vec<Noted>,
    /// Paths as they were written.
    pub paths: Vec<String>,
    /// What Jetstress itself warns of, with the line.
    pub warnings: Vec<(u32, String)>,
    /// Those that no mapping led here.
    pub unmapped: Vec<String>,
}

impl Settings {
    /// Sets `key` of `table` to a value that is TOML; a value that is there is replaced.
    pub(crate) fn set(&mut self, table: &'static str, key: &'static str, value: String) {
        let keys = self.keys.entry(table).or_default();
        match keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => keys.push((key, value)),
        }
    }

    /// Sets the kind of test.
    pub(crate) fn set_kind(&mut self, kind: TestKind) {
        self.kind = Some(kind);
        self.set("test", "kind", quoted(kind.word()));
    }

    /// The value of a key.
    pub(crate) fn get(&self, table: &str, key: &str) -> Option<&str> {
        let keys = self.keys.get(table)?;
        let found = keys.iter().find(|(known, _)| *known == key)?;
        Some(&found.1)
    }

    /// The test finds its number of sessions, if it is one that can.
    pub(crate) fn find_sessions(&mut self) {
        self.set("test", "sessions", SESSIONS.to_string());
        self.set("test", "tune", self.kind.is_some_and(TestKind::has_limits).to_string());
    }

    /// Elements with this fate.
    pub fn not_supported(&self) -> impl Iterator<Item = &Noted> {
        let noted = self.noted.iter();
        noted.filter(|noted| matches!(noted.fate, Fate::NotSupported(_)))
    }
}

/// A text as TOML.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
