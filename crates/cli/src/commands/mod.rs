//! One file for each command.

pub mod ab;
pub mod agent;
pub mod batch;
pub mod check;
pub mod clean;
pub mod compare;
pub mod completions;
#[cfg(feature = "console")]
pub mod console;
pub mod drill;
pub mod explain;
pub mod fleet;
pub mod handover;
pub mod import;
pub mod init;
pub mod load;
pub mod man;
pub mod models;
pub mod paper;
pub mod prove;
pub mod report;
pub mod run;
pub mod simulate;
pub mod site;
pub mod size;
pub mod verify;
