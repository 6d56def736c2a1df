//! The first table of a backup or recovery report: its statistics, with rows for the mean and the
//! sum.

use crate::result::{Backup, Recovery, RunResult, Server};
use crate::table::{Cell, Column, Row, Table};

/// Empty without a backup or a recovery.
pub(super) fn all(result: &RunResult) -> Vec<Table> {
    let backups: Vec<_> = each(result, |server| &server.backup);
    let recoveries: Vec<_> = each(result, |server| &server.recovery);
    let mut tables = Vec::new();
    if !backups.is_empty() {
        tables.push(backup(&backups));
    }
    if !recoveries.is_empty() {
        tables.push(recovery(&recoveries));
    }
    tables
}

fn each<T>(result: &RunResult, of: fn(&Server) -> &Vec<T>) -> Vec<&T> {
    result.storage.servers.iter().flat_map(of).collect()
}

fn backup(backups: &[&Backup]) -> Table {
    let count = backups.len() as f64;
    let sum = |of: fn(&Backup) -> f64| backups.iter().map(|backup| of(backup)).sum::<f64>();
    let longest = backups.iter().map(|b| b.seconds).fold(0.0, f64::max);
    let row = |name: &str, megabytes: f64, elapsed: String, rate: f64| {
        Row::new([
            Cell::from(name),
            Cell::Fixed(megabytes, 2),
            elapsed.into(),
            Cell::Fixed(rate, 2),
        ])
    };
    let mut rows: Vec<Row> =
        backups.iter().map(|b| row(&b.instance, b.size.0, clock(b.seconds), b.rate.0)).collect();
    let (megabytes, rate) = (sum(|b| b.size.0), sum(|b| b.rate.0));
    rows.push(row("Avg", megabytes / count, String::new(), rate / count));
    rows.push(row("Sum", megabytes, clock(longest), rate));
    let numbers = ["Database Size (MBytes)", "Elapsed Backup Time", "MBytes Transferred/sec"];
    Table::new(Column::of(&["Database Instance"], &numbers), rows)
        .titled("Database Backup Statistics - All")
}

fn recovery(recoveries: &[&Recovery]) -> Table {
    let count = recoveries.len() as f64;
    let row = |name: &str, logs: String, seconds: f64| {
        Row::new([name.into(), logs.into(), Cell::Fixed(seconds, 3)])
    };
    let mut rows: Vec<Row> =
        recoveries.iter().map(|r| row(&r.instance, r.logs.to_string(), r.seconds)).collect();
    let logs: u64 = recoveries.iter().map(|r| r.logs).sum();
    let seconds: f64 = recoveries.iter().map(|r| r.seconds).sum();
    let mean = format!("{:.2}", logs as f64 / count);
    rows.push(row("Avg", mean, seconds / count));
    rows.push(row("Sum", logs.to_string(), seconds));
    let numbers = ["Log files replayed", "Elapsed seconds"];
    Table::new(Column::of(&["Database Instance"], &numbers), rows)
        .titled("Soft-Recovery Statistics - All")
}

/// `hh:mm:ss`.
fn clock(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
    let all = seconds.round() as u64;
    let (hours, rest) = (all.div_euclid(3600), all.rem_euclid(3600));
    format!("{hours:02}:{:02}:{:02}", rest.div_euclid(60), rest.rem_euclid(60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Mib;

    #[test]
    fn rows_for_mean_and_sum_follow_the_databases() {
        let one = |megabytes, seconds| Backup {
            instance: "DB".to_owned(),
            size: Mib(megabytes),
            seconds,
            rate: Mib(megabytes).over(seconds),
            copied_to: None,
        };
        let (first, second) = (one(1000.0, 10.0), one(3000.0, 60.0));
        let table = backup(&[&first, &second]);
        let lines = table.text_lines();
        let cells = lines[1..].iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(
            cells.collect::<Vec<_>>(),
            [
                vec!["DB", "1000.00", "00:00:10", "100.00"],
                vec!["DB", "3000.00", "00:01:00", "50.00"],
                vec!["Avg", "2000.00", "75.00"],
                vec!["Sum", "4000.00", "00:01:00", "150.00"],
            ]
        );
    }
}
