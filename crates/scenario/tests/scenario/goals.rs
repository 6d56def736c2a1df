//! What a scenario says about versions, targets, sizes and records, and what it must not say.

use std::path::Path;

use brunt_qualify::goal::{Growth, Tune};
use brunt_qualify::kinds::TestKind;
use brunt_scenario::{Document, Override, Scenario};
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::mix::Kind;
use brunt_workload::profile::{CheckpointPacing, SessionScope, Version};

const SMALL: &str = r#"
[test]
duration = "1h"
sessions = 4

[[instance]]
log = "log1"
databases = ["db/1.edb", "db/2.edb"]
database_size = "1 GiB"

[[instance]]
log = "log2"
databases = ["db/3.edb", "db/4.edb"]
database_size = "1 GiB"
"#;

fn parse(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    let sets: Result<Vec<_>, _> = sets.iter().map(|set| Override::of_set(set)).collect();
    Document::new("t.toml", text, Path::new("/home/me"))
        .and_then(|document| document.test(&sets.unwrap()))
        .map_err(|refusal| refusal.to_string())
}

fn with(sets: &[&str]) -> Scenario {
    let scenario = parse(SMALL, sets).unwrap();
    let again = parse(&scenario.to_toml(), &[]).unwrap();
    assert_eq!(again, scenario, "what is resolved reads back");
    scenario
}

fn refused(sets: &[&str]) -> String {
    parse(SMALL, sets).unwrap_err()
}

#[test]
fn a_version_can_be_said_by_its_year() {
    for set in ["profile.version=2010", "profile.version=exchange-2010"] {
        assert_eq!(with(&[set]).profile.version, Version::Exchange2010);
    }
    let said = refused(&["profile.version=2014"]);
    assert!(said.contains("unknown version\n  known are exchange-2003,"), "{said}");
}

#[test]
fn every_version_brings_its_figures() {
    for version in Version::ALL {
        let name = format!("profile.version=exchange-{}", version.name());
        let scenario = with(&[&name]);
        let (profile, figures) = (&scenario.profile, version.profile());
        assert_eq!(profile.version, version);
        assert_eq!(profile.engine.page, figures.page_size.value);
        assert_eq!(profile.engine.log_file, figures.log_file.value);
        assert_eq!(profile.load.mix, figures.mix.value);
        assert_eq!(profile.engine.pacing, figures.checkpoint_pacing.value);
        assert_eq!(profile.engine.background_maintenance, figures.maintenance.value.is_some());
        assert_eq!(profile.engine.cache_max.get(), 2 * figures.cache_max.value.get());
        assert_eq!(scenario.limits.latency, figures.strict.value);
        assert_eq!(scenario.profile.load.shape.long, figures.long_pad.value);
        let lenient = with(&[&name, "test.kind=stress"]);
        assert_eq!(lenient.limits.latency, figures.lenient.value);
    }
}

#[test]
fn sessions_are_counted_as_the_version_counts_them() {
    let pool = |version: &str| {
        let scenario = with(&[&format!("profile.version=exchange-{version}")]);
        (scenario.session_scope(), scenario.pool())
    };
    assert_eq!(pool("2007"), (SessionScope::Instance, 8));
    assert_eq!(pool("2010"), (SessionScope::Database, 16));
    assert_eq!(pool("2013"), (SessionScope::Server, 4));
    let many = refused(&["profile.version=exchange-2010", "test.sessions=3000"]);
    assert!(many.contains("12000 sessions in all, more than 10000"), "{many}");
}

#[test]
fn single_figures_can_be_others() {
    let scenario = with(&[
        "profile.page=8KiB",
        "profile.checkpoint_writes=burst",
        "profile.maintenance_sleep=20ms",
        "profile.maintenance_read=128KiB",
        "profile.insert_percent=30",
        "profile.delete_percent=30",
        "profile.lazy_percent=0",
        "profile.batch_operations=10",
        "limits.read_average=5ms",
        "limits.tail_operation=250us",
        "limits.excursions=0",
        "records.compressible_percent=50",
        "records.duplicate_percent=10",
        "records.long=500B",
        "storage.cache=16GiB",
        "test.growth=refuse",
        "test.precondition=2",
        "test.min_warmup=90s",
        "test.strict_tail=true",
        "test.operations_per_s=400",
    ]);
    assert_eq!(scenario.profile.engine.page, PageSize::KIB_8);
    assert_eq!(scenario.profile.engine.pacing, CheckpointPacing::Burst);
    assert_eq!(scenario.profile.engine.maintenance.sleep, Span::millis(20));
    assert_eq!(scenario.profile.engine.maintenance.batch, ByteSize::kib(128));
    let shares = Kind::ALL.map(|kind| scenario.profile.load.mix.percent(kind));
    assert_eq!((shares, scenario.profile.load.mix.lazy_percent()), ([30, 30, 5, 35], 0));
    assert_eq!(scenario.limits.latency.read_mean, Span::millis(5));
    assert_eq!(scenario.limits.tail_operation, Span::micros(250));
    assert!(scenario.limits.strict_tail && scenario.test.growth == Growth::Refuse);
    assert_eq!(scenario.profile.load.shape.long, 500);
    assert_eq!(scenario.array_cache, Some(ByteSize::gib(16)));
    assert_eq!(scenario.test.operations_per_s, Some(400.0));
}

#[test]
fn mailboxes_give_sizes_and_target() {
    let text = SMALL.replace("database_size = \"1 GiB\"", "");
    let sets = ["mailboxes.count=4000", "mailboxes.quota=1GiB", "mailboxes.io_per_s=0.1"];
    let scenario = parse(&text, &sets).unwrap();
    assert!(scenario.databases().all(|d| d.size == ByteSize::gib(1_000)));
    let target = scenario.test.target().unwrap();
    assert_eq!((target.io_per_s, target.headroom_percent), (400.0, 20));
    assert!((target.offered() - 480.0).abs() < 1e-9);
    assert_eq!(parse(&scenario.to_toml(), &[]).unwrap(), scenario);
    let twice = [&sets[..], &["test.target_io_per_s=100"]].concat();
    let said = parse(&text, &twice).unwrap_err();
    assert!(said.contains("is a second target beside that of the mailboxes"), "{said}");
    let paced = [&sets[..], &["test.operations_per_s=100"]].concat();
    assert!(parse(&text, &paced).unwrap_err().contains("and so does `operations_per_s`"));
    let nothing = ["mailboxes.count=4000", "mailboxes.quota=0B", sets[2]];
    let said = parse(&text, &nothing).unwrap_err();
    assert!(said.contains("mailboxes that hold nothing"), "{said}");
    let small = ["mailboxes.count=10", "mailboxes.quota=1KiB", sets[2]];
    let said = parse(&text, &small).unwrap_err();
    for part in ["quota", "10 mailboxes of it make databases of 2.50 KiB, less than 256 pages of"] {
        assert!(said.contains(part), "{said}");
    }
    let lacks = parse(&text, &sets[..2]).unwrap_err();
    assert!(lacks.contains("lacks `io_per_s`"), "{lacks}");
}

#[test]
fn a_second_size_that_says_something_else_is_refused() {
    let mailboxes = ["mailboxes.count=4000", "mailboxes.quota=1GiB", "mailboxes.io_per_s=0.1"];
    let said = parse(SMALL, &mailboxes).unwrap_err();
    for part in [
        "t.toml:",
        "`database_size = \"1 GiB\"`: the mailboxes make databases of 1000 GiB",
        "keep `database_size` (with `target_io_per_s`) or the table [mailboxes]",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let same = SMALL.replace("1 GiB", "1000 GiB");
    let scenario = parse(&same, &mailboxes).unwrap();
    assert_eq!(scenario.test.target().unwrap().io_per_s, 400.0);
    let said = refused(&["throughput.capacity_percent=50"]);
    assert!(said.contains("`capacity_percent` sizes the databases already"), "{said}");
}

#[test]
fn capacity_gives_sizes_on_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["log1", "log2", "db"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let text = SMALL.replace("database_size = \"1 GiB\"", "");
    let sized = |percent: u32| {
        let text = format!("{text}\n[throughput]\ncapacity_percent = {percent}\n");
        let mut scenario =
            Document::new("t.toml", &text, folder.path()).unwrap().test(&[]).unwrap();
        scenario.fit_capacity().unwrap();
        assert!(!scenario.to_toml().contains("capacity_percent"));
        scenario.databases().next().unwrap().size.get() as f64
    };
    let (small, large) = (sized(5), sized(10));
    assert!((large / small - 2.0).abs() < 0.1, "{small} and {large}");
    let neither = parse(&text, &[]).unwrap_err();
    assert!(neither.contains("lacks `database_size`"), "{neither}");
}

#[test]
fn sessions_can_be_left_to_be_found() {
    assert_eq!(with(&[]).tune(), None);
    let most = Some(Tune::Maximum { percent: 100 });
    assert_eq!(with(&["test.tune=true"]).tune(), most);
    let targeted = with(&["test.tune=true", "test.target_io_per_s=400"]);
    assert_eq!(targeted.tune(), Some(Tune::Target));
    let said = refused(&["test.tune=true", "test.kind=soft-recovery"]);
    assert!(said.contains("only performance and stress tests are tuned"), "{said}");
    let said = refused(&["test.tune=true", "test.operations_per_s=400"]);
    assert!(said.contains("says the pace, and `tune` looks for one"), "{said}");
}

#[test]
fn a_share_of_the_most_is_found_and_paced() {
    let share = with(&["throughput.throughput_percent=80"]);
    assert_eq!(share.tune(), Some(Tune::Maximum { percent: 80 }));
    assert_eq!(share.capacity_percent, None, "sizes are as they are written");
    assert_eq!(with(&["throughput.throughput_percent=100"]).tune(), None);
    let unsized_ones = SMALL.replace("database_size = \"1 GiB\"", "");
    let both = ["throughput.throughput_percent=80", "throughput.capacity_percent=50"];
    let both = parse(&unsized_ones, &both).unwrap();
    assert_eq!(both.capacity_percent.unwrap().value, 50);
    for (set, what) in [
        ("test.target_io_per_s=100", "paces the sessions, and so does [test]"),
        ("test.kind=database-backup", "only performance and stress tests"),
    ] {
        let said = refused(&["throughput.throughput_percent=80", set]);
        assert!(said.contains(what), "{said}");
    }
    let said = refused(&["throughput.throughput_percent=0"]);
    assert!(said.contains("not between 1 and 100"), "{said}");
}

#[test]
fn what_the_engine_cannot_take_is_refused_before() {
    let many: Vec<String> = (0..32).map(|at| format!("\"db/{at}.edb\"")).collect();
    let many = format!(
        "[test]\nduration = \"1h\"\nsessions = 1\n[[instance]]\nlog = \"log\"\ndatabases = [{}]\ndatabase_size = \"1 GiB\"\n",
        many.join(", ")
    );
    let said = parse(&many, &[]).unwrap_err();
    assert!(said.contains("more than 31 databases in one instance"), "{said}");
    let said = refused(&["profile.log_file=128KiB"]);
    assert!(
        said.contains("`--set profile.log_file=128KiB`: is too small for pages of 32 KiB"),
        "{said}"
    );
    assert!(parse(SMALL, &["profile.log_file=128KiB", "profile.page=4KiB"]).is_ok());
    let reads = ["insert", "delete", "replace"].map(|kind| format!("profile.{kind}_percent=0"));
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    let said = refused(&[&reads[..], &["test.precondition=1"]].concat());
    assert!(said.contains("sessions only read"), "{said}");
    let said = refused(&["profile.insert_percent=90"]);
    assert!(said.contains("insert, delete and replace add up to 115 %"), "{said}");
    for (set, what) in [
        ("profile.maintenance_sleep=0s", "less than a millisecond"),
        ("profile.maintenance_read=4KiB", "is less than 32 KiB"),
        ("profile.batch_operations=0", "not between 1 and 1000000"),
        ("profile.recovery_reads=0", "not between 1 and 1024"),
        ("records.short=300B", "is not between 1 and 255 bytes"),
        ("records.long=1MiB", "is not between 1 and 262144 bytes"),
        ("records.compressible_percent=101", "not between 0 and 100"),
        ("test.precondition=-1", "is below zero"),
        ("test.precondition=1e308", "1 writes them once"),
        ("test.headroom_percent=500", "raise the target"),
        ("test.target_io_per_s=1e308", "more than 1,000,000,000"),
        ("test.operations_per_s=1e10", "more than 1,000,000,000"),
        ("test.sessions=\"4,000\"", "without quotes: 4000"),
        ("limits.read_average=0ms", "is not above zero"),
        ("test.kind=smoke", "it can be performance, stress, database-backup, soft-recovery"),
        ("test.copies=0", "not between 1 and 16"),
        ("test.copy_to=/x", "only a database-backup test copies databases"),
        ("test.restore_within=2h", "nothing is restored without `copy_to`"),
        ("test.growth=often", "it can be balance, refuse"),
    ] {
        let said = refused(&[set]);
        assert!(said.contains(what), "{said}");
    }
    let uneven = SMALL.replace("\"db/3.edb\", \"db/4.edb\"", "\"db/3.edb\"");
    let said = parse(&uneven, &[]).unwrap_err();
    assert!(said.contains("1 databases here, and 2 in the first instance"), "{said}");
}

#[test]
fn a_stress_test_is_one() {
    let scenario = with(&["test.kind=stress"]);
    assert_eq!(scenario.test.kind, TestKind::Stress);
    assert!(with(&[]).test.kind == TestKind::Performance);
}

#[test]
fn paths_and_names_that_no_folder_can_have_are_refused() {
    let refused = |text: &str| parse(text, &[]).unwrap_err();
    let long = "x".repeat(300);
    for (bad, what) in [("a\\u0000b", "cannot contain a NUL byte"), (long.as_str(), "300 bytes")] {
        let log = SMALL.replace("log = \"log1\"", &format!("log = \"{bad}\""));
        let name = format!("name = \"{bad}\"\n{SMALL}");
        for text in [log, name] {
            let said = refused(&text);
            assert!(said.contains(what) && said.contains("\n  for example"), "{said}");
        }
    }
}

#[test]
fn one_bracket_where_two_belong_is_explained() {
    let said = parse(&SMALL.replace("[[instance]]", "[instance]"), &[]).unwrap_err();
    assert!(said.contains("write [[instance]], with two brackets"), "{said}");
}

#[test]
fn shards_share_the_instances_evenly_or_are_refused_with_a_way_out() {
    assert_eq!(with(&[]).shards.value, 1);
    let two = with(&["engine.shards=2"]);
    assert_eq!((two.shards.value, two.plan().shards), (2, 2));
    for (sets, wanted) in [
        (["engine.shards=3", "test.sessions=9"], "there are 2 instances\n  possible here: 1, 2"),
        (
            ["engine.shards=2", "test.sessions=1"],
            "every shard needs a session, but there is 1 session\n  more sessions, or fewer shards",
        ),
        (
            ["engine.shards=2", "test.kind=soft-recovery"],
            "a soft-recovery test has one shard\n  shards = 1",
        ),
        (
            ["engine.shards=2", "test.kind=database-backup"],
            "a database-backup test has one shard\n  shards = 1",
        ),
        (
            ["engine.shards=2", "test.tune=true"],
            "sessions are looked for in one shard\n  shards = 1, or",
        ),
        (
            ["engine.shards=2", "throughput.throughput_percent=80"],
            "sessions are looked for in one shard\n  shards = 1, or",
        ),
    ] {
        let said = refused(&sets);
        assert!(said.contains(wanted), "{sets:?}: {said}");
    }
    assert!(refused(&["engine.shards=0"]).contains("engine.shards"));
}
