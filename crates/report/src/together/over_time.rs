//! Combines the samples of several hosts.
//!
//! Each host samples on its own grid. The grid of the first run that has samples is kept; a sample of another host belongs to the
//! interval that contains its middle.

use crate::result::{Flow, Sample};
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
            let grid = Sample {
                begin_s: at as f64 * length,
                length_s: length,
                ..*sample
            };
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
        database_reads: add(&one.database_reads, &other.database_reads),
        database_writes: add(&one.database_writes, &other.database_writes),
        log_writes: add(&one.log_writes, &other.log_writes),
        page_fault_stalls_per_s: one.page_fault_stalls_per_s + other.page_fault_stalls_per_s,
        cache_bytes: one.cache_bytes + other.cache_bytes,
        ..*one
    }
}

/// Adds rates and weighs means by them. The percentile of both lies between the two; the larger is kept.
fn add(one: &Flow, other: &Flow) -> Flow {
    let longer =
        |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
    let per_s = one.per_s + other.per_s;
    let weighed = |flow: &Flow| flow.per_s * flow.latency_ms_mean.unwrap_or(0.0);
    Flow {
        per_s,
        bytes_per_s: one.bytes_per_s + other.bytes_per_s,
        latency_ms_mean: (per_s > 0.0).then(|| (weighed(one) + weighed(other)) / per_s),
        latency_ms_p50: longer(one.latency_ms_p50, other.latency_ms_p50),
        latency_ms_p99: longer(one.latency_ms_p99, other.latency_ms_p99),
        latency_ms_max: longer(one.latency_ms_max, other.latency_ms_max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_add_up_and_means_are_weighed() {
        let flow = |per_s: f64, mean: f64| Flow {
            per_s,
            bytes_per_s: per_s * 4096.0,
            latency_ms_mean: (per_s > 0.0).then_some(mean),
            latency_ms_p50: (per_s > 0.0).then_some(mean / 2.0),
            latency_ms_p99: (per_s > 0.0).then_some(mean * 2.0),
            latency_ms_max: (per_s > 0.0).then_some(mean * 3.0),
        };
        let sum = add(&flow(30.0, 2.0), &flow(10.0, 6.0));
        assert_eq!((sum.per_s, sum.latency_ms_mean), (40.0, Some(3.0)));
        assert_eq!(
            (sum.latency_ms_p99, sum.latency_ms_max),
            (Some(12.0), Some(18.0))
        );
        assert_eq!(add(&flow(30.0, 2.0), &flow(0.0, 0.0)), flow(30.0, 2.0));
        assert_eq!(add(&flow(0.0, 0.0), &flow(0.0, 0.0)), Flow::default());
    }
}
