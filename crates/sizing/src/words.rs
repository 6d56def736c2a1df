//! A size in words and tables, for a screen of 80 columns.

use brunt_report::{Column, Row, Table, counted, decimals, grouped};
use brunt_scenario::{LogPlace, SERVERS_MAX};
use brunt_workload::profile::Certainty;

use crate::explain::{entries, megabytes, value};
use crate::findings::size;
use crate::sheet::{Entry, Origin, Sheet, whole};
use crate::{Finding, Servers, Sizing};

/// Before each line that belongs to a label.
const INDENT: usize = 14;

/// The verdict: a word, and what is needed in a line.
pub fn verdict(sizing: &Sizing<'_>) -> (&'static str, String) {
    let failed: Vec<&Finding> = sizing.findings.iter().filter(|finding| !finding.holds).collect();
    let word = match failed.is_empty() {
        true => "SIZED",
        false => "DOES NOT FIT",
    };
    (word, needs(sizing))
}

fn needs(sizing: &Sizing<'_>) -> String {
    let sheet = &sizing.sheet;
    let databases = counted(sheet.count("databases"), "database");
    if sizing.block.is_none() {
        return format!("{databases}, {} for each server", io(sheet.get("io_per_server")));
    }
    format!(
        "{} for {databases}; {}",
        counted(sheet.count("drives"), "drive"),
        match decides(sheet) {
            "both" => "I/O and capacity need the same number".to_owned(),
            one => format!("{one} decides"),
        }
    )
}

/// What the number of drives follows from.
pub fn decides(sheet: &Sheet) -> &'static str {
    let balance = sheet.get("groups_for_balance");
    let (io, capacity) =
        (sheet.get("groups_for_io").max(balance), sheet.get("groups_for_capacity"));
    match (io > capacity, io < capacity) {
        (true, _) => "I/O",
        (_, true) => "capacity",
        _ => "both",
    }
}

fn io(rate: f64) -> String {
    format!("{} I/Os per second", grouped(whole(rate)))
}

/// Lines below the verdict: what does not fit, and what was sized.
pub fn head(sizing: &Sizing<'_>) -> String {
    let sheet = &sizing.sheet;
    let org = sizing.org;
    let mut lines = Vec::new();
    for finding in sizing.findings.iter().filter(|finding| !finding.holds) {
        lines.push(format!(
            "{:INDENT$}{}: {}, and the limit is {}",
            "", finding.label, finding.value, finding.limit
        ));
        lines.push(format!("{:INDENT$}try {}", "", finding.remedy));
    }
    if let Some(servers) = sizing.servers_that_fit() {
        lines.push(format!("{:INDENT$}{}", "would fit", would_fit(&servers)));
    }
    lines.push(format!(
        "{:INDENT$}{} of {}, {} with {} of each database{}",
        "mailboxes",
        grouped(sheet.count("mailboxes")),
        org.version,
        counted(org.servers.value, "server"),
        match org.copies.value {
            1 => "one copy".to_owned(),
            copies => format!("{copies} copies"),
        },
        match org.failures.value {
            0 => String::new(),
            failures => format!(", {failures} may fail"),
        }
    ));
    if sizing.block.is_some() {
        lines.extend(storage(sizing));
    }
    lines.join("\n")
}

/// How many servers would fit, or why no number does.
pub(crate) fn would_fit(servers: &Servers) -> String {
    match servers {
        Servers::Fit(number, reduced) => {
            let number = counted(*number, "server");
            let has = |(name, most): &(&str, f64)| match *name {
                "server_cores" => counted(whole(*most), "core"),
                _ => format!("{} of memory", size(*most)),
            };
            let reduced: Vec<String> = reduced.iter().map(has).collect();
            match reduced.is_empty() {
                true => format!("{number}, and no fewer"),
                false => format!("{number} of {} each, and no fewer", reduced.join(" and ")),
            }
        }
        Servers::None(broken) => format!(
            "no number of servers up to {SERVERS_MAX}: {} would be {}, and the limit is {}",
            broken.label, broken.value, broken.limit
        ),
    }
}

/// The building block.
fn storage(sizing: &Sizing<'_>) -> Vec<String> {
    let sheet = &sizing.sheet;
    let Some(block) = &sizing.block else {
        return Vec::new();
    };
    let count = |name: &str| sheet.count(name);
    let groups = count("blocks_per_server") * count("groups");
    let mut lines = vec![format!(
        "{:INDENT$}{}: {} of {} {} ({}), for each server",
        "storage",
        counted(count("drives_per_server"), "drive"),
        counted(groups, "group"),
        block.group.drives,
        block.drive.value,
        block.group.level.word(),
    )];
    lines.extend(sizing.drive().map(|drive| format!("{:INDENT$}{drive}", "drive")));
    let logs = match block.logs {
        LogPlace::Beside => "beside their databases".to_owned(),
        LogPlace::Swapped => "in the group of other databases".to_owned(),
        LogPlace::Own(group) => format!(
            "in {} of {} ({})",
            counted(count("blocks_per_server") * count("log_groups"), "group"),
            group.drives,
            group.level.word()
        ),
    };
    lines.push(format!("{:INDENT$}{logs}", "logs"));
    if let Some(group) = sizing.org.storage.backup {
        lines.push(format!(
            "{:INDENT$}in {} of {} ({}), for each server",
            "backups",
            counted(count("backup_groups"), "group"),
            group.drives,
            group.level.word()
        ));
    }
    lines.push(format!(
        "{:INDENT$}{}, each for {}, with {}",
        "arrays",
        grouped(count("arrays")),
        counted(count("array_servers"), "server"),
        counted(count("spares"), "spare"),
    ));
    lines
}

/// What a database, a server and all together need.
pub fn demand(sizing: &Sizing<'_>) -> Table {
    let sheet = &sizing.sheet;
    let get = |name: &str| sheet.get(name);
    let (servers, copies, all) = (get("servers"), get("copies_per_server"), get("copies_all"));
    let active = get("active_per_server");
    let databases = get("databases");
    let whole_number = |number: f64| grouped(whole(number.round()));
    let row = |label: &str, one: f64, server: f64, all: f64, words: &dyn Fn(f64) -> String| {
        Row::new([label.to_owned(), words(one), words(server), words(all)])
    };
    let io = get("io_per_database");
    let read = get("read_percent") / 100.0;
    let log = get("log_io_per_database");
    let volumes = get("database_volume_bytes");
    let logs = get("log_volume_bytes");
    let daily = (get("logs_per_day") + get("move_logs_per_day")) / databases;
    let mut rows = vec![
        row(
            "mailboxes, active",
            get("mailboxes_per_database"),
            get("mailboxes_per_database") * active,
            get("mailboxes"),
            &whole_number,
        ),
        row("database copies", 1.0, copies, all, &whole_number),
        row("database reads /s", io * read, io * read * copies, io * read * all, &decimals),
        row(
            "database writes /s",
            io * (1.0 - read),
            io * (1.0 - read) * copies,
            io * (1.0 - read) * all,
            &decimals,
        ),
        row("log writes /s", log, log * copies, log * all, &decimals),
    ];
    if get("maintenance_bytes_per_s") > 0.0 {
        let each = get("maintenance_bytes_per_s");
        rows.push(row("maintenance a second", each, each * copies, each * all, &megabytes));
    }
    rows.push(row("log files a day", daily, daily * active, daily * databases, &whole_number));
    rows.push(row(
        "database",
        get("database_bytes"),
        get("database_bytes") * copies,
        get("database_bytes") * all,
        &size,
    ));
    if get("index_bytes") > 0.0 {
        rows.push(row(
            "index",
            get("index_bytes"),
            get("index_bytes") * copies,
            get("index_bytes") * all,
            &size,
        ));
    }
    rows.push(row("volumes of databases", volumes, volumes * copies, volumes * all, &size));
    rows.push(row("volumes of logs", logs, logs * copies, logs * all, &size));
    let restore = get("restore_volume_bytes");
    rows.push(Row::new([
        "volume for a restore".to_owned(),
        "-".to_owned(),
        size(restore),
        size(restore * servers),
    ]));
    let queue = get("queue_per_server_bytes");
    rows.push(Row::new([
        "transport database".to_owned(),
        "-".to_owned(),
        size(queue),
        size(queue * servers),
    ]));
    Table::new(Column::of(&["with headroom"], &["a database", "a server", "all"]), rows)
}

/// What a server does before and after failures.
pub fn server(sizing: &Sizing<'_>) -> Table {
    let sheet = &sizing.sheet;
    let mut pairs = vec![
        ("servers left", value("servers_left", sheet.get("servers_left"))),
        (
            "active databases of each",
            match sizing.org.failures.value {
                0 => grouped(sheet.count("active_per_server")),
                _ => format!(
                    "{}, {} without failures",
                    sheet.count("active_after_failures"),
                    sheet.count("active_per_server")
                ),
            },
        ),
        ("mailboxes of each", grouped(whole(sheet.get("mailboxes_after_failures").round()))),
        ("memory of each", size(sheet.get("memory_bytes"))),
        (
            "cores of each",
            match sheet.find("cores") {
                Some(cores) => format!(
                    "{} of {} megacycles",
                    whole(cores),
                    grouped(sheet.count("megacycles_per_core"))
                ),
                None => "unknown for this version; give `megacycles_per_mailbox` in [figures]"
                    .to_owned(),
            },
        ),
    ];
    if sheet.get("copies") > 1.0 {
        pairs.push((
            "log shipping, busiest hour",
            value("replication_bytes_per_s", sheet.get("replication_bytes_per_s")),
        ));
    }
    let rows = pairs.into_iter().map(|(label, value)| Row::new([label.to_owned(), value]));
    let head = match sizing.org.failures.value {
        0 => "without failures".to_owned(),
        1 => "after a failure".to_owned(),
        more => format!("after {more} failures"),
    };
    Table::new([Column::words(head), Column::words("")], rows)
}

/// The drives of a building block, by I/O and by capacity.
pub fn block(sizing: &Sizing<'_>) -> Option<Table> {
    sizing.block.as_ref()?;
    let sheet = &sizing.sheet;
    let get = |name: &str| sheet.get(name);
    let per_group = get("group_drives");
    let drives = |groups: f64| grouped(whole(groups * per_group));
    let for_capacity =
        get("volume_bytes") * get("block_databases") / get("group_bytes") * per_group;
    let mut rows = vec![
        Row::new([
            "I/O".to_owned(),
            format!(
                "{} /s to drives of {}",
                grouped(whole(get("block_drive_io").round())),
                value("drive_io_per_s", get("drive_io_per_s"))
            ),
            decimals(get("drives_for_io")),
            drives(get("groups_for_io")),
        ]),
        Row::new([
            "capacity".to_owned(),
            format!(
                "{} in groups of {}",
                size(get("volume_bytes") * get("block_databases")),
                size(get("group_bytes"))
            ),
            decimals(for_capacity),
            drives(get("groups_for_capacity")),
        ]),
    ];
    if get("groups_for_balance") > get("groups_for_io") {
        rows.push(Row::new([
            "I/O, whole databases".to_owned(),
            format!(
                "{} /s of each to groups of {} /s",
                grouped(whole(get("database_drive_io").round())),
                grouped(whole(get("group_drive_io").round()))
            ),
            "-".to_owned(),
            drives(get("groups_for_balance")),
        ]));
    }
    let columns = Column::of(
        &["drives for one copy of a server's databases", "demand"],
        &["exact", "in whole groups"],
    );
    Some(Table::new(columns, rows))
}

pub fn limits(sizing: &Sizing<'_>) -> Table {
    let rows = sizing.findings.iter().map(|finding| {
        let outcome = if finding.holds { "ok" } else { "TOO MUCH" };
        Row::new([finding.label, &finding.limit, &finding.value, outcome])
    });
    let columns = ["limit", "at most", "here", "outcome"].map(Column::words);
    Table::new(columns, rows)
}

/// What was given instead of what is usual, and what is not certain.
pub fn remarks(sizing: &Sizing<'_>) -> Vec<(&'static str, String)> {
    let mut remarks = Vec::new();
    let given = entries(sizing).filter_map(|(_, entry)| match entry.origin {
        Origin::Given { instead_of } => Some(match instead_of {
            Some(usual) => format!(
                "{} {} (usually {})",
                entry.name,
                value(entry.name, entry.value),
                value(entry.name, usual)
            ),
            None => format!("{} {}", entry.name, value(entry.name, entry.value)),
        }),
        _ => None,
    });
    let mut given: Vec<String> = given.collect();
    given.sort();
    given.dedup();
    if !given.is_empty() {
        remarks.push(("given", given.join(", ")));
    }
    let mut uncertain: Vec<&str> = entries(sizing)
        .filter(|(_, entry)| is_uncertain(entry))
        .map(|(_, entry)| entry.name)
        .collect();
    uncertain.sort_unstable();
    uncertain.dedup();
    remarks.push((
        "inferred",
        format!(
            "{} without a primary source; --explain marks them, [figures] replaces them",
            match uncertain.len() {
                1 => "1 figure is".to_owned(),
                more => format!("{more} figures are"),
            }
        ),
    ));
    remarks
}

/// Whether a figure is known from no primary source, and not given either.
fn is_uncertain(entry: &Entry) -> bool {
    matches!(
        entry.origin,
        Origin::Known {
            certainty: Certainty::Inferred
                | Certainty::Published
                | Certainty::Assumed
                | Certainty::Fitted,
            ..
        }
    )
}
