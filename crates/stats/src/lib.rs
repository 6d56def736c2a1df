//! Small histograms, counters and time series.
//!
//! Recording happens on every I/O, so it allocates almost nothing and costs a few nanoseconds.
//! Everything else (closing an interval, reading a percentile, writing a log) happens every few
//! seconds or at the end.
//!
//! * [`Latencies`]: a histogram of spans with exact count, mean and maximum.
//! * [`OperationLatencies`]: two of them, under separate names: from the intended start and from
//!   the actual one.
//! * [`Meter`]: one stream of I/O: latencies and bytes, of the running interval and in total.
//! * [`Counter`]: an event counter, likewise.
//! * [`Series`]: samples at fixed intervals.
//! * [`Interval`]: the confidence interval of a mean; [`batch_means`]: that of a ratio, from
//!   samples that are alike.
//! * [`differences`]: two sides of runs, several figures, and how well their ratios are known:
//!   [`Track`] is a figure over its samples, [`Memory`] how long it remembers, [`replicates`] its
//!   bootstrap, [`cliffs_delta`] the size of an effect.
//! * [`change_points`]: where a series of runs changes.
//! * [`LatencyLog`]: histograms in the text format of HdrHistogram's tools, and
//!   [`read_latency_log`].

mod autocorrelation;
pub mod batch_means;
mod change_points;
mod counter;
mod difference;
mod effect;
mod interval;
mod latencies;
mod latency_log;
mod meter;
mod moving_blocks;
mod operation;
mod quantile;
mod series;

pub use autocorrelation::Memory;
pub use change_points::{ChangePoint, change_points, fewest};
pub use counter::Counter;
pub use difference::{CONFIDENCE, Difference, POWER, Pair, departures, differences, is_apart};
pub use effect::{cliffs_delta, effect_in_words};
pub use interval::Interval;
pub use latencies::{Latencies, PackedLatencies, Percentile};
pub use latency_log::{LatencyLine, LatencyLines, LatencyLog, read_latency_log, read_line};
pub use meter::{Meter, Reading};
pub use moving_blocks::{Track, replicates};
pub use operation::OperationLatencies;
pub use quantile::{share_beyond, student_bound};
pub use series::{SAMPLE_INTERVAL, Sample, Series};
