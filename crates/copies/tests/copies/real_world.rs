//! Two folders of a real file system, and a connection over loopback.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use brunt_copies::{PassiveCopy, Shipper};
use brunt_ese::instance::{Circular, InstanceOptions};
use brunt_ese::verify::verify;
use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world_real::RealWorld;
use tempfile::TempDir;

use crate::stage::{Truth, copy_options, files, instance, open_active, read, work};

/// Looks at a copy until it has what the active has closed.
async fn caught_up(world: &brunt_world::World, shipper: &Shipper, passive: &PassiveCopy) {
    for _ in 0..2_000 {
        let queues = passive.queues();
        if queues.replayed == shipper.closed() && shipper.queues(0).replayed == queues.replayed {
            return;
        }
        world.sleep(Span::millis(10)).await;
    }
    panic!("{:?}, and {} logs are closed", passive.queues(), shipper.closed());
}

#[test]
fn a_copy_in_another_folder_follows_over_loopback_and_takes_over() {
    // Not below /tmp: a file system in memory refuses direct I/O.
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [active, copy] = ["active", "copy"].map(|name| {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("log")).unwrap();
        let root = root.to_str().unwrap().to_owned();
        let options = instance(&root, 512, Circular::Reuse);
        let database = files(&[&root]).get(&options.databases[0]).unwrap();
        fs::write(&options.databases[0], database).unwrap();
        options
    });
    let mut made = RealWorld::new(&brunt_world_real::Options::default()).unwrap();
    let world = made.world.clone();
    made.executor.block_on(follow_and_take_over(world, active, copy));
}

async fn follow_and_take_over(
    world: brunt_world::World,
    active: InstanceOptions,
    copy: InstanceOptions,
) {
    let (opened, shipper) = open_active(&world, active).await.unwrap();
    let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let (listener, at) = world.net.listen(at).await.unwrap();
    let truth = Truth::begin();
    let mut draw = Streams::new(1).named("work");
    let mut passive = None;
    for _ in 0..2 {
        // The second time, the copy was restarted.
        let following = PassiveCopy::open(&world, copy_options(copy.clone())).await.unwrap();
        let connection = world.net.connect(at).await.unwrap();
        let (accepted, _) = world.net.accept(listener).await.unwrap();
        let (serving, receiving) = (shipper.clone(), following.clone());
        drop(world.spawner.spawn(async move { serving.serve(0, accepted).await }));
        drop(world.spawner.spawn(async move { receiving.receive(connection).await }));
        let replaying = following.clone();
        drop(world.spawner.spawn(async move { replaying.follow().await.unwrap() }));
        work(&world, &opened, &truth, 25, &mut draw).await.unwrap();
        caught_up(&world, &shipper, &following).await;
        if let Some(former) = passive.replace(following.clone()) {
            drop::<PassiveCopy>(former);
        } else {
            following.close().await.unwrap();
        }
    }
    let passive = passive.expect("it was opened");
    let stored = passive.queues().stored;
    assert!(stored >= 2, "{stored} logs");
    let (activated, _) = passive.activate(None).await.unwrap();
    let state = read(&activated).await.unwrap();
    truth.borrow().judge(stored, &state).unwrap();
    activated.close().await.unwrap();
    opened.close().await.unwrap();
    let report = verify(&world, &copy.databases[0]).await.unwrap();
    assert!(report.is_intact(), "{:?}", report.findings);
}
