//! Figures that are kept as TOML beside the code: read once, and kept as long as the program runs.

use brunt_workload::profile::Certainty;
use toml::{Table, Value};

/// The names of `text` and what each has, in their order.
///
/// # Panics
/// When it is not TOML: a test reads all of it. So do the functions below.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = (&'static str, Value)> {
    let all: Table = text.parse().expect("it is TOML");
    all.into_iter().map(|(name, value)| (kept(name), value))
}

pub(crate) fn kept(text: String) -> &'static str {
    text.leak()
}

/// The text at `at` of a list.
pub(crate) fn text(list: &[Value], at: usize) -> &'static str {
    let text = list[at].as_str();
    kept(text.unwrap_or_else(|| panic!("{list:?} has no text at {at}")).to_owned())
}

/// How certain a figure is, by its word.
pub(crate) fn certainty(word: &str) -> Certainty {
    match word {
        "found" => Certainty::Found,
        "inferred" => Certainty::Inferred,
        "published" => Certainty::Published,
        "assumed" => Certainty::Assumed,
        other => panic!("{other} says not how certain a figure is"),
    }
}
