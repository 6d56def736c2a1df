//! The brunt program: one file per command.

fn main() {}
