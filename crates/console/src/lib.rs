//! Follows run folders while others write them: pages, history, alarms, figures for Prometheus.
//!
//! A console is not part of a test. It reads what is appended to journals, may come late and may
//! die; the folder is the truth.

mod look;

pub use look::{Look, State};
