//! What the databases must hold, and whether they do.
//!
//! * [`records`]: the content of a record, from its number and its database; [`survey`]: which
//!   records there are.
//! * [`oracle`]: what was committed; [`witness`]: the same for a program that is killed;
//!   [`counting`]: the progress of verification.
//! * [`integrity`]: is every record there? [`verification`]: is every page and log segment intact?
//! * [`found`]: faults of the storage, in words.

pub(crate) mod content;
pub mod counting;
pub mod found;
pub mod integrity;
pub mod oracle;
pub mod records;
pub mod survey;
pub mod verification;
pub mod witness;
