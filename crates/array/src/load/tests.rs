//! Load checked against arithmetic.

use brunt_units::ByteSize;

use super::*;
use crate::design::{ArrayDesign, Level};
use crate::drive::library;
use crate::{Extent, Incident, Scheduled, Verb};

fn simulation(streams: Vec<Stream>) -> Simulation {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, 4, Level::Raid10);
    design.luns = vec![design.luns[0].clone(), design.luns[0].clone()];
    design.luns[0].size = ByteSize::gib(10);
    design.luns[1].size = ByteSize::gib(30);
    Simulation {
        design: design.into(),
        streams,
        incidents: Vec::new(),
        warm_up: Span::seconds(2),
        duration: Span::seconds(30),
        interval: Span::seconds(10),
        seed: 1,
    }
}

fn random(pace: Pace, read_percent: u32) -> Stream {
    Stream { access: Access::Random { luns: vec![0, 1], read_percent, sectors: 16 }, pace }
}

#[test]
fn parts_add_up_and_intervals_make_the_whole() {
    let simulation = simulation(vec![random(Pace::Outstanding(8), 70)]);
    let mut seen = 0;
    let outcome = simulate(&simulation, |_| {
        seen += 1;
        true
    })
    .unwrap();
    assert_eq!((seen, outcome.intervals.len()), (3, 3));
    for side in [&outcome.reads, &outcome.writes] {
        let parts: f64 = side.parts_ms().iter().sum();
        let mean = side.latencies.mean().unwrap().as_millis();
        assert!((parts / mean - 1.0).abs() < 1e-6, "{parts} {mean}");
        assert_eq!(side.errors, 0);
    }
    let counted: u64 = outcome.intervals.iter().map(|one| one.reads.latencies.count()).sum();
    assert_eq!(counted, outcome.reads.latencies.count());
    let share = outcome.reads.latencies.count() as f64
        / (outcome.reads.latencies.count() + outcome.writes.latencies.count()) as f64;
    assert!((share - 0.7).abs() < 0.02, "{share}");
}

#[test]
fn answers_without_cost_at_the_very_start_are_asked_again() {
    let mut simulation = simulation(vec![random(Pace::Outstanding(8), 50)]);
    if let crate::SystemDesign::One(array) = &mut simulation.design {
        array.cache = Some(crate::design::CacheDesign::default());
    }
    let outcome = simulate(&simulation, |_| true).unwrap();
    assert!(outcome.writes.latencies.count() > 0);
}

#[test]
fn an_open_source_keeps_its_rate() {
    let outcome = simulate(&simulation(vec![random(Pace::Rate(200.0), 100)]), |_| true).unwrap();
    let rate = outcome.reads.latencies.count() as f64 / 30.0;
    assert!((rate / 200.0 - 1.0).abs() < 0.04, "{rate}");
}

#[test]
fn a_trace_comes_at_its_times() {
    let entry = |ms, lun, verb| TraceEntry {
        at: Time(Span::millis(ms).0),
        lun,
        verb,
        extent: Extent::new(0, 8),
    };
    let trace =
        [entry(2_500, 0, Verb::Read), entry(2_500, 1, Verb::Write), entry(12_000, 1, Verb::Read)];
    let stream = Stream { access: Access::Trace(trace.into()), pace: Pace::Traced };
    let outcome = simulate(&simulation(vec![stream]), |_| true).unwrap();
    assert_eq!(outcome.reads.latencies.count(), 2);
    assert_eq!(outcome.writes.latencies.count(), 1);
    let reads: Vec<u64> = outcome.intervals.iter().map(|one| one.reads.latencies.count()).collect();
    assert_eq!(reads, [1, 1, 0]);
}

#[test]
fn what_fails_at_once_does_not_stop_time() {
    let mut simulation = simulation(vec![random(Pace::Outstanding(4), 100)]);
    for drive in 0..2 {
        simulation
            .incidents
            .push(Scheduled::new(Time(Span::seconds(5).0), Incident::DriveFails(drive)));
    }
    let outcome = simulate(&simulation, |_| true).unwrap();
    assert!(outcome.reads.errors > 100);
    assert_eq!(outcome.loss().unwrap().at, Time(Span::seconds(5).0));
}

#[test]
fn equal_seeds_give_equal_outcomes() {
    let run = || {
        let simulation =
            simulation(vec![random(Pace::Outstanding(8), 50), random(Pace::Rate(50.0), 0)]);
        let outcome = simulate(&simulation, |_| true).unwrap();
        (outcome.drives, outcome.reads.parts_ns, outcome.writes.parts_ns)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_load_goes_over_what_a_lun_has_grown_by() {
    let simulation = simulation(Vec::new());
    let mut array = simulation.design.build(Streams::new(1), &[]).unwrap();
    let mut source =
        Source::new(random(Pace::Outstanding(1), 100), &*array, Streams::new(1).named("load"));
    let mut last = |array: &dyn System| {
        source.see_sizes(array);
        let drawn = (0..2000).map(|_| source.draw());
        let second = drawn.filter(|(lun, ..)| *lun == 1);
        let places: Vec<u64> = second.map(|(_, _, extent)| extent.end()).collect();
        (places.len(), places.into_iter().max().unwrap())
    };
    // LUNs of 10 and 30 GiB, then of 10 and 90.
    let gib = |count: u64| ByteSize::gib(count).get().div_euclid(512);
    let before = last(&*array);
    assert!((1400..1600).contains(&before.0) && before.1 <= gib(30), "{before:?}");
    let grows = Incident::LunGrows(1, ByteSize::gib(90));
    array.schedule(&Scheduled::new(Time::ZERO, grows)).unwrap();
    array.advance(Time::ZERO);
    let after = last(&*array);
    assert!(after.0 > 1700, "{after:?}");
    assert!((gib(80)..=gib(90)).contains(&after.1), "{after:?}");
}
