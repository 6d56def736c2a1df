//! `[storage]` and `[array]` of an organisation: the drives of a building block, or folders of this
//! machine.

use std::path::{Path, PathBuf};

use brunt_array::drive::library;
use brunt_array::{GroupDesign, Level, MirrorChoice, RepairDesign};
use brunt_units::ByteSize;
use brunt_workload::profile::Version;

use super::super::arrays::read_front_tables;
use super::super::kept;
use super::super::keys::{At, Maybe, SIZE, Whole, Word, keys, list, number, own};
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

keys! {
    /// The table as it is written.
    #[derive(Clone)]
    pub(crate) struct Said; STORAGE = "[storage]";
    /// The drive model of a building block.
    drive: Option<Placed<&'static str>> = None, Maybe(At(own(drive, "name of a model"))), "8 TB of 2021, from Exchange 2016 on";
    /// How much of each drive is used.
    drive_size: Option<Placed<ByteSize>> = None, Maybe(At(SIZE)), "all of it";
    /// Random I/Os per second of one drive.
    drive_io_per_s: Option<Placed<f64>> = None, Maybe(At(number(read_io, "0.001 to 10000000"))), "by model";
    /// How groups of databases are protected.
    level: Option<Level> = None, Maybe(Word(&LEVELS)), "has to be there with drives";
    /// Drives of such a group.
    group_drives: Option<u32> = None, Maybe(Whole(1..=GROUP_MAX)), "has to be there with `level`";
    /// Where logs lie: with their database, with the next one, or in groups of their own.
    logs: Option<Placed<LogWord>> = None, Maybe(At(Word(&LOGS))), "`\"beside\"`, or by `log_level`";
    /// How groups of logs are protected.
    log_level: Option<Level> = None, Maybe(Word(&LEVELS)), "none";
    /// Drives of such a group.
    log_drives: Option<u32> = None, Maybe(Whole(1..=GROUP_MAX)), "has to be there with `log_level`";
    /// How the group of backups is protected.
    backup_level: Option<Level> = None, Maybe(Word(&LEVELS)), "none";
    /// Drives of that group.
    backup_drives: Option<u32> = None, Maybe(Whole(1..=GROUP_MAX)), "has to be there with `backup_level`";
    /// Spare drives of an array.
    spares: Option<Placed<u64>> = None, Maybe(At(Whole(0..=4096))), "by the number of drives";
    /// Mailbox servers that share an array.
    servers: Placed<u64> = Placed::unwritten(1), At(Whole(1..=256)), "1";
    /// Folders on the volumes of one server, where there is real storage.
    luns: Option<Placed<Vec<PathBuf>>> = None, Maybe(At(list(read_folders, "list of folders"))), "none";
    /// The same for its logs.
    log_luns: Option<Placed<Vec<PathBuf>>> = None, Maybe(At(list(read_folders, "list of folders"))), "none";
}

/// RAID levels that a building block may have.
pub(super) static LEVELS: [(&str, Level); 5] = [
    ("raid1", Level::Raid1),
    ("raid10", Level::Raid10),
    ("raid5", Level::Raid5),
    ("raid6", Level::Raid6),
    ("pool", Level::POOL),
];

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LogWord {
    Beside,
    Swapped,
    Own,
}

static LOGS: [(&str, LogWord); 3] =
    [("beside", LogWord::Beside), ("swapped", LogWord::Swapped), ("own", LogWord::Own)];

const GROUP_MAX: u64 = 192;
const DRIVE_IO_MIN: f64 = 0.001;
const DRIVE_IO_MAX: f64 = 10_000_000.0;

/// Reads `[storage]`.
pub(super) fn read(top: &mut Section, folder: &Path, version: Version) -> StoragePlan {
    let mut said = Said::default();
    let section = &STORAGE.read(top.table("storage"), &mut said);
    let sink = section.sink();
    let block = sink.catch(read_block(section, &said, version)).flatten();
    let backup = (said.backup_level, said.backup_drives);
    let backup = sink.catch(read_group(section, backup, ["backup_level", "backup_drives"]));
    if let (Some(logs), true) = (&said.log_luns, said.luns.is_none()) {
        let refusal = logs.place.refuse("names volumes for logs and none for databases");
        section.refuse(refusal.hint("for example: luns = [\"/mnt/a\", \"/mnt/b\"]"));
    }
    let absolute = |luns: Option<Placed<Vec<PathBuf>>>| {
        let luns = luns.map(|luns| luns.value).unwrap_or_default();
        luns.iter().map(|path| section::joined(folder, path)).collect()
    };
    StoragePlan {
        block,
        backup: backup.flatten(),
        spares: said.spares,
        servers: said.servers,
        luns: absolute(said.luns),
        log_luns: absolute(said.log_luns),
        place: section.place().clone(),
    }
}

fn read_io(node: &Node) -> Result<f64, Refusal> {
    let least = section::positive(node)?;
    if least < DRIVE_IO_MIN {
        return Err(node.place.refuse(format!("is less than {DRIVE_IO_MIN}")));
    }
    super::figures::up_to(node, DRIVE_IO_MAX)
}

fn read_block(
    section: &Section,
    said: &Said,
    version: Version,
) -> Result<Option<BlockPlan>, Refusal> {
    let Said { drive, drive_size, drive_io_per_s, logs, .. } = said.clone();
    let of_group = (said.level, said.group_drives);
    let group = read_group(section, of_group, ["level", "group_drives"])?;
    let own = read_group(section, (said.log_level, said.log_drives), ["log_level", "log_drives"])?;
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

/// A group of drives that can be built, whose level and drives have these `keys`.
fn read_group(
    section: &Section,
    group: (Option<Level>, Option<u32>),
    keys: [&str; 2],
) -> Result<Option<GroupPlan>, Refusal> {
    let [level_key, drives_key] = keys;
    match group {
        (Some(level), Some(drives)) => {
            let plan = GroupPlan { level, drives };
            plan.check().map_err(|what| section.place_of(drives_key).refuse(what))?;
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

fn read_folders(node: &Node) -> Result<Vec<PathBuf>, Refusal> {
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(section::path).collect(),
        other => {
            let what = format!("is {}, not a list of folders", other.kind());
            Err(node.place.refuse(what).hint("for example: [\"/mnt/a\", \"/mnt/b\"]"))
        }
    }
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
