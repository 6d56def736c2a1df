//! What a simulated test says besides the words of a real one.

use brunt_report::decimals;
use brunt_report::result::{AskedNumbers, Model, RunResult};

use crate::columns::columns;
use crate::commands::simulate::Engine;
use crate::opening;
use crate::scenario::ModelledScenario;

/// More groups than this are told in the report only.
const GROUPS_SHOWN: usize = 12;

/// The first lines: what is tested, on what.
pub(super) fn opening(scenario: &ModelledScenario, engine: Engine) -> String {
    let mut lines = vec![opening::first_line(&scenario.scenario)];
    if scenario.servers.len() > 1 {
        let names = scenario.servers.join(", ");
        lines.push(format!(
            "{:14}{} ({names})",
            "servers",
            scenario.servers.len()
        ));
    }
    lines.extend(opening::goal(&scenario.scenario).map(|goal| format!("{:14}{goal}", "target")));
    for array in &scenario.arrays {
        let groups: Vec<String> = array
            .design
            .groups
            .iter()
            .map(|group| {
                let drives = group.drives.len();
                format!(
                    "{} \"{}\" over {drives} drives",
                    group.level.word(),
                    group.name
                )
            })
            .collect();
        lines.push(format!(
            "{:14}{}: {}",
            "storage",
            array.name,
            groups.join("; ")
        ));
    }
    let seed = scenario.scenario.test.seed;
    lines.push(format!("{:14}{}, seed {seed}\n", "engine", engine.word()));
    lines.join("\n")
}

/// What only a model can tell; nothing without one.
pub(super) fn model(result: &RunResult) -> String {
    let Some(model) = &result.details.model else {
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
            "{:40}held back {}   reading {}   computing {}   log and others {}\n",
            format!("where sessions' time went ({})", model.scheduling),
            percent(time.held_back),
            percent(time.reading),
            percent(time.computing),
            percent(time.other),
        ));
    }
    text.push_str(&busiest(model));
    text.push('\n');
    for line in groups(model).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    let speed = model.measured_s / model.wall_seconds.max(f64::MIN_POSITIVE);
    text.push_str(&format!(
        "\n{:14}{} s of virtual time measured in {} s altogether ({} times as fast)",
        "took",
        decimals(model.measured_s),
        decimals(model.wall_seconds),
        decimals(speed)
    ));
    text
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn where_it_went(what: &str, asked: &AskedNumbers) -> String {
    // What would print as nothing is left out.
    let parts = asked.parts.iter().filter(|part| part.ms >= 0.005);
    let parts: Vec<String> = parts
        .map(|part| format!("{} {}", part.part, decimals(part.ms)))
        .collect();
    let mean = asked.latency_ms_mean.map_or("-".to_owned(), decimals);
    format!(
        "{:40}{}\n",
        format!("where a {what}'s {mean} ms went"),
        parts.join("   ")
    )
}

fn busiest(model: &Model) -> String {
    let most = |share: Option<f64>| share.map_or("-".to_owned(), percent);
    let drives = model.busiest(|array| array.drives.iter().map(|d| d.utilisation).collect());
    let dirty = model.busiest(|array| array.cache.iter().map(|cache| cache.dirty_max).collect());
    format!(
        "{:40}drives {}   controllers {}   ports {}   write cache {} dirty at most\n",
        "busiest",
        most(drives),
        most(model.busiest(|array| array.controllers.clone())),
        most(model.busiest(|array| array.ports.clone())),
        most(dirty),
    )
}

fn groups(model: &Model) -> String {
    let head = [
        "group",
        "drives busy",
        "front I/O /s",
        "back reads /s",
        "back writes /s",
        "queue",
        "service ms",
        "response ms",
    ];
    let groups = model
        .arrays
        .iter()
        .flat_map(|array| array.groups.iter().map(move |group| (array, group)));
    let rows: Vec<Vec<String>> = groups
        .take(GROUPS_SHOWN)
        .map(|(array, group)| {
            let name = match model.arrays.len() {
                1 => group.name.clone(),
                _ => format!("{}, {}", array.name, group.name),
            };
            vec![
                name,
                percent(group.utilisation),
                decimals(group.front_per_s),
                decimals(group.back_reads_per_s),
                decimals(group.back_writes_per_s),
                decimals(group.queue),
                decimals(group.service_ms),
                decimals(group.response_ms),
            ]
        })
        .collect();
    columns(&head, &[1, 2, 3, 4, 5, 6, 7], &rows)
}
