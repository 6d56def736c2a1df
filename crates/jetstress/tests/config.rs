//! A whole configuration of Jetstress 2013 as a scenario, and what is wrong with others.

use std::path::Path;

use brunt_jetstress::{Fate, PathMap, Settings, import};
use brunt_scenario::{Document, Scenario};

const CONFIG: &str = include_str!("JetstressConfig.xml");

fn map() -> PathMap {
    let mut map = PathMap::default();
    map.add("C:\\Volumes=/mnt").unwrap();
    map
}

fn scenario(settings: &Settings) -> Scenario {
    let text = settings.to_toml("JetstressConfig.xml");
    let document = Document::new("t.toml", &text, Path::new("/")).unwrap();
    document.test(&[]).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

#[test]
fn a_whole_configuration_is_a_scenario() {
    let settings = import(CONFIG, &map()).unwrap();
    assert_eq!(settings.unmapped, Vec::<String>::new());
    let scenario = scenario(&settings);
    assert_eq!(scenario.description, "Two volumes, 4 threads");
    assert_eq!(scenario.test.sessions, 4);
    assert_eq!(scenario.test.copies, 2);
    assert_eq!(scenario.test.duration.as_seconds(), 7_200.0);
    let target = scenario.test.target().unwrap();
    assert_eq!((target.io_per_s, target.headroom_percent), (60.0, 0));
    assert_eq!(scenario.limits.latency.read_sample.as_millis(), 100.0);
    let instance = &scenario.instances[0];
    let database = &instance.databases[0];
    assert_eq!(database.path, Path::new("/mnt/Vol1/DB1/Jetstress001001.edb"));
    assert_eq!(instance.log, Path::new("/mnt/Vol2/DB1.log"));
    // 500 mailboxes of 2 GiB on two databases.
    assert_eq!(database.size.get(), 250 << 31);
}

#[test]
fn no_element_is_dropped() {
    let settings = import(CONFIG, &map()).unwrap();
    let elements = CONFIG.lines().filter(|line| line.contains("</") || line.contains("/>"));
    let values = elements.filter(|line| !line.trim().starts_with("</"));
    for line in values {
        let name = line.trim().trim_start_matches('<');
        let name = name.split(['>', ' ']).next().unwrap();
        let noted = settings.noted.iter().any(|noted| noted.name.contains(name));
        assert!(noted, "{name}");
    }
    let names: Vec<_> = settings.not_supported().map(|noted| noted.name.as_str()).collect();
    assert!(names.contains(&"MaxVerPages") && !names.contains(&"Type"), "{names:?}");
    let text = settings.to_toml("x");
    assert!(text.contains("#   BatchUpdates = 16: fixed by the Exchange version"));
    assert!(text.contains("#   VerifyChecksum = true: every page"));
}

#[test]
fn sessions_that_jetstress_finds_are_found() {
    let text = CONFIG.replace("<ThreadCount>4", "<ThreadCount>0");
    let test = scenario(&import(&text, &map()).unwrap()).test;
    assert_eq!((test.sessions, test.tune), (8, true));
}

#[test]
fn the_limits_are_those_of_the_kind_of_test() {
    let stress = CONFIG.replace("<Type>Performance", "<Type>Stress");
    let scenario = scenario(&import(&stress, &map()).unwrap());
    assert_eq!(scenario.limits.latency.read_sample.as_millis(), 200.0);
}

#[test]
fn other_kinds_of_tests_are_read() {
    for kind in ["DatabaseBackup", "SoftRecovery", "StreamingBackup"] {
        let text = CONFIG.replace("<Type>Performance", &format!("<Type>{kind}"));
        scenario(&import(&text, &map()).unwrap());
    }
    let copied = CONFIG
        .replace("<Type>Performance", "<Type>DatabaseBackup")
        .replace("<BackupToDisk>false", "<BackupToDisk>true")
        .replace("<DatabaseBackupPath />", "<DatabaseBackupPath>D:\\b</DatabaseBackupPath>");
    let settings = import(&copied, &map()).unwrap();
    assert_eq!(settings.unmapped, ["D:\\b"]);
    assert!(settings.to_toml("x").contains("copy_to = \"/mnt/d/b\""));
}

#[test]
fn a_capacity_test_sizes_by_the_volumes() {
    let text = CONFIG
        .replace("<DatabaseSizing>Profile", "<DatabaseSizing>Capacity")
        .replace("<ThroughputPercentage>100", "<ThroughputPercentage>80");
    let text = import(&text, &map()).unwrap().to_toml("x");
    assert!(
        text.contains("[throughput]\nthroughput_percent = 80\ncapacity_percent = 100\n"),
        "{text}"
    );
    assert!(!text.contains("[mailboxes]"));
}

#[test]
fn what_is_unknown_is_named_and_what_is_wrong_is_refused_with_its_line() {
    let odd = CONFIG.replace("<UpdateLV>true</UpdateLV>", "<Frob>7</Frob>");
    let settings = import(&odd, &map()).unwrap();
    let frob = settings.noted.iter().find(|noted| noted.name == "Frob").unwrap();
    assert_eq!(frob.fate, Fate::NotSupported("is not known".to_owned()));
    assert_eq!(frob.line, 28);
    let said =
        |from: &str, to: &str| import(&CONFIG.replace(from, to), &map()).unwrap_err().to_string();
    assert_eq!(
        said(">Performance<", ">Speed<"),
        "line 6: <Type> is `Speed`: it can be Performance, Stress, DatabaseBackup or SoftRecovery"
    );
    assert!(said("P0Y0M0DT2H0M0S", "2h").starts_with("line 9: <Duration> is `2h`"));
    assert!(
        said("InsertOps=\"40\"", "InsertOps=\"300\"").contains("OperationMix InsertOps> is `300`")
    );
    assert!(said("<MailboxCount>500", "<MailboxCount>0").contains("above zero"));
    assert!(said("configuration", "config").contains("its root is <config>"));
    assert!(said("</ExchangeProfile>", "").contains("is not XML"));
    assert!(said("<Path>", "<Way>").contains("is not XML"));
    // No entity is expanded: a bomb is refused as what it is.
    let bomb = "<!DOCTYPE c [<!ENTITY a \"aaaa\">]><configuration>&a;</configuration>";
    assert!(import(bomb, &map()).is_err());
    let empty = "<configuration></configuration>";
    assert!(import(empty, &map()).unwrap_err().to_string().contains("no <EseInstance>"));
}

#[test]
fn values_that_do_not_count_may_be_empty_and_a_comma_is_no_point() {
    let with = |from: &str, to: &str| CONFIG.replace(from, to);
    let capacity = with("<DatabaseSizing>Profile<", "<DatabaseSizing>Capacity<");
    assert_ne!(capacity, CONFIG);
    let start = capacity.find("<MailboxCount>").unwrap() + "<MailboxCount>".len();
    let end = start + capacity[start..].find('<').unwrap();
    let empty = format!("{}{}", &capacity[..start], &capacity[end..]);
    let settings = import(&empty, &map()).unwrap();
    assert_eq!(settings.unmapped, Vec::<String>::new());
    let start = CONFIG.find("<MailboxIops>").unwrap() + "<MailboxIops>".len();
    let end = start + CONFIG[start..].find('<').unwrap();
    let comma = format!("{}0,5{}", &CONFIG[..start], &CONFIG[end..]);
    let said = import(&comma, &map()).unwrap_err().to_string();
    assert!(said.ends_with("with a decimal point: 0.5"), "{said}");
}

#[test]
fn a_mix_is_at_most_all_and_shrinks_nothing_unsaid() {
    let start = CONFIG.find("<OperationMix").unwrap();
    let end = start + CONFIG[start..].find("/>").unwrap();
    let with = |mix: &str| {
        let text = format!("{}<OperationMix {mix} {}", &CONFIG[..start], &CONFIG[end..]);
        import(&text, &map())
    };
    let line = 1 + CONFIG[..start].matches('\n').count();
    let said = with("InsertOps=\"60\" DeleteOps=\"30\" ReplaceOps=\"20\"").unwrap_err();
    let said = said.to_string();
    assert!(said.starts_with(&format!("line {line}: <OperationMix> is ")), "{said}");
    assert!(said.contains("add up to 110 %"), "{said}");
    let settings = with("InsertOps=\"10\" DeleteOps=\"40\"").unwrap();
    assert_eq!(settings.warnings.len(), 1);
    assert!(settings.warnings[0].1.contains("more deletes (40 %)"));
    assert!(import(CONFIG, &map()).unwrap().warnings.is_empty());
}

#[test]
fn hostile_files_are_refused_at_once() {
    let refused = |text: &str| import(text, &map()).unwrap_err().to_string();
    let nested = "<EseInstances>".repeat(40_000) + &"</EseInstances>".repeat(40_000);
    let said = refused(&format!("<configuration>{nested}</configuration>"));
    assert!(said.contains("lie in one another"), "{said}");
    let attributes: String = (0..200_000).map(|n| format!(" a{n}=\"\"")).collect();
    let said = refused(&format!("<configuration><Type{attributes}/></configuration>"));
    assert!(said.contains("attributes"), "{said}");
    let elements = "<Path>C:\\x</Path>\n".repeat(30_000);
    let many = format!("<configuration><EseInstance>{elements}</EseInstance></configuration>");
    assert_eq!(import(&many, &map()).unwrap().noted.len(), 30_000);
    let up = CONFIG.replacen("C:\\Volumes", "C:\\..\\..\\etc", 1);
    let said = refused(&up);
    assert!(said.contains("`..`"), "{said}");
}
