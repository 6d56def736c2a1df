//! A world over an array passes the conformance suite of all worlds.

use std::path::Path;

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, BalanceDesign, CacheDesign, ControllerDesign, Incident, Level, PagedArray,
    PagedDesign, PagedLunDesign, Scheduled, System,
};
use brunt_conformance as conformance;
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;
use brunt_world_virtual::{Landing, VirtualOptions, VirtualWorld};

use super::ArrayDevice;

fn options(seed: u64, level: Level, drives: u16) -> VirtualOptions {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let design = ArrayDesign::one_group(&model, drives, level);
    let array = Array::new(&design, Streams::new(seed).part("array")).unwrap();
    VirtualOptions {
        devices: vec![Box::new(ArrayDevice::new(Box::new(array), &[(0, 0)]))],
        landing: Landing::Torn,
        ..VirtualOptions::new(seed)
    }
}

fn pass(seed: u64, level: Level, drives: u16) {
    for check in conformance::checks() {
        let mut made = VirtualWorld::new(options(seed, level, drives));
        let future = check.start(&made.world, Path::new("/data"));
        made.executor.block_on(future);
    }
    let mut made = VirtualWorld::new(options(seed, level, drives));
    let all = conformance::run(made.world.clone(), "/data".into());
    made.executor.block_on(all);
    assert_eq!(made.machine.in_flight(), 0);
}

#[test]
fn one_drive_conforms() {
    pass(1, Level::Raid0, 1);
}

#[test]
fn mirrored_pairs_conform() {
    for seed in 0..3 {
        pass(seed, Level::Raid10, 4);
    }
}

#[test]
fn parity_conforms() {
    pass(1, Level::Raid5, 5);
    pass(2, Level::Raid6, 6);
    pass(3, Level::Raid50(2), 6);
}

/// A cache, two controllers and ports above mirrored pairs; a drive and a controller fail during
/// the suite.
fn behind_a_cache(seed: u64) -> VirtualOptions {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, 4, Level::Raid10);
    design.cache = Some(CacheDesign {
        write: ByteSize::kib(256),
        read: ByteSize::kib(256),
        ..CacheDesign::default()
    });
    design.controller = ControllerDesign {
        count: 2,
        read: Span::micros(50),
        write: Span::micros(80),
        failover: Span::millis(20),
        ..ControllerDesign::default()
    };
    let mut array = Array::new(&design, Streams::new(seed).part("array")).unwrap();
    array.schedule_incident(Time(Span::millis(5).0), Incident::DriveFails(1)).unwrap();
    array.schedule_incident(Time(Span::millis(9).0), Incident::ControllerFails(0)).unwrap();
    VirtualOptions {
        devices: vec![Box::new(ArrayDevice::new(Box::new(array), &[(0, 0)]))],
        ..VirtualOptions::new(seed)
    }
}

#[test]
fn an_array_with_a_cache_conforms_while_parts_of_it_fail() {
    for check in conformance::checks() {
        let mut made = VirtualWorld::new(behind_a_cache(1));
        let future = check.start(&made.world, Path::new("/data"));
        made.executor.block_on(future);
    }
    let mut made = VirtualWorld::new(behind_a_cache(2));
    let all = conformance::run(made.world.clone(), "/data".into());
    made.executor.block_on(all);
    assert_eq!(made.machine.in_flight(), 0);
}

/// A thin LUN over three mirrored pairs. While the suite runs, a snapshot is taken and removed, a
/// drive fails, and one of the pairs joins.
fn in_pages(seed: u64) -> VirtualOptions {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut member = ArrayDesign::one_group(&model, 2, Level::Raid10);
    member.groups[0].drive_size = Some(ByteSize::mib(64));
    let design = PagedDesign {
        members: vec![member; 3],
        later: vec![2],
        page: ByteSize::kib(256),
        grain: ByteSize::kib(16),
        clones: Vec::new(),
        luns: vec![PagedLunDesign {
            name: "thin".into(),
            size: ByteSize::gib(1),
            is_thin: true,
            reserve: None,
        }],
        balance: Some(BalanceDesign {
            every: Span::millis(20),
            gap: Span::micros(100),
            pages: 4,
            unit: ByteSize::kib(64),
        }),
    };
    let mut array = PagedArray::new(&design, Streams::new(seed).part("array")).unwrap();
    for (at, incident) in [
        (2, Incident::Snapshot(0, "before".into())),
        (5, Incident::DriveFails(1)),
        (8, Incident::MemberJoins(2)),
        (15, Incident::LunRemoved(1)),
    ] {
        let incident = Scheduled::new(Time(Span::millis(at).0), incident);
        array.schedule(&incident).unwrap();
    }
    VirtualOptions {
        devices: vec![Box::new(ArrayDevice::new(Box::new(array), &[(0, 0)]))],
        ..VirtualOptions::new(seed)
    }
}

#[test]
fn a_thin_lun_conforms_whatever_befalls_its_pool() {
    for check in conformance::checks() {
        let mut made = VirtualWorld::new(in_pages(1));
        let future = check.start(&made.world, Path::new("/data"));
        made.executor.block_on(future);
    }
    let mut made = VirtualWorld::new(in_pages(2));
    let all = conformance::run(made.world.clone(), "/data".into());
    made.executor.block_on(all);
    assert_eq!(made.machine.in_flight(), 0);
}
