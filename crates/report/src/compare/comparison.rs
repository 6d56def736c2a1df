//! The comparison: ratios with their intervals, an answer for each figure, and one for all.
//!
//! ```text
//!          -3 %        0        +3 %             the smallest difference that matters: 3 % here
//!            |  [--.--]|          |     better    the interval excludes 0 and reaches beyond 3 %
//!            |    [-.--|-]        |     cannot tell, but it is less than 3 %
//!       [----|----.----|----]     |     cannot tell: too short
//! ```

use brunt_stats::{Pair, cliffs_delta, differences};
use brunt_world::random::Streams;
use serde::Serialize;

use super::controls::{Control, controls};
use super::figure::{FIGURES, Figure};
use super::sameness::{CompareError, is_whole, settings_differ, work_differs};
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
        Self {
            smallest: 0.03,
            allow_differences: false,
        }
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
    /// Whether it is known that no mean became worse by the smallest difference that matters, and that no p99 became worse: what a gate
    /// asks.
    pub not_worse: bool,
    /// The smallest difference that matters, in percent.
    pub smallest_difference_percent: f64,
    /// How often all intervals together hold the true values, as a share.
    pub confidence: f64,
    /// The runs of A.
    pub a: Vec<Compared>,
    /// The runs of B; each is paired with the one of A in the same place.
    pub b: Vec<Compared>,
    /// Each figure that all runs have.
    pub figures: Vec<ComparedFigure>,
    /// What the storage cannot change.
    pub controls: Vec<Control>,
    /// What else differs between the runs.
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
    /// Of A; the geometric mean of several runs. A p99 is the geometric mean of those of the samples.
    pub a: f64,
    /// Of B.
    pub b: f64,
    /// B / A.
    pub ratio: f64,
    /// Where the true ratio lies; the intervals of all figures hold together.
    pub interval: Interval,
    /// Cliff's delta of the samples: how much more often one of B is larger than one of A than smaller, -1 to 1.
    pub cliffs_delta: f64,
    /// Whether the interval excludes every difference that matters.
    pub no_difference: bool,
    /// The smallest difference that this comparison finds in four of five cases, in percent.
    pub finds_percent: f64,
    /// How long each run of a single pair must measure to find the smallest difference that matters in four of five cases, in seconds;
    /// null where there is an answer, or with several pairs.
    pub needs_s: Option<f64>,
    /// How many pairs like these it takes; null where there is an answer, or with one pair, or when more than a thousand.
    pub needs_pairs: Option<u64>,
    /// Samples in a block of the bootstrap.
    pub block_samples: u64,
}

/// A property in which runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// `cache`, `kernel`.
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
        controls,
        differences,
    };
    comparison.judge(moved);
    comparison.sentence = comparison.in_a_sentence();
    Ok(comparison)
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
        let differences = work_differs(&first.result, &run.result);
        if !differences.is_empty() && !options.allow_differences {
            return Err(CompareError::Differ {
                one: one.clone(),
                other: other.clone(),
                differences,
            });
        }
        add(differences);
        add(settings_differ(&first.result, &run.result));
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
    let tracks = |run: &Run| FIGURES.iter().map(|f| f.track(&run.samples)).collect();
    let pairs = a.iter().zip(b).map(|(a, b)| Pair {
        a: tracks(a),
        b: tracks(b),
    });
    let pairs: Vec<Pair> = pairs.collect();
    let mut stream = Streams::new(SEED).named("compare");
    let found = differences(&pairs, &mut |bound| stream.below(bound));
    let figures = FIGURES.iter().zip(found).enumerate();
    let figures = figures.filter_map(|(at, (figure, difference))| {
        let side = |of: fn(&Pair) -> &Vec<Option<brunt_stats::Track>>| {
            let logs = pairs.iter().filter_map(|pair| of(pair)[at].as_ref());
            logs.map(|track| track.log).sum::<f64>() / pairs.len() as f64
        };
        let sides = [side(|pair| &pair.a), side(|pair| &pair.b)].map(f64::exp);
        Some(compared_figure(
            figure,
            difference?,
            sides,
            a,
            b,
            options,
            moved,
        ))
    });
    figures.collect()
}

fn compared_figure(
    figure: &Figure,
    difference: brunt_stats::Difference,
    sides: [f64; 2],
    runs_a: &[&Run],
    runs_b: &[&Run],
    options: &Options,
    moved: bool,
) -> ComparedFigure {
    let (low, high) = (
        difference.log - difference.half,
        difference.log + difference.half,
    );
    let smallest = options.smallest.ln_1p();
    let matters = high > smallest || low < -smallest;
    let verdict = match (low > 0.0 || high < 0.0) && matters && !moved {
        true if (difference.log > 0.0) == figure.more_is_better() => Answer::Better,
        true => Answer::Worse,
        false => Answer::CannotTell,
    };
    let needs = verdict == Answer::CannotTell && matters && !moved;
    let pairs = runs_a.len();
    let shortest = runs_a
        .iter()
        .chain(runs_b)
        .map(|run| run.result.times.collection_s);
    let shortest = shortest.fold(f64::INFINITY, f64::min);
    let values = |run: &&Run| -> Vec<f64> {
        let samples = run.samples.iter();
        samples
            .filter_map(|sample: &Sample| figure.value(sample))
            .collect()
    };
    let deltas = runs_a.iter().zip(runs_b);
    let deltas = deltas.filter_map(|(a, b)| cliffs_delta(&values(a), &values(b)));
    ComparedFigure {
        id: figure.id.to_owned(),
        title: figure.title.to_owned(),
        unit: figure.unit.to_owned(),
        decides: figure.decides,
        verdict,
        a: sides[0],
        b: sides[1],
        ratio: difference.log.exp(),
        interval: Interval {
            low: low.exp(),
            high: high.exp(),
            confidence: brunt_stats::CONFIDENCE,
        },
        cliffs_delta: deltas.sum::<f64>() / pairs as f64,
        no_difference: !matters,
        finds_percent: 100.0 * difference.found_from().exp_m1(),
        needs_s: (needs && pairs == 1).then(|| shortest * difference.times_as_long(smallest)),
        needs_pairs: match needs && pairs > 1 {
            true => difference
                .pairs_needed(smallest, pairs, PAIRS_MAX)
                .map(|pairs| pairs as u64),
            false => None,
        },
        block_samples: difference.block as u64,
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
        let mean_holds = |figure: &ComparedFigure| {
            let known = FIGURES.iter().find(|known| known.id == figure.id);
            known.is_none_or(|known| {
                let smallest = 1.0 + self.smallest_difference_percent / 100.0;
                let holds = match known.more_is_better() {
                    true => figure.interval.low > 1.0 / smallest,
                    false => figure.interval.high < smallest,
                };
                holds || !known.is_mean()
            })
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
