//! The block of the EMC CX3-20 paper: 700 users, Exchange 2007, iSCSI (ESRP-Storage 2.0, May 2007).
//!
//! Printed: two databases in a RAID 1/0 group of four drives, both logs in another one, a RAID 5
//! group of five for backups to disk, a spare: 14 drives. The profile is 0.42 I/Os, printed with
//! headroom as 0.5 (it is 0.504), and database LUNs of 120 GB hold 100 GB. Not to be derived: 250
//! mailboxes in a store (700 in two are 350), 100 GB of databases in all (the reports have 206 GB).

use brunt_sizing::size;

use super::{GIB, is_printed, organisation};

const ORG: &str = "[profile]\nversion = \"2007-08.01\"\n[org]\nservers = 1\ndatabases = 2\n\
    [mailboxes]\ncount = 700\nquota = \"250 MiB\"\nio_per_s = 0.42\n\
    [storage]\ndrive = \"cheetah-15k5-146-fc\"\nlevel = \"raid10\"\ngroup_drives = 4\nlog_level = \"raid10\"\nlog_drives = 4\n\
    backup_level = \"raid5\"\nbackup_drives = 5\nspares = 1\n\
    [figures]\non_disk_percent = 100\nindex_percent = 0\nfree_percent = 14.56\n";

#[test]
fn fourteen_drives_as_in_the_paper() {
    let org = organisation(ORG);
    let sizing = size(&org);
    let get = |name: &str| sizing.sheet.get(name);
    assert!((get("io_all") * 1.2 - 352.8).abs() < 1e-9, "printed as 0.5 a mailbox: 350");
    is_printed(get("mailboxes_per_database"), 350);
    // 350 x 250 MB and 20 % for tables: 102.5 GiB, of the 100 GB that are printed.
    is_printed(get("database_bytes") / GIB, 103);
    is_printed(get("database_volume_bytes") / GIB, 120);
    assert!((get("block_drive_io") - 352.8 * 1.5).abs() < 1e-9);
    assert!((get("drives_for_io") - 2.94).abs() < 1e-9);
    assert_eq!((get("groups"), get("group_drives")), (1.0, 4.0));
    assert_eq!((get("log_groups"), get("log_drives")), (1.0, 4.0));
    assert_eq!((get("backup_groups"), get("backup_drives")), (1.0, 5.0));
    // The printed backup LUN of 547 GB is what four of these drives hold.
    let backup = get("backup_data_drives") * get("drive_bytes") / 1e9;
    assert!((547.0..590.0).contains(&backup), "{backup}");
    assert_eq!(get("drives"), 14.0);
    assert_eq!(get("spares"), 1.0);
}

#[test]
fn the_design_has_the_groups_of_the_paper() {
    let org = organisation(ORG);
    let text = size(&org).scenario("org.toml").unwrap();
    let table: toml::Table = text.parse().unwrap();
    let array = &table["array"];
    let groups = array["group"].as_array().unwrap().iter();
    let groups: Vec<(&str, i64)> = groups
        .map(|group| (group["name"].as_str().unwrap(), group["drives"].as_integer().unwrap()))
        .collect();
    assert_eq!(groups, [("databases 1", 4), ("logs 1", 4), ("backups 1", 5)]);
    assert_eq!(array["spares"].as_integer(), Some(1));
    assert_eq!(array["drives"][0]["count"].as_integer(), Some(14));
}
