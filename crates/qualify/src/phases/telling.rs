//! Progress reports during long work.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use brunt_run::TELL;
use brunt_world::World;

/// Does `work` and calls `tell` regularly until it is done. Work that is done at once is not
/// reported, and the reports delay nothing.
pub(crate) async fn telling<T>(
    world: &World,
    work: impl Future<Output = T>,
    mut tell: impl FnMut(),
) -> T {
    let mut work = pin!(work);
    let mut alarm = Box::pin(world.sleep(TELL));
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        while alarm.as_mut().poll(context).is_ready() {
            tell();
            alarm = Box::pin(world.sleep(TELL));
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use brunt_units::Span;
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;

    #[test]
    fn work_takes_as_long_as_it_takes() {
        let mut machine = VirtualWorld::new(VirtualOptions::new(1));
        let world = machine.world.clone();
        machine.executor.block_on(async move {
            let told = Cell::new(0);
            let length = TELL * 3 + Span::millis(1);
            telling(&world, world.sleep(length), || told.set(told.get() + 1)).await;
            assert_eq!((told.get(), world.clock.now() - brunt_units::Time::ZERO), (3, length));
        });
    }
}
