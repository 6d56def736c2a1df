//! Host System Performance.

use crate::host_counters::WINDOWS_ONLY;
use crate::result::{HostCounter, RunResult, World};
use crate::table::{Column, Row, Table};
use crate::{decimals, grouped};

pub(super) fn host(result: &RunResult) -> Table {
    let several = result.storage.servers.len() > 1;
    let mut rows = Vec::new();
    for server in &result.storage.servers {
        // In virtual time there is no host, and no row without a figure.
        let is_seen = |counter: &&HostCounter| result.world == World::Real || counter.avg.is_some();
        for counter in server.main_host(result.storage.test).iter().filter(is_seen) {
            let name = match several {
                true => format!("{} / {}", server.name, counter.counter),
                false => counter.counter.clone(),
            };
            rows.push(row(name, counter));
        }
    }
    let columns = Column::of(&["Counter"], &["Average", "Minimum", "Maximum"]);
    Table::new(columns, rows).titled("Host System Performance")
}

fn row(name: String, counter: &HostCounter) -> Row {
    let absent = match WINDOWS_ONLY.contains(&counter.counter.as_str()) {
        true => "not applicable",
        false => "not measured",
    };
    let cell = |value: Option<f64>| value.map_or(absent.to_owned(), number);
    Row::new(vec![name, cell(counter.avg), cell(counter.min), cell(counter.max)])
}

fn number(number: f64) -> String {
    match number {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        whole if whole.fract() == 0.0 && whole >= 0.0 => grouped(whole as u64),
        other => decimals(other),
    }
}
