//! Every version can be sized, and its design be simulated.

use std::path::Path;

use brunt_scenario::Document;
use brunt_sizing::size;

use super::organisation;

/// The design of `text`, read as `simulate` reads it.
fn design(text: &str) -> brunt_scenario::ModelledScenario {
    let org = organisation(text);
    let sizing = size(&org);
    let scenario = sizing.scenario("org.toml").unwrap();
    let document = Document::new("design.toml", &scenario, Path::new("/")).unwrap();
    let checked = document.check_modelled_test(&[]);
    assert_eq!(checked.mistakes, [], "{text}\n{scenario}");
    checked.value
}

fn text(version: &str, servers: u32, storage: &str) -> String {
    format!(
        "[profile]\nversion = {version}\n[org]\nservers = {servers}\ncopies = {}\n[mailboxes]\ncount = 1200\nquota = \"500 MiB\"\nmessages_per_day = 100\n\
         [storage]\n{storage}",
        servers.min(2)
    )
}

#[test]
fn the_design_of_every_version_is_a_scenario() {
    for version in ["2003", "\"2007-08.01\"", "2007", "2010", "2013", "2016", "2019"] {
        for servers in [1, 3] {
            let storage = "drive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\n";
            let scenario = design(&text(version, servers, storage));
            let plan = scenario.scenario.plan();
            let target = plan.target.map(|target| target.io_per_s);
            assert!(target.is_some_and(|target| target > 50.0), "{version}: {target:?}");
        }
    }
}

#[test]
fn every_level_and_place_of_logs_is_a_scenario() {
    for (level, drives) in [("raid1", 2), ("raid10", 6), ("raid5", 5), ("raid6", 8), ("pool", 12)] {
        for logs in ["", "logs = \"swapped\"\n", "log_level = \"raid1\"\nlog_drives = 2\n"] {
            for shared in [1, 3] {
                let storage = format!(
                    "drive = \"savvio-10k6-900-sas\"\nlevel = \"{level}\"\ngroup_drives = {drives}\nservers = {shared}\n{logs}"
                );
                let scenario = design(&text("2016", 3, &storage));
                assert_eq!(scenario.servers.len(), shared);
                let drives = scenario.arrays[0].design.arrays()[0].drives.len();
                assert!(drives >= 2 * shared, "{drives}");
            }
        }
    }
}

#[test]
fn real_storage_is_a_scenario_for_run() {
    let org = organisation(&text(
        "2019",
        1,
        "luns = [\"/mnt/a\", \"/mnt/b\"]\nlog_luns = [\"/mnt/c\"]\n",
    ));
    let scenario = size(&org).scenario("org.toml").unwrap();
    let document = Document::new("design.toml", &scenario, Path::new("/")).unwrap();
    let test = document.test(&[]).unwrap();
    assert!(test.instances[0].log.starts_with("/mnt/c"));
    assert_eq!(test.mailboxes.unwrap().count, 1200);
}

#[test]
fn without_storage_there_is_no_design() {
    let org = organisation(&text("2019", 1, ""));
    let refused = size(&org).scenario("org.toml").unwrap_err().to_string();
    assert!(refused.contains("names neither drives nor folders"), "{refused}");
}

#[test]
fn limits_are_told() {
    let org = organisation(
        &text("2019", 1, "")
            .replace("[mailboxes]", "databases = 2\nrestore_within = \"30min\"\n[mailboxes]"),
    );
    let sizing = size(&org);
    let failed: Vec<&str> =
        sizing.findings.iter().filter(|finding| !finding.holds).map(|finding| finding.id).collect();
    assert_eq!(failed, ["database-size", "restore-time"]);
    // What is not decided is decided so that it holds.
    let org = organisation(
        &text("2019", 1, "").replace("[mailboxes]", "restore_within = \"30min\"\n[mailboxes]"),
    );
    assert!(size(&org).holds());
}

#[test]
fn more_failures_than_copies_are_not_survived() {
    let of = |copies: u32, shared: u32| {
        let text = text("2016", 3, &format!("servers = {shared}\n"));
        let text = text.replace("copies = 2", &format!("copies = {copies}\nfailures = 2"));
        let org = organisation(&text);
        size(&org).findings.iter().find(|finding| finding.id == "copies-left").unwrap().holds
    };
    assert_eq!([of(1, 1), of(1, 3), of(2, 1), of(3, 1)], [false, true, false, true]);
}
