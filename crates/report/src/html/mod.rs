//! The report: one self-contained HTML file.
//!
//! It shows the verdict and its reasons, four pictures, the tables that readers of Jetstress
//! reports look for, the test log, and how the run was made. This module prepares the data of each
//! part; the layout is in `head.html`, `report.html` and `style.css`.
//!
//! The tables of a Jetstress report are the only `fieldset`s of the page, in that report's order. A
//! value is in the cell after its name, on the next line. Its numbers have a decimal point but no
//! thousands separators. Scripts that read such reports count fieldsets and rows, and look for the
//! line after `Overall Test Result` (jacobklitzke/Jetstress-HTML-Parse, `JetstressParse.java`; the
//! `xExchJetstress` resource of xExchange). Tables of pairs have a hidden head, so that the third
//! row of the second table is the initial size, as the first of these scripts expects.
//!
//! The templates escape every text from a user. Only the pictures are inserted as they are;
//! [`crate::plot`] escapes their texts.

mod compare;
mod drill;
mod escape;
mod jetstress;
mod mail;
mod page;
mod side_by_side;
mod storage;
mod sweep;
mod tables;

pub use compare::{comparison_html, history_html, served_comparison_html, served_history_html};
pub use escape::{escape, in_address};
pub use page::{SCRIPT, STYLE, Served};
pub use side_by_side::side_by_side_html;
pub use storage::{StorageInterval, StoragePage, storage_html};
pub use sweep::{SweepOutcome, SweepPage, SweepPicture, SweepPoint, sweep_html};

use brunt_units::ByteSize;
use serde::Serialize;

use crate::pictures::{Pictures, View, waits};
use crate::result::{IoNumbers, Quantity, RunResult, Work, World, states_table};
use crate::table::{Cell, Column, Row, Table};
use crate::{Event, Run, counted, decimals, grouped};
use page::{Heading, rendered, rendered_for};

/// The line of `head.html` that identifies our reports.
pub(crate) const GENERATOR: &str = r#"<meta name="generator" content="brunt">"#;

const TEMPLATE: &str = include_str!("report.html");
const FRAMED: &str = include_str!("framed.html");

#[derive(Clone, Debug)]
pub struct ReportTables {
    /// Rules, group by group, with a summary of each.
    pub rules: Vec<(String, Table)>,
    /// Each server and their sum; empty when there is only one.
    pub servers: Table,
    /// Those of a Jetstress report.
    pub jetstress: Vec<Table>,
    /// Those that Jetstress does not have; some are empty.
    pub further: Vec<Table>,
    /// How the run was made.
    pub origin: Table,
}

impl ReportTables {
    /// The tables of `result`.
    pub fn of(result: &RunResult) -> Self {
        Self {
            rules: tables::rule_groups(result),
            servers: tables::servers(result),
            jetstress: jetstress::all(result, &result.outcome_in_words()),
            further: tables::further(result),
            origin: tables::origin(result),
        }
    }
}

#[derive(Serialize)]
struct Framed<'a> {
    body: &'a str,
}

/// A page with the style of reports around `body`, which is HTML. `foot` stands on every printed
/// page.
pub fn framed_html(title: &str, foot: &str, body: &str) -> String {
    rendered(FRAMED, title, foot, &Framed { body })
}

/// The same page, `served`.
pub fn served_html(title: &str, body: &str, served: &Served) -> String {
    rendered_for(Some(served), FRAMED, title, "", &Framed { body })
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    verdict: String,
    /// The class of the verdict's colour.
    colour: &'static str,
    sentence: &'a str,
    reasons: &'a [String],
    faults: String,
    found: &'a [String],
    subtitle: String,
    started: String,
    figures: Vec<Figure>,
    servers: Table,
    /// Of a fleet.
    hosts: Table,
    prediction: Table,
    rules: Vec<tables::Rules>,
    pictures: Pictures,
    states: Table,
    tables: Vec<Table>,
    further: Vec<Table>,
    events: Table,
    origin: Table,
    scenario: &'a str,
}

/// A number beside the verdict.
#[derive(Serialize)]
struct Figure {
    number: String,
    unit: &'static str,
    label: &'static str,
}

/// The report on `run`, as HTML.
pub fn report_html(run: &Run) -> String {
    report_for(run, None)
}

/// The same report, `served`.
pub fn served_report_html(run: &Run, served: &Served) -> String {
    report_for(run, Some(served))
}

fn report_for(run: &Run, served: Option<&Served>) -> String {
    let result = &run.result;
    if let Some(drill) = &result.drill {
        return drill::drill_html(run, drill, served);
    }
    if let Some(mail) = &result.mail {
        return mail::mail_html(run, mail, served);
    }
    let heading = Heading::of(result, &result.storage.details.sentence, served);
    let whole = View::default();
    let view = served.map_or(&whole, |served| &served.view);
    let page = Page {
        name: &result.scenario,
        verdict: heading.verdict,
        colour: heading.colour,
        sentence: heading.sentence,
        reasons: if heading.goes_on { &[] } else { &result.reasons },
        faults: faults(result),
        found: &result.storage.details.found,
        subtitle: subtitle(result),
        started: match result.world {
            World::Real => result.times.started.for_people(),
            World::Virtual => "in virtual time".to_owned(),
        },
        figures: figures(result),
        servers: tables::servers(result),
        hosts: tables::fleet(result),
        prediction: tables::prediction(result),
        rules: tables::rules(result),
        pictures: waits::added(Pictures::seen(run, view), run, view),
        states: states_table(&result.storage.states)
            .titled("By the state of the groups")
            .noted("A sample counts for the worst state that any group of drives had in it."),
        tables: jetstress::all(result, &heading.outcome),
        further: tables::further(result),
        events: events(result, &run.events),
        origin: tables::origin(result),
        scenario: &run.scenario,
    };
    let title = format!("{}: {} (brunt)", page.verdict, page.name);
    let foot = format!("{title}, run {}", result.origin.run_id);
    rendered_for(served, TEMPLATE, &title, &foot, &page)
}

/// What was tested, for how long, at what size, and where.
fn subtitle(result: &RunResult) -> String {
    let (setup, times) = (&result.storage.details.setup, &result.times);
    let measured = match result.storage.servers.iter().any(|server| server.backup.is_empty()) {
        true if times.collection_s > 0.0 && result.storage.test.work() == Work::Replay => format!(
            " after {} of log generation, which the pictures show",
            length(times.collection_s)
        ),
        true if times.collection_s > 0.0 => format!(" of {}", length(times.collection_s)),
        _ => String::new(),
    };
    let mut parts = vec![format!("{} test{measured}", result.storage.test)];
    parts.extend(setup.mailboxes.map(|count| counted(count, "mailbox")));
    parts.push(format!("{} profile", setup.profile));
    parts.push(counted(setup.sessions.into(), "session"));
    parts.extend((setup.shards > 1).then(|| counted(setup.shards.into(), "shard")));
    let size = result
        .storage
        .database_bytes_initial
        .map_or(String::new(), |bytes| format!(" of {} together", ByteSize::bytes(bytes)));
    parts.push(counted(result.storage.database_files, "database") + &size);
    parts.extend(lies_on(result));
    parts.join(", ")
}

/// A duration: `2 hours` for 7,200 s.
fn length(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds >= 7_200.0 => (seconds / 3_600.0, "hours"),
        seconds if seconds >= 600.0 => (seconds / 60.0, "min"),
        seconds => (seconds, "s"),
    };
    Quantity::new((number * 10.0).round() / 10.0, unit).to_string()
}

/// The file systems of a run and their devices, without repetition.
pub fn lies_on(result: &RunResult) -> Option<String> {
    if result.world == World::Virtual {
        return Some("modelled storage".to_owned());
    }
    let servers = result.storage.servers.iter();
    let volumes = servers.flat_map(|server| &server.details.backend.volumes);
    let mut names: Vec<String> =
        volumes.map(|volume| format!("{} on {}", volume.file_system, volume.device)).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The injected faults; empty without any.
fn faults(result: &RunResult) -> String {
    let faults = result.storage.faults.iter().map(|fault| {
        let struck = match fault.struck {
            None => "it is not known how often".to_owned(),
            Some(1) => "struck once".to_owned(),
            Some(times) => format!("struck {} times", grouped(times)),
        };
        format!("{} ({}), {struck}", fault.fault, fault.file)
    });
    faults.collect::<Vec<_>>().join("; ")
}

/// The main numbers of the test.
fn figures(result: &RunResult) -> Vec<Figure> {
    let backups: Vec<_> = result.storage.servers.iter().flat_map(|s| &s.backup).collect();
    let recoveries: Vec<_> = result.storage.servers.iter().flat_map(|s| &s.recovery).collect();
    let figure = |number: f64, unit, label| Figure { number: decimals(number), unit, label };
    if !backups.is_empty() {
        let rate = backups.iter().map(|backup| backup.rate.0).sum();
        let longest = backups.iter().map(|b| b.seconds).fold(0.0, f64::max);
        let copied = backups.iter().any(|backup| backup.copied_to.is_some());
        let label = match copied {
            true => "backed up to files",
            false => "read for the backup",
        };
        let servers = result.storage.servers.iter();
        let restores = servers.filter_map(|server| server.restore.as_ref());
        let restored = restores.map(|restore| restore.seconds).reduce(f64::max);
        let mut figures =
            vec![figure(rate, "MiB/s", label), figure(longest, "s", "the slowest database")];
        figures.extend(restored.map(|seconds| figure(seconds, "s", "restored, with recovery")));
        return figures;
    }
    if !recoveries.is_empty() {
        let logs: u64 = recoveries.iter().map(|recovery| recovery.logs).sum();
        let seconds: f64 = recoveries.iter().map(|recovery| recovery.seconds).sum();
        let each_ms = 1000.0 * seconds / logs.max(1) as f64;
        return vec![
            Figure { number: grouped(logs), unit: "logs", label: "replayed" },
            figure(each_ms, "ms", "for one log, mean"),
        ];
    }
    load_figures(result)
}

fn load_figures(result: &RunResult) -> Vec<Figure> {
    let [reads, writes, logs] = result.primary_io();
    let millis = |all: IoNumbers, label| Figure {
        number: all.latency_ms_mean.map_or("-".to_owned(), decimals),
        unit: "ms",
        label,
    };
    let achieved = result.storage.achieved_iops;
    vec![
        Figure {
            number: achieved.map_or("-".to_owned(), decimals),
            unit: "/s",
            label: "transactional I/Os",
        },
        millis(reads, "database read, mean"),
        millis(writes, "database write, mean"),
        millis(logs, "log write, mean"),
    ]
}

fn events(result: &RunResult, events: &[Event]) -> Table {
    let rows = events.iter();
    let since = |event: &Event| result.virtual_time(event.at).to_string();
    let rows = rows.map(|event| {
        let at = match result.world {
            World::Real => event.at.into(),
            World::Virtual => since(event).into(),
        };
        Row::new([at, Cell::from(event.text.as_str())])
    });
    let time = match result.world {
        World::Real => "Time",
        World::Virtual => "Virtual time",
    };
    Table::new([time, "Event"].map(Column::words), rows).titled("Test Log")
}
