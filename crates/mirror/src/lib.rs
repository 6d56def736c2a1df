//! A synchronous mirror: every change of files is made here and at another site, and acknowledged
//! when both have it.
//!
//! ```text
//!   engine --> Mirrored: Disk and Volume --> files here
//!                  |  every change, as a message            read, list, space: here alone
//!                  v
//!   ============ connection ============
//!                  |                  ^ what came of it
//!                  v                  |
//!              Receiver: checks, applies at once --> files below one folder of its own world
//! ```
//!
//! * **Durability** is that of [`brunt_world::Disk`] at both sites: a write-through that completed
//!   survives the loss of either. The receiver applies messages as they arrive and waits for none
//!   of them: whatever depends on a change waits for its completion first.
//! * **Failsafe.** When the connection breaks, changes wait for ever: nothing is acknowledged that
//!   only one site has. [`Mirror::state`] says why. Reads go on.
//! * **Epochs.** A connection belongs to an epoch. A receiver that was promoted to a newer one
//!   refuses all older ones for ever, also after a restart: the epoch is durable before
//!   [`Receiver::promote`] returns. A site that was frozen and wakes up is so fenced.
//! * **Trust.** What arrives is data: names are relative and plain, sizes are capped, and arbitrary
//!   bytes end a connection, never the program.
//!
//! There is no resynchronisation: a receiver takes one connection, made while both sites are equal.
//! It bears no content of ghosts.

mod breakage;
mod epoch;
mod front;
mod link;
mod name;
mod receiver;
mod wire;

pub use breakage::Breakage;
pub use front::mirrored;
pub use link::{Mirror, MirrorState};
pub use receiver::{Receiver, ReceiverError};

/// Why there is no mirror.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The connection cannot be used.
    #[error("the other site: {0}")]
    Connection(String),
    /// The other site serves itself, or another one, in a newer epoch.
    #[error("the other site has been promoted: it is in epoch {epoch}")]
    Fenced { epoch: u64 },
    /// The other site had a connection before, and lacks what came after it.
    #[error("the other site was connected before, and may lack what was written since")]
    Taken,
}
