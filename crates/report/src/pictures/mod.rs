//! The four pictures of a report: rate, latency, latency distribution, and throughput.
//!
//! A long test has more samples than a picture has room for; neighbours are then drawn as one
//! point: rates and means are those of both, percentiles the larger. Curves are of all databases
//! (logs) together, and so is the worst sample that is marked. The value that was judged is that of
//! one database, so it may be higher and at another time.

pub(crate) mod happened;
mod view;
pub(crate) mod waits;

pub use view::{Part, View};

use std::collections::BTreeMap;

use serde::Serialize;

use crate::plot::{Axis, Curve, Drawn, Limit, Look, Mark, Plot, Timeline, clock};
use crate::result::{Distribution, Flow, Quantity, STEPS_PER_DECADE, Sample, step_of};
use crate::{Run, decimals, grouped};

/// Pictures, and what is said below them.
#[derive(Debug, Default, Serialize)]
pub struct Pictures {
    /// The pictures.
    pub drawn: Vec<Plot>,
    /// Time and text of each event with a number in the pictures.
    pub events: Vec<(String, String)>,
    /// What there is to know about them; often empty.
    pub note: String,
    /// A picture of a page before the others.
    before: Option<Before>,
}

/// A picture of another kind, drawn for a page.
#[derive(Debug, Serialize)]
struct Before {
    title: &'static str,
    html: String,
}

impl Pictures {
    /// `plots` with the same axis of time and the same timeline, if they have one, and a `note`
    /// below them.
    pub(crate) fn new(drawn: Vec<Plot>, note: String) -> Self {
        let numbered = drawn.iter().find(|plot| plot.timeline.is_numbered(&plot.x));
        let events = numbered.into_iter().flat_map(|plot| &plot.timeline.events);
        let events = events.map(|event| (clock(event.at_s), event.text.clone()));
        Self { events: events.collect(), drawn, note, before: None }
    }

    /// The same with another picture before them.
    pub(crate) fn after(self, title: &'static str, html: String) -> Self {
        let before = Some(Before { title, html });
        Self { before, ..self }
    }

    /// The pictures of `run`: none when nothing was collected.
    pub fn of(run: &Run) -> Self {
        Self::seen(run, &View::default())
    }

    /// The same, of what `view` chooses.
    pub fn seen(run: &Run, view: &View) -> Self {
        all(run, view)
    }
}

/// What is drawn.
struct Load<'a> {
    run: &'a Run,
    view: &'a View,
    samples: Vec<Sample>,
    /// At most [`POINTS_MAX`], each of one or more samples.
    points: Vec<Sample>,
    timeline: Timeline,
}

const MEBIBYTE: f64 = 1_048_576.0;

/// Every sample of two hours.
const POINTS_MAX: usize = 480;
/// More points of a percentile than this are drawn as a band of this many.
const BANDS_MAX: usize = 60;

fn all(run: &Run, view: &View) -> Pictures {
    let samples = view.samples(run);
    if samples.is_empty() {
        return Pictures::default();
    }
    let each = samples.len().div_ceil(POINTS_MAX);
    let points = samples.chunks(each).filter_map(|samples| {
        let (first, others) = samples.split_first()?;
        Some(others.iter().fold(*first, |all, next| all.then(next)))
    });
    let points = points.collect();
    let mut load = Load { run, view, samples, points, timeline: Timeline::default() };
    let mut notes: Vec<String> = view.note().into_iter().collect();
    if each > 1 {
        let length = clock(load.points[0].length_s);
        notes.push(format!("Each point stands for {each} samples ({length})."));
    }
    let (timeline, more) = happened::timeline(run, load.span());
    load.timeline = timeline;
    if more > 0 {
        notes.push(format!("{} more events are in the test log.", grouped(more as u64)));
    }
    let plots = vec![load.rate(), load.latency(), spread(run, view), load.throughput()];
    Pictures::new(plots, notes.join(" "))
}

impl Load<'_> {
    /// The part of the collection that is drawn, in seconds.
    fn span(&self) -> (f64, f64) {
        let end = |sample: &Sample| sample.begin_s + sample.length_s;
        let all = (0.0, self.points.iter().map(end).fold(0.0, f64::max));
        self.view.window.unwrap_or(all)
    }

    fn time(&self) -> Axis {
        let (from, until) = self.span();
        Axis::between(from, until)
    }

    /// A number of every point, drawn at the middle of its interval.
    fn curve(
        &self,
        name: &'static str,
        drawn: Drawn,
        number: impl Fn(&Sample) -> Option<f64>,
    ) -> Curve {
        let number = |sample: &Sample| number(sample).unwrap_or(f64::NAN);
        let points = self.points.iter();
        Curve {
            name: name.into(),
            points: points.map(|sample| (middle(sample), number(sample))).collect(),
            drawn,
        }
    }

    fn over_time(&self, title: &'static str, y: Axis, curves: Vec<Curve>) -> Plot {
        Plot { timeline: self.timeline.clone(), ..Plot::new(title, self.time(), y, curves) }
    }

    fn rate(&self) -> Plot {
        let mut curves = vec![
            self.curve("database reads", Drawn::Area, |s| Some(s.database_reads.per_s)),
            self.curve("database writes", Drawn::Line, |s| Some(s.database_writes.per_s)),
            self.curve("log writes", Drawn::Line, |s| Some(s.log_writes.per_s)),
        ];
        let limits = if self.view.is_of_all() { goals(self.run) } else { Vec::new() };
        if !limits.is_empty() {
            let both = |s: &Sample| Some(s.database_reads.per_s + s.database_writes.per_s);
            curves.push(self.curve("database reads and writes", Drawn::Line, both));
        }
        let most = limits.iter().map(|goal| goal.at).fold(highest(&curves), f64::max);
        let y = Axis::from_zero(most, "per second");
        Plot { limits, ..self.over_time("I/Os per second", y, curves) }
    }

    /// How percentiles are drawn: those of many samples would be a comb.
    fn percentiles(&self) -> Drawn {
        match self.points.len().div_ceil(BANDS_MAX) {
            1 => Drawn::Line,
            each => Drawn::Band(each),
        }
    }

    fn latency(&self) -> Plot {
        let read = |choose: fn(&Flow) -> Option<f64>| move |s: &Sample| choose(&s.database_reads);
        let curves = vec![
            self.curve("read, mean", Drawn::Line, read(|flow| flow.latency_ms_mean)),
            self.curve("read, p99", self.percentiles(), read(|flow| flow.latency_ms_p99)),
            self.curve("read, p99.9", self.percentiles(), read(|flow| flow.latency_ms_p999)),
            self.curve("log, mean", Drawn::Line, |s| s.log_writes.latency_ms_mean),
        ];
        let mut limits = limits(self.run, false);
        limits.extend(tail_limit(self.run).filter(|_| self.view.is_of_all()));
        let [databases, logs] = self.view.whose();
        let marks: Vec<Mark> = [
            self.worst(&databases, 0, |sample| &sample.database_reads),
            self.worst(&logs, 3, |sample| &sample.log_writes),
        ]
        .into_iter()
        .flatten()
        .collect();
        let also = || {
            let limits = limits.iter().map(|limit| limit.at);
            limits.chain(marks.iter().map(|mark| mark.at.1))
        };
        let y = Axis::powers(
            also().fold(lowest(&curves), f64::min),
            also().fold(highest(&curves), f64::max),
            "ms",
        );
        Plot { limits, marks, ..self.over_time("Latency", y, curves) }
    }

    /// The sample with the highest mean; none when there is only one.
    fn worst(&self, name: &str, curve: usize, of: fn(&Sample) -> &Flow) -> Option<Mark> {
        let samples = &self.samples;
        let mean = |sample| Some((sample, of(sample).latency_ms_mean?));
        let means = samples.iter().filter_map(mean);
        let (sample, ms) = means.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (samples.len() > 1).then(|| Mark {
            name: format!(
                "worst {} s, {name}: {} ms",
                decimals(sample.length_s).trim_end_matches(".00").trim_end_matches(".0"),
                decimals(ms)
            ),
            at: (middle(sample), ms),
            curve,
        })
    }

    fn throughput(&self) -> Plot {
        let mebibytes = |flow: &Flow| Some(flow.bytes_per_s / MEBIBYTE);
        let curves = vec![
            self.curve("database read", Drawn::Area, |s| mebibytes(&s.database_reads)),
            self.curve("database written", Drawn::Line, |s| mebibytes(&s.database_writes)),
            self.curve("log written", Drawn::Line, |s| mebibytes(&s.log_writes)),
        ];
        let y = Axis::from_zero(highest(&curves), "MiB per second");
        self.over_time("Throughput", y, curves)
    }
}

pub(crate) fn highest(curves: &[Curve]) -> f64 {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.map(|(_, y)| *y).filter(|y| y.is_finite()).fold(0.0, f64::max)
}

pub(crate) fn lowest(curves: &[Curve]) -> f64 {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.map(|(_, y)| *y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min)
}

pub(crate) fn middle(sample: &Sample) -> f64 {
    sample.begin_s + sample.length_s / 2.0
}

/// The target, and the pace that sessions were to keep.
fn goals(run: &Run) -> Vec<Limit> {
    let storage = &run.result.storage;
    let goals = [("target", storage.target_iops), ("pace", storage.details.setup.pace_iops)];
    let goal = |(name, at): (&str, Option<f64>)| {
        let name = format!("{name} {} /s", decimals(at?));
        Some(Limit { look: Look::Goal, ..Limit::level(name, at?) })
    };
    goals.into_iter().filter_map(goal).collect()
}

/// The limits of mean latencies that the test has.
fn limits(run: &Run, upright: bool) -> Vec<Limit> {
    let (rules, limits) = (&run.result.rules, &run.result.storage.details.setup.limits);
    let judged = |id: &str| rules.is_empty() || rules.iter().any(|rule| rule.id == id);
    let all = [
        ("read", limits.database_read_ms_mean, "database-read-average"),
        ("log write", limits.log_write_ms_mean, "log-write-average"),
    ];
    all.into_iter()
        .filter(|(_, at, rule)| *at > 0.0 && judged(rule))
        .map(|(name, at, _)| Limit {
            upright,
            ..Limit::level(format!("mean {name} limit {}", Quantity::new(at, "ms")), at)
        })
        .collect()
}

/// The limit of the slowest thousandth of reads, over the whole collection.
fn tail_limit(run: &Run) -> Option<Limit> {
    let rule = run.result.rules.iter().find(|rule| rule.id == "tail-database-read")?;
    let at = rule.limit?;
    Some(Limit::level(format!("read p99.9 limit {}", Quantity::new(at, "ms")), at))
}

/// Left end of the latency distribution; shorter latencies are drawn there. They say nothing about
/// storage, and operations that found everything in memory would stretch the axis by decades.
const SHORTEST_MS: f64 = 0.001;
/// A smaller share of I/Os, in percent, cannot be seen.
const VISIBLE: f64 = 0.1;

fn spread(run: &Run, view: &View) -> Plot {
    let limits = limits(run, true);
    let distributions = view.distributions(run);
    let named = [
        ("database read", "read"),
        ("database write", "write"),
        ("log write", "log write"),
        ("operation, from its intended start", "operation"),
    ];
    let curves: Vec<_> = named
        .into_iter()
        .filter_map(|(kind, name)| {
            let found = distributions.iter().find(|d| d.name == kind);
            found.map(|distribution| (name, distribution))
        })
        .map(|(name, distribution)| Curve {
            name: name.into(),
            points: steps(distribution),
            drawn: if name == "read" { Drawn::Area } else { Drawn::Line },
        })
        .collect();
    let x = latencies(&curves, &limits);
    let y = Axis::percent(highest(&curves), "% of I/Os");
    Plot { limits, is_stairs: true, ..Plot::new("Latency distribution", x, y, curves) }
}

/// The axis of the latencies that can be seen, with `limits`; lesser and greater ones are drawn at
/// its ends.
fn latencies(curves: &[Curve], limits: &[Limit]) -> Axis {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let seen = || points().filter(|(_, share)| *share >= VISIBLE).map(|(x, _)| *x);
    let ends = || seen().chain(limits.iter().map(|limit| limit.at));
    let least = ends().fold(f64::INFINITY, f64::min);
    let axis = Axis::powers(least, ends().fold(0.0, f64::max), "ms");
    match seen().any(|x| x <= SHORTEST_MS) || points().any(|(x, _)| *x < least) {
        true => axis.open_below(),
        false => axis,
    }
}

/// The share of the I/Os in each step (a tenth of a decade), drawn as a staircase.
pub(crate) fn steps(distribution: &Distribution) -> Vec<(f64, f64)> {
    let total: u64 = distribution.buckets.iter().map(|bucket| bucket.count).sum();
    let mut shares = BTreeMap::<i32, f64>::new();
    for bucket in &distribution.buckets {
        let latency = bucket.latency_ms_max.max(SHORTEST_MS);
        *shares.entry(step_of(latency)).or_default() += 100.0 * bucket.count as f64 / total as f64;
    }
    let (Some(first), Some(last)) = (shares.keys().next(), shares.keys().last()) else {
        return Vec::new();
    };
    let edge = |step: i32| 10_f64.powf(f64::from(step) / STEPS_PER_DECADE);
    let mut points = vec![(edge(*first), 0.0)];
    for step in *first..=*last {
        let share = shares.get(&step).copied().unwrap_or(0.0);
        points.extend([(edge(step), share), (edge(step + 1), share)]);
    }
    points.push((edge(*last + 1), 0.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Bucket;

    #[test]
    fn the_staircase_holds_every_io() {
        let bucket = |latency_ms_max, count| Bucket { latency_ms_max, count };
        let distribution = Distribution {
            name: String::new(),
            buckets: vec![bucket(0.11, 25), bucket(0.12, 25), bucket(1.05, 50)],
        };
        let points = steps(&distribution);
        let tread = |pair: &[(f64, f64)]| {
            if pair[0].1 == pair[1].1 { pair[0].1 } else { 0.0 }
        };
        let shares: f64 = points.windows(2).map(tread).sum();
        assert!((shares - 100.0).abs() < 1e-9);
        assert!((points[1].0 - 0.1).abs() < 1e-9 && points[1].1 == 50.0);
        assert!(points.iter().all(|(x, _)| *x > 0.0));
        let nothing = Distribution {
            name: String::new(),
            buckets: vec![bucket(0.000_001, 7), bucket(0.0005, 3), bucket(1.05, 10)],
        };
        let points = steps(&nothing);
        assert!((points[1].0 - SHORTEST_MS).abs() < 1e-9 && points[1].1 == 50.0);
    }
}
