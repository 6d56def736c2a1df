//! The solid-state tier checked against arithmetic: hits, warm-up, and behaviour after its drive
//! fails.

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, CacheDesign, DesignError, Extent, Incident, Level, TierDesign, Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::hosts::{SECTORS, answers, ask};

/// Four disks in pairs behind a cache too small to help, and one solid-state drive.
fn design() -> ArrayDesign {
    let disk = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&disk, 4, Level::Raid10);
    design.drives.push(library::find("sata-ssd-480").unwrap());
    design.cache = Some(CacheDesign {
        write: ByteSize::kib(128),
        read: ByteSize::kib(64),
        prefetch: ByteSize::bytes(0),
        ..CacheDesign::default()
    });
    design.tier = Some(TierDesign::on(vec![4]));
    design
}

/// Submits a request, waits for the answer, and returns its time in nanoseconds.
fn one(array: &mut Array, verb: Verb, start: u64) -> u64 {
    ask(array, verb, Extent::new(start, SECTORS), 0);
    loop {
        if let Some(one) = answers(array).first() {
            assert_eq!(one.result, Ok(()));
            return (one.at - one.submitted_at).0;
        }
        let next = array.next_at().expect("something is going on");
        array.advance(next);
    }
}

/// Reads `places` distant places once each and returns the mean time in nanoseconds. To miss the
/// disks' own caches, use more places than they have segments.
fn round(array: &mut Array, places: u64) -> u64 {
    let all = (0..places).map(|place| one(array, Verb::Read, place * 50_000));
    let sum: u64 = all.sum();
    sum.div_euclid(places)
}

/// A read of 8 KiB from the solid-state drive: command, one flash page, interface.
const FROM_TIER: u64 = 35_000 + 70_000 + (8192_u64 * 1_000_000_000).div_euclid(560_000_000);

#[test]
fn the_second_miss_brings_a_block_in_and_the_third_read_finds_it() {
    let mut array = Array::new(&design(), Streams::new(1)).unwrap();
    for _ in 0..2 {
        assert!(round(&mut array, 120) > 2_000_000, "from the disks");
    }
    let time = round(&mut array, 120);
    assert!(time.abs_diff(FROM_TIER) < 1000, "{time}");
    let stats = array.tier_stats().unwrap();
    assert_eq!((stats.hits, stats.misses), (120, 240));
    assert_eq!((stats.admitted, stats.pages_written), (120, 120));
    assert_eq!(stats.blocks, 120);
}

#[test]
fn whoever_reads_everything_once_leaves_no_trace() {
    let mut array = Array::new(&design(), Streams::new(1)).unwrap();
    round(&mut array, 300);
    assert_eq!(array.tier_stats().unwrap().blocks, 0);
    let mut eager = design();
    eager.tier.as_mut().unwrap().admit_after = 1;
    let mut array = Array::new(&eager, Streams::new(1)).unwrap();
    round(&mut array, 300);
    assert_eq!(array.tier_stats().unwrap().blocks, 300);
}

#[test]
fn what_is_written_is_refreshed_when_it_is_destaged_or_read_behind_the_tier() {
    for (refreshes, hits) in [(true, 2), (false, 1)] {
        let mut design = design();
        design.tier.as_mut().unwrap().refreshes = refreshes;
        let mut array = Array::new(&design, Streams::new(1)).unwrap();
        let read_at_0 = |array: &mut Array| {
            one(array, Verb::Read, 0);
            round(array, 40); // The small cache forgets it.
        };
        for _ in 0..3 {
            read_at_0(&mut array);
        }
        let before = array.tier_stats().unwrap().hits;
        one(&mut array, Verb::Write, 0);
        array.advance(array.now() + Span::seconds(5));
        for place in 100..140 {
            one(&mut array, Verb::Read, place * 50_000);
        }
        let quiet = array.tier_stats().unwrap();
        assert_eq!(quiet.hits, before);
        let first = one(&mut array, Verb::Read, 0);
        assert_eq!(first.abs_diff(FROM_TIER) < 1000, refreshes, "{first}");
        for place in 140..180 {
            one(&mut array, Verb::Read, place * 50_000);
        }
        let second = one(&mut array, Verb::Read, 0);
        assert!(second.abs_diff(FROM_TIER) < 1000, "{second}");
        assert_eq!(array.tier_stats().unwrap().hits - before, hits);
    }
}

#[test]
fn a_tier_that_fails_costs_time_and_nothing_else_and_comes_back_cold() {
    let mut array = Array::new(&design(), Streams::new(1)).unwrap();
    for _ in 0..3 {
        round(&mut array, 120);
    }
    array.schedule_incident(array.now(), Incident::DriveFails(4)).unwrap();
    assert!(round(&mut array, 120) > 2_000_000);
    assert_eq!(array.tier_stats().unwrap().room, 0);
    assert!(array.notes().iter().all(|note| !note.what.is_loss()));
    array.schedule_incident(array.now(), Incident::DriveReturns(4)).unwrap();
    round(&mut array, 120);
    assert!(round(&mut array, 120) < 200_000, "it is warm again");
}

#[test]
fn a_failure_under_reads_sends_them_to_the_disks() {
    let mut array = Array::new(&design(), Streams::new(1)).unwrap();
    for _ in 0..2 {
        round(&mut array, 40);
    }
    let now = array.now();
    for place in 0..40 {
        let extent = Extent::new(place * 50_000, SECTORS);
        ask(&mut array, Verb::Read, extent, place);
    }
    array.schedule_incident(now + Span::micros(90), Incident::DriveFails(4)).unwrap();
    array.advance(now + Span::seconds(1));
    let done = answers(&mut array);
    assert_eq!(done.len(), 40);
    assert!(done.iter().all(|one| one.result.is_ok()));
    assert!(done.iter().any(|one| one.at > now + Span::millis(2)));
    assert!(now > Time::ZERO);
}

#[test]
fn a_tier_that_cannot_be_is_refused() {
    let refusal = |change: fn(&mut ArrayDesign)| {
        let mut design = design();
        change(&mut design);
        match Array::new(&design, Streams::new(1)) {
            Err(error @ DesignError::Tier(_)) => error.to_string(),
            other => panic!("{:?}", other.err()),
        }
    };
    assert!(refusal(|design| design.cache = None).contains("lies behind a cache"));
    let disk = refusal(|design| design.drives[4] = design.drives[0].clone());
    assert!(disk.contains("Cheetah 15K.5"), "{disk}");
    let block = refusal(|design| design.tier.as_mut().unwrap().block = ByteSize::mib(1));
    assert!(block.contains("1 to 64 cache pages of 8 KiB"), "{block}");
    let size = refusal(|design| design.tier.as_mut().unwrap().size = Some(ByteSize::kib(4)));
    assert!(size.contains("0 blocks"), "{size}");
}
