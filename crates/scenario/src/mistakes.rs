//! Every mistake of a scenario at once.
//!
//! ```text
//!   reader of a table -> value that is wrong -> Sink, and on with what the key is without one
//!                     -> key that lacks      -> Sink, and on with the example of its refusal
//!                     -> values that clash   -> Sink, unless one of them was refused before
//! ```
//!
//! There is one reader, and it reads once. A mistake has no echo: what stands in for something is
//! never refused, and a refusal that compares values is not believed where another value of that
//! section was refused, since it may compare with what nobody wrote.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use super::place::{Cause, Place, Refusal};
use super::tree::{Node, Value};

/// What reading a whole document came to.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// Everything that is wrong, in the order of its lines. Flags come first.
    pub mistakes: Vec<Refusal>,
    /// What the document describes. Something stands in for what is wrong: with mistakes it is good
    /// for looking at what was written ([`Place::is_written`]), and not for a run.
    pub value: T,
}

/// More mistakes than this are not kept.
const MISTAKES_MAX: usize = 200;

/// Sections that are compared with other sections.
const COMPARED: [&str; 11] = [
    "engine",
    "mailboxes",
    "throughput",
    "instance",
    "copy",
    "event",
    "volumes",
    "load",
    "tier",
    "replication",
    "replicate",
];

/// Where readers say what they refuse. Everything that is read of a document shares one.
#[derive(Clone, Debug, Default)]
pub(super) struct Sink(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    /// In the order of reading.
    mistakes: Vec<Refusal>,
    /// What stands where, and in which section.
    sections: Vec<(Place, String)>,
    /// Keys that were read under the name that was meant.
    renamed: Vec<Place>,
    /// Sections in which a value is no longer the one that was written.
    mended: BTreeSet<String>,
}

impl Sink {
    /// One for everything that is read of `root`.
    pub(super) fn of(root: &mut Node) -> Self {
        let mut sections = Vec::new();
        for (key, node) in root.entries() {
            note_places(node, key, &mut sections);
        }
        let sink = Self(Arc::new(Mutex::new(Found { sections, ..Found::default() })));
        root.begin(&sink);
        sink
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Notes `refusal`, if it is believed.
    pub(super) fn refuse(&self, refusal: Refusal) {
        let found = &mut *self.found();
        let place = refusal.place();
        let own = found.sections.iter().find(|(own, _)| own == place);
        let section = match (own, refusal.cause()) {
            (Some((_, section)), _) => Some(section.clone()),
            (None, Cause::Lacks { table }) => first_key(table).map(str::to_owned),
            (None, _) => None,
        };
        let is_believed = match refusal.cause() {
            Cause::Unknown => true,
            Cause::Value => !found.renamed.contains(place),
            Cause::Lacks { .. } => true,
            Cause::Compared => match &section {
                Some(section) if !COMPARED.contains(&section.as_str()) => {
                    !found.mended.contains(section)
                }
                _ => found.mended.is_empty(),
            },
        };
        if *refusal.cause() != Cause::Unknown {
            found.mended.extend(section);
        }
        let is_new = place.is_written() && !found.mistakes.contains(&refusal);
        if is_believed && is_new && found.mistakes.len() < MISTAKES_MAX {
            found.mistakes.push(refusal);
        }
    }

    /// What was read, or nothing once its refusal is noted.
    pub(super) fn catch<T>(&self, read: Result<T, Refusal>) -> Option<T> {
        read.map_err(|refusal| self.refuse(refusal)).ok()
    }

    /// What stands at `place` was read under the name that was meant.
    pub(super) fn rename(&self, place: &Place) {
        self.found().renamed.push(place.clone());
    }

    /// Everything that was refused, in the order of reading.
    pub(super) fn take(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.found().mistakes)
    }
}

fn note_places(node: &Node, section: &str, all: &mut Vec<(Place, String)>) {
    all.push((node.place.clone(), section.to_owned()));
    match &node.value {
        Value::List(nodes) => nodes.iter().for_each(|node| note_places(node, section, all)),
        Value::Table(entries) => {
            entries.iter().for_each(|(_, node)| note_places(node, section, all));
        }
        _ => {}
    }
}

/// The first key of a table's name in messages: of `[array.front]`, not of `[[instance]]`.
fn first_key(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.filter(|inner| !inner.starts_with('[')).and_then(|keys| keys.split('.').next())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Document, Override, Subject};

    /// Lines and sentences of everything that is wrong with `text`.
    fn said(text: &str, set: &[&str]) -> Vec<String> {
        let document = Document::new("t.toml", text, Path::new("/")).unwrap();
        let set: Vec<Override> = set.iter().map(|set| Override::of_set(set).unwrap()).collect();
        let mistakes = match document.subject() {
            Subject::Test => document.check_test(&set).mistakes,
            Subject::ModelledTest => document.check_modelled_test(&set).mistakes,
            Subject::Load => document.check_load(&set).mistakes,
            Subject::RealDrill => document.check_real_drill(&set).mistakes,
            Subject::Organisation => document.check_organisation(&set, &[]).mistakes,
            Subject::Mail => document.check_mail(&set).mistakes,
            Subject::Fleet => document.check_fleet(&set).unwrap().mistakes,
        };
        let line = |mistake: &Refusal| match mistake.place().number() {
            Some(line) => format!("{line}: {}", mistake.what()),
            None => mistake.what().to_owned(),
        };
        mistakes.iter().map(line).collect()
    }

    const GOOD: &str = "[test]\nduration = \"2h\"\nsessions = 8\n[mailboxes]\ncount = 40\nquota = \"2 GiB\"\n\
                        io_per_s = 0.1\n[[instance]]\nlog = \"/a/log\"\ndatabases = [\"/a/one.edb\"]\n";

    #[test]
    fn a_good_scenario_has_none_and_is_read() {
        let document = Document::new("t.toml", GOOD, Path::new("/")).unwrap();
        let checked = document.check_test(&[]);
        assert_eq!(checked.mistakes, []);
        assert_eq!(checked.value, document.test(&[]).unwrap());
    }

    #[test]
    fn all_mistakes_are_reported_in_the_order_of_their_lines() {
        let text = "nmae = \"x\"\n[test]\nduration = \"2 hours\"\n[mailboxes]\ncount = \"4,000\"\nqota = \"2 GiB\"\n\
                    [profile]\nversion = \"exchange-2012\"\n[limits]\nread_average = 20\n[[instance]]\nlog = \"/a\"\n\
                    databases = [\"/a/one\"]\n";
        assert_eq!(
            said(text, &["test.seed=x"]),
            [
                "is a text, not a whole number",
                "1: unknown key `nmae` in the scenario",
                "2: lacks `sessions`",
                "3: not a length of time",
                "4: lacks `io_per_s`",
                "5: is a text, not a whole number",
                "6: unknown key `qota` in [mailboxes]",
                "8: unknown version",
                "10: not a length of time",
                "13: the name of a database ends in .edb (/a/one)",
            ]
        );
    }

    /// Each of these is one mistake, whatever follows from it.
    #[test]
    fn a_mistake_has_no_echo() {
        let mut wrong = Vec::new();
        for (from, to, what) in [
            ("sessions = 8", "sesions = 8", "unknown key `sesions` in [test]"),
            ("sessions = 8", "sesions = 0", "unknown key `sesions` in [test]"),
            ("sessions = 8\n", "", "lacks `sessions`"),
            ("duration = \"2h\"", "duration = 2", "not a length of time"),
            ("quota = \"2 GiB\"", "quota = 1", "a size has a unit"),
            // With another count, databases would have another size than the one that is written.
            ("count = 40", "count = true", "is true or false, not a whole number"),
            ("io_per_s = 0.1", "io_per_s = \"a\"", "is a text, not a number"),
            ("[mailboxes]", "[mailbox]", "unknown key `mailbox` in the scenario"),
            ("[[instance]]", "[instance]", "is one table, but instances are a list"),
            ("log = \"/a/log\"\n", "", "lacks `log`"),
            ("log = \"/a/log\"", "log = 7", "is a number, not a text"),
            ("\"/a/one.edb\"", "\"/a/one\"", "the name of a database ends in .edb (/a/one)"),
            (
                "[[instance]]\nlog = \"/a/log\"\ndatabases = [\"/a/one.edb\"]\n",
                "",
                "the scenario lacks `instance`",
            ),
            ("[test]\n", "[test]\nkind = \"stres\"\nlogs = 4\n", "unknown value"),
            (
                "[[instance]]",
                "[profile]\ncache_max = 5\ncache_min = \"100 GiB\"\n[[instance]]",
                "a size has a unit",
            ),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let sized = format!("{}database_size = \"80 GiB\"\n", GOOD.replacen(from, to, 1));
            let text = match to.is_empty() && from.starts_with("[[") {
                true => GOOD.replacen(from, to, 1),
                false => sized,
            };
            let said = said(&text, &[]);
            let whats: Vec<&str> = said
                .iter()
                .map(|said| said.split_once(": ").map_or(said.as_str(), |(_, what)| what))
                .collect();
            if whats != [what] {
                wrong.push(format!("{whats:?}, not {what}\n{text}"));
            }
        }
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn values_that_do_not_go_together_are_reported_beside_other_mistakes() {
        let text =
            GOOD.replace("sessions = 8", "sessions = 8\ntarget_io_per_s = 5\noperations_per_s = 7");
        let text = format!("{text}[profile]\nversion = 7\n");
        assert_eq!(
            said(&text, &[]),
            ["5: paces the sessions, and so does the target", "14: unknown version",]
        );
        let text = format!("{GOOD}databse_size = \"1 GiB\"\n");
        assert_eq!(
            said(&text, &[]),
            [
                "11: unknown key `databse_size` in [[instance]]",
                "11: the mailboxes make databases of 80 GiB",
            ]
        );
    }

    #[test]
    fn flags_are_checked_one_by_one() {
        let said = said(GOOD, &["test.sessions.x=1", "instance.4.log=a", "test.seed=y"]);
        assert_eq!(
            said,
            [
                "there is no `x` in a number",
                "`4` names no element of the list",
                "is a text, not a whole number",
            ]
        );
    }

    #[test]
    fn mistakes_of_arrays_are_reported_together_too() {
        let text = "[simulate]\nduration = 5\n[array]\nqueue = \"sptv\"\nspares = 1\n[[array.drives]]\n\
                    model = \"nvme\"\ncount = 5\n[[array.group]]\nlevel = \"raid7\"\ndrives = 4\n[array.cache]\n\
                    wirte = \"1 GiB\"\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\n[[event]]\nat = \"1s\"\n\
                    what = \"drive fials\"\ndrive = 0\n";
        assert_eq!(
            said(text, &[]),
            [
                "2: not a length of time",
                "4: unknown value",
                "7: there is no such drive model",
                "10: unknown value",
                "13: unknown key `wirte` in [array.cache]",
                "14: lacks `outstanding`",
                "19: unknown value",
            ]
        );
    }

    #[test]
    fn mistakes_of_a_test_on_arrays_are_reported_together_too() {
        let text = format!(
            "{}[array]\n[[array.drives]]\nmodel = \"10k-600-fc\"\ncount = 4\n[[array.group]]\nlevel = \"raid10\"\n\
             drives = 5\n[volumes]\n\"/a\" = \"group 1\"\n",
            GOOD.replace("count = 40", "count = \"x\"")
        );
        assert_eq!(
            said(&text, &[]),
            [
                "5: is a text, not a whole number",
                "17: but only 4 of 4 drives are left for \"group 0\"",
            ]
        );
    }

    #[test]
    fn the_search_ends() {
        let many: String = (0..1000).map(|n| format!("key{n} = 1\n")).collect();
        assert_eq!(said(&format!("{many}{GOOD}"), &[]).len(), MISTAKES_MAX);
    }
}
