//! The page of a sweep: one key of a scenario is varied and the results are drawn.

use serde::Serialize;

use super::page::rendered;
use crate::pictures::Pictures;
use crate::plot::{Axis, Curve, Limit, Plot};
use crate::result::Quantity;
use crate::table::{Cell, Column, Row, Table};

const TEMPLATE: &str = include_str!("sweep.html");

/// The result for one value of the key.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The value as it was set.
    pub value: String,
    /// The value as a number: its place on the axis.
    pub at: f64,
    /// The measured figures; `None` when the scenario was refused with this value.
    pub figures: Option<SweepFigures>,
    /// The outcome: `hold`, or why not.
    pub outcome: String,
}

/// Figures measured with one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepFigures {
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean latency of database reads, in milliseconds.
    pub read_ms: f64,
    /// Mean latency of database writes, in milliseconds.
    pub write_ms: f64,
    /// Mean latency of log writes, in milliseconds.
    pub log_ms: f64,
}

/// The content of the page.
#[derive(Clone, Debug, Default)]
pub struct SweepPage<'a> {
    /// The scenario's name.
    pub name: &'a str,
    /// The key that was varied.
    pub key: &'a str,
    /// What was found, in lines.
    pub sentence: &'a str,
    /// What was simulated.
    pub subtitle: String,
    /// The values of the key.
    pub points: Vec<SweepPoint>,
    /// Limit for the mean latency of database reads, in milliseconds.
    pub read_limit_ms: f64,
    /// Limit for the mean latency of log writes, in milliseconds.
    pub log_limit_ms: f64,
    /// The command that repeats it.
    pub command: String,
    /// The scenario as written.
    pub scenario: &'a str,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    key: &'a str,
    sentence: Vec<&'a str>,
    subtitle: &'a str,
    pictures: Pictures,
    table: Table,
    command: &'a str,
    scenario: &'a str,
}

/// The page as a self-contained file.
pub fn sweep_html(page: &SweepPage<'_>) -> String {
    let shown = Shown {
        name: page.name,
        key: page.key,
        sentence: page.sentence.lines().map(str::trim).collect(),
        subtitle: &page.subtitle,
        pictures: Pictures::new(vec![rates(page), latencies(page)], String::new()),
        table: table(page.key, &page.points).titled("Results"),
        command: &page.command,
        scenario: page.scenario,
    };
    let title = format!("{}: {} (brunt)", page.name, page.key);
    rendered(TEMPLATE, &title, &title, &shown)
}

fn curve(
    page: &SweepPage<'_>,
    name: &'static str,
    filled: bool,
    of: fn(&SweepFigures) -> f64,
) -> Curve {
    let points = page.points.iter();
    let points = points.filter_map(|point| Some((point.at, of(point.figures.as_ref()?))));
    Curve {
        name,
        points: points.collect(),
        filled,
    }
}

fn plot(page: &SweepPage<'_>, title: &'static str, curves: Vec<Curve>, unit: &str) -> Plot {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let right = points().map(|(x, _)| *x).fold(0.0, f64::max);
    let top = points().map(|(_, y)| *y);
    let limits = [page.read_limit_ms, page.log_limit_ms];
    let top = match unit {
        "milliseconds" => top.chain(limits).fold(0.0, f64::max),
        _ => top.fold(0.0, f64::max),
    };
    let (x, y) = (Axis::from_zero(right, page.key), Axis::from_zero(top, unit));
    Plot::new(title, x, y, curves)
}

fn rates(page: &SweepPage<'_>) -> Plot {
    let curves = vec![curve(page, "database I/O", true, |point| point.io_per_s)];
    plot(page, "I/Os per second", curves, "I/Os per second")
}

fn latencies(page: &SweepPage<'_>) -> Plot {
    let curves = vec![
        curve(page, "database read", false, |point| point.read_ms),
        curve(page, "database write", false, |point| point.write_ms),
        curve(page, "log write", false, |point| point.log_ms),
    ];
    let limit = |what: &str, at| Limit {
        name: format!("{what} limit {} ms", Quantity::new(at, "")),
        at,
        upright: false,
    };
    Plot {
        limits: vec![
            limit("read", page.read_limit_ms),
            limit("log", page.log_limit_ms),
        ],
        ..plot(page, "Latency, mean", curves, "milliseconds")
    }
}

fn table(key: &str, points: &[SweepPoint]) -> Table {
    let figures = [
        key,
        "I/Os per second",
        "Read (ms)",
        "Write (ms)",
        "Log write (ms)",
    ];
    let columns = figures.map(Column::numbers).into_iter();
    Table::new(
        columns.chain([Column::words("Rules")]),
        points.iter().map(row),
    )
}

fn row(point: &SweepPoint) -> Row {
    let figure = |of: fn(&SweepFigures) -> f64| Cell::from(point.figures.as_ref().map(of));
    Row::new([
        point.value.as_str().into(),
        figure(|figures| figures.io_per_s),
        figure(|figures| figures.read_ms),
        figure(|figures| figures.write_ms),
        figure(|figures| figures.log_ms),
        point.outcome.as_str().into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_both_pictures_and_a_row_for_each_point() {
        let point = |at: f64| SweepPoint {
            value: format!("<{at}>"),
            at,
            figures: (at < 3.0).then_some(SweepFigures {
                io_per_s: 100.0 * at,
                read_ms: at,
                write_ms: 1.0,
                log_ms: 0.5,
            }),
            outcome: "no <room>".to_owned(),
        };
        let page = sweep_html(&SweepPage {
            name: "a & b",
            key: "test.sessions",
            sentence: "2 pass\n  1 ms",
            points: [1.0, 2.0, 3.0].map(point).to_vec(),
            read_limit_ms: 20.0,
            log_limit_ms: 10.0,
            command: "brunt simulate <a>".to_owned(),
            scenario: "name = \"<b>\"",
            ..SweepPage::default()
        });
        assert_eq!(page.matches("role=\"img\"").count(), 2);
        assert_eq!(page.matches("<line class=\"limit\"").count(), 2);
        assert_eq!(page.matches("<tr>").count(), 4);
        for part in [
            "<figcaption>Latency, mean</figcaption>",
            "<p class=\"sentence\">1 ms</p>",
            "<td class=\"n\">-</td><td>no &lt;room&gt;</td>",
            "read limit 20 ms",
            "log limit 10 ms",
            "a &amp; b",
            "&lt;2&gt;",
            "brunt simulate &lt;a&gt;",
            "name = &quot;&lt;b&gt;&quot;",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
