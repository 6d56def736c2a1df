//! A size in words and tables, for a screen of 80 columns.

use brunt_report::{Column, Row, Table, counted, decimals, grouped};
use brunt_scenario::LogPlace;
use brunt_workload::profile::Certainty;

use crate::catalog::{FIGURES, Unit, meaning};
use crate::constants::SOURCES;
use crate::findings::{size, time};
use crate::sheet::{Entry, Origin, Sheet, whole};
use crate::{Finding, Sizing};

/// Before each line that belongs to a label.
const INDENT: usize = 14;

/// A value in the unit of its figure, for people.
pub fn value(name: &str, value: f64) -> String {
    match meaning(name).unit {
        Unit::Count => grouped(whole(value)),
        Unit::Number | Unit::Megacycles if value.fract() == 0.0 => grouped(whole(value)),
        Unit::Number | Unit::Megacycles | Unit::Io => few_digits(value),
        Unit::Percent => format!("{} %", (value * 100.0).round() / 100.0),
        Unit::Bytes => size(value),
        Unit::Rate => format!("{}/s", megabytes(value)),
        Unit::Seconds => time(value),
        Unit::Days => counted(whole(value), "day"),
    }
}

/// Figures of a message or a mailbox are small, and their last digits count.
fn few_digits(value: f64) -> String {
    match value {
        large if large >= 10.0 => decimals(large),
        small => {
            let places = if small < 0.01 { 6 } else { 4 };
            let text = format!("{small:.places$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Decimal, as rates of transfer are given.
fn megabytes(bytes: f64) -> String {
    format!("{} MB", decimals(bytes / 1e6))
}

/// The verdict: a word, and what is needed in a line.
pub fn verdict(sizing: &Sizing<'_>) -> (&'static str, String) {
    let failed: Vec<&Finding> = sizing
        .findings
        .iter()
        .filter(|finding| !finding.holds)
        .collect();
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
        return format!(
            "{databases}, {} for each server",
            io(sheet.get("io_per_server"))
        );
    }
    format!(
        "{} for {databases}; {}",
        counted(sheet.count("drives"), "drive"),
        match decides(sheet) {
            "both" => "I/O and capacity decide alike".to_owned(),
            one => format!("{one} decides"),
        }
    )
}

/// What the number of drives follows from.
pub fn decides(sheet: &Sheet) -> &'static str {
    let balance = sheet.get("groups_for_balance");
    let (io, capacity) = (
        sheet.get("groups_for_io").max(balance),
        sheet.get("groups_for_capacity"),
    );
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
        row(
            "database reads /s",
            io * read,
            io * read * copies,
            io * read * all,
            &decimals,
        ),
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
        rows.push(row(
            "maintenance a second",
            each,
            each * copies,
            each * all,
            &megabytes,
        ));
    }
    rows.push(row(
        "log files a day",
        daily,
        daily * active,
        daily * databases,
        &whole_number,
    ));
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
    rows.push(row(
        "volumes of databases",
        volumes,
        volumes * copies,
        volumes * all,
        &size,
    ));
    rows.push(row(
        "volumes of logs",
        logs,
        logs * copies,
        logs * all,
        &size,
    ));
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
    Table::new(
        Column::of(&["with headroom"], &["a database", "a server", "all"]),
        rows,
    )
}

/// What a server does before and after failures.
pub fn server(sizing: &Sizing<'_>) -> Table {
    let sheet = &sizing.sheet;
    let mut pairs = vec![
        (
            "servers left",
            value("servers_left", sheet.get("servers_left")),
        ),
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
        (
            "mailboxes of each",
            grouped(whole(sheet.get("mailboxes_after_failures").round())),
        ),
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
            value(
                "replication_bytes_per_s",
                sheet.get("replication_bytes_per_s"),
            ),
        ));
    }
    let rows = pairs
        .into_iter()
        .map(|(label, value)| Row::new([label.to_owned(), value]));
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
        &["for a copy of its databases", "asked for"],
        &["drives", "in groups"],
    );
    Some(Table::new(columns, rows))
}

/// The limits.
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
            "{} from no primary source; --explain marks them, [figures] replaces them",
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

/// The word for a certainty.
pub fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Found => "found",
        Certainty::Inferred => "inferred",
        Certainty::Fitted => "fitted",
        Certainty::Published => "published",
        Certainty::Assumed => "assumed",
    }
}

/// Every figure once, those of a tier with its name, in the order of the catalog.
pub(crate) fn entries<'s>(
    sizing: &'s Sizing<'_>,
) -> impl Iterator<Item = (Option<&'s str>, &'s Entry)> {
    let of_all = sizing.sheet.entries();
    let several = sizing.tiers.len() > 1;
    FIGURES.iter().flat_map(move |figure| {
        let last = |sheet: &'s Sheet| {
            sheet
                .entries()
                .iter()
                .rev()
                .find(|entry| entry.name == figure.name)
        };
        let all = of_all.iter().rev().find(|entry| entry.name == figure.name);
        let tiers = sizing.tiers.iter().filter_map(move |(name, sheet)| {
            // What a tier shares with all is told once.
            let own = last(sheet).filter(|own| all != Some(*own))?;
            Some((several.then_some(name.as_str()), own))
        });
        let all = all.map(|entry| (None, entry));
        all.into_iter().chain(tiers)
    })
}

/// Every figure with its value, formula, inputs, source and certainty: two lines each.
pub fn explanation(sizing: &Sizing<'_>) -> String {
    let mut lines = Vec::new();
    for (tier, entry) in entries(sizing) {
        let meaning = meaning(entry.name);
        let of_tier = tier.map(|tier| format!(" of {tier}")).unwrap_or_default();
        lines.push(format!(
            "{} = {}   {}{of_tier}",
            entry.name,
            value(entry.name, entry.value),
            meaning.label
        ));
        lines.push(format!("    {}", why(entry)));
        if let Origin::Calculated { inputs, .. } = entry.origin {
            let inputs = inputs.iter().filter_map(|input| {
                Some(format!(
                    "{input} {}",
                    value(input, input_value(sizing, tier, input)?)
                ))
            });
            let inputs: Vec<String> = inputs.collect();
            if !inputs.is_empty() {
                lines.push(format!("    with {}", inputs.join(", ")));
            }
        }
    }
    lines.push("\nSources".to_owned());
    for (name, what) in SOURCES {
        lines.push(format!("{name:INDENT$}{what}"));
    }
    lines.join("\n")
}

/// The value that went into a formula.
pub(crate) fn input_value(sizing: &Sizing<'_>, tier: Option<&str>, name: &str) -> Option<f64> {
    let own = match tier {
        Some(tier) => sizing.tiers.iter().find(|(own, _)| own == tier),
        None => None,
    };
    let own = own.and_then(|(_, sheet)| sheet.find(name));
    own.or_else(|| sizing.sheet.find(name))
        .or_else(|| sizing.tiers.first()?.1.find(name))
}

fn why(entry: &Entry) -> String {
    let meaning = meaning(entry.name);
    match entry.origin {
        Origin::Written => "as the organisation says".to_owned(),
        Origin::Known {
            certainty: how,
            source,
        } => format!("{}: {source}", certainty(how)),
        Origin::Calculated { formula, .. } => {
            format!(
                "{}   ({}: {})",
                formula_text(formula),
                certainty(meaning.certainty),
                meaning.source
            )
        }
        Origin::Given { instead_of: None } => "given in [figures]".to_owned(),
        Origin::Given {
            instead_of: Some(usual),
        } => format!("given in [figures] instead of {}", value(entry.name, usual)),
    }
}

/// A formula as people write it: whole numbers without a point.
pub(crate) fn formula_text(formula: &str) -> String {
    let one_line = formula.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    let mut rest = one_line.as_str();
    while let Some(at) = rest.find(".0") {
        let (before, after) = rest.split_at(at);
        let is_end = !after[2..].starts_with(|c: char| c.is_ascii_digit() || c == '_');
        text.push_str(before);
        text.push_str(if is_end { "" } else { ".0" });
        rest = &after[2..];
    }
    text.push_str(rest);
    text.replace("10_485_760", "10485760")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_as_people_write_them() {
        assert_eq!(formula_text("a * (1.0 + b / 100.0)"), "a * (1 + b / 100)");
        assert_eq!(formula_text("a *\n    1.05"), "a * 1.05");
    }
}
