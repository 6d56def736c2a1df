//! The load while the groups of drives of modelled arrays were whole, degraded, rebuilding.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Cell, Column, Row, Table};

/// The load in one state of the groups of drives. A sample counts for the worst state that any
/// group had in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StateNumbers {
    /// State of the worst group: whole, copying back, rebuilding, degraded, data lost; or all for
    /// every sample.
    pub state: String,
    /// Length of its samples, in seconds.
    pub seconds: f64,
    /// Number of its samples, over all servers.
    pub samples: u64,
    /// Database reads for operations.
    pub database_reads: StateIo,
    /// Database writes.
    pub database_writes: StateIo,
    /// Log writes.
    pub log_writes: StateIo,
}

/// One kind of I/O in one state; latencies are null without I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StateIo {
    /// I/Os per second, of all servers together.
    pub per_s: f64,
    /// Mean, from submission to completion.
    pub latency_ms_mean: Option<f64>,
    /// 99th percentile.
    pub latency_ms_p99: Option<f64>,
    /// The highest mean of one sample.
    pub latency_ms_worst_sample: Option<f64>,
}

/// Three rows for each of `states`; no rows without any.
pub fn states_table(states: &[StateNumbers]) -> Table {
    let words = ["groups", "time", "I/O"].map(Column::words);
    let numbers = ["per second", "mean ms", "p99 ms", "worst sample ms"].map(Column::numbers);
    let rows = states.iter().flat_map(|state| {
        let time = Span::from_seconds(state.seconds).to_string();
        let io = |first: [&str; 2], what: &str, io: &StateIo| {
            Row::new([
                Cell::from(first[0]),
                first[1].into(),
                what.into(),
                io.per_s.into(),
                io.latency_ms_mean.into(),
                io.latency_ms_p99.into(),
                io.latency_ms_worst_sample.into(),
            ])
        };
        [
            io([&state.state, &time], "database read", &state.database_reads),
            io([""; 2], "database write", &state.database_writes),
            io([""; 2], "log write", &state.log_writes),
        ]
    });
    Table::new(words.into_iter().chain(numbers), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_row_for_each_kind_of_io() {
        let io = |per_s| StateIo { per_s, latency_ms_mean: Some(4.0), ..StateIo::default() };
        let state = StateNumbers {
            state: "rebuilding".to_owned(),
            seconds: 45.0,
            samples: 3,
            database_reads: io(120.0),
            database_writes: io(60.0),
            log_writes: io(30.0),
        };
        let text = states_table(&[state]).to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].starts_with("rebuilding  45.0 s  database read"), "{text}");
        assert!(lines[3].trim_start().starts_with("log write"), "{text}");
        assert!(states_table(&[]).is_empty());
    }
}
