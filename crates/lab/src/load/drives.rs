//! What each drive did under raw load, or each group where there are many drives.

use brunt_array::SystemDesign;
use brunt_array::drive::DriveStats;
use brunt_array::load::Outcome;
use brunt_report::{Cell, Column, Row, Table};
use brunt_units::Span;

use super::words::per_second;

/// More drives than this are listed by group only.
const DRIVES_SHOWN: usize = 24;

/// A row for each drive, or for each group when there are many.
pub(super) fn table(design: &SystemDesign, outcome: &Outcome) -> Table {
    match outcome.drives.len() > DRIVES_SHOWN {
        true => by_group(design, outcome),
        false => by_drive(design, outcome),
    }
}

fn by_drive(design: &SystemDesign, outcome: &Outcome) -> Table {
    let first = [Column::numbers("drive"), Column::words("in")];
    let figures = [
        "busy",
        "queue",
        "service ms",
        "response ms",
        "reads/s",
        "writes/s",
        "seek ms",
        "rotation ms",
    ];
    let rows = outcome.drives.iter().enumerate().map(|(number, drive)| {
        let elapsed = drive.elapsed();
        let each = |span: Span| match drive.reads + drive.writes {
            0 => Cell::Nothing,
            count => Cell::Number(span.as_millis() / count as f64),
        };
        Row::new([
            Cell::from(number.to_string()),
            whose(design, number).into(),
            Cell::Share(drive.utilisation()),
            drive.queue().into(),
            drive.service_ms().into(),
            drive.response_ms().into(),
            per_second(drive.reads, elapsed).into(),
            per_second(drive.writes, elapsed).into(),
            each(drive.seek),
            each(drive.rotation),
        ])
    });
    Table::new(first.into_iter().chain(figures.map(Column::numbers)), rows)
}

fn whose(design: &SystemDesign, drive: usize) -> String {
    let mut first = 0;
    for array in design.arrays() {
        let is_it = |one: &u16| first + usize::from(*one) == drive;
        if let Some(group) = array.groups.iter().find(|group| group.drives.iter().any(is_it)) {
            return group.name.clone();
        }
        let mut tier = array.tier.iter().flat_map(|tier| &tier.drives);
        if tier.any(is_it) {
            return "flash tier".to_owned();
        }
        if array.spares.iter().any(is_it) {
            return "spare".to_owned();
        }
        first += array.drives.len();
    }
    "-".to_owned()
}

fn by_group(design: &SystemDesign, outcome: &Outcome) -> Table {
    let figures = ["drives", "busy", "queue", "service ms", "reads/s", "writes/s"];
    let groups = design.groups().into_iter().enumerate();
    let rows = groups.map(|(number, (first, group))| {
        let count = group.drives.len() as f64;
        let members = || {
            let drives = group.drives.iter();
            drives.map(|one| &outcome.drives[first + usize::from(*one)])
        };
        let mean = |of: &dyn Fn(&DriveStats) -> f64| members().map(of).sum::<f64>() / count;
        Row::new([
            Cell::from(crate::group_name(design, number, group)),
            group.drives.len().to_string().into(),
            Cell::Share(mean(&|drive| drive.utilisation())),
            mean(&|drive| drive.queue()).into(),
            mean(&|drive| drive.service_ms()).into(),
            (count * mean(&|drive| per_second(drive.reads, drive.elapsed()))).into(),
            (count * mean(&|drive| per_second(drive.writes, drive.elapsed()))).into(),
        ])
    });
    let first = std::iter::once(Column::words("group"));
    Table::new(first.chain(figures.map(Column::numbers)), rows)
}
