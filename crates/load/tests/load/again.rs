//! Audits at a later time, from the file of the ledger: after a restore, when something was found
//! again, when brunt was killed while it wrote.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;

use brunt_load::{
    Account, Accounts, Course, Drain, Endpoint, Finished, Patience, Protocol, Queue, Reading,
    Secret, Sending, Stop, audit, run,
};
use brunt_mail::{Audited, Ledger, Mailing, MailingOptions, Message, Outcome, Terms, Verdict};
use brunt_testkit::liar::{IMAP, Liar, LiarOptions, Lie, SMTP, Which};
use brunt_units::Span;
use brunt_world::World;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

use super::course::Memory;

const BEGAN: u64 = 1_795_751_190;
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const HOUR: Span = Span::seconds(3600);

struct Waiting(Liar);

impl Queue for Waiting {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(std::future::ready(Some(self.0.queued())))
    }
}

/// A run that has ended, its server, and its file.
pub(crate) struct Ran {
    pub(crate) world: World,
    pub(crate) liar: Liar,
    pub(crate) accounts: Rc<Accounts>,
    pub(crate) mailing: Rc<Mailing>,
    pub(crate) reading: Reading,
    finished: Finished,
    file: Vec<u8>,
}

impl Ran {
    async fn new(world: World, seed: u64, lies: Vec<(Lie, Which)>) -> Self {
        let account = |number: u32| {
            let address = format!("u{number:04}@test.invalid");
            Account { user: address.clone(), address, secret: Secret::new("secret") }
        };
        let accounts = Rc::new(Accounts::new((0..10).map(account).collect()).unwrap());
        let mut options = MailingOptions::new(7, seed, BEGAN, accounts.addresses());
        options.sizes.most = 4 << 10;
        let mailing = Rc::new(Mailing::new(options).unwrap());
        let users = accounts.addresses().into_iter().map(|user| (user, "secret".to_owned()));
        let options = LiarOptions { lies, ..LiarOptions::new(seed, BEGAN, users.collect()) };
        let liar = Liar::new(options);
        liar.start(&world, SERVER).await;
        let at = |port| SocketAddr::new(SERVER, port);
        let reading = Reading::new(Endpoint::new(at(IMAP), Protocol::Imap));
        let keep = Rc::new(Memory(RefCell::default()));
        let queue = Rc::new(Waiting(liar.clone()));
        let course = Course {
            mailing: Rc::clone(&mailing),
            accounts: Rc::clone(&accounts),
            trust: None,
            patience: Patience::default(),
            sending: Sending::new(Endpoint::new(at(SMTP), Protocol::Smtp), 100),
            users: None,
            disturbance: None,
            drain: Drain::Queue { queue, every: Span::millis(100), deadline: HOUR },
            reading: reading.clone(),
            terms: Terms::default(),
            keep: Rc::clone(&keep) as _,
        };
        let finished = run(&world, course, &Stop::default()).await.unwrap();
        let file = keep.0.take();
        Self { world, liar, accounts, mailing, reading, finished, file }
    }

    /// What an audit says now, of a ledger that has only so many bytes.
    async fn again(&self, bytes: usize) -> Audited {
        let found = Ledger::read(&self.file[..bytes]).unwrap();
        assert_eq!(&found.mailing, self.mailing.options());
        let with = (None, Patience::default(), Terms::default());
        let what = (&self.mailing, found.ledger, brunt_mail::Queue::Empty);
        audit(&self.world, what, &self.accounts, &self.reading, with).await.0
    }
}

pub(crate) fn with<F: Future<Output = ()> + 'static>(
    seed: u64,
    lies: Vec<(Lie, Which)>,
    test: impl FnOnce(Ran) -> F + 'static,
) {
    let mut made = VirtualWorld::new(VirtualOptions::new(seed));
    let world = made.world.clone();
    made.executor.block_on(async move { test(Ran::new(world, seed, lies).await).await });
}

#[test]
fn the_file_says_what_memory_said() {
    let lies = [Lie::Drop, Lie::Double, Lie::Alter].map(|lie| (lie, Which::PerMillion(30_000)));
    with(1, lies.into(), async |ran: Ran| {
        let again = ran.again(ran.file.len()).await;
        assert_eq!(again, ran.finished.audited);
        assert!(again.findings.len() > 5, "{:?}", again.findings);
    });
}

#[test]
fn what_was_held_back_is_lost_until_it_is_found() {
    with(2, vec![(Lie::Hold(HOUR), Which::Message(50))], async |ran: Ran| {
        let first = &ran.finished.audited;
        assert!(first.findings.iter().all(|it| (it.number, it.outcome) == (50, Outcome::Lost)));
        assert_eq!(first.verdict(), Verdict::Fail);
        ran.world.sleep(HOUR).await;
        let again = ran.again(ran.file.len()).await;
        assert_eq!(again.verdict(), Verdict::Pass, "{:?}", again.findings);
    });
}

#[test]
fn what_nobody_sent_is_named() {
    with(3, Vec::new(), async |ran: Ran| {
        let account = ran.mailing.route(4711).to[0];
        ran.liar.invent(account, &Message::new(&ran.mailing, 4711).collect());
        let again = ran.again(ran.file.len()).await;
        let [found] = &again.findings[..] else { panic!("{:?}", again.findings) };
        let expected = (4711, account, Outcome::NeverSentButDelivered);
        assert_eq!((found.number, found.account, found.outcome), expected);
    });
}

/// brunt was killed, and its ledger ends anywhere behind its header: an honest server is not
/// accused of what the ledger does not say.
#[test]
fn a_ledger_that_is_cut_accuses_nobody() {
    with(4, Vec::new(), async |ran: Ran| {
        assert_eq!(ran.finished.audited.verdict(), Verdict::Pass);
        let (records, mut unrecorded) = (ran.file.len() - 32 * 100, 0);
        for bytes in (records..ran.file.len()).step_by(331) {
            let again = ran.again(bytes).await;
            assert_eq!(again.verdict(), Verdict::Pass, "{bytes} bytes: {:?}", again.findings);
            unrecorded += again.unrecorded;
        }
        assert!(unrecorded > 100, "the cuts leave messages without a record");
    });
}
