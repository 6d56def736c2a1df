//! `[storage]` and `[array]` of an organisation: the drives of a building block, or folders of this
//! machine.

use std::path::{Path, PathBuf};

use brunt_array::drive::library;
use brunt_array::{GroupDesign, Level, MirrorChoice, RepairDesign};
use brunt_units::ByteSize;
use brunt_workload::profile::Version;

use super::super::arrays::read_front_tables;
use super::super::kept;
use super::super::nearest::nearest;
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};

/// A RAID group or a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    /// How it protects data.
    pub level: Level,
    pub drives: u32,
}

/// Where logs lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// In the group of their database.
    Beside,
    /// In the next database group.
    Swapped,
    /// In groups of their own.
    Own(GroupPlan),
}

/// Drives, and how they are grouped.
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// The drive model, one of the library.
    pub drive: Placed<&'static str>,
    /// How much of each drive is used; all of it without.
    pub drive_size: Option<Placed<ByteSize>>,
    /// Random I/Os per second of one drive, if the usual figure is not right.
    pub drive_io_per_s: Option<Placed<f64>>,
    /// The groups of databases.
    pub group: GroupPlan,
    /// Where logs lie.
    pub logs: LogPlace,
}

/// What an organisation lies on.
#[derive(Clone, Debug)]
pub struct StoragePlan {
    /// Drives, if that is decided.
    pub block: Option<BlockPlan>,
    /// The group that backups are written to, if there is one.
    pub backup: Option<GroupPlan>,
    /// Spare drives of an array.
    pub spares: Option<Placed<u64>>,
    /// Mailbox servers that share an array.
    pub servers: Placed<u64>,
    /// Folders on the volumes of one server, where there is real storage.
    pub luns: Vec<PathBuf>,
    /// The same for its logs.
    pub log_luns: Vec<PathBuf>,
    /// Where the table stands.
    pub place: Place,
}

const KEYS: [&str; 14] = [
    "drive",
    "drive_size",
    "drive_io_per_s",
    "level",
    "group_drives",
    "logs",
    "log_level",
    "log_drives",
    "backup_level",
    "backup_drives",
    "spares",
    "servers",
    "luns",
    "log_luns",
];

/// RAID levels that a building block may have.
pub(super) const LEVELS: [(&str, Level); 5] = [
    ("raid1", Level::Raid1),
    ("raid10", Level::Raid10),
    ("raid5", Level::Raid5),
    ("raid6", Level::Raid6),
    ("pool", Level::POOL),
];

#[derive(Clone, Copy)]
enum LogWord {
    Beside,
    Swapped,
    Own,
}

const LOGS: [(&str, LogWord); 3] =
    [("beside", LogWord::Beside), ("swapped", LogWord::Swapped), ("own", LogWord::Own)];

const GROUP_MAX: u64 = 192;
const DRIVE_IO_MIN: f64 = 0.001;
const DRIVE_IO_MAX: f64 = 10_000_000.0;

/// Reads `[storage]`.
pub(super) fn read(top: &mut Section, folder: &Path, version: Version) -> StoragePlan {
    let section = &mut top.section("storage", &KEYS);
    let place = section.place().clone();
    let luns = read_folders(section, "luns", folder);
    let log_luns = read_folders(section, "log_luns", folder);
    let sink = section.sink().clone();
    let block = sink.catch(read_block(section, version)).flatten();
    let backup = sink.catch(read_group(section, "backup_level", "backup_drives")).flatten();
    let spares = section.read("spares", |node| section::integer(node, 0..=4096));
    let servers = section.read_or("servers", 1, |node| section::integer(node, 1..=256));
    if let (Some(logs), true) = (&log_luns, luns.is_none()) {
        let refusal = logs.place.refuse("names volumes for logs and none for databases");
        section.refuse(refusal.hint("for example: luns = [\"/mnt/a\", \"/mnt/b\"]"));
    }
    StoragePlan {
        block,
        backup,
        spares,
        servers,
        luns: luns.map(|luns| luns.value).unwrap_or_default(),
        log_luns: log_luns.map(|luns| luns.value).unwrap_or_default(),
        place,
    }
}

fn read_block(section: &mut Section, version: Version) -> Result<Option<BlockPlan>, Refusal> {
    let drive = section.read("drive", drive);
    let drive_size = section.read("drive_size", section::size);
    let drive_io_per_s = section.read("drive_io_per_s", |node| {
        let least = section::positive(node)?;
        if least < DRIVE_IO_MIN {
            return Err(node.place.refuse(format!("is less than {DRIVE_IO_MIN}")));
        }
        super::figures::up_to(node, DRIVE_IO_MAX)
    });
    let group = read_group(section, "level", "group_drives")?;
    let logs = section.read("logs", |node| section::choice(node, &LOGS));
    let own = read_group(section, "log_level", "log_drives")?;
    let drive = if let Some(drive) = drive {
        drive
    } else {
        let beside = [
            drive_size.as_ref().map(|size| &size.place),
            drive_io_per_s.as_ref().map(|rate| &rate.place),
            group.as_ref().map(|_| section.place()),
            logs.as_ref().map(|logs| &logs.place),
            own.as_ref().map(|_| section.place()),
        ];
        if beside.into_iter().flatten().next().is_none() {
            return Ok(None);
        }
        // Older versions are on drives of their time, which only their owners know.
        if version < Version::Exchange2016 {
            return Err(section.lacks("drive", "drive = \"savvio-10k6-900-sas\""));
        }
        Placed { value: library::OF_TODAY, place: section.place().clone() }
    };
    if let Some(size) = &drive_size {
        let model = library::find(drive.value).expect("it is of the library");
        let whole = ByteSize::bytes(model.sectors() * 512);
        if size.value.get() == 0 || size.value > whole {
            let what = format!("not a part of a drive of {whole}");
            return Err(size.place.refuse(what));
        }
    }
    let group = group.ok_or_else(|| section.lacks("level", "level = \"raid10\""))?;
    let logs = match (logs.as_ref().map(|logs| logs.value), own) {
        (Some(LogWord::Own) | None, Some(own)) => LogPlace::Own(own),
        (Some(LogWord::Own), None) => {
            return Err(section.lacks("log_level", "log_level = \"raid10\""));
        }
        (Some(_), Some(_)) => {
            let logs = logs.expect("it was written");
            let refusal = logs.place.refuse("logs have groups of their own already");
            return Err(refusal.hint("keep `logs`, or `log_level` and `log_drives`"));
        }
        (Some(LogWord::Swapped), None) => LogPlace::Swapped,
        (Some(LogWord::Beside) | None, None) => LogPlace::Beside,
    };
    Ok(Some(BlockPlan { drive, drive_size, drive_io_per_s, group, logs }))
}

/// A drive of the library by its name.
pub(super) fn drive(node: &Node) -> Result<&'static str, Refusal> {
    let name = section::text(node)?;
    let names: Vec<&'static str> = library::names().collect();
    names.iter().find(|known| **known == name).copied().ok_or_else(|| {
        let refusal = node.place.refuse("there is no such drive model");
        refusal.hint(match nearest(&name, &names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "`brunt models` lists them".to_owned(),
        })
    })
}

/// A group of drives that can be built.
fn read_group(
    section: &mut Section,
    level_key: &str,
    drives_key: &str,
) -> Result<Option<GroupPlan>, Refusal> {
    let level = section.read(level_key, |node| section::choice(node, &LEVELS));
    let drives = section.read(drives_key, |node| section::integer(node, 1..=GROUP_MAX));
    match (level, drives) {
        (Some(level), Some(drives)) => {
            let plan = GroupPlan {
                level: level.value,
                drives: u32::try_from(drives.value).expect("in range"),
            };
            plan.check().map_err(|what| drives.place.refuse(what))?;
            Ok(Some(plan))
        }
        (Some(_), None) => Err(section.lacks(drives_key, &format!("{drives_key} = 8"))),
        (None, Some(_)) => Err(section.lacks(level_key, &format!("{level_key} = \"raid10\""))),
        (None, None) => Ok(None),
    }
}

impl GroupPlan {
    /// The word for its level in scenarios.
    ///
    /// # Panics
    /// When the level is none of `LEVELS`, which nobody can write.
    pub fn word(&self) -> &'static str {
        let found = LEVELS.iter().find(|(_, level)| *level == self.level);
        found.expect("a level that can be written").0
    }

    /// Whether such a group can be built.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(&self) -> Result<(), String> {
        let last = u16::try_from(self.drives).map_err(|_| "too many drives".to_owned())?;
        let design = GroupDesign {
            name: String::new(),
            level: self.level,
            drives: (0..last).collect(),
            drive_size: None,
            strip: ByteSize::kib(64),
            mirror_choice: MirrorChoice::ShortestQueue,
            repair: RepairDesign::default(),
        };
        design.check().map_err(|error| error.to_string())
    }
}

fn read_folders(section: &mut Section, key: &str, folder: &Path) -> Option<Placed<Vec<PathBuf>>> {
    section.read(key, |node| match &node.value {
        Value::List(nodes) if !nodes.is_empty() => {
            nodes.iter().map(|node| section::absolute(node, folder)).collect()
        }
        other => {
            let what = format!("is {}, not a list of folders", other.kind());
            Err(node.place.refuse(what).hint("for example: [\"/mnt/a\", \"/mnt/b\"]"))
        }
    })
}

/// Keys of `[array]` that do not follow from the size.
const ARRAY_KEYS: [&str; 6] = ["queue", "wait_max", "front", "controller", "cache", "scan"];

/// Reads `[array]`: checked as for `simulate`, and kept as it was written.
pub(super) fn read_array(top: &mut Section) -> toml::Table {
    let Some(node) = top.take("array") else {
        return toml::Table::new();
    };
    let hint = "drives, groups and LUNs follow from the size: see [storage]";
    let mut written = Section::hinted(node, "[array]", &ARRAY_KEYS, Some(hint));
    let table = kept::table(written.entries());
    read_front_tables(&mut written);
    table
}
