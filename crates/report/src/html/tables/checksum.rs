//! Results of verification: each database on its own, logs by folder, because a long run leaves
//! thousands of them.

use std::collections::BTreeMap;

use super::{Cell, Column, Row, Table, measured};
use crate::grouped;
use crate::result::{Instance, RunResult, VerifiedFile};

/// Every database, every folder of logs, and the sum.
pub(super) fn checksum(result: &RunResult) -> Table {
    let mut rows = Vec::new();
    let mut sum = Checked::default();
    for server in &result.storage.servers {
        let logs = |file: &&VerifiedFile| {
            let mut instances = server.instances.iter();
            let folder = |instance: &&Instance| {
                let rest = file.file.strip_prefix(instance.details.log.path.as_str());
                rest.is_some_and(|rest| rest.starts_with('/')) && !file.file.ends_with(".edb")
            };
            instances.find(folder).map(|i| &i.details.log.path)
        };
        let mut folders = BTreeMap::<&String, Checked>::new();
        for file in &server.checksum {
            sum.add(file);
            match logs(&file) {
                Some(folder) => folders.entry(folder).or_default().add(file),
                None => rows.push(Checked::of(file).row(file.file.clone())),
            }
        }
        for (folder, checked) in folders {
            rows.push(checked.row(format!("{folder} ({} files)", grouped(checked.files))));
        }
    }
    let is_judged = sum.pages.iter().all(Option::is_some);
    if !rows.is_empty() {
        rows.push(sum.row("(Sum)".to_owned()));
    }
    let numbers = [
        "Seen pages",
        "Bad pages",
        "Correctable pages",
        "Wrong page-number pages",
        "File length",
        "Read",
        "Seconds taken",
    ];
    Table::new(Column::of(&["Database"], &numbers), rows)
        .titled("Checksum Statistics - All")
        .noted(match is_judged {
            true => "Of a log, segments count as pages. result.json has a line for each log file.",
            false => {
                "Databases of a prediction have no content: they are only read, large ones in part, to measure the rate."
            }
        })
}

/// Verification results of some files.
#[derive(Clone, Copy, Default)]
struct Checked {
    files: u64,
    /// `None` once a file was not judged.
    pages: [Option<u64>; 4],
    bytes: u64,
    bytes_read: u64,
    seconds: f64,
}

impl Checked {
    fn of(file: &VerifiedFile) -> Self {
        let mut checked = Self::default();
        checked.add(file);
        checked
    }

    fn add(&mut self, file: &VerifiedFile) {
        let pages =
            [file.pages_seen, file.pages_bad, file.pages_correctable, file.pages_wrong_number];
        for (sum, pages) in self.pages.iter_mut().zip(pages) {
            *sum = match self.files {
                0 => pages,
                _ => sum.zip(pages).map(|(sum, pages)| sum + pages),
            };
        }
        self.files += 1;
        self.bytes += file.bytes;
        self.bytes_read += file.bytes_read.unwrap_or(file.bytes);
        self.seconds += file.seconds;
    }

    fn row(&self, name: String) -> Row {
        let mut cells = vec![Cell::from(name)];
        cells.extend(self.pages.map(|pages| measured(pages.map(Cell::from))));
        cells.extend([Cell::Bytes(self.bytes), Cell::Bytes(self.bytes_read)]);
        cells.push(self.seconds.into());
        let [_, bad, _, wrong_number] = self.pages.map(|pages| pages.unwrap_or(0));
        Row::classed(cells, if bad + wrong_number > 0 { "failed" } else { "" })
    }
}
