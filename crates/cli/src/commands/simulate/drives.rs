//! What each drive did under plain load, or each group where there are many drives.

use brunt_array::SystemDesign;
use brunt_array::drive::DriveStats;
use brunt_array::load::Outcome;
use brunt_report::decimals;
use brunt_units::Span;

use super::words::{Rows, per_second, percent};
use crate::columns::columns;

/// More drives than this are told by group only.
const DRIVES_SHOWN: usize = 24;

/// The table for the screen.
pub(super) fn table(design: &SystemDesign, outcome: &Outcome) -> String {
    let (head, rows) = rows(design, outcome);
    match is_many(outcome) {
        true => columns(&head, &[1, 2, 3, 4, 5, 6], &rows),
        false => columns(&head, &[0, 2, 3, 4, 5, 6, 7, 8, 9], &rows),
    }
}

/// A row for each drive, or for each group when there are many.
pub(super) fn rows(design: &SystemDesign, outcome: &Outcome) -> Rows {
    match is_many(outcome) {
        true => group_rows(design, outcome),
        false => drive_rows(design, outcome),
    }
}

fn is_many(outcome: &Outcome) -> bool {
    outcome.drives.len() > DRIVES_SHOWN
}

fn drive_rows(design: &SystemDesign, outcome: &Outcome) -> Rows {
    let head = vec![
        "drive",
        "in",
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
            0 => "-".to_owned(),
            count => decimals(span.as_millis() / count as f64),
        };
        vec![
            number.to_string(),
            whose(design, number),
            percent(drive.utilisation()),
            decimals(drive.queue()),
            decimals(drive.service_ms()),
            decimals(drive.response_ms()),
            decimals(per_second(drive.reads, elapsed)),
            decimals(per_second(drive.writes, elapsed)),
            each(drive.seek),
            each(drive.rotation),
        ]
    });
    (head, rows.collect())
}

fn whose(design: &SystemDesign, drive: usize) -> String {
    let mut first = 0;
    for array in design.arrays() {
        let is_it = |one: &u16| first + usize::from(*one) == drive;
        if let Some(group) = array
            .groups
            .iter()
            .find(|group| group.drives.iter().any(is_it))
        {
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

fn group_rows(design: &SystemDesign, outcome: &Outcome) -> Rows {
    let head = vec![
        "group",
        "drives",
        "busy",
        "queue",
        "service ms",
        "reads/s",
        "writes/s",
    ];
    let groups = design.groups().into_iter().enumerate();
    let rows = groups.map(|(number, (first, group))| {
        let count = group.drives.len() as f64;
        let members = || {
            let drives = group.drives.iter();
            drives.map(|one| &outcome.drives[first + usize::from(*one)])
        };
        let mean = |of: &dyn Fn(&DriveStats) -> f64| members().map(of).sum::<f64>() / count;
        vec![
            brunt_lab::group_name(design, number, group),
            group.drives.len().to_string(),
            percent(mean(&|drive| drive.utilisation())),
            decimals(mean(&|drive| drive.queue())),
            decimals(mean(&|drive| drive.service_ms())),
            decimals(count * mean(&|drive| per_second(drive.reads, drive.elapsed()))),
            decimals(count * mean(&|drive| per_second(drive.writes, drive.elapsed()))),
        ]
    });
    (head, rows.collect())
}
