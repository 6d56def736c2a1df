//! Coordinator, doors, keepers and workers as real processes of this machine.
//!
//! ```text
//!   a test: conduct ---> launcher ---> this program as a door ---> as a keeper ---> as a worker
//!                        sh, timeout, or this program as one that damages bytes
//! ```

mod bad_days;
mod fleet;
mod roles;
