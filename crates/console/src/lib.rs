//! Follows run folders while others write them: pages, history, alarms, figures for Prometheus.
//!
//! A console is not part of a test. It reads what is appended to journals, may come late and may
//! die; the folder is the truth.

pub mod alarms;
mod follow;
mod http;
mod library;
mod look;
#[cfg(test)]
mod made;
pub mod metrics;
mod pages;
mod part;
mod progress;
#[cfg(test)]
mod sample;
mod series;
mod serve;

pub use follow::Seen;
pub use http::{Token, TokenError};
pub use look::{Look, State};
pub use progress::Progress;
pub use serve::{Address, Console, Noticed};
