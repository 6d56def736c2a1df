//! Whole courses: what is sent, cut, refused and found again.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;

use brunt_load::{
    Account, Accounts, Course, CourseError, Drain, Endpoint, Finished, Keep, KeepError, Login,
    Pace, Patience, Protocol, Queue, Reading, Secret, Sending, Stop, TroubleKind, run,
};
use brunt_mail::{
    Fault, FaultKind, FolderBreach, Ledger, Mailing, MailingOptions, Outcome, Terms, Verdict,
};
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

use super::server::{Bad, Server};

/// Keeps the ledger in memory.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) RefCell<Vec<u8>>);

impl Keep for Memory {
    fn append(&self, bytes: &[u8]) -> Result<(), KeepError> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }
}

pub(crate) fn accounts(count: u32) -> Rc<Accounts> {
    let account = |number: u32| Account {
        address: format!("u{number}@test.invalid"),
        user: format!("u{number}"),
        secret: Secret::new("hunter2"),
    };
    Rc::new(Accounts::new((0..count).map(account).collect()).unwrap())
}

/// A course of 200 messages to ten accounts.
pub(crate) fn course(seed: u64, [post, imap]: [SocketAddr; 2], protocol: Protocol) -> Course {
    let accounts = accounts(10);
    let mut options = MailingOptions::new(7, seed, 1_795_751_190, accounts.addresses());
    options.sizes.most = 8 << 10;
    let mailing = Rc::new(Mailing::new(options).unwrap());
    Course {
        mailing,
        accounts,
        trust: None,
        patience: Patience::default(),
        sending: Sending::new(Endpoint::new(post, protocol), 200),
        users: None,
        disturbance: None,
        drain: Drain::Nothing,
        reading: Reading::new(Endpoint::new(imap, Protocol::Imap)),
        terms: Terms::default(),
        keep: Rc::new(Memory::default()),
    }
}

pub(crate) fn protocol(is_lmtp: bool) -> Protocol {
    if is_lmtp { Protocol::Lmtp } else { Protocol::Smtp }
}

/// Runs a course against a server with these bad days.
fn finish(
    bad: Bad,
    is_lmtp: bool,
    change: impl FnOnce(&mut Course, &Server, &Stop) + 'static,
) -> Finished {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    made.executor.block_on(async move {
        let server = Server::new(&world, bad, is_lmtp);
        let addresses = server.start("127.0.0.1").await;
        let mut course = course(5, addresses, protocol(is_lmtp));
        let stop = Stop::default();
        change(&mut course, &server, &stop);
        run(&world, course, &stop).await.unwrap()
    })
}

fn plain(bad: Bad, is_lmtp: bool) -> Finished {
    finish(bad, is_lmtp, |_, _, _| {})
}

fn count(finished: &Finished, outcome: Outcome) -> u64 {
    finished.audited.counts.of(outcome)
}

fn trouble(finished: &Finished, kind: TroubleKind) -> u64 {
    finished.errors.get(kind).map_or(0, |noted| noted.count)
}

#[test]
fn an_honest_server_passes_over_both_protocols() {
    for is_lmtp in [false, true] {
        let finished = plain(Bad::default(), is_lmtp);
        assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
        assert_eq!(finished.sent.messages, 200);
        assert_eq!(count(&finished, Outcome::Found), finished.sent.accepted);
        assert!(finished.sent.accepted > 400, "{}", finished.sent.accepted);
        assert_eq!((finished.sent.sessions, finished.sent.answers.count()), (8, 200));
        assert!(finished.errors.is_empty(), "{:?}", finished.errors);
    }
}

#[test]
fn logins_may_take_several_questions() {
    let finished = finish(Bad { asks: true, ..Bad::default() }, false, |course, _, _| {
        let endpoint = course.sending.endpoint.clone();
        course.sending.endpoint = endpoint.with_login(Login::Best);
    });
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(finished.errors.is_empty(), "{:?}", finished.errors);
}

#[test]
fn what_was_cut_in_the_text_was_not_sent() {
    for is_lmtp in [false, true] {
        let bad = Bad { cut_in_text: Some(3), ..Bad::default() };
        let finished = plain(bad, is_lmtp);
        assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
        assert!(count(&finished, Outcome::NotSent) > 50, "{:?}", finished.audited.counts);
        assert_eq!(count(&finished, Outcome::UnansweredAbsent), 0);
        let cuts = trouble(&finished, TroubleKind::Closed) + trouble(&finished, TroubleKind::Reset);
        assert!((40..=55).contains(&cuts), "{:?}", finished.errors);
        assert!(finished.sent.sessions > 40);
        let cut = finished.conversations.troubled().next().expect("the first cut");
        let number = *cut.messages.last().expect("it is about a message");
        assert!(cut.lines.iter().any(|line| line.ends_with(&format!("-- message {number}"))));
        assert!(cut.lines.last().expect("why it ended").contains("connection"), "{:?}", cut.lines);
    }
}

#[test]
fn what_was_cut_after_the_dot_is_unanswered() {
    let bad = Bad { cut_after_dot: Some(5), ..Bad::default() };
    let finished = plain(bad, true);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(count(&finished, Outcome::UnansweredPresent) >= 40, "{:?}", finished.audited.counts);
    assert_eq!(count(&finished, Outcome::NotSent), 0);
}

#[test]
fn refusals_are_kept_with_their_codes() {
    let refused = |code| {
        let bad = Bad { refuse: Some((7, code)), ..Bad::default() };
        plain(bad, false)
    };
    let finished = refused(450);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(count(&finished, Outcome::Refused) > 50);
    assert!(trouble(&finished, TroubleKind::RefusedForNow) > 50);
    let noted = finished.errors.get(TroubleKind::RefusedForNow).expect("refused");
    assert_eq!(noted.first_line, "450 4.2.0 not now");
    let finished = refused(550);
    assert_eq!(finished.audited.verdict(), Verdict::Fail);
    assert!(count(&finished, Outcome::RefusedForGood) > 50);
}

#[test]
fn a_storm_of_refusals_slows_senders_down() {
    let finished = plain(Bad { refuse: Some((1, 451)), ..Bad::default() }, false);
    assert_eq!(finished.audited.verdict(), Verdict::CannotTell);
    assert_eq!((finished.sent.messages, finished.sent.accepted), (200, 0));
    let noted = finished.errors.get(TroubleKind::RefusedForNow).expect("refused");
    assert_eq!((noted.count, noted.first_line.as_str()), (200, "451 4.2.0 not now"));
    // Eight senders with 25 messages each: the waits of each grow to five seconds.
    let took = finished.sent.until.since(finished.sent.from);
    assert!(took > Span::seconds(40) && took < Span::seconds(150), "{took}");
}

#[test]
fn limits_on_connections_and_on_messages_are_named_and_waited_for() {
    let finished = plain(Bad { most_sessions: Some(3), ..Bad::default() }, true);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    let noted = finished.errors.get(TroubleKind::GreetingRefused).expect("sent away");
    assert_eq!(noted.first_line, "421 4.7.0 too many connections from 127.0.0.1");
    assert_eq!(finished.sent.messages, 200);
    let finished = plain(Bad { most_messages: Some(10), ..Bad::default() }, false);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    let noted = finished.errors.get(TroubleKind::RefusedForNow).expect("put off");
    assert_eq!(noted.first_line, "450 4.7.1 rate limit of u1 exceeded");
    assert!(count(&finished, Outcome::Refused) > 100, "{:?}", finished.audited.counts);
}

#[test]
fn a_full_mailbox_is_a_refusal_and_no_broken_promise() {
    let finished = plain(Bad { full: Some(10), ..Bad::default() }, true);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(count(&finished, Outcome::Refused) >= 20, "{:?}", finished.audited.counts);
    let noted = finished.errors.get(TroubleKind::RefusedForGood).expect("refused");
    assert_eq!(noted.first_line, "552 5.2.2 mailbox is full");
}

#[test]
fn lies_are_named() {
    let finished = plain(Bad { drop: Some(50), ..Bad::default() }, true);
    assert_eq!(finished.audited.verdict(), Verdict::Fail);
    let lost = count(&finished, Outcome::Lost);
    assert!(lost >= 4, "{:?}", finished.audited.counts);
    assert_eq!(finished.audited.findings.len() as u64, lost);
    let number = finished.audited.findings.last().expect("the last loss").number;
    assert!(finished.conversations.about(number).is_some() || number < 190, "{number}");
    let finished = plain(Bad { double: Some(50), ..Bad::default() }, false);
    assert!(count(&finished, Outcome::Doubled) >= 4, "{:?}", finished.audited.counts);
}

#[test]
fn inboxes_whose_uidvalidity_changes_fail_the_run() {
    let finished = plain(Bad { renumbers: true, ..Bad::default() }, true);
    assert_eq!(finished.audited.verdict(), Verdict::Fail);
    assert_eq!(finished.audited.folders.len(), 10, "{:?}", finished.audited.folders);
    let breaches = finished.audited.folders.iter();
    assert!(breaches.clone().all(|(_, breach)| *breach == FolderBreach::Validity(1, 2)));
    assert_eq!(count(&finished, Outcome::Found), finished.sent.accepted);
}

#[test]
fn a_server_that_stalls_is_left_after_a_while() {
    let finished = plain(Bad { stall: Some(100), ..Bad::default() }, false);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert_eq!(trouble(&finished, TroubleKind::NoAnswer), 2, "{:?}", finished.errors);
    assert!(count(&finished, Outcome::UnansweredPresent) >= 2);
    assert!(finished.sent.until.since(finished.sent.from) >= Patience::default().accept);
}

#[test]
fn a_mailbox_that_cannot_be_read_is_no_loss() {
    let finished = plain(Bad { poison: Some(3), ..Bad::default() }, true);
    // Message 3 of each mailbox breaks the connection: unreadable, and nothing else is.
    assert_eq!(count(&finished, Outcome::Lost), 0);
    assert_eq!(finished.audited.unreadable, 10, "{:?}", finished.audited);
    assert_eq!(count(&finished, Outcome::Unreadable), 10, "{:?}", finished.audited.counts);
    assert!(finished.audited.unread.is_empty());
    let finished = plain(Bad { no_batches: true, ..Bad::default() }, true);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(trouble(&finished, TroubleKind::CommandRefused) >= 10);
}

#[test]
fn asked_to_stop_it_audits_what_was_sent() {
    let finished =
        finish(Bad { stall: Some(20), ..Bad::default() }, false, |course, server, stop| {
            course.sending.pace = Pace::PerSecond(10.0);
            let (world, stop) = (server.world.clone(), stop.clone());
            drop(server.world.spawner.spawn(async move {
                world.sleep(Span::seconds(5)).await;
                stop.ask();
            }));
        });
    assert!(finished.stopped_at.is_some_and(|at| at >= Time::ZERO + Span::seconds(5)));
    assert!((40..=55).contains(&finished.sent.messages), "{}", finished.sent.messages);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(count(&finished, Outcome::UnansweredPresent) > 0);
    let took = finished.sent.until.since(finished.sent.from);
    assert!(took < Span::seconds(12), "{took:?}");
}

#[test]
fn a_paced_course_keeps_its_times() {
    let finished = finish(Bad::default(), true, |course, _, _| {
        course.sending.pace = Pace::PerSecond(20.0);
        course.sending.messages = None;
        course.sending.time = Some(Span::seconds(10));
    });
    assert!((199..=201).contains(&finished.sent.messages), "{}", finished.sent.messages);
    assert_eq!(finished.audited.verdict(), Verdict::Pass);
}

/// A queue that holds so many messages, one fewer each time it is asked.
struct Shrinking(std::cell::Cell<u64>);

impl Queue for Shrinking {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        Box::pin(std::future::ready(Some(left)))
    }
}

/// A queue that answers once.
struct Silent(std::cell::Cell<Option<u64>>);

impl Queue for Silent {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(std::future::ready(self.0.take()))
    }
}

#[test]
fn it_waits_for_the_queue_and_not_longer_than_the_deadline() {
    let drained = |queue: Rc<dyn Queue>, deadline| {
        let finished =
            finish(Bad { drop: Some(50), ..Bad::default() }, false, move |course, _, _| {
                course.drain = Drain::Queue {
                    queue,
                    every: Span::seconds(1),
                    deadline: Span::seconds(deadline),
                };
            });
        let lost = count(&finished, Outcome::Lost);
        (finished.drained.queue, finished.drained.took, lost > 0, finished.audited.verdict())
    };
    let shrinking = |waiting| Rc::new(Shrinking(std::cell::Cell::new(waiting)));
    let empty = brunt_mail::Queue::Empty;
    assert_eq!(drained(shrinking(3), 60), (empty, Span::seconds(4), true, Verdict::Fail));
    let holds = brunt_mail::Queue::Holds(90);
    assert_eq!(drained(shrinking(100), 10), (holds, Span::seconds(10), false, Verdict::CannotTell));
    // What it held when it answered last is still owed.
    let silent = Rc::new(Silent(std::cell::Cell::new(Some(7))));
    let holds = brunt_mail::Queue::Holds(7);
    assert_eq!(drained(silent, 10), (holds, Span::seconds(10), false, Verdict::CannotTell));
}

#[test]
fn a_server_that_is_killed_and_restarted_loses_only_connections() {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    let finished = made.executor.block_on(async move {
        let process = world.spawner.group();
        let life = World { spawner: process.clone(), ..world.clone() };
        let server = Server::new(&life, Bad::default(), true);
        let addresses = server.start("127.0.0.1").await;
        let mut course = course(5, addresses, Protocol::Lmtp);
        let kept = Rc::new(Memory::default());
        course.keep = Rc::<Memory>::clone(&kept);
        let (own, store) = (world.clone(), Rc::clone(&server.store));
        course.disturbance = Some(Box::new(move |progress| {
            Box::pin(async move {
                assert!(progress.reached(100).await);
                let from = own.clock.now();
                process.end_group();
                own.sleep(Span::seconds(1)).await;
                let mut server = Server::new(&own, Bad::default(), true);
                server.store = store;
                server.listen_again(addresses).await;
                let until = own.clock.now();
                let in_flight = progress.in_flight();
                progress.fault(Fault { kind: FaultKind::Kill, from, until, in_flight });
            })
        }));
        let stop = Stop::default();
        let finished = run(&world, course, &stop).await.unwrap();
        let ledger = kept.0.borrow();
        let found = Ledger::read(ledger.as_slice()).expect("the ledger can be read");
        let (mailing, read) = (found.mailing, found.ledger);
        assert_eq!((read.has_ended(), read.messages()), (true, finished.messages));
        assert_eq!(read.faults().len(), 1);
        assert_eq!(mailing.run, 7);
        finished
    });
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    let cut = [Outcome::NotSent, Outcome::UnansweredAbsent, Outcome::UnansweredPresent];
    let cut: u64 = cut.into_iter().map(|outcome| count(&finished, outcome)).sum();
    assert!(cut > 0, "{:?}", finished.audited.counts);
    assert!(trouble(&finished, TroubleKind::ConnectionRefused) > 0, "{:?}", finished.errors);
    assert!(finished.sent.sessions > 8);
}

#[test]
fn equal_seeds_give_equal_courses() {
    let digest = || {
        let mut made = VirtualWorld::new(VirtualOptions::new(3));
        let (world, machine) = (made.world.clone(), made.machine.clone());
        made.executor.block_on(async move {
            let bad = Bad { cut_after_dot: Some(9), refuse: Some((11, 450)), ..Bad::default() };
            let server = Server::new(&world, bad, true);
            let addresses = server.start("127.0.0.1").await;
            let course = course(5, addresses, Protocol::Lmtp);
            let finished = run(&world, course, &Stop::default()).await.unwrap();
            (format!("{:?}", finished.audited.counts), finished.errors, machine.digest())
        })
    };
    assert_eq!(digest(), digest());
}

#[test]
fn a_ledger_that_cannot_be_kept_ends_the_run() {
    struct Full;
    impl Keep for Full {
        fn append(&self, _: &[u8]) -> Result<(), KeepError> {
            Err(KeepError("no space".to_owned()))
        }
    }
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world: World = made.world.clone();
    let (error, messages) = made.executor.block_on(async move {
        let server = Server::new(&world, Bad::default(), true);
        let addresses = server.start("127.0.0.1").await;
        let mut course = course(5, addresses, Protocol::Lmtp);
        course.keep = Rc::new(Full);
        let error = run(&world, course, &Stop::default()).await.unwrap_err();
        (error, server.messages.get())
    });
    assert_eq!(error, CourseError::Keep(KeepError("no space".to_owned())));
    assert_eq!(messages, 0);
}
