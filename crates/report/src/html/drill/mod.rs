//! The page of a drill: outcome, what is lost, how long users waited, one picture of it all, and
//! what shows that the checks can see.

mod picture;
mod sentences;
mod steps;

use serde::Serialize;

use brunt_units::Span;

use self::steps::Steps;
use super::page::{self, Heading, Served, rendered_for};
use super::tables;
use crate::plot::{clock, letter};
use crate::result::{Drill, DrillStep, RunResult, Verdict, World, given_and_measured};
use crate::table::{Cell, Column, Row, Table};
use crate::{Run, counted, grouped};

const TEMPLATE: &str = include_str!("drill.html");

#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    verdict: String,
    colour: &'static str,
    sentence: &'a str,
    subtitle: String,
    caveat: &'a str,
    figures: Vec<Figure>,
    why_title: &'static str,
    why: Vec<String>,
    steps: Vec<Steps>,
    picture: String,
    picture_note: String,
    is_numbered: bool,
    moments: Vec<(String, String)>,
    script: &'static str,
    tables: Vec<Table>,
    controls: Table,
    rules: Vec<tables::Rules>,
    events: Table,
    origin: Table,
    scenario: &'a str,
}

/// A number beside the verdict.
#[derive(Serialize)]
struct Figure {
    class: &'static str,
    label: &'static str,
    number: String,
    remark: String,
}

/// The report on `run`, whose results are those of `drill`.
pub(super) fn drill_html(run: &Run, drill: &Drill, served: Option<&Served>) -> String {
    let result = &run.result;
    let has_history = result.world == World::Virtual;
    let panels = picture::panels(drill, has_history);
    let moments = picture::moments(&drill.events);
    let heading = Heading::of(result, sentences::what_came_of_it(result), served);
    let page = Page {
        name: &result.scenario,
        verdict: heading.verdict,
        colour: heading.colour,
        sentence: heading.sentence,
        subtitle: subtitle(result, drill),
        caveat: match heading.goes_on {
            true => "",
            false => result.reasons.first().map_or("", String::as_str),
        },
        figures: figures(result, drill),
        why_title: match result.verdict {
            Verdict::Fail | Verdict::Error => "What failed",
            _ => "Why there is no answer",
        },
        why: match heading.goes_on {
            true => Vec::new(),
            false => sentences::why_no_pass(result, drill),
        },
        steps: steps::all(result, drill),
        is_numbered: panels.as_ref().is_some_and(|panels| panels.is_numbered()),
        picture_note: note(drill, has_history),
        picture: panels.map_or(String::new(), |panels| panels.to_html()),
        script: page::SCRIPT,
        tables: [phases(drill, has_history), failovers(drill)]
            .into_iter()
            .chain(replication(drill, has_history))
            .collect(),
        controls: controls(drill),
        rules: tables::rules(result),
        events: events(drill, &moments),
        moments: moments.into_iter().map(|(moment, _)| (clock(moment.at_s), moment.text)).collect(),
        origin: tables::origin(result),
        scenario: &run.scenario,
    };
    let title = format!("{}: {} (brunt)", page.verdict, page.name);
    let foot = format!("{title}, run {}", result.origin.run_id);
    rendered_for(served, TEMPLATE, &title, &foot, &page)
}

/// A length of time as on the terminal.
fn span(seconds: f64) -> String {
    Span::from_seconds(seconds).to_string()
}

fn subtitle(result: &RunResult, drill: &Drill) -> String {
    let setup = &result.storage.details.setup;
    let world = match result.world {
        World::Virtual => "virtual time on modelled arrays",
        World::Real => "real time on real storage",
    };
    let parts = [
        drill.samples.last().map(|sample| span(sample.at_s)),
        setup.mailboxes.map(|count| counted(count, "mailbox")),
        Some(format!("{} profile", setup.profile)),
        Some(counted(setup.sessions.into(), "session")),
        Some(counted(result.storage.database_files, "database")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let description = match setup.description.trim_end_matches('.') {
        "" => String::new(),
        description => format!("{description}. "),
    };
    format!("{description}Rehearsed in {world}: {}.", parts.join(", "))
}

fn figures(result: &RunResult, drill: &Drill) -> Vec<Figure> {
    let of_last = match drill.failovers.len() {
        0 | 1 => String::new(),
        many => format!("; the last of {many} failovers"),
    };
    let none = |label| Figure {
        class: "unknown",
        label,
        number: "-".to_owned(),
        remark: "no failover came to its end".to_owned(),
    };
    let point = drill.rpo.map_or(none("RPO: lost of what was acknowledged"), |rpo| Figure {
        class: match (rpo.transactions, result.verdict) {
            (0, _) => "good",
            (_, Verdict::NoLimitSet) => "unknown",
            _ => "bad",
        },
        label: "RPO: lost of what was acknowledged",
        number: counted(rpo.transactions, "commit"),
        remark: match rpo.transactions {
            0 => format!("all {} are there{of_last}", grouped(rpo.kept)),
            _ => format!(
                "{} changed by them; the first was acknowledged {} before the failure; {} are there{of_last}",
                counted(rpo.records, "record"),
                span(rpo.seconds),
                grouped(rpo.kept)
            ),
        },
    });
    let limit = steps::limit_of(result, drill.rto_s);
    let time = drill.rto_s.map_or(none("RTO: users waited"), |rto_s| Figure {
        class: match limit {
            Some(limit) if rto_s > limit => "bad",
            Some(_) => "good",
            None => "",
        },
        label: "RTO: users waited",
        number: span(rto_s),
        remark: match limit {
            Some(limit) => format!(
                "{}limit {}, {:.0} % of it used{of_last}",
                given(&drill.steps),
                span(limit),
                100.0 * rto_s / limit
            ),
            None => format!("{}no limit is set{of_last}", given(&drill.steps)),
        },
    });
    let red = drill.controls.iter().filter(|control| control.red).count();
    let controls = match drill.controls.len() {
        0 => ("unknown", "none".to_owned(), "nothing shows that the checks would find a loss"),
        all if red == all => ("", format!("{red} of {all}"), "were found: each turned a rule red"),
        all => ("bad", format!("{red} of {all}"), "were found: the checks are blind to the others"),
    };
    let (class, number, remark) = controls;
    let controls = Figure { class, label: "Controls", number, remark: remark.to_owned() };
    let replication = &drill.replication;
    let log = Figure {
        class: "",
        label: "Write history log",
        number: Cell::Bytes(replication.whl_peak_bytes).to_string(),
        remark: "at most, in the largest group".to_owned(),
    };
    let merge = replication.merge_s.map(|seconds| Figure {
        class: "",
        label: "In step again",
        number: span(seconds),
        remark: "after link or site returned".to_owned(),
    });
    let log = (result.world == World::Virtual).then_some(log);
    [point, time, controls].into_iter().chain(log).chain(merge).collect()
}

/// How much of a recovery time the scenario gives; nothing if all was measured.
fn given(steps: &[DrillStep]) -> String {
    match given_and_measured(steps) {
        (given, measured) if given > 0.0 => {
            format!("{} given, {} measured; ", span(given), span(measured))
        }
        _ => String::new(),
    }
}

fn note(drill: &Drill, has_history: bool) -> String {
    let hatched = match picture::outages(drill).is_empty() {
        true => "",
        false => " Hatched in red: users have no service.",
    };
    let at_risk = match has_history {
        true => " At risk are writes that were acknowledged.",
        false => "",
    };
    format!(
        "Letters are phases, as in the table of load; numbers are events.{hatched} A gap in a curve: no such I/O.{at_risk} Point at the picture, or use \
         the arrow keys, to read its values."
    )
}

fn phases(drill: &Drill, has_history: bool) -> Table {
    let words = ["", "Phase"].map(Column::words);
    let numbers = [
        "From",
        "Length",
        "I/Os per second",
        "Read (ms)",
        "Database write (ms)",
        "Log write (ms)",
        "Log write, worst sample (ms)",
    ];
    let numbers = numbers.into_iter().chain(has_history.then_some("History logs, at most"));
    let rows = drill.phases.iter().enumerate().map(|(number, phase)| {
        let cells = [
            Cell::from(letter(number)),
            phase.name.as_str().into(),
            clock(phase.from_s).into(),
            span(phase.to_s - phase.from_s).into(),
            phase.io_per_s.into(),
            phase.read_ms.into(),
            phase.write_ms.into(),
            phase.log_ms.into(),
            phase.log_worst_ms.into(),
        ];
        let history = has_history.then_some(Cell::Bytes(phase.log_bytes));
        Row::new(cells.into_iter().chain(history))
    });
    Table::new(words.into_iter().chain(numbers.map(Column::numbers)), rows)
        .titled("Load by phase")
        .noted("Database reads and writes per second, and mean latencies, of the samples that lie within the phase.")
}

fn failovers(drill: &Drill) -> Table {
    let numbers = [
        "Users lost service at",
        "Commits lost",
        "Records",
        "Age of the first",
        "Commits kept",
        "Lazy commits lost",
        "Writes not at the other site",
        "Users waited",
    ];
    let rows = drill.failovers.iter().map(|one| {
        let rpo = &one.rpo;
        Row::classed(
            [
                Cell::from(one.kind.as_str()),
                clock(one.at_s).into(),
                rpo.transactions.into(),
                rpo.records.into(),
                span(rpo.seconds).into(),
                rpo.kept.into(),
                rpo.lazy.into(),
                // Something is lost, and nobody has counted what was at risk.
                match rpo.bytes == 0 && rpo.transactions > 0 {
                    true => "-".into(),
                    false => Cell::Bytes(rpo.bytes),
                },
                span(one.rto_s).into(),
            ],
            if rpo.transactions > 0 { "failed" } else { "" },
        )
    });
    Table::new(Column::of(&["Failover"], &numbers), rows).titled("Failovers").noted(
        "Read after the survivor had replayed its log. A lazy commit is acknowledged before it is durable: it promises nothing. Most writes \
         that were not at the other site are pages that the log has as well.",
    )
}

/// Nothing where the replication is not brunt's.
fn replication(drill: &Drill, has_history: bool) -> Option<Table> {
    let replication = &drill.replication;
    if !has_history && replication.link_bytes == 0 {
        return None;
    }
    let fulls =
        drill.samples.iter().filter_map(|sample| sample.full_in_s.map(|full| (full, sample.at_s)));
    let soonest = fulls.min_by(|one, other| one.0.total_cmp(&other.0));
    let soonest = soonest
        .map_or("no log grew for long enough to tell".to_owned(), |(full_in, at)| {
            format!("{}, at the rate after {}", span(full_in), clock(at))
        });
    let merge = replication.merge_s.map_or("not measured".to_owned(), span);
    let size = |bytes| Cell::Text(Cell::Bytes(bytes).to_string());
    let rows = vec![
        ("Write history log of one group, at most", size(replication.whl_peak_bytes)),
        ("Time to a full log", soonest.into()),
        ("Time to resynchronise", merge.into()),
        ("Sent over the link", size(replication.link_bytes)),
    ];
    let skipped = if has_history { 0 } else { 3 };
    let rows = rows.into_iter().skip(skipped).collect();
    Some(Table::pairs("Replication", rows))
}

fn controls(drill: &Drill) -> Table {
    let rows = drill.controls.iter().map(|control| {
        let (outcome, class) = if control.red { ("red", "") } else { ("NOT FOUND", "missed") };
        Row::classed([control.name.as_str(), outcome, control.found.as_str()], class)
    });
    Table::new(["Control", "Outcome", "What was found"].map(Column::words), rows)
        .titled("Controls")
        .noted("Each repeats the drill in short on a replica that is broken on purpose. Red is what it must be: the checks found the fault.")
}

/// Every event, with its number in the picture.
fn events(drill: &Drill, moments: &[(crate::plot::Moment, usize)]) -> Table {
    let numbers = (1_u64..).zip(moments);
    let numbers = numbers.flat_map(|(number, (_, count))| std::iter::repeat_n(number, *count));
    let rows = drill.events.iter().zip(numbers).map(|(event, number)| {
        Row::new([
            Cell::from(number),
            clock(event.at_s).into(),
            Cell::Fixed(event.at_s, 3),
            event.what.as_str().into(),
        ])
    });
    let columns = [
        Column::numbers("No."),
        Column::numbers("At"),
        Column::numbers("Seconds"),
        Column::words("Event"),
    ];
    Table::new(columns, rows).titled("Events").noted("Times count from the end of the warm-up. What happened to several groups at once has one number.")
}
