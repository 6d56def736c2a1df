//! What the writes of a replicated array ask of a link, and of write history logs during an outage.
//!
//! ```text
//! lines = the least number that the busiest sample fills to four fifths at most
//! room  = mean rate x length of the outage
//! ```
//!
//! Both count bytes of writes alone. Frames and commands are extra on a link, and headers in a log.

use brunt_units::Line;

use super::{ReplicationNumbers, WriteRate};
use crate::decimals;
use crate::table::{Cell, Column, Row, Table};

/// How full the busiest sample may make a link. Assumed: at that load, requests of one size that
/// come by chance wait for two others (Pollaczek-Khinchine, rho / 2 (1 - rho)).
const FULL: f64 = 0.8;
/// Lengths of outages, in hours.
const OUTAGES: [u32; 5] = [1, 2, 4, 8, 24];

impl WriteRate {
    /// The least number of lines that carry it, and how full they are: in the mean, and in the
    /// busiest sample.
    fn on(self, line: Line) -> (f64, f64, f64) {
        let rate = line.bytes_per_s as f64;
        let lines = (self.bytes_per_s_busiest / rate / FULL).ceil().max(1.0);
        let full = |bytes: f64| bytes / (rate * lines);
        (lines, full(self.bytes_per_s_mean), full(self.bytes_per_s_busiest))
    }
}

/// `2.10 MB/s (16.8 Mbit/s)`.
fn rate(bytes_per_s: f64) -> String {
    let (mega, bits) = (bytes_per_s / 1e6, bytes_per_s * 8.0 / 1e6);
    format!("{} MB/s ({} Mbit/s)", decimals(mega), decimals(bits))
}

impl ReplicationNumbers {
    /// The bandwidth that writes need, in words; `None` when they were not measured.
    fn bandwidth(&self) -> Option<String> {
        let writes = self.writes?;
        let (mean, busiest) = (rate(writes.bytes_per_s_mean), rate(writes.bytes_per_s_busiest));
        Some(format!("replicated writes need {mean}, and {busiest} in the busiest sample"))
    }

    /// Everything for a screen; empty when writes were not measured.
    pub fn demand(&self) -> String {
        let Some(bandwidth) = self.bandwidth() else {
            return String::new();
        };
        let (lines, room) = (self.lines().to_indented_text(), self.log_room().to_indented_text());
        format!(
            "\n{:14}{bandwidth}\n{lines}\nroom of write history logs for an outage of the link\n{room}",
            "bandwidth"
        )
    }

    /// Both tables for a page; empty when writes were not measured.
    pub fn demand_tables(&self) -> [Table; 2] {
        [
            self.lines()
                .titled("Bandwidth of replication")
                .noted(&self.bandwidth().unwrap_or_default()),
            self.log_room().titled("Room of write history logs for an outage of the link"),
        ]
    }

    /// How many lines carry the writes, and how full they are; empty when writes were not measured.
    fn lines(&self) -> Table {
        let writes = self.writes.iter();
        let rows = writes.flat_map(|writes| Line::ALL.map(|line| line_row(*writes, line)));
        let numbers =
            ["Mbit/s", "lines, a fifth kept free", "full, mean", "busiest sample", "headroom"];
        Table::new(Column::of(&["line"], &numbers), rows)
    }

    /// The room that write history logs need while the link is lost; empty when writes were not
    /// measured.
    fn log_room(&self) -> Table {
        let groups = self.groups.iter().filter_map(|group| group.writes);
        let means = groups.map(|writes| writes.bytes_per_s_mean);
        let largest = means.fold(0.0, f64::max);
        let rows = self.writes.iter().flat_map(|all| {
            OUTAGES.map(|hours| {
                let room = |rate: f64| gigabytes(rate * 3600.0 * f64::from(hours));
                let outage = format!("{hours} h");
                Row::new([Cell::from(outage), room(largest), room(all.bytes_per_s_mean)])
            })
        });
        let columns = ["outage", "log of the largest group", "all logs"];
        Table::new(columns.map(Column::numbers), rows)
    }
}

fn line_row(writes: WriteRate, line: Line) -> Row {
    let (lines, mean, busiest) = writes.on(line);
    Row::new([
        Cell::from(line.name),
        Cell::Fixed(line.bytes_per_s as f64 * 8.0 / 1e6, 1),
        Cell::Fixed(lines, 0),
        Cell::Share(mean),
        Cell::Share(busiest),
        Cell::Share(1.0 - busiest),
    ])
}

/// In the unit of the sizes of disks.
fn gigabytes(bytes: f64) -> Cell {
    format!("{} GB", decimals(bytes / 1e9)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ReplicationGroup;

    fn rate(mean: f64, busiest: f64) -> WriteRate {
        WriteRate { bytes_per_s_mean: mean, bytes_per_s_busiest: busiest }
    }

    fn replication(writes: Option<WriteRate>, groups: &[WriteRate]) -> ReplicationNumbers {
        let groups = groups.iter().map(|writes| ReplicationGroup {
            writes: Some(*writes),
            ..ReplicationGroup::default()
        });
        ReplicationNumbers { writes, groups: groups.collect(), ..ReplicationNumbers::default() }
    }

    /// The obvious way: one line more until the busiest sample leaves a fifth.
    #[test]
    fn lines_are_as_many_as_needed_and_no_more() {
        for step in 0..400_u32 {
            let busiest = f64::from(step) * 0.17e6;
            for line in Line::ALL {
                let one = line.bytes_per_s as f64;
                let mut expected = 1.0;
                while busiest > 0.8 * one * expected {
                    expected += 1.0;
                }
                let (lines, _, full) = rate(0.0, busiest).on(line);
                assert_eq!(lines, expected, "{busiest} on {}", line.name);
                assert!((full - busiest / (one * expected)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn five_megabytes_a_second_take_two_t3_and_18_gb_an_hour() {
        let all = rate(5e6, 6e6);
        let replication = replication(Some(all), &[rate(2e6, 4e6), rate(3e6, 3.5e6)]);
        assert_eq!(
            replication.bandwidth().unwrap(),
            "replicated writes need 5.00 MB/s (40.0 Mbit/s), and 6.00 MB/s (48.0 Mbit/s) in the busiest sample"
        );
        let lines = replication.lines().to_csv();
        assert!(lines.contains("T3,44.7,2,"), "{lines}");
        assert!(lines.contains("OC3,155.5,1,"), "{lines}");
        let room = replication.log_room().to_csv();
        // 3 MB/s and 5 MB/s for 3,600 s, and for a day.
        assert!(room.contains("1 h,10.8 GB,18.0 GB"), "{room}");
        assert!(room.contains("24 h,259 GB,432 GB"), "{room}");
    }

    #[test]
    fn results_without_rates_say_nothing() {
        let old = replication(None, &[]);
        assert_eq!(old.bandwidth(), None);
        assert!(old.lines().is_empty() && old.log_room().is_empty());
    }
}
