//! The brunt program. It lives in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    brunt_cli::main()
}
