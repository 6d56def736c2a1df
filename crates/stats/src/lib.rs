//! Small histograms, counters and time series.
//!
//! Recording happens on every I/O, so it allocates almost nothing and costs a few nanoseconds. Everything else (closing an interval,
//! reading a percentile, writing a log) happens every few seconds or at the end.
//!
//! * [`Latencies`]: a histogram of spans with exact count, mean and maximum.
//! * [`OperationLatencies`]: two of them, under separate names: from the intended start and from the actual one.
//! * [`Meter`]: one stream of I/O: latencies and bytes, of the running interval and in total.
//! * [`Counter`]: an event counter, likewise.
//! * [`Series`]: samples at fixed intervals.
//! * [`Interval`]: the confidence interval of a mean; [`batch_means`]: that of a ratio, from samples that are alike.
//! * [`LatencyLog`]: histograms in the text format of HdrHistogram's tools, and [`read_latency_log`].

pub mod batch_means;
mod counter;
mod interval;
mod latencies;
mod latency_log;
mod meter;
mod operation;
mod series;

pub use counter::Counter;
pub use interval::Interval;
pub use latencies::{Latencies, Percentile};
pub use latency_log::{LatencyLine, LatencyLog, read_latency_lines, read_latency_log, read_line};
pub use meter::{Meter, Reading};
pub use operation::OperationLatencies;
pub use series::{SAMPLE_INTERVAL, Sample, Series};
