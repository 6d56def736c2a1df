//! The `brunt` program: what it reads, what it says, and one file for each command.
//!
//! * [`scenario`]: the TOML file that describes a test, and whether it fits this machine.

pub mod scenario;
