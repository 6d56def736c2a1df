//! What only a model knows; empty for runs on real storage.

use crate::decimals;
use crate::result::{AskedNumbers, Model, PagesNumbers, RunResult};
use crate::table::{Row, Table};

/// The tables of the model, if there is one.
pub(super) fn model(result: &RunResult) -> Vec<Table> {
    let Some(model) = &result.storage.details.model else {
        return Vec::new();
    };
    vec![
        setting(model),
        time(model),
        groups(model),
        busy(model),
        luns(model),
        pages(model),
        happened(model),
        drives(model),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn millis(latency: Option<f64>) -> String {
    latency.map_or("-".to_owned(), decimals)
}

fn setting(model: &Model) -> Table {
    let mut rows = vec![
        ("Engine", model.engine.clone()),
        ("Sessions held back by", model.scheduling.clone()),
        ("Measured (s)", decimals(model.measured_s)),
    ];
    if let Some(sessions) = model.sessions {
        rows.extend([
            ("Sessions: held back", percent(sessions.held_back)),
            ("Sessions: reading pages", percent(sessions.reading)),
            ("Sessions: computing", percent(sessions.computing)),
            ("Sessions: log, cache, others", percent(sessions.other)),
        ]);
    }
    Table::pairs("The model", rows)
}

/// Where the time of each kind of I/O went.
fn time(model: &Model) -> Table {
    let mut names: Vec<&str> = Vec::new();
    let asked = model.arrays.iter().flat_map(|array| &array.asked);
    for asked in asked {
        if !names.contains(&asked.what.as_str()) {
            names.push(&asked.what);
        }
    }
    let rows = names.into_iter().filter_map(|name| model.asked(name));
    let rows: Vec<Row> = rows.map(|asked| time_row(&asked)).collect();
    let head = [
        "I/O",
        "Per second",
        "Mean latency (ms)",
        "Where it went (ms)",
    ];
    Table::grid("Where time went in the storage", &head, rows)
}

fn time_row(asked: &AskedNumbers) -> Row {
    let parts = asked.parts.iter().filter(|part| part.ms >= 0.005);
    let parts: Vec<String> = parts
        .map(|part| format!("{} {}", part.part, decimals(part.ms)))
        .collect();
    Row::new(vec![
        asked.what.clone(),
        decimals(asked.per_s),
        millis(asked.latency_ms_mean),
        parts.join(", "),
    ])
}

fn groups(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.groups.iter().map(|group| {
            Row::new(vec![
                array.name.clone(),
                group.name.clone(),
                format!("{} over {} drives", group.level, group.drives),
                percent(group.utilisation),
                decimals(group.front_per_s),
                decimals(group.back_reads_per_s),
                decimals(group.back_writes_per_s),
                decimals(group.queue),
                decimals(group.service_ms),
                decimals(group.response_ms),
            ])
        })
    });
    let head = [
        "Array",
        "Group",
        "Protection",
        "Drives busy",
        "Front I/O per second",
        "Back reads per second",
        "Back writes per second",
        "In a drive, mean",
        "Service (ms)",
        "Response (ms)",
    ];
    Table::grid("Groups of drives", &head, rows.collect())
}

fn busy(model: &Model) -> Table {
    let most = |shares: &[f64]| shares.iter().copied().fold(0.0, f64::max);
    let rows = model.arrays.iter().map(|array| {
        let cache = |pick: fn(&crate::result::CacheNumbers) -> String| {
            array.cache.as_ref().map_or("-".to_owned(), pick)
        };
        Row::new(vec![
            array.name.clone(),
            percent(most(&array.controllers)),
            percent(most(&array.ports)),
            percent(array.link_between),
            cache(|cache| percent(cache.read_hits)),
            cache(|cache| percent(cache.dirty)),
            cache(|cache| percent(cache.dirty_max)),
            cache(|cache| decimals(cache.stalled_per_s)),
            cache(|cache| decimals(cache.pages_per_destage)),
        ])
    });
    let head = [
        "Array",
        "Controllers, busiest",
        "Ports, busiest",
        "Link between",
        "Reads from cache",
        "Write cache dirty",
        "At most",
        "Writes that waited per second",
        "Pages in a destage",
    ];
    Table::grid("Controllers, ports and caches", &head, rows.collect())
}

fn luns(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.luns.iter().map(|lun| {
            Row::new(vec![
                array.name.clone(),
                lun.name.clone(),
                decimals(lun.reads_per_s),
                millis(lun.read_ms_mean),
                decimals(lun.writes_per_s),
                millis(lun.write_ms_mean),
            ])
        })
    });
    let head = [
        "Array",
        "LUN",
        "Reads per second",
        "Read (ms)",
        "Writes per second",
        "Write (ms)",
    ];
    Table::grid("LUNs", &head, rows.collect())
}

/// LUNs in pages; empty without any.
fn pages(model: &Model) -> Table {
    let several = model.arrays.len() > 1;
    let rows = model.arrays.iter().flat_map(|array| {
        let told = array.pages.iter().flat_map(PagesNumbers::told);
        told.map(move |(what, line)| match several {
            true => Row::new(vec![array.name.clone(), what.to_owned(), line]),
            false => Row::new(vec![what.to_owned(), line]),
        })
    });
    let head: &[&str] = match several {
        true => &["Array", "What", "While it was measured"],
        false => &["What", "While it was measured"],
    };
    Table::grid("LUNs in pages", head, rows.collect())
}

/// Events of the arrays, from the beginning of the simulation.
fn happened(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        let notes = array.notes.iter();
        notes.map(|note| Row::new(vec![array.name.clone(), note.clone()]))
    });
    let head = ["Array", "What happened"];
    Table::grid("What befell the storage", &head, rows.collect())
}

fn drives(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.drives.iter().enumerate().map(|(number, drive)| {
            Row::new(vec![
                array.name.clone(),
                number.to_string(),
                percent(drive.utilisation),
                decimals(drive.queue),
                decimals(drive.service_ms),
                decimals(drive.response_ms),
                decimals(drive.reads_per_s),
                decimals(drive.writes_per_s),
            ])
        })
    });
    let head = [
        "Array",
        "Drive",
        "Busy",
        "In it, mean",
        "Service (ms)",
        "Response (ms)",
        "Reads per second",
        "Writes per second",
    ];
    Table::grid("Drives", &head, rows.collect())
}
