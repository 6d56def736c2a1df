//! The `brunt` program: what it reads, what it says, and one file for each command.
//!
//! * [`scenario`]: the TOML file that describes a test, and whether it fits this machine.
//! * [`test_args`]: the scenario and the flags that every testing command takes.
//! * [`output`]: everything it says; [`columns`]: tables.
//! * [`exit`]: how it ends.

pub mod columns;
pub mod exit;
pub mod output;
pub mod scenario;
pub mod test_args;
