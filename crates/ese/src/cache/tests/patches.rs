//! Bad pages and copies: which pages are used, which are refused, and what is written back.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber, Span};
use brunt_world::{Class, IoError, Op, Segment, World};

use super::bench::{BYTE_AT, Bench, SIGNATURE, page_at, page_of, run};
use super::same;
use crate::error::{EngineError, PageFault};
use crate::format::stamp::Signature;
use crate::meter::Meters;
use crate::patch::{Answering, Copies, Offer, Outcome, PATIENCE, Wanted};
use crate::policy::patch::Refusal;

/// How a copy answers.
enum Manner {
    /// It has this page, and has replayed this many log files more than required.
    Has(Vec<u8>, i64),
    /// It has this page, but of another database.
    Foreign(Vec<u8>),
    HasNothing,
    NeverAnswers,
}

/// Copies with scripted answers that record the requests.
struct Shelf {
    world: World,
    manners: Vec<Manner>,
    asked: RefCell<Vec<(usize, PageNumber)>>,
}

impl Shelf {
    /// Registers copies with these answers at the cache.
    fn of(bench: &Bench, manners: Vec<Manner>) -> Rc<Self> {
        let shelf =
            Rc::new(Self { world: bench.world.clone(), manners, asked: RefCell::default() });
        bench.cache.patch_from(Rc::<Self>::clone(&shelf));
        shelf
    }

    fn offer(&self, page: &[u8], signature: Signature, replayed: LogPosition) -> Answering {
        let mut frame = self.world.frames.take(page.len());
        frame.copy_from_slice(page);
        let page = Segment::Fill(frame);
        Box::pin(async move { Some(Offer { signature, replayed, page }) })
    }
}

impl Copies for Shelf {
    fn names(&self, _: &Wanted) -> Vec<String> {
        (0..self.manners.len()).map(|number| format!("copy {number}")).collect()
    }

    fn ask(&self, copy: usize, wanted: &Wanted) -> Answering {
        assert_eq!(wanted.signature, SIGNATURE);
        assert_eq!(wanted.database.to_str(), Some("/data/bench.edb"));
        self.asked.borrow_mut().push((copy, wanted.page));
        let replayed = |more: i64| LogPosition {
            generation: wanted
                .replayed
                .generation
                .saturating_add_signed(i32::try_from(more).unwrap()),
            ..wanted.replayed
        };
        match &self.manners[copy] {
            Manner::Has(page, more) => self.offer(page, SIGNATURE, replayed(*more)),
            Manner::Foreign(page) => {
                let other = Signature { random: 10, ..SIGNATURE };
                self.offer(page, other, wanted.replayed)
            }
            Manner::HasNothing => Box::pin(async { None }),
            Manner::NeverAnswers => Box::pin(std::future::pending()),
        }
    }
}

/// The correct page 4.
fn right() -> Vec<u8> {
    page_of(PageNumber(4), 4)
}

fn rotten() -> Vec<u8> {
    let mut page = right();
    page[500..520].fill(0xA5);
    page
}

/// Patched, unpatched and refused pages since the last call.
fn counts(bench: &Bench) -> (u64, u64, u64) {
    bench.cache.meters().with(|meters: &mut Meters| {
        let of = &mut meters.databases[0];
        let [patched, unpatched, refused] =
            [&mut of.patched, &mut of.unpatched, &mut of.refused_copies]
                .map(|counter| counter.close_interval());
        (patched, unpatched, refused)
    })
}

async fn fault_of(bench: &Bench, page: u32) -> PageFault {
    match bench.look(page).await {
        Err(EngineError::Page { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bad_page_is_fetched_from_a_copy_and_made_durable() {
    for bad in [rotten(), vec![0; 4096], page_of(PageNumber(5), 5)] {
        run(16, same, async move |bench| {
            bench.put_on_disk(4, &bad).await;
            Shelf::of(bench, vec![Manner::Has(right(), 0)]);
            assert_eq!(bench.look(4).await.unwrap(), 4);
            assert_eq!(counts(bench), (1, 0, 0));
            let written = bench.probe.seen(Class::Database, Op::WriteThrough);
            assert_eq!(written, [(5 * 4096, 4096); 3], "its first sector last");
            assert_eq!(bench.on_disk(4).await, right());
            let patches = bench.cache.take_patches();
            assert_eq!(patches.len(), 1);
            let one = &patches[0];
            assert_eq!((one.page, one.offset), (PageNumber(4), 5 * 4096));
            assert_eq!(one.outcome, Outcome::Patched("copy 0".to_owned()));
            assert!(bench.cache.take_patches().is_empty());
            bench.push_out(100).await;
            assert_eq!(bench.look(4).await.unwrap(), 4);
            assert_eq!(counts(bench), (0, 0, 0), "it is right for good");
        });
    }
}

#[test]
fn a_device_that_fails_is_as_bad_as_a_checksum() {
    run(16, same, async |bench| {
        Shelf::of(bench, vec![Manner::Has(right(), 0)]);
        bench.probe.fail_next(Class::Database, Op::Read);
        assert_eq!(bench.look(4).await.unwrap(), 4);
        let patches = bench.cache.take_patches();
        assert_eq!(patches[0].fault, PageFault::Device(IoError::Device));
        assert!(patches[0].to_string().ends_with("(ESE -1022), patched from copy 0"));
    });
}

#[test]
fn a_read_of_several_pages_that_failed_is_counted() {
    run(16, same, async |bench| {
        let run = crate::policy::coalesce::Run { first: PageNumber(4), count: 2 };
        let reader = crate::cache::Reader {
            class: Class::Maintenance,
            meter: |meters| &mut meters.maintenance,
        };
        bench.probe.fail_next(Class::Maintenance, Op::Read);
        assert!(bench.cache.read_past(0, run, reader).await.is_err());
        assert!(bench.cache.read_past(0, run, reader).await.is_ok());
        let (count, first) = bench.cache.failed_runs();
        assert_eq!(count, 1);
        let first = first.unwrap();
        assert!(
            matches!(first, crate::error::EngineError::Page { page: PageNumber(4), .. }),
            "{first}"
        );
    });
}

#[test]
fn copies_that_will_not_do_are_passed_over() {
    run(16, same, async |bench| {
        bench.put_on_disk(4, &rotten()).await;
        let mut flipped = right();
        flipped[BYTE_AT] ^= 1;
        Shelf::of(
            bench,
            vec![
                Manner::HasNothing,
                Manner::Foreign(right()),
                Manner::Has(right(), -1),
                Manner::Has(right(), 1),
                Manner::Has(rotten(), 0),
                Manner::Has(page_of(PageNumber(5), 5), 0),
                Manner::Has(flipped, 0),
                Manner::Has(page_at(PageNumber(4), 9, DatabaseTime(2)), 0),
                Manner::Has(right(), 0),
            ],
        );
        bench.log.append(&[7; 50]);
        let end = bench.log.tail();
        let reason = crate::log::FlushReason::Commit;
        bench.log.flushed(end, reason).await.unwrap();
        assert_eq!(bench.look(4).await.unwrap(), 4);
        let patches = bench.cache.take_patches();
        let refused: Vec<_> = patches[0].refused.iter().map(|(_, why)| *why).collect();
        let expected = [
            Refusal::NoAnswer,
            Refusal::OtherDatabase,
            Refusal::Behind,
            Refusal::Diverged,
            Refusal::Bad(PageFault::Checksum),
            Refusal::Bad(PageFault::WrongNumber),
            Refusal::Corrected,
            Refusal::New,
        ];
        assert_eq!(refused, expected);
        assert_eq!(patches[0].outcome, Outcome::Patched("copy 8".to_owned()));
        assert_eq!(counts(bench), (1, 0, 8));
    });
}

#[test]
fn without_a_copy_that_will_do_the_page_is_as_bad_as_ever() {
    run(16, same, async |bench| {
        bench.put_on_disk(4, &rotten()).await;
        Shelf::of(bench, vec![Manner::HasNothing]);
        assert_eq!(fault_of(bench, 4).await, PageFault::Checksum);
        assert_eq!(bench.cache.take_patches()[0].outcome, Outcome::NoCopy);
        assert_eq!(counts(bench), (0, 1, 1));
        assert_eq!(bench.on_disk(4).await, rotten(), "nothing was written");
        Shelf::of(bench, vec![Manner::Has(right(), 0)]);
        bench.probe.fail_next(Class::Database, Op::WriteThrough);
        assert_eq!(fault_of(bench, 4).await, PageFault::Checksum);
        let outcome = Outcome::NotWritten("copy 0".to_owned(), IoError::Device);
        assert_eq!(bench.cache.take_patches()[0].outcome, outcome);
        assert!(bench.cache.failure().is_none());
        assert_eq!(bench.look(4).await.unwrap(), 4, "the disk takes it now");
    });
}

/// The first copy claims to have replayed all log, but has lost the same write as the disk here.
#[test]
fn a_lost_write_comes_back_and_a_copy_without_it_does_not_hide_it() {
    run(16, same, async |bench| {
        let former = bench.on_disk(4).await;
        for byte in 1..=5 {
            bench.change(4, byte).await;
            bench.write_all().await.unwrap();
            bench.world.sleep(Span::millis(200)).await;
            let now = bench.on_disk(4).await;
            bench.put_on_disk(4, &former).await;
            let copies = vec![Manner::Has(former.clone(), 0), Manner::Has(now, 0)];
            Shelf::of(bench, copies);
            bench.push_out(100).await;
            assert_eq!(bench.look(4).await.unwrap(), byte);
            let patches = bench.cache.take_patches();
            assert_eq!(patches[0].fault, PageFault::LostFlush);
            let first = ("copy 0".to_owned(), Refusal::Old);
            assert_eq!(patches[0].refused, [first]);
        }
    });
}

#[test]
fn a_copy_that_never_answers_is_not_waited_for_for_ever() {
    run(16, same, async |bench| {
        bench.put_on_disk(4, &rotten()).await;
        Shelf::of(bench, vec![Manner::NeverAnswers, Manner::Has(right(), 0)]);
        let begun = bench.world.clock.now();
        assert_eq!(bench.look(4).await.unwrap(), 4);
        let waited = bench.world.clock.now() - begun;
        assert!(waited >= PATIENCE && waited < PATIENCE + Span::seconds(1));
    });
}

#[test]
fn whoever_else_wants_the_page_waits_for_the_same_answer() {
    run(16, same, async |bench| {
        bench.put_on_disk(4, &rotten()).await;
        let copies = vec![Manner::NeverAnswers, Manner::Has(right(), 0)];
        let shelf = Shelf::of(bench, copies);
        let looks: Vec<_> = (0..3)
            .map(|_| {
                let cache = bench.cache.clone();
                bench.world.spawner.spawn(async move {
                    let page = cache.fetch(0, PageNumber(4), super::Trust::Verified).await;
                    page.map(drop)
                })
            })
            .collect();
        for look in looks {
            look.await.unwrap();
        }
        let page = PageNumber(4);
        assert_eq!(*shelf.asked.borrow(), [(0, page), (1, page)]);
    });
}

/// A read past the cache during a repair may see half of it, and must not judge the page.
#[test]
fn a_repair_under_way_disturbs_who_reads_the_disk() {
    run(16, same, async |bench| {
        bench.put_on_disk(4, &rotten()).await;
        Shelf::of(bench, vec![Manner::Has(right(), 0)]);
        bench.probe.set_latency_of(Class::Database, Span::millis(50));
        let cache = bench.cache.clone();
        let mending = bench.world.spawner.spawn(async move {
            let page = cache.fetch(0, PageNumber(4), super::Trust::Verified).await;
            page.map(drop)
        });
        bench.world.sleep(Span::millis(60)).await;
        let run = crate::policy::coalesce::Run { first: PageNumber(4), count: 1 };
        let reader = crate::cache::Reader {
            class: Class::Maintenance,
            meter: |meters| &mut meters.maintenance,
        };
        let read = bench.cache.read_past(0, run, reader).await.unwrap();
        assert!(matches!(read[0], crate::cache::OnDisk::Disturbed));
        mending.await.unwrap();
        let read = bench.cache.read_past(0, run, reader).await.unwrap();
        assert!(matches!(read[0], crate::cache::OnDisk::Sound(_)));
    });
}
