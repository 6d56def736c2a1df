//! What a simulation says, on one screen where it can.

use brunt_array::load::{Interval, Outcome, Side};
use brunt_array::{ArrayDesign, Breakdown, GroupDesign, ReplicaState, SystemDesign};
use brunt_report::result::{Colour, PagesNumbers};
use brunt_report::{Cell, Column, Row, Table, decimals, grouped};
use brunt_stats::Percentile;
use brunt_units::{Span, Time};

use super::{drives, pages, pairs, phases, replicas};
use brunt_scenario::ArrayScenario;

/// Where columns of a tier and of LUNs in pages stand, if there are such: before what happened.
const MORE_COLUMNS: usize = 8;

/// What is simulated: groups, drives and LUNs in pages, for the page.
pub(super) fn subject(scenario: &ArrayScenario) -> Vec<String> {
    let design = &scenario.simulation.design;
    let first = &design.arrays()[0];
    let mut parts: Vec<String> = first.groups.iter().map(group_words).collect();
    let drives = models(first).into_iter();
    parts.extend(drives.map(|(count, title)| format!("{count} x {title}")));
    let is_pair = matches!(design, SystemDesign::Pair(_));
    let is_pair = is_pair || matches!(design, SystemDesign::Sites(_));
    if design.arrays().len() > 1 && !is_pair {
        parts.push(format!("{} such arrays", design.arrays().len()));
    }
    parts.extend(pages::described(design));
    parts.extend(pairs::described(design));
    parts.extend(replicas::described(design));
    parts.push(format!("{} of virtual time", scenario.simulation.duration));
    parts
}

/// The tables of the page: those of the screen.
pub(super) fn tables(scenario: &ArrayScenario, outcome: &Outcome) -> Vec<Table> {
    let design = &scenario.simulation.design;
    let parts = Breakdown::NAMES.iter().zip(outcome.reads.parts_ms());
    let parts = parts.zip(outcome.writes.parts_ms());
    let parts =
        parts.map(|((name, read), write)| Row::new([Cell::from(*name), read.into(), write.into()]));
    let parts = Table::new(Column::of(&["part"], &["read ms", "write ms"]), parts);
    let facts = [
        cache(outcome),
        tier(outcome),
        room(scenario, outcome),
        replication(outcome),
        replicated(outcome),
        vec![busiest(outcome)],
    ];
    let facts = facts.into_iter().flatten();
    let facts = facts.map(|(what, line)| Row::new([format!("{what} {line}").trim()]));
    let notes = happened(outcome).into_iter();
    let notes = notes.map(|(at, what)| Row::new([at, what]));
    let mut tables = vec![
        Table::new([Column::numbers("at"), Column::words("incident")], notes).titled("Incidents"),
        sides(outcome).titled("Reads and writes of hosts"),
        parts.titled("Where the time went"),
        over_time(outcome).titled("Over time"),
        phases::table(outcome).titled("By state of the groups"),
        drives::table(design, outcome).titled("Drives"),
        Table::new([Column::words("counted")], facts).titled("Cache and controllers"),
    ];
    tables.extend(pairs::of(outcome).iter().flat_map(|numbers| numbers.demand_tables()));
    tables
}

/// What was counted, after what it is about.
type Fact = (&'static str, String);

/// Lines of the screen, apart from what stands above them.
fn lines_of(facts: &[Fact]) -> String {
    let lines = facts.iter().map(|(what, line)| format!("{what:14}{line}\n"));
    match facts.is_empty() {
        true => String::new(),
        false => format!("\n{}", lines.collect::<String>()),
    }
}

/// The first lines: what is going to be simulated.
pub fn opening(scenario: &ArrayScenario, version: &str) -> String {
    let simulation = &scenario.simulation;
    let design = &simulation.design.arrays()[0];
    let groups: Vec<String> = design.groups.iter().map(group_words).collect();
    let warm_up = match simulation.warm_up {
        Span::ZERO => String::new(),
        span => format!(" after {span}"),
    };
    let mut text = format!(
        "brunt {version}   {}   {} of virtual time{warm_up}, seed {}\n",
        scenario.name, simulation.duration, simulation.seed,
    );
    let times = pages::times(&simulation.design);
    text.push_str(&format!("{:14}{times}{}", "array", groups.join("; ")));
    if let Some(tier) = &design.tier {
        text.push_str(&format!("; {} as a flash tier", tier.drives.len()));
    }
    if !design.spares.is_empty() {
        text.push_str(&format!("; {} spare", design.spares.len()));
    }
    for (count, title) in models(design) {
        text.push_str(&format!("\n{:14}{times}{count} x {title}", "drives"));
    }
    if let Some(pages) = pages::described(&simulation.design) {
        text.push_str(&format!("\n{:14}{pages}", "LUNs"));
    }
    if let Some(pair) = pairs::described(&simulation.design) {
        text.push_str(&format!("\n{:14}{pair}", "replication"));
    }
    if let Some(described) = replicas::described(&simulation.design) {
        text.push_str(&format!("\n{:14}{described}", "replicas"));
    }
    let end = Time::ZERO + simulation.warm_up + simulation.duration;
    let times = simulation.incidents.iter().map(|incident| incident.at);
    if let Some(late) = crate::too_late(times, end) {
        text.push_str(&format!("\n{:14}{late}", "note"));
    }
    text.push('\n');
    text
}

fn group_words(group: &GroupDesign) -> String {
    format!("{} \"{}\" over {} drives", group.level.word(), group.name, group.drives.len())
}

/// How many drives of each model, in order.
fn models(design: &ArrayDesign) -> Vec<(usize, &str)> {
    let mut models: Vec<(usize, &str)> = Vec::new();
    for model in &design.drives {
        match models.iter_mut().find(|(_, title)| *title == model.title()) {
            Some((count, _)) => *count += 1,
            None => models.push((1, model.title())),
        }
    }
    models
}

/// What was measured, for the screen.
pub fn measured(scenario: &ArrayScenario, outcome: &Outcome) -> String {
    let mut text = sides(outcome).to_indented_text();
    text.push('\n');
    text.push_str(&where_time_went(outcome));
    let (what, line) = busiest(outcome);
    text.push_str(&format!("{what:32}{line}\n\n"));
    text.push_str(&over_time(outcome).to_indented_text());
    text.push('\n');
    let phases = phases::table(outcome);
    if !phases.is_empty() {
        text.push_str(&phases.to_indented_text());
        text.push('\n');
    }
    let drives = drives::table(&scenario.simulation.design, outcome);
    text.push_str(&drives.to_indented_text());
    text.push_str(&lines_of(&cache(outcome)));
    text.push_str(&lines_of(&tier(outcome)));
    text.push_str(&lines_of(&room(scenario, outcome)));
    text.push_str(&lines_of(&replication(outcome)));
    let demand = pairs::of(outcome).map(|numbers| numbers.demand());
    text.push_str(&demand.unwrap_or_default());
    text.push_str(&lines_of(&replicated(outcome)));
    text.push_str(&notes(outcome));
    text.trim_end().to_owned()
}

/// A count as a rate.
pub fn per_second(count: u64, span: Span) -> f64 {
    count as f64 / span.as_seconds()
}

pub(super) fn millis(span: Option<Span>) -> Cell {
    span.map(Span::as_millis).into()
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn sides(outcome: &Outcome) -> Table {
    let figures = ["per second", "mean ms", "p50 ms", "p99 ms", "worst ms", "errors"];
    let row = |name: &str, side: &Side| {
        let latencies = &side.latencies;
        Row::new([
            Cell::from(name),
            per_second(latencies.count(), outcome.elapsed()).into(),
            millis(latencies.mean()),
            millis(latencies.percentile(Percentile::P50)),
            millis(latencies.percentile(Percentile::P99)),
            millis(latencies.max()),
            side.errors.into(),
        ])
    };
    let columns = std::iter::once(Column::words("")).chain(figures.map(Column::numbers));
    let rows = [row("reads", &outcome.reads), row("writes", &outcome.writes)];
    Table::new(columns, rows)
}

fn where_time_went(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (what, side) in [("read", &outcome.reads), ("write", &outcome.writes)] {
        let Some(mean) = side.latencies.mean() else {
            continue;
        };
        let parts = Breakdown::NAMES.iter().zip(side.parts_ms());
        // What would print as nothing is left out.
        let parts = parts.filter(|(_, ms)| *ms >= 0.005);
        let parts: Vec<String> =
            parts.map(|(name, ms)| format!("{name} {}", decimals(ms))).collect();
        let title = format!("where a {what}'s {} ms went", decimals(mean.as_millis()));
        text.push_str(&format!("{title:32}{}\n", parts.join("   ")));
    }
    text
}

fn busiest(outcome: &Outcome) -> Fact {
    let mut parts = Vec::new();
    if let Some((drive, share)) = outcome.busiest() {
        let groups: Vec<String> = outcome.groups.iter().map(|share| percent(*share)).collect();
        parts.push(format!(
            "drive {drive} {}, drives by group {}",
            percent(share),
            groups.join(", ")
        ));
    }
    let most = |shares: &[f64]| shares.iter().copied().fold(0.0, f64::max);
    parts.push(format!("controllers {}", percent(most(&outcome.controllers))));
    parts.push(format!("ports {}", percent(most(&outcome.ports))));
    if outcome.controllers.len() > 1 {
        parts.push(format!("link between {}", percent(outcome.between)));
    }
    ("busiest", parts.join("; "))
}

fn over_time(outcome: &Outcome) -> Table {
    let figures = [
        "until",
        "reads/s",
        "writes/s",
        "read ms",
        "write ms",
        "errors",
        "busiest drive",
        "write cache",
    ];
    let mut since = outcome.since;
    let mut rows = Vec::new();
    for interval in &outcome.intervals {
        let is_first = since == outcome.since;
        let happened = outcome
            .notes
            .iter()
            .filter(|note| (note.at > since || is_first) && note.at <= interval.until);
        let mut happened: Vec<String> = happened
            .map(|note| match note.at < outcome.since {
                true => format!("before: {}", note.what),
                false => note.what.to_string(),
            })
            .collect();
        if happened.len() > 2 {
            let more = happened.len() - 2;
            happened.truncate(2);
            happened.push(format!("and {more} more"));
        }
        rows.push(interval_row(interval, happened.join("; ")));
        since = interval.until;
    }
    let columns = figures.map(Column::numbers).into_iter();
    let mut table = Table::new(columns.chain([Column::words("")]), rows);
    if !outcome.replicas.is_empty() {
        let ages = outcome.intervals.iter().map(|one| match one.replica_age {
            Some(age) => Cell::from(age.to_string()),
            None => Cell::Nothing,
        });
        table.insert(MORE_COLUMNS, Column::numbers("replica age"), ages);
    }
    let mut insert = |name, of: &dyn Fn(&Interval) -> Option<f64>| {
        let cells = outcome.intervals.iter().map(|one| share(of(one)));
        table.insert(MORE_COLUMNS, Column::numbers(name), cells);
    };
    if outcome.pages.is_some() {
        insert("room", &|interval| interval.room);
    }
    if outcome.tier.is_some() {
        insert("tier hits", &|interval| interval.tier_hits);
    }
    table
}

fn share(share: Option<f64>) -> Cell {
    share.map_or(Cell::Nothing, Cell::Share)
}

fn interval_row(interval: &Interval, happened: String) -> Row {
    let rate = |side: &Side| Cell::Number(per_second(side.latencies.count(), interval.length));
    let (busy, drive) = interval.busiest;
    Row::new([
        Cell::from(Span(interval.until.0).to_string()),
        rate(&interval.reads),
        rate(&interval.writes),
        millis(interval.reads.latencies.mean()),
        millis(interval.writes.latencies.mean()),
        (interval.reads.errors + interval.writes.errors).into(),
        format!("{} ({drive})", percent(busy)).into(),
        share(interval.dirty),
        happened.into(),
    ])
}

fn cache(outcome: &Outcome) -> Vec<Fact> {
    let Some(cache) = &outcome.cache else {
        return Vec::new();
    };
    let reads = cache.read_hits + cache.read_misses;
    let hits = cache.read_hits as f64 / reads.max(1) as f64;
    let each = cache.destaged_pages as f64 / cache.destages.max(1) as f64;
    let dirty = match cache.write_pages {
        0 => "no room for dirty ones".to_owned(),
        _ => format!("at most {} % dirty", cache.fullest_percent),
    };
    let line = format!(
        "read hits {}; writes {}, of which {} waited for room; {} pages a destage; {dirty}",
        percent(hits),
        grouped(cache.writes),
        grouped(cache.stalled),
        decimals(each),
    );
    let mut facts = vec![("cache", line)];
    if cache.parity_reads + cache.parity_reads_spared > 0 {
        let parity = format!(
            "{} reads of drives before parities were written, {} more spared by what the cache had",
            grouped(cache.parity_reads),
            grouped(cache.parity_reads_spared),
        );
        facts.push(("", parity));
    }
    facts
}

fn tier(outcome: &Outcome) -> Vec<Fact> {
    let Some(tier) = &outcome.tier else {
        return Vec::new();
    };
    let hits = tier.hits as f64 / (tier.hits + tier.misses).max(1) as f64;
    let line = format!(
        "{} of the reads that missed the cache; {} blocks came in, {} went; {} pages written; {} full",
        percent(hits),
        grouped(tier.admitted),
        grouped(tier.evicted),
        grouped(tier.pages_written),
        percent(tier.blocks as f64 / tier.room.max(1) as f64),
    );
    vec![("flash tier", line)]
}

/// LUNs in pages: how full the members are, and what became of pages.
fn room(scenario: &ArrayScenario, outcome: &Outcome) -> Vec<Fact> {
    let pages = pages_of(scenario, outcome);
    pages.map_or_else(Vec::new, |pages| pages.told())
}

/// What became of the replication.
fn replication(outcome: &Outcome) -> Vec<Fact> {
    let numbers = pairs::of(outcome).into_iter();
    numbers.map(|numbers| ("replication", numbers.told())).collect()
}

/// What came of it in a word, and its colour. Of volumes that are to be replicated and of which no
/// replica was complete, nothing is known.
pub fn verdict(outcome: &Outcome) -> (&'static str, Colour) {
    match (outcome.loss(), outcome.unreplicated()) {
        (Some(_), _) => ("LOST", Colour::Red),
        (None, Some(_)) => ("INCONCLUSIVE", Colour::Grey),
        (None, None) => ("DONE", Colour::Grey),
    }
}

/// That no replica of `set` was ever complete, in a sentence.
pub fn unreplicated(set: &ReplicaState) -> String {
    let given_up = match set.given_up {
        0 => String::new(),
        some => format!(", {} given up", grouped(some)),
    };
    format!("Nothing was replicated: {}: 0 complete{given_up}.", set.name)
}

/// What became of replicas of volumes.
fn replicated(outcome: &Outcome) -> Vec<Fact> {
    let numbers = replicas::numbers(&outcome.replicas).into_iter();
    let whats = std::iter::once("replicas").chain(std::iter::repeat(""));
    whats.zip(numbers).map(|(what, one)| (what, one.told())).collect()
}

/// Pages as numbers; nothing for one array.
pub(super) fn pages_of(scenario: &ArrayScenario, outcome: &Outcome) -> Option<PagesNumbers> {
    let used = (&outcome.used_before[..], &outcome.used[..]);
    let seconds = outcome.elapsed().as_seconds();
    let stats = outcome.pages.as_ref()?;
    let design = &scenario.simulation.design;
    crate::pages::numbers(design, stats, &outcome.snapshots, used, seconds)
}

fn notes(outcome: &Outcome) -> String {
    let all = happened(outcome);
    if all.is_empty() {
        return String::new();
    }
    let lines = all.iter().map(|(at, what)| format!("  {at:>14}  {what}\n"));
    format!("\nwhat happened\n{}", lines.collect::<String>())
}

/// What happened when, and what has not ended.
pub(super) fn happened(outcome: &Outcome) -> Vec<(String, String)> {
    let notes = outcome.notes.iter();
    let notes = notes.map(|note| (Span(note.at.0).to_string(), note.what.to_string()));
    let end = Span(outcome.until.0).to_string();
    let unfinished = outcome.unfinished.iter();
    let unfinished = unfinished.map(|one| (end.clone(), one.to_string()));
    notes.chain(unfinished).collect()
}
