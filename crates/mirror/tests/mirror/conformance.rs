//! The conformance suite of worlds on a mirrored one, in both worlds; and afterwards both sites
//! hold the same files.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use brunt_conformance as conformance;
use brunt_mirror::{MirrorState, Receiver, mirrored};
use brunt_world_real::{Options, RealWorld, Roots};
use brunt_world_virtual::Store;

use crate::sites::{HERE, Sites, THERE, connect, files_below};

#[test]
fn a_mirrored_virtual_world_conforms() {
    for (number, check) in (1..).zip(conformance::checks()) {
        let mut sites = Sites::new(number, Store::new());
        let hosts = sites.hosts.clone();
        sites.made.executor.block_on(async move {
            let (world, mirror, _) = connect(&hosts, 1).await;
            check.start(&world, &Path::new(HERE).join("deep")).await;
            while mirror.unanswered() > 0 {
                world.sleep(brunt_units::Span::millis(1)).await;
            }
            assert_eq!(mirror.state(), MirrorState::InStep, "{}", check.name);
        });
        let store = sites.made.machine.store();
        let (here, there) = (files_below(&store, HERE), files_below(&store, THERE));
        assert_eq!(here.len(), there.len(), "{}", check.name);
        for ((name, here), (other, there)) in here.iter().zip(&there) {
            assert_eq!(name, other, "{}", check.name);
            assert!(here == there, "{}: {name} differs", check.name);
        }
    }
}

#[test]
fn a_mirrored_real_world_conforms() {
    let home = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [here, there] = ["a", "b"].map(|name| home.path().join(name));
    let mut roots = Roots::default();
    for folder in [&here, &there] {
        std::fs::create_dir(folder).unwrap();
        roots.add(folder).unwrap();
    }
    let record = home.path().join("epoch");
    let mut real =
        RealWorld::new(&Options { roots, slab_bytes: 4 << 20, ..Options::default() }).unwrap();
    let (world, folder, other) = (real.world.clone(), here.clone(), there.clone());
    real.executor.block_on(async move {
        let receiver = Receiver::open(&world, &other, &record).await.unwrap();
        let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (listener, at) = world.net.listen(at).await.unwrap();
        drop(world.spawner.spawn(async move { receiver.serve(listener, None).await }));
        let connection = world.net.connect(at).await.unwrap();
        let (world, mirror) = mirrored(&world, &folder, connection, 1).await.unwrap();
        conformance::run(world, folder).await;
        assert_eq!(mirror.state(), MirrorState::InStep);
    });
    let names = |folder: &Path| {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&here), names(&there));
    for name in names(&here) {
        let [one, other] = [&here, &there].map(|folder| std::fs::read(folder.join(&name)).unwrap());
        assert!(one == other, "{} differs", name.display());
    }
}
