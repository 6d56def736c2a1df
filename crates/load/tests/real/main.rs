//! The same courses in the real world, against Dovecot and Postfix. Without them they are skipped
//! by name.

use std::cell::RefCell;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::pin::Pin;
use std::rc::Rc;

use brunt_load::{
    Account, Accounts, Anchor, Course, Disturbance, Drain, Endpoint, Finished, Keep, KeepError,
    Login, Patience, Protocol, Queue, Reading, Secret, Sending, Stop, TlsUse, Trust, Watch, run,
};
use brunt_mail::{Fault, FaultKind, Mailing, MailingOptions, Outcome, Terms, Verdict};
use brunt_servers::{Format, Installed, MailFsync, MailSystem, Part, Plan, Relay, Store};
use brunt_units::Span;
use brunt_world::World;
use brunt_world_real::{Options, RealWorld};

/// Unix time: certificates of throw-away servers are good on the day they are made.
fn today() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the real world has a date")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Whether the servers are here; else the test called `name` is skipped.
fn has(relay: Option<Relay>, name: &str) -> bool {
    let dovecot = Installed::dovecot().map(drop).map_err(|error| error.to_string());
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    let postfix = match relay {
        None => Ok(()),
        Some(_) if !is_root => Err("Postfix needs root".to_owned()),
        Some(_) => Installed::postfix().map(drop).map_err(|error| error.to_string()),
    };
    let missing = dovecot.and(postfix).err();
    if let (Some(why), Some(list)) = (&missing, std::env::var_os("BRUNT_SKIPPED")) {
        let list = OpenOptions::new().create(true).append(true).open(list);
        writeln!(list.unwrap(), "{name}: {why}").unwrap();
    }
    missing.is_none()
}

#[derive(Default)]
struct Memory(RefCell<Vec<u8>>);

impl Keep for Memory {
    fn append(&self, bytes: &[u8]) -> Result<(), KeepError> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }
}

type System = Rc<RefCell<MailSystem>>;

/// The queue of the relay.
struct Waiting(System);

impl Queue for Waiting {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(async { self.0.borrow().queue().ok().map(|queue| queue.messages) })
    }
}

/// How the servers are talked to.
#[derive(Clone, Copy)]
struct Way {
    relay: Option<Relay>,
    post: TlsUse,
    read: TlsUse,
    /// Sends through the store's submission, with a login.
    submits: bool,
    kills: Option<Part>,
}

fn play(way: Way) -> Finished {
    let home = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    let store = Store::Dovecot { format: Format::Sdbox, fsync: MailFsync::Optimized };
    let plan = Plan { store, relay: way.relay, users: 6 };
    let mut system = MailSystem::make(&home.path().join("servers"), &plan).unwrap();
    system.start().unwrap();
    let system = Rc::new(RefCell::new(system));
    let mut real = RealWorld::new(&Options::default()).unwrap();
    let world = real.world.clone();
    let own = Rc::clone(&system);
    let finished = real.executor.block_on(async move {
        let course = course(&world, &own, way);
        run(&world, course, &Stop::default()).await.unwrap()
    });
    system.borrow_mut().stop().unwrap();
    finished
}

fn course(world: &World, system: &System, way: Way) -> Course {
    let at = system.borrow().addresses();
    let account = |own: &brunt_servers::Account| Account {
        address: own.address(),
        user: own.name.clone(),
        secret: Secret::new(own.password.reveal()),
    };
    let accounts: Vec<_> = system.borrow().accounts().iter().map(account).collect();
    let accounts = Rc::new(Accounts::new(accounts).unwrap());
    let mut options = MailingOptions::new(7, 11, today(), accounts.addresses());
    options.sizes.most = 64 << 10;
    let mailing = Rc::new(Mailing::new(options).unwrap());
    let anchor = Anchor::Certificate(system.borrow().certificate().unwrap().into_bytes());
    let imap = if way.read == TlsUse::Implicit { at.imaps } else { at.imap };
    let post = match (way.relay, way.submits, way.post) {
        (None, ..) => Endpoint::new(at.lmtp, Protocol::Lmtp),
        (_, true, _) => Endpoint::new(at.submission.unwrap(), Protocol::Smtp),
        (_, _, TlsUse::Implicit) => Endpoint::new(at.smtps.unwrap(), Protocol::Smtp),
        _ => Endpoint::new(at.smtp.unwrap(), Protocol::Smtp),
    };
    let login = if way.submits { Login::Best } else { Login::None };
    let post = post.with_tls(way.post, "localhost").with_login(login);
    let queue = Rc::new(Waiting(Rc::clone(system)));
    let (every, deadline) = (Span::millis(500), Span::seconds(60));
    Course {
        mailing,
        accounts,
        trust: Some(Trust::new(&anchor, today()).unwrap()),
        patience: Patience { reply: Span::seconds(10), ..Patience::default() },
        sending: Sending { cut_per_thousand: 10, ..Sending::new(post, 300) },
        users: None,
        disturbance: way.kills.map(|part| kill(world, system, part)),
        drain: match way.relay {
            None => Drain::Nothing,
            Some(_) => Drain::Queue { queue, every, deadline },
        },
        reading: Reading {
            tries: 2,
            watch: Some(Watch { one_in: 3, every: Span::millis(10) }),
            ..Reading::new(Endpoint::new(imap, Protocol::Imap).with_tls(way.read, "localhost"))
        },
        terms: Terms::default(),
        keep: Rc::new(Memory::default()),
    }
}

/// Kills a server in the middle, and starts it again.
fn kill(world: &World, system: &System, part: Part) -> Disturbance {
    let (world, system) = (world.clone(), Rc::clone(system));
    Box::new(move |progress| {
        Box::pin(async move {
            progress.reached(100).await;
            let from = world.clock.now();
            system.borrow_mut().kill(part).unwrap();
            world.sleep(Span::millis(200)).await;
            system.borrow_mut().start_part(part).unwrap();
            let in_flight = system.borrow().messages_between() * 5;
            let until = world.clock.now();
            progress.fault(Fault { kind: FaultKind::Kill, from, until, in_flight });
        })
    })
}

fn passes(way: Way) {
    let finished = play(way);
    let said = (&finished.audited, &finished.errors, &finished.drained);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{said:?}");
    assert_eq!(finished.sent.messages, 300, "{said:?}");
    assert!(finished.audited.counts.of(Outcome::NotSent) > 0, "{said:?}");
    let watched = finished.watched.expect("two mailboxes are watched");
    assert!(watched.mailboxes == 2 && watched.seen > 50, "{watched:?}");
    eprintln!(
        "answers {:?}, visible {:?}, told {:?}, {} errors",
        finished.sent.answers.mean(),
        watched.visible.mean(),
        watched.told.mean(),
        finished.errors.iter().len()
    );
}

#[test]
fn dovecot_takes_mail_by_lmtp_and_survives_a_kill() {
    if !has(None, "real::dovecot_takes_mail_by_lmtp_and_survives_a_kill") {
        return;
    }
    let (post, read) = (TlsUse::None, TlsUse::StartTls);
    let kills = Some(Part::Store);
    passes(Way { relay: None, post, read, submits: false, kills });
}

#[test]
fn postfix_takes_mail_over_tls_and_survives_a_kill() {
    if !has(Some(Relay::Postfix), "real::postfix_takes_mail_over_tls_and_survives_a_kill") {
        return;
    }
    let (relay, post, read) = (Some(Relay::Postfix), TlsUse::StartTls, TlsUse::Implicit);
    let kills = Some(Part::Relay);
    passes(Way { relay, post, read, submits: false, kills });
}

#[test]
fn dovecot_takes_submissions_with_a_login() {
    if !has(Some(Relay::Postfix), "real::dovecot_takes_submissions_with_a_login") {
        return;
    }
    let (relay, post, read) = (Some(Relay::Postfix), TlsUse::StartTls, TlsUse::None);
    passes(Way { relay, post, read, submits: true, kills: None });
}
