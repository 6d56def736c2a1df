//! `brunt site --stdio`: one site of a drill. `brunt drill` starts it; nobody else needs to.

use std::net::Ipv4Addr;

use brunt_host::drill::site::{self, SiteError};
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use crate::version;

/// Arguments of `site`.
#[derive(Args, Clone, Debug)]
pub struct SiteArgs {
    /// Take commands on stdin and answer on stdout
    #[arg(long, required = true)]
    pub stdio: bool,

    /// Move into a network of its own, with this address
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<Ipv4Addr>,
}

/// Serves until stdin ends.
///
/// # Errors
/// [`SiteError`] when it could not begin.
pub fn run(arguments: &SiteArgs, _: &Output) -> Result<Exit, SiteError> {
    site::serve(arguments.address, version::commit()).map(|()| Exit::Passed)
}
