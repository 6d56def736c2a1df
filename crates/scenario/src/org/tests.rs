//! Organisations as people write them.

use std::path::Path;

use super::*;
use crate::{Document, Override};

const KNOWN: [FigureKey; 2] = [
    FigureKey { name: "free_percent", quantity: Quantity::Part, is_divisor: false },
    FigureKey { name: "log_bytes", quantity: Quantity::Bytes, is_divisor: true },
];

const GOOD: &str = "[profile]\nversion = 2016\n[org]\nservers = 4\ncopies = 2\nfailures = 1\nrestore_within = \"4h\"\n\
    [[tier]]\ncount = 1000\nquota = \"2 GiB\"\nmessages_per_day = 100\n\
    [[tier]]\nname = \"heavy\"\ncount = 100\nquota = \"10 GB\"\nio_per_s = 0.2\n\
    [storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\nlogs = \"swapped\"\n\
    [array.cache]\nwrite = \"1 GiB\"\n[figures]\nfree_percent = 5\n";

fn read(text: &str) -> Result<Organisation, Refusal> {
    Document::new("o.toml", text, Path::new("/")).unwrap().organisation(&[], &KNOWN)
}

/// Lines and sentences of everything that is wrong.
fn said(text: &str) -> Vec<String> {
    let document = Document::new("o.toml", text, Path::new("/")).unwrap();
    let mistakes = document.check_organisation(&[], &KNOWN).mistakes;
    let line = |mistake: &Refusal| match mistake.place().number() {
        Some(line) => format!("{line}: {}", mistake.what()),
        None => mistake.what().to_owned(),
    };
    mistakes.iter().map(line).collect()
}

#[test]
fn an_organisation_is_read() {
    let org = read(GOOD).unwrap();
    assert_eq!(org.version, Version::Exchange2016);
    assert_eq!((org.servers.value, org.copies.value), (4, 2));
    let names: Vec<&str> = org.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["tier 1", "heavy"]);
    let block = org.storage.block.unwrap();
    assert_eq!((block.group.drives, block.logs), (8, LogPlace::Swapped));
    assert_eq!(org.array["cache"]["write"].as_str(), Some("1 GiB"));
    assert_eq!(org.figures[0].1.value, 5.0);
    assert_eq!(said(GOOD), [""; 0]);
}

#[test]
fn every_mistake_is_named_at_once() {
    let text = "[profile]\nversion = 2012\n[org]\nservers = 2\ncopies = 3\n[mailboxes]\ncount = 0\nquota = 2\n\
                messages_per_day = -1\n[storage]\ndrive = \"savio-10k6-900-sas\"\nlevel = \"raid5\"\ngroup_drives = 2\n\
                [array]\nspares = 2\n[array.cache]\nhigh = 300\n[figures]\nfree_percent = 300\nfre_percent = 3\n";
    assert_eq!(
        said(text),
        [
            "2: unknown version",
            "5: 3 copies of a database need as many servers, and there are 2",
            "7: no mailboxes need no storage",
            "8: a size has a unit",
            "9: is not above zero",
            "11: there is no such drive model",
            "15: unknown key `spares` in [array]",
            "17: not between 1 and 100",
            "19: is more than 95",
            "20: unknown key `fre_percent` in [figures]",
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(said("[org]\n"), ["the scenario lacks `mailboxes`", "1: lacks `servers`"]);
    let lacks = "[org]\nservers = 1\n[mailboxes]\ncount = 5\nquota = \"1 GiB\"\n";
    assert_eq!(said(lacks), ["3: lacks `messages_per_day`"]);
}

#[test]
fn a_flag_replaces_a_value() {
    let document = Document::new("o.toml", GOOD, Path::new("/")).unwrap();
    let set = |text: &str| {
        let set = [Override::of_set(text).unwrap()];
        document.organisation(&set, &KNOWN).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(set("org.servers=8").unwrap().servers.value, 8);
    assert_eq!(set("tier.1.count=7").unwrap().tiers[1].count.value, 7);
    let refused = set("org.failures=4").unwrap_err();
    assert_eq!(refused, "`--set org.failures=4`: leaves no server\n  at most 3");
}

#[test]
fn another_scenario_is_no_organisation() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    assert!(refused("[test]\n").starts_with("o.toml: the scenario lacks `org`\n"));
    let both = refused("[org]\nservers = 1\n[test]\n");
    assert!(both.contains("`test` has no place in an organisation to be sized"), "{both}");
    let test = Document::new("o.toml", GOOD, Path::new("/")).unwrap().modelled_test(&[]);
    let said = test.err().unwrap().to_string();
    assert!(said.contains("brunt size o.toml --write design.toml"), "{said}");
}

#[test]
fn a_group_has_to_be_possible() {
    let odd = GOOD.replace("group_drives = 8", "group_drives = 7");
    assert_eq!(said(&odd), ["20: RAID 10 cannot be built of 7 drives: it needs an even number"]);
    let logs = GOOD.replace("logs = \"swapped\"", "log_level = \"raid1\"");
    assert_eq!(said(&logs), ["17: lacks `log_drives`"]);
}

#[test]
fn nothing_is_divided_by_zero() {
    let zero = GOOD.replace("free_percent = 5", "log_bytes = \"0 B\"");
    assert_eq!(said(&zero), ["25: is not above zero"]);
}

#[test]
fn versions_of_today_are_on_drives_of_today_unless_others_are_named() {
    let text = GOOD.replace("drive = \"savvio-10k6-900-sas\"\n", "");
    let drive = read(&text).unwrap().storage.block.unwrap().drive.value;
    assert_eq!(drive, "exos-7e10-8000-nlsas");
    assert_eq!(said(&text.replace("version = 2016", "version = 2013")), ["17: lacks `drive`"]);
}
