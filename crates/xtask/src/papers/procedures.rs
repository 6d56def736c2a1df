//! Which command is which procedure: of the papers in the repository, from the heads of their
//! scenarios, and of any other paper.
//!
//! A scenario in `scenarios/papers` begins with its paper, its section there, and the command that
//! runs it:
//!
//! ```text
//! # PAPER, PUBLISHER, DATE
//! # PROCEDURE
//! #
//! #   brunt simulate scenarios/papers/NAME.toml
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_report::{Column, Table, table};

use crate::{TaskError, published, root};

/// Procedures that papers share, for scenarios of one's own.
const ANY: &str = "
## Which command is which procedure

With a scenario of your own, `brunt run` tests this machine's storage and `brunt simulate` a modelled array. `kind` is a key of `[test]`.

| procedure of a paper | command | what it does |
| --- | --- | --- |
| performance test | `brunt run`, `kind = \"performance\"` | load at the target with headroom for two hours, limits of latency, then a checksum of every page |
| stress test | `brunt run`, `kind = \"stress\"` | the same for a day; the last third must not be slower than the first |
| maximum I/O | `brunt run --tune`, without a target | the highest rate that passes, in a closed loop |
| database checksum | part of each test; alone `brunt verify FILE.edb` | reads and judges every page |
| database backup, streaming backup | `brunt run`, `kind = \"database-backup\"` | reads all databases to the end: MiB per second of each |
| log generation, log replay, soft recovery | `brunt run`, `kind = \"soft-recovery\"` | writes log files and replays them: seconds for a log |
| background maintenance | `background_maintenance` of `[profile]` | reads in order beside the load |
| all servers of a solution | `brunt simulate` with `servers`; on real hosts `brunt report RUN RUN` | each server, and their sum |
| rebuild of a drive | `brunt simulate`, event `drive fails` | the load meanwhile, and how long the rebuild takes |
| replication over distance | `brunt simulate`, `[link]` and `[replication]` | what the other site costs each write |
| planned failover | `brunt drill`, event `failover` with `planned = true` | how long users wait, step by step; nothing may be lost |
| unplanned failover | `brunt drill`, events `source lost` and `failover` | the same, and which acknowledged commits are lost |
| merge of the write history log | `brunt drill`, events `link lost` and `link returns` | how long the other site takes to catch up |
| sizing: building block, calculator | `brunt size` | drives, groups and databases from mailboxes |
| best practices | `brunt check` | rules with their sources |
| the published document | `brunt paper`, `brunt verify` | a PDF that carries its evidence |

The procedures of the papers on this page:
";

/// The head of a scenario.
struct Head {
    paper: String,
    procedure: String,
    command: String,
}

/// The section of the page.
///
/// # Errors
/// A scenario that cannot be read, or has another head.
pub(super) fn section() -> Result<String, TaskError> {
    let mut papers: BTreeMap<String, Vec<table::Row>> = BTreeMap::new();
    for path in scenarios()? {
        let text = fs::read_to_string(&path).map_err(|error| file(&path, error))?;
        let Some(head) = head(&text) else {
            return Err(TaskError::Simulate {
                scenario: path.display().to_string(),
                why: "does not begin with paper, procedure and command".to_owned(),
            });
        };
        let cells = [head.procedure, format!("`{}`", head.command)];
        let rows = papers.entry(head.paper).or_default();
        rows.push(table::Row::new(cells));
    }
    let mut text = ANY.to_owned();
    for (paper, rows) in papers {
        let columns = [Column::words("procedure"), Column::words("command")];
        let table = Table::new(columns, rows).to_markdown();
        text += &format!("\n{paper}:\n\n{table}");
    }
    Ok(text)
}

/// All scenarios, in order of their names.
fn scenarios() -> Result<Vec<PathBuf>, TaskError> {
    let folder = root().join("scenarios/papers");
    let refused = |error| file(&folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder).map_err(refused)? {
        paths.push(entry.map_err(refused)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "toml"));
    paths.sort();
    Ok(paths)
}

fn head(text: &str) -> Option<Head> {
    let mut lines = published::head(text).map(str::trim);
    let [paper, procedure] = [lines.next()?, lines.next()?].map(str::to_owned);
    let command = lines.find(|line| !line.is_empty())?.to_owned();
    command.starts_with("brunt ").then_some(Head { paper, procedure, command })
}

fn file(path: &Path, error: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_command_of_every_procedure() {
        let page = fs::read_to_string(root().join("docs/papers.md")).unwrap();
        let section = section().unwrap();
        assert!(page.contains(&section), "docs/papers.md lacks:\n{section}");
        for path in scenarios().unwrap() {
            let name = path.file_name().unwrap().to_string_lossy();
            let named = format!("scenarios/papers/{name}`");
            assert_eq!(section.matches(&named).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_scenario_without_a_command_has_no_head() {
        assert!(head("# Paper\n# Test\n#\n#   brunt simulate x.toml\n").is_some());
        assert!(head("# Paper\n# Test\n#\n# Printed: nothing.\n").is_none());
        assert!(head("name = \"x\"\n").is_none());
    }
}
