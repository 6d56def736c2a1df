//! An engine working on storage that damages one page, with copies of the database to request it
//! from.
//!
//! ```text
//!    engine --> recorder --> faults --> virtual disk        600 records replaced, 600 inserted, 24 frames
//!                  |                                        then every record read, closed, opened again without faults
//!                  v
//!               copies: what the engine wrote, or the state before
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::cache::CacheOptions;
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::patch::{Outcome, Patch};
use brunt_ese::policy::scan::Throttle;
use brunt_ese::verify::verify;
use brunt_testkit::copies::{Manner, Shelf};
use brunt_testkit::ledger::recorded;
use brunt_testkit::records::{self, FRAMES, content, key, no_versions, work, world_of};
use brunt_testkit::tiny::{SIZE, TABLE, database_path, open, open_with, options};
use brunt_units::{PageNumber, Span};
use brunt_world::World;
use brunt_world::fault::{Fault, FaultKind, faulty};
use brunt_world_virtual::Store;

/// Pause after each record: work takes some seconds, and the checkpoint moves once a second.
const PAUSE: Span = Span::millis(5);

/// Files with records, and a leaf, a branch and the root of their tree.
fn prepared() -> (Store, [PageNumber; 3]) {
    let (store, [leaf, branch]) = records::prepared(options(1, 512));
    (store, [leaf, branch, TABLE.root])
}

/// Opens the database with `shelf` as the source for bad pages.
async fn open_beside(
    world: &World,
    shelf: Rc<Shelf>,
) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
    let cache = CacheOptions::new(SIZE, FRAMES);
    open_with(world, cache, options(1, 512), Some(shelf)).await
}

/// Reads every record by key; returns how many differ from the last commit.
async fn compare(
    instance: &Instance<Bytes>,
    versions: &BTreeMap<u32, u8>,
) -> Result<usize, EngineError> {
    let mut wrong = 0;
    for (number, version) in versions {
        let found = instance.read(0, TABLE, &key(*number)).await?;
        wrong += usize::from(found != Some(content(*number, *version)));
    }
    Ok(wrong)
}

/// The result of a run.
struct Run {
    ended: Result<(), EngineError>,
    patches: Vec<Patch>,
    counted: (u64, u64),
    struck: u64,
    store: Store,
    versions: BTreeMap<u32, u8>,
}

fn run(store: &Store, plan: Vec<Fault>, manners: &[Manner]) -> Run {
    let mut made = world_of(store);
    let (world, struck) = faulty(&made.world, plan);
    let (world, ledger) = recorded(&world, store.fork());
    let versions = no_versions();
    let kept = Rc::clone(&versions);
    let shelf = Shelf::new(&world.frames, SIZE, manners, store.fork(), move || ledger.written());
    // The header is read with the first pages; it has its own second copy on disk.
    struck.hold();
    let striking = struck.clone();
    let (ended, patches, counted) = made.executor.block_on(async move {
        let opened = open_beside(&world, shelf).await;
        let (instance, _) = match opened {
            Ok(opened) => opened,
            Err(error) => return (Err(error), Vec::new(), (0, 0)),
        };
        striking.release();
        let mut ended = work(&world, PAUSE, &instance, &kept).await;
        if ended.is_ok() {
            let versions = kept.borrow().clone();
            let compared = compare(&instance, &versions).await;
            ended = compared.map(|wrong| assert_eq!(wrong, 0, "wrong records"));
        }
        let cache = instance.cache().clone();
        if ended.is_ok() {
            ended = instance.close().await;
        }
        let counted = cache.meters().with(|meters| {
            let of = &mut meters.databases[0];
            (of.patched.close_interval(), of.unpatched.close_interval())
        });
        (ended, cache.take_patches(), counted)
    });
    let versions = versions.borrow().clone();
    Run {
        ended,
        patches,
        counted,
        struck: struck.counts().iter().sum(),
        store: made.machine.store(),
        versions,
    }
}

/// `kind` at `page`, `times` times.
fn fault(kind: FaultKind, page: PageNumber, times: u64) -> Fault {
    let start = page.offset(SIZE);
    Fault { times, ..Fault::new(kind, database_path(0), start..start + SIZE.bytes_u64()) }
}

const KINDS: [FaultKind; 10] = [
    FaultKind::TwoBitFlip,
    FaultKind::Zeroed,
    FaultKind::Stale,
    FaultKind::MisdirectedRead(8192),
    FaultKind::ShortRead,
    FaultKind::Torn,
    FaultKind::Lost,
    FaultKind::DeviceError,
    FaultKind::MediumError,
    FaultKind::MisdirectedWrite(8192),
];

/// Failed writes end the instance; only reads can be patched.
fn at(kind: FaultKind, page: PageNumber, times: u64) -> Fault {
    let only = match kind {
        FaultKind::DeviceError => Some(brunt_world::fault::Direction::Reads),
        _ => None,
    };
    Fault { only, ..fault(kind, page, times) }
}

#[test]
fn with_a_faithful_copy_nothing_is_lost_and_every_repair_is_told() {
    let (store, pages) = prepared();
    let mut patched = 0;
    for kind in KINDS {
        for page in pages {
            let run = run(&store, vec![at(kind, page, u64::MAX)], &[Manner::Faithful]);
            assert_eq!(run.ended, Ok(()), "{kind:?} at page {page}");
            assert!(run.struck > 0, "{kind:?} at page {page} was not met");
            let told = run.patches.len() as u64;
            assert_eq!(run.counted, (told, 0), "{kind:?} at page {page}");
            let is_patched = |patch: &Patch| matches!(patch.outcome, Outcome::Patched(_));
            assert!(run.patches.iter().all(is_patched));
            patched += told;
        }
    }
    assert!(patched > 50, "{patched} patches");
}

/// Once the storage is healthy again the files are right without any copy: repairs were written to
/// disk.
#[test]
fn what_was_patched_stays_right() {
    let (store, pages) = prepared();
    let mut patched = 0;
    for kind in [FaultKind::Lost, FaultKind::Torn, FaultKind::MisdirectedWrite(8192)] {
        let [leaf, branch, _] = pages;
        for page in [leaf, branch] {
            let run = run(&store, vec![at(kind, page, 1)], &[Manner::Faithful]);
            assert_eq!(run.ended, Ok(()), "{kind:?} at page {page}");
            patched += run.patches.len();
            let mut made = world_of(&run.store);
            let world = made.world.clone();
            made.executor.block_on(async move {
                let report = verify(&world, &database_path(0)).await.unwrap();
                assert_eq!(report.pages_bad, 0, "{kind:?} at page {page}");
                let (instance, _) = open(&world, FRAMES, options(1, 512)).await.unwrap();
                assert_eq!(compare(&instance, &run.versions).await, Ok(0));
                instance.close().await.unwrap();
            });
        }
    }
    // A lost write may be followed by another one before the page is read.
    assert!(patched > 2, "{patched} patches");
}

/// Copies that are stale, rotten, ahead or silent: regardless of their answers no wrong record is
/// read, and where they are of no use the error is the same as without them.
#[test]
fn copies_that_lie_do_no_harm() {
    use Manner::{Behind, Diverged, Rotten, Silent, Stale};
    let (store, [leaf, branch, _]) = prepared();
    let mut refused = 0;
    for kind in KINDS {
        for page in [leaf, branch] {
            let plan = || vec![at(kind, page, u64::MAX)];
            let manners = [Silent, Behind, Stale, Rotten, Diverged];
            let alone = run(&store, plan(), &[]);
            let among = run(&store, plan(), &manners);
            let codes = [&alone.ended, &among.ended].map(|ended| match ended {
                Err(EngineError::Page { fault, page, .. }) => Some((fault.code(), *page)),
                Err(error) => panic!("{error}"),
                Ok(()) => None,
            });
            // A stale copy may have the right page, if the page has not changed since.
            let helped = among.counted.0 > 0;
            assert!(helped || codes[0] == codes[1], "{kind:?} at {page}: {codes:?}");
            let only_stale = |patch: &Patch| match &patch.outcome {
                Outcome::Patched(copy) => copy == "Stale",
                _ => true,
            };
            assert!(among.patches.iter().all(only_stale));
            refused += among.patches.iter().map(|patch| patch.refused.len()).sum::<usize>();
        }
    }
    assert!(refused > 50, "{refused} refusals");
}

/// The files with one page modified by `spoil`.
fn spoiled(store: &Store, page: PageNumber, spoil: impl FnOnce(&mut [u8])) -> Store {
    let mut store = store.fork();
    let file = store.find(&database_path(0)).unwrap();
    let mut bytes = vec![0; SIZE.bytes()];
    store.read(file, page.offset(SIZE), &mut bytes);
    spoil(&mut bytes);
    store.write(file, page.offset(SIZE), &bytes);
    store
}

/// The background scan repairs a page that no operation reads.
#[test]
fn maintenance_asks_for_what_nobody_else_needs() {
    let (store, [leaf, ..]) = prepared();
    let rotten = spoiled(&store, leaf, |bytes| bytes[2000..2010].fill(0x5A));
    let mut made = world_of(&rotten);
    let world = made.world.clone();
    let shelf =
        Shelf::new(&world.frames, SIZE, &[Manner::Faithful], store.fork(), move || store.fork());
    made.executor.block_on(async move {
        let opened = open_beside(&world, shelf).await;
        let (instance, _) = opened.unwrap();
        let scan = instance.maintain(0, Throttle::ESE);
        while scan.findings().passes == 0 {
            world.sleep(Span::millis(100)).await;
        }
        let findings = scan.findings();
        assert_eq!(findings.patched, 1);
        assert_eq!(findings.bad.keys().collect::<Vec<_>>(), [&leaf], "it was bad");
        instance.close().await.unwrap();
        let report = verify(&world, &database_path(0)).await.unwrap();
        assert_eq!(report.pages_bad, 0);
    });
}

/// Recovery reads pages whose writes were lost and whose earlier changes are no longer in the log:
/// the log alone cannot restore them.
#[test]
fn recovery_asks_for_what_the_log_does_not_have() {
    let (store, _) = prepared();
    // The process ends after its work without closing.
    let versions = no_versions();
    let mut made = world_of(&store);
    let (world, kept) = (made.world.clone(), Rc::clone(&versions));
    made.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, options(1, 512)).await.unwrap();
        work(&world, PAUSE, &instance, &kept).await.unwrap();
    });
    let (left, versions) = (made.machine.store(), versions.borrow().clone());
    let [then, now] = [&store, &left].map(|store| store.get(&database_path(0)).unwrap());
    let pages = then.chunks_exact(SIZE.bytes()).zip(now.chunks_exact(SIZE.bytes()));
    let changed = (0..).zip(pages).skip(2).filter(|(_, (then, now))| then != now);
    let mut lost = 0;
    for (slot, (then, _)) in changed {
        let stale = spoiled(&left, PageNumber(slot - 1), |bytes| bytes.copy_from_slice(then));
        let recover = |manners: &[Manner]| {
            let mut made = world_of(&stale);
            let (world, latest) = (made.world.clone(), left.fork());
            let shelf =
                Shelf::new(&world.frames, SIZE, manners, store.fork(), move || latest.fork());
            let versions = versions.clone();
            made.executor.block_on(async move {
                let opened = open_beside(&world, shelf).await;
                let (instance, _) = opened?;
                let wrong = compare(&instance, &versions).await?;
                instance.close().await.map(|()| wrong)
            })
        };
        // Not every stale page is an error: in some, the flush type has come full circle, and some
        // are fully covered by the log.
        if let Err(error) = recover(&[]) {
            assert!(error.to_string().contains("-1119"), "{error}");
            assert_eq!(recover(&[Manner::Behind, Manner::Faithful]), Ok(0));
            lost += 1;
        }
        if lost == 20 {
            return;
        }
    }
    panic!("only {lost} pages were lost");
}
