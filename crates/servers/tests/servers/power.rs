//! File systems of servers: their power is cut, and they are full.

use std::fs;
use std::path::Path;

use brunt_servers::{Cut, Format, MailFsync, MailSystem, Part, Plan, Relay, ServerError, Store};

use crate::client::{deliver, subjects};
use crate::others::has_cyrus;
use crate::{folder, has_dovecot, has_postfix, plan, skip};

const VOLUME: u64 = 256 << 20;

/// Mounts and loop devices of this machine and of this thread that name `home`.
fn mounts_of(home: &Path) -> Vec<String> {
    let home = home.to_string_lossy().into_owned();
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let images = devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let mounts = ["/proc/self/mounts", "/proc/thread-self/mounts"].map(fs::read_to_string);
    let mounts = mounts.map(Result::unwrap).join("");
    let lines = mounts.lines().map(str::to_owned).chain(images);
    lines.filter(|line| line.contains(&home)).collect()
}

/// Whether file systems can be mounted here; else the test called `name` is skipped.
fn mounts(name: &str, system: Result<MailSystem, ServerError>) -> Option<MailSystem> {
    match system {
        Ok(mut system) => {
            system.start().unwrap();
            Some(system)
        }
        Err(why) => {
            skip(name, &why.to_string());
            None
        }
    }
}

#[test]
fn a_cut_takes_what_was_not_synced_and_nothing_else() {
    let name = "power::a_cut_takes_what_was_not_synced_and_nothing_else";
    for (fsync, left) in [(MailFsync::Never, 0), (MailFsync::Optimized, 5)] {
        if !has_dovecot(name) {
            return;
        }
        let home = folder();
        let store = Store::Dovecot { format: Format::Sdbox, fsync };
        let plan = Plan { store, relay: None, users: 3 };
        let made = MailSystem::make_on_volumes(&home.path().join("servers"), &plan, VOLUME);
        let Some(mut system) = mounts(name, made) else {
            return;
        };
        let account = system.accounts().iter().next().unwrap().clone();
        let at = system.addresses();
        for number in 0..5 {
            let reply = deliver(at.lmtp, "LHLO", &[&account], &number.to_string());
            assert!(reply[0].starts_with("250 "), "{reply:?}");
        }
        assert_eq!(system.cut_power(&[Part::Store]).unwrap(), Cut { lost_unsynced: true });
        assert!(system.is_gone(Part::Store));
        system.start_part(Part::Store).unwrap();
        assert_eq!(subjects(at.imap, &account).len(), left);
        system.stop().unwrap();
        drop(system);
        assert_eq!(mounts_of(home.path()), [""; 0]);
        // What is left is there for whoever opens it again.
        let mut system = MailSystem::open(&home.path().join("servers")).unwrap();
        system.start().unwrap();
        assert_eq!(subjects(system.addresses().imap, &account).len(), left);
    }
}

#[test]
fn cyrus_comes_back_after_a_cut() {
    let name = "power::cyrus_comes_back_after_a_cut";
    if !has_cyrus(name) {
        return;
    }
    let home = folder();
    let plan = Plan { store: Store::Cyrus, relay: None, users: 3 };
    let made = MailSystem::make_on_volumes(&home.path().join("servers"), &plan, VOLUME);
    let Some(mut system) = mounts(name, made) else {
        return;
    };
    let account = system.accounts().iter().next().unwrap().clone();
    let at = system.addresses();
    assert!(deliver(at.lmtp, "LHLO", &[&account], "one")[0].starts_with("250 "));
    assert_eq!(system.cut_power(&[Part::Store]).unwrap(), Cut { lost_unsynced: true });
    assert!(system.is_gone(Part::Store));
    system.start_part(Part::Store).unwrap();
    assert_eq!(subjects(at.imap, &account), ["one"]);
}

#[test]
fn a_queue_survives_a_cut_and_a_full_store() {
    let name = "power::a_queue_survives_a_cut_and_a_full_store";
    if !has_postfix(name) {
        return;
    }
    let home = folder();
    let plan = plan(Format::Maildir, Some(Relay::Postfix));
    let made = MailSystem::make_on_volumes(&home.path().join("servers"), &plan, VOLUME);
    let Some(mut system) = mounts(name, made) else {
        return;
    };
    let at = system.addresses();
    let accounts: Vec<_> = system.accounts().iter().cloned().collect();
    system.fill(Part::Store).unwrap();
    let reply = deliver(at.smtp.unwrap(), "EHLO", &[&accounts[0]], "one");
    assert!(reply[0].starts_with("250 "), "{reply:?}");
    let refused = deliver(at.lmtp, "LHLO", &[&accounts[1]], "two");
    assert!(refused[0].starts_with("45"), "{refused:?}");
    assert_eq!(system.cut_power(&[Part::Relay]).unwrap(), Cut { lost_unsynced: true });
    system.start_part(Part::Relay).unwrap();
    let waiting = system.drain(std::time::Duration::from_millis(1)).unwrap();
    assert_eq!(waiting.deliveries, 1);
    system.free(Part::Store).unwrap();
    assert!(system.drain(std::time::Duration::from_secs(60)).unwrap().is_empty());
    assert_eq!(subjects(at.imap, &accounts[0]), ["one"]);
    drop(system);
    assert_eq!(mounts_of(home.path()), [""; 0]);
}
