//! The detection matrix: every fault at every place, and what detects it. This test writes
//! `docs/detection.md`, and checks that it is current.
//!
//! ```text
//! BRUNT_WRITE_DOCS=1 cargo test -p brunt-testkit --test detection
//! ```

mod backup;
mod trial;
mod why;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use brunt_units::Span;
use brunt_world::fault::FaultKind;
use trial::{Outcome, Place, Prepared, try_fault};
use why::why;

/// Distance of misdirected requests: two pages.
const ASTRAY: u64 = 8192;

const KINDS: [(FaultKind, &str); 15] = [
    (FaultKind::BitFlip, "one bit flipped"),
    (FaultKind::TwoBitFlip, "two bits flipped"),
    (FaultKind::Zeroed, "zeroed"),
    (FaultKind::Stale, "stale read"),
    (FaultKind::MisdirectedRead(ASTRAY), "misdirected read"),
    (FaultKind::ShortRead, "short read"),
    (FaultKind::Torn, "torn write"),
    (FaultKind::Lost, "lost write"),
    (FaultKind::MisdirectedWrite(ASTRAY), "misdirected write"),
    (FaultKind::DroppedSync, "dropped sync"),
    (FaultKind::DeviceError, "I/O error"),
    (FaultKind::MediumError, "medium error"),
    (FaultKind::NoSpace, "no space"),
    (FaultKind::Stuck, "stuck"),
    (FaultKind::Slow(Span::millis(40)), "slow, 40 ms"),
];

/// The text of a cell.
fn cell(kind: FaultKind, place: Place, outcome: &Outcome) -> String {
    let is_page = matches!(place, Place::Leaf | Place::Branch | Place::Root | Place::Copy);
    match &outcome.noticed {
        Some(noticed) => format!("**detected** {noticed}"),
        None if outcome.wrong > 0 => format!("*oracle alone*: {} records", outcome.wrong),
        None if outcome.struck == 0 => "not met".to_owned(),
        None if kind == FaultKind::BitFlip && is_page => "corrected".to_owned(),
        None => "harmless".to_owned(),
    }
}

fn page(prepared: &Prepared) -> String {
    let mut page =
        fs::read_to_string(root().join("crates/testkit/tests/detection/head.md")).unwrap();
    for (place, name) in Place::ALL {
        write!(page, "\n## {}{}\n\n", name[..1].to_uppercase(), &name[1..]).unwrap();
        page.push_str("| fault | outcome | why |\n| --- | --- | --- |\n");
        for (kind, words) in KINDS {
            let outcome = try_fault(prepared, kind, place);
            let cell = cell(kind, place, &outcome);
            let why = why(kind, place, &cell);
            writeln!(page, "| {words} | {cell} | {why} |").unwrap();
        }
    }
    page
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_matrix_is_what_the_page_says() {
    let made = page(&Prepared::new());
    let path = root().join("docs/detection.md");
    if std::env::var_os("BRUNT_WRITE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let hint = "run it with BRUNT_WRITE_DOCS=1 and look at the difference";
    assert!(made == there, "docs/detection.md is out of date: {hint}");
}
