//! The brunt program. It lives in the library beside this file.

use std::process::ExitCode;

/// Without memory the program ends in words.
#[global_allocator]
static ALLOCATOR: brunt_world_real::Allocator = brunt_world_real::Allocator;

fn main() -> ExitCode {
    brunt_cli::main()
}
