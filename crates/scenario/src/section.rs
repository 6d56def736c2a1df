//! One table of a scenario, key by key.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use brunt_units::{ByteSize, SizeError, Span};

use super::format::bare_word;
use super::kept::{Keep, Kept};
use super::keys::{Key, Table};
use super::nearest::nearest;
use super::place::{Cause, Place, Placed, Refusal};
use super::tree::{Node, Value};

/// A table whose keys are all known.
pub(super) struct Section {
    entries: Vec<(String, Node)>,
    place: Place,
    name: String,
    kept: Kept,
}

impl Section {
    /// The table `node`, called `name` in messages.
    ///
    /// # Errors
    /// When it is not a table, or has a key that is not in `known`.
    pub(super) fn new(node: Node, name: &str, known: &[&str]) -> Result<Self, Refusal> {
        let Value::Table(entries) = node.value else {
            let what = format!("is {}, but {name} is a table", node.value.kind());
            return Err(node.place.refuse(what).because(Cause::Value));
        };
        for (key, node) in &entries {
            if !known.contains(&key.as_str()) {
                if ["faults", "incident"].contains(&key.as_str()) {
                    let refusal = node.place.refuse(format!("unknown table `{key}` in {name}"));
                    let refusal = refusal.hint("did you mean [[event]]?");
                    return Err(refusal.because(Cause::Unknown { meant: None }));
                }
                let refusal = node.place.refuse(format!("unknown key `{key}` in {name}"));
                let meant = nearest(key, known).map(str::to_owned);
                let refusal = refusal.hint(match &meant {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("its keys are {}", known.join(", ")),
                });
                return Err(refusal.because(Cause::Unknown { meant }));
            }
        }
        Ok(Self { entries, place: node.place, name: name.to_owned(), kept: node.kept })
    }

    /// The table `node` with the keys of `table`.
    pub(super) fn of(node: Node, table: &Table) -> Result<Self, Refusal> {
        Self::new(node, table.title, &table.names())
    }

    /// The table `key` of this one; an empty one where it is not written.
    pub(super) fn section(&mut self, key: &str, known: &[&str]) -> Result<Self, Refusal> {
        let node = self.table(key);
        Self::new(node, &format!("[{key}]"), known)
    }

    /// The value of `key`; an empty table where it is not written.
    pub(super) fn table(&mut self, key: &str) -> Node {
        self.take(key).unwrap_or_else(|| Node {
            value: Value::Table(Vec::new()),
            place: self.place.clone(),
            kept: self.kept.table(key),
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

    /// Takes the entries out of which `is_of` holds, as a table of the same place and name.
    pub(super) fn split(&mut self, is_of: impl Fn(&str) -> bool) -> Self {
        let all = std::mem::take(&mut self.entries);
        let (taken, kept) = all.into_iter().partition(|(key, _)| is_of(key));
        self.entries = kept;
        let (place, name) = (self.place.clone(), self.name.clone());
        Self { entries: taken, place, name, kept: Kept::default() }
    }

    /// Takes the value of `key` out, if it was written.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Whether `key` is written.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    /// Puts a value in that was taken out before, or a part of it.
    pub(super) fn put(&mut self, key: &str, node: Node) {
        self.entries.push((key.to_owned(), node));
    }

    /// The refusal of a table that lacks `key`.
    pub(super) fn lacks(&self, key: &str, example: &str) -> Refusal {
        let refusal = self.place.refuse(match self.place.shows(&self.name) {
            true => format!("lacks `{key}`"),
            false => format!("{} lacks `{key}`", self.name),
        });
        let refusal = refusal.hint(format!("for example: {example}"));
        refusal.because(Cause::Lacks {
            table: self.name.clone(),
            key: key.to_owned(),
            example: example.to_owned(),
        })
    }

    /// The value of `key` as `read` understands it, with its place. What is refused is wrong by
    /// itself.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Result<Option<Placed<T>>, Refusal> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        let value = read(&node).map_err(|refusal| refusal.because(Cause::Value))?;
        let place = node.place;
        Ok(Some(Placed { value, place }))
    }

    /// The same where what `read` accepts depends on other values.
    pub(super) fn read_beside<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Result<Option<Placed<T>>, Refusal> {
        let read = self.read(key, read);
        read.map_err(|refusal| refusal.because(Cause::Compared))
    }

    /// The value of `key`, or `default`.
    pub(super) fn read_or<T: Keep>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Result<Placed<T>, Refusal> {
        let found = self.read(key, read)?;
        Ok(self.or(found, key, default, T::keep))
    }

    /// What the word of `key` stands for, or `default`.
    pub(super) fn choice_or<T: Copy + PartialEq>(
        &mut self,
        key: &str,
        default: T,
        choices: &[(&str, T)],
    ) -> Result<Placed<T>, Refusal> {
        let found = self.read(key, |node| choice(node, choices))?;
        Ok(self.or(found, key, default, |value| bare_word(choices, *value).into()))
    }

    /// The value of `key`, if it was written.
    pub(super) fn find<T>(&mut self, key: &Key<T>) -> Result<Option<Placed<T>>, Refusal> {
        self.read(key.name, |node| key.kind.read(node))
    }

    /// The value of `key`, or `default`.
    pub(super) fn get<T>(&mut self, key: &Key<T>, default: T) -> Result<Placed<T>, Refusal> {
        let found = self.find(key)?;
        Ok(self.or(found, key.name, default, |value| key.kind.keep(value)))
    }

    /// What was `found` for `key`, or `default`, which is then kept.
    fn or<T>(
        &self,
        found: Option<Placed<T>>,
        key: &str,
        default: T,
        keep: impl FnOnce(&T) -> toml::Value,
    ) -> Placed<T> {
        found.unwrap_or_else(|| {
            self.kept.note(key, keep(&default));
            Placed { value: default, place: self.place.clone() }
        })
    }

    /// In what is kept, `key` has this value.
    pub(super) fn keep(&self, key: &str, value: &impl Keep) {
        self.kept.note(key, value.keep());
    }

    /// What is kept of it.
    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }
}

/// The tables of the list `node`, which is called `key`.
pub(super) fn tables(node: Node, key: &str) -> Result<Vec<Node>, Refusal> {
    match node.value {
        Value::List(nodes) => Ok(nodes),
        Value::Table(_) => Err(node
            .place
            .refuse("is one table, but there can be several")
            .hint(format!("write [[{key}]] with two brackets"))
            .because(Cause::Value)),
        other => Err(node
            .place
            .refuse(format!("is {}, not a list of tables", other.kind()))
            .because(Cause::Value)),
    }
}

/// Bytes of a name in a path: `NAME_MAX` of Linux (`limits.h`).
const NAME_MAX: usize = 255;
/// Bytes of a path: `PATH_MAX` of Linux without its last zero.
const PATH_MAX: usize = 4_095;
/// Bytes of a name of ours: with the time before it, a folder of that name can be made.
const OWN_NAME_MAX: usize = 200;
/// More I/Os per second than this are a slip of the pen: a thousand times what the largest arrays
/// do.
pub(super) const RATE_MAX: f64 = 1e9;

pub(super) fn text(node: &Node) -> Result<String, Refusal> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(node.place.refuse(format!("is {}, not a text", other.kind()))),
    }
}

/// A path; it is not empty.
pub(super) fn path(node: &Node) -> Result<PathBuf, Refusal> {
    let text = text(node)?;
    let refuse = |what: String| Err(node.place.refuse(what).hint("for example \"/data/db1\""));
    if text.is_empty() {
        return refuse("the path is empty".to_owned());
    }
    if text.contains('\0') {
        return refuse("a path cannot contain a NUL byte".to_owned());
    }
    let longest = text.split('/').map(str::len).max().unwrap_or_default();
    if longest > NAME_MAX {
        let what = format!("a name in it has {longest} bytes; Linux allows {NAME_MAX}");
        return refuse(what);
    }
    if text.len() > PATH_MAX {
        let what = format!("has {} bytes; Linux allows {PATH_MAX}", text.len());
        return refuse(what);
    }
    Ok(text.into())
}

/// A path; a relative one is relative to `folder`.
pub(super) fn absolute(node: &Node, folder: &Path) -> Result<PathBuf, Refusal> {
    // Only dots that change nothing are taken out: `..` may follow a symbolic link.
    Ok(folder.join(path(node)?).components().collect())
}

/// A name of ours, which folders are called after.
pub(super) fn name(node: &Node) -> Result<String, Refusal> {
    let text = text(node)?;
    let refuse = |what: String| Err(node.place.refuse(what).hint("for example \"mail\""));
    match text.len() {
        _ if text.contains('\0') => refuse("a name cannot contain a NUL byte".to_owned()),
        long if long > OWN_NAME_MAX => {
            refuse(format!("has {long} bytes, and a name ends at {OWN_NAME_MAX}"))
        }
        _ => Ok(text),
    }
}

/// From here on a number without a unit was bytes.
const BYTES_FROM: u64 = 1 << 20;

/// The refusal of a size that is only a number.
fn without_unit(node: &Node, number: &str) -> Refusal {
    let refusal = node.place.refuse("a size has a unit");
    let bytes = number.parse().ok().filter(|bytes| *bytes >= BYTES_FROM);
    refusal.hint(match bytes {
        Some(bytes) => format!("in bytes: \"{bytes} B\", which is {}", ByteSize::bytes(bytes)),
        None => format!("for example \"{number} MiB\" or \"{number} MB\""),
    })
}

/// A size with its unit.
pub(super) fn size(node: &Node) -> Result<ByteSize, Refusal> {
    if let Value::Integer(number) = node.value {
        if number == 0 {
            // Nothing is nothing in every unit.
            return Ok(ByteSize::bytes(0));
        }
        return Err(without_unit(node, &number.to_string()));
    }
    text(node)?.parse().map_err(|error: SizeError| match error {
        SizeError::UnknownUnit { hint, .. } => node.place.refuse(format!("unknown unit{hint}")),
        SizeError::NoUnit(number) => without_unit(node, &number),
        SizeError::NoNumber(_) => {
            let refusal = node.place.refuse("a size begins with a number");
            refusal.hint("for example \"64 MiB\"")
        }
        SizeError::OutOfRange(_) => {
            let refusal = node.place.refuse("is not a whole number of bytes below 2^64");
            refusal.hint("for example \"512 MiB\" or \"1.2 TiB\"")
        }
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

/// The same, but not zero.
pub(super) fn above_zero(node: &Node) -> Result<Span, Refusal> {
    match span(node)? {
        Span::ZERO => Err(node.place.refuse("must be longer than zero")),
        span => Ok(span),
    }
}

/// A length of time, also in microseconds: costs may be less than a millisecond.
pub(super) fn short_span(node: &Node) -> Result<Span, Refusal> {
    if let Ok(written) = text(node)
        && let Some(number) = written.trim().strip_suffix("us")
        && let Ok(micros) = number.trim().parse::<f64>()
        && (0.0..1e9).contains(&micros)
    {
        return Ok(Span::from_seconds(micros / 1e6));
    }
    span(node).map_err(|refusal| refusal.hint("short times can be written as \"150us\""))
}

/// A whole number of `range`.
pub(super) fn integer(node: &Node, range: std::ops::RangeInclusive<u64>) -> Result<u64, Refusal> {
    let Value::Integer(number) = node.value else {
        let what = format!("is {}, not a whole number", node.value.kind());
        return Err(unquoted::<u64>(node, node.place.refuse(what)));
    };
    let number = u64::try_from(number).ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        node.place.refuse(format!("not between {low} and {high}"))
    })
}

/// `refusal` of a text where a number is wanted, with the number it holds.
fn unquoted<T: FromStr + ToString>(node: &Node, refusal: Refusal) -> Refusal {
    let Value::Text(text) = &node.value else {
        return refusal;
    };
    let digits = text.trim().replace([',', '_', ' '], "");
    match digits.parse::<T>() {
        Ok(number) => refusal.hint(format!("without quotes: {}", number.to_string())),
        // TOML has no such number, so a flag took it as a text.
        Err(_) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            node.place.refuse("is larger than any whole number")
        }
        Err(_) => refusal.hint("a number, without quotes"),
    }
}

/// A rate per second.
pub(super) fn rate(node: &Node) -> Result<f64, Refusal> {
    match positive(node)? {
        rate if rate <= RATE_MAX => Ok(rate),
        _ => Err(too_much(&node.place)),
    }
}

/// The refusal of a rate above [`RATE_MAX`].
pub(super) fn too_much(place: &Place) -> Refusal {
    let refusal = place.refuse("asks for more than 1,000,000,000 a second");
    refusal.hint("no storage does that; a few hundred to some ten thousand are usual")
}

/// A length of time above zero.
pub(super) fn some_time(node: &Node) -> Result<Span, Refusal> {
    match span(node)? {
        Span::ZERO => Err(node.place.refuse("is not above zero").hint("for example \"20ms\"")),
        span => Ok(span),
    }
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
            return Err(unquoted::<f64>(node, node.place.refuse(what)));
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
pub(super) fn choice<T: Copy>(node: &Node, choices: &[(&str, T)]) -> Result<T, Refusal> {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    Ok(choices[word(node, &words)?].1)
}

/// One word of a fixed list; its index.
pub(super) fn word(node: &Node, words: &[&str]) -> Result<usize, Refusal> {
    let written = text(node)?;
    words.iter().position(|word| *word == written).ok_or_else(|| {
        let refusal = node.place.refuse("unknown value");
        refusal.hint(match nearest(&written, words) {
            Some(word) => format!("did you mean \"{word}\"?"),
            None => format!("it can be {}", words.join(", ")),
        })
    })
}
