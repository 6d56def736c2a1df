//! Combines the samples of several hosts.
//!
//! Each host samples on its own grid. The grid of the first run that has samples is kept; a sample
//! of another host belongs to the interval that contains its middle.

use crate::result::Sample;
use crate::{Run, Timestamp};

/// The samples of all `runs`, from the beginning of the earliest collection.
pub(super) fn samples(runs: &[Run]) -> Vec<Sample> {
    let begin = |run: &Run| run.result.times.collection_started;
    let Some(earliest) = runs.iter().filter_map(begin).min() else {
        return Vec::new();
    };
    let length = runs.iter().find_map(|run| run.samples.first());
    let Some(length) = length.map(|sample| sample.length_s) else {
        return Vec::new();
    };
    let mut all: Vec<Option<Sample>> = Vec::new();
    for run in runs {
        let late = seconds_after(begin(run).unwrap_or(earliest), earliest);
        for sample in &run.samples {
            let middle = late + sample.begin_s + sample.length_s / 2.0;
            #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
            let at = (middle / length).floor() as usize;
            if all.len() <= at {
                all.resize(at + 1, None);
            }
            let grid = Sample { begin_s: at as f64 * length, length_s: length, ..*sample };
            all[at] = Some(match all[at] {
                None => grid,
                Some(former) => both(&former, &grid),
            });
        }
    }
    all.into_iter().flatten().collect()
}

fn seconds_after(later: Timestamp, earlier: Timestamp) -> f64 {
    later.unix_seconds.saturating_sub(earlier.unix_seconds) as f64
}

/// Two samples of the same interval as one.
fn both(one: &Sample, other: &Sample) -> Sample {
    Sample {
        database_reads: one.database_reads.and(&other.database_reads),
        database_writes: one.database_writes.and(&other.database_writes),
        log_writes: one.log_writes.and(&other.log_writes),
        page_fault_stalls_per_s: one.page_fault_stalls_per_s + other.page_fault_stalls_per_s,
        cache_bytes: one.cache_bytes + other.cache_bytes,
        ..*one
    }
}
