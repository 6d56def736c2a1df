//! Agents of a fleet as processes of real hosts.
//!
//! ```text
//!   coordinator          host
//!   conduct -- ssh ...-- door ------ socket ------ keeper ------- lines ------ worker
//!     |                    |                         |                            |
//!     | a child for each   | stdin and stdout        | a session of its own,      | the test; ends when
//!     | connection         | of a login              | outlives every login       | its stdin ends
//!     v                    v                         v
//!   OUT/NAME/...         claim: locked while a keeper lives; status.json at its end
//! ```
//!
//! What they decide is in `fleet`. Here are pipes, processes and files: which program is launched,
//! and which one is the worker, is handed in.
//!
//! * Nothing listens but a socket in a folder of the user's own.
//! * A claim is a file that is linked into place once, with its lock already held. The keeper holds
//!   the lock for as long as it lives, so no number of a process is ever trusted.
//! * The keeper runs no test. One that is killed for its memory leaves a keeper that says so.

mod claim;
mod conduct;
mod door;
mod error;
mod facts;
mod files;
mod keeper;
mod permit;
mod pipes;
mod process;
mod worker;

pub use conduct::{Conducting, HostWay, conduct};
pub use door::{Place, serve};
pub use error::AgentError;
pub use facts::devices;
pub use keeper::{Keeping, keep};
pub use permit::Permit;
pub use worker::{FromWorker, ToWorker};

use brunt_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// The machine's monotonic clock: equal for all of its processes.
pub fn monotonic() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Time(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0))
}
