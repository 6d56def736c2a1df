//! Courses against the liar: honest ones pass through kills and cuts, and each lie is named.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;

use brunt_load::{
    Account, Accounts, Course, Drain, Endpoint, Finished, Patience, Protocol, Queue, Reading,
    Secret, Sending, Stop, Users, Watch, run,
};
use brunt_mail::{
    Fault, FaultKind, Mailing, MailingOptions, Outcome, Routing, Sizes, Terms, Verdict,
};
use brunt_testkit::liar::{IMAP, LMTP, Liar, LiarOptions, Lie, SMTP, Told, Which};
use brunt_units::Span;
use brunt_users::{Day, Dispatch, Profile, Until};
use brunt_world::random::Streams;
use brunt_world::{Net, Reply, SocketId, World};
use brunt_world_virtual::{Cores, Host, LinkOptions, VirtualLink, VirtualOptions, VirtualWorld};

use super::bad_days::parrot_at;
use super::course::Memory;

const BEGAN: u64 = 1_795_751_195;
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Lets a client reach the server under a loopback address, where passwords need no TLS.
struct Forwarded(Rc<dyn Net>);

impl Net for Forwarded {
    fn listen(&self, at: SocketAddr) -> Reply<(SocketId, SocketAddr)> {
        self.0.listen(at)
    }
    fn accept(&self, listener: SocketId) -> Reply<(SocketId, SocketAddr)> {
        self.0.accept(listener)
    }
    fn connect(&self, to: SocketAddr) -> Reply<SocketId> {
        assert!(to.ip().is_loopback());
        self.0.connect(SocketAddr::new(SERVER.into(), to.port()))
    }
    fn read(&self, connection: SocketId, at_most: usize) -> Reply<Vec<u8>> {
        self.0.read(connection, at_most)
    }
    fn write(&self, connection: SocketId, bytes: Vec<u8>) -> Reply<()> {
        self.0.write(connection, bytes)
    }
    fn finish(&self, connection: SocketId) -> Reply<()> {
        self.0.finish(connection)
    }
    fn acknowledge_at_once(&self, connection: SocketId) -> bool {
        self.0.acknowledge_at_once(connection)
    }
    fn close(&self, socket: SocketId) {
        self.0.close(socket);
    }
}

/// The liar's queue, asked from outside.
struct Queued(Liar);

impl Queue for Queued {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(std::future::ready(Some(self.0.queued())))
    }
}

#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) seed: u64,
    /// Users of this profile: how long their day takes, and the run.
    pub(crate) users: Option<(&'static str, Span, Span)>,
    pub(crate) dispatch: Dispatch,
    pub(crate) until: Option<Until>,
    pub(crate) fill: u32,
    pub(crate) messages: u32,
    pub(crate) lies: Vec<(Lie, Which)>,
    pub(crate) kills: u32,
    pub(crate) cuts_per_million: u64,
    pub(crate) refusals_per_thousand: u64,
    pub(crate) cut_per_thousand: u32,
    pub(crate) watch: Option<Watch>,
    /// Waits so long at the end, instead of asking the queue.
    pub(crate) waits: Option<Span>,
    /// Takes connections that send, and never says a word.
    pub(crate) is_silent: bool,
}

impl Play {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            users: None,
            dispatch: Dispatch::WhenDue,
            until: None,
            fill: 0,
            messages: 150,
            lies: Vec::new(),
            kills: 0,
            cuts_per_million: 0,
            refusals_per_thousand: 0,
            cut_per_thousand: 0,
            watch: None,
            waits: None,
            is_silent: false,
        }
    }

    fn rough(seed: u64) -> Self {
        Self {
            kills: 3,
            cuts_per_million: 3000,
            refusals_per_thousand: 20,
            cut_per_thousand: 20,
            ..Self::new(seed)
        }
    }

    pub(crate) fn lying(seed: u64, lie: Lie, which: Which) -> Self {
        Self { lies: vec![(lie, which)], ..Self::new(seed) }
    }

    pub(crate) fn start(self) -> (Finished, Vec<Told>) {
        let link = VirtualLink {
            ends: [[127, 0, 0, 1].into(), SERVER.into()],
            options: LinkOptions { delay: Span::micros(200), ..LinkOptions::default() },
        };
        let options = VirtualOptions { links: vec![link], ..VirtualOptions::new(self.seed) };
        let mut made = VirtualWorld::new(options);
        let server = Host::new(&made.machine, &made.world, "s", SERVER.into(), Cores::Unlimited);
        let net = Rc::new(Forwarded(Rc::clone(&made.world.net)));
        let world = World { net, ..made.world.clone() };
        made.executor.block_on(self.play(world, server))
    }

    async fn play(self, world: World, server: Host) -> (Finished, Vec<Told>) {
        let account = |number: u32| Account {
            address: format!("u{number:04}@test.invalid"),
            user: format!("u{number:04}@test.invalid"),
            secret: Secret::new("secret"),
        };
        let accounts = Rc::new(Accounts::new((0..12).map(account).collect()).unwrap());
        let routing = if self.users.is_some() { Routing::ByTurn } else { Routing::Drawn };
        let mailing = MailingOptions {
            sizes: Sizes { least: 400, most: 4000 },
            routing,
            ..MailingOptions::new(7, self.seed, BEGAN, accounts.addresses())
        };
        let known = accounts.iter().map(|own| (own.address.clone(), "secret".to_owned()));
        let liar = Liar::new(LiarOptions {
            lies: self.lies.clone(),
            cuts_per_million: self.cuts_per_million,
            refusals_per_thousand: self.refusals_per_thousand,
            ..LiarOptions::new(self.seed, BEGAN, known.collect())
        });
        liar.start(server.world(), server.address()).await;
        let is_lmtp = !self.seed.is_multiple_of(2);
        let at = |port| SocketAddr::new([127, 0, 0, 1].into(), port);
        let (port, protocol) =
            if is_lmtp { (LMTP, Protocol::Lmtp) } else { (SMTP, Protocol::Smtp) };
        let entrance = match self.is_silent {
            true => at(parrot_at(server.world(), SERVER.into(), b"", false).await.port()),
            false => at(port),
        };
        let length = self.users.map(|(_, _, run)| run);
        let sending = Sending {
            sessions: 4,
            cut_per_thousand: self.cut_per_thousand,
            messages: length.is_none().then_some(self.messages),
            time: length,
            ..Sending::new(Endpoint::new(entrance, protocol), self.messages)
        };
        let users = self.users.map(|(profile, length, run)| Users {
            profile: Rc::new(Profile::built_in(profile).unwrap()),
            day: Day { length, ramp: Span::seconds(2), run },
            dispatch: self.dispatch,
            until: self.until,
            fill: self.fill,
            mailboxes: Endpoint::new(at(IMAP), Protocol::Imap),
        });
        let queue = Rc::new(Queued(liar.clone()));
        let (every, deadline) = (Span::seconds(1), Span::seconds(600));
        let disturbance = self.kills > 0;
        let course = Course {
            mailing: Rc::new(Mailing::new(mailing).unwrap()),
            accounts,
            trust: None,
            patience: Patience::default(),
            sending,
            users,
            disturbance: disturbance.then(|| self.disturbance(&world, &liar, server)),
            drain: match self.waits {
                Some(span) => Drain::Deadline(span),
                None => Drain::Queue { queue, every, deadline },
            },
            reading: Reading {
                tries: 6,
                watch: self.watch,
                ..Reading::new(Endpoint::new(at(IMAP), Protocol::Imap))
            },
            terms: Terms { limit: Some(Span::seconds(20)), ..Terms::default() },
            keep: Rc::new(Memory::default()),
        };
        let finished = run(&world, course, &Stop::default()).await.unwrap();
        (finished, liar.told())
    }

    /// Kills the server, and now and then freezes it.
    fn disturbance(&self, world: &World, liar: &Liar, server: Host) -> brunt_load::Disturbance {
        let (world, liar, kills) = (world.clone(), liar.clone(), self.kills);
        let mut stream = Streams::new(self.seed).named("kills");
        let server = RefCell::new(server);
        Box::new(move |progress| {
            Box::pin(async move {
                for round in 1..=kills {
                    progress.reached(round * 30).await;
                    if stream.percent(30) {
                        server.borrow().freeze();
                        world.sleep(Span::millis(stream.below(3000))).await;
                        server.borrow().thaw();
                        continue;
                    }
                    server.borrow().kill();
                    let from = world.clock.now();
                    world.sleep(Span::millis(1 + stream.below(3000))).await;
                    let next = server.borrow().restart();
                    server.replace(next);
                    let (life, address) =
                        (server.borrow().world().clone(), server.borrow().address());
                    liar.start(&life, address).await;
                    let (until, in_flight) = (world.clock.now(), liar.in_flight_max(5));
                    progress.fault(Fault { kind: FaultKind::Kill, from, until, in_flight });
                }
            })
        })
    }
}

fn seeds(few: u64) -> u64 {
    match std::env::var_os("BRUNT_LONG") {
        Some(long) if long == "1" => 1000,
        _ => few,
    }
}

#[test]
fn honest_servers_pass_whatever_is_cut_and_killed() {
    let mut seen = BTreeSet::new();
    for seed in 0..seeds(16) {
        let (finished, told) = Play::rough(seed).start();
        let audited = finished.audited;
        assert!(told.is_empty());
        assert_eq!(
            audited.verdict(),
            Verdict::Pass,
            "seed {seed}: {:?} {:?}",
            audited,
            finished.errors
        );
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
    ];
    assert_eq!(seen, all.into());
}

/// What an audit must say about a lie.
fn outcome(told: &Told) -> Outcome {
    match told.lie {
        Lie::Drop | Lie::Hold(_) => Outcome::Lost,
        Lie::Double => Outcome::Doubled,
        Lie::Alter | Lie::Cut => Outcome::Changed,
        Lie::Misfile => Outcome::Misplaced,
        Lie::OtherUser => Outcome::Misdelivered,
        Lie::RefuseAndDeliver => Outcome::RefusedButDelivered,
        Lie::DeliverUnfinished => Outcome::NotSentButDelivered,
        other => panic!("{other:?} is no lie about a delivery"),
    }
}

/// Runs, and holds every finding against every lie, with number and account.
fn every_lie_is_named(play: Play) -> usize {
    let seed = play.seed;
    let (finished, told) = play.start();
    let told = told.iter().map(|told| (outcome(told), told.number.unwrap(), told.account));
    let told: BTreeSet<_> = told.collect();
    let findings = finished.audited.findings.iter();
    let found: BTreeSet<_> = findings.map(|it| (it.outcome, it.number, it.account)).collect();
    let differing: Vec<_> = found.symmetric_difference(&told).take(9).collect();
    assert!(differing.is_empty(), "seed {seed}: {differing:?}");
    told.len()
}

#[test]
fn every_lie_is_named_with_its_message() {
    let lies = [
        Lie::Drop,
        Lie::Double,
        Lie::Alter,
        Lie::Cut,
        Lie::Misfile,
        Lie::OtherUser,
        Lie::RefuseAndDeliver,
    ];
    for lie in lies {
        for seed in 0..4 {
            let named = every_lie_is_named(Play::lying(seed, lie, Which::PerMillion(20_000)));
            assert!(named > 0, "{lie:?} is not told with seed {seed}");
        }
    }
    // Nobody waits for what LMTP has accepted.
    let held = Lie::Hold(Span::seconds(3600));
    assert!(every_lie_is_named(Play::lying(3, held, Which::PerMillion(20_000))) > 0);
}

#[test]
fn what_we_cut_and_it_delivers_is_named() {
    for seed in 0..4 {
        let lie = Play::lying(seed, Lie::DeliverUnfinished, Which::PerMillion(500_000));
        assert!(every_lie_is_named(Play { cut_per_thousand: 200, ..lie }) > 0, "seed {seed}");
    }
}

#[test]
fn replies_that_are_one_off_are_named() {
    let (finished, told) = Play::lying(1, Lie::ShiftReplies, Which::PerMillion(50_000)).start();
    assert!(told.len() > 3);
    let pairs = told
        .chunks(2)
        .flat_map(|pair| [(Outcome::Lost, &pair[0]), (Outcome::RefusedButDelivered, &pair[1])]);
    let expected = pairs.map(|(outcome, told)| (outcome, told.number.unwrap(), told.account));
    let found = finished.audited.findings.iter().map(|it| (it.outcome, it.number, it.account));
    assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect());
    // The conversation shows who got which reply.
    let number = told[0].number.unwrap();
    let said = finished.conversations.about(number).expect("one recipient was refused");
    assert!(said.lines.iter().any(|line| line.contains(&format!("-- message {number}"))));
}

#[test]
fn watched_mail_is_seen_when_it_arrives() {
    let every_one = Watch { one_in: 1, every: Span::millis(1) };
    for seed in 0..2 {
        let (finished, _) = Play { watch: Some(every_one), ..Play::new(seed) }.start();
        let watched = finished.watched.expect("every mailbox is watched");
        assert_eq!((watched.mailboxes, watched.seen), (12, finished.sent.accepted));
        assert_eq!(watched.visible.count(), watched.seen);
        assert_eq!(watched.told.count(), watched.seen);
        // Mail waits in the queue of SMTP; LMTP has none.
        let limit = if seed == 0 { Span::seconds(3) } else { Span::millis(10) };
        let most = watched.visible.max().expect("some were seen");
        assert!(most < limit, "seed {seed}: {most:?}");
        // The liar looks every so often whether there is something to tell, as Dovecot does.
        let most = watched.told.max().expect("some were told");
        assert!(most < limit + Span::millis(500), "seed {seed}: {most:?}");
        assert!(finished.errors.is_empty(), "{:?}", finished.errors);
    }
    let (finished, _) = Play { watch: Some(Watch::default()), ..Play::new(0) }.start();
    assert_eq!(finished.watched.expect("one is watched").mailboxes, 1);
    let (finished, _) = Play { watch: Some(every_one), ..Play::rough(2) }.start();
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
}

#[test]
fn mail_that_is_held_back_is_late_where_it_is_watched() {
    let held = Lie::Hold(Span::seconds(60));
    let play = Play {
        watch: Some(Watch { one_in: 1, every: Span::millis(50) }),
        waits: Some(Span::seconds(200)),
        ..Play::lying(3, held, Which::PerMillion(20_000))
    };
    let (finished, told) = play.start();
    let told: BTreeSet<_> = told.iter().map(|it| (it.number.unwrap(), it.account)).collect();
    let findings = finished.audited.findings.iter();
    let late = findings.map(|it| {
        assert_eq!(it.outcome, Outcome::Late, "{it:?}");
        (it.number, it.account)
    });
    assert_eq!(late.collect::<BTreeSet<_>>(), told);
    assert!(!told.is_empty());
    let most = finished.watched.expect("watched").visible.max().expect("seen");
    assert!(most >= Span::seconds(60) && most < Span::seconds(62), "{most:?}");
}

#[test]
fn a_server_that_does_not_tell_is_seen_to_be_silent() {
    let play = Play::lying(1, Lie::SkipExists, Which::PerMillion(1_000_000));
    let every_one = Watch { one_in: 1, every: Span::millis(5) };
    let (finished, told) = Play { watch: Some(every_one), ..play }.start();
    assert!(!told.is_empty());
    let watched = finished.watched.expect("watched");
    assert!(watched.seen < finished.sent.accepted, "{}", watched.seen);
    assert!(watched.told.count() < finished.sent.accepted);
}
