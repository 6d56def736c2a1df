//! Scenarios of a test on a modelled array: everything that `brunt run` reads, and the storage to
//! build.
//!
//! ```toml
//! servers = ["HAIL", "SNOW"]          several mail servers on the same storage, if there are
//! [test] [profile] [[instance]] ...   as for `brunt run`; every server does the same
//! [twin]                              `branch_pages = "memory"`: they are never read; usually "read", like all pages
//!                                     `flush_maps = "none"`: no flush map is written; usually "written", as the engine does
//!                                     `log_records = "nodes"`: the log names nodes, as that of Exchange; usually "ranges" of pages
//! [array]                             as for raw load; [[array]] with a `name` when there are several
//! [replication] [link] [replica]      a second array at another site, for a single [array]
//! [drill]                             what a failover rehearsal has to reach
//! [[replicate]] [link] [partner]      replicas of LUNs in pages in a pool at another site, for a single [array]
//! [[event]]                           what happens to the arrays when; `array` names one where there are several
//! [volumes]                           which folder lies on which LUN
//! "/db1" = "database 1"
//! "/log" = "log of {server}"          each server has its own
//! ```
//!
//! Paths are those of the servers: the same for each of them, and none of this machine's. Files of
//! a folder lie on its LUN in the order in which they are made, from the LUN's beginning; LUNs of a
//! group follow one another from the outer edge of its drives. So a LUN that is not full keeps the
//! arms short.

mod arrays;
mod volumes;

use std::path::Path;

use brunt_qualify::plan::{LogRecords, TwinPlan};
use brunt_units::ByteSize;

use super::document::is_of_storage;
use super::drill::Drill;
use super::events::{Events, Written};
use super::files::Files;
use super::kept;
use super::keys::{Maybe, Whole, Word, keys, sized};
use super::model::Scenario;
use super::place::Refusal;
use super::section;
use super::top::Top;
use super::tree::{Node, Value};

pub use arrays::ArrayPlan;
pub use volumes::VolumePlan;

keys! {
    TWIN of TwinPlan = "[twin]";
    /// Branch pages: read like all pages, or never.
    branch_pages: bool = [branches_in_memory], Word(&BRANCH_PAGES), "`\"read\"`";
    /// Flush maps: written as the engine does, or never.
    flush_maps: bool = [no_flush_maps], Word(&FLUSH_MAPS), "`\"written\"`";
    /// What the log names: ranges of pages, or nodes, as that of Exchange.
    log_records: LogRecords = [log_records], Word(&LOG_RECORDS), "`\"ranges\"`";
    /// How much of a new log file is formatted at a time: multiples of 4 KiB up to 1 MiB.
    log_format: Option<ByteSize> = [log_format], Maybe(sized(read_log_format, "size")), "by version";
    /// Checksum reads in flight of a database.
    checksum_reads: Option<u32> = [checksum_reads], Maybe(Whole(1..=CHECKSUM_READS_MAX)), "a share of those of the server";
}

/// How much of a log file may be formatted at a time.
const LOG_FORMAT: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 20;
const CHECKSUM_READS_MAX: u64 = 1_024;

/// Whether the twin has branch pages in memory.
static BRANCH_PAGES: [(&str, bool); 2] = [("read", false), ("memory", true)];

/// Whether the twin leaves flush maps out.
static FLUSH_MAPS: [(&str, bool); 2] = [("written", false), ("none", true)];

/// What the twin's log says of a change.
static LOG_RECORDS: [(&str, LogRecords); 2] =
    [("ranges", LogRecords::Ranges), ("nodes", LogRecords::Nodes)];

/// More would be a data centre.
const SERVERS_MAX: usize = 256;

/// A test on modelled storage, with every default filled in.
#[derive(Clone)]
pub struct ModelledScenario {
    /// What each server does.
    pub scenario: Scenario,
    /// The servers, at least one.
    pub servers: Vec<String>,
    /// What the twin leaves out.
    pub twin: TwinPlan,
    /// What a drill has to reach.
    pub drill: Drill,
    /// The arrays, at least one.
    pub arrays: Vec<ArrayPlan>,
    /// Where folders lie.
    pub volumes: Vec<VolumePlan>,
    /// What happens to the arrays when, as it was written.
    timeline: Vec<(String, String)>,
    /// The storage for the run folder, with every default filled in.
    storage: toml::Table,
}

impl ModelledScenario {
    /// Reads the sections of a test and of the storage beneath it. Drive models are read from
    /// `files`.
    pub(super) fn read(mut top: Top, files: &Files) -> Self {
        let Events { faults, incidents } = Events::take(&mut top.sections);
        // How real hosts are reached.
        top.sections.take("fleet");
        let mut storage = top.sections.split(is_of_storage);
        let written = storage.entries().to_vec();
        let mut scenario = Scenario::read(top, faults, Path::new("/"));
        if let Some(percent) = scenario.capacity_percent.take() {
            let refusal = percent.place.refuse("sizes databases by the volumes of this machine");
            storage.refuse(refusal.hint("with a modelled array, say `database_size`"));
        }
        if let Some(scratch) = &scenario.scratch {
            let refusal = scratch.place.refuse("is a folder of this machine");
            storage.refuse(refusal.hint(
                "storage of this machine is tested by `brunt run`; here [array] and [volumes] say what to model",
            ));
        }
        let servers = storage.read_beside("servers", read_servers);
        let servers = servers.map_or_else(|| vec![scenario.name.clone()], |names| names.value);
        let twin = read_twin(storage.table("twin"));
        // A drill lasts until its last event.
        let end = match storage.has("drill") {
            true => None,
            false => scenario.test.end(),
        };
        let is_paced = scenario.test.target_io_per_s.is_some();
        let drill = match storage.has("drill") || storage.has("replication") {
            true => super::drill::read(storage.table("drill"), is_paced),
            false => Drill::default(),
        };
        let array = storage.needed("array", super::arrays::EXAMPLE);
        let (arrays, events) = arrays::read(array, &mut storage, incidents, end, files);
        let volumes = volumes::read(&mut storage, &scenario, &servers, &arrays);
        let mut kept = kept::table(&written);
        storage.kept().fill(&mut kept);
        let timeline = events.iter().map(Written::said).collect();
        if !events.is_empty() {
            let whole = events.into_iter().map(Written::whole);
            kept.insert("event".to_owned(), whole.collect::<Vec<_>>().into());
        }
        Self { scenario, servers, twin, drill, arrays, volumes, timeline, storage: kept }
    }

    /// The scenario with every default written out. Reading it gives this scenario again.
    pub fn to_toml(&self) -> String {
        let mut text = self.scenario.origin.head();
        let mut storage = self.storage.clone();
        // A list of the top level has to stand before the first table.
        if let Some(servers) = storage.remove("servers") {
            text += &format!("servers = {servers}\n");
        }
        self.scenario.write(&mut text);
        text + &format!("\n{storage}")
    }

    /// What happens when, as it was written.
    pub fn timeline(&self) -> &[(String, String)] {
        &self.timeline
    }

    /// The folder of `path` as `server` has it: with several servers, each has a root of its own.
    pub fn path_of(&self, server: usize, path: &Path) -> std::path::PathBuf {
        if self.servers.len() == 1 {
            return path.to_owned();
        }
        let own = Path::new("/").join(&self.servers[server]);
        own.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// What of the engine is left out or done otherwise.
fn read_twin(node: Node) -> TwinPlan {
    let mut twin = TwinPlan::default();
    TWIN.read(node, &mut twin);
    twin
}

fn read_log_format(node: &Node) -> Result<ByteSize, Refusal> {
    let size = section::size(node)?;
    match LOG_FORMAT.contains(&size.get()) && size.get().is_multiple_of(4096) {
        true => Ok(size),
        false => Err(node.place.refuse("not a multiple of 4 KiB up to 1 MiB")),
    }
}

pub(super) fn read_servers(node: &Node) -> Result<Vec<String>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let refusal = node.place.refuse(format!("is {}, not a list of names", node.value.kind()));
        return Err(refusal.hint("for example: servers = [\"MAIL1\", \"MAIL2\"]"));
    };
    let mut names: Vec<String> = Vec::new();
    for node in nodes {
        let name = section::text(node)?;
        let fits = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if name.trim().is_empty() || name.starts_with('.') || !name.chars().all(fits) {
            let what = format!("\"{name}\" is not a valid server name");
            return Err(node.place.refuse(what).hint("letters, digits, `-`, `_` and points"));
        }
        if names.contains(&name) {
            return Err(node.place.refuse(format!("\"{name}\" is there twice")));
        }
        names.push(name);
    }
    if names.is_empty() || names.len() > SERVERS_MAX {
        let what = format!("names {} servers", names.len());
        return Err(node.place.refuse(what).hint(format!("1 to {SERVERS_MAX}")));
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
