//! Snapshots, clones and replicas of volumes, as written.

use std::path::Path;

use brunt_array::{CloneOf, Incident, Seed, SnapshotPlan, SystemDesign, VolumeIncident, WhenFull};
use brunt_units::{Span, Time};

use super::super::document::Document;
use super::*;

const SITES: &str = r#"
[simulate]
duration = "1h"
[array]
[[array.drives]]
model = "savvio-10k6-900-sas"
count = 4
[[array.group]]
level = "raid10"
drives = 4
[array.pages]
[[array.lun]]
name = "data"
size = "100 GB"
thin = true
snapshot_reserve = 50
when_full = "borrow"
[[array.lun]]
name = "log"
size = "20 GB"
thin = true
[link]
rtt = "20ms"
[[replicate]]
name = "mail"
luns = ["data", "log"]
at = "5min"
every = "15min"
keep = 4
seed = "media"
media_takes = "6h"
local_reserve = 20
failback = true
replica_reserve = 150
[[load]]
kind = "random"
size = "8 KiB"
rate_per_s = 10
luns = ["data"]
[[load]]
kind = "random"
size = "8 KiB"
rate_per_s = 10
luns = ["test: data", "there: log"]
[[event]]
at = "1min"
what = "snapshot"
luns = ["data", "log"]
name = "hourly"
every = "10min"
keep = 3
[[event]]
at = "2min"
what = "clone"
snapshot = "hourly"
name = "test"
[[event]]
at = "30min"
what = "clone"
replica = "mail"
name = "there"
[[event]]
at = "31min"
what = "link lost"
"#;

fn parse(text: &str) -> Result<ArrayScenario, Refusal> {
    Document::new("t.toml", text, Path::new("/"))?.load(&[])
}

#[test]
fn replicas_schedules_and_clones_are_read() {
    let simulation = parse(SITES).unwrap().simulation;
    let SystemDesign::Sites(sites) = &simulation.design else {
        panic!("two pools");
    };
    let replica = &sites.replicas[0];
    assert_eq!((&*replica.name, &replica.luns[..]), ("mail", &[0, 1][..]));
    assert_eq!(replica.first, Time::ZERO + Span::seconds(300));
    assert_eq!(replica.every, Span::seconds(900));
    assert_eq!(replica.seed, Seed::Media(Span::seconds(6 * 3600)));
    assert_eq!((replica.keep, replica.local_reserve, replica.failback), (4, Some(20), true));
    let reserve = sites.source.luns[0].reserve.unwrap();
    assert_eq!((reserve.percent, reserve.when_full), (50, WhenFull::Borrow));
    let there = sites.partner.luns[0].reserve.unwrap();
    let expected = (150, WhenFull::KeepNewest);
    assert_eq!((there.percent, there.when_full), expected);
    assert_eq!(sites.source.clones, ["test: data", "test: log"]);
    assert_eq!(sites.partner.clones, ["there: data", "there: log"]);
    let incidents = simulation.incidents.iter();
    let incidents: Vec<&Incident> = incidents.map(|one| &one.incident).collect();
    let take = SnapshotPlan {
        luns: vec![0, 1],
        name: "hourly".into(),
        every: Some(Span::seconds(600)),
        keep: Some(3),
    };
    assert_eq!(incidents[0], &Incident::Volumes(VolumeIncident::Take(take)));
    let clone = |of, name: &str| {
        let name = name.into();
        Incident::Volumes(VolumeIncident::Clone { of, name })
    };
    let of = CloneOf::Snapshot("hourly".into());
    assert_eq!(incidents[1], &clone(of, "test"));
    let of = CloneOf::Replica("mail".into());
    assert_eq!(incidents[2], &clone(of, "there"));
    // Clones are numbered after the LUNs, those at the other site last.
    let names = simulation.design.lun_names();
    assert_eq!((names[2], names[5]), ("test: data", "there: log"));
}

/// What is replaced, by what, and what is said of it.
const REFUSED: [(&str, &str, &str); 23] = [
    ("every = \"10min\"\n", "", "is for a snapshot that is repeated\n  for example: every"),
    (
        "snapshot = \"hourly\"",
        "snapshot = \"hurly\"",
        "there is no snapshot then called \"hurly\"\n  did you mean \"hourly\"?",
    ),
    ("at = \"2min\"", "at = \"30s\"", "no snapshot is taken before"),
    ("replica = \"mail\"", "replica = \"male\"", "there is no replica called \"male\""),
    (
        "replica = \"mail\"",
        "replica = \"mail\"\nlun = \"data\"",
        "is of LUNs, of a snapshot or of a replica: give one",
    ),
    (
        "replica = \"mail\"\nname = \"there\"",
        "snapshot = \"hourly\"\nname = \"test\"",
        "\"test: data\" already",
    ),
    ("name = \"test\"\n", "", "lacks `name`"),
    ("\"there: log\"]", "\"here: log\"]", "there is no LUN called \"here: log\""),
    ("luns = [\"data\", \"log\"]\nat", "luns = [\"data\", \"data\"]\nat", "is there twice"),
    (
        "luns = [\"data\", \"log\"]\nat",
        "lun = \"data\"\nluns = [\"log\"]\nat",
        "so does `lun`: give one",
    ),
    ("media_takes = \"6h\"", "", "lacks `media_takes`"),
    ("seed = \"media\"\n", "", "is for seed = \"media\""),
    ("every = \"15min\"", "", "lacks `every`"),
    ("keep = 4", "keep = 0", "`keep = 0`"),
    ("local_reserve = 20", "local_reserve = 4", "`local_reserve = 4`"),
    ("[link]\nrtt = \"20ms\"", "", "has no link\n  for example: [link]"),
    ("[link]\n", "[replication]\n[link]\n", "keep one of them"),
    ("snapshot_reserve = 50\n", "", "is for a reserve\n  for example: snapshot_reserve"),
    (
        "thin = true\nsnapshot_reserve = 50",
        "snapshot_reserve = 5000",
        "LUN \"data\": its snapshot reserve of",
    ),
    (
        "what = \"link lost\"",
        "what = \"group suspended\"",
        "is for [replication], and this is [[replicate]]",
    ),
    ("[link]\n", "[partner]\n[link]\n", "has no `pages`"),
    (
        "what = \"link lost\"",
        "what = \"remove lun\"\nlun = \"log\"",
        "is not for \"log\", which has replicas (\"mail\")",
    ),
    (
        "what = \"link lost\"",
        "what = \"lun grows\"\nlun = \"data\"\nsize = \"1 TB\"",
        "is not for \"data\", which has replicas (\"mail\")",
    ),
];

#[test]
fn what_contradicts_is_refused_with_a_way_out() {
    for (from, to, words) in REFUSED {
        let text = SITES.replacen(from, to, 1);
        assert_ne!(text, SITES, "{from}");
        let refusal = parse(&text).err().map(|refusal| refusal.to_string());
        let refusal = refusal.unwrap_or_else(|| panic!("{from} -> {to} was to be refused"));
        assert!(refusal.contains(words), "{refusal}\nnot: {words}");
        assert!(refusal.starts_with("t.toml"), "{refusal}");
    }
    let partner = SITES[..SITES.find("[link]").unwrap()].to_owned()
        + "[partner]\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1\n";
    let refusal = parse(&partner).err().unwrap().to_string();
    assert!(refusal.contains("there is no [[replicate]]"), "{refusal}");
    let flat = SITES.replace("[array.pages]", "");
    let flat = flat.replace("thin = true", "").replace("snapshot_reserve = 50", "");
    let flat = flat.replace("when_full = \"borrow\"", "");
    let refusal = parse(&flat).err().unwrap().to_string();
    assert!(refusal.contains("there is no [array.pages]"), "{refusal}");
}
