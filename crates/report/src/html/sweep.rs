//! The page of a sweep: one key of a scenario is varied, and what comes of it is drawn.

use super::plot::{Axis, Curve, Limit, Plot};
use super::{STYLE, escape::escape};
use crate::decimals;

/// What came of one value of the key.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The value, as it was set.
    pub value: String,
    /// The same as a number: its place on the axis.
    pub at: f64,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean of database reads.
    pub read_ms: f64,
    /// Mean of database writes.
    pub write_ms: f64,
    /// Mean of log writes.
    pub log_ms: f64,
    /// Whether every rule held.
    pub passed: bool,
}

/// The page for `points` of `key` in a scenario called `name`; reads should stay below `limit_ms`.
pub fn sweep_html(name: &str, key: &str, points: &[SweepPoint], limit_ms: f64) -> String {
    let curve = |name, filled, of: fn(&SweepPoint) -> f64| Curve {
        name,
        points: points.iter().map(|point| (point.at, of(point))).collect(),
        filled,
    };
    let rates = Plot {
        title: "I/Os per second",
        x: axis(points, key),
        y: Axis::from_zero(highest(points, |p| p.io_per_s), "I/Os per second"),
        curves: vec![curve("database I/O", true, |point| point.io_per_s)],
        limits: Vec::new(),
    };
    let longest = |p: &SweepPoint| p.read_ms.max(p.write_ms).max(p.log_ms);
    let latencies = Plot {
        title: "Latency",
        x: axis(points, key),
        y: Axis::from_zero(highest(points, longest).max(limit_ms), "milliseconds"),
        curves: vec![
            curve("database read", false, |point| point.read_ms),
            curve("database write", false, |point| point.write_ms),
            curve("log write", false, |point| point.log_ms),
        ],
        limits: vec![Limit {
            name: "read limit".to_owned(),
            at: limit_ms,
            upright: false,
        }],
    };
    let rows: String = points.iter().map(row).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}: {key}</title>\n<style>{STYLE}</style></head>\n<body><main><h1>{name}: {key}</h1>\n<figure>{}</figure>\n<figure>{}</figure>\n<table><tr><th>{key}</th><th>I/Os per second</th><th>read (ms)</th><th>write (ms)</th><th>log write (ms)</th><th>rules</th></tr>\n{rows}</table></main></body></html>\n",
        rates.to_svg(),
        latencies.to_svg(),
        name = escape(name),
        key = escape(key),
    )
}

fn axis(points: &[SweepPoint], key: &str) -> Axis {
    Axis::from_zero(highest(points, |point| point.at), key)
}

fn highest(points: &[SweepPoint], of: impl Fn(&SweepPoint) -> f64) -> f64 {
    points.iter().map(of).fold(0.0, f64::max)
}

fn row(point: &SweepPoint) -> String {
    let cells = [
        escape(&point.value),
        decimals(point.io_per_s),
        decimals(point.read_ms),
        decimals(point.write_ms),
        decimals(point.log_ms),
        if point.passed { "hold" } else { "fail" }.to_owned(),
    ];
    format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_both_pictures_and_a_row_for_each_point() {
        let point = |at: f64| SweepPoint {
            value: format!("<{at}>"),
            at,
            io_per_s: 100.0 * at,
            read_ms: at,
            write_ms: 1.0,
            log_ms: 0.5,
            passed: at < 2.0,
        };
        let page = sweep_html("a & b", "test.sessions", &[point(1.0), point(2.0)], 20.0);
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(page.matches("<tr>").count(), 3);
        assert!(page.contains("a &amp; b") && page.contains("&lt;2&gt;"));
    }
}
