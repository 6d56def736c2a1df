//! Equal seeds give equal results on one core or two: arrays share nothing, so parallel runs must
//! not affect each other.
//!
//! Three arrays with failures, rebuilding and a lost controller are simulated one after the other,
//! then in parallel on a thread each. Every request's end, result and breakdown goes into a digest,
//! and so do the notes.

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, CacheDesign, ControllerDesign, Extent, HostIo, Incident, Level, Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

/// FNV-1a, 64 bits.
struct Digest(u64);

impl Digest {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

fn design(level: Level, drives: u16) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, drives, level);
    design.groups[0].drive_size = Some(ByteSize::mib(64));
    if !matches!(level, Level::Pool { .. }) {
        design.drives.push(model);
        design.spares.push(drives);
    }
    design.controller = ControllerDesign {
        count: 2,
        read: Span::micros(80),
        write: Span::micros(120),
        failover: Span::millis(200),
        ..ControllerDesign::default()
    };
    design.cache = Some(CacheDesign {
        write: ByteSize::mib(4),
        read: ByteSize::mib(2),
        ..CacheDesign::default()
    });
    design
}

fn digest(level: Level, drives: u16) -> u64 {
    let streams = Streams::new(77);
    let mut array = Array::new(&design(level, drives), streams.part("array")).unwrap();
    for (at, incident) in [
        (2, Incident::DriveFails(1)),
        (6, Incident::ControllerFails(0)),
        (9, Incident::ControllerReturns(0)),
        (11, Incident::DriveReturns(1)),
    ] {
        array.schedule_incident(Time::ZERO + Span::seconds(at), incident).unwrap();
    }
    let mut stream = streams.named("load");
    let places = array.lun_size(0).get().div_euclid(8192);
    let mut ask = |array: &mut Array, now: Time, tag: u64| {
        let verb = if stream.percent(60) { Verb::Read } else { Verb::Write };
        let extent = Extent::new(stream.below(places) * 16, 16);
        let io = HostIo { lun: 0, verb, extent, tag };
        array.submit(now, io);
    };
    for tag in 0..24 {
        ask(&mut array, Time::ZERO, tag);
    }
    let mut digest = Digest(0xCBF2_9CE4_8422_2325);
    let end = Time::ZERO + Span::seconds(15);
    while let Some(now) = array.next_at().filter(|at| *at <= end) {
        array.advance(now);
        let finished: Vec<_> = array.finished().collect();
        for one in finished {
            digest.add(&format!("{one:?}"));
            ask(&mut array, now, one.tag);
        }
    }
    let drives = array.drive_stats();
    digest.add(&format!("{:?} {drives:?}", array.notes()));
    digest.0
}

const CASES: [(Level, u16); 3] = [
    (Level::Raid10, 6),
    (Level::Raid5, 5),
    (Level::Pool { piece: ByteSize::mib(1), preserved: None }, 12),
];

#[test]
fn as_many_threads_as_you_like_give_the_same() {
    let one_by_one = CASES.map(|(level, drives)| digest(level, drives));
    let at_once = std::thread::scope(|scope| {
        let threads = CASES.map(|(level, drives)| scope.spawn(move || digest(level, drives)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(one_by_one, at_once);
    assert_ne!(one_by_one[0], one_by_one[1], "a digest of something");
}
