//! `brunt site --stdio`: one site of a drill. `brunt drill` starts it; nobody else needs to.

use brunt_host::drill::site;
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `site`.
#[derive(Args, Clone, Debug)]
pub struct SiteArgs {
    /// Take commands on stdin and answer on stdout
    #[arg(long, required = true)]
    pub stdio: bool,
}

/// Serves until stdin ends.
///
/// # Errors
/// Why it could not begin.
pub fn run(_: &SiteArgs, _: &Output) -> Result<Exit, String> {
    site::serve().map(|()| Exit::Passed)
}
