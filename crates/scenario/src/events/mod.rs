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
//!
//! Before `[[event]]` there were `[[faults]]` (with `kind` instead of `what`), `[[incident]]` and
//! `[[array.incident]]`. They are still read; [`Spelling`] is all that knows of them.

mod course;
mod faults;
mod incidents;
mod sites;
mod volumes;
mod words;

use brunt_units::{Span, Time};

use super::place::{Place, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};
use words::{Event, WORDS, Word};

pub(super) use faults::{read as read_faults, write as write_faults};
pub(super) use incidents::read as read_incidents;

/// A way to write events.
struct Spelling {
    /// The key of the list.
    list: &'static str,
    /// The same in messages.
    name: &'static str,
    /// The key of the word.
    what: &'static str,
    /// The words that it knows.
    knows: fn(&Word) -> bool,
    /// What a table without a word lacks.
    example: &'static str,
    /// Whether a single table may stand for the list.
    may_be_one: bool,
}

const EVENT: Spelling = Spelling {
    list: "event",
    name: "[[event]]",
    what: "what",
    knows: |_| true,
    example: "what = \"lost-write\", or \"drive fails\" on a modelled array",
    may_be_one: false,
};

const INCIDENT: Spelling = Spelling {
    list: "incident",
    name: "[[incident]]",
    knows: |word| !word.is_fault(),
    example: "what = \"drive fails\"",
    ..EVENT
};

const FAULTS: Spelling = Spelling {
    list: "faults",
    name: "[[faults]]",
    what: "kind",
    knows: Word::is_fault,
    example: "kind = \"lost-write\"",
    may_be_one: true,
};

/// An event of which the word is known.
pub(super) struct Entry {
    word: &'static Word,
    /// Where the word stands.
    what: Place,
    /// Everything else.
    section: Section,
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
    pub(super) fn take(top: &mut Section) -> Result<Self, Refusal> {
        let mut entries = Vec::new();
        for spelling in [&EVENT, &INCIDENT, &FAULTS] {
            if let Some(node) = top.take(spelling.list) {
                entries.extend(Entry::read_all(node, spelling)?);
            }
        }
        let (faults, incidents) = entries.into_iter().partition(|one| one.word.is_fault());
        Ok(Self { faults, incidents })
    }

    /// Those of a test on real storage.
    pub(super) fn of_files(self) -> Result<Vec<Entry>, Refusal> {
        match self.incidents.first() {
            Some(entry) => Err(entry
                .what
                .refuse("is for modelled arrays: there is no [array]")
                .hint(format!("on real storage it can be {}", list(Word::is_fault)))),
            None => Ok(self.faults),
        }
    }

    /// Those of raw load.
    pub(super) fn of_arrays(self) -> Result<Vec<Entry>, Refusal> {
        match self.faults.first() {
            Some(entry) => Err(entry
                .what
                .refuse("is for the files of a test, and raw load has none")
                .hint(format!("it can be {}", list(|word| !word.is_fault())))),
            None => Ok(self.incidents),
        }
    }
}

/// The words that `of` holds for.
fn list(of: fn(&Word) -> bool) -> String {
    let words = WORDS.iter().filter(|word| of(word));
    words.map(|word| word.word).collect::<Vec<_>>().join(", ")
}

/// Takes the events out of a table of an array, where [[array.incident]] put them.
pub(super) fn take_nested(array: &mut Node) -> Result<Vec<Entry>, Refusal> {
    let Value::Table(entries) = &mut array.value else {
        return Ok(Vec::new());
    };
    let at = entries.iter().position(|(key, _)| key == INCIDENT.list);
    at.map_or(Ok(Vec::new()), |at| Entry::read_all(entries.remove(at).1, &INCIDENT))
}

impl Entry {
    fn read_all(node: Node, spelling: &Spelling) -> Result<Vec<Self>, Refusal> {
        let nodes = match node.value {
            Value::Table(_) if spelling.may_be_one => vec![node],
            _ => section::tables(node, spelling.list)?,
        };
        let read = |node| Self::read(node, spelling);
        nodes.into_iter().map(read).collect()
    }

    fn read(node: Node, spelling: &Spelling) -> Result<Self, Refusal> {
        let known: Vec<&Word> = WORDS.iter().filter(|word| (spelling.knows)(word)).collect();
        let mut keys = vec![spelling.what];
        for key in known.iter().flat_map(|word| word.keys()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut section = Section::new(node, spelling.name, &keys)?;
        let words: Vec<&str> = known.iter().map(|word| word.word).collect();
        let what = section.read(spelling.what, |node| section::word(node, &words))?;
        let what = what.ok_or_else(|| section.lacks(spelling.what, spelling.example))?;
        let word = words::find(words[what.value]);
        let others = section.entries().iter();
        let mut others = others.filter(|(key, _)| word.keys().all(|own| own != key));
        if let Some((key, node)) = others.next() {
            let refusal = node
                .place
                .refuse(format!("`{key}` is not for {} = \"{}\"", spelling.what, word.word));
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

    /// The word, and the values of all keys that have not been taken out.
    pub(super) fn written(&self) -> (&'static str, &[(String, Node)]) {
        (self.word.word, self.section.entries())
    }

    /// When it happens; not after `end`.
    fn at(&mut self, end: Option<Span>) -> Result<Time, Refusal> {
        let at = self.section.read("at", section::span)?;
        let at = at.ok_or_else(|| self.section.lacks("at", "at = \"20s\""))?;
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
