//! The thread that carries packets between the devices of two networks, as [`super::packets`]
//! decides.
//!
//! ```text
//!   device of the source --> read --> Direction: when? --> wait until then --> write --> device of the destination
//! ```
//!
//! While the link is cut it reads on and throws everything away, also what is under way: as when a
//! fibre breaks, and both ends have to send again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use brunt_units::{Span, Time};
use brunt_world::random::Streams;
use brunt_world_real::tun::PACKET_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use super::packets::{Direction, Fate, LinkConditions};

/// Packets that are read from one device before what is due is written.
const BURST: usize = 64;
/// How long it sleeps at most.
const LOOK: Span = Span::millis(20);

/// Packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Bytes that arrived at the second end.
    pub bytes_forth: u64,
    /// Packets that arrived, in both directions.
    pub arrived: u64,
    /// Packets that were lost on the way, or while the link was cut.
    pub lost: u64,
    /// Packets that found a full queue.
    pub dropped: u64,
}

/// An emulated link between two devices. It ends when this is dropped.
pub struct Emulator {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_cut: AtomicBool,
    is_over: AtomicBool,
    bytes_forth: AtomicU64,
    arrived: AtomicU64,
    lost: AtomicU64,
    dropped: AtomicU64,
}

impl Emulator {
    /// Begins to carry packets between `ends`, whose files do not wait.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn start(ends: [OwnedFd; 2], conditions: LinkConditions, seed: u64) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let carrier = Carrier::new(ends, conditions, seed, Arc::clone(&shared));
        let thread = thread::Builder::new().name("link".to_owned());
        let thread = thread.spawn(move || carrier.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Lets nothing through from now on.
    pub fn cut(&self) {
        self.shared.is_cut.store(true, Ordering::Relaxed);
    }

    /// Lets packets through again.
    pub fn mend(&self) {
        self.shared.is_cut.store(false, Ordering::Relaxed);
    }

    /// What was carried so far.
    pub fn carried(&self) -> Carried {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Carried {
            bytes_forth: read(&self.shared.bytes_forth),
            arrived: read(&self.shared.arrived),
            lost: read(&self.shared.lost),
            dropped: read(&self.shared.dropped),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A packet under way: due, number, the end where it arrives, its bytes. The number keeps those in
/// order that are due at once.
type Packet = (Time, u64, usize, Vec<u8>);

struct Carrier {
    ends: [OwnedFd; 2],
    /// Ends whose site is gone.
    are_gone: [bool; 2],
    directions: [Direction; 2],
    under_way: BinaryHeap<Reverse<Packet>>,
    offered: u64,
    begun: Instant,
    shared: Arc<Shared>,
}

impl Carrier {
    fn new(ends: [OwnedFd; 2], conditions: LinkConditions, seed: u64, shared: Arc<Shared>) -> Self {
        let direction = |name| Direction::new(conditions, Streams::new(seed), name);
        Self {
            ends,
            are_gone: [false; 2],
            directions: [direction("forth"), direction("back")],
            under_way: BinaryHeap::new(),
            offered: 0,
            begun: Instant::now(),
            shared,
        }
    }

    fn now(&self) -> Time {
        let nanos = self.begun.elapsed().as_nanos();
        Time(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn run(mut self) {
        // Sleeps end on time, not up to 50 us later. Where the system refuses, packets are late by
        // that.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.deliver();
            if self.wait().is_err() {
                return;
            }
            for from in 0..2 {
                self.take_from(from);
            }
        }
    }

    /// Waits for a packet, or until one is due.
    fn wait(&self) -> Result<(), Errno> {
        let now = self.now();
        let due = self.under_way.peek().map(|Reverse((due, ..))| *due);
        let until = due.map_or(LOOK, |due| due.max(now).since(now)).min(LOOK);
        let timeout = Timespec { tv_sec: 0, tv_nsec: until.0.cast_signed() };
        let there = self.ends.iter().zip(self.are_gone);
        let there = there.filter(|(_, is_gone)| !is_gone);
        let mut polled: Vec<PollFd<'_>> =
            there.map(|(end, _)| PollFd::new(end, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn take_from(&mut self, from: usize) {
        let mut packet = [0; PACKET_MAX];
        for _ in 0..BURST {
            if self.are_gone[from] {
                return;
            }
            match rustix::io::read(self.ends[from].as_fd(), &mut packet) {
                Ok(0) => self.are_gone[from] = true,
                Ok(length) => self.offer(from, &packet[..length]),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => self.are_gone[from] = true,
            }
        }
    }

    fn offer(&mut self, from: usize, packet: &[u8]) {
        // IPv6 looks for routers that are not there.
        if packet.first().is_none_or(|first| first >> 4 != 4) {
            return;
        }
        let now = self.now();
        let fate = self.directions[from].offer(now, packet.len());
        match fate {
            Fate::Arrives(due) if !self.shared.is_cut.load(Ordering::Relaxed) => {
                self.offered += 1;
                let packet = (due, self.offered, 1 - from, packet.to_vec());
                self.under_way.push(Reverse(packet));
            }
            Fate::Arrives(_) | Fate::Lost => count(&self.shared.lost, 1),
            Fate::Dropped => count(&self.shared.dropped, 1),
        }
    }

    /// Writes what is due.
    fn deliver(&mut self) {
        let now = self.now();
        while let Some(Reverse((due, ..))) = self.under_way.peek()
            && *due <= now
        {
            let Some(Reverse((_, _, to, packet))) = self.under_way.pop() else {
                return;
            };
            let arrives = !self.shared.is_cut.load(Ordering::Relaxed)
                && !self.are_gone[to]
                && rustix::io::write(self.ends[to].as_fd(), &packet).is_ok();
            match arrives {
                true => {
                    count(&self.shared.arrived, 1);
                    if to == 1 {
                        count(&self.shared.bytes_forth, packet.len() as u64);
                    }
                }
                false => count(&self.shared.lost, 1),
            }
        }
    }
}

fn count(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;

    /// A link between two sockets that keep packets whole, as devices do, and their far ends.
    fn link(conditions: LinkConditions) -> (Emulator, UnixDatagram, UnixDatagram) {
        let (near, source) = UnixDatagram::pair().unwrap();
        let (far, destination) = UnixDatagram::pair().unwrap();
        for own in [&near, &far] {
            own.set_nonblocking(true).unwrap();
        }
        for site in [&source, &destination] {
            site.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        }
        let emulator = Emulator::start([near.into(), far.into()], conditions, 1).unwrap();
        (emulator, source, destination)
    }

    fn packet(number: u8) -> [u8; 3] {
        [0x45, number, 0]
    }

    fn received(site: &UnixDatagram) -> u8 {
        let mut bytes = [0; 8];
        assert_eq!(site.recv(&mut bytes).unwrap(), 3);
        bytes[1]
    }

    #[test]
    fn packets_arrive_no_earlier_than_the_link_takes_in_both_directions() {
        let (emulator, source, destination) =
            link(LinkConditions { round_trip: Span::millis(40), ..LinkConditions::default() });
        let begun = Instant::now();
        source.send(&packet(7)).unwrap();
        assert_eq!(received(&destination), 7);
        assert!(begun.elapsed() >= Duration::from_millis(20));
        destination.send(&packet(8)).unwrap();
        assert_eq!(received(&source), 8);
        assert!(begun.elapsed() >= Duration::from_millis(40));
        while emulator.carried().arrived < 2 {
            thread::yield_now();
        }
        assert_eq!(emulator.carried().bytes_forth, 3);
    }

    #[test]
    fn nothing_of_what_was_sent_over_a_cut_link_ever_arrives() {
        let (emulator, source, destination) = link(LinkConditions::default());
        emulator.cut();
        for number in 0..10 {
            source.send(&packet(number)).unwrap();
        }
        while emulator.carried().lost < 10 {
            thread::yield_now();
        }
        emulator.mend();
        source.send(&packet(10)).unwrap();
        assert_eq!(received(&destination), 10);
        // Nothing but IPv4 crosses.
        source.send(&[0x60, 0, 0]).unwrap();
        source.send(&packet(11)).unwrap();
        assert_eq!(received(&destination), 11);
        assert_eq!(emulator.carried().lost, 10);
    }

    #[test]
    fn an_end_that_is_gone_does_not_end_the_other_one() {
        let (emulator, source, destination) = link(LinkConditions::default());
        drop(destination);
        source.send(&packet(1)).unwrap();
        while emulator.carried().lost < 1 {
            thread::yield_now();
        }
        assert_eq!(emulator.carried().arrived, 0);
    }
}
