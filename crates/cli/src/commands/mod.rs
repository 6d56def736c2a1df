//! One file for each command.

pub mod run;
pub mod verify;
