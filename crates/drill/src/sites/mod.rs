//! Two sites, taken through a drill: what the user's scenario does to them, the failover, and what
//! is found afterwards.
//!
//! ```text
//!   conductor, ledger, judge
//!      | commands, answers, a line before and after each commit
//!      +--> Site: source       engine -> mirror --\
//!      |                                           Link (delay, cut)
//!      '--> Site: destination  receiver  <--------/     promoted: fences, recovers, serves
//! ```
//!
//! Nothing here starts a process or opens a folder. What a site, a link and the storage below are is
//! handed in: processes on this machine or behind ssh in crate `host`, modelled hosts in virtual time
//! where the conductor is searched for mistakes of its own (`tests/sites`).
//!
//! * `pair`: what is heard of the sites; `opening`: before the timeline; `failover`: what they do for
//!   the conductor; `shipping`: what asynchronous replication leaves at risk.
//! * [`site`]: what a site does that is asked; [`messages`]: what both say; [`lines`]: commits as lines.
//! * [`relay`]: a link of connections that are held back and cut.

mod failover;
pub mod lines;
pub mod messages;
mod opening;
mod pair;
pub mod relay;
mod shipping;
pub mod site;

use std::net::SocketAddr;
use std::pin::Pin;

use brunt_scenario::Exec;
use brunt_world::World;

pub use crate::CourseError;
pub use pair::{CoursePlan, SitePair, Sites};

/// What one of the traits below does in its own time.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, CourseError>> + 'a>>;

/// Looked at while the user's command runs; an error ends the command.
pub type Heed<'a> = Box<dyn FnMut() -> Result<(), CourseError> + 'a>;

/// One of the two sites, as the conductor has it.
///
/// What it has said before it was killed is still heard. A line that has not ended was never said.
pub trait Site {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Sends it a line. One that has ended hears nothing, which its end will show.
    fn send(&self, line: &str);

    /// The lines that it has said since the last time.
    fn new_lines(&self) -> Vec<String>;

    /// Whether it has ended and everything it said was heard.
    fn has_ended(&self) -> bool;

    /// Why it ended, in words.
    fn last_words(&self) -> String;

    /// Lets it end by itself, after it has emptied a folder that it took.
    fn dismiss(&self);

    /// Kills it, and waits for its end.
    fn kill(&self);

    /// Stops it where it is. Its connections stay open.
    fn freeze(&self);

    /// Lets it go on.
    fn thaw(&self);
}

/// What is between the two sites.
pub trait Link {
    /// Where the source finds what listens at `to`.
    fn way_to<'a>(&'a self, world: &'a World, to: SocketAddr) -> Doing<'a, SocketAddr>;

    /// Bytes that have gone to the destination.
    fn sent(&self) -> u64;

    /// Lets nothing through from now on.
    fn cut(&self);

    /// Lets everything through again.
    fn mend(&self);

    /// Why it is less than the scenario's link, in words.
    fn shortcoming(&self) -> Option<String>;

    /// What became of its packets, if it has any, in words.
    fn carried(&self) -> Option<String>;
}

/// What the sites lie on, and what is done to it beside them.
pub trait Storage {
    /// Whether the destination lies on another host, which takes its folder for itself.
    fn is_remote(&self) -> bool;

    /// The program of the drill.
    fn speaker(&self) -> messages::Speaker;

    /// Whether the destination may replace what another drill left in its folder.
    fn may_replace(&self) -> bool;

    /// Bytes in a log segment: the larger ones of the sites on this host.
    fn log_segment(&self) -> usize;

    /// Lets go of the folder of the source.
    fn release(&self);

    /// Whether the folder of the source is still there.
    fn is_there(&self) -> bool;

    /// Takes the folder that the user's replication has brought to the destination.
    ///
    /// # Errors
    /// [`CourseError`] when it did not come, or is not of this drill.
    fn arrive(&self) -> Result<(), CourseError>;

    /// Runs a command of the user.
    fn exec<'a>(&'a self, world: &'a World, exec: &'a Exec, heed: Heed<'a>) -> Doing<'a, ()>;
}
