//! Every mistake of a scenario at once.
//!
//! ```text
//!   document -> the reader -> refusal -> mend it in the document -> the reader -> refusal -> ... -> nothing to refuse
//! ```
//!
//! There is one reader, and it stops at the first thing that is wrong. So it reads again and again,
//! each time with the last mistake mended: a misspelt key gets the name that was meant, a wrong
//! value is taken out, and a missing one is put in as in the example that goes with its refusal.
//!
//! A mistake has no echo. What was put in is never refused, and what was taken out is not missed.
//! Where something has been mended, a refusal that compares values is not believed: it may compare
//! with what nobody wrote.

use std::collections::BTreeSet;

use super::place::{Cause, Place, Refusal};
use super::tree::{self, LISTS, Node, Value};

/// What reading a whole document came to.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// Everything that is wrong, in the order of its lines. Flags come first.
    pub mistakes: Vec<Refusal>,
    /// What the document describes, where it could be mended. With mistakes it is good for looking
    /// at what was written ([`Place::is_written`]), and not for a run.
    pub value: Option<T>,
}

/// More mistakes than this are not looked for.
const READS_MAX: usize = 200;

/// Sections that are compared with other sections.
const COMPARED: [&str; 9] =
    ["engine", "mailboxes", "throughput", "instance", "copy", "event", "volumes", "load", "tier"];

/// Tables that stand in for missing ones.
const TABLES: [(&str, &str); 8] = [
    (
        "instance",
        "[[instance]]\nlog = \"/log\"\ndatabases = [\"/db/one.edb\"]\ndatabase_size = \"512 MiB\"",
    ),
    (
        "array",
        "[array]\ndrives = [{ model = \"10k-600-fc\", count = 1 }]\ngroup = [{ level = \"raid0\", drives = 1 }]",
    ),
    ("drives", "drives = [{ model = \"10k-600-fc\", count = 4096 }]"),
    ("group", "group = [{ level = \"raid0\", drives = 1 }]"),
    ("simulate", "[simulate]\nduration = \"60s\""),
    ("org", "[org]\nservers = 256"),
    ("mailboxes", "[mailboxes]\ncount = 1\nquota = \"1 GiB\"\nmessages_per_day = 1"),
    ("load", "[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1"),
];

/// Everything that `read` refuses in `root`, after `mistakes`.
pub(super) fn all<T>(
    mut root: Node,
    mistakes: Vec<Refusal>,
    read: impl Fn(Node) -> Result<T, Refusal>,
) -> Checked<T> {
    let mut mender = Mender { mistakes, ..Mender::default() };
    let mut value = None;
    for _ in 0..READS_MAX {
        match read(root.clone()) {
            Ok(whole) => {
                value = Some(whole);
                break;
            }
            Err(refusal) => {
                if !mender.note_and_mend(&mut root, refusal) {
                    break;
                }
            }
        }
    }
    let mut mistakes = mender.mistakes;
    mistakes.sort_by(|one, other| one.place().order().cmp(&other.place().order()));
    Checked { mistakes, value }
}

#[derive(Default)]
struct Mender {
    mistakes: Vec<Refusal>,
    /// Keys that were taken out, and where their tables stand.
    taken: Vec<(Place, String)>,
    /// Keys that were renamed.
    renamed: Vec<Place>,
    /// Sections in which a value is no longer the one that was written.
    mended: BTreeSet<String>,
}

/// A step from a table or list to what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    At(usize),
}

impl Mender {
    /// Whether the document is worth another look.
    fn note_and_mend(&mut self, root: &mut Node, refusal: Refusal) -> bool {
        let place = refusal.place().clone();
        if !place.is_written() {
            return false;
        }
        let path = find(root, &place);
        let section = match (path.as_deref(), refusal.cause()) {
            (Some([Step::Key(key), ..]), _) => Some(key.clone()),
            (_, Cause::Lacks { table, .. }) => table_path(table).first().cloned(),
            _ => None,
        };
        let cause = refusal.cause().clone();
        if self.is_believed(&refusal, section.as_deref()) {
            self.mistakes.push(refusal);
        }
        match cause {
            Cause::Unknown { meant } => self.rename(root, path, meant),
            Cause::Lacks { table, key, example } => {
                put_in(root, path.as_deref(), &table, &key, &example) || self.take_out(root, path)
            }
            Cause::Value | Cause::Compared => self.take_out(root, path),
        }
    }

    fn is_believed(&mut self, refusal: &Refusal, section: Option<&str>) -> bool {
        match refusal.cause() {
            Cause::Unknown { .. } => true,
            Cause::Value => {
                self.mended.extend(section.map(str::to_owned));
                !self.renamed.contains(refusal.place())
            }
            Cause::Lacks { key, .. } => {
                self.mended.extend(section.map(str::to_owned));
                let missed = (refusal.place().clone(), key.clone());
                !self.taken.contains(&missed)
            }
            Cause::Compared => {
                let is_whole = match section {
                    Some(section) if !COMPARED.contains(&section) => !self.mended.contains(section),
                    _ => self.mended.is_empty(),
                };
                self.mended.extend(section.map(str::to_owned));
                is_whole
            }
        }
    }

    /// Gives an unknown key the name that was meant, or takes it out.
    fn rename(&mut self, root: &mut Node, path: Option<Vec<Step>>, meant: Option<String>) -> bool {
        let Some((Step::Key(key), table)) = path.as_deref().and_then(<[Step]>::split_last) else {
            return false;
        };
        let Some(Value::Table(entries)) = at(root, table).map(|node| &mut node.value) else {
            return false;
        };
        let is_there = |name: &str| entries.iter().any(|(own, _)| own == name);
        match meant.filter(|meant| !is_there(meant)) {
            Some(meant) => {
                let entry = entries.iter_mut().find(|(own, _)| own == key);
                let entry = entry.expect("it was found there");
                entry.0 = meant;
                self.renamed.push(entry.1.place.clone());
            }
            None => entries.retain(|(own, _)| own != key),
        }
        true
    }

    /// Takes a value out. A table that should be one of several becomes the only one.
    fn take_out(&mut self, root: &mut Node, path: Option<Vec<Step>>) -> bool {
        let Some((last, parent)) = path.as_deref().and_then(<[Step]>::split_last) else {
            return false;
        };
        let is_list = LISTS.contains(&dotted(path.as_deref().unwrap_or_default()).as_str());
        let Some(node) = at(root, parent) else {
            return false;
        };
        match (&mut node.value, last) {
            (Value::Table(entries), Step::Key(key)) => {
                let one = entries.iter_mut().find(|(own, _)| own == key);
                if let Some((_, one)) = one.filter(|(_, one)| is_list && is_table(one)) {
                    let only = one.clone();
                    one.value = Value::List(vec![only]);
                    return true;
                }
                entries.retain(|(own, _)| own != key);
                self.taken.push((node.place.clone(), key.clone()));
                true
            }
            (Value::List(nodes), Step::At(index)) => {
                nodes.remove(*index);
                match nodes.is_empty() {
                    true => self.take_out(root, Some(parent.to_vec())),
                    false => true,
                }
            }
            _ => false,
        }
    }
}

fn is_table(node: &Node) -> bool {
    matches!(node.value, Value::Table(_))
}

fn is_list_of_tables(node: &Node) -> bool {
    matches!(&node.value, Value::List(nodes) if nodes.iter().any(is_table))
}

/// The way to what stands at `place`, from the top.
fn find(node: &Node, place: &Place) -> Option<Vec<Step>> {
    let inside: Vec<(Step, &Node)> = match &node.value {
        Value::Table(entries) => {
            let entries = entries.iter();
            entries.map(|(key, node)| (Step::Key(key.clone()), node)).collect()
        }
        Value::List(nodes) => {
            nodes.iter().enumerate().map(|(at, node)| (Step::At(at), node)).collect()
        }
        _ => return None,
    };
    inside.into_iter().find_map(|(step, node)| {
        let rest = match node.place == *place {
            // The first table of `[[name]]` stands where their list does, and is what is meant.
            true if !is_list_of_tables(node) => Some(Vec::new()),
            is_here => find(node, place).or(is_here.then(Vec::new)),
        };
        rest.map(|rest| std::iter::once(step).chain(rest).collect())
    })
}

fn at<'n>(node: &'n mut Node, path: &[Step]) -> Option<&'n mut Node> {
    path.iter().try_fold(node, |node, step| match (&mut node.value, step) {
        (Value::Table(entries), Step::Key(key)) => {
            let entry = entries.iter_mut().find(|(own, _)| own == key);
            entry.map(|(_, node)| node)
        }
        (Value::List(nodes), Step::At(index)) => nodes.get_mut(*index),
        _ => None,
    })
}

/// `array.group`, wherever the array stands.
fn dotted(path: &[Step]) -> String {
    let keys = path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::At(_) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

/// The keys of a table's name in messages: of `[array.front]`, not of `[[instance]]`.
fn table_path(name: &str) -> Vec<String> {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let keys = inner.filter(|inner| !inner.starts_with('['));
    keys.map_or(Vec::new(), |keys| keys.split('.').map(str::to_owned).collect())
}

/// Puts in what a table lacks. One that is not written stands, in its refusal, where the whole
/// document does.
fn put_in(root: &mut Node, path: Option<&[Step]>, table: &str, key: &str, example: &str) -> bool {
    let node = match path {
        Some(path) => at(root, path),
        None => made(root, table_path(table)),
    };
    match (node.map(|node| &mut node.value), stand_in(key, example)) {
        (Some(Value::Table(entries)), Some(value)) => {
            entries.push((key.to_owned(), value));
            true
        }
        _ => false,
    }
}

/// The table at the end of `keys`, which is made if it is not there.
fn made(root: &mut Node, keys: Vec<String>) -> Option<&mut Node> {
    let mut node = root;
    for key in keys {
        let place = node.place.clone();
        let Value::Table(entries) = &mut node.value else {
            return None;
        };
        let index = entries.iter().position(|(own, _)| *own == key);
        let index = index.unwrap_or_else(|| {
            let value = Value::Table(Vec::new());
            entries.push((key, Node::new(value, place)));
            entries.len() - 1
        });
        node = &mut entries[index].1;
    }
    Some(node)
}

/// The value of `key` in `example`, or a table that serves.
fn stand_in(key: &str, example: &str) -> Option<Node> {
    let table = TABLES.iter().find(|(own, _)| *own == key);
    let texts = table.map(|(_, text)| *text).into_iter().chain([example]);
    texts.into_iter().find_map(|text| {
        let root = tree::parse("", text).ok()?;
        let Value::Table(entries) = root.value else {
            return None;
        };
        let (_, mut node) = entries.into_iter().find(|(own, _)| own == key)?;
        node.set_place(&Place::unwritten());
        Some(node)
    })
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
        assert_eq!(checked.value, Some(document.test(&[]).unwrap()));
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
        assert_eq!(said(&format!("{many}{GOOD}"), &[]).len(), READS_MAX);
    }
}
