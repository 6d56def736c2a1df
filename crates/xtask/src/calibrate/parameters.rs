//! The parameters that may be fitted: few, each within its physically possible range.
//!
//! At most three that apply to everything, two per generation of the tool, two per array. Nothing outside this table is fitted, and
//! the scenarios mark what is.

/// The scope of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All tests by tools for this version of Exchange.
    Generation(&'static str),
    /// All tests of this system.
    System(&'static str),
    /// All tests by the version of the tool used with this system only.
    Tool(&'static str),
}

/// Maximum number of parameters per scope.
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
    /// The scenario settings it replaces; `{}` stands for the value.
    pub(crate) set: &'static [&'static str],
    /// Whether it must be a whole number.
    pub(crate) whole: bool,
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
        set,
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
        set: &["test.scheduling=station {}"],
        whole: false,
    }
}

pub(crate) const PARAMETERS: [Parameter; 8] = [
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
        set: &["profile.lazy_percent={}"],
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
        set: &["profile.lazy_percent={}"],
        whole: true,
    },
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
        let text = format!("{value}");
        self.set.iter().map(move |set| set.replace("{}", &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_allowed_and_each_begins_within_its_range() {
        for one in &PARAMETERS {
            let same = PARAMETERS.iter().filter(|other| other.scope == one.scope);
            assert!(same.count() <= MOST, "{:?}", one.scope);
            for value in [one.assumed, one.fitted] {
                assert_eq!(one.possible(value), value, "{}", one.name);
            }
            assert!(one.range.0 < one.range.1 && !one.reason.is_empty());
        }
    }

    #[test]
    fn values_are_written_as_scenarios_take_them() {
        let [station, .., write, _, _] = PARAMETERS;
        let set: Vec<String> = station.set(station.possible(0.43219)).collect();
        assert_eq!(set, ["test.scheduling=station 0.432"]);
        assert_eq!(write.set(write.possible(5000.0)).count(), 4);
        assert_eq!(
            write.set(write.possible(5000.0)).next().unwrap(),
            "array.0.controller.write=1000us"
        );
        assert!(write.matters("EqualLogic PS5000XV", "2013"));
        assert!(!station.matters("EMC CX3-20", "2013"));
    }
}
