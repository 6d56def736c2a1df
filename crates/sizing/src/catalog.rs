//! What each figure is called, what it is a number of, and where its formula comes from.

use brunt_scenario::{FigureKey, Quantity};
use brunt_workload::profile::Certainty;

use crate::constants;

use self::Certainty::{Assumed, Found, Inferred, Published};
use self::Unit::{Bytes, Count, Days, Io, Megacycles, Number, Percent, Rate, Seconds};

/// What a figure is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, whole.
    Count,
    /// Anything else.
    Number,
    Percent,
    Bytes,
    /// Bytes per second.
    Rate,
    Seconds,
    Days,
    /// I/Os per second.
    Io,
    /// Millions of processor cycles per second.
    Megacycles,
}

impl Unit {
    /// The word for it behind a plain number, such as in CSV.
    pub fn word(self) -> &'static str {
        match self {
            Count | Number => "",
            Percent => "%",
            Bytes => "bytes",
            Rate => "bytes/s",
            Seconds => "s",
            Days => "days",
            Io => "/s",
            Megacycles => "megacycles",
        }
    }
}

/// What is known of a figure besides its value.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    pub name: &'static str,
    /// What it is, in words.
    pub label: &'static str,
    pub unit: Unit,
    /// For what is calculated: how certain the formula is.
    pub certainty: Certainty,
    /// For what is calculated: where the formula comes from.
    pub source: &'static str,
}

const fn known(name: &'static str, unit: Unit, label: &'static str) -> Meaning {
    formula(name, unit, label, Assumed, "")
}

const fn formula(
    name: &'static str,
    unit: Unit,
    label: &'static str,
    certainty: Certainty,
    source: &'static str,
) -> Meaning {
    Meaning { name, label, unit, certainty, source }
}

/// Arithmetic needs no source.
const SUM: &str = "arithmetic";
const CALCULATOR: &str = "Microsoft's calculators; Dell 2015 worked backwards follows it";
const BLOCK: &str = "EMC 2010: building block";

/// Every figure, in the order in which `--explain` shows them.
pub const FIGURES: &[Meaning] = &[
    known("headroom_percent", Percent, "I/O on top of what is expected"),
    known("growth_percent", Percent, "growth to come"),
    known("message_bytes", Bytes, "a message"),
    formula(
        "message_bytes_usual",
        Bytes,
        "a message of the log figures",
        Published,
        "design tables",
    ),
    known("io_per_message", Number, "I/Os per second for a message a day"),
    known("read_percent", Percent, "reads among database I/Os"),
    known("log_io_percent", Percent, "log writes beside database I/Os"),
    known("log_bytes", Bytes, "a log file"),
    known("logs_per_message", Number, "log files for a message"),
    known("message_body_percent", Percent, "share of message text in the log"),
    known("log_days", Days, "logs kept"),
    known("moves_percent", Percent, "mailboxes moved in a week"),
    known("peak_hour_percent", Percent, "busiest hour's share of a day's logs"),
    known("deleted_item_days", Days, "deleted items kept"),
    known("whitespace_days", Days, "mail's worth of whitespace"),
    known("recovery_percent", Percent, "single item recovery, of the quota"),
    known("calendar_percent", Percent, "calendar logging, of the quota"),
    known("overhead_percent", Percent, "tables and indexes of the database"),
    known("index_percent", Percent, "content index beside the database"),
    known("merge_index_percent", Percent, "room to merge the index"),
    known("free_percent", Percent, "free space of a volume"),
    known("log_volume_bytes_min", Bytes, "smallest log volume"),
    known("database_bytes_max", Bytes, "largest database"),
    known("databases_max", Count, "most databases on a server"),
    known("maintenance_bytes_per_s", Rate, "background maintenance of a copy"),
    known("restore_bytes_per_s", Rate, "restore"),
    known("replay_s_per_log", Seconds, "replay of a log file"),
    known("backup_days", Days, "logs since the last backup"),
    known("memory_base_bytes", Bytes, "memory without mailboxes"),
    known("memory_bytes_per_mailbox", Bytes, "memory for an active mailbox"),
    known("memory_bytes_per_message", Bytes, "memory for a message a day"),
    known("memory_bytes_min", Bytes, "least memory of a server"),
    known("memory_bytes_max", Bytes, "most memory of a server"),
    known("cores_max", Count, "most cores of a server"),
    known("active_megacycles_per_message", Megacycles, "processor for a message a day, active"),
    known("passive_megacycles_per_message", Megacycles, "processor for a message a day, passive"),
    known("copy_megacycles_percent", Percent, "more processor for each further copy"),
    known("megacycles_per_core", Megacycles, "a core"),
    known("processor_percent_max", Percent, "busiest a processor may be"),
    known("queued_percent", Percent, "mail that waits in a long outage"),
    known("queue_days", Days, "longest outage that mail waits for"),
    known("safety_days", Days, "mail kept after delivery"),
    known("queue_copies", Number, "copies of queued mail"),
    known("on_disk_percent", Percent, "what a mailbox takes, of its quota"),
    known("megacycles_per_mailbox", Megacycles, "processor for an active mailbox"),
    known("server_cores", Count, "cores of a server"),
    known("server_memory_bytes", Bytes, "memory of a server"),
    // Of a tier.
    known("count", Count, "mailboxes"),
    known("quota_bytes", Bytes, "quota"),
    formula("messages_per_day", Number, "messages a day", Inferred, "the profile of that I/O"),
    formula(
        "io_per_mailbox",
        Number,
        "I/Os per second of a mailbox",
        Inferred,
        "design tables, profile tables",
    ),
    formula("mail_bytes_per_day", Bytes, "mail of a day", Found, SUM),
    formula(
        "log_factor",
        Number,
        "logs for larger messages",
        Inferred,
        "techcommunity: doubled messages make 1.9 times the logs",
    ),
    formula(
        "logs_per_mailbox",
        Number,
        "log files of a day",
        Inferred,
        "techcommunity, design tables",
    ),
    formula("whitespace_bytes", Bytes, "whitespace", Inferred, CALCULATOR),
    formula("recoverable_bytes", Bytes, "recoverable items", Inferred, CALCULATOR),
    formula("mailbox_bytes", Bytes, "a mailbox on disk", Inferred, CALCULATOR),
    // Of all.
    known("servers", Count, "mailbox servers"),
    known("copies", Count, "copies of a database"),
    known("failures", Count, "servers that may fail"),
    known("restore_within_s", Seconds, "a restore may take"),
    formula("mailboxes", Count, "mailboxes", Found, SUM),
    formula("messages_all", Number, "messages a day", Found, SUM),
    formula("mail_bytes_all", Bytes, "mail of a day", Found, SUM),
    formula("io_all", Io, "database I/O without headroom", Found, SUM),
    formula("logs_per_day", Number, "log files of a day", Found, SUM),
    formula("content_bytes", Bytes, "what mailboxes take", Found, SUM),
    formula("data_bytes", Bytes, "databases", Inferred, CALCULATOR),
    formula(
        "restore_all_s",
        Seconds,
        "restoring everything, one after the other",
        Inferred,
        "the larger a database, the longer its restore",
    ),
    formula(
        "databases_for_size",
        Count,
        "databases, by their size",
        Found,
        "EXDOC, EMC 2010: largest database",
    ),
    formula(
        "databases_for_restore",
        Count,
        "databases, by the restore",
        Inferred,
        "each is restored in time",
    ),
    formula("databases", Count, "databases", Inferred, "as many on each server"),
    formula("database_bytes", Bytes, "a database", Found, SUM),
    formula("mailboxes_per_database", Number, "mailboxes of a database", Found, SUM),
    formula("copies_all", Count, "database copies", Found, SUM),
    formula("copies_per_server", Count, "database copies on a server", Found, SUM),
    formula("active_per_server", Count, "active databases on a server", Found, SUM),
    formula("servers_left", Count, "servers after failures", Found, SUM),
    formula("copies_left", Count, "copies after failures, in the worst case", Found, SUM),
    formula(
        "active_after_failures",
        Count,
        "active databases on a server after failures",
        Inferred,
        "spread evenly over the servers that are left; with one copy, over those that share its array",
    ),
    formula("mailboxes_after_failures", Number, "mailboxes on a server after failures", Found, SUM),
    formula(
        "io_per_database",
        Io,
        "database I/O of a database",
        Found,
        "Dell 2008, EMC 2010: profile with headroom",
    ),
    formula("io_per_server", Io, "database I/O of a server", Found, SUM),
    formula(
        "log_io_per_database",
        Io,
        "log writes of a database",
        Inferred,
        "slipstick, Dell 2015",
    ),
    formula(
        "maintenance_per_server",
        Rate,
        "background maintenance of a server",
        Found,
        "Dell 2015: for each copy",
    ),
    formula("move_logs_per_day", Number, "log files of moves in a day", Inferred, CALCULATOR),
    formula(
        "log_space_bytes",
        Bytes,
        "logs of a database",
        Inferred,
        "EXDOC: days' worth; Dell 2015 follows it with seven",
    ),
    formula("index_bytes", Bytes, "index of a database", Inferred, CALCULATOR),
    formula("database_volume_bytes", Bytes, "volume of a database", Inferred, CALCULATOR),
    formula("log_volume_bytes", Bytes, "volume of its logs", Inferred, CALCULATOR),
    formula("restore_volume_bytes", Bytes, "volume to restore a database on", Inferred, CALCULATOR),
    formula(
        "restore_s",
        Seconds,
        "restore of a database",
        Inferred,
        "copy it back, replay its logs",
    ),
    formula(
        "active_megacycles",
        Megacycles,
        "active databases",
        Published,
        "design tables, SizingChecker",
    ),
    formula(
        "passive_megacycles",
        Megacycles,
        "passive databases",
        Published,
        "design tables, SizingChecker",
    ),
    formula("cores", Count, "cores", Found, "Microsoft (aa995737), SizingChecker"),
    formula("directory_cores", Count, "cores of directory servers", Found, "EXDOC: one for eight"),
    formula(
        "processor_percent",
        Percent,
        "processor in the worst hour",
        Found,
        "Microsoft (aa995737)",
    ),
    formula(
        "memory_bytes",
        Bytes,
        "memory",
        Published,
        "design tables; Exchange 2007: 2 GB and 5 MB a mailbox",
    ),
    known("page_file_bytes_max", Bytes, "the largest page file"),
    formula(
        "page_file_bytes",
        Bytes,
        "page file or swap, if any",
        Found,
        "EXDOC: memory and 10 MB; from 2013 on, 32,778 MB at most",
    ),
    formula("queue_bytes", Bytes, "transport database, in all", Inferred, CALCULATOR),
    formula(
        "queue_per_server_bytes",
        Bytes,
        "transport database of a server",
        Inferred,
        CALCULATOR,
    ),
    formula(
        "replication_bytes_per_s",
        Rate,
        "log shipping in the busiest hour",
        Published,
        "design tables: logs of the busiest hour to every further copy",
    ),
    // Storage.
    known("drive_io_per_s", Io, "random I/O of a drive"),
    known("write_penalty", Number, "I/Os to drives for a write"),
    known("drive_bytes", Bytes, "a drive"),
    known("group_drives", Count, "drives of a group"),
    known("group_data_drives", Number, "drives' worth of data in a group"),
    known("log_drives", Count, "drives of a log group"),
    known("log_data_drives", Number, "drives' worth of data in a log group"),
    known("log_write_penalty", Number, "I/Os to drives for a log write"),
    known("backup_drives", Count, "drives of a backup group"),
    known("backup_data_drives", Number, "drives' worth of data in a backup group"),
    known("array_servers", Count, "servers that share an array"),
    known("array_servers_min", Count, "servers that share the array with the fewest"),
    formula("group_bytes", Bytes, "capacity of a group", Found, SUM),
    formula(
        "block_databases",
        Count,
        "databases of a building block",
        Inferred,
        "EMC 2010: one copy of a server's databases",
    ),
    formula(
        "blocks_per_server",
        Count,
        "building blocks of a server",
        Found,
        "EMC 2010: times the copies",
    ),
    formula("block_io", Io, "database I/O of a building block", Found, BLOCK),
    formula("block_drive_io", Io, "I/O to drives of a building block", Found, BLOCK),
    formula("drives_for_io", Number, "drives for I/O", Found, BLOCK),
    formula("groups_for_io", Count, "groups for I/O", Found, "EMC 2010: whole groups"),
    formula("volume_bytes", Bytes, "a database in its group", Found, SUM),
    formula(
        "databases_per_group",
        Count,
        "databases that a group holds",
        Inferred,
        "a volume lies in one group",
    ),
    formula("groups_for_capacity", Count, "groups for capacity", Found, "EMC 2010: whole groups"),
    formula("database_drive_io", Io, "I/O to drives of a database", Found, SUM),
    formula("group_drive_io", Io, "I/O that a group does", Found, SUM),
    formula(
        "groups_for_balance",
        Count,
        "groups for whole databases",
        Inferred,
        "the busiest group does no more than its drives can",
    ),
    known("groups_min", Count, "least groups, so that logs lie elsewhere"),
    formula(
        "groups",
        Count,
        "groups of a building block",
        Found,
        "EMC 2010: the larger of the two",
    ),
    formula("log_drive_io", Io, "I/O to drives for logs", Inferred, BLOCK),
    formula("log_group_bytes", Bytes, "capacity of a log group", Found, SUM),
    formula("log_drive_io_each", Io, "I/O to drives for the log of a database", Inferred, BLOCK),
    formula("log_group_drive_io", Io, "I/O that a log group does", Found, SUM),
    formula("log_groups", Count, "log groups of a building block", Inferred, "as for databases"),
    formula(
        "backup_groups",
        Count,
        "backup groups of a server",
        Inferred,
        "one backup of its active databases",
    ),
    formula("drives_per_server", Count, "drives of a server", Found, SUM),
    formula("arrays", Count, "arrays", Found, SUM),
    formula("spared_drives", Count, "drives of a server that are not in pools", Found, SUM),
    formula(
        "spares",
        Count,
        "spare drives of an array",
        Assumed,
        "one for 30 drives; a pool keeps room instead",
    ),
    formula("drives", Count, "drives", Found, SUM),
];

/// What `name` means.
///
/// # Panics
/// When it is no figure: a test asks for all of them.
pub fn meaning(name: &str) -> &'static Meaning {
    let mut all = FIGURES.iter();
    let found = all.find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("`{name}` has no meaning"))
}

/// Figures that something is divided by.
const DIVISORS: [&str; 10] = [
    "io_per_message",
    "message_bytes",
    "log_bytes",
    "database_bytes_max",
    "restore_bytes_per_s",
    "megacycles_per_core",
    "processor_percent_max",
    "on_disk_percent",
    "server_cores",
    "databases_max",
];

/// Figures that an organisation can give.
pub fn keys() -> Vec<FigureKey> {
    let names = constants::names().chain(constants::UNKNOWN);
    let all = names.map(|name| FigureKey {
        name,
        quantity: quantity(name),
        is_divisor: DIVISORS.contains(&name),
    });
    all.collect()
}

fn quantity(name: &str) -> Quantity {
    match (name, meaning(name).unit) {
        // All of something, and no more.
        ("free_percent", _) => Quantity::Part,
        ("read_percent" | "message_body_percent" | "processor_percent_max", _) => Quantity::Share,
        ("peak_hour_percent" | "moves_percent" | "queued_percent", _) => Quantity::Share,
        (_, Percent) => Quantity::Percent,
        (_, Bytes) => Quantity::Bytes,
        (_, Rate) => Quantity::Rate,
        (_, Seconds) => Quantity::Seconds,
        (_, Days) => Quantity::Days,
        (_, Count | Number | Io | Megacycles) => Quantity::Number,
    }
}
