//! Postfix before Dovecot: what it accepted arrives, also when one of them is killed.

use std::time::Duration;

use brunt_servers::{Format, Part, Relay, Service};

use crate::client::{deliver, offers, recipient, subjects};
use crate::{folder, has_postfix, plan, processes_of, started};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_queue_survives_its_relay_and_waits_for_its_store() {
    if !has_postfix("relayed::a_queue_survives_its_relay_and_waits_for_its_store") {
        return;
    }
    let home = folder();
    let mut system = started(home.path(), &plan(Format::Sdbox, Some(Relay::Postfix)));
    let at = system.addresses();
    let smtp = at.smtp.unwrap();
    let accounts: Vec<_> = system.accounts().iter().cloned().collect();
    deliver(smtp, "EHLO", &[&accounts[0]], "one");
    assert!(system.drain(PATIENCE).unwrap().is_empty());
    assert_eq!(subjects(at.imap, &accounts[0]), ["one"]);

    system.kill(Part::Store).unwrap();
    let reply = deliver(smtp, "EHLO", &[&accounts[0], &accounts[1]], "two");
    assert!(reply[0].starts_with("250 "), "{reply:?}");
    system.kill(Part::Relay).unwrap();
    assert!(system.is_gone(Part::Relay));
    assert_eq!(system.queue().unwrap().deliveries, 2);
    system.start_part(Part::Relay).unwrap();
    let waiting = system.drain(Duration::from_millis(1)).unwrap();
    assert_eq!((waiting.messages, waiting.deliveries), (1, 2));

    system.start_part(Part::Store).unwrap();
    assert!(system.drain(PATIENCE).unwrap().is_empty());
    assert_eq!(subjects(at.imap, &accounts[0]), ["one", "two"]);
    assert_eq!(subjects(at.imap, &accounts[1]), ["two"]);
    assert_eq!(system.kill_service(Service::Queue).unwrap(), 1);
    deliver(smtp, "EHLO", &[&accounts[2]], "three");
    assert!(system.drain(PATIENCE).unwrap().is_empty());
    assert_eq!(subjects(at.imap, &accounts[2]), ["three"]);
    system.stop().unwrap();
    assert_eq!(processes_of(home.path()), [""; 0]);
}

#[test]
fn no_mail_leaves_the_machine() {
    if !has_postfix("relayed::no_mail_leaves_the_machine") {
        return;
    }
    let home = folder();
    let system = started(home.path(), &plan(Format::Sdbox, Some(Relay::Postfix)));
    let at = system.addresses();
    for address in ["someone@example.org", "root", "root@localhost"] {
        let reply = recipient(at.smtp.unwrap(), "EHLO", address);
        assert!(!reply.starts_with('2'), "{address}: {reply}");
    }
    let offered = offers(at.submission.unwrap());
    assert!(offered.contains("STARTTLS") && offered.contains("AUTH PLAIN"), "{offered}");
    let configuration = std::fs::read_to_string(system.home().join("postfix/etc/main.cf")).unwrap();
    let exits = configuration.lines().filter(|line| line.contains("_transport = error:"));
    assert_eq!(exits.count(), 3);
}

#[test]
fn two_systems_do_not_meet() {
    if !has_postfix("relayed::two_systems_do_not_meet") {
        return;
    }
    let homes = [folder(), folder()];
    let systems = homes
        .each_ref()
        .map(|home| started(home.path(), &plan(Format::Sdbox, Some(Relay::Postfix))));
    for (number, system) in systems.iter().enumerate() {
        let account = system.accounts().iter().next().unwrap();
        for _ in 0..5 {
            deliver(system.addresses().smtp.unwrap(), "EHLO", &[account], &number.to_string());
        }
    }
    for (number, system) in systems.iter().enumerate() {
        assert!(system.drain(PATIENCE).unwrap().is_empty());
        let account = system.accounts().iter().next().unwrap();
        let found = subjects(system.addresses().imap, account);
        assert_eq!(found, vec![number.to_string(); 5]);
    }
    drop(systems);
    for home in &homes {
        assert_eq!(processes_of(home.path()), [""; 0]);
    }
}
