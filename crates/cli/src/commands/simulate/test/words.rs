//! What a simulated test says besides the words of a real one.

use std::path::Path;

use brunt_lab::Engine;
use brunt_lab::load::{pages, pairs, replicas};
use brunt_report::result::{
    AskedNumbers, Instance, Model, Outcome, RunResult, Server, states_table,
};
use brunt_report::{Cell, Column, Row, Table, decimals, grouped};

use crate::closing::{summary, verdict_again};
use crate::opening;
use crate::output::Output;
use brunt_scenario::ModelledScenario;

/// More groups than this are in the report only.
const GROUPS_SHOWN: usize = 12;
/// More events than this are in the report only.
const NOTES_SHOWN: usize = 20;

/// The first lines: what is tested, on what.
pub(in crate::commands) fn opening(scenario: &ModelledScenario, engine: Engine) -> String {
    let mut lines = vec![opening::first_line(&scenario.scenario)];
    if scenario.servers.len() > 1 {
        let names = scenario.servers.join(", ");
        lines.push(format!("{:14}{} ({names})", "servers", scenario.servers.len()));
    }
    let each = match scenario.servers.len() {
        1 => "",
        _ => ", for each server",
    };
    let goal = opening::goal(&scenario.scenario);
    lines.extend(goal.map(|goal| format!("{:14}{goal}{each}", "target")));
    lines.extend((scenario.scenario.shards.value > 1).then(|| {
        format!("{:14}not simulated: a modelled server has no cores to divide", "shards")
    }));
    for array in &scenario.arrays {
        let first = &array.design.arrays()[0];
        let groups: Vec<String> = first
            .groups
            .iter()
            .map(|group| {
                let drives = group.drives.len();
                format!("{} \"{}\" over {drives} drives", group.level.word(), group.name)
            })
            .collect();
        lines.push(format!(
            "{:14}{}: {}{}",
            "storage",
            array.name,
            pages::times(&array.design),
            groups.join("; ")
        ));
        let pages = pages::described(&array.design);
        lines.extend(pages.map(|pages| format!("{:14}{pages}", "LUNs")));
        let pair = pairs::described(&array.design);
        lines.extend(pair.map(|pair| format!("{:14}{pair}", "replication")));
        let replicas = replicas::described(&array.design);
        lines.extend(replicas.map(|replicas| format!("{:14}{replicas}", "replicas")));
    }
    let seed = scenario.scenario.test.seed;
    lines.push(format!("{:14}{}, seed {seed}\n", "engine", engine.word()));
    lines.join("\n")
}

/// The last lines: verdict and rules, what only a model can tell, and where everything is.
pub(super) fn closing(result: &RunResult, folder: &Path, output: &Output) -> String {
    let report = folder.join("report.html");
    let verdict = match result.storage.servers.len() {
        1 => summary(result, &report, output),
        _ => several(result, &report, output),
    };
    let again = folder.join("scenario.toml");
    format!(
        "{verdict}\n\n{}\n{:14}brunt simulate {}{}",
        model(result),
        "again",
        again.display(),
        verdict_again(result, output)
    )
}

/// The verdict of several servers, one line for each.
fn several(result: &RunResult, report: &Path, output: &Output) -> String {
    // The result has every rule for each server: only those that failed are shown here.
    let failed = result.rules.iter();
    let failed = failed.filter(|rule| rule.outcome == Outcome::Failed);
    let short = RunResult { rules: failed.cloned().collect(), ..result.clone() };
    let numbers = ["I/O /s", "read ms", "write ms", "log /s", "log ms"].map(Column::numbers);
    let columns = std::iter::once(Column::words("server")).chain(numbers);
    let rows = result.storage.servers.iter().map(server_row);
    let table = Table::new(columns, rows).to_indented_text();
    format!("{}\n\n{table}", summary(&short, report, output)).trim_end().to_owned()
}

fn server_row(server: &Server) -> Row {
    let [reads, writes, logs] = Instance::primary_io(server.instances.iter());
    Row::new([
        Cell::from(server.name.as_str()),
        (reads.per_s + writes.per_s).into(),
        reads.latency_ms_mean.into(),
        writes.latency_ms_mean.into(),
        logs.per_s.into(),
        logs.latency_ms_mean.into(),
    ])
}

/// What only a model can tell; nothing without one.
fn model(result: &RunResult) -> String {
    let Some(model) = &result.storage.details.model else {
        return String::new();
    };
    let mut text = String::new();
    for what in ["database read", "database write", "log write"] {
        if let Some(asked) = model.asked(what) {
            text.push_str(&where_it_went(what, &asked));
        }
    }
    if let Some(time) = model.sessions {
        text.push_str(&format!(
            "{}held back {}   reading {}   computing {}   log and others {}\n",
            label(&format!("where sessions' time went ({})", model.scheduling)),
            percent(time.held_back),
            percent(time.reading),
            percent(time.computing),
            percent(time.other),
        ));
    }
    text.push_str(&busiest(model));
    text.push('\n');
    text.push_str(&groups(model).to_indented_text());
    text.push_str(&states(result));
    text.push_str(&pools(model));
    text.push_str(&happened(model));
    text.push_str(&not_reached(model));
    if let Some(precision) = &result.storage.precision {
        text.push_str(&format!("\n{:14}{}\n", "precision", precision.in_words()));
        text.push_str(&precision.table().to_indented_text());
    }
    let speed = model.measured_s / model.wall_seconds.max(f64::MIN_POSITIVE);
    text.push_str(&format!(
        "\n{:14}{} s of virtual time measured in {} s altogether ({} times as fast)",
        "took",
        decimals(model.measured_s),
        decimals(model.wall_seconds),
        decimals(speed)
    ));
    text.push_str(&format!("\n{:14}{} of all requests to storage", "digest", model.request_digest));
    text
}

/// What a line begins with, and a gap.
fn label(text: &str) -> String {
    format!("{text:38}  ")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn where_it_went(what: &str, asked: &AskedNumbers) -> String {
    // What would print as nothing is left out.
    let parts = asked.parts.iter().filter(|part| part.ms >= 0.005);
    let parts: Vec<String> =
        parts.map(|part| format!("{} {}", part.part, decimals(part.ms))).collect();
    let mean = asked.latency_ms_mean.map_or("-".to_owned(), decimals);
    format!("{}{}\n", label(&format!("where a {what}'s {mean} ms went")), parts.join("   "))
}

fn busiest(model: &Model) -> String {
    let most = |share: Option<f64>| share.map_or("-".to_owned(), percent);
    let drives = model.busiest(|array| array.drives.iter().map(|d| d.utilisation).collect());
    let dirty = model.busiest(|array| array.cache.iter().map(|cache| cache.dirty_max).collect());
    let cache = dirty.map(|dirty| format!("   write cache {} dirty at most", percent(dirty)));
    format!(
        "{}drives {}   controllers {}   ports {}{}\n",
        label("busiest"),
        most(drives),
        most(model.busiest(|array| array.controllers.clone())),
        most(model.busiest(|array| array.ports.clone())),
        cache.unwrap_or_default(),
    )
}

/// The load by the state of the groups; nothing when all were whole throughout.
fn states(result: &RunResult) -> String {
    let table = states_table(&result.storage.states);
    match table.is_empty() {
        true => String::new(),
        false => format!("\nby the state of the groups\n{}", table.to_indented_text()),
    }
}

/// What became of replication, and of pages on arrays that have LUNs in pages.
fn pools(model: &Model) -> String {
    let mut text = String::new();
    for replication in model.arrays.iter().flat_map(|array| &array.replication) {
        text.push_str(&format!("\n{:14}{}\n", "replication", replication.told()));
        text.push_str(&replication.demand());
    }
    for replica in model.arrays.iter().flat_map(|array| &array.replicas) {
        text.push_str(&format!("\n{:14}{}\n", "replicas", replica.told()));
        if let Some(recovered) = &replica.recovered {
            let told = recovered.told();
            text.push_str(&format!("{:14}{}: {told}\n", "recovered", replica.name));
        }
    }
    for array in &model.arrays {
        let Some(pages) = &array.pages else {
            continue;
        };
        text.push('\n');
        if model.arrays.len() > 1 {
            text.push_str(&format!("{}\n", array.name));
        }
        text.push_str(&pages::lines(pages));
    }
    text
}

/// Events of the storage, by time since the start of the simulation.
fn happened(model: &Model) -> String {
    let mut lines: Vec<String> = Vec::new();
    for array in &model.arrays {
        let name = match model.arrays.len() {
            1 => String::new(),
            _ => format!("{}: ", array.name),
        };
        lines.extend(array.notes.iter().map(|note| format!("{name}{note}")));
    }
    if lines.is_empty() {
        return String::new();
    }
    let more = lines.len().saturating_sub(NOTES_SHOWN);
    lines.truncate(NOTES_SHOWN);
    if more > 0 {
        lines.push(format!("and {} more, in the report", grouped(more as u64)));
    }
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\nwhat happened, from the start of the simulation\n{lines}")
}

/// Incidents that were scheduled for after the end.
fn not_reached(model: &Model) -> String {
    let late = model.arrays.iter();
    let late = late.filter_map(|array| Some((&array.name, array.not_reached.as_ref()?)));
    let late = late.map(|(array, late)| format!("\n{:14}{array}: {late}\n", "not reached"));
    late.collect()
}

fn groups(model: &Model) -> Table {
    let numbers = [
        "drives busy",
        "front I/O /s",
        "back reads /s",
        "back writes /s",
        "queue",
        "service ms",
        "response ms",
    ];
    let groups =
        model.arrays.iter().flat_map(|array| array.groups.iter().map(move |group| (array, group)));
    let rows = groups.take(GROUPS_SHOWN).map(|(array, group)| {
        let name = match model.arrays.len() {
            1 => group.name.clone(),
            _ => format!("{}, {}", array.name, group.name),
        };
        Row::new([Cell::from(name)].into_iter().chain(group.figures()))
    });
    let columns = std::iter::once(Column::words("group")).chain(numbers.map(Column::numbers));
    Table::new(columns, rows)
}
