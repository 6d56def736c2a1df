//! What only a model knows; empty for runs on real storage.

use brunt_units::ByteSize;

use crate::decimals;
use crate::result::{AskedNumbers, Model, PagesNumbers, ReplicationNumbers, RunResult};
use crate::table::{Cell, Column, Row, Table};

/// The tables of the model, if there is one.
pub(super) fn model(result: &RunResult) -> Vec<Table> {
    let Some(model) = &result.storage.details.model else {
        return Vec::new();
    };
    let precision = result.storage.precision.as_ref();
    let precision = precision.map(|precision| {
        let table = precision.table().titled("Precision of the prediction");
        table.noted(&precision.in_words())
    });
    let mut tables: Vec<Table> = precision.into_iter().collect();
    tables.extend([
        setting(model),
        time(model),
        groups(model),
        busy(model),
        luns(model),
        pages(model),
        replication(model),
    ]);
    let pairs = model.arrays.iter().flat_map(|array| &array.replication);
    tables.extend(pairs.flat_map(ReplicationNumbers::demand_tables));
    tables.extend([replicas(model), recovered(model), happened(model), drives(model)]);
    tables
}

fn setting(model: &Model) -> Table {
    let late = model.arrays.iter().filter_map(|array| {
        let late = array.not_reached.as_ref()?;
        Some(("Not reached", format!("{}: {late}", array.name).into()))
    });
    let mut rows = vec![
        ("Engine", Cell::from(model.engine.as_str())),
        ("Sessions held back by", model.scheduling.as_str().into()),
        ("Measured (s)", model.measured_s.into()),
    ];
    if let Some(sessions) = model.sessions {
        rows.extend([
            ("Sessions: held back", Cell::Share(sessions.held_back)),
            ("Sessions: reading pages", Cell::Share(sessions.reading)),
            ("Sessions: computing", Cell::Share(sessions.computing)),
            ("Sessions: waiting for log, cache or other sessions", Cell::Share(sessions.other)),
        ]);
    }
    rows.extend(late);
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
    let columns = Column::of(&["I/O"], &["Per second", "Mean latency (ms)"]);
    let parts = Column::words("Of which (ms)");
    Table::new(columns.into_iter().chain([parts]), rows).titled("Where the time went")
}

fn time_row(asked: &AskedNumbers) -> Row {
    let parts = asked.parts.iter().filter(|part| part.ms >= 0.005);
    let parts: Vec<String> =
        parts.map(|part| format!("{} {}", part.part, decimals(part.ms))).collect();
    Row::new([
        Cell::from(asked.what.as_str()),
        asked.per_s.into(),
        asked.latency_ms_mean.into(),
        parts.join(", ").into(),
    ])
}

fn groups(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.groups.iter().map(|group| {
            let protection = format!("{} over {} drives", group.level, group.drives);
            let names =
                [&array.name, &group.name, &protection].map(|name| Cell::from(name.as_str()));
            Row::new(names.into_iter().chain(group.figures()))
        })
    });
    let numbers = [
        "Drives busy",
        "Front I/O per second",
        "Back reads per second",
        "Back writes per second",
        "Queue depth of a drive, mean",
        "Service (ms)",
        "Response (ms)",
    ];
    Table::new(Column::of(&["Array", "Group", "Protection"], &numbers), rows).titled("Drive groups")
}

fn busy(model: &Model) -> Table {
    let most = |shares: &[f64]| shares.iter().copied().fold(0.0, f64::max);
    let rows = model.arrays.iter().map(|array| {
        let cache = |pick: fn(&crate::result::CacheNumbers) -> Cell| {
            array.cache.as_ref().map_or(Cell::Nothing, pick)
        };
        Row::new([
            Cell::from(array.name.as_str()),
            Cell::Share(most(&array.controllers)),
            Cell::Share(most(&array.ports)),
            Cell::Share(array.link_between),
            cache(|cache| Cell::Share(cache.read_hits)),
            cache(|cache| Cell::Share(cache.dirty)),
            cache(|cache| Cell::Share(cache.dirty_max)),
            cache(|cache| cache.stalled_per_s.into()),
            cache(|cache| cache.pages_per_destage.into()),
        ])
    });
    let numbers = [
        "Busiest controller",
        "Busiest port",
        "Link between controllers",
        "Cache read hits",
        "Write cache dirty, mean",
        "Write cache dirty, max",
        "Stalled writes per second",
        "Pages per destage",
    ];
    Table::new(Column::of(&["Array"], &numbers), rows).titled("Controllers, ports and caches")
}

fn luns(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.luns.iter().map(|lun| {
            Row::new([
                Cell::from(array.name.as_str()),
                lun.name.as_str().into(),
                lun.reads_per_s.into(),
                lun.read_ms_mean.into(),
                lun.writes_per_s.into(),
                lun.write_ms_mean.into(),
            ])
        })
    });
    let numbers = ["Reads per second", "Read (ms)", "Writes per second", "Write (ms)"];
    Table::new(Column::of(&["Array", "LUN"], &numbers), rows).titled("LUNs")
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
    let words: &[&str] = match several {
        true => &["Array", "What", "While it was measured"],
        false => &["What", "While it was measured"],
    };
    Table::new(Column::of(words, &[]), rows).titled("LUNs in pages")
}

/// Replication groups at the end; empty without any.
fn replication(model: &Model) -> Table {
    let arrays = model.arrays.iter().filter_map(|array| array.replication.as_ref());
    let rows = arrays.flat_map(|replication| {
        replication.groups.iter().map(|group| {
            Row::new([
                Cell::from(group.name.clone()),
                group.state.clone().into(),
                ByteSize::bytes(group.log_peak_bytes).to_string().into(),
                group.at_risk_writes.into(),
            ])
        })
    });
    let numbers = ["Largest log", "Writes at risk"];
    Table::new(Column::of(&["Group", "At the end"], &numbers), rows).titled("Replication")
}

/// Replicas of volumes at the end; empty without any.
fn replicas(model: &Model) -> Table {
    let all = model.arrays.iter().flat_map(|array| &array.replicas);
    let rows = all.map(|replica| {
        Row::new([
            Cell::from(replica.name.clone()),
            replica.complete.into(),
            replica.skipped.into(),
            replica.kept.into(),
            replica.age_s.into(),
            replica.worst_age_s.into(),
            ByteSize::bytes(replica.at_risk_bytes).to_string().into(),
        ])
    });
    let numbers =
        ["Complete", "Skipped", "Kept", "Age of the newest (s)", "At worst (s)", "At risk"];
    Table::new(Column::of(&["Replicas"], &numbers), rows).titled("Replicas of volumes")
}

/// The newest replica of each set, recovered after the test; empty without any.
fn recovered(model: &Model) -> Table {
    let all = model.arrays.iter().flat_map(|array| &array.replicas);
    let rows = all.filter_map(|replica| {
        let told = replica.recovered.as_ref()?.told();
        Some(Row::new(vec![replica.name.clone(), told]))
    });
    let columns = ["Replicas", "The newest, recovered at the other site"];
    Table::new(columns.map(Column::words), rows).titled("Replicas recovered")
}

/// Events of the arrays, from the beginning of the simulation.
fn happened(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        let notes = array.notes.iter();
        notes.map(|note| Row::new(vec![array.name.clone(), note.clone()]))
    });
    Table::new(["Array", "Incident"].map(Column::words), rows).titled("Incidents")
}

fn drives(model: &Model) -> Table {
    let rows = model.arrays.iter().flat_map(|array| {
        array.drives.iter().enumerate().map(|(number, drive)| {
            Row::new([
                Cell::from(array.name.as_str()),
                (number as u64).into(),
                Cell::Share(drive.utilisation),
                drive.queue.into(),
                drive.service_ms.into(),
                drive.response_ms.into(),
                drive.reads_per_s.into(),
                drive.writes_per_s.into(),
            ])
        })
    });
    let numbers = [
        "Drive",
        "Busy",
        "Queue depth, mean",
        "Service (ms)",
        "Response (ms)",
        "Reads per second",
        "Writes per second",
    ];
    Table::new(Column::of(&["Array"], &numbers), rows).titled("Drives")
}
