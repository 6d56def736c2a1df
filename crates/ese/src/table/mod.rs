//! brunt's table, from its columns to the trees that hold it.
//!
//! ```text
//!    Messages        Id LongLong, Folder Long, Received LongLong, Version Long, Subject Binary, Body LongBinary
//!      PrimaryKey      Id                    the records themselves
//!      FolderReceived  Folder, Received      not unique; the data is the record's primary key
//!      LV                                    bodies that do not stay in their record
//! ```
//!
//! * [`message`]: encoding of a record and its keys.
//! * [`operations`]: an insert, delete or update of a message as a list of tree operations.
//! * [`load`]: a whole database from messages in order; [`create`]: its system pages.
//! * [`Messages`]: the table's trees, found in a catalog.

pub mod create;
pub mod load;
pub mod message;
pub mod operations;
mod schema;
#[cfg(test)]
mod tests;

pub use schema::{CatalogRead, Messages, read_catalog};
