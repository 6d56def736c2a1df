//! The page of raw load on modelled storage: the outcome, four pictures over time, the log of
//! events, and the tables.
//!
//! There is no mail server and no rule, so there is no verdict but whether data was lost.

use serde::Serialize;

use super::page::rendered;
use crate::pictures::Pictures;
use crate::pictures::happened::limited;
use crate::plot::{Axis, Band, Curve, Drawn, Moment, Plot, Timeline};
use crate::result::Colour;
use crate::table::Table;

const TEMPLATE: &str = include_str!("storage.html");

/// A part of the measured time. Times are in seconds from the start of the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct StorageInterval {
    /// When it began, in seconds.
    pub begin_s: f64,
    /// Its length, in seconds.
    pub length_s: f64,
    /// Host reads per second.
    pub reads_per_s: f64,
    /// Host writes per second.
    pub writes_per_s: f64,
    /// Mean and p99 of reads, in milliseconds; `None` without reads.
    pub read_ms: Option<(f64, f64)>,
    /// Mean and p99 of writes, in milliseconds; `None` without writes.
    pub write_ms: Option<(f64, f64)>,
    /// Utilisation of the busiest drive, in percent.
    pub busiest_percent: f64,
    /// Dirty share of the write cache, in percent; `None` without a cache.
    pub dirty_percent: Option<f64>,
    /// Share of the reads behind the cache that a solid-state tier served, in percent; `None`
    /// without a tier.
    pub tier_percent: Option<f64>,
    /// Share of a pool's space in use at the end, in percent; `None` without LUNs in pages.
    pub room_percent: Option<f64>,
}

/// The content of the page.
#[derive(Clone, Debug, Default)]
pub struct StoragePage<'a> {
    /// The scenario's name.
    pub name: &'a str,
    /// What came of it, in a word.
    pub verdict: &'static str,
    pub colour: Colour,
    /// The outcome.
    pub sentence: String,
    /// What was simulated.
    pub subtitle: String,
    /// Main numbers, each with its unit and label.
    pub figures: Vec<(String, &'static str, &'static str)>,
    /// The measured time, in intervals.
    pub intervals: Vec<StorageInterval>,
    /// Events, each with its time in seconds from the start of the measurement.
    pub events: Vec<(f64, String)>,
    /// States of the groups while something was lost: from when until when, and which.
    pub states: Vec<(f64, f64, String)>,
    /// The log of incidents and the figures.
    pub tables: Vec<Table>,
    /// The command that repeats the run.
    pub command: String,
    /// The scenario as written.
    pub scenario: &'a str,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    verdict: &'static str,
    class: &'static str,
    sentence: &'a str,
    subtitle: &'a str,
    figures: &'a [(String, &'static str, &'static str)],
    pictures: Pictures,
    tables: &'a [Table],
    command: &'a str,
    scenario: &'a str,
}

/// The page as a self-contained file.
pub fn storage_html(page: &StoragePage<'_>) -> String {
    let plots = vec![rates(page), reads(page), writes(page), shares(page)];
    let shown = Shown {
        name: page.name,
        verdict: page.verdict,
        class: page.colour.class(),
        sentence: &page.sentence,
        subtitle: &page.subtitle,
        figures: &page.figures,
        pictures: Pictures::new(plots, String::new()),
        tables: &page.tables,
        command: &page.command,
        scenario: page.scenario,
    };
    let title = format!("{}: {} (brunt)", shown.verdict, page.name);
    rendered(TEMPLATE, &title, &title, &shown)
}

fn curve(
    page: &StoragePage<'_>,
    name: &'static str,
    drawn: Drawn,
    number: impl Fn(&StorageInterval) -> Option<f64>,
) -> Curve {
    let point = |one: &StorageInterval| {
        let middle = one.begin_s + one.length_s / 2.0;
        (middle, number(one).unwrap_or(f64::NAN))
    };
    Curve { name: name.into(), points: page.intervals.iter().map(point).collect(), drawn }
}

fn plot(page: &StoragePage<'_>, title: &'static str, curves: Vec<Curve>, y: Axis) -> Plot {
    let end = |one: &StorageInterval| one.begin_s + one.length_s;
    let x = Axis::time(page.intervals.iter().map(end).fold(0.0, f64::max));
    Plot { timeline: timeline(page), ..Plot::new(title, x, y, curves) }
}

fn timeline(page: &StoragePage<'_>) -> Timeline {
    let events = page.events.iter().map(|(at_s, text)| Moment { at_s: *at_s, text: text.clone() });
    let states = page.states.iter().map(|(from_s, until_s, text)| Band {
        from_s: *from_s,
        until_s: *until_s,
        text: text.clone(),
    });
    let all = Timeline { events: events.collect(), states: states.collect() };
    // All events stand in a table of the page.
    limited(all).0
}

fn ends(curves: &[Curve]) -> (f64, f64) {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.map(|(_, y)| *y)
        .filter(|y| *y > 0.0)
        .fold((f64::INFINITY, 0.0), |(low, high), y| (low.min(y), high.max(y)))
}

fn rates(page: &StoragePage<'_>) -> Plot {
    let curves = vec![
        curve(page, "reads", Drawn::Area, |one| Some(one.reads_per_s)),
        curve(page, "writes", Drawn::Line, |one| Some(one.writes_per_s)),
    ];
    let y = Axis::from_zero(ends(&curves).1, "per second");
    plot(page, "I/Os per second", curves, y)
}

fn latencies(
    page: &StoragePage<'_>,
    title: &'static str,
    of: fn(&StorageInterval) -> Option<(f64, f64)>,
) -> Plot {
    let curves = vec![
        curve(page, "mean", Drawn::Line, |one| of(one).map(|two| two.0)),
        curve(page, "p99", Drawn::Line, |one| of(one).map(|two| two.1)),
    ];
    let (low, high) = ends(&curves);
    let y = Axis::powers(low.min(high.max(1.0)), high, "ms");
    plot(page, title, curves, y)
}

fn reads(page: &StoragePage<'_>) -> Plot {
    latencies(page, "Read latency", |one| one.read_ms)
}

fn writes(page: &StoragePage<'_>) -> Plot {
    latencies(page, "Write latency", |one| one.write_ms)
}

fn shares(page: &StoragePage<'_>) -> Plot {
    let mut curves =
        vec![curve(page, "busiest drive", Drawn::Line, |one| Some(one.busiest_percent))];
    let has = |of: fn(&StorageInterval) -> Option<f64>| {
        page.intervals.iter().any(|one| of(one).is_some())
    };
    if has(|one| one.dirty_percent) {
        curves.push(curve(page, "write cache", Drawn::Line, |one| one.dirty_percent));
    }
    if has(|one| one.tier_percent) {
        curves.push(curve(page, "tier hits", Drawn::Line, |one| one.tier_percent));
    }
    if has(|one| one.room_percent) {
        curves.push(curve(page, "room in use", Drawn::Line, |one| one.room_percent));
    }
    plot(page, "How busy and how full", curves, Axis::from_zero(98.0, "%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Row};

    #[test]
    fn a_page_shows_what_it_is_given_and_escapes_it() {
        let interval = |begin_s| StorageInterval {
            begin_s,
            length_s: 10.0,
            reads_per_s: 100.0,
            read_ms: Some((5.0, 20.0)),
            busiest_percent: 40.0,
            dirty_percent: Some(10.0),
            ..StorageInterval::default()
        };
        let page = StoragePage {
            name: "a <pool>",
            verdict: "LOST",
            colour: Colour::Red,
            intervals: vec![interval(0.0), interval(10.0)],
            events: vec![(3.0, "drive 4 failed".into()), (12.0, "drive <4> returned".into())],
            states: vec![(3.0, 12.0, "degraded".into())],
            tables: vec![
                Table::new([Column::words("drive")], [Row::new(["4 & 5"])]).titled("Drives"),
            ],
            scenario: "size = \"<1>\"",
            ..StoragePage::default()
        };
        let html = storage_html(&page);
        assert_eq!(html.matches("role=\"img\"").count(), 4);
        assert_eq!(html.matches("<line class=\"event\"").count(), 8);
        assert_eq!(html.matches("<rect class=\"state\"").count(), 4);
        for part in ["a &lt;pool&gt;", "LOST", "4 &amp; 5", "drive &lt;4&gt; returned", "&lt;1&gt;"]
        {
            assert!(html.contains(part), "{part}");
        }
        assert!(
            !html.contains("NaN") && html.contains("write cache") && !html.contains("tier hits")
        );
    }
}
