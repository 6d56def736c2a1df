//! The four pictures of a report: rate, latency, latency distribution, and throughput.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plot::{Axis, Curve, Limit, Plot};
use crate::result::{Distribution, Flow, STEPS_PER_DECADE, Sample, step_of};
use crate::{Run, decimals};

/// A picture with its title.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    title: &'static str,
    html: String,
}

const MEBIBYTE: f64 = 1_048_576.0;

impl From<Plot> for Picture {
    fn from(plot: Plot) -> Self {
        Self {
            title: plot.title,
            html: plot.to_html(),
        }
    }
}

/// All four pictures; empty when nothing was collected.
pub(super) fn all(run: &Run) -> Vec<Picture> {
    if run.samples.is_empty() {
        return Vec::new();
    }
    let plots = [rate(run), latency(run), spread(run), throughput(run)];
    plots.into_iter().map(Picture::from).collect()
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
    let y = Axis::from_zero(highest(&curves), "per second");
    Plot::new("I/Os per second", time(run), y, curves)
}

/// The limits of mean latencies.
fn limits(run: &Run, upright: bool) -> Vec<Limit> {
    let limits = &run.result.storage.details.setup.limits;
    let limit = |name, at: f64| Limit {
        name: format!(
            "{name} limit {} ms",
            decimals(at).trim_end_matches(".00").trim_end_matches(".0")
        ),
        at,
        upright,
    };
    vec![
        limit("read", limits.database_read_ms_mean),
        limit("log", limits.log_write_ms_mean),
    ]
}

fn latency(run: &Run) -> Plot {
    let number = |latency: Option<f64>| latency.unwrap_or(f64::NAN);
    let read =
        |choose: fn(&Flow) -> Option<f64>| move |s: &Sample| number(choose(&s.database_reads));
    let curves = vec![
        curve(run, "read, mean", false, read(|flow| flow.latency_ms_mean)),
        curve(run, "read, p50", false, read(|flow| flow.latency_ms_p50)),
        curve(run, "read, p99", false, read(|flow| flow.latency_ms_p99)),
        curve(run, "log, mean", false, |s| {
            number(s.log_writes.latency_ms_mean)
        }),
    ];
    let limits = limits(run, false);
    let at = || limits.iter().map(|limit| limit.at);
    let y = Axis::powers(
        at().fold(lowest(&curves), f64::min),
        at().fold(highest(&curves), f64::max),
        "ms",
    );
    Plot {
        limits,
        ..Plot::new("Latency", time(run), y, curves)
    }
}

/// Left end of the latency distribution; shorter latencies are drawn there. They say nothing about storage, and operations that
/// found everything in memory would stretch the axis by decades.
const SHORTEST_MS: f64 = 0.001;

fn spread(run: &Run) -> Plot {
    let limits = limits(run, true);
    let distributions = &run.result.storage.details.distributions;
    let buckets = distributions.iter().flat_map(|d| &d.buckets);
    let ends = buckets.map(|bucket| bucket.latency_ms_max.max(SHORTEST_MS));
    let all = || ends.clone().chain(limits.iter().map(|limit| limit.at));
    let x = Axis::powers(
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
        "ms",
    );
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
    let y = Axis::from_zero(highest(&curves), "% of I/Os");
    Plot {
        limits,
        is_stairs: true,
        ..Plot::new("Latency distribution", x, y, curves)
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

fn throughput(run: &Run) -> Plot {
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
    let y = Axis::from_zero(highest(&curves), "MiB per second");
    Plot::new("Throughput", time(run), y, curves)
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
