//! Odd organisations are sized, or refused in words: nothing panics, and no figure is infinite.

use std::path::Path;

use brunt_scenario::{Document, Override};
use brunt_sizing::{explain, export, keys, size, unused, words};

const ORG: &str = "[profile]\nversion = 2016\n[org]\nservers = 3\ncopies = 2\nfailures = 1\n\
    [mailboxes]\ncount = 1000\nquota = \"1 GiB\"\nmessages_per_day = 100\n\
    [storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\nlog_level = \"raid1\"\nlog_drives = 2\n";

/// Whether it was sized; asserts that all of it is finite and can be told.
fn is_sized(sets: &[&str]) -> bool {
    let document = Document::new("org.toml", ORG, Path::new("/")).unwrap();
    let sets: Vec<Override> = sets.iter().map(|set| Override::of_set(set).unwrap()).collect();
    let Ok(org) = document.organisation(&sets, &keys()) else {
        return false;
    };
    let sizing = size(&org);
    for entry in sizing.sheet.entries() {
        assert!(entry.value.is_finite(), "{sets:?}: {} = {}", entry.name, entry.value);
    }
    let told =
        explain::explanation(&sizing) + &words::head(&sizing) + &words::demand(&sizing).to_text();
    assert!(!told.contains("NaN") && !told.contains("inf "), "{sets:?}: {told}");
    assert!(export::csv(&sizing).lines().count() > 50);
    let _ = sizing.scenario("org.toml");
    true
}

#[test]
fn a_figure_that_the_version_does_not_use_is_refused() {
    let refused = |version: &str, set: &str| {
        let text = ORG.replace("2016", version);
        let document = Document::new("org.toml", &text, Path::new("/")).unwrap();
        let org = document.organisation(&[Override::of_set(set).unwrap()], &keys());
        unused(&org.unwrap()).map(|refusal| refusal.to_string())
    };
    assert_eq!(refused("2016", "figures.io_per_message=0.01"), None);
    assert_eq!(refused("2016", "figures.server_cores=8"), None);
    let said = refused("2007", "figures.io_per_message=0.01").unwrap();
    assert!(said.contains("is not used for Exchange 2007"), "{said}");
    let said = refused("2007", "figures.server_cores=8").unwrap();
    assert!(said.contains("megacycles_per_mailbox"), "{said}");
}

#[test]
fn extremes_are_sized() {
    for sets in [
        &["mailboxes.count=1", "mailboxes.quota=1B", "mailboxes.messages_per_day=0.001"][..],
        &[
            "mailboxes.count=100000000",
            "mailboxes.quota=100TiB",
            "mailboxes.messages_per_day=100000",
        ],
        &["mailboxes.io_per_s=1000000000"],
        &["mailboxes.message_size=1B"],
        &["mailboxes.message_size=1GiB"],
        &["org.databases=100000"],
        &["org.databases=1"],
        &["org.restore_within=1ms"],
        &["org.servers=256", "org.copies=16", "org.failures=255"],
        &["storage.drive_size=1B"],
        &["storage.drive_io_per_s=0.001"],
        &["storage.servers=3"],
        &["storage.spares=4096"],
        &[
            "figures.free_percent=95",
            "figures.headroom_percent=1000",
            "figures.growth_percent=1000",
        ],
        &["figures.database_bytes_max=1B"],
    ] {
        assert!(is_sized(sets), "{sets:?}");
    }
}

/// Every figure at zero, at one, and at the most: sized, or refused.
#[test]
fn every_figure_may_be_odd() {
    let mut sized = 0;
    for key in keys() {
        for value in ["0", "1", "1000000000", "0B", "16EiB", "10000d", "x"] {
            let set = format!("figures.{}={value}", key.name);
            sized += usize::from(is_sized(&[set.as_str()]));
        }
    }
    assert!(sized > 60, "{sized}");
}

#[test]
fn what_has_no_sense_is_refused() {
    for set in [
        "storage.drive_io_per_s=1e-308",
        "figures.server_cores=1e-308",
        "figures.megacycles_per_core=1e-9",
        "figures.database_bytes_max=0B",
    ] {
        assert!(!is_sized(&[set]), "{set}");
    }
}
