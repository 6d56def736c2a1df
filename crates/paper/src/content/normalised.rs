//! Figures for each mailbox, drive and TB, so that papers about systems of different sizes can be
//! read side by side.

use brunt_report::result::Work;
use brunt_report::{Cell, Column, Row, Table};

use super::{deployment, heading, is_model, main_result, some, text};
use crate::block::Block;
use crate::numbers::float;
use crate::paper::{Kind, Subject};

/// Bytes of a TB on a drive's label.
const TERABYTE: f64 = 1e12;

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let main = main_result(&subject.kinds);
    let (drives, raw) = deployment::database_drives(subject);
    let drives = drives.map(float);
    let raw = raw.map(|bytes| float(bytes) / TERABYTE);
    let mut rows = Vec::new();
    for kind in subject.kinds.iter().filter(|kind| !kind.is_degraded) {
        let result = &kind.run.result;
        let Some((what, unit, rate)) = rate(kind) else {
            continue;
        };
        // The solution has the drives of all servers, and the test may have had some of them.
        let is_whole = result.storage.servers.len() == main.storage.servers.len();
        let stored = result.storage.database_bytes_initial;
        let per = |of: Option<f64>| some(of.map(|of| rate / of));
        rows.push(Row::new([
            Cell::from(what),
            unit.into(),
            rate.into(),
            per(result.storage.details.setup.mailboxes.map(float)),
            per(drives.filter(|_| is_whole)),
            per(raw.filter(|_| is_whole)),
            per(stored.map(|bytes| float(bytes) / TERABYTE)),
        ]));
    }
    let numbers =
        ["All its servers", "Per mailbox", "Per drive", "Per TB of drives", "Per TB of databases"];
    let table = Table::new(Column::of(&["Test", "Unit"], &numbers), rows)
        .titled("Normalized results")
        .noted(&format!(
            "Drives are those of the databases, {}; a TB is 10\u{b9}\u{b2} bytes. A dash: the divisor is not known, or the test had some \
             of the servers only.",
            match is_model(&subject.kinds) {
                true => "as they were modelled",
                false => "as the solution names them",
            }
        ));
    vec![
        heading("Normalized results"),
        text(
            "Rates per unit. Compare papers by them only where load and limits are the same, and predictions with predictions only.",
        ),
        Block::Table(table),
    ]
}

/// What a kind of test is called here, the unit of its rate, and the rate.
fn rate(kind: &Kind) -> Option<(String, &'static str, f64)> {
    let storage = &kind.run.result.storage;
    let servers = || storage.servers.iter();
    Some(match kind.kind.work() {
        Work::Load => (format!("{} test", kind.kind), "I/Os per second", storage.achieved_iops?),
        Work::BackUp => {
            let rates = servers().flat_map(|server| &server.backup);
            let rate = rates.map(|backup| backup.rate.0).sum();
            ("backup".to_owned(), "MiB per second", rate)
        }
        Work::Replay => {
            // Log streams are replayed at the same time.
            let rates = servers().flat_map(|server| &server.recovery);
            let rates = rates.filter(|recovery| recovery.seconds > 0.0);
            let rate = rates.map(|recovery| float(recovery.logs) / recovery.seconds).sum();
            ("recovery".to_owned(), "logs per second", rate)
        }
    })
}
