//! The pages of a comparison and of a history: the sentence, the pictures of both sides in one
//! another, the tables.

use serde::Serialize;

use super::page::{Served, rendered_for};
use crate::Run;
use crate::compare::{Answer, Comparison, FIGURES, History};
use crate::pictures::{Pictures, highest, lowest, middle, steps};
use crate::plot::{Axis, Curve, Drawn, Plot, Span, Timeline, intervals};
use crate::result::{Colour, Flow, Sample};
use crate::table::Table;

/// Two curves in one another are read only where they are quiet.
const POINTS_MAX: usize = 120;

const TEMPLATE: &str = include_str!("compare.html");

#[derive(Serialize)]
struct Page<'a> {
    /// What stands above the title.
    program: &'static str,
    verdict: String,
    colour: &'static str,
    name: String,
    sentence: &'a str,
    notes: Vec<String>,
    first: Table,
    pictures: Pictures,
    tables: Vec<Table>,
}

/// The page of `comparison`, whose runs are those of `a` and `b`.
pub fn comparison_html(
    comparison: &Comparison,
    a: &[(String, Run)],
    b: &[(String, Run)],
) -> String {
    comparison_for(comparison, [a, b], None)
}

/// The same page, `served`.
pub fn served_comparison_html(
    comparison: &Comparison,
    sides: [&[(String, Run)]; 2],
    served: &Served,
) -> String {
    comparison_for(comparison, sides, Some(served))
}

fn comparison_for(
    comparison: &Comparison,
    [a, b]: [&[(String, Run)]; 2],
    served: Option<&Served>,
) -> String {
    let verdict = comparison.verdict_in_words();
    let name = comparison.name();
    let page = Page {
        program: "comparison",
        verdict: match comparison.verdict {
            Answer::CannotTell => verdict,
            _ => format!("B IS {verdict}"),
        },
        colour: comparison.verdict.colour().class(),
        name: name.clone(),
        sentence: &comparison.sentence,
        notes: comparison.changed().map(|all| format!("Changed: {all}")).into_iter().chain([format!(
            "A change counts when its interval excludes zero and reaches beyond {} %. All intervals together hold the true values in 95 of 100 comparisons.",
            crate::compare::plain(comparison.smallest_difference_percent)
        )]).collect(),
        first: comparison.table(),
        pictures: pictures(comparison, a, b),
        tables: vec![
            comparison.differences_table(),
            comparison.details(),
            comparison.controls_table(),
            comparison.runs_table(),
        ],
    };
    let title = format!("{}: {name} (brunt)", page.verdict);
    rendered_for(served, TEMPLATE, &title, &title, &page)
}

fn pictures(comparison: &Comparison, a: &[(String, Run)], b: &[(String, Run)]) -> Pictures {
    let spans = comparison.figures.iter().filter_map(|figure| {
        let interval = figure.interval?;
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let (word, class) = match figure.verdict {
            Answer::Better => ("better", "better"),
            Answer::Worse => ("worse", "worse"),
            Answer::CannotTell => ("", ""),
        };
        Some(Span {
            name: figure.title.clone(),
            low: percent(interval.low),
            at: percent(figure.ratio),
            high: percent(interval.high),
            word,
            class,
        })
    });
    let spans: Vec<Span> = spans.collect();
    let smallest = comparison.smallest_difference_percent;
    const TITLE: &str = "Change from A to B";
    let plots = vec![
        rates(a, b),
        latencies("Database read latency", a, b, |sample| &sample.database_reads),
        latencies("Log write latency", a, b, |sample| &sample.log_writes),
        spread(a, b),
    ];
    let each = a[0].1.samples.len().div_ceil(POINTS_MAX);
    let thinned = (each > 1).then(|| format!("Each point stands for {each} samples."));
    let several =
        (a.len() > 1).then(|| format!("Curves are means of the {} runs of a side.", a.len()));
    let note: Vec<String> = thinned.into_iter().chain(several).collect();
    let note = note.join(" ");
    Pictures::new(plots, note).after(TITLE, intervals(TITLE, &spans, smallest))
}

/// A number over time: the mean over the runs of a side, as far as all of them go, several samples
/// to a point.
fn curve(
    name: &'static str,
    runs: &[(String, Run)],
    number: impl Fn(&Sample) -> Option<f64>,
) -> Curve {
    let series = runs.iter().map(|(_, run)| {
        let each = run.samples.len().div_ceil(POINTS_MAX).max(1);
        let points = run.samples.chunks(each).filter_map(|samples| {
            let (first, others) = samples.split_first()?;
            Some(others.iter().fold(*first, |all, next| all.then(next)))
        });
        points.collect()
    });
    let series: Vec<Vec<Sample>> = series.collect();
    let length = series.iter().map(Vec::len).min().unwrap_or(0);
    let point = |at: usize| {
        let values: Option<Vec<f64>> = series.iter().map(|samples| number(&samples[at])).collect();
        let mean = values.map_or(f64::NAN, |v| v.iter().sum::<f64>() / v.len() as f64);
        (middle(&series[0][at]), mean)
    };
    Curve { name: name.into(), points: (0..length).map(point).collect(), drawn: Drawn::Line }
}

fn over_time(title: &'static str, y: Axis, curves: Vec<Curve>) -> Plot {
    let ends = curves.iter().flat_map(|curve| curve.points.last());
    let length = ends.map(|(x, _)| *x).fold(0.0, f64::max);
    Plot { timeline: Timeline::default(), ..Plot::new(title, Axis::time(length), y, curves) }
}

fn rates(a: &[(String, Run)], b: &[(String, Run)]) -> Plot {
    let rate = |sample: &Sample| Some(sample.database_reads.per_s + sample.database_writes.per_s);
    let curves = vec![curve("A", a, rate), curve("B", b, rate)];
    let y = Axis::from_zero(highest(&curves), "per second");
    over_time("Database I/Os per second", y, curves)
}

fn latencies(
    title: &'static str,
    a: &[(String, Run)],
    b: &[(String, Run)],
    flow: fn(&Sample) -> &Flow,
) -> Plot {
    let mean = |sample: &Sample| flow(sample).latency_ms_mean;
    let p99 = |sample: &Sample| flow(sample).latency_ms_p99;
    let curves = vec![
        curve("A, mean", a, mean),
        curve("B, mean", b, mean),
        curve("A, p99", a, p99),
        curve("B, p99", b, p99),
    ];
    let y = Axis::powers(lowest(&curves), highest(&curves), "ms");
    over_time(title, y, curves)
}

/// The distribution of read latencies; of several runs, that of the first of each side.
fn spread(a: &[(String, Run)], b: &[(String, Run)]) -> Plot {
    let curve = |name: &'static str, runs: &[(String, Run)]| {
        let all = &runs[0].1.result.storage.details.distributions;
        let found = all.iter().find(|one| one.name == "database read");
        Curve {
            name: name.into(),
            points: found.map(steps).unwrap_or_default(),
            drawn: Drawn::Line,
        }
    };
    let (first_a, first_b) = match a.len() {
        1 => ("A", "B"),
        _ => ("A, first run", "B, first run"),
    };
    let curves = vec![curve(first_a, a), curve(first_b, b)];
    let places = || curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| *x);
    let x =
        Axis::powers(places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max), "ms");
    let y = Axis::from_zero(highest(&curves), "% of I/Os");
    Plot { is_stairs: true, ..Plot::new("Database read latency distribution", x, y, curves) }
}

/// The page of `history`.
pub fn history_html(history: &History) -> String {
    history_for(history, None)
}

/// The same page, `served`.
pub fn served_history_html(history: &History, served: &Served) -> String {
    history_for(history, Some(served))
}

fn history_for(history: &History, served: Option<&Served>) -> String {
    let titles: Vec<&'static str> = FIGURES.iter().map(|figure| figure.title).collect();
    let plots = history.figures.iter().filter_map(|figure| {
        let title = titles.iter().find(|title| **title == figure.title)?;
        Some(over_runs(title, figure))
    });
    let plots: Vec<Plot> = plots.collect();
    let left_out = history.left_out.iter().map(|why| format!("Left out: {why}"));
    let page = Page {
        program: "history",
        verdict: match history.newest.verdict {
            Answer::Better => "NEWEST RUN IS BETTER".to_owned(),
            Answer::Worse => "NEWEST RUN IS WORSE".to_owned(),
            Answer::CannotTell if history.newest.not_worse => "NEWEST RUN IS NOT WORSE".to_owned(),
            Answer::CannotTell => "CANNOT TELL".to_owned(),
        },
        colour: match history.newest.not_worse {
            true => Colour::Green,
            false => history.newest.verdict.colour(),
        }
        .class(),
        name: format!("History of {}", crate::counted(history.runs.len() as u64, "run")),
        sentence: &history.sentence,
        notes: left_out.collect(),
        first: history.table(),
        pictures: Pictures::new(plots, "Steps are the means between two changes.".to_owned()),
        tables: vec![
            history.newest_table(),
            history.newest.controls_table(),
            history.newest.differences_table(),
            history.runs_table(),
        ],
    };
    let title = format!("{} (brunt)", page.name);
    rendered_for(served, TEMPLATE, &title, &title, &page)
}

/// A figure by run, and its level between two changes.
fn over_runs(title: &'static str, figure: &crate::compare::HistoryFigure) -> Plot {
    let values = figure.values.iter().enumerate();
    let points = values.map(|(at, value)| (at as f64 + 1.0, *value));
    let level = |at: usize| {
        let before = figure.changes.iter().rev().find(|change| change.at <= at as u64);
        let first = figure.changes.first().map(|change| change.before);
        before.map(|change| change.after).or(first)
    };
    let mean =
        figure.values.iter().map(|value| value.ln()).sum::<f64>() / figure.values.len() as f64;
    let levels =
        (0..figure.values.len()).map(|at| (at as f64 + 1.0, level(at).unwrap_or(mean.exp())));
    let curves = vec![
        Curve { name: "run".into(), points: points.collect(), drawn: Drawn::Line },
        Curve { name: "mean".into(), points: levels.collect(), drawn: Drawn::Line },
    ];
    let unit = match figure.unit.as_str() {
        "/s" => "per second",
        unit => unit,
    };
    let x = Axis::at((1..=figure.values.len()).map(|at| at as f64), "run, oldest first");
    let y = Axis::from_zero(highest(&curves), unit);
    Plot::new(title, x, y, curves)
}
