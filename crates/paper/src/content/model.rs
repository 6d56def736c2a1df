//! What was modelled: arrays, groups, LUNs; and, apart from it, what the vendor says of the
//! product.

use brunt_report::{Cell, Column, Row, Table, grouped};
use brunt_scenario::Part;
use brunt_units::ByteSize;

use super::{below, main_result, text};
use crate::block::Block;
use crate::modelled::{Array, Group, Modelled, Use};
use crate::paper::Subject;

pub(super) fn blocks(subject: &Subject<'_>, modelled: &Modelled) -> Vec<Block> {
    let mut blocks = vec![text(
        "Drives, groups and LUNs below are those of the model: the scenario, which is attached, has every figure of them.",
    )];
    let several = modelled.arrays.len() > 1;
    for array in &modelled.arrays {
        let title = match several {
            true => format!("Modelled array \u{201c}{}\u{201d}", array.name),
            false => "Modelled array".to_owned(),
        };
        blocks.push(Block::Table(Table::pairs(&title, parts(array))));
        blocks.push(Block::Table(groups(array)));
    }
    blocks.push(Block::Table(luns(subject, modelled)));
    blocks.extend(claimed(subject));
    blocks
}

fn parts(array: &Array) -> Vec<(&'static str, String)> {
    let times = |count: u64| match array.members {
        1 => String::new(),
        members => format!(", in each of {members} members ({count} in all)"),
    };
    let mut rows = Vec::new();
    for (count, drive) in &array.drives {
        let all = times(count * array.members);
        rows.push(("Drives", format!("{} x {}{all}", grouped(*count), drive.title)));
    }
    if array.spares > 0 {
        rows.push(("Spares among them", grouped(array.spares)));
    }
    rows.push(("Controllers", grouped(array.controllers)));
    let transport = array.transport.as_deref().unwrap_or("none");
    rows.push(("Ports of each controller", grouped(array.ports)));
    rows.push(("Transport", transport.to_owned()));
    rows.push((
        "Cache of each controller",
        match &array.cache {
            Some([write, read]) => format!("{write} for writes, at least {read} for reads"),
            None => "none".to_owned(),
        },
    ));
    rows
}

/// Groups that differ in their names only are one row.
fn groups(array: &Array) -> Table {
    let mut alike: Vec<(&Group, u64)> = Vec::new();
    for group in &array.groups {
        let is_like = |known: &&mut (&Group, u64)| {
            let (one, _) = known;
            (&one.level, one.drives, &one.drive) == (&group.level, group.drives, &group.drive)
        };
        match alike.iter_mut().find(is_like) {
            Some((_, count)) => *count += 1,
            None => alike.push((group, 1)),
        }
    }
    let rows = alike.into_iter().map(|(group, count)| {
        let name = match count {
            1 => group.name.clone(),
            count => format!("{} and {} alike", group.name, grouped(count - 1)),
        };
        Row::new([
            Cell::from(name),
            group.level.as_str().into(),
            group.drives.into(),
            (count * group.drives).into(),
            group.drive.title.as_str().into(),
        ])
    });
    let columns = [
        Column::words("Group"),
        Column::words("Level"),
        Column::numbers("Drives of each"),
        Column::numbers("Drives"),
        Column::words("Drive"),
    ];
    Table::new(columns, rows).titled("Groups")
}

/// The LUNs of databases and of logs. Those of one group and size are one row.
fn luns(subject: &Subject<'_>, modelled: &Modelled) -> Table {
    let result = main_result(&subject.kinds);
    let databases = modelled.luns(result, Use::Databases);
    let logs = modelled.luns(result, Use::Logs);
    let mut all = databases.clone();
    all.extend(logs.iter().filter(|lun| !databases.contains(lun)));
    let mut rows: Vec<([String; 4], u64)> = Vec::new();
    for lun in all {
        let what = match (databases.contains(&lun), logs.contains(&lun)) {
            (true, true) => "databases and logs",
            (true, false) => "databases",
            (false, _) => "logs",
        };
        let (array, lun) = lun;
        let group = lun.group.and_then(|at| array.groups.get(at));
        let group = group.map_or("pages of all groups", |group| group.level.as_str());
        let size =
            lun.bytes.map_or("what is left".to_owned(), |bytes| ByteSize::bytes(bytes).to_string());
        let own = [array.name.clone(), what.to_owned(), group.to_owned(), size];
        match rows.iter_mut().find(|(known, _)| *known == own) {
            Some((_, count)) => *count += 1,
            None => rows.push((own, 1)),
        }
    }
    let rows = rows.into_iter().map(|([array, what, group, size], count)| {
        Row::new([Cell::from(what), count.into(), size.into(), group.into(), array.into()])
    });
    let columns = [
        Column::words("LUNs of"),
        Column::numbers("LUNs"),
        Column::numbers("Size of each"),
        Column::words("Level"),
        Column::words("Array"),
    ];
    Table::new(columns, rows).titled("LUNs")
}

/// What `[solution]` says of the product beyond what was modelled.
fn claimed(subject: &Subject<'_>) -> Vec<Block> {
    let parts = [
        ("Hardware", Part::Hardware),
        ("Software", Part::Software),
        ("Disks of the databases", Part::DatabaseDisks),
        ("Disks of the logs", Part::LogDisks),
        ("Disks of the backups", Part::BackupDisks),
    ];
    let tables = parts.map(|(title, part)| Table::pairs(title, subject.solution.all(part)));
    let tables: Vec<Table> = tables.into_iter().filter(|t| !t.is_empty()).collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        below("The product, as its vendor describes it"),
        text(
            "This is said by those who made the paper, and was not tested. Numbers of drives, LUNs and controllers, RAID levels and sizes \
             were compared with the model and do not contradict it; the rest is in no model.",
        ),
    ];
    blocks.extend(tables.into_iter().map(Block::Table));
    blocks
}
