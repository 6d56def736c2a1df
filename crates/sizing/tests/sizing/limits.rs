//! Limits of logs on groups of their own, of servers that share an array, and what follows from
//! them.

use brunt_sizing::search::search;
use brunt_sizing::{Servers, Sizing, size};

use super::organisation;

const MAIL: &str = "[mailboxes]\ncount = 9000\nquota = \"2 GiB\"\nmessages_per_day = 100\n[profile]\nversion = 2010\n";
const DRIVES: &str = "drive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\n";

fn holds(sizing: &Sizing<'_>, id: &str) -> bool {
    let mut all = sizing.findings.iter();
    let found = all.find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("no finding {id}")).holds
}

#[test]
fn a_log_group_holds_a_whole_log() {
    let text = |log_drives: u32| {
        format!(
            "{MAIL}[org]\nservers = 1\ndatabases = 20\n[storage]\n{DRIVES}log_level = \"raid10\"\nlog_drives = {log_drives}\n\
             drive_size = \"2 GB\"\n"
        )
    };
    let (narrow, wide) = (organisation(&text(2)), organisation(&text(64)));
    assert!(!holds(&size(&narrow), "logs-in-group"));
    assert!(holds(&size(&wide), "logs-in-group"));
    assert!(holds(&size(&wide), "log-io-in-group"));
    let slow = organisation(&format!("{}drive_io_per_s = 1\n", text(2)));
    assert!(!holds(&size(&slow), "log-io-in-group"));
}

#[test]
fn a_search_finds_only_designs_that_hold_their_logs() {
    let text = format!(
        "{MAIL}[org]\nservers = 4\n[storage]\n[search]\ndrives = [\"cheetah-10k7-72-fc\"]\nlevels = [\"raid10\"]\n"
    );
    let org = organisation(&text);
    for candidate in search(&org).candidates {
        let applied = candidate.applied(&org);
        assert!(holds(&size(&applied), "database-in-group"));
        if candidate.logs() == "pairs" {
            assert!(holds(&size(&applied), "logs-in-group"));
        }
    }
}

#[test]
fn one_copy_moves_only_to_servers_on_the_same_array() {
    let sized = |servers: u32, shared: u32, failures: u32| {
        let org = organisation(&format!(
            "{MAIL}[org]\nservers = {servers}\nfailures = {failures}\ndatabases = 40\n[storage]\n{DRIVES}servers = {shared}\n"
        ));
        let sizing = size(&org);
        (sizing.sheet.count("active_after_failures"), holds(&sizing, "copies-left"))
    };
    assert_eq!(sized(4, 2, 0), (10, true));
    assert_eq!(sized(4, 2, 1), (20, true));
    assert_eq!(sized(4, 4, 1), (14, true));
    // Both servers of an array are lost, or the only one of the last array.
    assert!(!sized(4, 2, 2).1);
    assert!(!sized(5, 2, 1).1);
}

#[test]
fn logs_beside_a_pool_have_spares() {
    let spares = |log: &str| {
        let org = organisation(&format!(
            "{MAIL}[org]\nservers = 1\n[storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"pool\"\ngroup_drives = 24\n{log}"
        ));
        size(&org).sheet.count("spares")
    };
    assert_eq!(spares(""), 0);
    assert_eq!(spares("log_level = \"raid1\"\nlog_drives = 2\n"), 1);
}

#[test]
fn a_page_file_ends_at_32778_mb_from_2013_on() {
    let page_file = |version: u32| {
        let org = organisation(&format!(
            "{}[org]\nservers = 1\n[storage]\n{DRIVES}",
            MAIL.replace("2010", &version.to_string()).replace("count = 9000", "count = 900000")
        ));
        size(&org).sheet.count("page_file_bytes")
    };
    assert_eq!(page_file(2013), 32_778 << 20);
    assert!(page_file(2010) > 32_778 << 20);
}

#[test]
fn headroom_that_a_test_cannot_have_is_in_its_mailboxes() {
    let rate = |percent: u32| {
        let org = organisation(&format!(
            "{MAIL}[org]\nservers = 4\n[storage]\n{DRIVES}[figures]\nheadroom_percent = {percent}\n"
        ));
        let text = size(&org).scenario("org.toml").unwrap();
        let design: toml::Table = text.parse().unwrap();
        let of = |table: &str, key: &str| design[table][key].clone();
        let headroom = of("test", "headroom_percent").as_integer().unwrap();
        (of("mailboxes", "io_per_s").as_float().unwrap(), headroom)
    };
    let (usual, more) = (rate(100), rate(300));
    assert_eq!((usual.1, more.1), (100, 100));
    assert!((more.0 / usual.0 - 2.0).abs() < 1e-4, "{usual:?} {more:?}");
}

#[test]
fn a_server_has_no_more_cores_and_memory_than_its_version_supports() {
    let text = |version: &str, servers: u32, more: &str| {
        organisation(&format!(
            "[profile]\nversion = {version}\n[org]\nservers = {servers}\ncopies = 4\nfailures = 1\n\
             [mailboxes]\ncount = 12000\nquota = \"10 GiB\"\nmessages_per_day = 200\n[storage]\n{DRIVES}{more}"
        ))
    };
    let judged = |org: &_| {
        let sizing = size(org);
        ["cores-supported", "memory-supported"].map(|id| holds(&sizing, id))
    };
    // 44 cores and 201 GiB for each of four servers.
    assert_eq!(judged(&text("2016", 4, "")), [false, false]);
    assert_eq!(judged(&text("2019", 4, "")), [true, false]);
    assert_eq!(judged(&text("2016", 16, "")), [true, true]);
    // What each has counts, if it is given.
    let figures = "[figures]\nserver_cores = 32\nserver_memory_bytes = \"64 GiB\"\n";
    assert_eq!(judged(&text("2016", 16, figures)), [false, true]);
    assert!(!holds(&size(&text("2019", 16, figures)), "memory-least"));
    assert!(holds(&size(&text("2016", 16, figures)), "memory-least"));
    let known_nothing = size(&text("2010", 4, "")).findings;
    assert!(known_nothing.iter().all(|finding| finding.id != "cores-supported"));
}

#[test]
fn the_fewest_servers_that_fit_are_said() {
    let org = |version: &str, servers: u64, more: &str| {
        organisation(&format!(
            "[profile]\nversion = {version}\n[org]\nservers = {servers}\ncopies = 4\nfailures = 1\n\
             [mailboxes]\ncount = 12000\nquota = \"10 GiB\"\nmessages_per_day = 200\n[storage]\n{DRIVES}{more}"
        ))
    };
    let fit = |servers, more: &str| size(&org("2016", servers, more)).servers_that_fit();
    let Some(Servers::Fit(fewest, reduced)) = fit(4, "") else {
        panic!("{:?}", fit(4, ""));
    };
    // 44 cores of at most 24, with a quarter more for the server that fails.
    assert!((6..=10).contains(&fewest), "{fewest}");
    assert_eq!(reduced, []);
    assert!(size(&org("2016", fewest, "")).holds());
    assert!(!size(&org("2016", fewest - 1, "")).holds());
    assert_eq!(fit(fewest, ""), None);
    // Servers that the version does not support are no way out.
    let large = "[figures]\nserver_cores = 48\nserver_memory_bytes = \"1 TiB\"\n";
    let gib = |number: u64| (number << 30) as f64;
    let reduced = vec![("server_cores", 24.0), ("server_memory_bytes", gib(192))];
    assert_eq!(fit(4, large), Some(Servers::Fit(fewest, reduced)));
    // Where something else is too large, servers do not help, and that is why.
    let Some(Servers::None(broken)) = fit(4, "drive_size = \"100 GB\"\n") else {
        panic!("small drives fit");
    };
    assert_eq!(broken.id, "database-in-group");
}
