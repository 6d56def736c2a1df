//! The tables that readers of Jetstress reports look for, in the order and with the names of the
//! version whose profile ran.
//!
//! ```text
//!   performance, stress     2007 and before: LogicalDisk       2010 and later: instances
//!   0                       Test Summary                       Test Summary
//!   1                       Database Sizing and Throughput     Database Sizing and Throughput
//!   2                       Jetstress System Parameters        Jetstress System Parameters
//!   3                       Disk Subsystem Performance         Database Configuration
//!   4                       Host System Performance            Transactional I/O Performance
//!   5 ..                    (Test Log)                         maintenance, replication, total, host (Test Log)
//! ```
//!
//! Reports of a backup or recovery begin with its statistics; the rest follows.
//!
//! Sections, columns and their order come from published reports of Jetstress 08.02 (EqualLogic
//! PS5000XV, 2008) and 15.00.0995 (Dell PowerVault MD3820f, 2015), and from the scripts named in
//! [`super`]. Where several databases share a log stream their I/O is added up, because the
//! counters of Jetstress were per instance. I/O and counters of the host are those of the load, of
//! the backup, or of the replay: what the test is about.

mod host;
mod instances;
mod logical_disks;
mod statistics;
mod summary;

use crate::result::{Instance, InstanceDetails, IoNumbers, RunResult, Server};
use crate::table::{Cell, Row, Table};

/// `outcome` stands as the overall result.
pub(super) fn all(result: &RunResult, outcome: &str) -> Vec<Table> {
    let mut tables = statistics::all(result);
    tables.extend([
        summary::summary(result, outcome),
        summary::sizing(result),
        summary::parameters(result),
    ]);
    if counts_logical_disks(result) {
        tables.push(logical_disks::disks(result));
    } else {
        tables.extend(instances::all(result));
    }
    tables.push(host::host(result));
    tables
}

/// Whether the profile belongs to a version whose counters were per disk rather than per instance.
fn counts_logical_disks(result: &RunResult) -> bool {
    let profile = result.storage.details.setup.profile.as_str();
    profile == "exchange-2003" || profile.starts_with("exchange-2007")
}

/// An instance in a table.
struct Named<'a> {
    /// Its name, with the server's where there are several servers.
    name: String,
    instance: &'a Instance,
    /// Its I/O in the phase that the test is about; `None` when that was not measured.
    streams: Option<InstanceDetails>,
}

impl Named<'_> {
    /// The row of the instance with `cells`, as many as `columns`.
    fn row(self, columns: usize, cells: impl FnOnce(&InstanceDetails) -> Vec<Cell>) -> Row {
        let mut row = vec![Cell::from(self.name)];
        row.extend(match &self.streams {
            Some(streams) => cells(streams),
            None => vec!["not measured".into(); columns],
        });
        Row::new(row)
    }
}

/// Every instance.
fn named(result: &RunResult) -> impl Iterator<Item = Named<'_>> {
    let test = result.storage.test;
    let several = result.storage.servers.len() > 1;
    let of = move |server: &'_ Server, instance: &Instance| match several {
        true => format!("{} / {}", server.name, instance.name),
        false => instance.name.clone(),
    };
    result.storage.servers.iter().flat_map(move |server| {
        let instances = server.instances.iter();
        instances.map(move |instance| Named {
            name: of(server, instance),
            instance,
            streams: server.main_streams(test, instance),
        })
    })
}

// A stream without I/O shows 0.000, as in Jetstress.
fn latency(stream: &IoNumbers) -> Cell {
    Cell::Fixed(stream.latency_ms_mean.unwrap_or(0.0), 3)
}

fn rate(stream: &IoNumbers) -> Cell {
    Cell::Fixed(stream.per_s, 3)
}

fn mean_bytes(stream: &IoNumbers) -> Cell {
    Cell::Fixed(stream.bytes_mean().unwrap_or(0.0), 3)
}
