//! The virtual world passes the conformance suite with every kind of device and landing.

use std::num::NonZeroU32;
use std::path::Path;
use std::rc::Rc;

use brunt_conformance as conformance;
use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world::{Disk, Io, Op, Ticket};
use brunt_world_virtual::{Cores, Landing, MemoryDevice, VirtualOptions, VirtualWorld};

fn pass(options: impl Fn() -> VirtualOptions) {
    for directory in ["", "/data/deep"] {
        for check in conformance::checks() {
            let mut made = VirtualWorld::new(options());
            let future = check.start(&made.world, Path::new(directory));
            made.executor.block_on(future);
        }
    }
    // Then all of them in one world, one after the other.
    let mut made = VirtualWorld::new(options());
    let all = conformance::run(made.world.clone(), "somewhere".into());
    made.executor.block_on(all);
    assert_eq!(made.machine.in_flight(), 0);
}

#[test]
fn a_fifo_disk_conforms() {
    pass(VirtualOptions::default);
}

#[test]
fn a_disk_that_takes_no_time_conforms() {
    pass(|| {
        let device = MemoryDevice {
            latency: Span::ZERO,
            bytes_per_second: 0,
            jitter_percent: 0,
            stream: Streams::new(1).named("device"),
        };
        VirtualOptions {
            devices: vec![Box::new(device)],
            cores: Cores::Count(NonZeroU32::MIN),
            ..VirtualOptions::default()
        }
    });
}

#[test]
fn a_disk_that_completes_out_of_order_conforms() {
    for seed in 0..10 {
        pass(|| {
            let stream = Streams::new(seed).named("device");
            VirtualOptions {
                devices: vec![Box::new(MemoryDevice::new(stream, 1000))],
                cores: Cores::Count(NonZeroU32::new(2).unwrap()),
                landing: Landing::Torn,
                ..VirtualOptions::new(seed)
            }
        });
    }
}

/// A disk with a bug, to check that the suite detects it.
struct Wrong<F>(Rc<dyn Disk>, F);

impl<F: Fn(&mut Io)> Disk for Wrong<F> {
    fn submit(&self, mut io: Io) -> Ticket {
        (self.1)(&mut io);
        self.0.submit(io)
    }
}

fn fail(check: &str, mistake: impl Fn(&mut Io) + 'static) {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let mut world = made.world.clone();
    world.disk = Rc::new(Wrong(Rc::clone(&made.world.disk), mistake));
    let checks = conformance::checks();
    let check = checks.iter().find(|one| one.name == check).unwrap();
    made.executor.block_on(check.start(&world, Path::new("")));
}

#[test]
#[should_panic(expected = "written_bytes_are_read_back: ")]
fn a_misdirected_write_is_seen() {
    fail("written_bytes_are_read_back", |io| {
        if io.op == Op::Write && io.offset.is_multiple_of(8192) {
            io.offset += 512;
        }
    });
}

#[test]
#[should_panic(expected = "pieces_are_gathered_and_scattered: ")]
fn swapped_pieces_are_seen() {
    fail("pieces_are_gathered_and_scattered", |io| io.segments.reverse());
}

#[test]
#[should_panic(expected = "wrong_requests_are_invalid: an unaligned offset of a read: ")]
fn rounding_instead_of_refusing_is_seen() {
    fail("wrong_requests_are_invalid", |io| io.offset &= !511);
}
