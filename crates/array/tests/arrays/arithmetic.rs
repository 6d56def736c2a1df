//! Each model checked against hand calculations.

use brunt_array::drive::{DriveModel, DriveStats, Order, library};
use brunt_array::{Array, ArrayDesign, Extent, Finished, Level, Verb};
use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};

use super::hosts::{SECTORS, answers, ask};

fn cheetah() -> DriveModel {
    library::find("cheetah-15k5-146-fc").unwrap()
}

fn design(drives: u16, level: Level) -> ArrayDesign {
    ArrayDesign::one_group(&cheetah(), drives, level)
}

/// Measurements of a closed loop.
struct Measured {
    drives: Vec<DriveStats>,
    done: Vec<Finished>,
    seconds: f64,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.done.len() as f64 / self.seconds
    }

    fn mean_ms(&self) -> f64 {
        let sum: f64 = self.done.iter().map(|done| (done.at - done.submitted_at).as_millis()).sum();
        sum / self.done.len() as f64
    }
}

/// Keeps `depth` requests in flight for `span`, after a warm-up of a tenth of it.
fn closed_loop(
    design: &ArrayDesign,
    depth: u64,
    span: Span,
    mut draw: impl FnMut(&mut Stream, u64) -> (Verb, Extent),
) -> Measured {
    let streams = Streams::new(11);
    let mut array = Array::new(design, streams.part("array")).unwrap();
    let mut stream = streams.named("load");
    let sectors = array.lun_size(0).get().div_euclid(512);
    let mut ask_next = |array: &mut Array, tag| {
        let (verb, extent) = draw(&mut stream, sectors);
        ask(array, verb, extent, tag);
    };
    for tag in 0..depth {
        ask_next(&mut array, tag);
    }
    let settled = Time(span.0.div_euclid(10));
    let end = settled + span;
    let (mut done, mut is_settled) = (Vec::new(), false);
    while let Some(now) = array.next_at().filter(|at| *at <= end) {
        if now >= settled && !is_settled {
            is_settled = true;
            array.advance(settled);
            array.forget_stats();
            done.clear();
        }
        array.advance(now);
        for one in answers(&mut array) {
            assert_eq!(one.result, Ok(()));
            done.push(one);
            ask_next(&mut array, one.tag);
        }
    }
    array.advance(end);
    Measured { drives: array.drive_stats(), done, seconds: span.as_seconds() }
}

fn anywhere(verb: Verb) -> impl FnMut(&mut Stream, u64) -> (Verb, Extent) {
    move |stream, sectors| {
        let start = stream.below(sectors.div_euclid(SECTORS)) * SECTORS;
        (verb, Extent::new(start, SECTORS))
    }
}

fn near(got: f64, expected: f64, share: f64, what: &str) {
    let error = got / expected - 1.0;
    assert!(
        error.abs() <= share,
        "{what}: {got:.4}, expected {expected:.4} ({:+.2} %)",
        error * 100.0
    );
}

/// Mean transfer time of 8 KiB over the disk: 16 sectors of a 4 ms turn at 995 sectors per track.
const TRANSFER_MS: f64 = 16.0 / 995.0 * 4.0;

#[test]
fn a_random_read_alone_takes_a_seek_and_half_a_turn() {
    let one = closed_loop(&design(1, Level::Raid0), 1, Span::seconds(200), anywhere(Verb::Read));
    near(one.mean_ms(), 3.5 + 2.0 + 0.2 + TRANSFER_MS, 0.02, "random read");
    let one = closed_loop(&design(1, Level::Raid0), 1, Span::seconds(200), anywhere(Verb::Write));
    near(one.mean_ms(), 4.0 + 2.0 + 0.2 + TRANSFER_MS, 0.02, "random write");
}

#[test]
fn a_full_queue_served_in_order_is_as_fast_as_its_service() {
    let mut design = design(1, Level::Raid0);
    design.policy.order = Order::Fcfs;
    let many = closed_loop(&design, 16, Span::seconds(200), anywhere(Verb::Read));
    // The overhead of each request overlaps with the service of others.
    let service = 3.5 + 2.0 + TRANSFER_MS;
    near(many.rate(), 1000.0 / service, 0.02, "rate");
    near(many.mean_ms(), 16.0 * service, 0.02, "response");
}

/// Seek times of the Cheetah 15K.5 as derived on the model page, in milliseconds, for a distance in
/// strokes.
fn seek_ms(distance: f64) -> f64 {
    const STROKE: f64 = 72_170.0;
    // With the knee at 3.633 ms the mean over all pairs is 3.5: the two parts below, weighted by 2
    // (1 - x).
    const KNEE: f64 = 3.633;
    if distance <= 1.0 / 3.0 {
        let bend = (STROKE / 3.0).sqrt();
        0.2 + (KNEE - 0.2) * ((distance * STROKE).sqrt() - 1.0).max(0.0) / (bend - 1.0)
    } else {
        KNEE + (7.4 - KNEE) * (distance - 1.0 / 3.0) * 1.5
    }
}

/// Mean seek plus rotation to the nearest of `count` random requests from a random position, by
/// Monte Carlo.
fn nearest_ms(count: u32) -> f64 {
    let mut stream = Streams::new(5).named("nearest");
    let mut share = || stream.below(1 << 30) as f64 / f64::from(1 << 30);
    let draws = 20_000;
    let sum: f64 = (0..draws)
        .map(|_| {
            let from = share();
            let one = |_| {
                let seek = seek_ms((share() - from).abs());
                // The sector passes once per turn, at a random time.
                let passes = share() * 4.0;
                seek + (passes - seek).rem_euclid(4.0)
            };
            (0..count).map(one).fold(f64::INFINITY, f64::min)
        })
        .sum();
    sum / f64::from(draws)
}

#[test]
fn the_nearest_of_many_is_served_first() {
    // All requests come at once. The first starts immediately; the next is the nearest of the
    // others.
    for others in [1, 3, 7, 15, 31] {
        let mut sum = 0.0;
        let rounds = 1500_u32;
        for round in 0..rounds {
            let streams = Streams::new(u64::from(round));
            let design = design(1, Level::Raid0);
            let mut array = Array::new(&design, streams.part("array")).unwrap();
            let mut stream = streams.named("load");
            let sectors = array.lun_size(0).get().div_euclid(512);
            for tag in 0..=u64::from(others) {
                let (verb, extent) = anywhere(Verb::Read)(&mut stream, sectors);
                ask(&mut array, verb, extent, tag);
            }
            let mut ends: Vec<Time> = Vec::new();
            while ends.len() < 2 {
                let next = array.next_at().unwrap();
                array.advance(next);
                ends.extend(array.finished().map(|one| one.at));
            }
            sum += (ends[1] - ends[0]).as_millis();
        }
        let expected = nearest_ms(others) + TRANSFER_MS;
        near(sum / f64::from(rounds), expected, 0.03, &format!("the nearest of {others}"));
    }
}

/// Reads per second at this queue depth, on a drive of this model.
fn rate_at(model: &DriveModel, depth: u64) -> f64 {
    let design = ArrayDesign::one_group(model, 1, Level::Raid0);
    closed_loop(&design, depth, Span::seconds(100), anywhere(Verb::Read)).rate()
}

/// Rules of thumb for one random read at a time: 180 per second at 15,000 rpm, 140 at 10,000 rpm.
/// For 7,200 rpm, a data sheet gives 7.5 ms of seek, and half a turn takes 4.17.
#[test]
fn drives_keep_the_rules_of_thumb() {
    for (name, expected) in [
        ("cheetah-15k5-146-fc", 180.0),
        ("cheetah-15k6-450-sas", 180.0),
        ("10k-600-fc", 140.0),
        ("savvio-10k6-900-sas", 140.0),
        ("constellation2-1000-nlsas", 84.0),
    ] {
        let model = library::find(name).unwrap();
        near(rate_at(&model, 1), expected, 0.05, name);
    }
}

/// In a full queue the remaining requests are the far ones, so it is slower than the nearest of as
/// many fresh ones would be. With sixteen outstanding, fifteen wait while the next is chosen.
#[test]
fn sixteen_at_once_are_more_than_twice_as_fast() {
    for (name, low) in [
        ("cheetah-15k5-146-fc", 2.15),
        ("cheetah-15k6-450-sas", 2.12),
        ("cheetah-10k7-72-fc", 2.13),
        ("10k-600-fc", 2.2),
        ("savvio-10k6-900-sas", 2.2),
        ("constellation2-1000-nlsas", 2.2),
    ] {
        let model = library::find(name).unwrap();
        let alone = rate_at(&model, 1);
        let ratio = rate_at(&model, 16) / alone;
        assert!((low..=2.8).contains(&ratio), "{name}: {ratio:.3}");
        let ratio = rate_at(&model, 17) / alone;
        assert!(ratio > low + 0.02, "{name}, sixteen waiting: {ratio:.3}");
    }
}

/// Serving overdue requests first costs something, but not everything.
#[test]
fn more_to_do_hardly_makes_a_drive_slower() {
    for name in ["cheetah-15k5-146-fc", "constellation2-1000-nlsas"] {
        let model = library::find(name).unwrap();
        let rates: Vec<f64> =
            [1, 4, 16, 32, 64, 128].into_iter().map(|depth| rate_at(&model, depth)).collect();
        let falls = |two: &[f64]| two[1] < two[0] * 0.9;
        assert!(!rates.windows(2).any(falls), "{name}: {rates:.0?}");
    }
}

#[test]
fn a_stream_runs_at_the_data_sheets_rate() {
    for (from, mb_per_s) in [(0, 153.6), (286_000_000, 92.16)] {
        let mut next = from;
        let stream = closed_loop(&design(1, Level::Raid0), 1, Span::seconds(2), |_, _| {
            let extent = Extent::new(next, 128);
            next += 128;
            (Verb::Read, extent)
        });
        // The track skew is lost on every track: 80.7 to 134.5 MB/s.
        let sustained = mb_per_s / 1.1417;
        near(stream.rate() * 65_536.0 / 1e6, sustained, 0.03, "MB/s");
    }
}

#[test]
fn queued_writes_in_sequence_stream_too() {
    let mut next = 0;
    let stream = closed_loop(&design(1, Level::Raid0), 4, Span::seconds(2), |_, _| {
        let extent = Extent::new(next, 128);
        next += 128;
        (Verb::Write, extent)
    });
    near(stream.rate() * 65_536.0 / 1e6, 153.6 / 1.1417, 0.03, "MB/s");
}

#[test]
fn a_saturated_mirror_pair_reads_twice_as_fast_as_it_writes_and_as_fast_as_two_drives() {
    let mut pair = design(2, Level::Raid10);
    pair.policy.order = Order::Fcfs;
    let reads = closed_loop(&pair, 32, Span::seconds(100), anywhere(Verb::Read));
    near(reads.rate(), 2000.0 / (3.5 + 2.0 + TRANSFER_MS), 0.02, "reads");
    let writes = closed_loop(&pair, 32, Span::seconds(100), anywhere(Verb::Write));
    // Both drives do every write, each at its own time; with enough queued neither waits for the
    // other.
    near(writes.rate(), 1000.0 / (4.0 + 2.0 + TRANSFER_MS), 0.03, "writes");
    assert!(reads.drives.iter().all(|drive| drive.utilisation() > 0.999));
}

#[test]
fn littles_law_and_the_utilisation_law_hold() {
    for (depth, drives, level) in [
        (1, 1, Level::Raid0),
        (7, 1, Level::Raid0),
        (24, 6, Level::Raid10),
        (24, 5, Level::Raid5),
        (24, 6, Level::Raid6),
    ] {
        for verb in [Verb::Read, Verb::Write] {
            let run = closed_loop(&design(drives, level), depth, Span::seconds(60), anywhere(verb));
            // For the whole array: requests in flight = rate x response time.
            near(run.rate() * run.mean_ms() / 1000.0, depth as f64, 0.01, "Little, host");
            for drive in &run.drives {
                near(
                    drive.rate() * drive.response_ms() / 1000.0,
                    drive.queue(),
                    0.01,
                    "Little, drive",
                );
                near(
                    drive.rate() * drive.service_ms() / 1000.0,
                    drive.utilisation(),
                    1e-6,
                    "utilisation",
                );
                let parts = drive.seek + drive.rotation + drive.transfer;
                // Overhead accounts for the rest of the busy time, and shows only after idling.
                assert!(parts.0 as f64 <= drive.busy.0 as f64 * 1.001);
            }
        }
    }
}

#[test]
fn a_small_parity_write_costs_four_device_ios() {
    for (drives, level, expected) in [(5, Level::Raid5, 4.0), (6, Level::Raid6, 6.0)] {
        let design = design(drives, level);
        let run = closed_loop(&design, 4, Span::seconds(60), anywhere(Verb::Write));
        let ios: u64 = run.drives.iter().map(|drive| drive.ended).sum();
        let each = ios as f64 / run.done.len() as f64;
        near(each, expected, 0.01, "device I/Os for a write");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run =
        || closed_loop(&design(6, Level::Raid10), 12, Span::seconds(5), anywhere(Verb::Write)).done;
    assert_eq!(run(), run());
}
