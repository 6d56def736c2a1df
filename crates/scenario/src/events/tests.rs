use std::path::Path;

use brunt_array::{Incident, Scheduled};
use brunt_world::fault::Fault;

use super::super::document::Document;
use super::*;

/// A test on one disk.
const TEST: &str = r#"
[test]
duration = "1h"
sessions = 4
[[instance]]
log = "/log"
databases = ["/db/one.edb"]
database_size = "1 GiB"
"#;

/// What makes it a test on two arrays.
const ARRAYS: &str = r#"
[volumes]
"/db" = "data"
"/log" = "logs"
[[array]]
name = "a"
cache = {}
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 4
[[array.group]]
level = "raid10"
drives = 4
name = "data"
[[array]]
name = "b"
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 2
[[array.group]]
level = "raid1"
drives = 2
name = "logs"
"#;

/// Raw load on an array with everything that an event can be about.
const LOAD: &str = r#"
[simulate]
duration = "1h"
[array]
cache = {}
controller = { count = 2 }
[[array.drives]]
model = "savvio-10k6-900-sas"
count = 12
[[array.group]]
name = "pool"
level = "pool"
drives = 11
[[load]]
kind = "random"
size = "8 KiB"
outstanding = 4
[[array.lun]]
name = "mail"
size = "100 GB"
"#;

/// The events of [`LOAD`], in the order of time.
const ON_LOAD: [(&str, &str); 12] = [
    ("drive slows", "drive = 1\ntimes = 3"),
    ("drive fails", "drive = 1"),
    ("drive returns", "drive = 1"),
    ("rebuild priority", "priority = \"low\""),
    ("pool grows", "group = \"pool\"\ndrive = 11"),
    ("controller fails", "controller = 1"),
    ("controller returns", "controller = 1"),
    ("battery lost", ""),
    ("battery returns", ""),
    ("path down", "path = 1"),
    ("path up", "path = 1"),
    ("lun grows", "lun = \"mail\"\nsize = \"200 GB\""),
];

/// The same with LUNs in pages.
const ON_PAGES: [(&str, &str); 9] = [
    ("snapshot", "name = \"before\""),
    ("snapshot", "name = \"hourly\"\nevery = \"1h\"\nkeep = 4"),
    ("clone", "name = \"test\"\nsnapshot = \"hourly\""),
    ("restore", "snapshot = \"before\""),
    ("lun online", "lun = \"test\""),
    ("remove lun", "lun = \"test\""),
    ("remove lun", "lun = \"before\""),
    ("member joins", "member = 1"),
    ("drive fails", "member = 1\ndrive = 0"),
];

/// The same on a replicated array.
const ON_A_PAIR: [(&str, &str); 18] = [
    ("link lost", ""),
    ("link returns", ""),
    ("link flaps", "times = 2\ndown = \"100ms\"\nup = \"100ms\""),
    ("link path lost", "path = 1"),
    ("link path returns", "path = 1"),
    ("destination lost", ""),
    ("destination returns", ""),
    ("group suspended", ""),
    ("group resumed", "full_copy = true"),
    ("source lost", ""),
    ("failover", "group = \"all LUNs\""),
    ("source returns", ""),
    ("failback", ""),
    ("link lost", ""),
    ("failover", "forced = true"),
    ("link returns", ""),
    ("split ends", "keep = \"source\""),
    ("drive fails", "site = \"destination\"\ndrive = 0"),
];

fn document(text: &str) -> Document {
    Document::new("t.toml", text, Path::new("/")).unwrap()
}

fn faults(events: &str) -> Result<Vec<Fault>, String> {
    let read = document(&format!("{TEST}{events}")).test(&[]);
    let read = read.map_err(|refusal| refusal.to_string())?;
    Ok(read.faults)
}

fn on_load(text: &str, events: &str) -> Result<Vec<Scheduled>, String> {
    let read = document(&format!("{text}{events}")).load(&[]);
    let read = read.map_err(|refusal| refusal.to_string())?;
    Ok(read.simulation.incidents)
}

/// `events`, a second apart.
fn timeline(events: &[(&str, &str)]) -> String {
    let events = events.iter().zip(1..);
    let events = events.map(|((what, keys), at)| {
        format!("[[event]]\nat = \"{at}s\"\nwhat = \"{what}\"\n{keys}\n")
    });
    events.collect()
}

/// What is said of an event, without its place.
fn said(read: Result<impl Sized, String>) -> String {
    let said = read.err().expect("it is wrong");
    said.split_once("`: ").unwrap().1.to_owned()
}

#[test]
fn every_word_is_read() {
    let mut seen = Vec::new();
    for word in WORDS.iter().filter(|word| word.is_fault()) {
        let keys = match word.word {
            "slow" => "delay = \"1s\"",
            _ => "",
        };
        let event = format!("[[event]]\nwhat = \"{}\"\nfile = \"one.edb\"\n{keys}\n", word.word);
        assert_eq!(faults(&event).unwrap().len(), 1, "{event}");
        seen.push(word.word);
    }
    let pages = LOAD
        .replace("[array]", "[array]\npages = { members = 2, later = 1 }")
        .replace("level = \"pool\"", "level = \"raid0\"");
    let pair = format!("{LOAD}[link]\nrtt = \"1ms\"\npaths = 2\n[replication]\n");
    let all = [(LOAD, &ON_LOAD[..]), (&pages, &ON_PAGES), (&pair, &ON_A_PAIR)];
    for (text, events) in all {
        assert_eq!(on_load(text, &timeline(events)).unwrap().len(), events.len());
        seen.extend(events.iter().map(|(what, _)| *what));
    }
    assert!(WORDS.iter().all(|word| seen.contains(&word.word)));
}

#[test]
fn other_names_of_the_table_are_refused_with_the_right_one() {
    let event = "at = \"1s\"\nwhat = \"drive fails\"\ndrive = 3";
    let meant = "\n  did you mean [[event]]?";
    for (table, place) in
        [("incident", "the scenario"), ("faults", "the scenario"), ("array.incident", "[array]")]
    {
        let key = table.trim_start_matches("array.");
        let said = said(on_load(LOAD, &format!("[[{table}]]\n{event}")));
        assert_eq!(said, format!("unknown table `{key}` in {place}{meant}"));
    }
}

#[test]
fn a_word_has_its_own_keys() {
    let lost = |keys: &str| said(faults(&format!("[[event]]\nwhat = \"lost-write\"\n{keys}")));
    assert_eq!(
        lost("drive = 3"),
        "`drive` is not for what = \"lost-write\"\n  its keys are file, page, offset, length, after, times"
    );
    assert!(lost("at = \"1s\"").starts_with("`at` is not for what = \"lost-write\""));
    assert_eq!(lost("tims = 1"), "unknown key `tims` in [[event]]\n  did you mean `times`?");
    assert!(lost("").starts_with("lacks `file`"));
    let fails =
        |keys: &str| said(on_load(LOAD, &format!("[[event]]\nwhat = \"drive fails\"\n{keys}")));
    assert_eq!(
        fails("file = \"one.edb\""),
        "`file` is not for what = \"drive fails\"\n  its keys are at, array, site, member, drive"
    );
    assert_eq!(fails("drive = 3"), "lacks `at`\n  for example: at = \"20s\"");
    for key in ["member = 0", "array = \"a\"", "site = \"destination\""] {
        let said = fails(&format!("at = \"1s\"\ndrive = 3\n{key}"));
        assert!(said.ends_with("chooses one of several, and there is only one"), "{said}");
    }
}

#[test]
fn a_word_has_its_place() {
    let real = said(faults("[[event]]\nat = \"1s\"\nwhat = \"drive fails\"\ndrive = 3"));
    let start =
        "is for modelled arrays: there is no [array]\n  on real storage it can be bit-flip,";
    assert!(real.starts_with(start), "{real}");
    let load = said(on_load(LOAD, "[[event]]\nwhat = \"zeroed\"\nfile = \"one.edb\""));
    let start = "is for the files of a test, and raw load has none\n  it can be lun grows,";
    assert!(load.starts_with(start), "{load}");
    let typo = said(faults("[[event]]\nwhat = \"drive fail\""));
    assert_eq!(typo, "unknown value\n  did you mean \"drive fails\"?");
    let none = said(faults("[[event]]\nfile = \"one.edb\""));
    assert!(none.starts_with("lacks `what`\n  for example: what = \"lost-write\""));
    let one = said(faults("[event]\nwhat = \"zeroed\""));
    assert_eq!(one, "is one table, but there can be several\n  write [[event]] with two brackets");
    let many = "[[event]]\nwhat = \"zeroed\"\nfile = \"one.edb\"\n".repeat(101);
    assert_eq!(said(faults(&many)), "more than 100 faults");
}

#[test]
fn a_test_on_arrays_has_both_and_is_resolved_with_one_list() {
    let events = r#"
[[event]]
at = "9s"
what = "drive fails"
array = "b"
drive = 1
[[event]]
at = "1s"
what = "drive slows"
array = "b"
drive = 0
times = 2
[[event]]
what = "zeroed"
file = "one.edb"
[[event]]
at = "2s"
what = "battery lost"
array = "a"
"#;
    let read = |text: &str| document(text).modelled_test(&[]);
    let text = format!("{TEST}{ARRAYS}{events}");
    let test = read(&text).unwrap();
    assert_eq!(test.scenario.faults.len(), 1);
    let of = |test: &super::super::ModelledScenario, array: usize| -> Vec<Incident> {
        let incidents = test.arrays[array].incidents.iter();
        incidents.map(|one| one.incident.clone()).collect()
    };
    assert_eq!(of(&test, 0), [Incident::BatteryLost]);
    assert_eq!(of(&test, 1), [Incident::DriveSlows(0, 2.0), Incident::DriveFails(1)]);
    let resolved = test.to_toml();
    assert_eq!(resolved.matches("[[event]]").count(), 4, "{resolved}");
    let again = read(&resolved).unwrap();
    assert_eq!(again.scenario, test.scenario);
    assert_eq!((of(&again, 0), of(&again, 1)), (of(&test, 0), of(&test, 1)));
    assert_eq!(again.to_toml(), resolved);

    let refused = |from: &str, to: &str| {
        assert!(text.contains(from));
        said(read(&text.replace(from, to)).map_err(|refusal| refusal.to_string()))
    };
    assert_eq!(refused("array = \"b\"\n", ""), "on which array?\n  for example: array = \"a\"");
    assert_eq!(
        refused("array = \"b\"", "array = \"c\""),
        "there is no array called \"c\"\n  did you mean \"a\"?"
    );
    let grows = refused("what = \"battery lost\"", "what = \"lun grows\"");
    assert!(grows.contains("the volumes of a test keep their size"), "{grows}");
}

#[test]
fn an_event_after_the_end_is_refused() {
    let event = |at: &str| format!("[[event]]\nat = \"{at}\"\nwhat = \"battery lost\"\n");
    let array = "array = \"a\"\n";
    let read = |text: String| document(&text).modelled_test(&[]).map(|_| ());
    // A warm-up of five minutes, and an hour.
    assert_eq!(read(format!("{TEST}{ARRAYS}{}{array}", event("65min"))), Ok(()));
    let late = format!("{TEST}{ARRAYS}{}{array}", event("66min"));
    let refusal = read(late.clone()).unwrap_err().to_string();
    let wanted = "`at = \"66min\"`: would never happen: the simulation ends after 65 min 00 s, its warm-up included";
    assert!(refusal.contains(wanted), "{refusal}");
    // A drill lasts until its last event, and nobody knows how long preconditioning takes.
    assert_eq!(read(format!("{late}[drill]\n")), Ok(()));
    let longer = late.replace("sessions", "precondition = 1\nsessions");
    assert_eq!(read(longer), Ok(()));
    let load = document(&format!("{LOAD}{}", event("3601s"))).load(&[]).map(|_| ());
    let refusal = load.unwrap_err().to_string();
    assert!(refusal.contains("ends after 60 min 00 s"), "{refusal}");
}

#[test]
fn every_word_is_explained() {
    let text = include_str!("../../../../docs/events.md");
    for word in &WORDS {
        let place = match word.event {
            Event::Fault(_) => "a file of a test",
            Event::Array(_) => "an array",
            Event::Pages(_) => "LUNs in pages",
            Event::Lun(_) => "a LUN under raw load",
            Event::Pair(_) => "a replicated array",
        };
        let keys: Vec<String> = word.keys().map(|key| format!("`{key}`")).collect();
        let row = format!("| `{}` | {place} | {} |", word.word, keys.join(", "));
        assert!(text.contains(&row), "docs/events.md lacks the row\n{row}");
    }
}
