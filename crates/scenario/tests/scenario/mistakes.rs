//! Scenarios: the demo is sound, what is resolved reads back, and every mistake is refused at its
//! place.

use std::path::Path;

use brunt_scenario::{DEMO, Document, Override, Scenario};
use brunt_units::{ByteSize, PageSize, Span};
use brunt_world_real::{Choice, Kind};

const GOOD: &str = r#"# a comment
name = "exchange"

[test]
kind = "performance"
duration = "2h"
sessions = 12

[profile]
version = "exchange-2013"
cache_max = "512 MiB"

[[instance]]
log = "/data/log1"
databases = ["/data/db1/one.edb", "/data/db2/two.edb"]
database_size = "100 GiB"

[[instance]]
name = "second"
log = "log2"
databases = [
    "/data/db3/three.edb",
    "/data/db3/four.edb",
]
database_size = "2 GB"
"#;

fn parse(text: &str, overrides: &[Override]) -> Result<Scenario, String> {
    Document::new("exchange.toml", text, Path::new("/home/me"))
        .and_then(|document| document.test(overrides))
        .map_err(|refusal| refusal.to_string())
}

/// What is said when `from` is replaced by `to` in a good scenario.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replacen(from, to, 1), &[]).unwrap_err()
}

#[test]
fn a_good_scenario_is_understood() {
    let scenario = parse(GOOD, &[]).unwrap();
    assert_eq!(scenario.name, "exchange");
    assert_eq!(scenario.test.duration, Span::seconds(7200));
    assert_eq!((scenario.test.sessions, scenario.test.seed), (12, 1));
    assert_eq!(scenario.profile.engine.page, PageSize::KIB_32);
    assert_eq!(scenario.profile.engine.cache_max, ByteSize::mib(512));
    assert_eq!(scenario.profile.engine.cache_min, ByteSize::mib(64));
    let [first, second] = &scenario.instances[..] else {
        panic!("two instances");
    };
    assert_eq!((first.name.as_str(), second.name.as_str()), ("Instance 1", "second"));
    assert_eq!(second.log, Path::new("/home/me/log2"));
    assert_eq!(second.databases[0].name, "DB3");
    assert_eq!(second.databases[0].size, ByteSize::bytes(2_000_000_000));
}

#[test]
fn what_is_resolved_reads_back() {
    for text in [GOOD, DEMO] {
        let scenario = parse(text, &[]).unwrap();
        let resolved = scenario.to_toml();
        let again = Document::new("other.toml", &resolved, Path::new("/elsewhere"))
            .unwrap()
            .test(&[])
            .unwrap();
        assert_eq!(again, scenario);
        assert_eq!(again.to_toml(), resolved);
    }
}

#[test]
fn the_demo_stays_small() {
    let demo = parse(DEMO, &[]).unwrap();
    let bytes: u64 = demo.databases().map(|database| database.size.get()).sum();
    assert!(bytes <= 1 << 30);
    assert!(demo.test.duration <= Span::seconds(60));
    assert!(demo.databases().all(|d| d.path.starts_with("/home/me/brunt-demo")));
}

#[test]
fn units_are_asked_for() {
    assert_eq!(
        said("\"100 GiB\"", "\"100G\""),
        "exchange.toml:16: `database_size = \"100G\"`: unknown unit\n  did you mean \"100 GiB\" (107,374,182,400 bytes) or \"100 GB\" (100,000,000,000 bytes)?"
    );
    assert_eq!(
        said("\"512 MiB\"", "512"),
        "exchange.toml:11: `cache_max = 512`: a size has a unit\n  for example \"512 MiB\" or \"512 MB\""
    );
    assert_eq!(
        said("\"2h\"", "\"2 fortnights\""),
        "exchange.toml:6: `duration = \"2 fortnights\"`: not a length of time\n  for example \"90s\", \"15min\", \"2h\" or \"2h 30min\""
    );
}

#[test]
fn unknown_words_get_the_nearest_known() {
    assert_eq!(
        said("duration", "duratoin"),
        "exchange.toml:6: `duratoin = \"2h\"`: unknown key `duratoin` in [test]\n  did you mean `duration`?"
    );
    assert_eq!(
        said("[profile]", "[profil]"),
        "exchange.toml:9: `[profil]`: unknown key `profil` in the scenario\n  did you mean `profile`?"
    );
    assert_eq!(
        said("sessions = 12", "threads = 12"),
        "exchange.toml:7: `threads = 12`: unknown key `threads` in [test]\n  its keys are kind, duration, min_warmup, precondition, sessions, tune, seed, target_io_per_s, headroom_percent, operations_per_s, scheduling, growth, copies, logs, copy_to, restore_within, restore, strict_tail, precision"
    );
    assert_eq!(
        said("\"performance\"", "\"performence\""),
        "exchange.toml:5: `kind = \"performence\"`: unknown value\n  did you mean \"performance\"?"
    );
    assert_eq!(
        said("exchange-2013", "exchange-2031"),
        "exchange.toml:10: `version = \"exchange-2031\"`: unknown version\n  known are exchange-2003, exchange-2007-08.01, exchange-2007, exchange-2010, exchange-2013, exchange-2016, exchange-2019"
    );
}

#[test]
fn impossible_sizes_are_refused() {
    for small in ["7 MiB", "0 MiB"] {
        assert_eq!(
            said("\"100 GiB\"", &format!("\"{small}\"")),
            format!(
                "exchange.toml:16: `database_size = \"{small}\"`: is less than 256 pages of 32 KiB (8 MiB)\n  \
                 for example: database_size = \"512 MiB\""
            )
        );
    }
    assert!(
        said("\"100 GiB\"", "\"70 TiB\"")
            .ends_with("a database with pages of 32 KiB stays below 64 TiB")
    );
    assert_eq!(
        said("cache_max = \"512 MiB\"", "cache_max = \"1 MiB\"\ncache_min = \"2 MiB\""),
        "exchange.toml:12: `cache_min = \"2 MiB\"`: is more than `cache_max` (1 MiB)"
    );
    assert!(
        said("cache_max = \"512 MiB\"", "cache_max = \"256 KiB\"")
            .ends_with("is less than 16 pages of 32 KiB (512 KiB)")
    );
    let absurd = said("cache_max = \"512 MiB\"", "cache_max = \"9000 TiB\"");
    assert_eq!(absurd, "exchange.toml:11: `cache_max = \"9000 TiB\"`: is more than 1 TiB");
    assert!(said("cache_max = \"512 MiB\"", "page = \"12 KiB\"").contains("not a page size"));
    assert!(
        said("cache_max = \"512 MiB\"", "log_file = \"32 KiB\"").ends_with("is less than 64 KiB")
    );
    assert!(
        said("cache_max = \"512 MiB\"", "log_file = \"66 KB\"")
            .ends_with("is not a multiple of 4096 bytes")
    );
    assert!(
        said("cache_max = \"512 MiB\"", "log_buffer = \"2 MiB\"")
            .ends_with("is more than 1 MiB, one log file")
    );
    assert!(
        said("cache_max = \"512 MiB\"", "checkpoint_depth = \"512 KiB\"")
            .ends_with("is less than one log file (1 MiB)")
    );
    assert!(said("\"2h\"", "\"10ms\"").ends_with("is less than a second"));
    assert!(said("sessions = 12", "sessions = 0").ends_with("not between 1 and 10000"));
}

#[test]
fn what_is_missing_is_shown_by_example() {
    assert_eq!(
        said("log = \"/data/log1\"", ""),
        "exchange.toml:13: `[[instance]]`: lacks `log`\n  for example: log = \"/data/log1\""
    );
    assert_eq!(
        parse("", &[]).unwrap_err(),
        "exchange.toml: [test] lacks `duration`\n  for example: duration = \"2h\""
    );
    assert!(
        said("databases = [\"/data/db1/one.edb\", \"/data/db2/two.edb\"]", "databases = []")
            .ends_with("names no database")
    );
    assert!(said("[[instance]]\nname", "[instance]\nname").contains("exchange.toml:18"));
}

#[test]
fn values_of_another_kind_are_refused() {
    assert!(
        said("name = \"exchange\"", "name = 7").ends_with("`name = 7`: is a number, not a text")
    );
    assert!(
        said("sessions = 12", "sessions = \"12\"")
            .ends_with("is a text, not a whole number\n  without quotes: 12")
    );
    assert!(
        said("sessions = 12", "sessions = 1979-05-27").ends_with("is a date, not a whole number")
    );
    assert!(
        said("cache_max = \"512 MiB\"", "circular_logging = 1")
            .ends_with("is neither true nor false")
    );
    assert!(said("two.edb", "two.mdb").contains("the name of a database ends in .edb"));
    assert!(said("[test]", "[test").starts_with("exchange.toml:4: `[test`: "));
}

#[test]
fn flags_replace_what_the_file_says() {
    let overrides = [
        Override::of_flag("--duration", "test.duration", "90s"),
        Override::of_set("profile.page=8 KiB").unwrap(),
        Override::of_set("instance.1.log = \"/fast/log\"").unwrap(),
        Override::of_set("test.target_io_per_s=500").unwrap(),
        Override::of_set("instance.0.databases=[\"/a.edb\", \"/b.edb\"]").unwrap(),
    ];
    let backend = Override::of_set("engine.backend=threads").unwrap();
    let scenario = parse(GOOD, &[&overrides[..], &[backend]].concat()).unwrap();
    assert_eq!(scenario.backend, Choice::Only(Kind::Threads));
    assert_eq!(scenario.test.duration, Span::seconds(90));
    assert_eq!(scenario.profile.engine.page, PageSize::KIB_8);
    assert_eq!(scenario.instances[1].log, Path::new("/fast/log"));
    assert_eq!(scenario.test.target().unwrap().io_per_s, 500.0);
    assert_eq!(scenario.instances[0].databases[0].path, Path::new("/a.edb"));
}

#[test]
fn wrong_flags_are_named_as_they_were_written() {
    let said = |change| parse(GOOD, &[change]).unwrap_err();
    assert_eq!(
        said(Override::of_flag("--duration", "test.duration", "90")),
        "`--duration 90`: not a length of time\n  for example \"90s\", \"15min\", \"2h\" or \"2h 30min\""
    );
    assert_eq!(
        said(Override::of_set("test.durations=90s").unwrap()),
        "`--set test.durations=90s`: unknown key `durations` in [test]\n  did you mean `duration`?"
    );
    assert_eq!(
        said(Override::of_set("instance.2.log=/x").unwrap()),
        "`--set instance.2.log=/x`: `2` names no element of the list\n  it has 2, numbered from 0"
    );
    assert_eq!(
        said(Override::of_set("name.x=1").unwrap()),
        "`--set name.x=1`: there is no `x` in a text"
    );
    let recovery = Override::of_set("test.kind=soft-recovery").unwrap();
    let complete = Override::of_switch("--complete", true, "test.precision", "none").unwrap();
    assert_eq!(
        parse(GOOD, &[recovery, complete]).unwrap_err(),
        "`--complete`: is for tests that run for a time; this one ends when its work is done"
    );
    let refusal = Override::of_set("test.duration").unwrap_err().to_string();
    assert_eq!(
        refusal,
        "`--set test.duration`: has no `key=value`\n  for example: --set test.duration=90s"
    );
}
