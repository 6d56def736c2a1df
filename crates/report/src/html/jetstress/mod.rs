//! The tables that readers of Jetstress reports look for, in the order and with the names of the version whose profile ran.
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
//! A backup or recovery report begins with its statistics instead, and the rest follows.
//!
//! Source of sections, columns and their order: published reports of Jetstress 08.02 (EqualLogic PS5000XV, 2008) and
//! 15.00.0995 (Dell PowerVault MD3820f, 2015), and the scripts named in [`super`]. Where several databases share a log
//! stream their I/O is added up, because an instance was the unit of that program's counters.

mod host;
mod instances;
mod logical_disks;
mod statistics;
mod summary;

use crate::result::{Instance, IoNumbers, RunResult, Server};
use crate::table::Table;

/// All of them.
pub(super) fn all(result: &RunResult) -> Vec<Table> {
    let mut tables = statistics::all(result);
    tables.extend([
        summary::summary(result),
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

/// Whether the profile is of a time when the counters were those of disks and not of instances.
fn counts_logical_disks(result: &RunResult) -> bool {
    let profile = result.storage.details.setup.profile.as_str();
    ["exchange-2003", "exchange-2007"].contains(&profile)
}

/// Every instance with the name it has in a table: with its server's when there are several.
fn named(result: &RunResult) -> impl Iterator<Item = (String, &Instance)> {
    let several = result.storage.servers.len() > 1;
    let of = move |server: &'_ Server, instance: &Instance| match several {
        true => format!("{} / {}", server.name, instance.name),
        false => instance.name.clone(),
    };
    result.storage.servers.iter().flat_map(move |server| {
        let instances = server.instances.iter();
        instances.map(move |instance| (of(server, instance), instance))
    })
}

// A stream without I/O reads 0.000, as it did there.
fn latency(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.latency_ms_mean.unwrap_or(0.0))
}

fn rate(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.per_s)
}

fn mean_bytes(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.bytes_mean().unwrap_or(0.0))
}
