//! Cache, controllers, links and paths checked against arithmetic, and their failures.

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, CacheDesign, ControllerDesign, Extent, Finished, FrontDesign, Incident,
    Level, NoteKind, PathPolicy, Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::IoError;
use brunt_world::random::{Stream, Streams};

use super::hosts::{answers, ask};

fn design(drives: u16, level: Level) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, drives, level);
    design.front = FrontDesign {
        host_stack: Span::micros(20),
        ports: 2,
        port_bytes_per_s: 400_000_000,
        latency: Span::micros(10),
        paths: PathPolicy::Optimised,
    };
    design.controller = ControllerDesign {
        count: 2,
        cores: 1,
        read: Span::micros(100),
        write: Span::micros(150),
        device_io: Span::ZERO,
        memory_bytes_per_s: 0,
        link_bytes_per_s: 200_000_000,
        link_latency: Span::micros(5),
        failover: Span::seconds(10),
    };
    design.cache = Some(CacheDesign {
        write: ByteSize::mib(4),
        read: ByteSize::mib(4),
        ..CacheDesign::default()
    });
    design
}

struct Bench {
    array: Array,
    done: Vec<Finished>,
}

impl Bench {
    fn new(design: &ArrayDesign) -> Self {
        Self { array: Array::new(design, Streams::new(3)).unwrap(), done: Vec::new() }
    }

    fn ask(&mut self, verb: Verb, start: u64, length: u64) {
        ask(&mut self.array, verb, Extent::new(start, length), 0);
    }

    /// Advances time until every request has ended.
    fn wait(&mut self) -> Finished {
        while self.array.outstanding() > 0 {
            let next = self.array.next_at().expect("something is going on");
            self.array.advance(next);
        }
        self.done.extend(answers(&mut self.array));
        *self.done.last().unwrap()
    }

    fn one(&mut self, verb: Verb, start: u64, length: u64) -> Finished {
        self.ask(verb, start, length);
        self.wait()
    }

    fn pass(&mut self, span: Span) {
        let to = self.array.now() + span;
        self.array.advance(to);
    }

    fn device_ios(&mut self) -> (u64, u64) {
        let stats = self.array.drive_stats();
        (stats.iter().map(|drive| drive.reads).sum(), stats.iter().map(|drive| drive.writes).sum())
    }
}

/// 8 KiB at 400 MB/s.
const PORT: u64 = 20_480;
/// 8 KiB at 200 MB/s.
const BETWEEN: u64 = 40_960;

#[test]
fn a_write_into_the_cache_and_a_hit_take_what_can_be_added_up() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    let write = bench.one(Verb::Write, 0, 16);
    // To the other controller and back.
    let mirror = BETWEEN + 2 * 5_000;
    let expected = 20_000 + PORT + 10_000 + 150_000 + mirror + 10_000;
    assert_eq!((write.at - write.submitted_at).0, expected);
    assert_eq!(write.breakdown.controller.0, 150_000 + mirror);
    let hit = bench.one(Verb::Read, 0, 16);
    assert_eq!((hit.at - hit.submitted_at).0, 20_000 + 10_000 + 100_000 + PORT + 10_000);
    let miss = bench.one(Verb::Read, 160_000, 16);
    assert!((miss.at - miss.submitted_at).as_millis() > 0.5);
    let stats = bench.array.cache_stats().unwrap();
    assert_eq!((stats.read_hits, stats.read_misses, stats.writes), (1, 1, 1));
    assert_eq!(stats.unwritten, 1);
}

/// Passing over 8 KiB once, at 1 GB/s.
const PASS: u64 = 8_192;

/// Processor time that the controllers spend on one write and what follows from it, in nanoseconds.
fn spent_on_a_write(level: Level, change: impl FnOnce(&mut ArrayDesign)) -> (Finished, Vec<u64>) {
    let mut design = design(if level == Level::Raid10 { 4 } else { 5 }, level);
    design.controller.device_io = Span::micros(30);
    design.controller.memory_bytes_per_s = 1_000_000_000;
    change(&mut design);
    let mut bench = Bench::new(&design);
    let write = bench.one(Verb::Write, 0, 16);
    bench.pass(Span::seconds(10) - (bench.array.now() - Time::ZERO));
    let (shares, _, _) = bench.array.front_utilisations();
    let spent = shares.iter().map(|share| Span::from_seconds(share * 10.0).0);
    (write, spent.collect())
}

#[test]
fn a_mirrored_write_costs_both_controllers() {
    let never = |design: &mut ArrayDesign| design.cache.as_mut().unwrap().idle_after = Span::ZERO;
    let (write, spent) = spent_on_a_write(Level::Raid10, never);
    assert_eq!(spent, [150_000 + PASS + 30_000, 30_000]);
    let mirror = 2 * 30_000 + BETWEEN + 2 * 5_000;
    assert_eq!(write.breakdown.controller.0, 150_000 + PASS + mirror);
    let (write, spent) = spent_on_a_write(Level::Raid10, |design| {
        never(design);
        design.cache.as_mut().unwrap().mirrored = false;
    });
    assert_eq!(spent, [150_000 + PASS, 0]);
    assert_eq!(write.breakdown.controller.0, 150_000 + PASS);
}

#[test]
fn what_follows_from_a_write_costs_the_controllers_too() {
    let host = 150_000 + PASS + 2 * 30_000;
    let (_, mirrors) = spent_on_a_write(Level::Raid10, |_| {});
    assert_eq!(mirrors.iter().sum::<u64>(), host + 2 * 30_000);
    // Old data and parity are read and checked; with the new data they give the parity.
    let (_, parity) = spent_on_a_write(Level::Raid5, |_| {});
    assert_eq!(parity.iter().sum::<u64>(), host + 4 * 30_000 + 2 * PASS + 3 * PASS);
}

#[test]
fn adjacent_pages_leave_as_one_write_when_hosts_are_quiet() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    for page in [3, 0, 2, 1] {
        bench.one(Verb::Write, page * 16, 16);
    }
    bench.one(Verb::Write, 100_000, 16);
    assert_eq!(bench.device_ios(), (0, 0));
    bench.pass(Span::seconds(4));
    assert_eq!(bench.device_ios(), (0, 4), "two runs, on two drives each");
    assert_eq!(bench.array.cache_stats().unwrap().unwritten, 0);
}

#[test]
fn a_stream_of_writes_to_raid_5_needs_no_reads() {
    let mut bench = Bench::new(&design(5, Level::Raid5));
    // Below the high mark nothing is written before the cache is idle, so every stripe is full by
    // then.
    for number in 0..48 {
        bench.one(Verb::Write, number * 128, 128);
    }
    bench.pass(Span::seconds(6));
    let ios = bench.device_ios();
    assert_eq!(ios, (0, 60), "12 full stripes of four strips and a parity");
}

/// Drive reads for a page that a host read, wrote, and wrote again after it was destaged.
fn reads_of_drives(level: Level, drives: u16, keeps_old: bool) -> (u64, u64) {
    let mut design = design(drives, level);
    design.cache.as_mut().unwrap().keeps_old = keeps_old;
    let mut bench = Bench::new(&design);
    bench.one(Verb::Read, 0, 16);
    for _ in 0..2 {
        bench.one(Verb::Write, 0, 16);
        bench.pass(Span::seconds(4));
    }
    let stats = bench.array.cache_stats().unwrap();
    assert_eq!(stats.parity_reads + 1, bench.device_ios().0);
    (bench.device_ios().0, stats.parity_reads_spared)
}

#[test]
fn old_data_in_the_cache_spares_reads_before_parities() {
    // The host's read, and the old data and parities twice.
    assert_eq!(reads_of_drives(Level::Raid5, 5, false), (1 + 2 * 2, 0));
    assert_eq!(reads_of_drives(Level::Raid5, 5, true), (1 + 2, 2));
    assert_eq!(reads_of_drives(Level::Raid6, 6, false), (1 + 2 * 3, 0));
    assert_eq!(reads_of_drives(Level::Raid6, 6, true), (1 + 2 * 2, 2));
    assert_eq!(reads_of_drives(Level::Raid10, 6, true), (1, 0));
}

#[test]
fn a_full_cache_is_as_fast_as_its_drives() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    let mut stream = Streams::new(1).named("load");
    let sectors = bench.array.lun_size(0).get().div_euclid(512);
    let anywhere = |stream: &mut Stream| stream.below(sectors.div_euclid(16)) * 16;
    for _ in 0..32 {
        bench.ask(Verb::Write, anywhere(&mut stream), 16);
    }
    let mut count = 0;
    while bench.array.now() < Time(Span::seconds(60).0) {
        let next = bench.array.next_at().unwrap();
        bench.array.advance(next);
        let done: Vec<Finished> = bench.array.finished().collect();
        for one in done {
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at);
            if one.at > Time(Span::seconds(20).0) {
                count += 1;
            }
            bench.ask(Verb::Write, anywhere(&mut stream), 16);
        }
    }
    let stats = bench.array.cache_stats().unwrap();
    assert!(stats.stalled > 1000, "{stats:?}");
    assert!(stats.unwritten <= 512, "{stats:?}");
    let rate = f64::from(count) / 40.0;
    // Two pairs with four writes each to choose from, 512 pages in disk order: short seeks and part
    // of a turn.
    assert!((300.0..1500.0).contains(&rate), "{rate}");
    let busy = bench.array.drive_stats();
    assert!(busy.iter().all(|drive| drive.utilisation() > 0.9));
}

#[test]
fn losing_a_controller_means_writing_through() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    bench.one(Verb::Write, 0, 16);
    let at = bench.array.now() + Span::millis(1);
    bench.array.schedule_incident(at, Incident::ControllerFails(0)).unwrap();
    bench.pass(Span::seconds(1));
    assert_eq!(bench.array.cache_stats().unwrap().unwritten, 0, "what was dirty is flushed");
    let slow = bench.one(Verb::Write, 16, 16);
    // The LUN moved: its hosts wait for the failover, then for two drives.
    assert!((slow.at - slow.submitted_at) > Span::seconds(9));
    let through = bench.one(Verb::Write, 5_000_000, 16);
    assert!(through.breakdown.seek > Span::ZERO || through.breakdown.wait > Span::millis(1));
    assert!((through.at - through.submitted_at) > Span::millis(1));
    assert_eq!(bench.array.cache_stats().unwrap().unwritten, 0);
    let at = bench.array.now();
    bench.array.schedule_incident(at, Incident::ControllerReturns(0)).unwrap();
    bench.pass(Span::millis(1));
    let fast = bench.one(Verb::Write, 32, 16);
    assert!((fast.at - fast.submitted_at) < Span::micros(300));
    let texts: Vec<String> = bench.array.notes().iter().map(|note| note.what.to_string()).collect();
    assert_eq!(
        texts,
        [
            "controller 0 failed",
            "cache writes through: no second copy",
            "controller 0 is back",
            "cache writes back again"
        ]
    );
}

#[test]
fn many_writes_through_are_all_answered_once() {
    let mut bench = Bench::new(&design(5, Level::Raid5));
    bench.array.schedule_incident(Time::ZERO, Incident::BatteryLost).unwrap();
    bench.pass(Span::millis(1));
    for round in 0..50 {
        // Some writes hit pages that are being destaged.
        bench.ask(Verb::Write, (round % 7) * 8, 24);
    }
    bench.wait();
    assert_eq!(bench.done.len(), 50);
    assert!(bench.done.iter().all(|done| done.result.is_ok()));
    assert_eq!(bench.array.cache_stats().unwrap().unwritten, 0);
}

#[test]
fn losing_both_controllers_loses_what_was_in_the_cache_only() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    bench.one(Verb::Write, 0, 32);
    let at = bench.array.now();
    bench.array.schedule_incident(at, Incident::ControllerFails(0)).unwrap();
    bench.array.schedule_incident(at, Incident::ControllerFails(1)).unwrap();
    bench.pass(Span::millis(1));
    let lost: Vec<&NoteKind> =
        bench.array.notes().iter().map(|note| &note.what).filter(|what| what.is_loss()).collect();
    assert_eq!(lost, [&NoteKind::CacheLost { pages: 2 }]);
    assert_eq!(bench.one(Verb::Read, 0, 16).result, Err(IoError::Device));
}

#[test]
fn nobody_answers_when_no_controller_works() {
    for cached in [true, false] {
        let mut design = design(4, Level::Raid10);
        if !cached {
            design.cache = None;
        }
        let mut bench = Bench::new(&design);
        bench.ask(Verb::Read, 1_000_000, 16);
        bench.ask(Verb::Write, 2_000_000, 16);
        let at = bench.array.now() + Span::micros(500);
        for number in [0, 1, 1] {
            bench.array.schedule_incident(at, Incident::ControllerFails(number)).unwrap();
        }
        bench.wait();
        // The write is in the cache by then and was acknowledged; without a cache it was not.
        let results: Vec<_> = bench.done.iter().map(|done| (done.verb, done.result)).collect();
        let write = if cached { Ok(()) } else { Err(IoError::Device) };
        assert!(results.contains(&(Verb::Write, write)), "{results:?}");
        assert!(results.contains(&(Verb::Read, Err(IoError::Device))), "{results:?}");
        let failed = |note: &&brunt_array::Note| note.what == NoteKind::Controller(1, false);
        assert_eq!(bench.array.notes().iter().filter(failed).count(), 1);
    }
}

/// The time that `count` simultaneous writes to different places take.
fn burst(design: &ArrayDesign, count: u64) -> (Vec<Finished>, Span) {
    let mut bench = Bench::new(design);
    for number in 0..count {
        bench.ask(Verb::Write, number * 40_960, 16);
    }
    bench.wait();
    (bench.done, bench.array.now() - Time::ZERO)
}

#[test]
fn a_burst_above_the_cache_waits_in_order_and_its_time_shows_it() {
    let mut small = design(4, Level::Raid10);
    small.cache.as_mut().unwrap().write = ByteSize::kib(512);
    // Room for 64 pages.
    let (done, _) = burst(&small, 200);
    assert_eq!(done.len(), 200);
    let (quick, slow) = done.split_at(64);
    assert!(quick.iter().all(|one| one.breakdown.wait == Span::ZERO));
    let mut longest = Span::ZERO;
    for one in slow {
        assert!(one.at - one.submitted_at >= longest, "in the order they came");
        longest = one.at - one.submitted_at;
        assert!(one.breakdown.wait > Span::ZERO);
        assert_eq!(one.breakdown.total(), longest);
    }
    assert!(longest > Span::millis(100), "as slow as drives: {longest}");
}

#[test]
fn a_cache_without_room_for_writes_lets_them_through_side_by_side() {
    let mut none = design(8, Level::Raid10);
    none.cache.as_mut().unwrap().write = ByteSize::bytes(0);
    let mut without = none.clone();
    without.cache = None;
    let (through, direct) = (burst(&none, 64).1, burst(&without, 64).1);
    assert!(through < direct * 2, "{through} and {direct} without a cache");
}

#[test]
fn paths_stand_in_for_each_other() {
    let mut bench = Bench::new(&design(4, Level::Raid10));
    let write = |bench: &mut Bench| {
        let done = bench.one(Verb::Write, 0, 16);
        (done.result, done.at - done.submitted_at)
    };
    let (_, optimised) = write(&mut bench);
    for port in [0, 1] {
        let at = bench.array.now();
        bench.array.schedule_incident(at, Incident::PathDown(port)).unwrap();
    }
    bench.pass(Span::millis(1));
    let (result, detour) = write(&mut bench);
    assert_eq!(result, Ok(()));
    // The other controller also spends processor time, and the data crosses the link once more.
    assert_eq!((detour - optimised).0, 150_000 + BETWEEN + 5_000);
    for port in [2, 3] {
        let at = bench.array.now();
        bench.array.schedule_incident(at, Incident::PathDown(port)).unwrap();
    }
    bench.pass(Span::millis(1));
    assert_eq!(write(&mut bench).0, Err(IoError::Device));
}

#[test]
fn reading_ahead_makes_one_reader_faster_than_one_drive() {
    let rate = |prefetch: u64| {
        let mut design = design(8, Level::Raid10);
        design.cache.as_mut().unwrap().prefetch = ByteSize::kib(prefetch);
        design.cache.as_mut().unwrap().read = ByteSize::mib(64);
        let mut bench = Bench::new(&design);
        let begin = bench.array.now();
        for number in 0..2000 {
            bench.one(Verb::Read, number * 64, 64);
        }
        2000.0 * 32_768.0 / 1e6 / (bench.array.now() - begin).as_seconds()
    };
    let (without, with) = (rate(0), rate(1024));
    assert!(with > 1.5 * without, "{with:.1} and {without:.1} MB/s");
}

#[test]
fn a_lost_group_under_a_full_cache_is_answered() {
    let mut bench = Bench::new(&design(5, Level::Raid5));
    for page in 0..300 {
        bench.one(Verb::Write, page * 4096, 16);
    }
    let at = bench.array.now();
    for drive in [1, 3] {
        bench.array.schedule_incident(at, Incident::DriveFails(drive)).unwrap();
    }
    bench.pass(Span::seconds(20));
    assert_eq!(bench.array.cache_stats().unwrap().unwritten, 0);
    assert_eq!(bench.one(Verb::Read, 4096 * 400, 16).result, Err(IoError::Device));
}
