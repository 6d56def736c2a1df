//! File handles: whether this process may have as many as a test may need.
//!
//! A test that runs out of them in the midst would end with an error of its files, and the storage
//! has nothing to do with it. So the limit is raised as far as the system lets it, and what is
//! still too low is refused before anything is made.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use brunt_scenario::Scenario;

/// Streams, rings, signals, the run folder, the machine's counters, and files that are open for a
/// moment.
const FIXED: u64 = 32;
/// A ring, a bell, and files that are open for a moment.
const PER_SHARD: u64 = 16;
/// Its folder and lock, checkpoint, log files in use and being formatted.
const PER_INSTANCE: u64 = 8;
/// Its folder and lock, itself, its flush map.
const PER_DATABASE: u64 = 6;

/// Too few file handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process may have {limit} files open, and the test may need {wanted}\n  raise the limit first: ulimit -n {wanted}"
)]
pub struct TooFew {
    limit: u64,
    wanted: u64,
}

/// Raises the limit to what `scenario` may need.
///
/// # Errors
/// [`TooFew`] when the system does not let it.
pub fn provide(scenario: &Scenario) -> Result<(), TooFew> {
    let instances = (scenario.instances.len() + 2 * scenario.copies.len()) as u64;
    let databases = scenario.database_files().count() as u64;
    let shards = u64::from(scenario.shards.value);
    at_least(FIXED + PER_SHARD * (shards - 1) + PER_INSTANCE * instances + PER_DATABASE * databases)
}

/// Raises the limit to `wanted`.
pub(crate) fn at_least(wanted: u64) -> Result<(), TooFew> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Nothing is no limit.
    let Some(limit) = current.filter(|limit| *limit < wanted) else {
        return Ok(());
    };
    let raised = Rlimit { current: Some(wanted), maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| TooFew { limit, wanted })
}
