//! What is known of each version before anything is calculated: the lines of `constants.toml`, with
//! a source and a certainty for each figure. [`SOURCES`] says what their names stand for.

use std::sync::LazyLock;

use brunt_units::ByteSize;
use brunt_workload::profile::{Figure, Version};
use toml::Value;

use crate::data;

use self::Era::{E2003, E2007, E2010, E2013, E2016, E2019};

const DATA: &str = include_str!("constants.toml");
/// The table of [`SOURCES`].
const NAMES: &str = "sources";

/// What the names of sources stand for.
pub(crate) static SOURCES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let (_, names) = data::entries(DATA).find(|(name, _)| *name == NAMES).expect("it has sources");
    let names = names.as_table().into_iter().flatten();
    let kept = |text: &str| data::kept(text.to_owned());
    names.map(|(name, what)| (kept(name), kept(what.as_str().expect("a text")))).collect()
});

/// Versions whose figures are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    E2003,
    E2007,
    E2010,
    E2013,
    E2016,
    E2019,
}

impl Era {
    const ALL: [Self; 6] = [E2003, E2007, E2010, E2013, E2016, E2019];
}

impl From<Version> for Era {
    fn from(version: Version) -> Self {
        match version {
            Version::Exchange2003 => E2003,
            Version::Exchange2007Early | Version::Exchange2007 => E2007,
            Version::Exchange2010 => E2010,
            Version::Exchange2013 => E2013,
            Version::Exchange2016 => E2016,
            Version::Exchange2019 => E2019,
        }
    }
}

/// Which numbers of copies a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    Any,
    One,
    More,
}

/// A figure, from each version on that changed it.
struct Row {
    name: &'static str,
    copies: Copies,
    from: Vec<(Era, Figure<f64>)>,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let all = data::entries(DATA).filter(|(name, _)| *name != NAMES);
    all.flat_map(|(name, value)| rows(name, &value)).collect()
});

/// The rows of `name`: one, or one for each number of copies.
fn rows(name: &'static str, value: &Value) -> Vec<Row> {
    let row = |copies, value: &Value| Row {
        name,
        copies,
        from: value.as_table().into_iter().flatten().map(figure).collect(),
    };
    match (value.get("one"), value.get("more")) {
        (None, None) => vec![row(Copies::Any, value)],
        (one, more) => {
            let one = one.map(|value| row(Copies::One, value));
            one.into_iter().chain(more.map(|value| row(Copies::More, value))).collect()
        }
    }
}

/// A figure, and the version that it holds from.
fn figure((version, value): (&String, &Value)) -> (Era, Figure<f64>) {
    let list = value.as_array().expect("a list");
    let number = match &list[0] {
        Value::String(size) => size.parse().map(|size: ByteSize| size.get() as f64).ok(),
        number => number.as_float(),
    };
    let era = Era::ALL.into_iter().find(|era| format!("{era:?}")[1..] == **version);
    let figure = Figure {
        value: number.unwrap_or_else(|| panic!("{list:?} has no value")),
        certainty: data::certainty(data::text(list, 1)),
        source: data::text(list, 2),
    };
    (era.unwrap_or_else(|| panic!("no version is called {version}")), figure)
}

/// Figures that nobody knows but the user.
pub(crate) const UNKNOWN: [&str; 4] =
    ["on_disk_percent", "megacycles_per_mailbox", "server_cores", "server_memory_bytes"];

/// What is known of a version with this many copies of a database.
pub(crate) fn known(era: Era, copies: u64) -> impl Iterator<Item = (&'static str, Figure<f64>)> {
    let rows = TABLE.iter().filter(move |row| match row.copies {
        Copies::Any => true,
        Copies::One => copies == 1,
        Copies::More => copies > 1,
    });
    rows.filter_map(move |row| {
        let last = row.from.iter().rev().find(|(from, _)| *from <= era);
        last.map(|(_, figure)| (row.name, *figure))
    })
}

/// Names of everything in the table, each once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    TABLE.iter().map(|row| row.name).filter(move |name| std::mem::replace(&mut last, name) != *name)
}

/// Messages of a profile in a day, sent and received together, and the database I/Os per second of
/// its mailbox.
type ProfileRow = (f64, f64);

/// Exchange 2003: light, average, heavy, large (Microsoft, bb125019).
const PROFILES_2003: [ProfileRow; 4] = [(70.0, 0.5), (105.0, 0.75), (140.0, 1.0), (210.0, 1.5)];
/// Exchange 2007: light, average, heavy, very heavy (slipstick).
const PROFILES_2007: [ProfileRow; 4] = [(25.0, 0.11), (50.0, 0.18), (100.0, 0.32), (150.0, 0.48)];

/// The profiles of a version that has no figure for each message.
pub(crate) fn profiles(era: Era) -> Option<&'static [ProfileRow]> {
    match era {
        E2003 => Some(&PROFILES_2003),
        E2007 => Some(&PROFILES_2007),
        _ => None,
    }
}

/// I/Os per second at `messages`, between two rows of `profiles`; outside them in proportion to the
/// nearest.
pub(crate) fn io_between(profiles: &[ProfileRow], messages: f64) -> f64 {
    between(profiles.iter().copied(), messages)
}

/// Messages at `io` per second: the other way.
pub(crate) fn messages_between(profiles: &[ProfileRow], io: f64) -> f64 {
    between(profiles.iter().map(|(messages, io)| (*io, *messages)), io)
}

fn between(rows: impl Iterator<Item = (f64, f64)>, at: f64) -> f64 {
    let mut below: Option<(f64, f64)> = None;
    for (x, y) in rows {
        if at <= x {
            return match below {
                None => y * at / x,
                Some((x0, y0)) => y0 + (y - y0) * (at - x0) / (x - x0),
            };
        }
        below = Some((x, y));
    }
    let (x, y) = below.expect("profiles have rows");
    y * at / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_met_and_passed_evenly() {
        for (profiles, messages, io) in [
            (&PROFILES_2007, 100.0, 0.32),
            (&PROFILES_2007, 75.0, 0.25),
            (&PROFILES_2007, 12.5, 0.055),
            (&PROFILES_2007, 300.0, 0.96),
            (&PROFILES_2003, 140.0, 1.0),
        ] {
            assert!((io_between(profiles, messages) - io).abs() < 1e-12, "{messages}");
            assert!((messages_between(profiles, io) - messages).abs() < 1e-9, "{io}");
        }
    }

    #[test]
    fn every_version_knows_each_figure_once() {
        for version in Version::ALL {
            for copies in [1, 2] {
                let mut names: Vec<_> =
                    known(version.into(), copies).map(|(name, _)| name).collect();
                let all = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), all, "{version}");
                assert!(all > 30, "{version}: {all}");
            }
        }
    }
}
