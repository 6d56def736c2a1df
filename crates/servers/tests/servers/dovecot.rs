//! Dovecot alone: mail goes in by LMTP and comes out by IMAP, whatever becomes of the server.

use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brunt_servers::{Format, MailSystem, Part, Service};

use crate::client::{deliver, logs_in, recipient, subjects};
use crate::{folder, has_dovecot, plan, processes_of, started};

#[test]
fn what_was_accepted_is_there_after_a_kill() {
    if !has_dovecot("dovecot::what_was_accepted_is_there_after_a_kill") {
        return;
    }
    for format in [Format::Sdbox, Format::Maildir, Format::Mdbox] {
        let home = folder();
        let mut system = started(home.path(), &plan(format, None));
        let at = system.addresses();
        let accounts: Vec<_> = system.accounts().iter().cloned().collect();
        let replies = deliver(at.lmtp, "LHLO", &[&accounts[1], &accounts[2]], "one");
        assert!(replies.iter().all(|reply| reply.starts_with("250 ")), "{replies:?}");
        system.kill(Part::Store).unwrap();
        assert!(system.is_gone(Part::Store));
        assert!(TcpStream::connect(at.imap).is_err());
        system.start_part(Part::Store).unwrap();
        assert_eq!(system.addresses(), at);
        deliver(at.lmtp, "LHLO", &[&accounts[1]], "two");
        assert_eq!(subjects(at.imap, &accounts[1]), ["one", "two"]);
        assert_eq!(subjects(at.imap, &accounts[2]), ["one"]);
        assert!(system.mailboxes("u0001").unwrap().is_dir());

        system.stop().unwrap();
        assert_eq!(processes_of(home.path()), [""; 0]);
        let mut again = MailSystem::open(&home.path().join("servers")).unwrap();
        assert_eq!(again.plan(), &plan(format, None));
        again.start().unwrap();
        assert_eq!(subjects(again.addresses().imap, &accounts[1]), ["one", "two"]);
    }
}

#[test]
fn only_accounts_get_in() {
    if !has_dovecot("dovecot::only_accounts_get_in") {
        return;
    }
    let home = folder();
    let system = started(home.path(), &plan(Format::Sdbox, None));
    let at = system.addresses();
    let account = system.accounts().iter().next().unwrap();
    assert!(logs_in(at.imap, &account.name, account.password.reveal()));
    assert!(!logs_in(at.imap, &account.name, "secret"));
    assert!(recipient(at.lmtp, "LHLO", "u0002@test.invalid").starts_with("250 "));
    assert!(recipient(at.lmtp, "LHLO", "nobody@test.invalid").starts_with("550 "));
}

#[test]
fn a_service_that_was_killed_comes_back() {
    if !has_dovecot("dovecot::a_service_that_was_killed_comes_back") {
        return;
    }
    let home = folder();
    let mut system = started(home.path(), &plan(Format::Sdbox, None));
    let at = system.addresses();
    let accounts: Vec<_> = system.accounts().iter().cloned().collect();
    assert!(system.kill_service(Service::Lmtp).unwrap() > 0);
    deliver(at.lmtp, "LHLO", &[&accounts[0]], "after");
    system.freeze(Part::Store).unwrap();
    system.thaw(Part::Store).unwrap();
    assert_eq!(subjects(at.imap, &accounts[0]), ["after"]);
    let none = system.kill_service(Service::Queue).unwrap_err().to_string();
    assert_eq!(none, "the relay is not running");
    // Stopping a frozen server must not hang, and killing one must not either.
    system.freeze(Part::Store).unwrap();
    system.kill(Part::Store).unwrap();
    assert_eq!(processes_of(home.path()), [""; 0]);
}

#[test]
fn full_mailboxes_refuse_for_the_moment_and_take_mail_again() {
    if !has_dovecot("dovecot::full_mailboxes_refuse_for_the_moment_and_take_mail_again") {
        return;
    }
    for format in [Format::Sdbox, Format::Maildir, Format::Mdbox] {
        let home = folder();
        let plan = plan(format, None);
        let mut system = MailSystem::make(&home.path().join("servers"), &plan).unwrap();
        let without = system.fill_mailboxes().unwrap_err().to_string();
        assert!(without.starts_with("mailboxes of Dovecot have no limits"), "{without}");
        system.give_limits().unwrap();
        system.start().unwrap();
        let at = system.addresses();
        let accounts: Vec<_> = system.accounts().iter().cloned().collect();
        let deliver = |subject: &str| {
            deliver(at.lmtp, "LHLO", &[&accounts[1], &accounts[2]], subject).concat()
        };
        assert_eq!(deliver("one").matches("250 ").count(), 2);
        // Each change is known when the call returns, also within a second.
        for subject in ["two", "three"] {
            system.fill_mailboxes().unwrap();
            let refused = deliver("refused");
            assert_eq!(refused.matches("452 4.2.2 ").count(), 2, "{refused}");
            system.free_mailboxes().unwrap();
            let accepted = deliver(subject);
            assert_eq!(accepted.matches("250 ").count(), 2, "{accepted}");
        }
        assert_eq!(subjects(at.imap, &accounts[1]), ["one", "two", "three"]);
        assert!(recipient(at.lmtp, "LHLO", "nobody@test.invalid").starts_with("550 "));
        // A start lifts limits, and a later look at the mail needs none.
        system.fill_mailboxes().unwrap();
        system.kill(Part::Store).unwrap();
        system.start_part(Part::Store).unwrap();
        assert_eq!(deliver("four").matches("250 ").count(), 2);
        system.stop().unwrap();
        let mut again = MailSystem::open(&home.path().join("servers")).unwrap();
        again.start().unwrap();
        let found = subjects(again.addresses().imap, &accounts[2]);
        assert_eq!(found, ["one", "two", "three", "four"]);
    }
}

#[test]
fn nothing_is_left_after_a_panic() {
    if !has_dovecot("dovecot::nothing_is_left_after_a_panic") {
        return;
    }
    let home = folder();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let _system = started(home.path(), &plan(Format::Sdbox, None));
        assert!(!processes_of(home.path()).is_empty());
        panic!("a test that fails");
    }));
    let why = ended.unwrap_err();
    assert_eq!(why.downcast_ref::<&str>(), Some(&"a test that fails"));
    assert_eq!(processes_of(home.path()), [""; 0]);
}

#[test]
fn a_server_that_cannot_start_says_why() {
    if !has_dovecot("dovecot::a_server_that_cannot_start_says_why") {
        return;
    }
    let home = folder();
    let mut system = MailSystem::make(&home.path().join("servers"), &plan(Format::Sdbox, None));
    let system = system.as_mut().unwrap();
    // The passwords cannot be read any more, and neither can the key.
    std::fs::remove_file(system.home().join("dovecot/key.pem")).unwrap();
    let error = system.start().unwrap_err().to_string();
    assert!(error.starts_with("Dovecot did not start: ") && error.contains("key.pem"), "{error}");
    assert_eq!(processes_of(home.path()), [""; 0]);
}
