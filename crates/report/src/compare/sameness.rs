//! Whether runs may be compared: each is whole, and all did the same work.
//!
//! The storage, the machine and its settings may differ: that is what is compared. The work may
//! not.

use crate::result::{RunResult, Server, TestKind, Tested, World};
use crate::{Run, decimals};

use super::Difference;
use super::changed::Keys;

/// Why runs are not compared.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum CompareError {
    /// The sides have different numbers of runs.
    #[error("A has {0} runs and B has {1}: they are paired in order, so both need as many")]
    Sides(usize, usize),
    /// A run is given twice.
    #[error("{0}: is given twice; a run does not differ from itself")]
    Twice(String),
    /// It has not ended.
    #[error("{0}: has not ended: it is running, or its host died\n  compare it when it has ended")]
    Unfinished(String),
    /// It ended without an answer.
    #[error("{run}: its verdict is {verdict}, so it is not a whole test: {sentence}")]
    NoAnswer {
        run: String,
        /// *interrupted*, *error*, *invalid* or *inconclusive*.
        verdict: String,
        /// The verdict in a sentence.
        sentence: String,
    },
    /// There is no load in it.
    #[error("{0}: is a {1} test; performance and stress tests are compared")]
    Kind(String, Tested),
    /// It has too few samples.
    #[error("{run}: has {samples} samples, and {SAMPLES_MIN} are needed")]
    Short { run: String, samples: usize },
    /// They did different work.
    #[error("{one} and {other} do different work:\n{}\n  --allow-differences compares them all the same", lines(.differences))]
    Differ {
        /// The first run of A.
        one: String,
        /// The first that differs.
        other: String,
        differences: Vec<Difference>,
    },
    /// There are too few runs for a history.
    #[error("{folder}: has {found} runs that can be compared, and a history needs {least}{}", left_out(.skipped))]
    NoHistory {
        /// Where they were looked for.
        folder: String,
        found: usize,
        /// How many it takes.
        least: usize,
        /// Why others were left out.
        skipped: Vec<String>,
    },
}

/// Every whole test has ten.
const SAMPLES_MIN: usize = 8;

fn lines(differences: &[Difference]) -> String {
    let line = |one: &Difference| format!("  {}: {} and {}", one.what, one.a, one.b);
    differences.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn left_out(skipped: &[String]) -> String {
    skipped.iter().map(|why| format!("\n  left out: {why}")).collect()
}

/// Whether `run` is a whole test under load.
///
/// # Errors
/// [`CompareError`] says why not.
pub(super) fn is_whole(name: &str, run: &Run) -> Result<(), CompareError> {
    let result = &run.result;
    let name = name.to_owned();
    if !result.is_finished() {
        return Err(CompareError::Unfinished(name));
    }
    if !result.verdict.is_answer() {
        return Err(CompareError::NoAnswer {
            run: name,
            verdict: result.verdict.word().to_owned(),
            sentence: result.storage.details.sentence.clone(),
        });
    }
    let test = result.storage.test;
    if !test.kind().is_some_and(TestKind::has_limits) {
        return Err(CompareError::Kind(name, test));
    }
    match run.samples.len() {
        samples if samples < SAMPLES_MIN => Err(CompareError::Short { run: name, samples }),
        _ => Ok(()),
    }
}

/// A property of a run, in words.
struct Property {
    what: &'static str,
    of: fn(&RunResult) -> String,
    /// Sizes and lengths as a number: they are equal when they are close.
    number: Option<Number>,
    /// Whether a key of the scenario says it.
    is_said: bool,
}

/// A number of a run, if it is known.
type Number = fn(&RunResult) -> Option<f64>;

/// Numbers as close as this count as equal, as a share: databases grow from run to run.
const CLOSE: f64 = 0.1;

const fn exact(what: &'static str, of: fn(&RunResult) -> String) -> Property {
    Property { what, of, number: None, is_said: false }
}

const fn said(what: &'static str, of: fn(&RunResult) -> String) -> Property {
    Property { what, of, number: None, is_said: true }
}

const fn about(what: &'static str, of: fn(&RunResult) -> String, number: Number) -> Property {
    Property { what, of, number: Some(number), is_said: false }
}

/// What must be equal.
fn work() -> Vec<Property> {
    vec![
        exact("world", |r| {
            match r.world {
                World::Real => "real storage",
                World::Virtual => "modelled storage",
            }
            .to_owned()
        }),
        exact("brunt", |r| r.origin.version.clone()),
        exact("engine", |r| {
            let model = r.storage.details.model.as_ref();
            model.map_or("bytes", |model| &model.engine).to_owned()
        }),
        said("kind", |r| r.storage.test.to_string()),
        said("profile", |r| r.storage.details.setup.profile.clone()),
        said("page size", |r| format!("{} bytes", r.storage.details.setup.page_bytes)),
        said("instances", |r| r.instances().count().to_string()),
        said("databases", |r| r.storage.database_files.to_string()),
        about(
            "size of all databases",
            |r| gibibytes(r).map_or("unknown".to_owned(), |size| format!("{} GiB", decimals(size))),
            gibibytes,
        ),
        said("sessions", |r| r.storage.details.setup.sessions.to_string()),
        said("target", |r| {
            let target = r.storage.target_iops;
            target.map_or("none".to_owned(), |t| format!("{} /s", decimals(t)))
        }),
        about("measured", |r| format!("{:.0} s", r.times.collection_s), measured_s),
        said("injected faults", |r| r.storage.faults.len().to_string()),
    ]
}

/// What may differ, and is named.
fn settings() -> Vec<Property> {
    vec![
        exact("commit of brunt", |r| {
            r.origin.commit.clone().unwrap_or_else(|| "unknown".to_owned())
        }),
        said("cache", |r| {
            let setup = &r.storage.details.setup;
            let mib = |bytes: u64| decimals(bytes as f64 / 1_048_576.0);
            let (min, max) = (mib(setup.cache_bytes_min), mib(setup.cache_bytes_max));
            format!("{min} to {max} MiB")
        }),
        said("checkpoint depth", |r| {
            format!("{} bytes", r.storage.details.setup.checkpoint_depth_bytes)
        }),
        said("log buffer", |r| format!("{} bytes", r.storage.details.setup.log_buffer_bytes)),
        said("mix of operations", |r| {
            let s = &r.storage.details.setup;
            let (insert, delete) = (s.insert_percent, s.delete_percent);
            format!("{insert}/{delete}/{}/{} %", s.replace_percent, s.read_percent)
        }),
        said("lazy commits", |r| format!("{} %", r.storage.details.setup.lazy_commit_percent)),
        said("background maintenance", |r| on(r.storage.details.setup.background_maintenance)),
        said("circular logging", |r| on(r.storage.details.setup.circular_logging)),
        said("copies", |r| r.storage.details.setup.copies.to_string()),
        said("shards", |r| r.storage.details.setup.shards.to_string()),
        exact("host", |r| each(r, |server| server.name.clone())),
        exact("kernel", |r| each(r, |server| server.details.machine.kernel.clone())),
        exact("processors", |r| each(r, |server| server.details.machine.processors.to_string())),
        exact("I/O", |r| each(r, |server| server.details.backend.name.clone())),
        exact("file systems", |r| each(r, file_systems)),
    ]
}

fn file_systems(server: &Server) -> String {
    let volumes = server.details.backend.volumes.iter();
    let words = volumes.map(|volume| format!("{} on {}", volume.file_system, volume.device));
    words.collect::<Vec<_>>().join(", ")
}

fn on(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

fn each(result: &RunResult, of: fn(&Server) -> String) -> String {
    let mut words: Vec<String> = result.storage.servers.iter().map(of).collect();
    words.dedup();
    words.join(", ")
}

fn gibibytes(result: &RunResult) -> Option<f64> {
    let bytes = result.storage.database_bytes_initial?;
    Some(bytes as f64 / f64::from(1 << 30))
}

/// Predictions stop when they know enough, so their lengths say nothing.
fn measured_s(result: &RunResult) -> Option<f64> {
    let stops_early = result.storage.precision.is_some();
    (!stops_early).then_some(result.times.collection_s)
}

impl Property {
    fn difference(&self, a: &RunResult, b: &RunResult) -> Option<Difference> {
        let is_equal = match self.number {
            Some(number) => number(a)
                .zip(number(b))
                .is_none_or(|(one, other)| (one - other).abs() <= CLOSE * one.max(other)),
            None => (self.of)(a) == (self.of)(b),
        };
        (!is_equal).then(|| Difference {
            what: self.what.to_owned(),
            a: (self.of)(a),
            b: (self.of)(b),
        })
    }
}

/// In what work two runs differ; empty when they did the same.
pub fn work_differs(a: &RunResult, b: &RunResult) -> Vec<Difference> {
    let all = work();
    all.iter().filter_map(|one| one.difference(a, b)).collect()
}

/// The same for runs with their scenarios, which also say how the work was offered.
pub(super) fn runs_differ(a: &Run, b: &Run) -> Vec<Difference> {
    let mut all = work_differs(&a.result, &b.result);
    if let Some((a, b)) = both(a, b) {
        let said = WORK_OF_SCENARIO.iter().map(|(what, key)| Difference {
            what: (*what).to_owned(),
            a: a.get(key).to_owned(),
            b: b.get(key).to_owned(),
        });
        all.extend(said.filter(|one| one.a != one.b));
    }
    all
}

/// Everything that changed from `a` to `b`: keys of their scenarios, then the rest.
pub(super) fn changed(a: &Run, b: &Run) -> Vec<Difference> {
    let keys = both(a, b).map(|(a, b)| a.differences(&b));
    let properties = work().into_iter().chain(settings());
    let properties = properties.filter(|property| keys.is_none() || !property.is_said);
    let found: Vec<Difference> =
        properties.filter_map(|property| property.difference(&a.result, &b.result)).collect();
    keys.unwrap_or_default().into_iter().chain(found).collect()
}

/// Keys of a scenario that must be equal, and their names.
const WORK_OF_SCENARIO: [(&str, &str); 3] = [
    ("headroom, percent", "test.headroom_percent"),
    ("operations per second", "test.operations_per_s"),
    ("scheduling", "test.scheduling"),
];

/// The scenarios of both runs, where they are known.
fn both(a: &Run, b: &Run) -> Option<(Keys, Keys)> {
    Keys::of(&a.scenario).zip(Keys::of(&b.scenario))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = include_str!("../../tests/report/result_v2.json");

    fn run(scenario: &str) -> Run {
        Run {
            result: RunResult::from_json(RESULT).unwrap(),
            scenario: scenario.to_owned(),
            events: Vec::new(),
            samples: Vec::new(),
            parts: crate::parts::Parts::default(),
        }
    }

    #[test]
    fn the_offered_pace_is_work_and_all_keys_are_changes() {
        let a = run(
            "[test]\nheadroom_percent = 20\nscheduling = \"none\"\n\n[profile]\nbatch_operations = 50\n\n[records]\nbytes = 1\n",
        );
        let b = run(
            "[test]\nheadroom_percent = 0\noperations_per_s = 400\nscheduling = \"paced\"\n\n[profile]\nbatch_operations = 1\n\n[records]\nbytes = 2\n",
        );
        let words = |found: Vec<Difference>| {
            let said = found.iter().map(Difference::in_words);
            said.collect::<Vec<_>>()
        };
        assert_eq!(
            words(runs_differ(&a, &b)),
            [
                "headroom, percent 20 -> 0",
                "operations per second not set -> 400",
                "scheduling none -> paced"
            ]
        );
        assert_eq!(
            words(changed(&a, &b)),
            [
                "test.headroom_percent 20 -> 0",
                "test.scheduling none -> paced",
                "profile.batch_operations 50 -> 1",
                "records.bytes 1 -> 2",
                "test.operations_per_s not set -> 400"
            ]
        );
        assert_eq!(runs_differ(&a, &a), []);
        assert_eq!(runs_differ(&a, &run("")), [], "unknown");
    }
}
