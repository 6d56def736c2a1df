//! The four pictures of a report: rate, latency, latency distribution, and bytes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plot::{Axis, Curve, Limit, Plot};
use crate::Run;
use crate::result::{Distribution, Flow, STEPS_PER_DECADE, Sample, step_of};

/// A picture with its title.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    title: &'static str,
    svg: String,
}

const MEBIBYTE: f64 = 1_048_576.0;

/// All four pictures; empty when nothing was collected.
pub(super) fn all(run: &Run) -> Vec<Picture> {
    if run.samples.is_empty() {
        return Vec::new();
    }
    let plots = [rate(run), latency(run), spread(run), bytes(run)];
    let picture = |plot: Plot| Picture {
        title: plot.title,
        svg: plot.to_svg(),
    };
    plots.into_iter().map(picture).collect()
}

/// A number of every sample, drawn at the middle of its interval.
fn curve(run: &Run, name: &'static str, filled: bool, number: impl Fn(&Sample) -> f64) -> Curve {
    let point = |sample: &Sample| (sample.begin_s + sample.length_s / 2.0, number(sample));
    Curve {
        name,
        points: run.samples.iter().map(point).collect(),
        filled,
    }
}

fn highest(curves: &[Curve]) -> f64 {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.map(|(_, y)| *y)
        .filter(|y| y.is_finite())
        .fold(0.0, f64::max)
}

fn lowest(curves: &[Curve]) -> f64 {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.map(|(_, y)| *y)
        .filter(|y| *y > 0.0)
        .fold(f64::INFINITY, f64::min)
}

fn time(run: &Run) -> Axis {
    let end = |sample: &Sample| sample.begin_s + sample.length_s;
    Axis::time(run.samples.iter().map(end).fold(0.0, f64::max))
}

fn rate(run: &Run) -> Plot {
    let curves = vec![
        curve(run, "database reads", true, |s| s.database_reads.per_s),
        curve(run, "database writes", false, |s| s.database_writes.per_s),
        curve(run, "log writes", false, |s| s.log_writes.per_s),
    ];
    Plot {
        title: "I/Os per second",
        x: time(run),
        y: Axis::from_zero(highest(&curves), "I/Os per second"),
        curves,
        limits: Vec::new(),
    }
}

fn latency(run: &Run) -> Plot {
    let number = |latency: Option<f64>| latency.unwrap_or(f64::NAN);
    let read =
        |choose: fn(&Flow) -> Option<f64>| move |s: &Sample| number(choose(&s.database_reads));
    let limit = run
        .result
        .storage
        .details
        .setup
        .limits
        .database_read_ms_mean;
    let curves = vec![
        curve(run, "read, mean", false, read(|flow| flow.latency_ms_mean)),
        curve(run, "read, p50", false, read(|flow| flow.latency_ms_p50)),
        curve(run, "read, p99", false, read(|flow| flow.latency_ms_p99)),
        curve(run, "log, mean", false, |s| {
            number(s.log_writes.latency_ms_mean)
        }),
    ];
    Plot {
        title: "Latency",
        x: time(run),
        y: Axis::powers(
            lowest(&curves).min(limit),
            highest(&curves).max(limit),
            "milliseconds",
        ),
        curves,
        limits: vec![Limit {
            name: format!("limit {limit} ms"),
            at: limit,
            upright: false,
        }],
    }
}

/// Left end of the latency distribution; shorter latencies are drawn there. They say nothing about storage, and operations that
/// found everything in memory would stretch the axis by decades.
const SHORTEST_MS: f64 = 0.001;

fn spread(run: &Run) -> Plot {
    let limit = run
        .result
        .storage
        .details
        .setup
        .limits
        .database_read_ms_mean;
    let distributions = &run.result.storage.details.distributions;
    let ends = distributions.iter().flat_map(|d| &d.buckets);
    let (low, high) = ends.fold((limit, limit), |(low, high), bucket| {
        (
            low.min(bucket.latency_ms_max.max(SHORTEST_MS)),
            high.max(bucket.latency_ms_max),
        )
    });
    let named = [
        ("database read", "read"),
        ("database write", "write"),
        ("log write", "log write"),
        ("operation, from its intended start", "operation"),
    ];
    let curves: Vec<_> = named
        .into_iter()
        .filter_map(|(kind, name)| {
            let found = distributions.iter().find(|d| d.name == kind);
            found.map(|distribution| (name, distribution))
        })
        .map(|(name, distribution)| Curve {
            name,
            points: steps(distribution),
            filled: name == "read",
        })
        .collect();
    Plot {
        title: "How latencies are spread",
        x: Axis::powers(low, high, "ms (less than 0.001 at the edge)"),
        y: Axis::from_zero(highest(&curves), "% of I/Os in each step"),
        curves,
        limits: vec![Limit {
            name: format!("read limit {limit}"),
            at: limit,
            upright: true,
        }],
    }
}

/// The share of the I/Os in each step (a tenth of a decade), drawn as a staircase.
fn steps(distribution: &Distribution) -> Vec<(f64, f64)> {
    let total: u64 = distribution.buckets.iter().map(|bucket| bucket.count).sum();
    let mut shares = BTreeMap::<i32, f64>::new();
    for bucket in &distribution.buckets {
        let latency = bucket.latency_ms_max.max(SHORTEST_MS);
        *shares.entry(step_of(latency)).or_default() += 100.0 * bucket.count as f64 / total as f64;
    }
    let (Some(first), Some(last)) = (shares.keys().next(), shares.keys().last()) else {
        return Vec::new();
    };
    let edge = |step: i32| 10_f64.powf(f64::from(step) / STEPS_PER_DECADE);
    let mut points = vec![(edge(*first), 0.0)];
    for step in *first..=*last {
        let share = shares.get(&step).copied().unwrap_or(0.0);
        points.extend([(edge(step), share), (edge(step + 1), share)]);
    }
    points.push((edge(*last + 1), 0.0));
    points
}

fn bytes(run: &Run) -> Plot {
    let curves = vec![
        curve(run, "database read", true, |s| {
            s.database_reads.bytes_per_s / MEBIBYTE
        }),
        curve(run, "database written", false, |s| {
            s.database_writes.bytes_per_s / MEBIBYTE
        }),
        curve(run, "log written", false, |s| {
            s.log_writes.bytes_per_s / MEBIBYTE
        }),
    ];
    Plot {
        title: "Bytes and log",
        x: time(run),
        y: Axis::from_zero(highest(&curves), "MiB per second"),
        curves,
        limits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Bucket;

    #[test]
    fn the_staircase_holds_every_io() {
        let bucket = |latency_ms_max, count| Bucket {
            latency_ms_max,
            count,
        };
        let distribution = Distribution {
            name: String::new(),
            buckets: vec![bucket(0.11, 25), bucket(0.12, 25), bucket(1.05, 50)],
        };
        let points = steps(&distribution);
        let tread = |pair: &[(f64, f64)]| {
            if pair[0].1 == pair[1].1 {
                pair[0].1
            } else {
                0.0
            }
        };
        let shares: f64 = points.windows(2).map(tread).sum();
        assert!((shares - 100.0).abs() < 1e-9);
        assert!((points[1].0 - 0.1).abs() < 1e-9 && points[1].1 == 50.0);
        assert!(points.iter().all(|(x, _)| *x > 0.0));
        let nothing = Distribution {
            name: String::new(),
            buckets: vec![bucket(0.000_001, 7), bucket(0.0005, 3), bucket(1.05, 10)],
        };
        let points = steps(&nothing);
        assert!((points[1].0 - SHORTEST_MS).abs() < 1e-9 && points[1].1 == 50.0);
    }
}
