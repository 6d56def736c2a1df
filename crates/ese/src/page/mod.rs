//! Changing pages: the editor, the change, and the pages they work on.
//!
//! A **change** is the unit of atomicity below transactions: it touches one or more pages of one
//! database and becomes one log record. Every byte it writes is recorded with its place (`offset,
//! bytes`), never as "insert at slot 7". Replaying such ranges in log order does not depend on the
//! page's former content, so recovery can rebuild even a page whose last write was torn: every byte
//! that differs between the mixed versions was written by some change since the checkpoint, and the
//! last writer wins. The price is a few tag bytes per insert. The alternatives (whole page images
//! after each checkpoint, a double-write area) would change the I/O pattern that brunt exists to
//! reproduce.
//!
//! Nothing here waits. Code that needs a page which is not in memory returns a [`Need`] before it
//! has changed anything; the caller satisfies it and starts over.

mod change;
mod claims;
mod edit;
#[cfg(test)]
pub(crate) mod memory;
mod nodes;
mod remains;

pub use change::{Change, Changed, Need, PageChange, PageChanges, Pages, Range};
pub use claims::Claims;
pub use edit::{PageEditor, node_cost};
pub use nodes::Nodes;
pub use remains::Remains;
