//! `[[event]]` of files: every word reads, reads back, and is refused where it says something that
//! it cannot mean.

use std::path::Path;

use brunt_scenario::Document;
use brunt_units::Span;
use brunt_world::fault::{Direction, Fault, FaultKind};

const SMALL: &str = r#"
[test]
duration = "1h"
sessions = 4

[profile]
version = "exchange-2013"

[[instance]]
log = "/data/log1"
databases = ["/data/db/one.edb", "/data/db/two.edb"]
database_size = "1 GiB"
"#;

fn parse(faults: &str) -> Result<Vec<Fault>, String> {
    let text = format!("{SMALL}\n{faults}");
    let scenario = Document::new("t.toml", &text, Path::new("/home/me"))
        .and_then(|document| document.test(&[]));
    let scenario = scenario.map_err(|refusal| refusal.to_string())?;
    let again =
        Document::new("t.toml", &scenario.to_toml(), Path::new("/")).unwrap().test(&[]).unwrap();
    assert_eq!(again, scenario, "what is resolved reads back");
    Ok(scenario.faults)
}

fn one(keys: &str) -> Fault {
    let faults = parse(&format!("[[event]]\nfile = \"one.edb\"\n{keys}")).unwrap();
    faults.into_iter().next().unwrap()
}

/// What is said of a fault with these keys, after the place.
fn refused(keys: &str) -> String {
    let said = parse(&format!("[[event]]\n{keys}")).unwrap_err();
    said.split_once("`: ").unwrap().1.to_owned()
}

#[test]
fn every_fault_has_a_word() {
    for (word, kind) in [
        ("bit-flip", FaultKind::BitFlip),
        ("two-bit-flip", FaultKind::TwoBitFlip),
        ("zeroed", FaultKind::Zeroed),
        ("stale-read", FaultKind::Stale),
        ("misdirected-read", FaultKind::MisdirectedRead(64 << 10)),
        ("short-read", FaultKind::ShortRead),
        ("torn-write", FaultKind::Torn),
        ("lost-write", FaultKind::Lost),
        ("misdirected-write", FaultKind::MisdirectedWrite(64 << 10)),
        ("io-error", FaultKind::DeviceError),
        ("medium-error", FaultKind::MediumError),
        ("no-space", FaultKind::NoSpace),
        ("dropped-sync", FaultKind::DroppedSync),
        ("stuck", FaultKind::Stuck),
    ] {
        assert_eq!(one(&format!("what = \"{word}\"")).kind, kind);
    }
    let slow = one("what = \"slow\"\ndelay = \"500ms\"");
    assert_eq!(slow.kind, FaultKind::Slow(Span::millis(500)));
}

#[test]
fn a_place_is_a_page_or_bytes_or_found_when_the_time_has_come() {
    let page: u64 = 32 << 10;
    let settles = one("what = \"zeroed\"\nafter = 7\ntimes = 2");
    assert_eq!((settles.after, settles.times), (7, 2));
    assert_eq!(settles.bytes, 2 * page..u64::MAX, "behind the headers");
    assert_eq!(settles.settles, Some(page));
    let placed = one("what = \"zeroed\"\npage = 100");
    assert_eq!(placed.bytes, 101 * page..102 * page);
    assert_eq!((placed.settles, placed.times), (None, u64::MAX));
    let bytes = one("what = \"torn-write\"\noffset = \"1 MiB\"\nlength = \"64 KiB\"");
    assert_eq!(bytes.bytes, 1 << 20..(1 << 20) + (64 << 10));
    let slow = one("what = \"stuck\"\nonly = \"writes\"");
    assert_eq!((slow.only, slow.bytes), (Some(Direction::Writes), 0..u64::MAX));
}

#[test]
fn a_fault_of_logs_needs_no_place() {
    let faults = parse("[[event]]\nwhat = \"dropped-sync\"\nfile = \"*.log\"").unwrap();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].is_in(Path::new("/data/log1/edb.log")));
    assert!(parse("").unwrap().is_empty());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let file = "file = \"one.edb\"\n";
    let with = |keys: &str| refused(&format!("{file}{keys}"));
    assert_eq!(with("what = \"lost-wirte\""), "unknown value\n  did you mean \"lost-write\"?");
    assert!(with("").starts_with("lacks `what`"));
    assert!(refused("what = \"lost-write\"").starts_with("lacks `file`"));
    assert_eq!(
        refused("what = \"lost-write\"\nfile = \"three.edb\""),
        "names no file of this scenario\n  for example \"one.edb\", \"one.jfm\", \"*.log\" or \"edb.chk\""
    );
    let lost = |keys: &str| with(&format!("what = \"lost-write\"\n{keys}"));
    for (key, value) in [("by", "8 KiB"), ("delay", "1s"), ("only", "reads")] {
        let said = lost(&format!("{key} = \"{value}\""));
        let start = format!("`{key}` is not for what = \"lost-write\"\n  its keys are file, page,");
        assert!(said.starts_with(&start), "{said}");
    }
    assert!(lost("page = 0").starts_with("not between 1"));
    assert!(lost("page = 7\noffset = \"4 KiB\"").starts_with("says where, and so does `offset`"));
    assert!(lost("offset = \"1 KB\"").contains("multiple of 4 KiB"));
    assert_eq!(lost("length = \"0 KiB\""), "is less than 4 KiB");
    assert!(lost("times = 0").starts_with("not between 1"));
    assert!(lost("tims = 1").contains("did you mean `times`?"));
    assert!(with("what = \"slow\"").starts_with("lacks `delay`"));
    assert_eq!(
        with("what = \"dropped-sync\"\npage = 7"),
        "`page` is not for what = \"dropped-sync\"\n  its keys are file, after, times"
    );
    assert!(
        refused("what = \"zeroed\"\nfile = \"*.log\"\npage = 7")
            .starts_with("only databases have pages")
    );
}
