//! Each model against arithmetic that can be done by hand.

use brunt_array::drive::{DriveModel, DriveStats, Order, library};
use brunt_array::{Array, ArrayDesign, Extent, Finished, HostIo, Level, Verb};
use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};

const SECTORS: u64 = 16;

fn cheetah() -> DriveModel {
    library::find("cheetah-15k5-146-fc").unwrap()
}

fn design(drives: u16, level: Level) -> ArrayDesign {
    ArrayDesign::one_group(&cheetah(), drives, level)
}

/// What a closed loop measured.
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
        let sum: f64 = self
            .done
            .iter()
            .map(|done| (done.at - done.submitted_at).as_millis())
            .sum();
        sum / self.done.len() as f64
    }
}

/// Keeps `depth` requests in the array for `span`, after a tenth of it to settle.
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
    let mut ask = |array: &mut Array, now, tag| {
        let (verb, extent) = draw(&mut stream, sectors);
        array.submit(
            now,
            HostIo {
                lun: 0,
                verb,
                extent,
                tag,
            },
        );
    };
    for tag in 0..depth {
        ask(&mut array, Time::ZERO, tag);
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
        let finished: Vec<Finished> = array.finished().collect();
        for one in finished {
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at, "{one:?}");
            assert_eq!(one.result, Ok(()));
            done.push(one);
            ask(&mut array, now, one.tag);
        }
    }
    array.advance(end);
    Measured {
        drives: array.drive_stats(),
        done,
        seconds: span.as_seconds(),
    }
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

/// Transfer of eight KiB, averaged over the sectors of the disk: 16 sectors of a turn of 4 ms at 995 sectors per track.
const TRANSFER_MS: f64 = 16.0 / 995.0 * 4.0;

#[test]
fn a_random_read_alone_takes_a_seek_and_half_a_turn() {
    let one = closed_loop(
        &design(1, Level::Raid0),
        1,
        Span::seconds(200),
        anywhere(Verb::Read),
    );
    near(
        one.mean_ms(),
        3.5 + 2.0 + 0.2 + TRANSFER_MS,
        0.02,
        "random read",
    );
    let one = closed_loop(
        &design(1, Level::Raid0),
        1,
        Span::seconds(200),
        anywhere(Verb::Write),
    );
    near(
        one.mean_ms(),
        4.0 + 2.0 + 0.2 + TRANSFER_MS,
        0.02,
        "random write",
    );
}

#[test]
fn a_full_queue_served_in_order_is_as_fast_as_its_service() {
    let mut design = design(1, Level::Raid0);
    design.policy.order = Order::Fcfs;
    let many = closed_loop(&design, 16, Span::seconds(200), anywhere(Verb::Read));
    // The overhead of each passes while others are served.
    let service = 3.5 + 2.0 + TRANSFER_MS;
    near(many.rate(), 1000.0 / service, 0.02, "rate");
    near(many.mean_ms(), 16.0 * service, 0.02, "response");
}

#[test]
fn sixteen_at_once_are_two_and_a_half_times_as_fast() {
    let rate = |depth| {
        closed_loop(
            &design(1, Level::Raid0),
            depth,
            Span::seconds(100),
            anywhere(Verb::Read),
        )
        .rate()
    };
    // While one is served, sixteen wait to be chosen from.
    let ratio = rate(16 + 1) / rate(1);
    assert!((ratio - 2.5).abs() <= 0.3, "{ratio:.3}");
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
        // A track's skew passes with every track: 80.7 to 134.5 MB/s.
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
    near(
        reads.rate(),
        2000.0 / (3.5 + 2.0 + TRANSFER_MS),
        0.02,
        "reads",
    );
    let writes = closed_loop(&pair, 32, Span::seconds(100), anywhere(Verb::Write));
    // Both drives do every write, each in its own time; with enough of them queued neither waits for the other.
    near(
        writes.rate(),
        1000.0 / (4.0 + 2.0 + TRANSFER_MS),
        0.03,
        "writes",
    );
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
            let run = closed_loop(
                &design(drives, level),
                depth,
                Span::seconds(60),
                anywhere(verb),
            );
            // The whole: requests there = rate x response.
            near(
                run.rate() * run.mean_ms() / 1000.0,
                depth as f64,
                0.01,
                "Little, host",
            );
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
                // Overhead is the rest of being busy, and shows only after idling.
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
    let run = || {
        closed_loop(
            &design(6, Level::Raid10),
            12,
            Span::seconds(5),
            anywhere(Verb::Write),
        )
        .done
    };
    assert_eq!(run(), run());
}
