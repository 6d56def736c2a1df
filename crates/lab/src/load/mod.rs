//! Raw load on modelled arrays: its result in words, as tables, as JSON and as a page.
//!
//! `words` has the screen, `phases` and `drives` tables of it, `pages` what is said of LUNs in
//! pages (also of tests).

mod drives;
mod json;
mod page;
pub mod pages;
pub mod pairs;
mod phases;
pub mod replicas;
mod words;

pub use json::json;
pub use page::page;
pub use words::{measured, opening, per_second, unreplicated, verdict};
