//! The figures that published tests print, over all servers.

use brunt_report::result::{IoNumbers, RunResult};
use serde::{Deserialize, Serialize};

/// I/O figures as published tests print them; a mean without I/O is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Database reads per second.
    pub reads_per_s: f64,
    /// Database writes per second.
    pub writes_per_s: f64,
    /// Mean latency of database reads, in milliseconds.
    pub read_ms: f64,
    /// Mean latency of database writes, in milliseconds.
    pub write_ms: f64,
    /// Log writes without formatting, as the engine's counters show them.
    pub log: LogFigures,
    /// Log writes and formatting, as a counter of the volume shows them.
    pub log_volume: LogFigures,
    /// Utilisation of the busiest group of drives, 0 to 1.
    pub utilisation: f64,
}

/// Log writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogFigures {
    /// Writes per second.
    pub per_s: f64,
    /// Mean latency, in milliseconds.
    pub ms: f64,
    /// Mean size, in bytes.
    pub bytes: f64,
}

impl LogFigures {
    fn of(numbers: &IoNumbers) -> Self {
        Self {
            per_s: numbers.per_s,
            ms: numbers.latency_ms_mean.unwrap_or(f64::NAN),
            bytes: numbers.bytes_mean().unwrap_or(f64::NAN),
        }
    }
}

impl Headline {
    /// The figures of `result`.
    pub fn of(result: &RunResult) -> Self {
        let [reads, writes, written] = result.primary_io();
        let logs = result.instances().map(|instance| &instance.details.log);
        let volume = logs.flat_map(|log| [&log.writes, &log.format_writes]);
        let volume = IoNumbers::together(volume);
        let model = result.storage.details.model.as_ref();
        let busiest = model.and_then(|model| {
            model.busiest(|array| array.groups.iter().map(|g| g.utilisation).collect())
        });
        Self {
            io_per_s: result.storage.achieved_iops.unwrap_or(f64::NAN),
            reads_per_s: reads.per_s,
            writes_per_s: writes.per_s,
            read_ms: reads.latency_ms_mean.unwrap_or(f64::NAN),
            write_ms: writes.latency_ms_mean.unwrap_or(f64::NAN),
            log: LogFigures::of(&written),
            log_volume: LogFigures::of(&volume),
            utilisation: busiest.unwrap_or(f64::NAN),
        }
    }
}
