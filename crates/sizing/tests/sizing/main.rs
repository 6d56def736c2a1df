//! Whole sizes: published ones, worked again; every formula, by an oracle; every version.

mod cx3_20;
mod cx4_960;
mod explained;
mod limits;
mod md3820f;
mod odd;
mod searching;
mod versions;

use std::path::Path;

use brunt_scenario::{Document, Organisation};

/// The organisation in `text`.
fn organisation(text: &str) -> Organisation {
    let document = Document::new("org.toml", text, Path::new("/")).unwrap();
    let read = document.organisation(&[], &brunt_sizing::keys());
    read.unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Asserts that `value` is printed as `printed` when it is rounded to whole numbers.
fn is_printed(value: f64, printed: u32) {
    assert_eq!(value.round(), f64::from(printed), "{value}");
}

const GIB: f64 = 1_073_741_824.0;
