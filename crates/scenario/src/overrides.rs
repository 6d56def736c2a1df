//! Values from the command line, which replace those of the file.

use super::place::{Place, Refusal};
use super::tree::{Node, Value, parse_flag};

/// Keys of one table that say the same thing in two ways: the one from the command line replaces
/// the other.
const EITHER: [(&str, [&str; 2]); 3] = [
    ("link", ["rtt", "km"]),
    ("mail", ["profile", "deliveries"]),
    ("target", ["ca", "certificate"]),
];

/// One value from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Keys from the top, joined by dots; an element of a list is named by its number from 0.
    key: String,
    value: String,
    /// The flag as it was written, for messages.
    flag: String,
}

impl Override {
    /// Everything that a command line replaces, in order: `--set` first, so that `flags` of their
    /// own win. Those are given as flag, key and value, if there is one.
    pub fn all(
        set: &[String],
        flags: &[(&str, &str, &Option<String>)],
    ) -> Result<Vec<Self>, Refusal> {
        let mut all = Vec::new();
        for text in set {
            all.push(Self::of_set(text)?);
        }
        for (flag, key, value) in flags {
            all.extend(value.as_ref().map(|value| Self::of_flag(flag, key, value)));
        }
        Ok(all)
    }

    /// What a flag without a value says, such as `--tune` for `test.tune = true`, if it is there.
    pub fn of_switch(flag: &str, is_there: bool, key: &str, value: &str) -> Option<Self> {
        let flag = flag.to_owned();
        is_there.then(|| Self { flag, ..Self::of_flag("", key, value) })
    }

    /// What a flag of its own says, such as `--duration 90s` for `test.duration`.
    pub fn of_flag(flag: &str, key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), flag: format!("{flag} {value}") }
    }

    /// What `--set key=value` says.
    ///
    /// # Errors
    /// When there is no `=`, or nothing before it.
    pub fn of_set(text: &str) -> Result<Self, Refusal> {
        Self::of_set_in(text, "--set")
    }

    /// The same as `place` of a scenario has it.
    pub(super) fn of_set_in(text: &str, place: &str) -> Result<Self, Refusal> {
        let flag = format!("{place} {text}");
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned(), flag })
            }
            _ => Err(Place::flag(&flag)
                .refuse("has no `key=value`")
                .hint("for example: --set test.duration=90s")),
        }
    }

    /// What the key is set to, as it was written.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// As `--set` takes it: [`Self::of_set`] reads it again.
    pub fn as_set(&self) -> String {
        format!("{}={}", self.key, self.value)
    }

    /// Puts the value into `root`. Tables on the way are made; whether the key means anything is
    /// found out by the reader.
    pub(super) fn apply(&self, root: &mut Node) -> Result<(), Refusal> {
        let place = Place::flag(&self.flag);
        let mut node = &mut *root;
        for step in self.key.split('.').map(str::trim) {
            node = descend(node, step, &place)?;
        }
        *node = parse_flag(&self.value, &place);
        for (table, [one, other]) in EITHER {
            for (own, rival) in [(one, other), (other, one)] {
                if self.key == format!("{table}.{own}") {
                    forget(root, table, rival);
                }
            }
        }
        Ok(())
    }
}

/// Removes from `base` what says otherwise what `over` says.
pub(super) fn forget_rivals(base: &mut Node, over: &Node) {
    let has = |table: &str, key: &str| {
        let tables = over.entries().iter().filter(|(name, _)| name == table);
        tables.flat_map(|(_, node)| node.entries()).any(|(own, _)| own == key)
    };
    for (table, [one, other]) in EITHER {
        for (own, rival) in [(one, other), (other, one)] {
            if has(table, own) {
                forget(base, table, rival);
            }
        }
    }
}

/// Removes `key` from `table`.
fn forget(root: &mut Node, table: &str, key: &str) {
    let Value::Table(tables) = &mut root.value else {
        return;
    };
    let own = tables.iter_mut().filter(|(name, _)| name == table);
    for (_, node) in own {
        if let Value::Table(entries) = &mut node.value {
            entries.retain(|(name, _)| name != key);
        }
    }
}

fn descend<'a>(node: &'a mut Node, step: &str, place: &Place) -> Result<&'a mut Node, Refusal> {
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|(key, _)| key == step);
            let at = at.unwrap_or_else(|| {
                let value = Value::Table(Vec::new());
                let place = place.clone();
                entries.push((step.to_owned(), Node::new(value, place)));
                entries.len() - 1
            });
            Ok(&mut entries[at].1)
        }
        Value::List(nodes) => {
            let count = nodes.len();
            let at = step.parse().ok().filter(|at: &usize| *at < count);
            at.and_then(|at| nodes.get_mut(at)).ok_or_else(|| {
                let refusal = place.refuse(format!("`{step}` names no element of the list"));
                refusal.hint(format!("it has {count}, numbered from 0"))
            })
        }
        value => Err(place.refuse(format!("there is no `{step}` in {}", value.kind()))),
    }
}
