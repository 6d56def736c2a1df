//! Readers: several mailboxes at a time, each into the audit.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_mail::{Audit, Flags, Mailing, Place, Seen};
use brunt_units::Time;

use crate::accounts::Accounts;
use crate::conversations::Conversation;
use crate::endpoint::Endpoint;
use crate::mailbox::{Holdings, Looker, Mailbox};
use crate::session::{Ended, Setting};
use crate::watching::{Arrivals, Watch};

/// How mailboxes are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// An endpoint of IMAP.
    pub endpoint: Endpoint,
    /// Mailboxes that are read at the same time.
    pub sessions: u32,
    /// Whether arriving mail is watched.
    pub watch: Option<Watch>,
    /// How often a mailbox is tried whose server cannot be reached: it may just be starting.
    pub tries: u32,
}

impl Reading {
    /// Four mailboxes at a time, each tried three times; nothing is watched.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, sessions: 4, watch: None, tries: 3 }
    }
}

/// What a mailbox shows, until it was read whole.
#[derive(Default)]
struct Shown {
    messages: Vec<(u16, Flags, Seen)>,
    unreadable: u32,
}

impl Looker for Shown {
    fn saw(&mut self, folder: u16, _: u32, flags: Flags, seen: &Seen) {
        self.messages.push((folder, flags, seen.clone()));
    }

    fn unreadable(&mut self) {
        self.unreadable += 1;
    }
}

/// Does `each` for every account, several at a time.
pub(crate) async fn for_each_account<T: 'static, F>(
    setting: &Setting,
    accounts: &Rc<Accounts>,
    sessions: u32,
    each: impl Fn(u32) -> F + 'static,
) where
    F: Future<Output = T> + 'static,
{
    let next = Rc::new(Cell::new(0));
    let each = Rc::new(each);
    let tasks: Vec<_> = (0..sessions.clamp(1, accounts.count()))
        .map(|_| {
            let (next, each, accounts) = (Rc::clone(&next), Rc::clone(&each), Rc::clone(accounts));
            setting.world.spawner.spawn(async move {
                while next.get() < accounts.count() {
                    let account = next.get();
                    next.set(account + 1);
                    each(account).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
}

/// What each mailbox holds, or why that cannot be said.
pub(crate) async fn holdings(
    setting: &Setting,
    accounts: &Rc<Accounts>,
    reading: &Reading,
) -> Vec<(u32, Result<Holdings, Ended>)> {
    let found = Rc::new(RefCell::new(Vec::new()));
    let (given, all, reading) = (Rc::clone(&found), Rc::clone(accounts), Rc::new(reading.clone()));
    let own = setting.clone();
    for_each_account(setting, accounts, reading.sessions, move |number| {
        let (setting, accounts) = (own.clone(), Rc::clone(&all));
        let (reading, found) = (Rc::clone(&reading), Rc::clone(&given));
        async move {
            let holdings = retry(&setting, &accounts, &reading, number, async |mailbox| {
                mailbox.holdings().await
            });
            let holdings = holdings.await;
            found.borrow_mut().push((number, holdings));
        }
    })
    .await;
    let mut found = found.take();
    found.sort_by_key(|(number, _)| *number);
    found
}

/// Reads every mailbox into the audit.
pub(crate) async fn audit(
    setting: &Setting,
    accounts: &Rc<Accounts>,
    reading: &Reading,
    mailing: &Rc<Mailing>,
    (audit, seen): (Audit, &Rc<Arrivals>),
) -> Audit {
    let shared = Rc::new(RefCell::new(audit));
    let (given, all, reading) = (Rc::clone(&shared), Rc::clone(accounts), Rc::new(reading.clone()));
    let (own, mailing, arrivals) = (setting.clone(), Rc::clone(mailing), Rc::clone(seen));
    for_each_account(setting, accounts, reading.sessions, move |number| {
        let (setting, accounts) = (own.clone(), Rc::clone(&all));
        let (reading, audit) = (Rc::clone(&reading), Rc::clone(&given));
        let (mailing, arrivals) = (Rc::clone(&mailing), Rc::clone(&arrivals));
        async move {
            // A mailbox is read again from its beginning after trouble, so nothing counts before
            // its end.
            let shown = RefCell::new(Shown::default());
            let read = retry(&setting, &accounts, &reading, number, async |mailbox| {
                let mut now = Shown::default();
                let read = mailbox.read(&mailing, &mut now).await;
                shown.replace(now);
                read
            });
            let read = read.await;
            let mut audit = audit.borrow_mut();
            let shown = shown.into_inner();
            for (folder, flags, seen) in &shown.messages {
                let place = Place { account: number, folder: *folder };
                audit.saw_with(place, seen, first_seen(&arrivals, place, seen), *flags);
            }
            (0..shown.unreadable).for_each(|_| audit.unreadable_message(number));
            match read {
                Ok(()) => audit.read_whole(number),
                Err(_) => audit.unreadable(number),
            }
        }
    })
    .await;
    let shared = Rc::into_inner(shared).expect("the readers have ended");
    let mut audit = shared.into_inner();
    audit.folders(&setting.folders.borrow());
    audit
}

/// When a session that watched saw a message first.
fn first_seen(arrivals: &Arrivals, place: Place, seen: &Seen) -> Option<Time> {
    match seen {
        Seen::Ours(copy) if place.folder == 0 => arrivals.visible(copy.number, place.account),
        _ => None,
    }
}

/// Tries something with a mailbox again, a few times, and notes each trouble.
pub(crate) async fn retry<T>(
    setting: &Setting,
    accounts: &Accounts,
    reading: &Reading,
    number: u32,
    mut act: impl AsyncFnMut(&mut Mailbox<'_>) -> Result<T, Ended>,
) -> Result<T, Ended> {
    let random = setting.world.random.part("load").part("reader");
    let mut nonces = random.named(&format!("nonces/{number}"));
    let mut backoff = crate::backoff::Backoff::new(random.named(&format!("backoff/{number}")));
    let mut tries = 0;
    loop {
        let account = accounts.round(number);
        let mut mailbox =
            Mailbox { setting, endpoint: &reading.endpoint, number, account, nonces: &mut nonces };
        let ended = match act(&mut mailbox).await {
            Ok(done) => return Ok(done),
            Err(ended) => ended,
        };
        setting.note(&ended.trouble);
        setting.keep_trouble(Conversation {
            session: format!("reader of {}", account.user),
            messages: Vec::new(),
            lines: ended.lines.clone(),
        });
        tries += 1;
        if tries >= reading.tries || !ended.trouble.is_passing() {
            return Err(ended);
        }
        setting.world.sleep(backoff.wait()).await;
    }
}
