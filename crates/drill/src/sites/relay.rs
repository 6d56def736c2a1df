//! A link on one machine: a relay of TCP connections that holds back what is sent, and can be cut.
//!
//! ```text
//!   source --> read --> queue, each piece due after half a round trip --> write --> destination
//!                         | cut: nothing leaves, in both directions; nothing is lost, as TCP would send it again
//!                         | severed: connections break, and what waits is lost
//! ```
//!
//! It adds delay to bytes, and knows nothing of packets: jitter, loss, reordering and bandwidth are
//! those of the machine itself.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::sync::Event;
use brunt_world::{NetError, SocketId, World};

/// Bytes of one read.
const READ: usize = 256 << 10;
/// Bytes that wait in one direction; beyond that it does not read on.
const QUEUE_MAX: usize = 64 << 20;

/// A relay. A clone is another handle.
#[derive(Clone)]
pub struct Relay(Rc<Shared>);

struct Shared {
    world: World,
    to: SocketAddr,
    delay: Cell<Span>,
    is_cut: Cell<bool>,
    mended: Event,
    /// Connections whose two directions have not both ended, each with how many have.
    open: RefCell<BTreeMap<(SocketId, SocketId), u8>>,
    /// Bytes that have gone to the listener behind it.
    sent: Cell<u64>,
}

/// What waits in one direction.
struct Queue {
    pieces: RefCell<VecDeque<(Time, Vec<u8>)>>,
    bytes: Cell<usize>,
    changed: Event,
}

impl Relay {
    /// A relay at `at` (port 0 picks a free one) to `to`, with a round trip of `rtt`; and where it
    /// listens.
    ///
    /// # Errors
    /// [`NetError`] when it cannot listen.
    pub async fn open(
        world: &World,
        at: SocketAddr,
        to: SocketAddr,
        rtt: Span,
    ) -> Result<(Self, SocketAddr), NetError> {
        let (listener, at) = world.net.listen(at).await?;
        let relay = Self(Rc::new(Shared {
            world: world.clone(),
            to,
            delay: Cell::new(Span(rtt.0.div_euclid(2))),
            is_cut: Cell::new(false),
            mended: Event::new(world.spawner.tasks()),
            open: RefCell::default(),
            sent: Cell::new(0),
        }));
        drop(world.spawner.spawn(Rc::clone(&relay.0).accept(listener)));
        Ok((relay, at))
    }

    /// Bytes that have gone to the listener behind it.
    pub fn sent(&self) -> u64 {
        self.0.sent.get()
    }

    /// Holds each piece back for so long from now on.
    pub fn delay(&self, delay: Span) {
        self.0.delay.set(delay);
    }

    /// Breaks every connection that is open. New ones are carried.
    pub fn sever(&self) {
        for (near, far) in self.0.open.take().into_keys() {
            self.0.world.net.close(near);
            self.0.world.net.close(far);
        }
    }

    /// Lets nothing through from now on.
    pub fn cut(&self) {
        self.0.is_cut.set(true);
    }

    /// Lets everything through again, also what was held back.
    pub fn mend(&self) {
        self.0.is_cut.set(false);
        self.0.mended.notify();
    }
}

impl Shared {
    async fn accept(self: Rc<Self>, listener: SocketId) {
        while let Ok((near, _)) = self.world.net.accept(listener).await {
            match self.world.net.connect(self.to).await {
                Ok(far) => {
                    self.open.borrow_mut().insert((near, far), 0);
                    self.pump((near, far), true);
                    self.pump((near, far), false);
                }
                Err(_) => self.world.net.close(near),
            }
        }
    }

    /// Carries one direction: from the near end, which counts, or from the far one.
    fn pump(self: &Rc<Self>, ends: (SocketId, SocketId), counts: bool) {
        let from = if counts { ends.0 } else { ends.1 };
        let queue = Rc::new(Queue {
            pieces: RefCell::default(),
            bytes: Cell::new(0),
            changed: Event::new(self.world.spawner.tasks()),
        });
        let spawner = &self.world.spawner;
        drop(spawner.spawn(Rc::clone(self).read_all(from, Rc::clone(&queue))));
        drop(spawner.spawn(Rc::clone(self).write_all(ends, queue, counts)));
    }

    /// Queues what arrives; an empty piece is the end.
    async fn read_all(self: Rc<Self>, from: SocketId, queue: Rc<Queue>) {
        loop {
            let has_room = || (queue.bytes.get() < QUEUE_MAX).then_some(());
            queue.changed.wait(has_room).await;
            let read = self.world.net.read(from, READ).await.unwrap_or_default();
            let (due, length) = (self.world.clock.now() + self.delay.get(), read.len());
            queue.bytes.set(queue.bytes.get() + length);
            queue.pieces.borrow_mut().push_back((due, read));
            queue.changed.notify();
            if length == 0 {
                return;
            }
        }
    }

    async fn write_all(self: Rc<Self>, ends: (SocketId, SocketId), queue: Rc<Queue>, counts: bool) {
        let (from, to) = if counts { ends } else { (ends.1, ends.0) };
        loop {
            let next = || queue.pieces.borrow_mut().pop_front();
            let (due, piece) = queue.changed.wait(next).await;
            self.world.sleep_until(due).await;
            let is_whole = || (!self.is_cut.get()).then_some(());
            self.mended.wait(is_whole).await;
            queue.bytes.set(queue.bytes.get() - piece.len());
            if counts {
                self.sent.set(self.sent.get() + piece.len() as u64);
            }
            queue.changed.notify();
            let written = match piece.is_empty() {
                true => break,
                false => self.world.net.write(to, piece).await,
            };
            if written.is_err() {
                self.world.net.close(from);
                break;
            }
        }
        // Whoever is gone needs no end.
        let _ = self.world.net.finish(to).await;
        let ended = self.open.borrow_mut().get_mut(&ends).is_some_and(|ended| {
            *ended += 1;
            *ended == 2
        });
        if ended {
            self.open.borrow_mut().remove(&ends);
            self.world.net.close(ends.0);
            self.world.net.close(ends.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;

    #[test]
    fn bytes_arrive_late_in_order_and_not_while_it_is_cut() {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let world = made.world.clone();
        made.executor.block_on(async move {
            let host = Ipv4Addr::LOCALHOST.into();
            let (listener, to) = world.net.listen(SocketAddr::new(host, 0)).await.unwrap();
            let (relay, at) =
                Relay::open(&world, SocketAddr::new(host, 0), to, Span::millis(10)).await.unwrap();
            let near = world.net.connect(at).await.unwrap();
            let (far, _) = world.net.accept(listener).await.unwrap();
            let begun = world.clock.now();
            world.net.write(near, b"one".to_vec()).await.unwrap();
            assert_eq!(world.net.read(far, 100).await.unwrap(), b"one");
            let took = |trip: u64| (world.clock.now() - begun).0.div_euclid(1_000_000) == trip;
            assert!(took(5));
            world.net.write(far, b"back".to_vec()).await.unwrap();
            assert_eq!(world.net.read(near, 100).await.unwrap(), b"back");
            assert!(took(10));
            assert_eq!(relay.sent(), 3);
            relay.cut();
            for word in ["two", "three"] {
                world.net.write(near, word.into()).await.unwrap();
            }
            let read = world.spawner.spawn(world.net.read(far, 3));
            world.sleep(Span::seconds(60)).await;
            assert!(!read.is_done());
            relay.mend();
            assert_eq!(read.await.unwrap(), b"two");
            world.net.finish(near).await.unwrap();
            let mut rest = Vec::new();
            loop {
                let more = world.net.read(far, 100).await.unwrap();
                if more.is_empty() {
                    break;
                }
                rest.extend(more);
            }
            assert_eq!(rest, b"three");
        });
    }

    #[test]
    fn connections_that_are_severed_break_and_new_ones_are_carried() {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let world = made.world.clone();
        made.executor.block_on(async move {
            let host = Ipv4Addr::LOCALHOST.into();
            let (listener, to) = world.net.listen(SocketAddr::new(host, 0)).await.unwrap();
            let at = SocketAddr::new(host, 0);
            let (relay, at) = Relay::open(&world, at, to, Span::ZERO).await.unwrap();
            for word in ["one", "two"] {
                let near = world.net.connect(at).await.unwrap();
                let (far, _) = world.net.accept(listener).await.unwrap();
                world.net.write(near, word.into()).await.unwrap();
                assert_eq!(world.net.read(far, 100).await.unwrap(), word.as_bytes());
                relay.cut();
                world.net.write(near, b"held back".to_vec()).await.unwrap();
                world.sleep(Span::seconds(1)).await;
                relay.sever();
                relay.mend();
                for end in [near, far] {
                    let heard = world.net.read(end, 100).await;
                    assert!(heard.is_err() || heard == Ok(Vec::new()), "{heard:?}");
                }
                assert!(relay.0.open.borrow().is_empty());
            }
        });
    }
}
