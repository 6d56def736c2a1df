//! The page of a sweep: one key of a scenario is varied and the results are drawn.
//!
//! Where every point was also simulated with a path of the link lost, each figure has a picture of
//! its own with both curves.

use serde::Serialize;

use super::page::rendered;
use crate::pictures::Pictures;
use crate::plot::{Axis, Curve, Drawn, Limit, Look, Plot};
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
    pub came: SweepOutcome,
    /// What came of it with a path of the link lost, where that was simulated.
    pub path_lost: Option<SweepOutcome>,
}

/// What came of one simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOutcome {
    /// The measured figures; `None` when the scenario was refused.
    pub figures: Option<SweepFigures>,
    /// `hold`, or why not.
    pub words: String,
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
    /// The key with the unit of its places.
    pub axis: &'a str,
    /// Names and places up to which every limit holds.
    pub holds: &'a [(String, f64)],
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
        pictures: Pictures::new(pictures(page), String::new()),
        table: table(page.key, &page.points).titled("Results"),
        command: &page.command,
        scenario: page.scenario,
    };
    let title = format!("{}: {} (brunt)", page.name, page.key);
    rendered(TEMPLATE, &title, &title, &shown)
}

/// A figure of a simulation.
type Pick = fn(&SweepFigures) -> f64;

/// Which simulation of a point a curve is of.
type Which = fn(&SweepPoint) -> Option<&SweepOutcome>;

const ALL_PATHS: Which = |point| Some(&point.came);
const PATH_LOST: Which = |point| point.path_lost.as_ref();

fn curve(page: &SweepPage<'_>, name: &'static str, which: Which, pick: Pick) -> Curve {
    let points = page.points.iter().filter_map(|point| {
        let figures = which(point)?.figures.as_ref()?;
        Some((point.at, pick(figures)))
    });
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Curve { name, points, drawn: Drawn::Line }
}

fn limit(what: &str, at: f64) -> Limit {
    Limit::level(format!("mean {what} limit {} ms", Quantity::new(at, "")), at)
}

fn plot(
    page: &SweepPage<'_>,
    title: &'static str,
    curves: Vec<Curve>,
    limits: Vec<Limit>,
    unit: &str,
) -> Plot {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let top = points().map(|(_, y)| *y);
    let top = top.chain(limits.iter().map(|limit| limit.at));
    let top = top.fold(0.0, f64::max);
    let x = Axis::at(points().map(|(x, _)| *x), page.axis);
    let y = Axis::from_zero(top, unit);
    let holds = page.holds.iter().map(|(name, at)| Limit {
        name: name.clone(),
        at: *at,
        upright: true,
        look: Look::Limit,
    });
    Plot {
        limits: limits.into_iter().chain(holds).collect(),
        is_dotted: true,
        ..Plot::new(title, x, y, curves)
    }
}

fn pictures(page: &SweepPage<'_>) -> Vec<Plot> {
    let (read, log) = (limit("read", page.read_limit_ms), limit("log", page.log_limit_ms));
    let io: Pick = |figures| figures.io_per_s;
    let read_ms: Pick = |figures| figures.read_ms;
    let write_ms: Pick = |figures| figures.write_ms;
    let log_ms: Pick = |figures| figures.log_ms;
    let ms = "milliseconds";
    if page.points.iter().any(|point| point.path_lost.is_some()) {
        let both = |title, pick, limits, unit| {
            let curves = vec![
                curve(page, "all paths", ALL_PATHS, pick),
                curve(page, "one path lost", PATH_LOST, pick),
            ];
            plot(page, title, curves, limits, unit)
        };
        return vec![
            both("Log write latency, mean", log_ms, vec![log], ms),
            both("Database read latency, mean", read_ms, vec![read], ms),
            both("Database write latency, mean", write_ms, Vec::new(), ms),
            both("Throughput", io, Vec::new(), "I/Os per second"),
        ];
    }
    let rates = Curve { drawn: Drawn::Area, ..curve(page, "database I/O", ALL_PATHS, io) };
    let latencies = vec![
        curve(page, "database read", ALL_PATHS, read_ms),
        curve(page, "database write", ALL_PATHS, write_ms),
        curve(page, "log write", ALL_PATHS, log_ms),
    ];
    vec![
        plot(page, "I/Os per second", vec![rates], Vec::new(), "I/Os per second"),
        plot(page, "Latency, mean", latencies, vec![read, log], ms),
    ]
}

fn table(key: &str, points: &[SweepPoint]) -> Table {
    let figures = [key, "I/Os per second", "Read (ms)", "Write (ms)", "Log write (ms)"];
    let columns = figures.map(Column::numbers).into_iter();
    let rows = points.iter().flat_map(|point| {
        let lost = point.path_lost.iter().map(|lost| row(point, lost));
        std::iter::once(row(point, &point.came)).chain(lost)
    });
    let mut table = Table::new(columns.chain([Column::words("Rules")]), rows);
    if points.iter().any(|point| point.path_lost.is_some()) {
        let paths = points.iter().flat_map(|point| {
            let lost = point.path_lost.iter().map(|_| Cell::from("one lost"));
            std::iter::once(Cell::from("all")).chain(lost)
        });
        table.insert(1, Column::words("Paths"), paths);
    }
    table
}

fn row(point: &SweepPoint, came: &SweepOutcome) -> Row {
    let figure = |of: Pick| Cell::from(came.figures.as_ref().map(of));
    Row::new([
        point.value.as_str().into(),
        figure(|figures| figures.io_per_s),
        figure(|figures| figures.read_ms),
        figure(|figures| figures.write_ms),
        figure(|figures| figures.log_ms),
        came.words.as_str().into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(at: f64, slower: f64) -> SweepOutcome {
        SweepOutcome {
            figures: (at < 3.0).then_some(SweepFigures {
                io_per_s: 100.0 * at,
                read_ms: at,
                write_ms: 1.0,
                log_ms: 0.5 + slower,
            }),
            words: "no <room>".to_owned(),
        }
    }

    fn page(points: Vec<SweepPoint>, holds: &[(String, f64)]) -> String {
        sweep_html(&SweepPage {
            name: "a & b",
            key: "test.sessions",
            axis: "test.sessions",
            sentence: "2 pass\n  1 ms",
            points,
            holds,
            read_limit_ms: 20.0,
            log_limit_ms: 10.0,
            command: "brunt simulate <a>".to_owned(),
            scenario: "name = \"<b>\"",
            ..SweepPage::default()
        })
    }

    #[test]
    fn a_page_has_both_pictures_and_a_row_for_each_point() {
        let point = |at: f64| SweepPoint {
            value: format!("<{at}>"),
            at,
            came: came(at, 0.0),
            path_lost: None,
        };
        let page = page([1.0, 2.0, 3.0].map(point).to_vec(), &[]);
        assert_eq!(page.matches("role=\"img\"").count(), 2);
        assert_eq!(page.matches("<line class=\"limit\"").count(), 2);
        assert_eq!(page.matches("<tr>").count(), 4);
        for part in [
            "<figcaption>Latency, mean</figcaption>",
            "<p class=\"sentence\">1\u{a0}ms</p>",
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

    #[test]
    fn with_a_path_lost_each_figure_has_a_picture_with_both_curves() {
        let point = |at: f64| SweepPoint {
            value: format!("{at}ms"),
            at,
            came: came(at, 0.0),
            path_lost: Some(came(at, 2.0)),
        };
        let holds = [("limits hold to 1 ms".to_owned(), 1.0)];
        let page = page([1.0, 2.0].map(point).to_vec(), &holds);
        assert_eq!(page.matches("role=\"img\"").count(), 4);
        // One limit each of log and reads, and in every picture how far they hold.
        assert_eq!(page.matches("<line class=\"limit\"").count(), 6);
        assert_eq!(page.matches(">one path lost</li>").count(), 4);
        assert_eq!(page.matches("<td>one lost</td>").count(), 2);
        assert_eq!(page.matches("limits hold to 1 ms</text>").count(), 4);
    }
}
