//! The page of a sweep: one key of a scenario is varied and the results are drawn.

use super::plot::{Axis, Curve, Limit, Plot};
use super::{GENERATOR, STYLE, escape::escape};
use crate::table::{Cell, Column, Row, Table};

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

/// The page for `points` of `key` in the scenario `name`; reads should stay below `limit_ms`. `sentence` sums up the result and may
/// be empty.
pub fn sweep_html(
    name: &str,
    key: &str,
    sentence: &str,
    points: &[SweepPoint],
    limit_ms: f64,
) -> String {
    let drawn: Vec<(f64, SweepFigures)> = points
        .iter()
        .filter_map(|point| Some((point.at, point.figures?)))
        .collect();
    let curve = |name, filled, of: fn(&SweepFigures) -> f64| Curve {
        name,
        points: drawn.iter().map(|(at, point)| (*at, of(point))).collect(),
        filled,
    };
    let highest = |of: fn(&SweepFigures) -> f64| {
        let values = drawn.iter().map(|(_, point)| of(point));
        values.fold(0.0, f64::max)
    };
    let axis = || Axis::from_zero(drawn.iter().map(|(at, _)| *at).fold(0.0, f64::max), key);
    let rates = Plot::new(
        "I/Os per second",
        axis(),
        Axis::from_zero(highest(|p| p.io_per_s), "I/Os per second"),
        vec![curve("database I/O", true, |point| point.io_per_s)],
    );
    let highest_ms = highest(|p| p.read_ms.max(p.write_ms).max(p.log_ms));
    let latencies = Plot {
        limits: vec![Limit {
            name: "read limit".to_owned(),
            at: limit_ms,
            upright: false,
        }],
        ..Plot::new(
            "Latency",
            axis(),
            Axis::from_zero(highest_ms.max(limit_ms), "milliseconds"),
            vec![
                curve("database read", false, |point| point.read_ms),
                curve("database write", false, |point| point.write_ms),
                curve("log write", false, |point| point.log_ms),
            ],
        )
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{GENERATOR}<title>{name}: {key}</title>\n<style>{STYLE}</style></head>\n<body><main><h1>{name}: {key}</h1>\n{sentence}<figure>{}</figure>\n<figure>{}</figure>\n{}</main></body></html>\n",
        rates.to_html(),
        latencies.to_html(),
        table(key, points).to_html(),
        name = escape(name),
        key = escape(key),
        sentence = sentence
            .lines()
            .map(|line| format!("<p>{}</p>\n", escape(line.trim())))
            .collect::<String>(),
    )
}

fn table(key: &str, points: &[SweepPoint]) -> Table {
    let figures = [
        "I/Os per second",
        "read (ms)",
        "write (ms)",
        "log write (ms)",
    ];
    let mut columns = vec![Column::numbers(key)];
    columns.extend(figures.map(Column::numbers));
    columns.push(Column::words("rules"));
    Table::new(columns, points.iter().map(row))
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
        let points = [1.0, 2.0, 3.0].map(point);
        let page = sweep_html("a & b", "test.sessions", "2 pass\n  1 ms", &points, 20.0);
        assert_eq!(page.matches("role=\"img\"").count(), 2);
        assert_eq!(page.matches("<tr>").count(), 4);
        assert!(page.contains("<p>2 pass</p>\n<p>1 ms</p>"));
        assert!(page.contains("<td class=\"n\">-</td><td>no &lt;room&gt;</td>"));
        assert!(page.contains("a &amp; b") && page.contains("&lt;2&gt;"));
    }
}
