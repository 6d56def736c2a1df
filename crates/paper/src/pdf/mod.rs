//! Papers as PDF: layout ([`flow`], [`table`], [`lines`]) into a [`display`] list, and its writing
//! ([`write`](self::write())).
//!
//! krilla writes the file and refuses what would break PDF/UA-1 or PDF/A-3a as far as a program can
//! see that.

mod display;
mod flow;
mod fonts;
mod lines;
mod plot;
mod table;
mod write;

pub(crate) use fonts::shows;
pub(crate) use write::{PRODUCER, write};
