//! The figures that are compared, and how they follow from samples.

use brunt_stats::Track;
use brunt_stats::batch_means::Part;

use crate::result::{Flow, Sample};

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// Its name in JSON.
    pub(crate) id: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// `/s` or `ms`.
    pub(crate) unit: &'static str,
    /// Whether it counts for the overall verdict. Reads and writes are parts of the database I/O,
    /// and log writes become fewer where more commits share one: neither more nor fewer of them is
    /// better in itself.
    pub(crate) decides: bool,
    kind: Kind,
    flow: fn(&Sample) -> Flow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rate,
    Mean,
    P99,
}

const fn figure(
    id: &'static str,
    title: &'static str,
    kind: Kind,
    decides: bool,
    flow: fn(&Sample) -> Flow,
) -> Figure {
    let unit = match kind {
        Kind::Rate => "/s",
        Kind::Mean | Kind::P99 => "ms",
    };
    Figure { id, title, unit, decides, kind, flow }
}

fn reads(sample: &Sample) -> Flow {
    sample.database_reads
}

fn writes(sample: &Sample) -> Flow {
    sample.database_writes
}

fn log_writes(sample: &Sample) -> Flow {
    sample.log_writes
}

/// In the order of the tables.
pub(crate) const FIGURES: [Figure; 10] = [
    figure("database-io", "I/O", Kind::Rate, true, |sample| {
        sample.database_reads.and(&sample.database_writes)
    }),
    figure("database-read", "read", Kind::Mean, true, reads),
    figure("database-write", "write", Kind::Mean, true, writes),
    figure("log-write", "log write", Kind::Mean, true, log_writes),
    figure("database-read-p99", "read p99", Kind::P99, true, reads),
    figure("database-write-p99", "write p99", Kind::P99, true, writes),
    figure("log-write-p99", "log p99", Kind::P99, true, log_writes),
    figure("database-reads", "reads", Kind::Rate, false, reads),
    figure("database-writes", "writes", Kind::Rate, false, writes),
    figure("log-writes", "log writes", Kind::Rate, false, log_writes),
];

impl Figure {
    /// Whether more of it is better; latencies should be low.
    pub(crate) fn more_is_better(&self) -> bool {
        self.kind == Kind::Rate
    }

    /// Whether it is a rate or a mean. A p99 depends on a handful of I/Os, and on how often they
    /// come in a run: equal simulations of 40 minutes differed in it by more than it varied within
    /// them, in 29 of 200 comparisons.
    pub(crate) fn is_mean(&self) -> bool {
        self.kind != Kind::P99
    }

    /// The figure over `samples`; `None` where there is none. A p99 is the geometric mean of those
    /// of the samples.
    pub(crate) fn track(&self, samples: &[Sample]) -> Option<Track> {
        if self.kind == Kind::P99 {
            return Track::geometric(&samples.iter().map(|s| self.value(s)).collect::<Vec<_>>());
        }
        let part = |sample: &Sample| {
            let flow = (self.flow)(sample);
            let count = flow.per_s * sample.length_s;
            match self.kind {
                Kind::Mean => {
                    Part { sum: count * flow.latency_ms_mean.unwrap_or(0.0), weight: count }
                }
                _ => Part { sum: count, weight: sample.length_s },
            }
        };
        Track::ratio(&samples.iter().map(part).collect::<Vec<_>>())
    }

    /// The figure in one sample; `None` for a latency without I/O.
    pub(crate) fn value(&self, sample: &Sample) -> Option<f64> {
        let flow = (self.flow)(sample);
        match self.kind {
            Kind::Rate => Some(flow.per_s),
            Kind::Mean => flow.latency_ms_mean,
            Kind::P99 => flow.latency_ms_p99,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_weigh_their_samples() {
        let sample = |length_s, per_s, mean, p99| Sample {
            length_s,
            database_reads: Flow {
                per_s,
                latency_ms_mean: mean,
                latency_ms_p99: p99,
                ..Flow::default()
            },
            database_writes: Flow { per_s: 5.0, ..Flow::default() },
            ..Sample::default()
        };
        let samples = [
            sample(10.0, 30.0, Some(1.0), Some(2.0)),
            sample(5.0, 60.0, Some(4.0), Some(8.0)),
            sample(5.0, 0.0, None, None),
        ];
        let value = |id: &str| {
            let figure = FIGURES.iter().find(|figure| figure.id == id).unwrap();
            figure.track(&samples).map(|track| track.log.exp())
        };
        let is = |id: &str, wanted: f64| {
            let found = value(id).unwrap();
            assert!((found - wanted).abs() < 1e-9, "{id}: {found}");
        };
        is("database-reads", 30.0);
        is("database-io", 35.0);
        is("database-read", 2.5);
        is("database-read-p99", 4.0);
        assert_eq!(value("log-write"), None);
        assert_eq!(value("log-writes"), None);
    }
}
