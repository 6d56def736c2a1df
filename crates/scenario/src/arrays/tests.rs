//! The examples are read, and mean what their names say.

use std::path::Path;

use brunt_array::{Incident, SnapshotPlan, VolumeIncident};
use brunt_units::ByteSize;

use super::super::document::Document;
use super::super::overrides::Override;
use super::*;

fn parse(text: &str) -> Result<ArrayScenario, Refusal> {
    Document::new("array.toml", text, Path::new("/nowhere")).and_then(|document| document.load(&[]))
}

const SMALL: &str = r#"
[simulate]
duration = "1h"
[array]
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 12
[[array.group]]
level = "raid10"
drives = 4
name = "logs"
[[array.group]]
level = "raid6"
drives = 6
name = "data"
[[array.lun]]
group = "data"
size = "1 GiB"
[[load]]
kind = "sequential"
verb = "write"
size = "64 KiB"
rate_per_s = 10
"#;

#[test]
fn groups_take_drives_in_order() {
    let system = parse(SMALL).unwrap().simulation.design;
    let design = &system.arrays()[0];
    assert_eq!(design.groups[0].drives, [0, 1, 2, 3]);
    assert_eq!(design.groups[1].drives, [4, 5, 6, 7, 8, 9]);
    assert_eq!((design.luns.len(), design.luns[0].group), (1, 1));
    assert!(design.cache.is_none());
}

#[test]
fn keys_without_effect_are_refused() {
    for (from, to, words) in [
        ("size = \"1 GiB\"", "controller = 1", "`controller = 1`: there is only controller 0"),
        (
            "[array]",
            "[array]\ncontroller = { link_rate = \"1 GB\" }",
            "is for two controllers only",
        ),
        ("[array]", "[array]\ncontroller = { failover = \"1s\" }", "is for two controllers only"),
        (
            "name = \"logs\"",
            "name = \"logs\"\ncritical_priority = \"low\"",
            "is for groups that survive two lost drives",
        ),
        (
            "name = \"data\"",
            "name = \"data\"\nmirror = \"random\"",
            "is for level = \"raid1\" and \"raid10\" only",
        ),
    ] {
        let text = SMALL.replacen(from, to, 1);
        let said = parse(&text).err().expect("it is refused").to_string();
        assert!(said.contains(words), "{said}");
    }
    for (from, to) in [
        ("name = \"data\"", "name = \"data\"\ncritical_priority = \"low\""),
        ("name = \"logs\"", "name = \"logs\"\nmirror = \"random\""),
    ] {
        assert!(parse(&SMALL.replacen(from, to, 1)).is_ok(), "{to}");
    }
}

#[test]
fn a_request_larger_than_every_lun_is_refused() {
    let small = SMALL.replace("size = \"1 GiB\"", "size = \"4 MiB\"");
    let words = "`size = \"8 MiB\"`: does not fit on a LUN of 4 MiB";
    for kind in ["sequential\"\nverb = \"write\"", "random\""] {
        let text = small
            .replace("sequential\"\nverb = \"write\"", kind)
            .replace("size = \"64 KiB\"", "size = \"8 MiB\"");
        let said = parse(&text).err().expect("it is refused").to_string();
        assert!(said.contains(words), "{said}");
        let grows =
            format!("{text}[[event]]\nat = \"1s\"\nwhat = \"lun grows\"\nsize = \"1 GiB\"\n");
        assert!(parse(&grows).is_ok());
    }
}

#[test]
fn refusals_name_their_lines() {
    for (from, to, words) in [
        (
            "drives = 6",
            "drives = 3",
            "array.toml:14: `drives = 3`: RAID 6 cannot be built of 3 drives",
        ),
        ("group = \"data\"", "group = \"date\"", "did you mean \"data\"?"),
        ("verb = \"write\"", "read_percent = 3", "`read_percent` is not for kind = \"sequential\""),
        ("rate_per_s = 10", "", "lacks `outstanding`"),
        ("size = \"1 GiB\"", "size = \"9 TiB\"", "array.toml:18: `size = \"9 TiB\"`: LUN"),
        ("duration = \"1h\"", "duration = \"0s\"", "must be longer than zero"),
        ("count = 12", "count = 12\nfile = \"x.toml\"", "cannot be read"),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        let refusal = parse(&text).err().expect(words).to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

const PAGED: &str = r#"
[simulate]
duration = "1h"
[array]
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 4
[[array.group]]
level = "raid10"
drives = 4
[array.pages]
members = 3
later = 1
balance_every = "5min"
[[array.lun]]
name = "mail"
size = "100 GB"
thin = true
[[load]]
kind = "random"
size = "8 KiB"
outstanding = 4
[[event]]
at = "20s"
what = "remove lun"
lun = "old"
[[event]]
at = "10s"
what = "snapshot"
name = "old"
[[event]]
at = "30s"
what = "drive fails"
member = 2
drive = 1
"#;

#[test]
fn pages_go_over_members_and_snapshots_can_be_named() {
    let simulation = parse(PAGED).unwrap().simulation;
    assert_eq!(simulation.design.arrays().len(), 3);
    let incidents = simulation.incidents.into_iter();
    let incidents: Vec<(usize, Incident)> =
        incidents.map(|one| (one.array, one.incident)).collect();
    let expected = [
        (
            0,
            Incident::Volumes(VolumeIncident::Take(SnapshotPlan {
                luns: vec![0],
                name: "old".into(),
                every: None,
                keep: None,
            })),
        ),
        (0, Incident::Volumes(VolumeIncident::Remove("old".into()))),
        (2, Incident::DriveFails(1)),
    ];
    assert_eq!(incidents, expected);
    for (from, to, words) in [
        ("later = 1", "later = 3", "leaves none of 3 members"),
        ("100 GB\"\nthin = true", "900 GB\"", "does not fit"),
        ("100 GB", "9 MB", ""),
        ("later = 1", "grain = \"7 KiB\"", "is not a multiple of the grain"),
        ("later = 1", "grain = \"512 B\"\nsize = \"64 MiB\"", "more than 65536 grains of 512 B"),
        ("later = 1", "grain = \"512 B\"\nsize = \"512 B\"", "more than 67108864 pages of 512 B"),
        ("100 GB", "9000 TiB", "LUNs in pages of 15 MiB have at most 960 TiB"),
        ("member = 2", "member = 3", "from 0 to 2"),
        ("member = 2", "", "lacks `member`"),
        ("lun = \"old\"", "lun = \"odl\"", "there is mail, old"),
        ("name = \"old\"", "name = \"mail\"", "is the name of something else"),
        ("balance_every", "balance_gap", "needs `balance_every`"),
        ("thin = true", "group = \"group 0\"", "`group`"),
        (
            "balance_every = \"5min\"",
            "balance_every = \"5min\"\nbalance_unit = \"4 KiB\"",
            "`balance_unit = \"4 KiB\"`: is less than a grain of 64 KiB",
        ),
        (
            "members = 3\nlater = 1",
            "members = 1",
            "`balance_every = \"5min\"`: compares members, and there is only one",
        ),
        ("drives = 4", "drives = 2\n[[array.group]]\nlevel = \"raid1\"\ndrives = 2", "there are 2"),
    ] {
        let text = PAGED.replace(from, to);
        assert_ne!(text, PAGED);
        match parse(&text).err() {
            Some(refusal) => assert!(refusal.to_string().contains(words), "{refusal}"),
            None => assert_eq!(words, "", "{from} was to be refused"),
        }
    }
    let snapshot = format!("{SMALL}[[event]]\nat = \"1s\"\nwhat = \"snapshot\"\n");
    let refusal = parse(&snapshot).err().unwrap().to_string();
    assert!(refusal.contains("there is no [array.pages]"), "{refusal}");
}

#[test]
fn what_befalls_luns_follows_what_befell_them() {
    let refused = |incidents: &[(&str, &str)]| {
        let mut text = PAGED[..PAGED.find("[[event]]").unwrap()].to_owned();
        for (at, what) in incidents {
            text.push_str(&format!("[[event]]\nat = \"{at}\"\n{what}\n"));
        }
        let refusal = parse(&text).err().map(|refusal| refusal.to_string());
        refusal.unwrap_or_default()
    };
    let (removes, snapshot) = ("what = \"remove lun\"", "what = \"snapshot\"\nname = \"s\"");
    assert_eq!(refused(&[("2s", removes), ("1s", snapshot)]), "");
    let twice = refused(&[("1s", removes), ("2s", removes)]);
    assert!(twice.contains("`[[event]]`: no LUN is left then"), "{twice}");
    let gone = format!("{removes}\nlun = \"mail\"");
    let again = refused(&[("1s", snapshot), ("2s", &gone), ("3s", &gone)]);
    assert!(again.contains("there is no LUN then called \"mail\"\n  there is s"), "{again}");
    let unsaid = refused(&[("1s", snapshot), ("2s", &gone), ("3s", removes)]);
    assert!(unsaid.contains("lacks `lun`\n  for example: lun = \"s\""), "{unsaid}");
    let joins = "what = \"member joins\"\nmember = 2";
    let joined = refused(&[("1s", joins), ("2s", joins)]);
    assert!(joined.contains("`what = \"member joins\"`: member 2 has joined before"), "{joined}");
}

#[test]
fn what_makes_no_sense_is_refused_where_it_stands() {
    let incident = |what: &str| format!("[[event]]\nat = \"1s\"\n{what}\n");
    for (change, words) in [
        (
            incident("what = \"drive returns\"\ndrive = 0"),
            "drive 0 has neither failed nor become slow before",
        ),
        (incident("what = \"battery lost\""), "is for a cache: there is no [array.cache]"),
        (
            incident("what = \"drive slows\"\ndrive = 0\ntimes = 1e300"),
            "is more than 1000000: let the drive fail",
        ),
    ] {
        let refusal = parse(&format!("{SMALL}{change}")).err().unwrap().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
    for (group, words) in [
        (
            "drive_size = \"900 GB\"",
            "`drive_size = \"900 GB\"`: is more than the 136.73 GiB of its smallest drive",
        ),
        ("drive_size = \"0 GB\"", "`drive_size = \"0 GB\"`: is nothing"),
        (
            "strip = \"1000 B\"",
            "`strip = \"1000 B\"`: a strip of 1000 B is not a multiple of 512 bytes",
        ),
        ("drive_size = \"4 KiB\"", "`[[array.group]]`: group \"logs\" has no room for a stripe"),
    ] {
        let text = SMALL.replacen("[[array.group]]\n", &format!("[[array.group]]\n{group}\n"), 1);
        let refusal = parse(&text).err().expect(words).to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
    for (from, to, words) in [
        ("[array]\n", "[array]\ncache = { write = \"1 B\" }\n", "has no room for a page of 8 KiB"),
        (
            "[array]\n",
            "[array]\ncache = { write = \"9000 TiB\" }\n",
            "`write = \"9000 TiB\"`: a cache in pages of 8 KiB has at most 2 TiB",
        ),
        (
            "size = \"1 GiB\"",
            "size = \"0 B\"",
            "is nothing\n  without a `size`, a LUN takes all that is left",
        ),
    ] {
        let refusal = parse(&SMALL.replace(from, to)).err().expect(words);
        assert!(refusal.to_string().contains(words), "{refusal}");
    }
}

#[test]
fn a_lun_can_grow_and_only_a_pool_takes_drives() {
    let incident = |scenario: &str, text: &str| {
        let text = format!("{scenario}[[event]]\nat = \"1s\"\n{text}\n");
        let read = parse(&text).map(|read| read.simulation.incidents[0].incident.clone());
        read.map_err(|refusal| refusal.to_string())
    };
    let grows = |size: u64| Incident::LunGrows(0, ByteSize::gib(size));
    let what = "what = \"lun grows\"";
    assert_eq!(incident(SMALL, what), Ok(grows(0)));
    let sized = format!("{what}\nsize = \"2 GiB\"");
    assert_eq!(incident(SMALL, &sized), Ok(grows(2)));
    let less = incident(PAGED, &sized).unwrap_err();
    assert!(less.contains("is not more than the 93.13 GiB"), "{less}");
    let absurd = incident(PAGED, &format!("{what}\nsize = \"9000 TiB\"")).unwrap_err();
    assert!(absurd.contains("is more than 960 TiB, the most of a LUN"), "{absurd}");
    let unsaid = incident(PAGED, what).unwrap_err();
    assert!(unsaid.contains("lacks `size`"), "{unsaid}");
    let raid = "what = \"pool grows\"\ngroup = \"data\"\ndrive = 11";
    let raid = incident(SMALL, raid).unwrap_err();
    assert!(raid.contains("\"data\" is a RAID group"), "{raid}");
}

#[test]
fn a_tier_has_drives_of_its_own_that_do_not_turn() {
    let refusal = |text: &str| {
        let text = SMALL.replace("[array]\n", &format!("[array]\n{text}\n"));
        parse(&text).err().unwrap().to_string()
    };
    let disk = refusal("cache = {}\ntier = { drives = 1, size = \"1 GB\" }");
    assert!(disk.contains("solid-state drives"), "{disk}");
    let alone = refusal("tier = { drives = 1 }");
    assert!(alone.contains("lies behind a cache"), "{alone}");
    let few = refusal("tier = { drives = 3 }");
    assert!(few.contains("only 2 of 12 drives"), "{few}");
}

#[test]
fn every_example_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arrays");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let scenario = Document::new(&name, &text, &folder).and_then(|document| document.load(&[]));
        let scenario = scenario.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(scenario.name, path.file_stem().unwrap().to_str().unwrap());
        count += 1;
    }
    assert_eq!(count, 15);
}

/// A drive's queue is its rate times its response time, and it is busy for the sum of its service
/// times, in every example and through all of its events. Minutes are shortened to seconds, so that
/// every event happens.
#[test]
fn the_laws_of_queues_hold_in_every_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arrays");
    let (mut drives_seen, mut paths) = (0, Vec::new());
    paths.extend(std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()));
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace("min\"", "s\"")
            .replace("\"90s\"", "\"29s\"");
        // Long enough for what is under way at both ends to weigh little.
        let table: toml::Table = text.parse().unwrap();
        let written = table["simulate"]["duration"].as_str().unwrap();
        let duration = written.parse::<Span>().unwrap().max(Span::seconds(30));
        let duration = format!("simulate.duration={}s", duration.as_seconds());
        let name = path.display().to_string();
        let simulation = Document::new(&name, &text, &folder)
            .unwrap()
            .load(&[Override::of_set(&duration).unwrap()])
            .unwrap()
            .simulation;
        let outcome = brunt_array::load::simulate(&simulation, |_| true).unwrap();
        let arrays = simulation.design.arrays().into_iter();
        let models = arrays.flat_map(|array| &array.drives);
        for (number, (drive, model)) in outcome.drives.iter().zip(models).enumerate() {
            let requests = (drive.reads + drive.writes) as f64;
            if requests < 500.0 {
                continue;
            }
            drives_seen += 1;
            let rate = requests / drive.elapsed().as_seconds();
            let near = |what: &str, one: f64, two: f64| {
                let apart = (one / two - 1.0).abs();
                assert!(apart < 0.03, "{name}, drive {number}, {what}: {one:.4} and {two:.4}");
            };
            near("Little", drive.queue(), rate * drive.response_ms() / 1e3);
            // A solid-state drive serves many at once. A disk is busy with the parts of what it
            // serves, and with the overhead of a request where it has idled before.
            if !model.is_solid_state() {
                let parts = (drive.seek + drive.rotation + drive.transfer).as_seconds();
                let overhead = requests * model.overhead().as_seconds();
                let busy = drive.busy.as_seconds();
                let fits = parts * 0.999 <= busy && busy <= (parts + overhead) * 1.001;
                assert!(fits, "{name}, drive {number}: {busy} of {parts} and {overhead}");
            }
        }
    }
    assert!(drives_seen > 90, "{drives_seen}");
}
