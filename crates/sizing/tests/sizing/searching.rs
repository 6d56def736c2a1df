//! A search finds what trying everything finds.

use brunt_scenario::LogPlace;
use brunt_sizing::search::search;
use brunt_sizing::size;

use super::organisation;

const ORG: &str = "[profile]\nversion = 2016\n[org]\nservers = 2\ncopies = 2\nfailures = 1\n\
    [mailboxes]\ncount = 3000\nquota = \"1 GiB\"\nmessages_per_day = 150\n\
    [search]\ndrives = [\"savvio-10k6-900-sas\", \"constellation2-1000-nlsas\", \"nvme-ssd-1920\"]\ngroup_max = 12\n";
const PRICES: &str = "[price]\narray = 1000\nshelf = 100\nshelf_drives = 12\n\
    drives = { \"savvio-10k6-900-sas\" = 300, \"constellation2-1000-nlsas\" = 90, \"nvme-ssd-1920\" = 2000 }\n";

#[test]
fn every_candidate_holds_and_costs_what_it_says() {
    let org = organisation(&format!("{ORG}{PRICES}"));
    let found = search(&org);
    assert!(found.candidates.len() > 20, "{}", found.candidates.len());
    for candidate in &found.candidates {
        let applied = candidate.applied(&org);
        let sizing = size(&applied);
        assert!(sizing.holds(), "{}: {:?}", candidate.words(), sizing.findings);
        let drives = sizing.sheet.get("drives");
        assert_eq!(drives, f64::from(u32::try_from(candidate.drives).unwrap()));
        let each = match candidate.block.drive.value {
            "savvio-10k6-900-sas" => 300.0,
            "constellation2-1000-nlsas" => 90.0,
            _ => 2000.0,
        };
        let arrays = sizing.sheet.get("arrays");
        let shelves = (drives / arrays / 12.0).ceil() * arrays;
        let price = drives * each + shelves * 100.0 + arrays * 1000.0;
        assert_eq!(candidate.price, Some(price), "{}", candidate.words());
        assert_ne!(candidate.block.logs, LogPlace::Beside, "two copies");
    }
    let prices: Vec<f64> = found.candidates.iter().filter_map(|one| one.price).collect();
    assert!(prices.is_sorted(), "{prices:?}");
}

/// What is known better of a drive counts in a search as well.
#[test]
fn a_drive_keeps_the_figures_of_the_organisation() {
    let own = "[storage]\ndrive = \"constellation2-1000-nlsas\"\ndrive_io_per_s = 60\ndrive_size = \"900 GB\"\nlevel = \"raid10\"\ngroup_drives = 4\nlog_level = \"raid1\"\nlog_drives = 2\n";
    let org = organisation(&ORG.replace("[search]", &format!("{own}[search]")));
    for candidate in search(&org).candidates {
        let is_own = candidate.block.drive.value == "constellation2-1000-nlsas";
        assert_eq!(candidate.block.drive_io_per_s.is_some(), is_own);
        assert_eq!(candidate.block.drive_size.is_some(), is_own);
    }
}

/// A hand-written loop over groups finds no cheaper one.
#[test]
fn nothing_better_is_missed() {
    let org = organisation(ORG);
    let best = search(&org).candidates[0].drives;
    for drive in ["savvio-10k6-900-sas", "constellation2-1000-nlsas", "nvme-ssd-1920"] {
        for (level, step, least) in
            [("raid10", 2, 2), ("raid5", 1, 3), ("raid6", 1, 4), ("pool", 1, 11)]
        {
            for drives in (least..=12).step_by(step) {
                for logs in ["logs = \"swapped\"\n", "log_level = \"raid1\"\nlog_drives = 2\n"] {
                    for databases in [4, 12] {
                        let text = ORG.replace(
                            "failures = 1\n",
                            &format!("failures = 1\ndatabases = {databases}\n"),
                        );
                        let storage = format!(
                            "[storage]\ndrive = \"{drive}\"\nlevel = \"{level}\"\ngroup_drives = {drives}\n{logs}"
                        );
                        let org = organisation(&format!("{text}{storage}"));
                        let sizing = size(&org);
                        if sizing.holds() {
                            assert!(
                                sizing.sheet.count("drives") >= best,
                                "{storage}: {}",
                                sizing.sheet.count("drives")
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_for_sale_is_not_found() {
    let org = organisation(&format!(
        "{ORG}{}",
        PRICES.replace("\"constellation2-1000-nlsas\" = 90, ", "")
    ));
    let found = search(&org);
    assert!(
        found.candidates.iter().all(|one| one.block.drive.value != "constellation2-1000-nlsas")
    );
}

#[test]
fn three_copies_may_have_logs_beside_databases() {
    let org = organisation(&ORG.replace("servers = 2\ncopies = 2", "servers = 3\ncopies = 3"));
    let found = search(&org);
    assert!(found.candidates.iter().any(|one| one.block.logs == LogPlace::Beside));
}

#[test]
fn where_nothing_holds_nothing_is_found() {
    let org = organisation(
        &ORG.replace("failures = 1\n", "failures = 1\nrestore_within = \"1s\"\ndatabases = 2\n"),
    );
    let found = search(&org);
    assert!(found.tried > 100 && found.candidates.is_empty());
}
