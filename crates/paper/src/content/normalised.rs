//! Figures for each mailbox, drive and TB, so that papers about systems of different sizes can be read side by side.

use brunt_report::{Cell, Column, Row, Table};
use brunt_scenario::Part;

use super::{deployment, heading, main_result, some, text};
use crate::block::Block;
use crate::numbers::float;
use crate::paper::Subject;

/// Bytes of a TB on a drive's label.
const TERABYTE: f64 = 1e12;

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let result = main_result(&subject.kinds);
    let servers = result.storage.servers.len() as u64;
    let mailboxes = result
        .storage
        .details
        .setup
        .mailboxes
        .map(|own| float(own * servers));
    let drives = subject
        .solution
        .count(Part::DatabaseDisks, "disks")
        .map(float);
    let raw = deployment::raw(&subject.solution, Part::DatabaseDisks);
    let raw = raw.map(|bytes| float(bytes) / TERABYTE);
    let stored = result.storage.database_bytes_initial;
    let stored = stored.map(|bytes| float(bytes) / TERABYTE);
    let mut rows = Vec::new();
    let mut add = |what: &str, unit: &str, rate: f64| {
        let per = |of: Option<f64>| some(of.map(|of| rate / of));
        rows.push(Row::new([
            Cell::from(what),
            unit.into(),
            rate.into(),
            per(mailboxes),
            per(drives),
            per(raw),
            per(stored),
        ]));
    };
    for kind in &subject.kinds {
        let result = &kind.run.result;
        let servers = || result.storage.servers.iter();
        match kind.word {
            "performance" | "stress" => {
                if let Some(rate) = result.storage.achieved_iops {
                    add(&format!("{} test", kind.word), "I/Os per second", rate);
                }
            }
            "database-backup" => {
                let rates = servers().flat_map(|server| &server.backup);
                add(
                    "backup",
                    "MiB per second",
                    rates.map(|backup| backup.mb_per_s).sum(),
                );
            }
            _ => {
                // Log streams are replayed at the same time.
                let rates = servers().flat_map(|server| &server.recovery);
                let rates = rates.filter(|recovery| recovery.seconds > 0.0);
                let rate = rates
                    .map(|recovery| float(recovery.logs) / recovery.seconds)
                    .sum();
                add("recovery", "logs per second", rate);
            }
        }
    }
    let numbers = [
        "All servers",
        "Per mailbox",
        "Per drive",
        "Per TB of drives",
        "Per TB of databases",
    ];
    let table = Table::new(Column::of(&["Test", "Unit"], &numbers), rows)
        .titled("Normalized results")
        .noted("Drives are those of the databases, as the solution names them; a TB is 10\u{b9}\u{b2} bytes. A dash: the divisor is not known.");
    vec![
        heading("Normalized results"),
        text(
            "Rates divided by what they were measured on. Two papers can be read side by side by these columns where load and limits are \
             alike; the setup decides, not the number of digits.",
        ),
        Block::Table(table),
    ]
}
