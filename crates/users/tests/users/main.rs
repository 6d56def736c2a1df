//! Schedules are those of their profiles, and a server that stands still shows.

mod frozen;
mod schedule;
