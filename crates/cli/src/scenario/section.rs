//! One table of a scenario, key by key.

use std::path::PathBuf;

use brunt_units::{ByteSize, SizeError, Span};

use super::nearest::nearest;
use super::place::{Place, Placed, Refusal};
use super::tree::{Node, Value};

/// A table whose keys are all known.
pub(super) struct Section {
    entries: Vec<(String, Node)>,
    place: Place,
    name: String,
}

impl Section {
    /// The table `node`, called `name` in messages.
    ///
    /// # Errors
    /// When it is not a table, or has a key that is not in `known`.
    pub(super) fn new(node: Node, name: &str, known: &[&str]) -> Result<Self, Refusal> {
        let Value::Table(entries) = node.value else {
            let what = format!("is {}, but {name} is a table", node.value.kind());
            return Err(node.place.refuse(what));
        };
        for (key, node) in &entries {
            if !known.contains(&key.as_str()) {
                let refusal = node.place.refuse(format!("unknown key `{key}` in {name}"));
                return Err(refusal.hint(match nearest(key, known) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("its keys are {}", known.join(", ")),
                }));
            }
        }
        Ok(Self {
            entries,
            place: node.place,
            name: name.to_owned(),
        })
    }

    /// Where the table stands.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Everything that has not been taken out.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        &self.entries
    }

    /// Takes the value of `key` out, if it was written.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// The refusal of a table that lacks `key`.
    pub(super) fn lacks(&self, key: &str, example: &str) -> Refusal {
        let refusal = self.place.refuse(format!("{} lacks `{key}`", self.name));
        refusal.hint(format!("for example: {example}"))
    }

    /// The value of `key` as `read` understands it, with its place.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Result<Option<Placed<T>>, Refusal> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        let value = read(&node)?;
        let place = node.place;
        Ok(Some(Placed { value, place }))
    }

    /// The value of `key`, or `default`.
    pub(super) fn read_or<T>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Result<Placed<T>, Refusal> {
        let place = self.place.clone();
        let value = self.read(key, read)?;
        Ok(value.unwrap_or(Placed {
            value: default,
            place,
        }))
    }
}

/// A text.
pub(super) fn text(node: &Node) -> Result<String, Refusal> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(node
            .place
            .refuse(format!("is {}, not a text", other.kind()))),
    }
}

/// A path; it is not empty.
pub(super) fn path(node: &Node) -> Result<PathBuf, Refusal> {
    match text(node)? {
        text if text.is_empty() => Err(node.place.refuse("the path is empty")),
        text => Ok(text.into()),
    }
}

/// A size with its unit.
pub(super) fn size(node: &Node) -> Result<ByteSize, Refusal> {
    if let Value::Integer(number) = node.value {
        let refusal = node.place.refuse("a size has a unit");
        return Err(refusal.hint(format!("for example \"{number} MiB\" or \"{number} MB\"")));
    }
    text(node)?.parse().map_err(|error: SizeError| match error {
        SizeError::UnknownUnit { hint, .. } => node.place.refuse(format!("unknown unit{hint}")),
        SizeError::NoUnit(number) => {
            let refusal = node.place.refuse("a size has a unit");
            refusal.hint(format!("for example \"{number} MiB\" or \"{number} MB\""))
        }
        SizeError::NoNumber(_) => {
            let refusal = node.place.refuse("a size begins with a number");
            refusal.hint("for example \"64 MiB\"")
        }
        SizeError::OutOfRange(_) => node.place.refuse("not a whole number of bytes below 2^64"),
    })
}

/// A length of time with its unit.
pub(super) fn span(node: &Node) -> Result<Span, Refusal> {
    let refuse = || {
        let refusal = node.place.refuse("not a length of time");
        refusal.hint("for example \"90s\", \"15min\", \"2h\" or \"2h 30min\"")
    };
    match &node.value {
        Value::Text(text) => text.parse().map_err(|_| refuse()),
        _ => Err(refuse()),
    }
}

/// A whole number of `range`.
pub(super) fn integer(node: &Node, range: std::ops::RangeInclusive<u64>) -> Result<u64, Refusal> {
    let Value::Integer(number) = node.value else {
        let what = format!("is {}, not a whole number", node.value.kind());
        return Err(node.place.refuse(what));
    };
    let number = u64::try_from(number)
        .ok()
        .filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        node.place.refuse(format!("not between {low} and {high}"))
    })
}

/// A number above zero.
pub(super) fn positive(node: &Node) -> Result<f64, Refusal> {
    match number(node)? {
        number if number > 0.0 => Ok(number),
        _ => Err(node.place.refuse("is not above zero")),
    }
}

/// A number that is zero or more.
pub(super) fn not_negative(node: &Node) -> Result<f64, Refusal> {
    match number(node)? {
        number if number >= 0.0 => Ok(number),
        _ => Err(node.place.refuse("is below zero")),
    }
}

/// Any finite number.
fn number(node: &Node) -> Result<f64, Refusal> {
    let number = match node.value {
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        Value::Integer(number) => number as f64,
        Value::Float(number) => number,
        _ => {
            let what = format!("is {}, not a number", node.value.kind());
            return Err(node.place.refuse(what));
        }
    };
    match number.is_finite() {
        true => Ok(number),
        false => Err(node.place.refuse("is not a finite number")),
    }
}

/// `true` or `false`.
pub(super) fn switch(node: &Node) -> Result<bool, Refusal> {
    match node.value {
        Value::Switch(switch) => Ok(switch),
        _ => Err(node.place.refuse("is neither true nor false")),
    }
}

/// What one word of a fixed list stands for.
pub(super) fn choice<T: Copy, const N: usize>(
    node: &Node,
    choices: &[(&str, T); N],
) -> Result<T, Refusal> {
    let at = word(node, &choices.map(|(word, _)| word))?;
    Ok(choices[at].1)
}

/// One word of a fixed list; its index.
pub(super) fn word(node: &Node, words: &[&str]) -> Result<usize, Refusal> {
    let written = text(node)?;
    words
        .iter()
        .position(|word| *word == written)
        .ok_or_else(|| {
            let refusal = node.place.refuse("unknown value");
            refusal.hint(match nearest(&written, words) {
                Some(word) => format!("did you mean \"{word}\"?"),
                None => format!("it can be {}", words.join(", ")),
            })
        })
}
