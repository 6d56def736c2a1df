//! The world conformance suite on every backend, with direct and with buffered I/O.

use crate::skipped::skipped;
use brunt_conformance as conformance;
use brunt_world_real::{Choice, Kind, Options, RealWorld, StartError};

fn passes(kind: Kind) {
    for direct in [true, false] {
        let options = Options {
            backend: Choice::Only(kind),
            direct,
            slab_bytes: 4 << 20,
            ..Options::default()
        };
        let mut real = match RealWorld::new(&options) {
            Err(StartError::Backend { reason, .. }) => {
                return skipped(&format!("{kind} is refused here: {reason}"));
            }
            other => other.unwrap(),
        };
        assert_eq!(real.backend().kind, kind);
        let folder = tempfile::tempdir().unwrap();
        for check in conformance::checks() {
            let future = check.start(&real.world, folder.path());
            real.executor.block_on(future);
        }
        let together = tempfile::tempdir().unwrap();
        let all = conformance::run(real.world.clone(), together.path().to_owned());
        real.executor.block_on(all);
        assert_eq!(real.tickets.in_flight(), 0);
    }
}

#[test]
fn registered() {
    passes(Kind::Registered);
}

#[test]
fn unregistered() {
    passes(Kind::Unregistered);
}

#[test]
fn threads() {
    passes(Kind::Threads);
}
