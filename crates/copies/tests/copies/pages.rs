//! Bad pages: that of a copy is replaced by the active's, and that of an active by a copy's.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use brunt_copies::pages::PagesOfCopies;
use brunt_copies::wire::{LONGEST, Message, PIECE_BYTES, Sent, Welcome};
use brunt_copies::{CopyError, PassiveCopy, Shipper};
use brunt_ese::content::Bytes;
use brunt_ese::error::PageFault;
use brunt_ese::format::header::DatabaseHeader;
use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::offer::PageOffer;
use brunt_ese::instance::{Circular, Instance};
use brunt_ese::log::reader::Generation;
use brunt_ese::patch::{Outcome, Patch};
use brunt_ese::policy::patch::Refusal as PageRefusal;
use brunt_ese::policy::scan::Throttle;
use brunt_ese::verify::verify;
use brunt_testkit::tiny::SIZE;
use brunt_units::{LogPosition, PageNumber, Span};
use brunt_world::messages::messages;
use brunt_world::random::Streams;
use brunt_world::{Class, Io, OpenMode, SocketId, World};
use brunt_world_virtual::{Host, LinkOptions, Store};

use crate::stage::{
    PORT, Telling, Truth, accept, address, alarm, copy_options, files, instance, open_active, read,
    receive, work, world,
};

/// Two bits of a page turn over at rest.
async fn rot(world: &World, database: &str, page: PageNumber) {
    let path = Path::new(database);
    let file = world.volume.open(path, OpenMode::Write).await.unwrap();
    let at = page.offset(SIZE);
    let frame = world.frames.take(SIZE.bytes());
    let done = world.disk.submit(Io::read(Class::Database, file, at, frame));
    let mut bytes = done.await.into_frame();
    bytes[2000] ^= 3;
    let write = Io::write_through(Class::Database, file, at, &Rc::new(bytes));
    world.disk.submit(write).await.result.unwrap();
    world.volume.close(file).await.unwrap();
}

/// What a test does once an active runs.
struct Running {
    instance: Instance<Bytes>,
    shipper: Shipper,
    active: Host,
    copy: Host,
    truth: Telling,
    outside: World,
}

async fn open(active: &Host) -> (Instance<Bytes>, Shipper) {
    let world = active.world().clone();
    let options = instance("/a", 512, Circular::Off);
    let (opened, shipper) = open_active(&world, options).await.unwrap();
    let serving = shipper.clone();
    let acceptor = accept(world.clone(), move || serving.clone(), |_| {});
    drop(world.spawner.spawn(acceptor));
    (opened, shipper)
}

/// Opens an active that asks its copy for pages.
async fn open_asking(host: &Host) -> Instance<Bytes> {
    let (instance, shipper) = open(host).await;
    let mut pages = PagesOfCopies::default();
    pages.add(&shipper, vec![(0, "the copy".to_owned())]);
    instance.cache().patch_from(Rc::new(pages));
    instance
}

async fn begin_copy(host: &Host, lag: Span) -> PassiveCopy {
    let world = host.world().clone();
    let options =
        brunt_copies::CopyOptions { lag, ..copy_options(instance("/b", 512, Circular::Off)) };
    let opened = PassiveCopy::open(&world, options).await.unwrap();
    let following = opened.clone();
    drop(world.spawner.spawn(async move {
        following.follow().await.unwrap();
    }));
    drop(world.spawner.spawn(receive(world.clone(), opened.clone())));
    opened
}

/// Runs `test` with an active that has made some commits, and a copy that had them and is down.
fn with_pair<F: Future<Output = ()> + 'static>(
    seed: u64,
    lag: Span,
    test: impl FnOnce(Running) -> F + 'static,
) {
    let (mut made, [active, copy]) = world(seed, files(&["/a", "/b"]), LinkOptions::default());
    let outside = made.world.clone();
    made.executor.block_on(async move {
        let (instance, shipper) = open(&active).await;
        drop(begin_copy(&copy, lag).await);
        let truth = Truth::begin();
        let mut draw = Streams::new(seed).named("work");
        let worked = work(active.world(), &instance, &truth, 80, &mut draw).await;
        worked.unwrap();
        outside.sleep(Span::seconds(2)).await;
        copy.kill();
        outside.sleep(Span::seconds(1)).await;
        let copy = copy.restart();
        test(Running { instance, shipper, active, copy, truth, outside }).await;
    });
}

/// Waits for the first page that a copy has asked for.
async fn first_patch(world: &World, copy: &PassiveCopy) -> Patch {
    for _ in 0..60_000 {
        if let Some(patch) = copy.patches().first() {
            return patch.clone();
        }
        world.sleep(Span::millis(1)).await;
    }
    panic!("no page is asked for: {:?}", copy.failure());
}

/// Nobody works, so the log that the page belongs to is closed for it.
#[test]
fn a_copy_replaces_a_bad_page_by_that_of_its_active() {
    for page in [1, 3, 5, 7, 9, 11] {
        let page = PageNumber(page);
        with_pair(u64::from(page.0), Span::ZERO, move |pair| async move {
            rot(&pair.outside, "/b/tiny.edb", page).await;
            let before = pair.shipper.closed();
            let copy = begin_copy(&pair.copy, Span::ZERO).await;
            let patch = first_patch(&pair.outside, &copy).await;
            assert_eq!((patch.page, patch.is_done()), (page, true), "{patch}");
            assert_eq!(patch.outcome, Outcome::Patched("the active".to_owned()));
            pair.outside.sleep(Span::seconds(2)).await;
            let closed = pair.shipper.closed();
            assert_eq!(closed, before + 1, "its log was closed, and no other");
            assert_eq!((copy.earliest(), copy.queues().replayed), (closed, closed));
            assert_eq!((alarm(&copy), copy.patches().len()), (None, 1));
            let mut draw = Streams::new(9).named("more");
            let world = pair.active.world().clone();
            let worked = work(&world, &pair.instance, &pair.truth, 40, &mut draw).await;
            worked.unwrap();
            pair.outside.sleep(Span::seconds(2)).await;
            assert_eq!((alarm(&copy), copy.failure()), (None, None));
            let last = copy.queues().stored;
            let (activated, _) = copy.activate(None).await.unwrap();
            let found = read(&activated).await.unwrap();
            pair.truth.borrow().judge(last, &found).unwrap();
            activated.close().await.unwrap();
            let report = verify(pair.copy.world(), Path::new("/b/tiny.edb")).await;
            assert!(report.unwrap().is_intact());
        });
    }
}

/// The page is newer than what has been replayed, so there is no way back behind it: not at once,
/// and not after a crash.
#[test]
fn a_copy_with_a_page_of_its_active_is_not_activated_before_that_page() {
    for seed in 1..=12 {
        let lag = Span::seconds(if seed % 2 == 0 { 3600 } else { 0 });
        with_pair(seed, lag, move |pair| async move {
            let seeded = pair.shipper.closed();
            let page = PageNumber(1 + u32::try_from(seed).unwrap());
            rot(&pair.outside, "/b/tiny.edb", page).await;
            let options = brunt_copies::CopyOptions {
                lag,
                ..copy_options(instance("/b", 512, Circular::Off))
            };
            let mut mine = begin_copy(&pair.copy, lag).await;
            if lag > Span::ZERO && mine.queues().replayed == 0 {
                // It has replayed nothing, and does not read its databases.
                return;
            }
            let patch = first_patch(&pair.outside, &mine).await;
            assert!(patch.is_done(), "{patch}");
            let earliest = mine.earliest();
            assert!(earliest > seeded, "the log that was being written");
            pair.copy.lose_power();
            pair.outside.sleep(Span::seconds(1)).await;
            let host = pair.copy.restart();
            let open = async || PassiveCopy::open(host.world(), options.clone()).await.unwrap();
            mine = open().await;
            assert_eq!(mine.earliest(), earliest);
            let wanted = earliest - 1;
            let refused = mine.activate(Some(wanted)).await.err();
            let replayed = earliest;
            assert_eq!(refused, Some(CopyError::Passed { wanted, replayed }));
            let (activated, _) = open().await.activate(Some(earliest)).await.unwrap();
            let found = read(&activated).await.unwrap();
            pair.truth.borrow().judge(earliest, &found).unwrap();
            activated.close().await.unwrap();
            let report = verify(host.world(), Path::new("/b/tiny.edb")).await;
            assert!(report.unwrap().is_intact());
        });
    }
}

/// An active that was closed begins again over a rotten page, and does nothing but read it.
#[test]
fn an_active_replaces_a_bad_page_by_that_of_a_copy() {
    for page in [1, 3, 5, 7, 9, 11] {
        let page = PageNumber(page);
        with_pair(u64::from(page.0), Span::ZERO, move |pair| async move {
            let expected = pair.truth.borrow().last();
            pair.instance.close().await.unwrap();
            pair.active.kill();
            pair.outside.sleep(Span::seconds(1)).await;
            rot(&pair.outside, "/a/tiny.edb", page).await;
            let active = pair.active.restart();
            let instance = open_asking(&active).await;
            let copy = begin_copy(&pair.copy, Span::ZERO).await;
            pair.outside.sleep(Span::seconds(2)).await;
            let scan = instance.maintain(0, Throttle::ESE);
            while scan.findings().passes == 0 {
                pair.outside.sleep(Span::millis(100)).await;
            }
            let patches = instance.cache().take_patches();
            // It may have needed the page before there was a copy.
            let done: Vec<_> = patches.iter().filter(|patch| patch.is_done()).collect();
            let [patch] = done[..] else {
                panic!("{patches:?}");
            };
            let by_copy = Outcome::Patched("the copy".to_owned());
            assert_eq!((patch.page, &patch.outcome), (page, &by_copy));
            assert_eq!(read(&instance).await.unwrap(), expected);
            assert_eq!((copy.failure(), alarm(&copy)), (None, None));
            instance.close().await.unwrap();
            let report = verify(active.world(), Path::new("/a/tiny.edb")).await;
            assert!(report.unwrap().is_intact());
        });
    }
}

/// A page that is bad on both sides stays bad, and neither waits for the other for ever.
#[test]
fn a_page_that_is_bad_on_both_sides_stays_bad() {
    with_pair(3, Span::ZERO, |pair| async move {
        let page = PageNumber(5);
        pair.instance.close().await.unwrap();
        pair.active.kill();
        pair.outside.sleep(Span::seconds(1)).await;
        rot(&pair.outside, "/a/tiny.edb", page).await;
        rot(&pair.outside, "/b/tiny.edb", page).await;
        let active = pair.active.restart();
        let instance = open_asking(&active).await;
        let copy = begin_copy(&pair.copy, Span::ZERO).await;
        let scan = instance.maintain(0, Throttle::ESE);
        pair.outside.sleep(Span::seconds(300)).await;
        assert!(scan.findings().bad.contains_key(&page));
        assert_eq!(scan.findings().patched, 0);
        let patches = instance.cache().take_patches();
        assert!(patches.iter().all(|patch| patch.outcome == Outcome::NoCopy));
        assert!(copy.patches().iter().all(|patch| !patch.is_done()));
        assert!(!copy.patches().is_empty());
        assert!(alarm(&copy).is_some());
    });
}

/// The files of an active and a copy that has replayed what the active had closed; both are down,
/// and a page of the copy is bad.
fn left(page: PageNumber) -> Store {
    let (mut made, [active, copy]) = world(1, files(&["/a", "/b"]), LinkOptions::default());
    let outside = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _shipper) = open(&active).await;
        drop(begin_copy(&copy, Span::ZERO).await);
        let (truth, mut draw) = (Truth::begin(), Streams::new(1).named("work"));
        let worked = work(active.world(), &instance, &truth, 80, &mut draw).await;
        worked.unwrap();
        outside.sleep(Span::seconds(2)).await;
        copy.kill();
        active.kill();
        outside.sleep(Span::seconds(1)).await;
        rot(&outside, "/b/tiny.edb", page).await;
    });
    made.machine.store()
}

/// The page of a database.
fn page_of(store: &Store, path: &str, page: PageNumber) -> Vec<u8> {
    let at = usize::try_from(page.offset(SIZE)).unwrap();
    store.get(Path::new(path)).unwrap()[at..][..SIZE.bytes()].to_vec()
}

/// What an active says that sends its next log and `offer` when it is asked for a page, until it is
/// refused.
async fn say(world: World, listener: SocketId, next: Vec<u8>, offer: PageOffer) {
    let (connection, _) = world.net.accept(listener).await.unwrap();
    let (sender, mut receiver) = messages(&world, connection, LONGEST);
    let log = Generation::read(&next).unwrap();
    let (stream, generation) = (log.header.signature, log.header.generation);
    let welcome = Welcome { stream, closed: generation - 1 };
    let mut answer = vec![Message::Page(Sent { number: 0, offer })];
    answer.push(Message::Log { generation, length: u32::try_from(next.len()).unwrap() });
    let pieces = (0_u32..).zip(next.chunks(PIECE_BYTES));
    answer.extend(pieces.map(|(number, bytes)| Message::Piece {
        at: number * u32::try_from(PIECE_BYTES).unwrap(),
        bytes: bytes.to_vec(),
    }));
    while let Ok(Some(said)) = receiver.receive().await {
        let messages = match Message::read(&said).unwrap() {
            Message::Hello(_) => vec![Message::Welcome(welcome)],
            Message::Want(want) if want.number == 0 => std::mem::take(&mut answer),
            Message::Want(want) => vec![Message::NoPage(want.number)],
            Message::Refused(refusal) => panic!("{refusal}"),
            _ => Vec::new(),
        };
        for message in messages {
            sender.send(&message.to_bytes()).await.unwrap();
        }
    }
}

/// What an active offers is not believed: pages of another database or with a wrong checksum, and
/// log that never comes.
#[test]
fn what_cannot_be_a_page_of_the_active_changes_nothing() {
    let page = PageNumber(5);
    let store = left(page);
    let next = store.get(Path::new("/a/log/edb.log")).unwrap();
    let header = store.get(Path::new("/a/tiny.edb")).unwrap();
    let signature = DatabaseHeader::find(&header).unwrap().header.signature;
    let generation = Generation::read(&next).unwrap().header.generation;
    let mut bytes = page_of(&store, "/a/tiny.edb", page);
    let honest = PageOffer {
        signature,
        replayed: LogPosition { segment: 8, ..LogPosition::start_of(generation) },
        bytes: bytes.clone(),
    };
    bytes[100] ^= 3;
    let at = |replayed| PageOffer { replayed, ..honest.clone() };
    let with = |bytes| PageOffer { bytes, ..honest.clone() };
    let other = PageOffer { signature: Signature::default(), ..honest.clone() };
    let behind = LogPosition::start_of(generation - 1);
    let within = LogPosition { segment: u16::MAX, ..LogPosition::start_of(generation) };
    let never = LogPosition::start_of(generation + 1);
    for (offer, expected) in [
        (other, PageRefusal::OtherDatabase),
        (with(bytes), PageRefusal::Bad(PageFault::Checksum)),
        (with(vec![7; 512]), PageRefusal::Bad(PageFault::Structure)),
        (at(behind), PageRefusal::Behind),
        (at(within), PageRefusal::Diverged),
        (at(never), PageRefusal::Diverged),
    ] {
        let before = page_of(&store, "/b/tiny.edb", page);
        let link = LinkOptions::default();
        let (mut made, [active, copy]) = world(2, store.fork(), link);
        let (outside, next) = (made.world.clone(), next.clone());
        made.executor.block_on(async move {
            let world = active.world().clone();
            let at = SocketAddr::new(address(1), PORT);
            let (listener, _) = world.net.listen(at).await.unwrap();
            let saying = say(world.clone(), listener, next, offer);
            drop(world.spawner.spawn(saying));
            let copy = begin_copy(&copy, Span::ZERO).await;
            let patch = first_patch(&outside, &copy).await;
            let refused = vec![("the active".to_owned(), expected)];
            assert_eq!((patch.refused, patch.outcome), (refused, Outcome::NoCopy));
            outside.sleep(Span::seconds(10)).await;
            assert_eq!((copy.failure(), copy.queues().replayed), (None, generation));
            assert!(alarm(&copy).is_some(), "it is still bad");
        });
        let after = page_of(&made.machine.store(), "/b/tiny.edb", page);
        assert!(before == after);
    }
}
