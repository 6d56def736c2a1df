//! Bytes on disk: the layout of ESE database, log, checkpoint and flush-map files.
//!
//! Pure layout: nothing here does I/O or keeps state. Each file documents its layout, with a
//! drawing, and the source of the facts. Bytes read from disk are untrusted: decoding any bytes
//! gives a value or an error, never a panic. Bytes to be written are our own, and mistakes in them
//! assert.
//!
//! * [`field`]: little-endian numbers at fixed places.
//! * [`checksum`]: old XOR, new XOR with error correction, single-bit repair.
//! * [`page`]: header, tags and items; [`node`]: key and data; `key_view`: keys alone;
//!   [`page_check`]: rules within a page;
//!   [`page_builder`]: whole pages for bulk loads.
//! * [`space`]: space headers and extents.
//! * [`mod@column`], [`record`], [`long_value`], [`key`]: content of leaf nodes and its order.
//! * [`catalog`]: the list of tables, columns and indexes.
//! * [`header`]: the database header; [`stamp`]: dates, signatures and the marker of our own files.
//! * [`log_file`], [`checkpoint_file`], [`flush_map`]: the files beside a database; [`attachment`]:
//!   the databases that a log stream is attached to.

pub mod attachment;
pub mod catalog;
pub mod checkpoint_file;
pub mod checksum;
pub mod column;
pub mod field;
pub mod flush_map;
pub mod header;
pub mod key;
mod key_view;
pub mod log_file;
pub mod long_value;
pub mod node;
pub mod page;
pub mod page_builder;
pub mod page_check;
pub mod record;
pub mod space;
pub mod stamp;

pub(crate) use key_view::KeyView;
