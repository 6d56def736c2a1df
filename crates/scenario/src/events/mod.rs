//! `[[event]]`: everything that is to go wrong, change or return.
//!
//! ```toml
//! [[event]]                       # a part of a modelled array, at a time
//! at = "20s"
//! what = "drive fails"
//! drive = 3
//!
//! [[event]]                       # a file of a test, at a request
//! what = "lost-write"
//! file = "one.edb"
//! after = 100
//! ```
//!
//! Each word of `what` is a row of [`words::WORDS`], with its keys and where it applies. A new one
//! is a new row there. `docs/events.md` has the same table for users.

mod course;
mod faults;
mod incidents;
mod sites;
mod volumes;
mod words;

use brunt_units::{Span, Time};

use super::kept::{self, Kept};
use super::place::{Place, Refusal};
use super::section::{self, Section};
use super::tree::Node;
use words::{Event, WORDS, Word};

pub(super) use faults::{read as read_faults, write as write_faults};
pub(super) use incidents::read as read_incidents;

/// An event of which the word is known.
pub(super) struct Entry {
    word: &'static Word,
    /// Where the word stands.
    what: Place,
    /// Everything else.
    section: Section,
}

/// An event for the run folder: what was written, and what its reader fills in.
pub(super) struct Written {
    table: toml::Table,
    kept: Kept,
}

impl Written {
    /// When and what, as it was written.
    pub(super) fn said(&self) -> (String, String) {
        let text = |value: &toml::Value| value.to_string().replace('"', "");
        let of = |key: &str| self.table.get(key).map(text).unwrap_or_default();
        let more = self.table.iter().filter(|(key, _)| *key != "at" && *key != "what");
        let more: Vec<String> =
            more.map(|(key, value)| format!("{key} = {}", text(value))).collect();
        match more.is_empty() {
            true => (of("at"), of("what")),
            false => (of("at"), format!("{} ({})", of("what"), more.join(", "))),
        }
    }

    /// Everything, once it has been read.
    pub(super) fn whole(mut self) -> toml::Table {
        self.kept.fill(&mut self.table);
        self.table
    }
}

/// The events of a scenario.
pub(super) struct Events {
    /// Those of files.
    pub(super) faults: Vec<Entry>,
    /// Those of arrays.
    pub(super) incidents: Vec<Entry>,
}

impl Events {
    /// Takes the events out of `top`.
    pub(super) fn take(top: &mut Section) -> Self {
        let nodes = top.tables("event").into_iter();
        let entries = nodes.filter_map(|node| top.sink().catch(Entry::read(node)));
        let (faults, incidents) = entries.partition(|one| one.word.is_fault());
        Self { faults, incidents }
    }

    /// Those of a test on real storage.
    pub(super) fn of_files(self) -> Vec<Entry> {
        if let Some(entry) = self.incidents.first() {
            let refusal = entry.what.refuse("is for modelled arrays: there is no [array]");
            let hint = format!("on real storage it can be {}", list(Word::is_fault));
            entry.section.refuse(refusal.hint(hint));
        }
        self.faults
    }

    /// Those of raw load.
    pub(super) fn of_arrays(self) -> Vec<Entry> {
        if let Some(entry) = self.faults.first() {
            let refusal = entry.what.refuse("is for the files of a test, and raw load has none");
            let hint = format!("it can be {}", list(|word| !word.is_fault()));
            entry.section.refuse(refusal.hint(hint));
        }
        self.incidents
    }
}

/// The words that `of` holds for.
fn list(of: fn(&Word) -> bool) -> String {
    let words = WORDS.iter().filter(|word| of(word));
    words.map(|word| word.word).collect::<Vec<_>>().join(", ")
}

impl Entry {
    fn read(node: Node) -> Result<Self, Refusal> {
        let mut keys = vec!["what"];
        for key in WORDS.iter().flat_map(Word::keys) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut section = Section::new(node, "[[event]]", &keys);
        let words: Vec<&str> = WORDS.iter().map(|word| word.word).collect();
        let example = "what = \"lost-write\", or \"drive fails\" on a modelled array";
        let what = section.read("what", |node| section::word(node, &words));
        let what = what.ok_or_else(|| section.lacks("what", example))?;
        let word = &WORDS[what.value];
        let others = section.entries().iter();
        let mut others = others.filter(|(key, _)| word.keys().all(|own| own != key));
        if let Some((key, node)) = others.next() {
            let refusal = node.place.refuse(format!("`{key}` is not for what = \"{}\"", word.word));
            let own: Vec<&str> = word.keys().collect();
            return Err(refusal.hint(format!("its keys are {}", own.join(", "))));
        }
        Ok(Self { word, what: what.place, section })
    }

    /// Where the event stands.
    pub(super) fn place(&self) -> &Place {
        self.section.place()
    }

    /// Refuses an event that a test cannot have.
    pub(super) fn check_under_test(&self) -> Result<(), Refusal> {
        match self.word.event {
            Event::Lun(_) => Err(self
                .what
                .refuse("lets a LUN grow, and the volumes of a test keep their size")
                .hint("LUNs grow under raw load: [[load]] instead of [test]")),
            Event::Pages(_) if self.word.word == "restore" => Err(self
                .what
                .refuse("gives LUNs other content, and the engine would not know")
                .hint("LUNs are restored under raw load: [[load]] instead of [test]")),
            _ => Ok(()),
        }
    }

    /// Takes the value of `array` out, if it was written.
    pub(super) fn take_array(&mut self) -> Option<Node> {
        self.section.take("array")
    }

    /// What is kept of it, with the name of its array where there are several.
    pub(super) fn written(&self, array: Option<&String>) -> Written {
        let mut table = toml::Table::new();
        table.insert("what".to_owned(), self.word.word.into());
        table.extend(array.map(|name| ("array".to_owned(), name.as_str().into())));
        table.extend(kept::table(self.section.entries()));
        Written { table, kept: self.section.kept().clone() }
    }

    /// When it happens; not after `end`.
    fn at(&mut self, end: Option<Span>) -> Result<Time, Refusal> {
        let at = self.section.need("at", "at = \"20s\"", section::span);
        match end.filter(|end| at.value > *end) {
            Some(end) => Err(at
                .place
                .refuse(format!(
                    "would never happen: the simulation ends after {end}, its warm-up included"
                ))
                .hint("an earlier event, or a longer `duration`")),
            None => Ok(Time::ZERO + at.value),
        }
    }
}

#[cfg(test)]
mod tests;
