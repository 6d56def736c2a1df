//! The design that was simulated: the organisation, its drives, its limits, its hours. All of it is
//! calculated again from `[design]` of the scenario.

use brunt_report::{Cell, Column, Row, Table, counted, decimals, grouped};
use brunt_scenario::{GroupPlan, LogPlace, Organisation};
use brunt_sizing::{Sizing, size, words};
use brunt_units::ByteSize;

use super::{below, heading, io_of, length, main_result, some, text};
use crate::block::{Block, Figure};
use crate::paper::Subject;

/// The organisation in a line: `4,000 mailboxes`.
pub(super) fn mailboxes(org: &Organisation) -> String {
    counted(count(org), "mailbox")
}

/// Mailboxes of the organisation.
pub(super) fn count(org: &Organisation) -> u64 {
    org.tiers.iter().map(|tier| tier.count.value).sum()
}

/// What is predicted of it: `Prediction for one of 4 servers with Exchange 2019, after a failure, with
/// the load of 2,000 mailboxes`.
pub(super) fn subtitle(org: &Organisation, subject: &Subject<'_>) -> String {
    let result = main_result(&subject.kinds);
    let tested = result.storage.servers.len() as u64;
    let servers = match tested {
        1 => "one".to_owned(),
        more => grouped(more),
    };
    let load = result.storage.details.setup.mailboxes.map(|all| {
        let each = counted(all.div_euclid(tested.max(1)), "mailbox");
        match (tested, org.failures.value) {
            (1, 0) => format!(", with the load of {each}"),
            (1, _) => format!(", after a failure, with the load of {each}"),
            (_, 0) => format!(", each with the load of {each}"),
            (_, _) => format!(", after a failure, each with the load of {each}"),
        }
    });
    format!(
        "Prediction for {servers} of {} with {}{}",
        counted(org.servers.value, "server"),
        org.version,
        load.unwrap_or_default(),
    )
}

/// What stands out of a design.
pub(super) fn figures(org: &Organisation) -> Vec<Figure> {
    let sizing = size(org);
    let figure = |number: u64, unit: &str, label: &str| Figure {
        number: grouped(number),
        unit: unit.to_owned(),
        label: label.to_owned(),
    };
    let servers = counted(org.servers.value, "server");
    let mut figures =
        vec![figure(sizing.sheet.count("mailboxes"), "", &format!("mailboxes, {servers}"))];
    if sizing.block.is_some() {
        figures.push(figure(sizing.sheet.count("drives"), "", "drives in all"));
    }
    figures
}

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(org) = &subject.design else {
        return Vec::new();
    };
    let sizing = size(org);
    let mut blocks = vec![heading("Design")];
    if !org.description.is_empty() {
        blocks.push(text(org.description.clone()));
    }
    blocks.push(text(format!(
        "{} The tables of this section are calculated from the organisation in the scenario; what a server and its storage do in the \
         worst hour was simulated.",
        needs(&sizing),
    )));
    blocks.push(Block::Table(organisation(&sizing)));
    blocks.push(Block::Table(users(org)));
    blocks.extend(drives(&sizing).map(Block::Table));
    blocks.push(Block::Table(words::demand(&sizing).titled("Needed, with headroom")));
    blocks.push(Block::Table(words::limits(&sizing).titled("Limits")));
    blocks.push(below("The hours that matter"));
    blocks.push(Block::Table(hours(subject)));
    blocks.extend(margin(subject).map(Block::Table));
    blocks
}

/// What the design needs, in a sentence.
fn needs(sizing: &Sizing<'_>) -> String {
    let (word, sentence) = words::verdict(sizing);
    match sizing.holds() {
        true => format!("The design needs {sentence}."),
        false => format!("{word}: {sentence}."),
    }
}

fn organisation(sizing: &Sizing<'_>) -> Table {
    let (org, sheet) = (sizing.org, &sizing.sheet);
    let servers = match org.failures.value {
        0 => grouped(org.servers.value),
        failures => {
            format!("{}, of which {} may fail", grouped(org.servers.value), grouped(failures))
        }
    };
    let databases = format!(
        "{} of {}, {} of each",
        grouped(sheet.count("databases")),
        bytes(sheet.get("database_bytes")),
        match org.copies.value {
            1 => "one copy".to_owned(),
            copies => format!("{copies} copies"),
        }
    );
    let each = |name: &str| grouped(sheet.count(name));
    let mut rows = vec![
        ("Mailboxes", each("mailboxes")),
        ("Version", org.version.to_string()),
        ("Mail servers", servers),
        ("Databases", databases),
        ("Database copies on a server", each("copies_per_server")),
    ];
    if org.failures.value > 0 {
        let after = sheet.get("mailboxes_after_failures").round();
        rows.push(("Mailboxes of a server after failures, at most", decimals(after)));
    }
    let all = sheet.get("mailboxes_per_database") * sheet.get("copies_per_server");
    rows.push(("Mailboxes of a server, every copy on it active", decimals(all.round())));
    rows.push(("Memory of a server", bytes(sheet.get("memory_bytes"))));
    if let Some(cores) = sheet.find("cores") {
        rows.push(("Cores of a server", format!("{cores:.0}")));
    }
    Table::pairs("Organisation", rows)
}

fn users(org: &Organisation) -> Table {
    let is_measured = org.tiers.iter().any(|tier| tier.io_per_s.is_some());
    let rows = org.tiers.iter().map(|tier| {
        let messages = tier.messages_per_day.as_ref().map(|count| count.value);
        let rate = tier.io_per_s.as_ref().map(|rate| rate.value);
        let mut cells = vec![
            Cell::from(tier.name.as_str()),
            tier.count.value.into(),
            Cell::Bytes(tier.quota.value.get()),
            some(messages),
        ];
        cells.extend(is_measured.then(|| some(rate)));
        Row::new(cells)
    });
    let mut numbers = vec!["Mailboxes", "Quota", "Messages a day"];
    numbers.extend(is_measured.then_some("I/Os per second, measured"));
    Table::new(Column::of(&["Users"], &numbers), rows).titled("Users")
}

/// The drives of a server and of all; `None` where the design has none.
fn drives(sizing: &Sizing<'_>) -> Option<Table> {
    let block = sizing.block.as_ref()?;
    let sheet = &sizing.sheet;
    let count = |name: &str| sheet.count(name);
    let (blocks, servers) = (count("blocks_per_server"), count("servers"));
    let mut rows = Vec::new();
    let mut row = |what: &str, groups: u64, group: GroupPlan| {
        let drives = groups * u64::from(group.drives);
        let made = format!("{} of {}, {}", counted(groups, "group"), group.drives, level(group));
        rows.push(Row::new([
            what.into(),
            made.into(),
            drives.into(),
            Cell::from(drives * servers),
        ]));
    };
    row("databases", blocks * count("groups"), block.group);
    if let LogPlace::Own(group) = block.logs {
        row("logs", blocks * count("log_groups"), group);
    }
    if let Some(group) = sizing.org.storage.backup {
        row("backups", count("backup_groups"), group);
    }
    let (arrays, spares) = (count("arrays"), count("spares"));
    rows.push(Row::new([
        Cell::from("spares"),
        format!("{} for each array", grouped(spares)).into(),
        Cell::Nothing,
        (arrays * spares).into(),
    ]));
    let all = format!(
        "{}, each for {}",
        counted(arrays, "array"),
        counted(count("array_servers"), "server")
    );
    rows.push(Row::new([
        Cell::from("all"),
        all.into(),
        count("drives_per_server").into(),
        count("drives").into(),
    ]));
    let price =
        sizing.price().map(|(price, currency)| format!(" Price: {} {currency}.", decimals(price)));
    let columns = Column::of(&["Drives for", "Groups"], &["Each server", "In all"]);
    Some(Table::new(columns, rows).titled("Drives").noted(&format!(
        "Drive: {}.{}",
        sizing.drive().unwrap_or_default(),
        price.unwrap_or_default()
    )))
}

/// `RAID 10`.
fn level(group: GroupPlan) -> String {
    let word = group.word();
    word.strip_prefix("raid").map_or(word.to_owned(), |level| format!("RAID {level}"))
}

/// What was simulated of the design: its worst hour, and the same while a drive is rebuilt.
fn hours(subject: &Subject<'_>) -> Table {
    let hours = subject.kinds.iter().filter(|kind| kind.kind.has_limits());
    let rows = hours.map(|kind| {
        let result = &kind.run.result;
        let servers: Vec<_> = result.storage.servers.iter().collect();
        let [reads, _, logs] = io_of(&servers);
        Row::new([
            Cell::from(match kind.is_degraded {
                true => "the same, while a drive is rebuilt",
                false => "worst hour: every copy on a server is active",
            }),
            length(result.times.collection_s).into(),
            result.storage.target_iops.into(),
            result.storage.achieved_iops.into(),
            reads.latency_ms_mean.into(),
            logs.latency_ms_mean.into(),
            result.headline().into(),
        ])
    });
    let mut columns = vec![Column::words("Hour"), Column::words("Virtual time")];
    let numbers = ["Needed I/Os/sec", "Achieved", "Read (ms)", "Log write (ms)"];
    columns.extend(numbers.map(Column::numbers));
    columns.push(Column::words("Verdict"));
    let table = Table::new(columns, rows).titled("Simulated hours");
    let has_rebuild = subject.kinds.iter().any(|kind| !kind.run.result.storage.states.is_empty());
    let missing = [
        (!has_rebuild).then_some("an hour in which a drive is rebuilt"),
        subject.margin.is_none().then_some("how many more mailboxes would pass"),
    ];
    let missing: Vec<&str> = missing.into_iter().flatten().collect();
    match missing.is_empty() {
        true => table,
        false => table.noted(&format!("Not simulated for this paper: {}.", missing.join(", and "))),
    }
}

/// How much more a server carries.
fn margin(subject: &Subject<'_>) -> Option<Table> {
    let margin = subject.margin.as_ref()?;
    let result = main_result(&subject.kinds);
    let servers = (result.storage.servers.len() as u64).max(1);
    let each = result.storage.details.setup.mailboxes.map(|all| all.div_euclid(servers));
    let mut rows = vec![(
        "Mailboxes of a server that pass",
        match (margin.passes, each) {
            (Some(passes), Some(each)) if each > 0 => {
                let more = crate::numbers::float(passes) / crate::numbers::float(each) - 1.0;
                format!("{}, {:+.0} % of {}", grouped(passes), 100.0 * more, grouped(each))
            }
            (Some(passes), _) => grouped(passes),
            (None, _) => "none".to_owned(),
        },
    )];
    if let Some(fails) = margin.fails {
        rows.push(("Mailboxes that do not", grouped(fails)));
    }
    rows.push(("What ends it", margin.limit.to_owned()));
    let table = Table::pairs("Margin", rows);
    Some(table.noted(&format!("Found by the search in run{}.", margin.number)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of a design are positive and far below 2^64"
)]
fn bytes(number: f64) -> String {
    ByteSize::bytes(number.round() as u64).to_string()
}
