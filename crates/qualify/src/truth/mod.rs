//! What must be in the databases, and whether it is.
//!
//! * [`records`]: what a record holds, from its number and its database; [`survey`]: which records there are.
//! * [`oracle`]: what was committed, [`counting`]: how much; [`witness`] remembers it when the program is killed.
//! * [`integrity`]: is every record there? [`verification`]: is every page and log segment whole?
//! * [`found`]: what was wrong with the storage, in words.

pub mod counting;
pub mod found;
pub mod integrity;
pub mod oracle;
pub mod records;
pub mod survey;
pub mod verification;
pub mod witness;
