//! The building block of the EMC CX4-960 paper: 80,000 users on eight servers, two copies (H6918.1,
//! April 2010).
//!
//! Printed: 10,000 x 0.15 x 1.2 = 1,800 I/Os; (1,800 x 0.6 + 4 x 1,800 x 0.4) / 140 = 28.2 drives,
//! which become 30; 13,500 GB of databases and 2,030 GB of logs in groups of 2,147 GB are 7.2
//! groups, which become 8, or 40 drives. Two things are not as printed: 3,960 / 140 is 28.29, and
//! 2,030,000 logs of 1 MB are 1,982 GB of the same kind as the paper's other gigabytes.

use brunt_sizing::{Sizing, size};

use super::{GIB, is_printed, organisation};

const ORG: &str = "[profile]\nversion = 2010\n[org]\nservers = 8\ncopies = 2\nfailures = 1\ndatabases = 128\n\
    [mailboxes]\ncount = 80000\nquota = \"1 GiB\"\nmessages_per_day = 150\n\
    [storage]\ndrive = \"10k-600-fc\"\ndrive_size = \"536.75 GiB\"\nlevel = \"raid5\"\ngroup_drives = 5\nlogs = \"swapped\"\n\
    [figures]\non_disk_percent = 135\noverhead_percent = 0\nindex_percent = 0\nfree_percent = 0\nmoves_percent = 0\n\
    log_days = 7\nlogs_per_message = 0.19333333333333333\n";

fn with(sizing: &Sizing<'_>, name: &str) -> f64 {
    sizing.sheet.get(name)
}

#[test]
fn thirty_drives_for_io_and_forty_for_capacity() {
    let org = organisation(ORG);
    let sizing = size(&org);
    let get = |name: &str| with(&sizing, name);
    assert_eq!(get("block_databases"), 16.0);
    is_printed(get("mailboxes_per_database"), 625);
    is_printed(get("block_io"), 1_800);
    is_printed(get("block_drive_io"), 3_960);
    assert!((get("drives_for_io") - 28.2857).abs() < 1e-3);
    assert_eq!(get("groups_for_io") * get("group_drives"), 30.0);
    is_printed(get("group_bytes") / GIB, 2_147);
    is_printed(get("database_bytes") * 16.0 / GIB, 13_500);
    is_printed(get("logs_per_day") * 7.0 / 8.0, 2_030_000);
    let groups = get("volume_bytes") * 16.0 / get("group_bytes");
    assert!((7.15..7.25).contains(&groups), "{groups}");
    assert_eq!(get("groups_for_capacity"), 8.0);
    assert_eq!(get("groups") * get("group_drives"), 40.0);
    // Two copies: two blocks on each server, 320 drives for each copy.
    assert_eq!(get("blocks_per_server"), 2.0);
    assert_eq!(get("drives_per_server") * 8.0, 640.0);
    assert!(sizing.holds(), "{:?}", sizing.findings);
}

#[test]
fn faster_drives_and_other_levels_follow_the_formula() {
    for (level, drives, group, expected) in [
        ("raid10", "cheetah-15k6-450-sas", 4, 2_520.0 / 180.0),
        ("raid6", "10k-600-fc", 6, 5_400.0 / 140.0),
        ("raid5", "constellation2-1000-nlsas", 5, 3_960.0 / 75.0),
    ] {
        let text = ORG
            .replace("drive_size = \"536.75 GiB\"\n", "")
            .replace("10k-600-fc", drives)
            .replace("group_drives = 5", &format!("group_drives = {group}"))
            .replace("level = \"raid5\"", &format!("level = \"{level}\""));
        let org = organisation(&text);
        let found = with(&size(&org), "drives_for_io");
        assert!((found - expected).abs() < 1e-6, "{level}: {found}, not {expected}");
    }
}

#[test]
fn a_block_is_rounded_up_to_whole_groups() {
    for group_drives in 3..=8_u32 {
        let org = organisation(
            &ORG.replace("group_drives = 5", &format!("group_drives = {group_drives}")),
        );
        let sizing = size(&org);
        let (drives, groups) = (with(&sizing, "drives_for_io"), with(&sizing, "groups_for_io"));
        let taken = groups * f64::from(group_drives);
        assert!(taken >= drives && taken - drives < f64::from(group_drives));
        assert!(with(&sizing, "groups") >= groups);
    }
}
