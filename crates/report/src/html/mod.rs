//! The report for a reader: one HTML file that needs nothing else.
//!
//! Order: the verdict and why, four pictures, the tables that readers of Jetstress reports look for, the test log, and
//! how it was made. The data for each part is prepared here; what it looks like stands in `report.html` and `style.css`.
//!
//! The tables are `fieldset`s in the order of a Jetstress 2013 report, and the cell before the result says
//! `Overall Test Result`, because scripts that read such reports count fieldsets and look for that text
//! (jacobklitzke/Jetstress-HTML-Parse, `JetstressParse.java`; the `xExchJetstress` resource of xExchange).
//!
//! Everything a user wrote passes the template's escaping; only the pictures are inserted as they are, and
//! [`plot`] escapes their texts.

mod escape;
mod jetstress;
mod pictures;
mod plot;
mod table;
mod tables;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use crate::result::{IoNumbers, RunResult};
use crate::{Event, Run, decimals};
use pictures::Picture;
use table::Table;

const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("style.css");

/// What the template draws.
#[derive(Serialize)]
struct Page<'a> {
    style: &'static str,
    name: &'a str,
    verdict: String,
    sentence: &'a str,
    reasons: &'a [String],
    subtitle: String,
    figures: Vec<Figure>,
    rules: Table,
    pictures: Vec<Picture>,
    tables: Vec<Table>,
    further: Vec<Table>,
    events: Vec<(String, &'a str)>,
    origin: Table,
    scenario: &'a str,
}

/// One of the numbers beside the verdict.
#[derive(Serialize)]
struct Figure {
    number: String,
    unit: &'static str,
    label: &'static str,
}

/// The report on `run`.
pub fn report_html(run: &Run) -> String {
    let result = &run.result;
    let page = Page {
        style: STYLE,
        name: &result.name,
        verdict: result.verdict.to_string(),
        sentence: &result.sentence,
        reasons: &result.reasons,
        subtitle: subtitle(result),
        figures: figures(result),
        rules: tables::rules(result),
        pictures: pictures::all(result),
        tables: jetstress::all(result),
        further: tables::further(result),
        events: run.events.iter().map(event_line).collect(),
        origin: tables::origin(result),
        scenario: &run.scenario,
    };
    let mut environment = Environment::new();
    environment.set_formatter(escape::formatter);
    environment
        .add_template("report.html", TEMPLATE)
        .expect("the template is part of the program");
    environment
        .get_template("report.html")
        .and_then(|template| template.render(Serde(&page)))
        .expect("the template fits its data")
}

fn subtitle(result: &RunResult) -> String {
    let (setup, times) = (&result.setup, &result.times);
    format!(
        "{} test, {} profile, {} sessions, {}",
        setup.kind, setup.profile, setup.sessions, times.started
    )
}

fn figures(result: &RunResult) -> Vec<Figure> {
    let databases = || {
        result
            .instances
            .iter()
            .flat_map(|instance| &instance.databases)
    };
    let millis = |all: IoNumbers, label| Figure {
        number: all.latency_ms_mean.map_or("-".to_owned(), decimals),
        unit: "ms",
        label,
    };
    let achieved = result.sizing.achieved_io_per_s;
    vec![
        Figure {
            number: achieved.map_or("-".to_owned(), decimals),
            unit: "/s",
            label: "transactional I/Os",
        },
        millis(
            IoNumbers::together(databases().map(|d| &d.reads)),
            "database read, mean",
        ),
        millis(
            IoNumbers::together(databases().map(|d| &d.writes)),
            "database write, mean",
        ),
        millis(
            IoNumbers::together(result.instances.iter().map(|i| &i.log.writes)),
            "log write, mean",
        ),
    ]
}

fn event_line(event: &Event) -> (String, &str) {
    (event.at.to_string(), &event.text)
}
