//! What was fitted: searched parameters, few, each within its physically possible range, and
//! figures chosen by hand.
//!
//! At most three that are searched apply to everything, two per generation of the tool, two per
//! array. Nothing outside this table is fitted, and the scenarios mark what is. A system that is
//! left out is predicted without any value that was chosen for it:
//!
//! * what other systems determine has the value that they were fitted to;
//! * otherwise it has the mean of parameters of its kind that others determine;
//! * otherwise what is assumed: what is printed, or the default of tool or array.

/// The scope of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All tests.
    All,
    /// All tests by tools for this version of Exchange.
    Generation(&'static str),
    /// All tests of this system.
    System(&'static str),
    /// All tests by the version of the tool used with this system only.
    Tool(&'static str),
}

/// How a fit moves a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moves {
    /// In every round, up and down.
    Always,
    /// In the last round, up and down by this factor. Chosen by hand, on more than one system: the
    /// others choose again.
    Once(f64),
    /// In the last round, to every other choice.
    Choices,
    /// Never. Chosen by hand, on one system.
    Never,
}

/// Maximum number of searched parameters per scope.
#[cfg(test)]
const MOST: usize = 2;

/// A parameter that may be fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) scope: Scope,
    /// The value for an array that was never measured.
    pub(crate) assumed: f64,
    /// The value in the scenarios, where a search starts.
    pub(crate) fitted: f64,
    /// The physically possible range.
    pub(crate) range: (f64, f64),
    /// The reason for the range.
    pub(crate) reason: &'static str,
    /// Parameters of the same kind have the same meaning in other generations or arrays.
    pub(crate) kind: &'static str,
    pub(crate) moves: Moves,
    pub(crate) settings: Settings,
    /// Whether it must be a whole number.
    pub(crate) whole: bool,
}

/// What a value is in a scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settings {
    /// The settings it replaces; `{}` stands for the value.
    Number(&'static [&'static str]),
    /// The settings of each choice; the value is its number.
    Choice(&'static [&'static [&'static str]]),
}

const fn controller(
    name: &'static str,
    system: &'static str,
    kind: &'static str,
    [assumed, fitted]: [f64; 2],
    set: &'static [&'static str],
) -> Parameter {
    Parameter {
        name,
        scope: Scope::System(system),
        assumed,
        fitted,
        range: (20.0, 1000.0),
        reason: "20 us is a few thousand instructions; with 1 ms a processor would serve 1,000 I/Os a second",
        kind,
        moves: Moves::Always,
        settings: Settings::Number(set),
        whole: true,
    }
}

const fn station(name: &'static str, generation: &'static str, fitted: f64) -> Parameter {
    Parameter {
        name,
        scope: Scope::Generation(generation),
        assumed: 0.57,
        fitted,
        range: (0.05, 2.0),
        reason: "a share of a database write for each operation; sessions of published tests wait 30 to 50 % of their time",
        kind: "station",
        moves: Moves::Always,
        settings: Settings::Number(&["test.scheduling=station {}"]),
        whole: false,
    }
}

/// Chosen by hand among `settings`; the value is the number of a choice.
const fn choice(
    name: &'static str,
    scope: Scope,
    [assumed, fitted]: [f64; 2],
    moves: Moves,
    settings: &'static [&'static [&'static str]],
    reason: &'static str,
) -> Parameter {
    Parameter {
        name,
        scope,
        assumed,
        fitted,
        range: (0.0, (settings.len() - 1) as f64),
        reason,
        // Only one of a kind: choices have no mean.
        kind: name,
        moves,
        settings: Settings::Choice(settings),
        whole: true,
    }
}

const fn destages(
    name: &'static str,
    system: &'static str,
    fitted: f64,
    set: &'static [&'static str],
) -> Parameter {
    Parameter {
        name,
        scope: Scope::System(system),
        // The default of a modelled array.
        assumed: 4.0,
        fitted,
        range: (1.0, 16.0),
        reason: "more than a few writes on a drive at a time only wait there",
        kind: "destages",
        moves: Moves::Never,
        settings: Settings::Number(set),
        whole: true,
    }
}

const fn reads_again(
    name: &'static str,
    generation: &'static str,
    fitted: f64,
    moves: Moves,
) -> Parameter {
    Parameter {
        name,
        scope: Scope::Generation(generation),
        assumed: 0.0,
        fitted,
        range: (0.0, 100.0),
        reason: "a share of the reads; without it every read is of a record drawn anew",
        kind: "reads again",
        moves,
        settings: Settings::Number(&["profile.reads_again_percent={}"]),
        whole: true,
    }
}

pub(crate) const PARAMETERS: [Parameter; 22] = [
    station("station factor, 2007", "2007", 0.345),
    station("station factor, 2013", "2013", 0.79),
    Parameter {
        name: "lazy commits, 2013, %",
        scope: Scope::Generation("2013"),
        assumed: 70.0,
        fitted: 88.0,
        range: (70.0, 98.0),
        reason: "70 is printed; the log writes of this generation are four times fewer than that gives",
        kind: "lazy",
        moves: Moves::Always,
        settings: Settings::Number(&["profile.lazy_percent={}"]),
        whole: true,
    },
    controller(
        "write, CX3-20, us",
        "EMC CX3-20",
        "write",
        [150.0, 255.0],
        &["array.controller.write={}us"],
    ),
    controller(
        "write, MD3820f, us",
        "Dell MD3820f",
        "write",
        [150.0, 152.0],
        &["array.controller.write={}us"],
    ),
    controller(
        "write to data, PS5000XV, us",
        "EqualLogic PS5000XV",
        "write",
        [150.0, 185.0],
        DATA_WRITE,
    ),
    controller(
        "write to logs, PS5000XV, us",
        "EqualLogic PS5000XV",
        "write",
        [150.0, 275.0],
        &["array.4.controller.write={}us"],
    ),
    Parameter {
        name: "lazy commits, Jetstress 08.02, %",
        scope: Scope::Tool("EqualLogic PS5000XV"),
        assumed: 55.0,
        fitted: 68.0,
        range: (55.0, 80.0),
        reason: "55 is printed, of a version of the tool that no other system had; fewer log writes are than that gives",
        kind: "lazy of its version",
        moves: Moves::Always,
        settings: Settings::Number(&["profile.lazy_percent={}"]),
        whole: true,
    },
    destages("destages, CX3-20", "EMC CX3-20", 3.0, &["array.cache.destages_per_drive={}"]),
    destages("destages, MD3820f", "Dell MD3820f", 2.0, &["array.cache.destages_per_drive={}"]),
    destages("destages, PS5000XV", "EqualLogic PS5000XV", 3.0, DESTAGES),
    choice(
        "cache shares, MD3820f",
        Scope::System("Dell MD3820f"),
        [1.0, 0.0],
        Moves::Never,
        &[
            &["array.cache.write=6GiB", "array.cache.read=6GiB"],
            &["array.cache.write=8GiB", "array.cache.read=4GiB"],
        ],
        "assumed of the other arrays: half of the memory to write, a quarter to read",
    ),
    choice(
        "queue, CX3-20",
        Scope::System("EMC CX3-20"),
        [1.0, 0.0],
        Moves::Never,
        &[&["array.queue=elevator"], &["array.queue=sptf"]],
        "the shortest positioning time first is the default of a modelled array",
    ),
    // The EqualLogic's scenario takes it over from here, so the CX3-20 is not predicted with that.
    choice(
        "host stack, CX3-20",
        Scope::System("EMC CX3-20"),
        [1.0, 0.0],
        Moves::Never,
        &[&["array.front.host_stack=250us"], &["array.front.host_stack=80us"]],
        "80 us are the default of iSCSI",
    ),
    choice(
        "branch pages",
        Scope::All,
        [1.0, 0.0],
        Moves::Choices,
        &[&["twin.branch_pages=memory"], &["twin.branch_pages=read"]],
        "the engine reads them like all pages",
    ),
    choice(
        "checkpoint writes, MD3820f",
        Scope::System("Dell MD3820f"),
        [1.0, 0.0],
        Moves::Never,
        &[&["profile.checkpoint_writes=burst"], &["profile.checkpoint_writes=trickle"]],
        "the public source, and reports of 2010, show a trickle",
    ),
    reads_again("reads again, to 2007, %", "2007", 60.0, Moves::Once(1.5)),
    reads_again("reads again, 2013, %", "2013", 20.0, Moves::Never),
    Parameter {
        name: "beside, %",
        scope: Scope::All,
        assumed: 0.0,
        fitted: 30.0,
        range: (0.0, 50.0),
        reason: "a share of the records; each lies beside one other at most",
        kind: "beside",
        moves: Moves::Once(1.5),
        settings: Settings::Number(&["records.beside_percent={}"]),
        whole: true,
    },
    choice(
        "log format, to 2007",
        Scope::System("EMC CX3-20"),
        [1.0, 0.0],
        Moves::Never,
        &[&["twin.log_format=32KiB"], &["twin.log_format=512KiB"]],
        "the largest write of the public source, 512 KiB",
    ),
    choice(
        "recovery reads",
        Scope::System("EMC CX3-20"),
        [1.0, 0.0],
        Moves::Never,
        &[&["profile.recovery_reads=64"], &["profile.recovery_reads=8"]],
        "the engine on real storage, as the public source, has 8 for a database",
    ),
    choice(
        "checksum reads, CX3-20",
        Scope::System("EMC CX3-20"),
        [1.0, 0.0],
        Moves::Never,
        &[&["twin.checksum_reads=64"], &["twin.checksum_reads=8"]],
        "the EqualLogic's table of checksums shows 8 for a database",
    ),
];

const DESTAGES: &[&str] = &[
    "array.0.cache.destages_per_drive={}",
    "array.1.cache.destages_per_drive={}",
    "array.2.cache.destages_per_drive={}",
    "array.3.cache.destages_per_drive={}",
    "array.4.cache.destages_per_drive={}",
];

/// The four arrays of the database group are alike; the fifth holds the logs.
const DATA_WRITE: &[&str] = &[
    "array.0.controller.write={}us",
    "array.1.controller.write={}us",
    "array.2.controller.write={}us",
    "array.3.controller.write={}us",
];

impl Parameter {
    /// Whether it affects a test of `system` by a tool of `generation`.
    pub(crate) fn matters(&self, system: &str, generation: &str) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Generation(own) => own == generation,
            Scope::System(own) | Scope::Tool(own) => own == system,
        }
    }

    /// The value as it is written: within the range, and rounded if it must be whole.
    pub(crate) fn possible(&self, value: f64) -> f64 {
        let value = value.clamp(self.range.0, self.range.1);
        match self.whole {
            true => value.round(),
            false => (value * 1000.0).round() / 1000.0,
        }
    }

    /// The scenario settings with the value filled in.
    pub(crate) fn set(&self, value: f64) -> impl Iterator<Item = String> + use<> {
        let (settings, text) = match self.settings {
            Settings::Number(settings) => (settings, format!("{value}")),
            Settings::Choice(choices) => (choices[number(value)], String::new()),
        };
        settings.iter().map(move |set| set.replace("{}", &text))
    }

    /// A value for a table.
    pub(crate) fn shown(&self, value: f64) -> String {
        match self.settings {
            Settings::Number(_) => format!("{value}"),
            Settings::Choice(choices) => worded(choices[number(value)]),
        }
    }

    /// What it can be.
    pub(crate) fn possibilities(&self) -> String {
        match self.settings {
            Settings::Number(_) => format!("{} to {}", self.range.0, self.range.1),
            Settings::Choice(choices) => {
                let words: Vec<String> = choices.iter().map(|choice| worded(choice)).collect();
                words.join(" or ")
            }
        }
    }

    /// The values a fit tries besides `value` in a round with steps of this factor.
    pub(crate) fn candidates(&self, value: f64, step: f64, is_last: bool) -> Vec<f64> {
        let around = |step: f64| [value * step, value / step].map(|moved| self.possible(moved));
        match (self.moves, self.settings) {
            (Moves::Always, _) => around(step).to_vec(),
            (Moves::Once(step), _) if is_last => around(step).to_vec(),
            (Moves::Choices, Settings::Choice(choices)) if is_last => (0..choices.len())
                .map(|choice| choice as f64)
                .filter(|choice| *choice != value)
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The values of settings.
fn worded(settings: &[&str]) -> String {
    let values = settings.iter().filter_map(|set| set.split('=').nth(1));
    values.collect::<Vec<_>>().join(" + ")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number of a choice"
)]
fn number(choice: f64) -> usize {
    choice as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_allowed_and_each_begins_within_its_range() {
        for one in &PARAMETERS {
            let same = PARAMETERS.iter().filter(|other| other.scope == one.scope);
            let searched = same.filter(|other| other.moves == Moves::Always);
            assert!(searched.count() <= MOST, "{:?}", one.scope);
            for value in [one.assumed, one.fitted] {
                assert_eq!(one.possible(value), value, "{}", one.name);
            }
            assert!(one.range.0 < one.range.1 && !one.reason.is_empty());
        }
    }

    fn named(name: &str) -> Parameter {
        let mut all = PARAMETERS.into_iter();
        all.find(|one| one.name == name).unwrap()
    }

    #[test]
    fn values_are_written_as_scenarios_take_them() {
        let station = named("station factor, 2007");
        let set: Vec<String> = station.set(station.possible(0.43219)).collect();
        assert_eq!(set, ["test.scheduling=station 0.432"]);
        let write = named("write to data, PS5000XV, us");
        assert_eq!(write.set(write.possible(5000.0)).count(), 4);
        assert_eq!(
            write.set(write.possible(5000.0)).next().unwrap(),
            "array.0.controller.write=1000us"
        );
        assert!(write.matters("EqualLogic PS5000XV", "2013"));
        assert!(!station.matters("EMC CX3-20", "2013"));
        let shares: Vec<String> = named("cache shares, MD3820f").set(1.0).collect();
        assert_eq!(shares, ["array.cache.write=8GiB", "array.cache.read=4GiB"]);
    }

    #[test]
    fn what_one_system_decided_is_not_searched_and_choices_are_tried_once() {
        let tried = |name: &str, value, is_last| named(name).candidates(value, 1.3, is_last);
        assert_eq!(tried("station factor, 2007", 1.0, false), [1.3, 0.769]);
        assert_eq!(tried("branch pages", 0.0, false), [0.0; 0]);
        assert_eq!(tried("branch pages", 0.0, true), [1.0]);
        assert_eq!(tried("reads again, to 2007, %", 60.0, true), [90.0, 40.0]);
        assert_eq!(tried("queue, CX3-20", 0.0, true), [0.0; 0]);
    }
}
