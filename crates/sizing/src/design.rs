//! The sized design as a scenario.
//!
//! | organisation | scenario |
//! | --- | --- |
//! | has drives | a test on a modelled array, for `simulate`: the servers that share it |
//! | names folders | a test of one server on them, for `run` |
//!
//! It is the worst hour: every database copy on a server does the I/O of an active one, with
//! headroom. Passive copies replay the same changes, and after failures more of them are active;
//! the storage sees no difference. So no failure of a server is simulated; an `[[event]]` adds what
//! happens to drives, controllers and paths.

use std::fmt::Write;
use std::path::Path;

use brunt_array::Level;
use brunt_array::drive::library;
use brunt_report::{counted, grouped};
use brunt_scenario::{BlockPlan, GroupPlan, LogPlace, write_design};
use brunt_units::ByteSize;
use brunt_workload::profile::{SessionScope, Version};
use toml::{Table, Value};

use crate::Sizing;
use crate::sheet::{floor, whole};

const MIB: f64 = 1_048_576.0;
/// Drives are numbered up to here.
const DRIVES_MAX: f64 = 4096.0;
/// A scenario has no more log streams.
const DATABASES_MAX: u64 = 200;
/// A scenario has no more.
const SESSIONS_MAX: f64 = 10_000.0;
/// Two, so that one waits while the other reads.
const SESSIONS_MIN: f64 = 2.0;
/// The growth that a test leaves room for.
const RESERVE_PERCENT: f64 = 25.0;

/// Why there is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesignError(pub String);

impl std::fmt::Display for DesignError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DesignError {}

impl Sizing<'_> {
    /// The scenario of the design; `source` is what it was sized from.
    ///
    /// # Errors
    /// [`DesignError`] when there are neither drives nor folders, or when it is too large to be
    /// modelled.
    pub fn scenario(&self, source: &str) -> Result<String, DesignError> {
        let storage = &self.org.storage;
        let databases = self.sheet.count("copies_per_server");
        if databases > DATABASES_MAX {
            return Err(DesignError(format!(
                "{} database copies on a server are too many for a scenario: at most {DATABASES_MAX}\n  more `servers`, or fewer `databases`",
                grouped(databases)
            )));
        }
        match (&self.block, storage.luns.is_empty()) {
            (_, false) => Ok(self.on_folders(source)),
            (Some(block), true) => self.on_drives(block, source),
            (None, true) => Err(DesignError(
                "there is nothing to test: [storage] names neither drives nor folders\n  for example: drive = \"savvio-10k6-900-sas\", level = \"raid10\" and group_drives = 8, or luns = [\"/mnt/a\"]"
                    .to_owned(),
            )),
        }
    }

    /// A test of this machine's storage.
    fn on_folders(&self, source: &str) -> String {
        let storage = &self.org.storage;
        let count = self.databases();
        let mut text = self.head(source, "run");
        self.test(&mut text);
        for at in 0..count {
            let lun = at.rem_euclid(storage.luns.len());
            let log = match storage.log_luns.as_slice() {
                [] => &storage.luns[(lun + 1).rem_euclid(storage.luns.len())],
                logs => &logs[at.rem_euclid(logs.len())],
            };
            let own = at + 1;
            let log = log.join(format!("log{own}"));
            let database = storage.luns[lun].join(format!("db{own}/db{own}.edb"));
            instance(&mut text, &log, &database);
        }
        self.design(&mut text);
        text
    }

    /// A test of a modelled array.
    fn on_drives(&self, block: &BlockPlan, source: &str) -> Result<String, DesignError> {
        let get = |name: &str| self.sheet.get(name);
        let drives = get("array_servers") * get("drives_per_server") + get("spares");
        if drives > DRIVES_MAX {
            return Err(DesignError(format!(
                "an array of {} drives is too large to be modelled: at most {}\n  let fewer `servers` share an array ([storage])",
                grouped(whole(drives)),
                grouped(whole(DRIVES_MAX))
            )));
        }
        let (servers, drives) = (self.sheet.count("array_servers"), whole(drives));
        let mut text = self.head(source, "simulate");
        let names: Vec<Value> = (1..=servers).map(|at| format!("MAIL{at}").into()).collect();
        if servers > 1 {
            let _ = writeln!(text, "servers = {}", Value::Array(names.clone()));
        }
        self.test(&mut text);
        for own in 1..=self.databases() {
            let (log, database) = (format!("/log{own}"), format!("/db{own}/db{own}.edb"));
            instance(&mut text, Path::new(&log), Path::new(&database));
        }
        let layout = Layout { sizing: self, block, names: (servers > 1).then_some(names) };
        let _ = write!(text, "\n{}", layout.storage(drives));
        let _ = write!(
            text,
            "\n# A drive fails and is rebuilt:\n#\n# [[event]]\n# at = \"10min\"\n# what = \"drive fails\"\n# drive = 0\n"
        );
        self.design(&mut text);
        Ok(text)
    }

    /// `[design]`: whose size it is.
    fn design(&self, text: &mut String) {
        text.push_str(
            "\n# The organisation. A test does not use it; `brunt paper` calculates the size again and shows it.",
        );
        write_design(&self.org.to_table(&crate::keys()), text);
    }

    /// Database copies on one server.
    fn databases(&self) -> usize {
        usize::try_from(self.sheet.count("copies_per_server")).unwrap_or(usize::MAX)
    }

    fn head(&self, source: &str, command: &str) -> String {
        let sheet = &self.sheet;
        let org = self.org;
        let what = format!(
            "{} on {}, {} of {}, {}",
            counted(sheet.count("mailboxes"), "mailbox"),
            counted(org.servers.value, "server"),
            match org.copies.value {
                1 => "one copy".to_owned(),
                copies => format!("{copies} copies"),
            },
            counted(sheet.count("databases"), "database"),
            match org.failures.value {
                0 => "no failure to survive".to_owned(),
                1 => "after a server has failed".to_owned(),
                more => format!("after {more} servers have failed"),
            },
        );
        format!(
            "# {what}: the worst hour of {}.\n# Made by `brunt size {source}`, which also explains the figures (--explain).\n#\n#   brunt {command} THIS-FILE\n#\n\
             # Every copy on the server does the I/O of an active database, with headroom: after failures more of them are\n# active, and the storage sees no difference.\n\
             name = {}\ndescription = {}\n",
            match sheet.find("array_servers") {
                Some(shared) if shared > 1.0 && command == "simulate" =>
                    format!("{} servers on one array", whole(shared)),
                _ => "one server".to_owned(),
            },
            quoted(&format!("{}-design", org.name)),
            quoted(&what),
        )
    }

    /// `[test]`, `[mailboxes]`, `[profile]`, and what growth there is room for.
    fn test(&self, text: &mut String) {
        let sheet = &self.sheet;
        let copies = sheet.get("copies_per_server");
        let mailboxes = (sheet.get("mailboxes_per_database") * copies).round().max(1.0);
        let quota = floor(sheet.get("database_bytes") * copies / mailboxes / MIB).max(1.0);
        // A test has at most 100 % of headroom; what is more is in the I/O of its mailboxes.
        let wanted = sheet.get("headroom_percent");
        let headroom = wanted.round().min(100.0);
        let more = (1.0 + wanted / 100.0) / (1.0 + headroom / 100.0);
        let io = sheet.get("io_all") / sheet.get("mailboxes") * more;
        let _ = write!(
            text,
            "\n[test]\nkind = \"performance\"\nduration = \"2h\"\n\
             # Enough to ask for the target with its headroom even when every I/O takes as long as its limit allows.\n\
             sessions = {}\nheadroom_percent = {}\ncopies = {}\n\n\
             # Of one server; a quota is what a mailbox takes in the database.\n\
             [mailboxes]\ncount = {}\nquota = \"{} MiB\"\nio_per_s = {}\n\n[profile]\nversion = \"exchange-{}\"\n",
            self.sessions(),
            whole(headroom),
            self.org.copies.value,
            whole(mailboxes),
            whole(quota),
            rounded(io),
            self.org.version.name(),
        );
        let reserve = floor(
            (sheet.get("database_volume_bytes") / sheet.get("database_bytes") - 1.0) * 100.0 - 1.0,
        );
        if reserve < RESERVE_PERCENT && self.org.storage.luns.is_empty() {
            let _ = write!(
                text,
                "\n# What `free_percent` leaves for growth.\n[limits]\nreserve_percent = {}\n",
                whole(reserve.max(0.0))
            );
        }
    }

    /// Sessions, as the version counts them, that reach the target at the limits of latency.
    fn sessions(&self) -> u64 {
        let figures = self.org.version.profile();
        let limits = figures.strict.value;
        let wait = (limits.read_mean + limits.log_mean).as_seconds();
        let pools = match figures.session_scope.value {
            SessionScope::Server => 1.0,
            SessionScope::Instance | SessionScope::Database => self.sheet.get("copies_per_server"),
        };
        let each = self.sheet.get("io_per_server") * wait / pools;
        whole(each.clamp(SESSIONS_MIN, floor(SESSIONS_MAX / pools).max(SESSIONS_MIN)))
    }
}

/// Drives, groups, LUNs and volumes of an array.
struct Layout<'s> {
    sizing: &'s Sizing<'s>,
    block: &'s BlockPlan,
    /// Names of the servers, if there are several.
    names: Option<Vec<Value>>,
}

impl Layout<'_> {
    /// Everything from `[array]` on, with `drives` in all.
    fn storage(&self, drives: u64) -> String {
        let sheet = &self.sizing.sheet;
        let count = |name: &str| sheet.count(name);
        let org = self.sizing.org;
        let mut array = match org.array.is_empty() {
            true => assumed_array(),
            false => org.array.clone(),
        };
        array.insert("spares".to_owned(), integer(count("spares")));
        let mut of_drives = Table::new();
        of_drives.insert("model".to_owned(), self.block.drive.value.into());
        of_drives.insert("count".to_owned(), integer(drives));
        array.insert("drives".to_owned(), Value::Array(vec![of_drives.into()]));
        let (blocks, groups) = (count("blocks_per_server"), count("groups"));
        let mut all = Vec::new();
        for at in 1..=blocks * groups {
            all.push(self.group(&format!("databases {at}"), self.block.group));
        }
        if let LogPlace::Own(group) = self.block.logs {
            for at in 1..=blocks * count("log_groups") {
                all.push(self.group(&format!("logs {at}"), group));
            }
        }
        if let Some(group) = org.storage.backup {
            for at in 1..=count("backup_groups") {
                all.push(self.group(&format!("backups {at}"), group));
            }
        }
        array.insert("group".to_owned(), Value::Array(all));
        array.insert("lun".to_owned(), Value::Array(self.luns()));
        let mut volumes = Table::new();
        for own in 1..=self.sizing.databases() {
            for (folder, lun) in [("db", "database"), ("log", "log")] {
                let server = if self.names.is_some() { "{server} " } else { "" };
                let lun = format!("{server}{lun} {own}");
                volumes.insert(format!("/{folder}{own}"), lun.into());
            }
        }
        let mut storage = Table::new();
        storage.insert("array".to_owned(), array.into());
        storage.insert("volumes".to_owned(), volumes.into());
        let text = toml::to_string(&storage).expect("tables of texts and numbers");
        match org.array.is_empty() {
            true => format!(
                "# Assumed, because the organisation has no [array]: transport, ports, controllers, cache.\n{text}"
            ),
            false => text,
        }
    }

    /// A group as `brunt check` wants it.
    fn group(&self, name: &str, plan: GroupPlan) -> Value {
        let mut group = self.named(name);
        group.insert("level".to_owned(), plan.word().into());
        group.insert("drives".to_owned(), integer(plan.drives.into()));
        let is_striped = !matches!(plan.level, Level::Raid1 | Level::Pool { .. });
        if is_striped && self.sizing.org.version >= Version::Exchange2013 {
            group.insert("strip".to_owned(), "256 KiB".into());
        }
        let drive = library::find(self.block.drive.value);
        if drive.and_then(|drive| drive.rpm()).is_some_and(|rpm| rpm <= 7_200) {
            group.insert("rebuild_priority".to_owned(), "medium".into());
        }
        if let Some(size) = &self.block.drive_size {
            group.insert("drive_size".to_owned(), bytes(size.value).into());
        }
        group.into()
    }

    /// `name`, for each server where there are several.
    fn named(&self, name: &str) -> Table {
        let mut table = Table::new();
        match &self.names {
            Some(names) => {
                table.insert("name".to_owned(), format!("{{}} {name}").into());
                table.insert("each".to_owned(), Value::Array(names.clone()));
            }
            None => {
                table.insert("name".to_owned(), name.into());
            }
        }
        table
    }

    /// Databases in turn over the groups of their block, and their logs.
    fn luns(&self) -> Vec<Value> {
        let sheet = &self.sizing.sheet;
        let (groups, log_groups) = (sheet.count("groups"), sheet.count("log_groups"));
        let (database, log) = (sheet.get("database_volume_bytes"), sheet.get("log_volume_bytes"));
        let each_block = sheet.count("block_databases").max(1);
        let mut databases = Vec::new();
        let mut logs = Vec::new();
        for at in 0..sheet.count("copies_per_server") {
            let (block, own) = (at.div_euclid(each_block), at.rem_euclid(each_block));
            let group = block * groups + own.rem_euclid(groups) + 1;
            databases.push(self.lun(
                &format!("database {}", at + 1),
                &format!("databases {group}"),
                database,
            ));
            let log_group = match self.block.logs {
                LogPlace::Beside => format!("databases {group}"),
                LogPlace::Swapped => {
                    format!("databases {}", block * groups + (own + 1).rem_euclid(groups) + 1)
                }
                LogPlace::Own(_) => {
                    format!("logs {}", block * log_groups + own.rem_euclid(log_groups) + 1)
                }
            };
            logs.push(self.lun(&format!("log {}", at + 1), &log_group, log));
        }
        databases.extend(logs);
        databases
    }

    fn lun(&self, name: &str, group: &str, size: f64) -> Value {
        let mut lun = self.named(name);
        let group = match self.names {
            Some(_) => format!("{{}} {group}"),
            None => group.to_owned(),
        };
        lun.insert("group".to_owned(), group.into());
        lun.insert("size".to_owned(), format!("{} MiB", whole(floor(size / MIB))).into());
        lun.into()
    }
}

/// An array of the usual kind.
fn assumed_array() -> Table {
    let text = "[front]\ntransport = \"fc8\"\nports = 2\n[controller]\ncount = 2\ncores = 2\nread = \"100us\"\nwrite = \"150us\"\n\
                device_io = \"20us\"\nlink_rate = \"1 GB\"\nlink_latency = \"10us\"\n[cache]\nwrite = \"1 GiB\"\nread = \"256 MiB\"\n";
    text.parse().expect("it is TOML")
}

fn instance(text: &mut String, log: &Path, database: &Path) {
    let _ = write!(
        text,
        "\n[[instance]]\nlog = {}\ndatabases = [{}]\n",
        quoted(&log.to_string_lossy()),
        quoted(&database.to_string_lossy())
    );
}

fn integer(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn bytes(size: ByteSize) -> String {
    format!("{} B", size.get())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Six significant digits are more than anybody knows.
fn rounded(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let rounded: f64 = scientific.parse().expect("a number");
    format!("{rounded:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(rounded(0.134), "0.134");
        assert_eq!(rounded(0.1 + 0.2), "0.3");
        assert_eq!(rounded(1.0 / 3.0), "0.333333");
        assert_eq!(rounded(12.3456789), "12.3457");
    }
}
