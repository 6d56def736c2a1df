//! Where a value was written, and how a wrong one is refused.

use std::fmt;

use brunt_report::one_line;

/// Where a value stands: a line of a file, or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, nothing for a flag.
    file: Option<String>,
    /// The line, from 1, and nothing for the whole file.
    line: Option<usize>,
    /// What stands there: `quota = "2 GiB"`, `--duration 90s`; empty for the whole file.
    text: String,
}

/// Longer texts are cut in messages.
const TEXT_MAX: usize = 72;
/// So are longer sentences: they may quote a key or a value of any length.
const SENTENCE_MAX: usize = 1000;

impl Place {
    /// A place in a file.
    pub fn line(file: &str, line: usize, text: &str) -> Self {
        Self { file: Some(one_line(file).into_owned()), line: Some(line), text: shortened(text) }
    }

    /// A whole file.
    pub fn file(file: &str) -> Self {
        Self { file: Some(one_line(file).into_owned()), line: None, text: String::new() }
    }

    /// A flag, as it was written.
    pub fn flag(text: &str) -> Self {
        Self { file: None, line: None, text: shortened(text) }
    }

    /// The place of a value that nobody wrote; see [`super::mistakes`].
    pub(super) fn unwritten() -> Self {
        Self { file: None, line: None, text: String::new() }
    }

    /// Whether it was written, and does not stand in for something that is missing.
    pub fn is_written(&self) -> bool {
        *self != Self::unwritten()
    }

    /// The number of its line, if it is in one.
    #[cfg(test)]
    pub(super) fn number(&self) -> Option<usize> {
        self.line
    }

    /// What comes first in lists: flags, then the lines of each file.
    pub fn order(&self) -> (Option<&str>, Option<usize>) {
        (self.file.as_deref(), self.line)
    }

    /// Whether `text` is what stands here, and messages show it.
    pub(super) fn shows(&self, text: &str) -> bool {
        self.text == text
    }

    /// Refuses what stands here, because of `what`.
    pub fn refuse(&self, what: impl Into<String>) -> Refusal {
        Refusal {
            place: Box::new(self.clone()),
            what: cut(what.into()),
            hints: Vec::new(),
            is_for_room: false,
            cause: Box::new(Cause::Compared),
        }
    }
}

/// What stands there, or as much of its first line as a message takes.
fn shortened(text: &str) -> String {
    let mut start: String = text.chars().take(TEXT_MAX).collect();
    start.truncate(start.find('\n').unwrap_or(start.len()));
    match start.len() == text.len() {
        true => one_line(&start).into_owned(),
        false => format!("{} ...", one_line(start.trim_end())),
    }
}

fn cut(mut sentence: String) -> String {
    if let Some((at, _)) = sentence.char_indices().nth(SENTENCE_MAX) {
        sentence.truncate(at);
        sentence.push_str(" ...");
    }
    sentence
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: `{}`", self.text),
            (Some(file), None) => f.write_str(file),
            (None, _) => write!(f, "`{}`", self.text),
        }
    }
}

/// A value and where it was written. Two are equal when their values are.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    pub value: T,
    /// Where it was written.
    pub place: Place,
}

impl<T> Placed<T> {
    /// One that nobody wrote.
    pub(super) fn unwritten(value: T) -> Self {
        Self { value, place: Place::unwritten() }
    }
}

impl<T: PartialEq> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// Why a scenario cannot be run: the place, what is wrong with it, and the way out. Nothing has
/// been written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}{}", hints.iter().map(|hint| format!("\n  {hint}")).collect::<String>())]
pub struct Refusal {
    place: Box<Place>,
    what: String,
    hints: Vec<String>,
    is_for_room: bool,
    cause: Box<Cause>,
}

/// What kind of mistake it is, and so what is still believed of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A value that is wrong beside others.
    Compared,
    /// A value that is wrong by itself.
    Value,
    /// A key that does not exist.
    Unknown,
    /// A key that is missing from a table.
    Lacks { table: String },
}

impl Refusal {
    /// That of something that cannot be since something else was refused: it is not said.
    pub(super) fn echo() -> Self {
        Place::unwritten().refuse("")
    }

    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn cause(&self) -> &Cause {
        &self.cause
    }

    /// The same, for this reason.
    pub(super) fn because(mut self, cause: Cause) -> Self {
        *self.cause = cause;
        self
    }

    /// What is wrong, without the place and the way out.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Whether databases do not fit on their storage, and smaller ones would.
    pub fn is_for_room(&self) -> bool {
        self.is_for_room
    }

    /// Whether it is about a key that does not exist.
    pub fn is_unknown_key(&self) -> bool {
        *self.cause == Cause::Unknown
    }

    /// The same, because databases do not fit on their storage.
    #[must_use]
    pub fn for_want_of_room(self) -> Self {
        Self { is_for_room: true, ..self }
    }

    /// The same with one more line that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(cut(hint.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_place_and_the_way_out() {
        let refusal = Place::line("exchange.toml", 14, "quota = \"2G\"")
            .refuse("unknown unit")
            .hint("did you mean \"2 GiB\"?");
        assert_eq!(
            refusal.to_string(),
            "exchange.toml:14: `quota = \"2G\"`: unknown unit\n  did you mean \"2 GiB\"?"
        );
        assert_eq!(Place::flag("--seed x").to_string(), "`--seed x`");
    }

    #[test]
    fn long_and_broken_texts_are_cut() {
        let text = |text: &str| Place::flag(text).text;
        assert_eq!(text("databases = [\n  \"a\",\n]"), "databases = [ ...");
        assert_eq!(text(&"x".repeat(100)).len(), TEXT_MAX + 4);
        assert_eq!(text("a\r\n"), "a ...");
        let long = "x".repeat(1 << 20);
        let refusal =
            Place::line("t.toml", 1, &long).refuse(format!("unknown key `{long}`")).hint(long);
        assert!(refusal.to_string().len() < 3 * SENTENCE_MAX);
        let odd = Place::line("a\nb.toml", 1, "name = \"\u{1b}[2J\"");
        assert_eq!(odd.to_string(), "a\\nb.toml:1: `name = \"\\u{1b}[2J\"`");
    }
}
