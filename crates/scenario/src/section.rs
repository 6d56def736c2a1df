//! One table of a scenario, key by key.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use brunt_units::{ByteSize, SizeError, Span, SpanError};

use super::kept::{Keep, Kept};
use super::mistakes::Sink;
use super::nearest::nearest;
use super::place::{Cause, Place, Placed, Refusal};
use super::tree::{self, Node, Value};

/// A table, key by key. What is wrong in it goes to the document's [`Sink`], and reading goes on.
pub(super) struct Section {
    entries: Vec<(String, Node)>,
    /// What is wrong by itself, and so neither read nor missed.
    refused: Vec<String>,
    /// Where the keys were written.
    places: Vec<(String, Place)>,
    is_broken: bool,
    place: Place,
    name: String,
    kept: Kept,
    sink: Sink,
}

impl Section {
    /// The table `node`, called `name` in messages. Refuses something else, and keys that are not
    /// in `known`; one that was misspelt is read under the name that was meant.
    pub(super) fn new(node: Node, name: &str, known: &[&str]) -> Self {
        Self::hinted(node, name, known, None)
    }

    /// The same; refusals of keys have this hint, too.
    pub(super) fn hinted(node: Node, name: &str, known: &[&str], hint: Option<&str>) -> Self {
        let Node { value, place, kept, sink } = node;
        let kind = value.kind();
        let (written, is_broken) = match value {
            Value::Table(entries) => (entries, false),
            _ => (Vec::new(), true),
        };
        if is_broken {
            let refusal = place.refuse(format!("is {kind}, but {name} is a table"));
            let refusal = hint.iter().fold(refusal, |refusal, hint| refusal.hint(*hint));
            sink.refuse(refusal.because(Cause::Value));
        }
        let mut entries: Vec<(String, Node)> = Vec::new();
        let keys: Vec<String> = written.iter().map(|(key, _)| key.clone()).collect();
        for (key, node) in written {
            if known.contains(&key.as_str()) {
                entries.push((key, node));
            } else if let Some(meant) = refuse_unknown(&key, &node, (name, known), hint)
                && !keys.iter().any(|own| own == meant)
                && !entries.iter().any(|(own, _)| own == meant)
            {
                sink.rename(&node.place);
                entries.push((meant.to_owned(), node));
            }
        }
        let places = entries.iter().map(|(key, node)| (key.clone(), node.place.clone())).collect();
        let (refused, name) = (Vec::new(), name.to_owned());
        Self { entries, refused, places, is_broken, place, name, kept, sink }
    }

    /// The table `key` of this one; an empty one where it is not written.
    pub(super) fn section(&mut self, key: &str, known: &[&str]) -> Self {
        let node = self.table(key);
        Self::new(node, &format!("[{key}]"), known)
    }

    /// The value of `key`; an empty table where it is not written.
    pub(super) fn table(&mut self, key: &str) -> Node {
        self.take(key).unwrap_or_else(|| Node {
            value: Value::Table(Vec::new()),
            place: self.place.clone(),
            kept: self.kept.table(key),
            sink: self.sink.clone(),
        })
    }

    /// The value of `key`, which has to be there; an empty table stands in for it.
    pub(super) fn needed(&mut self, key: &str, example: &str) -> Node {
        if !self.has(key) {
            self.refuse(self.lacks(key, example));
        }
        let mut node = self.table(key);
        if !self.written(key) {
            node.place = Place::unwritten();
        }
        node
    }

    /// Where the table stands.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Where `key` was written; the table's own place if it was not.
    pub(super) fn place_of(&self, key: &str) -> &Place {
        let found = self.places.iter().find(|(own, _)| own == key);
        found.map_or(&self.place, |(_, place)| place)
    }

    /// Whether `key` was written, and is not wrong by itself.
    pub(super) fn written(&self, key: &str) -> bool {
        !self.was_refused(key) && self.places.iter().any(|(own, _)| own == key)
    }

    /// Whether `key` is wrong by itself.
    pub(super) fn was_refused(&self, key: &str) -> bool {
        self.refused.iter().any(|own| own == key)
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
        let (refused, places, is_broken) = (Vec::new(), self.places.clone(), self.is_broken);
        let (kept, sink) = (Kept::default(), self.sink.clone());
        Self { entries: taken, refused, places, is_broken, place, name, kept, sink }
    }

    /// Takes the value of `key` out, if it was written.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// The tables of the list `key`; none without the key.
    pub(super) fn tables(&mut self, key: &str) -> Vec<Node> {
        self.take(key).map_or(Vec::new(), |node| tables(node, key))
    }

    /// Whether `key` is written.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    /// Puts a value in that was taken out before, or a part of it.
    pub(super) fn put(&mut self, key: &str, node: Node) {
        self.entries.push((key.to_owned(), node));
    }

    /// Says what is wrong.
    pub(super) fn refuse(&self, refusal: Refusal) {
        self.sink.refuse(refusal);
    }

    /// Where that is said.
    pub(super) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// The refusal of a table that lacks `key`.
    pub(super) fn lacks(&self, key: &str, example: &str) -> Refusal {
        let place = match self.is_broken || self.was_refused(key) {
            true => Place::unwritten(),
            false => self.place.clone(),
        };
        let refusal = place.refuse(match place.shows(&self.name) {
            true => format!("lacks `{key}`"),
            false => format!("{} lacks `{key}`", self.name),
        });
        let refusal = refusal.hint(format!("for example: {example}"));
        refusal.because(Cause::Lacks { table: self.name.clone() })
    }

    /// The value of `key` as `read` understands it, with its place. What is refused is wrong by
    /// itself.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Option<Placed<T>> {
        self.read_because(key, Cause::Value, read)
    }

    /// The same where what `read` accepts depends on other values.
    pub(super) fn read_beside<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Option<Placed<T>> {
        self.read_because(key, Cause::Compared, read)
    }

    fn read_because<T>(
        &mut self,
        key: &str,
        cause: Cause,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Option<Placed<T>> {
        let node = self.take(key)?;
        match read(&node) {
            Ok(value) => Some(Placed { value, place: node.place }),
            Err(refusal) => {
                self.sink.refuse(refusal.because(cause));
                self.refused.push(key.to_owned());
                None
            }
        }
    }

    /// The value of `key`, or `default`.
    pub(super) fn read_or<T: Keep>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node) -> Result<T, Refusal>,
    ) -> Placed<T> {
        self.read(key, read).unwrap_or_else(|| {
            self.keep(key, &default);
            Placed { value: default, place: self.place.clone() }
        })
    }

    /// The value of `key`, which has to be there; that of `example` stands in for it.
    pub(super) fn need<T>(
        &mut self,
        key: &str,
        example: &str,
        read: impl Fn(&Node) -> Result<T, Refusal>,
    ) -> Placed<T> {
        if !self.has(key) {
            self.refuse(self.lacks(key, example));
        }
        self.read(key, &read).unwrap_or_else(|| {
            let mut root = tree::parse("", example).expect("an example is TOML");
            root.set_place(&Place::unwritten());
            let value = read(&root.entries()[0].1).expect("an example can be read");
            Placed { value, place: Place::unwritten() }
        })
    }

    /// In what is kept, `key` has this value, if any.
    pub(super) fn note(&self, key: &str, value: Option<toml::Value>) {
        value.into_iter().for_each(|value| self.kept.note(key, value));
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

/// Refuses `key`, which `name` does not have, and returns the one that was meant.
fn refuse_unknown<'k>(
    key: &str,
    node: &Node,
    (name, known): (&str, &[&'k str]),
    hint: Option<&str>,
) -> Option<&'k str> {
    let is_old = ["faults", "incident"].contains(&key);
    let meant = nearest(key, known).filter(|_| !is_old);
    let what = if is_old { "table" } else { "key" };
    let refusal = node.place.refuse(format!("unknown {what} `{key}` in {name}"));
    let refusal = refusal.hint(match meant {
        _ if is_old => "did you mean [[event]]?".to_owned(),
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("its keys are {}", known.join(", ")),
    });
    let refusal = hint.iter().fold(refusal, |refusal, hint| refusal.hint(*hint));
    node.sink.refuse(refusal.because(Cause::Unknown));
    meant
}

/// The tables of the list `node`, which is called `key`.
pub(super) fn tables(node: Node, key: &str) -> Vec<Node> {
    let Node { value, place, kept, sink } = node;
    let (refusal, nodes) = match value {
        Value::List(nodes) => return nodes,
        Value::Table(_) => {
            let refusal = place.refuse("is one table, but there can be several");
            let refusal = refusal.hint(format!("write [[{key}]] with two brackets"));
            (refusal, vec![Node { value, place, kept, sink: sink.clone() }])
        }
        other => {
            let what = format!("is {}, not a list of tables", other.kind());
            (place.refuse(what), Vec::new())
        }
    };
    sink.refuse(refusal.because(Cause::Value));
    nodes
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

/// `path`; a relative one is relative to `folder`.
pub(super) fn joined(folder: &Path, path: &Path) -> PathBuf {
    // Only dots that change nothing are taken out: `..` may follow a symbolic link.
    folder.join(path).components().collect()
}

/// A path; a relative one is relative to `folder`.
pub(super) fn absolute(node: &Node, folder: &Path) -> Result<PathBuf, Refusal> {
    Ok(joined(folder, &path(node)?))
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
    let refused = node.place.refuse("not a length of time");
    let usual = "for example \"90s\", \"15min\", \"2h\" or \"2h 30min\"".to_owned();
    match &node.value {
        Value::Text(text) => text.parse().map_err(|error: SpanError| {
            refused.hint(error.meant().map_or(usual, |meant| format!("did you mean \"{meant}\"?")))
        }),
        _ => Err(refused.hint(usual)),
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
