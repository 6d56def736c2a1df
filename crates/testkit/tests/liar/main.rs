//! The judge is judged: an honest server passes whatever is cut and killed, and every lie is named
//! with the number of its message.
//!
//! `BRUNT_LONG=1` runs a thousand honest seeds instead of thirty, and lies at a rate of 1 in 10^5.

mod client;
mod user;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::rc::Rc;

use brunt_mail::{
    Audit, Audited, Fault, FaultKind, FolderBreach, Folders, Ledger, Mailing, MailingOptions,
    Message, Outcome, Queue, Sizes, Terms, Verdict,
};
use brunt_testkit::liar::{LMTP, Liar, LiarOptions, Lie, SMTP, Told, Which};
use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world_virtual::{Cores, Host, LinkOptions, VirtualLink, VirtualOptions, VirtualWorld};
use client::{Senders, read_mailboxes, tell};
use user::Users;

const BEGAN: u64 = 1_795_751_195;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

#[derive(Clone)]
struct Run {
    seed: u64,
    port: u16,
    messages: u32,
    lies: Vec<(Lie, Which)>,
    /// Times at which the server is killed or frozen.
    kills: u32,
    cuts_per_million: u64,
    refusals_per_thousand: u64,
    unfinished_percent: u32,
    /// Messages that the server makes up.
    invented: Vec<u32>,
    limit: Option<Span>,
    delivery: Span,
    /// Users change what they have.
    changes: bool,
    /// Two sessions of this account are compared.
    watches: Option<u32>,
}

impl Run {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            port: if seed.is_multiple_of(2) { SMTP } else { LMTP },
            messages: 150,
            lies: Vec::new(),
            kills: 0,
            cuts_per_million: 0,
            refusals_per_thousand: 0,
            unfinished_percent: 0,
            invented: Vec::new(),
            limit: None,
            delivery: Span::millis(5),
            changes: false,
            watches: None,
        }
    }

    /// Everything that may go wrong without a lie.
    fn rough(seed: u64) -> Self {
        Self {
            kills: 3,
            cuts_per_million: 4000,
            refusals_per_thousand: 20,
            unfinished_percent: 3,
            changes: true,
            ..Self::new(seed)
        }
    }

    fn start(self) -> (Audited, Vec<Told>) {
        let ends = [CLIENT, SERVER].map(IpAddr::from);
        let options = LinkOptions { delay: Span::micros(200), ..LinkOptions::default() };
        let links = vec![VirtualLink { ends, options }];
        let mut made =
            VirtualWorld::new(VirtualOptions { links, ..VirtualOptions::new(self.seed) });
        let host = |name: &str, address: [u8; 4]| {
            Host::new(&made.machine, &made.world, name, address.into(), Cores::Unlimited)
        };
        let hosts = [host("client", CLIENT), host("server", SERVER)];
        let below = made.world.clone();
        made.executor.block_on(self.play(below, hosts))
    }

    async fn play(self, below: brunt_world::World, hosts: [Host; 2]) -> (Audited, Vec<Told>) {
        let [client, mut server] = hosts;
        let random = Streams::new(self.seed).part("run");
        let names = (0..12).map(|account| format!("u{account:04}@test.invalid"));
        let accounts: Vec<_> = names.map(|name| (name, "secret".to_owned())).collect();
        let addresses = accounts.iter().map(|(address, _)| address.clone()).collect();
        let mailing = Rc::new(
            Mailing::new(MailingOptions {
                sizes: Sizes { least: 400, most: 4000 },
                ..MailingOptions::new(7, self.seed, BEGAN, addresses)
            })
            .unwrap(),
        );
        let liar = Liar::new(LiarOptions {
            lies: self.lies,
            cuts_per_million: self.cuts_per_million,
            refusals_per_thousand: self.refusals_per_thousand,
            delivery: self.delivery,
            ..LiarOptions::new(self.seed, BEGAN, accounts)
        });
        liar.start(server.world(), server.address()).await;
        let senders = Rc::new(Senders {
            world: client.world().clone(),
            server: server.address(),
            port: self.port,
            ledger: RefCell::new(Ledger::new(&mailing)),
            mailing: Rc::clone(&mailing),
            messages: self.messages,
            unfinished_percent: self.unfinished_percent,
        });
        let running = Rc::new(Cell::new(4));
        for number in 0..4 {
            let stream = random.named(&format!("sender/{number}"));
            let (senders, running) = (Rc::clone(&senders), Rc::clone(&running));
            drop(client.world().spawner.spawn(async move {
                senders.run(stream).await;
                running.set(running.get() - 1);
            }));
        }
        let mut stream = random.named("kills");
        for _ in 0..self.kills {
            below.sleep(Span::millis(20 + stream.below(400))).await;
            if stream.percent(30) {
                server.freeze();
                below.sleep(Span::millis(stream.below(3000))).await;
                server.thaw();
                continue;
            }
            server.kill();
            let from = below.clock.now();
            below.sleep(Span::millis(1 + stream.below(3000))).await;
            server = server.restart();
            liar.start(server.world(), server.address()).await;
            let (until, in_flight) = (below.clock.now(), liar.in_flight_max(5));
            let fault = Fault { kind: FaultKind::Kill, from, until, in_flight };
            senders.ledger.borrow_mut().fault(fault);
        }
        while running.get() > 0 || liar.queued() > 0 {
            below.sleep(Span::millis(50)).await;
        }
        for number in self.invented {
            let account = mailing.route(number).to[0];
            liar.invent(account, &Message::new(&mailing, number).collect());
        }
        let folders = change(&senders, self.changes, self.watches).await;
        // Some look early, and again when what was held for an hour is there.
        below.sleep(Span::seconds(1)).await;
        let (world, at) = (client.world(), server.address());
        let before = read_mailboxes(world, at, &mailing).await;
        below.sleep(Span::seconds(4000)).await;
        let shown = read_mailboxes(world, at, &mailing).await;
        let mut ledger = senders.ledger.replace(Ledger::new(&mailing));
        ledger.end(below.clock.now());
        let terms = Terms { limit: self.limit, ..Terms::default() };
        let mut audit = Audit::new(&mailing, ledger, terms);
        tell(&mut audit, &before, (shown, below.clock.now()));
        audit.queue(Queue::Empty);
        audit.folders(&folders);
        (audit.finish(), liar.told())
    }
}

/// Users act, and sessions are compared.
async fn change(senders: &Senders, changes: bool, watches: Option<u32>) -> Folders {
    let mut users = Users {
        world: senders.world.clone(),
        server: senders.server,
        mailing: Rc::clone(&senders.mailing),
        ledger: &senders.ledger,
        folders: Folders::default(),
    };
    if changes {
        users.run().await;
    }
    if let Some(account) = watches {
        users.watch(account).await.expect("no connection is cut");
    }
    users.folders
}

fn is_long() -> bool {
    std::env::var_os("BRUNT_LONG").is_some_and(|value| value == "1")
}

#[test]
fn honest_servers_pass_whatever_is_cut_and_killed() {
    let (mut seen, seeds) = (BTreeSet::new(), if is_long() { 1000 } else { 30 });
    for seed in 0..seeds {
        let (audited, told) = Run::rough(seed).start();
        assert!(told.is_empty());
        assert_eq!(audited.verdict(), Verdict::Pass, "seed {seed}: {:?}", audited.findings);
        assert_eq!((audited.aliens, audited.unrecorded), (0, 0));
        assert!(audited.folders.is_empty());
        seen.extend(audited.counts.iter().map(|(outcome, _)| outcome));
    }
    // Otherwise these seeds prove little.
    let all = [
        Outcome::Found,
        Outcome::Refused,
        Outcome::NotSent,
        Outcome::UnansweredAbsent,
        Outcome::UnansweredPresent,
        Outcome::ExplainedDouble,
        Outcome::Removed,
    ];
    assert_eq!(seen, all.into());
}

/// What an audit must say about a lie.
fn outcome(told: &Told) -> Outcome {
    match told.lie {
        Lie::Drop => Outcome::Lost,
        Lie::Double => Outcome::Doubled,
        Lie::Alter | Lie::Cut => Outcome::Changed,
        Lie::Misfile => Outcome::Misplaced,
        Lie::OtherUser => Outcome::Misdelivered,
        Lie::Hold(_) => Outcome::Late,
        Lie::RefuseAndDeliver => Outcome::RefusedButDelivered,
        Lie::DeliverUnfinished => Outcome::NotSentButDelivered,
        Lie::Invent => Outcome::NeverSentButDelivered,
        other => panic!("{other:?} is no lie about a delivery"),
    }
}

/// Runs, and holds every finding against every lie, with number and account.
fn every_lie_is_named(run: Run) -> usize {
    let seed = run.seed;
    let (audited, told) = run.start();
    let told = told.iter().map(|told| (outcome(told), told.number.unwrap(), told.account));
    let told: BTreeSet<_> = told.collect();
    let found = audited.findings.iter().map(|found| (found.outcome, found.number, found.account));
    let found: BTreeSet<_> = found.collect();
    let differing: Vec<_> = found.symmetric_difference(&told).take(9).collect();
    assert!(differing.is_empty(), "seed {seed}: {differing:?}");
    let verdict = if told.is_empty() { Verdict::Pass } else { Verdict::Fail };
    assert_eq!(audited.verdict(), verdict, "seed {seed}");
    told.len()
}

const DELIVERED: [Lie; 7] = [
    Lie::Drop,
    Lie::Double,
    Lie::Alter,
    Lie::Cut,
    Lie::Misfile,
    Lie::OtherUser,
    Lie::Hold(Span::seconds(3600)),
];

#[test]
fn every_lie_about_a_delivery_is_named() {
    for lie in DELIVERED {
        for seed in 0..6 {
            let limit = Some(Span::seconds(4));
            let lies = vec![(lie, Which::PerMillion(20_000))];
            let named = every_lie_is_named(Run { lies, limit, ..Run::new(seed) });
            assert!(named > 0, "{lie:?} is not told with seed {seed}");
        }
    }
}

#[test]
fn one_lie_about_one_message_is_named() {
    for (seed, lie) in (100..).zip(DELIVERED) {
        let limit = Some(Span::seconds(4));
        let lies = vec![(lie, Which::Message(77))];
        assert!(every_lie_is_named(Run { lies, limit, ..Run::new(seed) }) > 0);
    }
}

#[test]
fn a_refusal_that_delivers_is_named() {
    for seed in 0..6 {
        let lies = vec![(Lie::RefuseAndDeliver, Which::PerMillion(30_000))];
        assert!(every_lie_is_named(Run { lies, ..Run::new(seed) }) > 0);
    }
}

#[test]
fn a_message_that_was_not_sent_to_its_end_and_is_delivered_is_named() {
    for seed in 0..6 {
        let lies = vec![(Lie::DeliverUnfinished, Which::PerMillion(500_000))];
        assert!(every_lie_is_named(Run { lies, unfinished_percent: 5, ..Run::new(seed) }) > 0);
    }
}

#[test]
fn a_message_that_nobody_sent_is_named() {
    let invented = vec![4711, 4712];
    assert_eq!(every_lie_is_named(Run { invented, ..Run::new(1) }), 2);
}

#[test]
fn replies_that_are_one_off_are_named() {
    let lies = vec![(Lie::ShiftReplies, Which::PerMillion(50_000))];
    for seed in [1, 3, 5, 7] {
        let (audited, told) = Run { lies: lies.clone(), ..Run::new(seed) }.start();
        assert!(told.len() > 3);
        // The first recipient seems to have it, and the last one not.
        let pairs = told
            .chunks(2)
            .flat_map(|pair| [(Outcome::Lost, &pair[0]), (Outcome::RefusedButDelivered, &pair[1])]);
        let expected = pairs.map(|(outcome, told)| (outcome, told.number.unwrap(), told.account));
        let found = audited.findings.iter().map(|it| (it.outcome, it.number, it.account));
        assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect());
    }
}

#[test]
fn lies_are_named_in_a_rough_run_as_well() {
    for seed in 0..10 {
        let lies =
            vec![(Lie::Drop, Which::PerMillion(10_000)), (Lie::Alter, Which::PerMillion(10_000))];
        let (audited, told) = Run { lies, ..Run::rough(seed) }.start();
        let found = audited.findings.iter().map(|it| (it.number, it.account));
        let (found, told): (BTreeSet<_>, BTreeSet<_>) = (
            found.collect(),
            told.iter().map(|told| (told.number.unwrap(), told.account)).collect(),
        );
        // What is dropped and was never answered is no lie that anybody can see, and one of two
        // copies that is dropped is a copy fewer. Nothing that was not told is found.
        assert!(found.is_subset(&told), "seed {seed}: {:?}", audited.findings);
        assert!(!found.is_empty() || told.len() < 3, "seed {seed}");
    }
}

#[test]
fn one_lie_in_a_hundred_thousand_is_named() {
    let messages = if is_long() { 200_000 } else { 2_000 };
    let lies = DELIVERED.map(|lie| (lie, Which::PerMillion(if is_long() { 10 } else { 200 })));
    let limit = Some(Span::seconds(4));
    let delivery = Span::micros(50);
    let run = Run { lies: lies.into(), messages, limit, delivery, ..Run::new(8) };
    assert!(every_lie_is_named(run) > 0);
}

/// Users change what they have; returns what was found and told, by message and account.
fn changing(seed: u64, lie: Lie) -> (Audited, BTreeSet<(u32, u32)>) {
    let lies = vec![(lie, Which::PerMillion(400_000))];
    let (audited, told) = Run { lies, changes: true, ..Run::new(seed) }.start();
    let told: BTreeSet<_> =
        told.iter().map(|told| (told.number.unwrap_or(0), told.account)).collect();
    assert!(told.len() > 2, "{lie:?} is not told");
    (audited, told)
}

#[test]
fn every_lie_about_a_change_is_named() {
    for (lie, outcomes) in [
        // A forgotten \\Deleted leaves a message that is to be removed.
        (Lie::ForgetFlag, &[Outcome::ForgottenFlag, Outcome::Resurrected][..]),
        (Lie::Resurrect, &[Outcome::Resurrected]),
        (Lie::DropAppend, &[Outcome::Lost]),
    ] {
        for seed in 0..4 {
            let (audited, told) = changing(seed, lie);
            assert_eq!(audited.verdict(), Verdict::Fail);
            let found = audited.findings.iter();
            let is_right = found.clone().all(|found| outcomes.contains(&found.outcome));
            assert!(is_right, "{lie:?}: {:?}", audited.findings);
            let found: BTreeSet<_> = found.map(|found| (found.number, found.account)).collect();
            assert_eq!(found, told, "{lie:?}, seed {seed}");
        }
    }
}

#[test]
fn a_folder_that_begins_anew_is_named() {
    let (audited, told) = changing(1, Lie::ChangeUidValidity);
    let found = audited.folders.iter().map(|(place, breach)| {
        assert_eq!((place.folder, *breach), (0, FolderBreach::Validity(7, 8)));
        (0, place.account)
    });
    assert_eq!(found.collect::<BTreeSet<_>>(), told);
    assert_eq!(audited.verdict(), Verdict::Fail);
}

#[test]
fn a_session_that_is_not_told_of_a_message_is_named() {
    for lies in [vec![], vec![(Lie::SkipExists, Which::First)]] {
        let is_honest = lies.is_empty();
        let (audited, told) = Run { lies, watches: Some(3), ..Run::new(2) }.start();
        let breaches: Vec<_> = audited.folders.iter().map(|(place, _)| place.account).collect();
        assert_eq!((breaches.len(), told.len()), if is_honest { (0, 0) } else { (1, 1) });
        assert!(breaches.iter().all(|account| *account == 3));
        assert_eq!(audited.verdict() == Verdict::Pass, is_honest);
    }
}
