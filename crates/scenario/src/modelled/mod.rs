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
mod toml_text;
mod volumes;

use std::path::Path;

use brunt_qualify::plan::{LogRecords, TwinPlan};

use super::document::{Top, is_of_storage};
use super::drill::Drill;
use super::events::Events;
use super::model::Scenario;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::{Node, Value};

pub(super) use toml_text::table;

pub use arrays::ArrayPlan;
pub use volumes::VolumePlan;

/// Keys of `[twin]`.
pub(super) const TWIN_KEYS: [&str; 5] =
    ["branch_pages", "flush_maps", "log_records", "log_format", "checksum_reads"];

/// How much of a log file may be formatted at a time.
const LOG_FORMAT: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 20;
const CHECKSUM_READS_MAX: u64 = 1_024;

/// Whether the twin has branch pages in memory.
const BRANCH_PAGES: [(&str, bool); 2] = [("read", false), ("memory", true)];

/// Whether the twin leaves flush maps out.
const FLUSH_MAPS: [(&str, bool); 2] = [("written", false), ("none", true)];

/// What the twin's log says of a change.
const LOG_RECORDS: [(&str, LogRecords); 2] =
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
    /// The storage as it was written, for the run folder.
    storage: String,
}

impl ModelledScenario {
    /// Reads the sections of a test and of the storage beneath it. Drive models are looked for in
    /// `folder`.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong.
    pub(super) fn read(mut top: Top, folder: &Path) -> Result<Self, Refusal> {
        let Events { faults, incidents } = Events::take(&mut top.sections)?;
        let mut storage = top.sections.split(is_of_storage);
        let mut written = toml_text::table(storage.entries(), folder);
        let mut scenario = Scenario::read(top, faults, Path::new("/"))?;
        if let Some(percent) = scenario.capacity_percent.take() {
            let refusal = percent.place.refuse("sizes databases by the volumes of this machine");
            return Err(refusal.hint("with a modelled array, say `database_size`"));
        }
        if let Some(scratch) = &scenario.scratch {
            let refusal = scratch.place.refuse("is a folder of this machine");
            return Err(refusal.hint(
                "storage of this machine is tested by `brunt run`; here [array] and [volumes] say what to model",
            ));
        }
        let servers = match storage.take("servers") {
            Some(node) => read_servers(&node)?,
            None => vec![scenario.name.clone()],
        };
        let twin = match storage.take("twin") {
            Some(node) => read_twin(node)?,
            None => TwinPlan::default(),
        };
        let drill = storage.take("drill");
        // A drill lasts until its last event.
        let end = match drill {
            Some(_) => None,
            None => scenario.test.end(),
        };
        let drill = super::drill::read(drill, scenario.test.target_io_per_s.is_some())?;
        let array = storage.take("array").expect("a modelled test has one");
        let (arrays, events) = arrays::read(array, &mut storage, incidents, end, folder)?;
        if !events.is_empty() {
            written.insert("event".to_owned(), events.into());
        }
        let volumes = volumes::read(&mut storage, &scenario, &servers, &arrays)?;
        Ok(Self {
            scenario,
            servers,
            twin,
            drill,
            arrays,
            volumes,
            storage: toml::to_string(&written).expect("it was TOML before"),
        })
    }

    /// The scenario, resolved. The storage stands there as it was written, with what the command
    /// line replaced.
    pub fn to_toml(&self) -> String {
        // Lists of the top level have to stand before the first table.
        let (top, tables) = toml_text::top_and_tables(&self.storage);
        let (head, scenario) = (self.scenario.origin.head(), self.scenario.to_toml());
        format!("{head}{top}{}\n{tables}", &scenario[head.len()..])
    }

    /// What happens when, as it was written.
    pub fn timeline(&self) -> Vec<(String, String)> {
        let written: toml::Table = self.storage.parse().expect("it was TOML before");
        let events = written.get("event").and_then(toml::Value::as_array);
        let events = events.into_iter().flatten().filter_map(toml::Value::as_table);
        let words = events.map(|event| {
            let text = |key: &str| event.get(key).map(|value| value.to_string().replace('"', ""));
            let more = event.iter().filter(|(key, _)| *key != "at" && *key != "what");
            let more: Vec<String> =
                more.map(|(key, value)| format!("{key} = {value}").replace('"', "")).collect();
            let what = text("what").unwrap_or_default();
            let what = match more.is_empty() {
                true => what,
                false => format!("{what} ({})", more.join(", ")),
            };
            (text("at").unwrap_or_default(), what)
        });
        words.collect()
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
fn read_twin(node: Node) -> Result<TwinPlan, Refusal> {
    let mut twin = Section::new(node, "[twin]", &TWIN_KEYS)?;
    let branches =
        twin.read_or("branch_pages", false, |node| section::choice(node, &BRANCH_PAGES))?;
    let maps = twin.read_or("flush_maps", false, |node| section::choice(node, &FLUSH_MAPS))?;
    let log = twin
        .read_or("log_records", LogRecords::Ranges, |node| section::choice(node, &LOG_RECORDS))?;
    let chunk = twin.read("log_format", |node| {
        let size = section::size(node)?;
        match LOG_FORMAT.contains(&size.get()) && size.get().is_multiple_of(4096) {
            true => Ok(size),
            false => Err(node.place.refuse("not a multiple of 4 KiB up to 1 MiB")),
        }
    })?;
    let reads =
        twin.read("checksum_reads", |node| section::integer(node, 1..=CHECKSUM_READS_MAX))?;
    Ok(TwinPlan {
        branches_in_memory: branches.value,
        no_flush_maps: maps.value,
        log_records: log.value,
        log_format: chunk.map(|chunk| chunk.value),
        checksum_reads: reads.map(|reads| u32::try_from(reads.value).expect("in range")),
    })
}

fn read_servers(node: &Node) -> Result<Vec<String>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let refusal = node.place.refuse(format!("is {}, not a list of names", node.value.kind()));
        return Err(refusal.hint("for example: servers = [\"MAIL1\", \"MAIL2\"]"));
    };
    let mut names: Vec<String> = Vec::new();
    for node in nodes {
        let name = section::text(node)?;
        let fits = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if name.trim().is_empty() || !name.chars().all(fits) {
            let what = format!("\"{name}\" is no name of a server");
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
