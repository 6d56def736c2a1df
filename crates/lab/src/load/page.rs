//! What a page shows of raw load.

use brunt_array::Standing;
use brunt_array::load::{Interval, Outcome, Side};
use brunt_report::{StorageInterval, StoragePage, decimals, grouped};
use brunt_stats::Percentile;
use brunt_units::Span;

use super::{phases, words};
use brunt_scenario::ArrayScenario;

/// The page of a simulation of the scenario in `text`, which `command` repeats.
pub fn page<'a>(
    scenario: &'a ArrayScenario,
    text: &'a str,
    outcome: &Outcome,
    command: String,
) -> StoragePage<'a> {
    let since = Span(outcome.since.0).as_seconds();
    let measured = |at: brunt_units::Time| Span(at.0).as_seconds() - since;
    let notes = outcome.notes.iter();
    let events = notes.map(|note| (measured(note.at), note.what.to_string()));
    let within = |at: f64| (0.0..=outcome.elapsed().as_seconds()).contains(&at);
    let phases = outcome.phases.iter();
    let states = phases.filter(|phase| phase.standing != Standing::Whole);
    StoragePage {
        name: &scenario.name,
        verdict: words::verdict(outcome).0,
        colour: words::verdict(outcome).1,
        sentence: sentence(outcome),
        subtitle: words::subject(scenario).join("; "),
        figures: figures(outcome),
        intervals: outcome.intervals.iter().map(|one| interval(one, since)).collect(),
        events: events.filter(|(at, _)| within(*at)).collect(),
        states: states
            .map(|phase| {
                let (since, until) = (measured(phase.since), measured(phase.until));
                (since, until, phase.standing.word().to_owned())
            })
            .collect(),
        tables: words::tables(scenario, outcome),
        command,
        scenario: text,
    }
}

/// What came of it, in a line.
fn sentence(outcome: &Outcome) -> String {
    let failed = outcome.reads.errors + outcome.writes.errors;
    let mut text = match outcome.loss() {
        Some(note) => format!("Data was lost: {} at {}.", note.what, Span(note.at.0)),
        None => "No data was lost.".to_owned(),
    };
    if let Some(none) = outcome.unreplicated() {
        text.push_str(&format!(" {}", words::unreplicated(none)));
    }
    if let Some((drive, share)) = outcome.busiest() {
        text.push_str(&format!(
            " The busiest drive ({drive}) worked {:.0} % of the time.",
            share * 100.0
        ));
    }
    if let Some(reads) = phases::sentence(outcome) {
        text.push_str(&format!(" {reads}"));
    }
    if failed > 0 {
        text.push_str(&format!(" {} requests failed.", grouped(failed)));
    }
    text
}

fn figures(outcome: &Outcome) -> Vec<(String, &'static str, &'static str)> {
    let rate = |side: &Side| side.latencies.count() as f64 / outcome.elapsed().as_seconds();
    let mean = |side: &Side| {
        let mean = side.latencies.mean();
        mean.map_or_else(|| "-".to_owned(), |mean| decimals(mean.as_millis()))
    };
    vec![
        (decimals(rate(&outcome.reads)), "/s", "reads of hosts"),
        (mean(&outcome.reads), "ms", "read, mean"),
        (decimals(rate(&outcome.writes)), "/s", "writes of hosts"),
        (mean(&outcome.writes), "ms", "write, mean"),
    ]
}

fn interval(one: &Interval, since: f64) -> StorageInterval {
    let length_s = one.length.as_seconds();
    let rate = |side: &Side| side.latencies.count() as f64 / length_s;
    let latency = |side: &Side| {
        let mean = side.latencies.mean()?.as_millis();
        Some((mean, side.latencies.percentile(Percentile::P99)?.as_millis()))
    };
    let percent = |share: f64| share * 100.0;
    StorageInterval {
        begin_s: Span(one.until.0).as_seconds() - since - length_s,
        length_s,
        reads_per_s: rate(&one.reads),
        writes_per_s: rate(&one.writes),
        read_ms: latency(&one.reads),
        write_ms: latency(&one.writes),
        busiest_percent: percent(one.busiest.0),
        dirty_percent: one.dirty.map(percent),
        tier_percent: one.tier_hits.map(percent),
        room_percent: one.room.map(percent),
    }
}
