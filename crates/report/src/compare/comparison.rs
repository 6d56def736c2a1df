//! The comparison: ratios with their intervals, an answer for each figure, and one for all.
//!
//! ```text
//!          -3 %        0        +3 %             the smallest difference that matters: 3 % here
//!            |  [--.--]|          |     better    the interval excludes 0 and reaches beyond 3 %
//!            |    [-.--|-]        |     cannot tell, but it is less than 3 %
//!       [----|----.----|----]     |     cannot tell: too short
//! ```

use brunt_stats::{Pair, Track, cliffs_delta, departures, differences};
use brunt_world::random::Streams;
use serde::Serialize;

use super::controls::{Control, controls};
use super::figure::{FIGURES, Figure};
use super::sameness::{CompareError, changed, is_whole, runs_differ};
use crate::result::{Interval, Sample};
use crate::{Run, Timestamp};

/// Name and version of the format of a comparison.
pub const COMPARISON_SCHEMA: &str = "brunt.comparison/1";

/// The seed of all bootstraps: equal runs give equal comparisons.
const SEED: u64 = 1;

/// More pairs than this are not worth asking for.
const PAIRS_MAX: usize = 1_000;

/// How runs are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The smallest difference that matters, as a share: 0.03.
    pub smallest: f64,
    /// Whether runs that did different work are compared all the same.
    pub allow_differences: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { smallest: 0.03, allow_differences: false }
    }
}

/// One of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum Answer {
    /// B is better than A.
    #[serde(rename = "better")]
    Better,
    /// B is worse than A.
    #[serde(rename = "worse")]
    Worse,
    /// Neither is known.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

/// A comparison of two sides of runs. Fields are only added; a value that was not measured is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = COMPARISON_SCHEMA))]
pub struct Comparison {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: String,
    /// Whether B is better than A.
    pub verdict: Answer,
    /// The verdict in words, with its reason.
    pub sentence: String,
    /// What a gate asks: whether no mean can have become worse by the smallest difference that
    /// matters and no p99 is shown to be worse, or B is better.
    pub not_worse: bool,
    /// The smallest difference that matters, in percent.
    pub smallest_difference_percent: f64,
    /// How often all intervals together hold the true values, as a share.
    pub confidence: f64,
    /// The runs of A.
    pub a: Vec<Compared>,
    /// The runs of B; each is paired with the one of A in the same place. In a history, the newest
    /// run, against all of A.
    pub b: Vec<Compared>,
    /// Each figure that all runs have.
    pub figures: Vec<ComparedFigure>,
    /// Each figure that a run lacks because it had no such I/O: whether A and B have it, `some` or
    /// `none`.
    pub missing: Vec<Difference>,
    /// What the storage cannot change.
    pub controls: Vec<Control>,
    /// What changed between the runs: keys of their scenarios, as `--set` names them, and facts of
    /// their machines.
    pub differences: Vec<Difference>,
}

/// A run that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    /// Its folder, as it was named.
    pub run: String,
    /// Its scenario.
    pub scenario: String,
    /// When it began, in UTC.
    pub started: Timestamp,
    /// Seconds of its collection.
    pub collection_s: f64,
    /// Its samples.
    pub samples: u64,
    /// Its verdict.
    pub verdict: crate::result::Verdict,
}

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// Its name for programs: `database-read-p99`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// `/s` for rates, `ms` for latencies.
    pub unit: String,
    /// Whether it counts for the overall verdict.
    pub decides: bool,
    /// Whether B is better in this figure.
    pub verdict: Answer,
    /// Of A; the geometric mean of several runs. A p99 is the geometric mean of those of the
    /// samples.
    pub a: f64,
    /// Of B.
    pub b: f64,
    /// B / A.
    pub ratio: f64,
    /// Where the true ratio lies; the intervals of all figures hold together. Null for a p99 of a
    /// single pair: it differs from run to run by more than it varies within one.
    pub interval: Option<Interval>,
    /// Cliff's delta of the samples: how much more often one of B is larger than one of A than
    /// smaller, -1 to 1.
    pub cliffs_delta: f64,
    /// Whether the interval excludes every difference that matters.
    pub no_difference: bool,
    /// The smallest difference that this comparison finds in four of five cases, in percent; null
    /// without an interval.
    pub finds_percent: Option<f64>,
    /// How long each run of a single pair must measure to find the smallest difference that matters
    /// in four of five cases, in seconds; null where there is an answer, or with several pairs.
    pub needs_s: Option<f64>,
    /// How many pairs like these it takes; null where there is an answer, or with one pair, or when
    /// more than a thousand.
    pub needs_pairs: Option<u64>,
    /// Samples in a block of the bootstrap; null without an interval.
    pub block_samples: Option<u64>,
}

/// A property in which runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// `array.controller.read`, `kernel`.
    pub what: String,
    /// Of the first run of A.
    pub a: String,
    /// Of the first run that differs.
    pub b: String,
}

/// Compares the runs of both sides, paired in order; each has its name.
///
/// # Errors
/// [`CompareError`] when one is not whole, or they did different work.
pub fn compare(
    a: &[(String, Run)],
    b: &[(String, Run)],
    options: &Options,
) -> Result<Comparison, CompareError> {
    if a.len() != b.len() || a.is_empty() {
        return Err(CompareError::Sides(a.len(), b.len()));
    }
    for (name, run) in a.iter().chain(b) {
        is_whole(name, run)?;
    }
    let differences = differ(a, b, options)?;
    Ok(compared_sides(a, b, differences, options))
}

/// Compares `newest` with the runs `before` it, two at least, which did the same work.
pub(super) fn against(
    before: &[(String, Run)],
    newest: &(String, Run),
    options: &Options,
) -> Comparison {
    let mut differences: Vec<Difference> = Vec::new();
    for (_, run) in before {
        for difference in changed(run, &newest.1) {
            if !differences.iter().any(|known| known.what == difference.what) {
                differences.push(difference);
            }
        }
    }
    compared_sides(before, std::slice::from_ref(newest), differences, options)
}

fn compared_sides(
    a: &[(String, Run)],
    b: &[(String, Run)],
    differences: Vec<Difference>,
    options: &Options,
) -> Comparison {
    let runs = |side: &[(String, Run)]| side.iter().map(compared).collect();
    let [of_a, of_b] = [a, b].map(|side| side.iter().map(|(_, run)| run).collect::<Vec<_>>());
    let controls = controls(&of_a, &of_b);
    let moved = controls.iter().any(|control| control.moved);
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        verdict: Answer::CannotTell,
        sentence: String::new(),
        not_worse: false,
        smallest_difference_percent: 100.0 * options.smallest,
        confidence: brunt_stats::CONFIDENCE,
        a: runs(a),
        b: runs(b),
        figures: figures(&of_a, &of_b, options, moved),
        missing: missing(&of_a, &of_b),
        controls,
        differences,
    };
    comparison.judge(moved);
    comparison.sentence = comparison.in_a_sentence();
    comparison
}

/// What differs between the first run and any other.
fn differ(
    a: &[(String, Run)],
    b: &[(String, Run)],
    options: &Options,
) -> Result<Vec<Difference>, CompareError> {
    let (one, first) = &a[0];
    let mut all: Vec<Difference> = Vec::new();
    let mut add = |found: Vec<Difference>| {
        for difference in found {
            if !all.iter().any(|known| known.what == difference.what) {
                all.push(difference);
            }
        }
    };
    for (other, run) in a[1..].iter().chain(b) {
        let differences = runs_differ(first, run);
        if !differences.is_empty() && !options.allow_differences {
            return Err(CompareError::Differ {
                one: one.clone(),
                other: other.clone(),
                differences,
            });
        }
        add(changed(first, run));
    }
    Ok(all)
}

fn compared((name, run): &(String, Run)) -> Compared {
    Compared {
        run: name.clone(),
        scenario: run.result.scenario.clone(),
        started: run.result.times.started,
        collection_s: run.result.times.collection_s,
        samples: run.samples.len() as u64,
        verdict: run.result.verdict,
    }
}

fn figures(a: &[&Run], b: &[&Run], options: &Options, moved: bool) -> Vec<ComparedFigure> {
    let tracks = |run: &&Run| FIGURES.iter().map(|f| f.track(&run.samples)).collect();
    let sides: [Vec<Vec<Option<Track>>>; 2] = [a, b].map(|side| side.iter().map(tracks).collect());
    let is_judged = |figure: &Figure| figure.is_mean() || a.len() > 1;
    let judged = |tracks: &Vec<Option<Track>>| {
        let tracks = tracks.iter().zip(&FIGURES);
        let judged = tracks.map(|(track, figure)| track.clone().filter(|_| is_judged(figure)));
        judged.collect()
    };
    let mut stream = Streams::new(SEED).named("compare");
    let below = &mut |bound| stream.below(bound);
    let found = match is_paired(a, b) {
        true => {
            let pairs =
                sides[0].iter().zip(&sides[1]).map(|(a, b)| Pair { a: judged(a), b: judged(b) });
            differences(&pairs.collect::<Vec<_>>(), below)
        }
        false => {
            let before: Vec<_> = sides[0].iter().map(judged).collect();
            departures(&before, &judged(&sides[1][0]), below)
        }
    };
    let figures = FIGURES.iter().zip(found).enumerate();
    let figures = figures.filter_map(|(at, (figure, difference))| {
        let log = |side: &Vec<Vec<Option<Track>>>| {
            let logs: Option<Vec<f64>> =
                side.iter().map(|run| Some(run[at].as_ref()?.log)).collect();
            Some(logs?.iter().sum::<f64>() / side.len() as f64)
        };
        let logs = [log(&sides[0])?, log(&sides[1])?];
        let figure = ComparedFigure::new(figure, logs, a, b);
        Some(match difference {
            Some(difference) => figure.judged(&difference, a, b, options, moved),
            None => figure,
        })
    });
    figures.collect()
}

/// Whether each run of A has its own of B; otherwise there is one of B, against all of A.
fn is_paired(a: &[&Run], b: &[&Run]) -> bool {
    a.len() == b.len()
}

fn missing(a: &[&Run], b: &[&Run]) -> Vec<Difference> {
    let missing = FIGURES.iter().filter_map(|figure| {
        let has = |run: &&Run| figure.track(&run.samples).is_some();
        let [in_a, in_b] = [a, b].map(|side| side.iter().all(has));
        let word = |there| if there { "some" } else { "none" }.to_owned();
        (!in_a || !in_b).then(|| Difference {
            what: format!("{}, {}", figure.title, figure.unit),
            a: word(in_a),
            b: word(in_b),
        })
    });
    missing.collect()
}

impl ComparedFigure {
    /// A figure whose logarithms on both sides are `logs`, without an answer.
    fn new(figure: &Figure, logs: [f64; 2], a: &[&Run], b: &[&Run]) -> Self {
        let values = |run: &&Run| -> Vec<f64> {
            let samples = run.samples.iter();
            samples.filter_map(|sample: &Sample| figure.value(sample)).collect()
        };
        let deltas = a.iter().zip(b.iter().cycle());
        let deltas = deltas.filter_map(|(a, b)| cliffs_delta(&values(a), &values(b)));
        Self {
            id: figure.id.to_owned(),
            title: figure.title.to_owned(),
            unit: figure.unit.to_owned(),
            decides: figure.decides,
            verdict: Answer::CannotTell,
            a: logs[0].exp(),
            b: logs[1].exp(),
            ratio: (logs[1] - logs[0]).exp(),
            interval: None,
            cliffs_delta: deltas.sum::<f64>() / a.len() as f64,
            no_difference: false,
            finds_percent: None,
            needs_s: None,
            needs_pairs: None,
            block_samples: None,
        }
    }

    /// The same with an answer.
    fn judged(
        self,
        difference: &brunt_stats::Difference,
        a: &[&Run],
        b: &[&Run],
        options: &Options,
        moved: bool,
    ) -> Self {
        let (low, high) = (difference.log - difference.half, difference.log + difference.half);
        let smallest = options.smallest.ln_1p();
        let matters = high > smallest || low < -smallest;
        let more_is_better = self.known().is_some_and(Figure::more_is_better);
        let verdict = match (low > 0.0 || high < 0.0) && matters && !moved {
            true if (difference.log > 0.0) == more_is_better => Answer::Better,
            true => Answer::Worse,
            false => Answer::CannotTell,
        };
        // More runs before the newest would not bring it nearer to them.
        let needs = verdict == Answer::CannotTell && matters && !moved && is_paired(a, b);
        let lengths = a.iter().chain(b).map(|run| run.result.times.collection_s);
        let shortest = lengths.fold(f64::INFINITY, f64::min);
        let pairs = a.len();
        let needed = || difference.pairs_needed(smallest, pairs, PAIRS_MAX);
        Self {
            verdict,
            interval: Some(Interval {
                low: low.exp(),
                high: high.exp(),
                confidence: brunt_stats::CONFIDENCE,
            }),
            no_difference: !matters,
            finds_percent: Some(100.0 * difference.found_from().exp_m1()),
            needs_s: (needs && pairs == 1).then(|| shortest * difference.times_as_long(smallest)),
            needs_pairs: (needs && pairs > 1).then(needed).flatten().map(|count| count as u64),
            block_samples: Some(difference.block as u64),
            ..self
        }
    }

    /// What it is a figure of.
    fn known(&self) -> Option<&'static Figure> {
        FIGURES.iter().find(|figure| figure.id == self.id)
    }

    /// Whether it is a rate or a mean.
    pub(super) fn is_mean(&self) -> bool {
        self.known().is_some_and(Figure::is_mean)
    }
}

impl Comparison {
    /// The overall answers.
    fn judge(&mut self, moved: bool) {
        let any = |answer| self.deciding().any(|figure| figure.verdict == answer);
        let (better, worse) = (any(Answer::Better), any(Answer::Worse));
        self.verdict = match (better, worse) {
            (true, false) => Answer::Better,
            (false, true) => Answer::Worse,
            _ => Answer::CannotTell,
        };
        let smallest = 1.0 + self.smallest_difference_percent / 100.0;
        let mean_holds = |figure: &ComparedFigure| {
            let more_is_better = figure.known().is_some_and(Figure::more_is_better);
            let holds = figure.interval.is_some_and(|interval| match more_is_better {
                true => interval.low > 1.0 / smallest,
                false => interval.high < smallest,
            });
            holds || !figure.is_mean()
        };
        let holds = !worse && self.deciding().all(mean_holds);
        let measured = self.deciding().next().is_some();
        self.not_worse = measured && !moved && (holds || self.verdict == Answer::Better);
    }

    /// The figures that count for the overall verdict.
    pub fn deciding(&self) -> impl Iterator<Item = &ComparedFigure> {
        self.figures.iter().filter(|figure| figure.decides)
    }

    /// The text of the comparison for programs.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(self).expect("numbers and texts can be written");
        text.push('\n');
        text
    }
}
