//! Any split into parts, in any order, with attempts that end early or run twice, comes to the
//! result of one process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_report::FolderError;
use brunt_report::result::Verdict;
use brunt_run::Stop;
use brunt_scenario::{Document, Override, Place};
use brunt_world::random::{Stream, Streams};

use super::*;
use crate::search::{Found, among};
use crate::{Crew, Engine, Headline, Judged, LabError, Program, Tried};

/// Records of all parts.
#[derive(Default)]
struct Room {
    records: Mutex<BTreeMap<String, Vec<Vec<u8>>>>,
    attempts: AtomicU64,
}

/// An attempt of a part, which ends when it has kept so many records.
struct Desk<'a> {
    room: &'a Room,
    plan: Digest,
    part: u64,
    attempt: String,
    left: Mutex<u64>,
}

impl Room {
    fn desk(&self, plan: &Plan, part: u64, left: u64) -> Desk<'_> {
        let attempt = self.attempts.fetch_add(1, Ordering::Relaxed);
        let attempt = format!("attempt{attempt}");
        Desk { room: self, plan: plan.digest(), part, attempt, left: Mutex::new(left) }
    }
}

impl Shelf for Desk<'_> {
    fn read(&self, point: &str) -> Result<Vec<Record>, FolderError> {
        let records = self.room.records.lock().unwrap();
        let records = records.get(point).into_iter().flatten();
        Ok(records.map(|bytes| Record::read(bytes, &self.plan, point).unwrap()).collect())
    }

    fn keep(&self, point: &str, tried: &Tried) -> Result<(), FolderError> {
        let mut left = self.left.lock().unwrap();
        if *left == 0 {
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(FolderError { path: point.into(), source });
        }
        *left -= 1;
        let node = format!("node{}", self.part);
        let from = (self.attempt.as_str(), node.as_str());
        let record = Record::new(self.plan, point, self.part, from, tried);
        let mut records = self.room.records.lock().unwrap();
        records.entry(point.to_owned()).or_default().push(record.to_bytes());
        Ok(())
    }
}

fn program() -> Program {
    Program { version: "1".to_owned(), commit: Some("abc".to_owned()), command: String::new() }
}

fn plan(work: Work, parts: u64) -> Plan {
    let text = Text { name: "t.toml".to_owned(), text: String::new() };
    let mut plan = Plan::new(&program(), work, Engine::Twin, &[], text, Path::new("/"));
    plan.parts = parts;
    plan
}

fn sweep(parts: u64) -> Plan {
    plan(Work::Sweep("a=1..2".to_owned()), parts)
}

fn judged(read_ms: f64, verdict: Verdict) -> Tried {
    Tried::Simulated(Box::new(Judged {
        headline: Headline { read_ms, write_ms: f64::NAN, ..Headline::default() },
        verdict,
        sentence: "it is so".to_owned(),
        failed: Vec::new(),
        bottlenecks: Vec::new(),
    }))
}

/// What comes of point `at`.
fn came(at: usize) -> Tried {
    match at % 7 {
        3 => Tried::Refused(Place::flag("x").refuse("does not fit").for_want_of_room()),
        _ => judged(1.0 / (at + 3) as f64, Verdict::Pass),
    }
}

fn compute(
    count: usize,
    sharing: Option<&Sharing<'_>>,
    one: &(dyn Fn(usize) -> Tried + Sync),
) -> Result<Vec<Option<Tried>>, LabError> {
    let points: Vec<String> = (0..count).map(|at| format!("a={at}")).collect();
    let crew = Crew { cores: 1, sharing };
    crew.compute(&points, 1, &|at| Ok(one(at)), &Stop::default(), &|_, _| {})
}

/// Everything that is known of results, to the last bit.
fn bits(all: &[Option<Tried>]) -> Vec<Option<Digest>> {
    let digest = |tried: &Tried| Record::new([0; 32], "", 0, ("", ""), tried).digest();
    all.iter().map(|tried| tried.as_ref().map(digest)).collect()
}

fn below(draw: &mut Stream, end: u64) -> u64 {
    draw.below(end)
}

#[test]
fn any_parts_in_any_order_come_to_the_result_of_one_process() {
    for seed in 0..300 {
        let mut draw = Streams::new(seed).named("parts");
        let count = usize::try_from(1 + below(&mut draw, 120)).unwrap();
        let parts = 1 + below(&mut draw, 9);
        let (plan, room) = (sweep(parts), Room::default());
        let whole = bits(&compute(count, None, &came).unwrap());
        let mut attempts = 0;
        loop {
            let desk = room.desk(&plan, 0, 0);
            let sharing = Sharing::new(&plan, None, &desk);
            let merged = compute(count, Some(&sharing), &came).unwrap();
            assert_eq!(sharing.asked(), count as u64);
            let lacking = sharing.lacking_parts(parts);
            if lacking.is_empty() {
                assert_eq!(bits(&merged), whole, "seed {seed}");
                break;
            }
            // Any part, also one that is done, in this split or in another one.
            let of = if below(&mut draw, 4) == 0 { 1 + below(&mut draw, 9) } else { parts };
            let part = match below(&mut draw, 2) {
                0 => below(&mut draw, of),
                _ => lacking[0] % of,
            };
            let left = below(&mut draw, 40);
            let desk = room.desk(&plan, part, left);
            let share = Share::new(part, of).unwrap();
            let sharing = Sharing::new(&plan, Some(share), &desk);
            match compute(count, Some(&sharing), &came) {
                Ok(_) | Err(LabError::Shelf(_)) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            attempts += 1;
            assert!(attempts < 5_000, "seed {seed} does not end");
        }
    }
}

#[test]
fn a_search_in_rounds_comes_to_the_result_of_one_process() {
    let tried = |count: u64| {
        judged(
            count as f64,
            match count {
                0..=2_841 => Verdict::Pass,
                _ => Verdict::Fail,
            },
        )
    };
    let found = |sharing: Option<&Sharing<'_>>| -> Found {
        let all = |counts: &[u64]| {
            let points: Vec<String> = counts.iter().map(|count| format!("count={count}")).collect();
            let crew = Crew { cores: 1, sharing };
            let one = |at: usize| Ok(tried(counts[at]));
            crew.compute(&points, 1, &one, &Stop::default(), &|_, _| {})
        };
        among(1_000, &all).unwrap()
    };
    let keys = |found: &Found| found.tried.keys().copied().collect::<Vec<u64>>();
    let whole = found(None);
    assert!(whole.passes().is_some() && whole.fails().is_some());
    for parts in 1..=3 {
        let (plan, room) = (plan(Work::UntilFail, parts), Room::default());
        let mut rounds = 0;
        loop {
            let desk = room.desk(&plan, 0, 0);
            let sharing = Sharing::new(&plan, None, &desk);
            let merged = found(Some(&sharing));
            if sharing.lacking() == 0 {
                assert_eq!(keys(&merged), keys(&whole));
                assert_eq!(merged.passes(), whole.passes());
                break;
            }
            for part in sharing.lacking_parts(parts) {
                let desk = room.desk(&plan, part, 1_000);
                let share = Share::new(part, parts).unwrap();
                found(Some(&Sharing::new(&plan, Some(share), &desk)));
            }
            rounds += 1;
            assert!(rounds < 30);
        }
        // A part that is alone goes through all rounds at once.
        assert_eq!(rounds == 1, parts == 1, "{parts} parts in {rounds} rounds");
    }
}

#[test]
fn two_points_in_a_hundred_are_computed_by_two_parts() {
    let (plan, room) = (sweep(4), Room::default());
    for part in 0..4 {
        let desk = room.desk(&plan, part, 1_000);
        let share = Share::new(part, 4).unwrap();
        compute(100, Some(&Sharing::new(&plan, Some(share), &desk)), &came).unwrap();
    }
    let desk = room.desk(&plan, 0, 0);
    let sharing = Sharing::new(&plan, None, &desk);
    compute(100, Some(&sharing), &came).unwrap();
    assert_eq!(sharing.checks(), Checks { due: 2, agreed: 2, on_two_nodes: 2 });
    // A part that is alone has nobody to check it.
    let (plan, room) = (sweep(1), Room::default());
    let (desk, share) = (room.desk(&plan, 0, 1_000), Share::new(0, 1).unwrap());
    compute(100, Some(&Sharing::new(&plan, Some(share), &desk)), &came).unwrap();
    let sharing = Sharing::new(&plan, None, &desk);
    compute(100, Some(&sharing), &came).unwrap();
    assert_eq!((sharing.asked(), sharing.checks()), (100, Checks::default()));
}

#[test]
fn a_machine_that_computes_wrongly_is_named() {
    let (plan, room) = (sweep(2), Room::default());
    for part in 0..2 {
        let desk = room.desk(&plan, part, 1_000);
        let share = Share::new(part, 2).unwrap();
        let one = |at: usize| match (part, at) {
            // The smallest difference that there is.
            (1, 24) => judged(f64::from_bits((1.0_f64 / 27.0).to_bits() + 1), Verdict::Pass),
            _ => judged(1.0 / (at + 3) as f64, Verdict::Pass),
        };
        compute(30, Some(&Sharing::new(&plan, Some(share), &desk)), &one).unwrap();
    }
    let desk = room.desk(&plan, 0, 0);
    let said = compute(30, Some(&Sharing::new(&plan, None, &desk)), &came).unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains("a=24: attempt attempt0 on node0 and attempt attempt1 on node1"),
        "{said}"
    );
}

#[test]
fn each_point_has_one_part_or_two_where_it_is_checked() {
    for of in 1..=7 {
        for number in 0..200 {
            let parts = (0..of).filter(|part| Share::new(*part, of).unwrap().takes(number));
            let wanted = if of > 1 && number % 50 == 24 { 2 } else { 1 };
            assert_eq!(parts.count(), wanted, "point {number} of {of} parts");
        }
    }
}

#[test]
fn shares_and_lists_are_read_and_written() {
    assert_eq!("2/4".parse::<Share>(), Share::new(2, 4));
    assert_eq!("4/4".parse::<Share>(), Err(ShareError::Number { part: 4, of: 4 }));
    assert_eq!("0/0".parse::<Share>(), Err(ShareError::Parts(0)));
    assert_eq!("0/1001".parse::<Share>(), Err(ShareError::Parts(1001)));
    for wrong in ["", "1", "a/4", "-1/4", "1/4/2"] {
        assert_eq!(wrong.parse::<Share>(), Err(ShareError::Unreadable(wrong.to_owned())));
    }
    assert_eq!(ranges(&[0, 3, 4, 5, 9]), "0,3-5,9");
    assert_eq!(ranges(&[]), "");
}

#[test]
fn a_record_keeps_every_bit_and_shows_every_damage() {
    for value in [f64::NAN, -0.0, f64::MIN_POSITIVE / 3.0, 0.1 + 0.2, f64::INFINITY] {
        let record =
            Record::new([7; 32], "a=1", 3, ("job1-0", "n1"), &judged(value, Verdict::Fail));
        let read = Record::read(&record.to_bytes(), &[7; 32], "a=1").unwrap();
        assert_eq!(read.digest(), record.digest());
        let tried = read.tried();
        assert_eq!(tried.judged().unwrap().headline.read_ms.to_bits(), value.to_bits());
    }
    let tried = came(3);
    let bytes = Record::new([7; 32], "a=3", 0, ("job1-0", "n1"), &tried).to_bytes();
    let refused = Record::read(&bytes, &[7; 32], "a=3").unwrap().tried();
    let Tried::Refused(refusal) = refused else { panic!("it was refused") };
    assert_eq!((refusal.what(), refusal.is_for_room()), ("does not fit", true));
    assert_eq!(Record::read(&bytes, &[8; 32], "a=3"), Err(RecordError::OtherPlan));
    assert_eq!(Record::read(&bytes, &[7; 32], "a=4"), Err(RecordError::OtherPoint));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Record::read(&damaged, &[7; 32], "a=3"), Err(RecordError::Damaged), "{at}");
        assert_eq!(Record::read(&bytes[..at], &[7; 32], "a=3"), Err(RecordError::Damaged));
    }
}

#[test]
fn names_of_points_are_fit_for_folders_and_differ() {
    let names = ["a=1", "a=1, a path lost", "a=../../x", "a=ä", ""].map(point_name);
    for (at, name) in names.iter().enumerate() {
        assert!(!name.contains('/') && !name.starts_with('.') && name.is_ascii(), "{name}");
        assert!(!names[..at].contains(name));
    }
    assert!(names[0].starts_with("a-1-"), "{}", names[0]);
}

#[test]
fn only_the_program_that_made_a_plan_reads_it() {
    let own = sweep(3);
    let text = own.to_text();
    assert_eq!(Plan::read(&text, &program()), Ok(own.clone()));
    assert_ne!(own.digest(), sweep(4).digest());
    let other = Program { commit: Some("abd".to_owned()), ..program() };
    let said = Plan::read(&text, &other).unwrap_err().to_string();
    assert!(said.contains("was made by brunt 1 (abc), and this is 1 (abd)"), "{said}");
    let wrong = |from: &str, to: &str| Plan::read(&text.replace(from, to), &program());
    assert_eq!(wrong("brunt.plan/1", "x/9"), Err(PlanError::Schema("x/9".to_owned())));
    assert_eq!(wrong("\"parts\": 3", "\"parts\": 0"), Err(PlanError::Parts(0)));
    assert!(matches!(wrong("\"parts\"", "\"pieces\""), Err(PlanError::Unreadable(_))));
    for end in 0..text.len() - 2 {
        let cut = Plan::read(&text[..end], &program());
        assert!(matches!(cut, Err(PlanError::Unreadable(_))), "{end}");
    }
}

#[test]
fn a_plan_has_every_file_that_its_scenario_reads() {
    let home = std::env::temp_dir().join(format!("brunt-plan-{}", std::process::id()));
    fs::create_dir_all(home.join("models")).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = fs::read_to_string(examples.join("mail-on-array.toml")).unwrap();
    let text = text.replace("model = \"cheetah-15k5-146-fc\"", "file = \"../models/own.toml\"");
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../array/src/drive/models");
    fs::create_dir_all(home.join("below")).unwrap();
    fs::copy(drives.join("cheetah-15k5-146-fc.toml"), home.join("models/own.toml")).unwrap();
    fs::write(home.join("below/base.toml"), text).unwrap();
    let own = "base = \"base.toml\"\nname = \"own\"\n";
    let folder = home.join("below");
    let read = |path: &Path| fs::read_to_string(path);
    let document = Document::open("own.toml", own, &folder, &read).unwrap();
    let set = [Override::of_set("test.sessions=3").unwrap()];
    let here = document.modelled_test(&set).unwrap().to_toml();
    let text = Text { name: "own.toml".to_owned(), text: own.to_owned() };
    let work = Work::Seeds(2);
    let plan = Plan::new(&program(), work, Engine::Twin, &set, text, &folder);
    let plan = plan.with_files_of(&document).to_text();
    // Nothing of it is left on this machine.
    fs::remove_dir_all(&home).unwrap();
    let plan = Plan::read(&plan, &program()).unwrap();
    let document = plan.document().unwrap();
    let there = document.modelled_test(&plan.overrides().unwrap()).unwrap();
    assert_eq!(there.to_toml(), here);
    let other = [Override::of_set("array.drives.0.file=/etc/passwd").unwrap()];
    let said = document.modelled_test(&other).err().unwrap().to_string();
    assert!(said.contains("not among the files"), "{said}");
}
