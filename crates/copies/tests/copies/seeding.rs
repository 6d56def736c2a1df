//! A new copy is seeded from an active in use.

use brunt_copies::seed::seed;
use brunt_copies::{CopyError, PassiveCopy};
use brunt_ese::backup::Reads;
use brunt_ese::instance::Circular;
use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world_virtual::LinkOptions;

use crate::stage::{
    Truth, accept, copy_options, files, instance, open_active, read, receive, work, world,
};

#[test]
fn a_seeded_copy_waits_for_the_log_of_its_seed_and_then_follows() {
    for rng in 1..6 {
        let (mut made, [active, copy]) = world(rng, files(&["/a"]), LinkOptions::default());
        let outside = made.world.clone();
        made.executor.block_on(async move {
            let world = active.world().clone();
            let options = instance("/a", 512, Circular::Remove);
            let (opened, shipper) = open_active(&world, options).await.unwrap();
            // The copy is not there yet: what it needs begins with its seed.
            shipper.seeded(0, u32::MAX);
            let truth = Truth::begin();
            let mut draw = Streams::new(rng).named("work");
            work(&world, &opened, &truth, 100, &mut draw).await.unwrap();
            let (busy, working, telling) = (world.clone(), opened.clone(), truth.clone());
            let worker = world.spawner.spawn(async move {
                work(&busy, &working, &telling, 60, &mut draw).await.unwrap();
                draw
            });
            let to = instance("/b", 512, Circular::Off);
            let reads = Reads { outstanding: 1, bytes: 4096 };
            let seeded = seed(&world, &opened, &to, reads).await.unwrap();
            let needed = seeded.needed;
            shipper.seeded(0, seeded.first());
            drop(seeded);
            let inside = copy.world().clone();
            let early = PassiveCopy::open(&inside, copy_options(to.clone())).await.unwrap();
            let stored = early.queues().stored;
            let refused = early.activate(None).await.err();
            assert_eq!(refused, Some(CopyError::Incomplete { needed, stored }));
            let passive = PassiveCopy::open(&inside, copy_options(to.clone())).await.unwrap();
            let following = passive.clone();
            drop(inside.spawner.spawn(async move { following.follow().await.unwrap() }));
            drop(inside.spawner.spawn(receive(inside.clone(), passive.clone())));
            let serving = shipper.clone();
            drop(world.spawner.spawn(accept(world.clone(), move || serving.clone(), |_| {})));
            let mut draw = worker.await;
            work(&world, &opened, &truth, 60, &mut draw).await.unwrap();
            outside.sleep(Span::seconds(3)).await;
            let queues = passive.queues();
            assert_eq!((queues.copy(), queues.replay()), (0, 0), "{queues:?}");
            assert!(queues.stored >= needed && queues.stored == shipper.closed());
            let (activated, _) = passive.activate(None).await.unwrap();
            let state = read(&activated).await.unwrap();
            truth.borrow().judge(queues.stored, &state).unwrap();
            activated.close().await.unwrap();
            let again = seed(&world, &opened, &to, reads).await.err();
            let exists = again.expect("there is a copy").to_string();
            assert!(exists.ends_with("the file exists already"), "{exists}");
        });
    }
}
