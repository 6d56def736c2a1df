//! Nothing is written outside the folder of the servers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brunt_servers::{Format, Part, Relay};

use crate::client::deliver;
use crate::{folder, has_postfix, plan, started};

/// Where packages of mail servers keep their files.
const PLACES: [&str; 10] = [
    "/etc",
    "/run",
    "/var/lib",
    "/var/spool",
    "/var/log",
    "/var/mail",
    "/var/run",
    "/var/tmp",
    "/root",
    "/home",
];
const NAMES: [&str; 4] = ["dovecot", "postfix", "mail", "aliases"];

/// Every file in the places of mail servers, with length and the time of its last change.
fn files() -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut found = BTreeMap::new();
    for place in PLACES {
        walk(Path::new(place), 0, &mut found);
    }
    found
}

fn walk(folder: &Path, depth: u32, found: &mut BTreeMap<PathBuf, (u64, i64, i64)>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Ok(status) = fs::symlink_metadata(&path) else {
            continue;
        };
        let text = path.to_string_lossy();
        if NAMES.iter().any(|name| text.contains(name)) {
            found.insert(path.clone(), (status.len(), status.mtime(), status.mtime_nsec()));
        }
        if status.is_dir() && depth < 4 {
            walk(&path, depth + 1, found);
        }
    }
}

#[test]
fn nothing_outside_the_folder_is_touched() {
    if !has_postfix("outside::nothing_outside_the_folder_is_touched") {
        return;
    }
    let before = files();
    assert!(before.keys().any(|path| path.starts_with("/etc/postfix")));
    let home = folder();
    let mut system = started(home.path(), &plan(Format::Sdbox, Some(Relay::Postfix)));
    let account = system.accounts().iter().next().unwrap().clone();
    deliver(system.addresses().smtp.unwrap(), "EHLO", &[&account], "one");
    system.drain(std::time::Duration::from_secs(60)).unwrap();
    system.kill(Part::Store).unwrap();
    system.start_part(Part::Store).unwrap();
    system.stop().unwrap();
    let after = files();
    let changed: Vec<_> = after.iter().filter(|(path, at)| before.get(*path) != Some(at)).collect();
    assert!(changed.is_empty(), "{changed:?}");
    let removed: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    assert!(removed.is_empty(), "{removed:?}");
}
