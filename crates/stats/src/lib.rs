//! Fixed-memory histograms, counters and time series.
