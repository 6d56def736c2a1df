//! Who attends to the servers while mail is sent: a thread, because calls to servers wait.
//!
//! The course of a test runs on one thread that must never wait for anything but its own events. It
//! gives an order, goes on, and looks for the answer.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use brunt_servers::MailSystem;
use brunt_units::Span;
use brunt_world::World;

/// How often it is looked for an answer.
const LOOK: Span = Span::millis(2);

type Work = Box<dyn FnOnce(&mut MailSystem) + Send>;

/// A thread that has the servers. They are stopped when this is dropped.
pub(super) struct Attendant {
    orders: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Attendant {
    /// Hands `system` to a thread of its own.
    pub(super) fn new(mut system: MailSystem) -> std::io::Result<Self> {
        let (orders, work): (Sender<Work>, Receiver<Work>) = channel();
        let thread = thread::Builder::new().name("servers".into()).spawn(move || {
            for order in work {
                order(&mut system);
            }
            // What does not stop is killed by the drop.
            let _ = system.stop();
        })?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Does `order`, and waits for its end in `world`.
    pub(super) async fn order<T: Send + 'static>(
        &self,
        world: &World,
        order: impl FnOnce(&mut MailSystem) -> T + Send + 'static,
    ) -> T {
        let (answer, answered) = channel();
        let work: Work = Box::new(move |system| {
            let _ = answer.send(order(system));
        });
        if let Some(orders) = &self.orders {
            orders.send(work).expect("the thread lives as long as its orders come");
        }
        loop {
            match answered.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Empty) => world.sleep(LOOK).await,
                Err(TryRecvError::Disconnected) => panic!("the thread of the servers has panicked"),
            }
        }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
