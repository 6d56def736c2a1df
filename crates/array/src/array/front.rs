//! The way in and out: host stack, ports, controllers, and the link between controllers.
//!
//! ```text
//!    host stack -> port -> controller's processor [-> other controller, when it is the owner]
//!                                                 [-> mirrored to the other controller's cache and acknowledged, for a write]
//!    ...
//!    port -> host
//! ```
//!
//! Each stage records only when it will be free, so a request costs one event on its way in and one on its way out.
//!
//! A LUN belongs to a controller. The owner's ports are its optimised paths; the other controller's ports also work, at the cost of
//! a hop. When the owner fails, the LUN moves to the other controller and its hosts wait for the failover.

use brunt_units::{Span, Time};

use super::Verb;
use crate::busy::{Busy, Pool, transfer};
use crate::design::{ControllerDesign, FrontDesign, PathPolicy};

struct Port {
    into: Busy,
    out: Busy,
    is_up: bool,
    /// Requests that came in through this port and have not gone out.
    requests: u32,
}

struct Controller {
    cpu: Pool,
    is_up: bool,
    ports: Vec<Port>,
}

/// Which controller serves a LUN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ownership {
    home: usize,
    pub(super) owner: usize,
    /// Hosts wait for a failover until this time.
    blocked_until: Time,
}

impl Ownership {
    pub(super) fn of(controller: usize) -> Self {
        Self {
            home: controller,
            owner: controller,
            blocked_until: Time::ZERO,
        }
    }
}

/// A request's way in: its port and when it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Whether it found a port.
    pub(super) is_in: bool,
    pub(super) ready_at: Time,
    pub(super) port: usize,
    pub(super) wait: Span,
    pub(super) link: Span,
    pub(super) controller: Span,
}

/// Ports and controllers.
pub(super) struct Front {
    design: FrontDesign,
    controller: ControllerDesign,
    controllers: Vec<Controller>,
    between: Busy,
    turn: usize,
    since: Time,
}

impl Front {
    pub(super) fn new(front: FrontDesign, controller: ControllerDesign) -> Self {
        let port = || Port {
            into: Busy::default(),
            out: Busy::default(),
            is_up: true,
            requests: 0,
        };
        let one = || Controller {
            cpu: Pool::new(controller.cores as usize),
            is_up: true,
            ports: (0..front.ports).map(|_| port()).collect(),
        };
        Self {
            controllers: (0..controller.count.max(1)).map(|_| one()).collect(),
            design: front,
            controller,
            between: Busy::default(),
            turn: 0,
            since: Time::ZERO,
        }
    }

    pub(super) fn controllers(&self) -> usize {
        self.controllers.len()
    }

    /// Whether `controller` works.
    pub(super) fn is_up(&self, controller: usize) -> bool {
        self.controllers[controller].is_up
    }

    /// Number of working controllers.
    pub(super) fn working(&self) -> usize {
        self.controllers.iter().filter(|one| one.is_up).count()
    }

    pub(super) fn ports(&self) -> usize {
        self.controllers.len() * self.design.ports as usize
    }

    /// Brings a request in at `now`; `mirrored` when its data is copied to the other controller. `None` when no path leads to the
    /// LUN.
    pub(super) fn enter(
        &mut self,
        now: Time,
        lun: &Ownership,
        verb: Verb,
        bytes: u64,
        mirrored: bool,
    ) -> Option<Entry> {
        let port = self.choose(lun)?;
        let per_controller = self.design.ports as usize;
        let (through, number) = (port.div_euclid(per_controller), port % per_controller);
        let (cost, data) = match verb {
            Verb::Read => (self.controller.read, 0),
            Verb::Write => (self.controller.write + self.pass(bytes), bytes),
        };
        let other = (0..self.controllers.len()).find(|one| mirrored && *one != lun.owner);
        let other = other.filter(|_| verb == Verb::Write);
        let message = self.controller.device_io;
        let from = now.max(lun.blocked_until);
        let sent = from + self.design.host_stack;
        let data_time = transfer(data, self.design.port_bytes_per_s);
        let entry = &mut self.controllers[through];
        entry.ports[number].requests += 1;
        let there = entry.ports[number].into.occupy(sent, data_time) + self.design.latency;
        let sends = |at: usize| {
            if other.is_some() && at == lun.owner {
                message
            } else {
                Span::ZERO
            }
        };
        let mut ready = entry.cpu.occupy(there, cost + sends(through));
        if through != lun.owner {
            ready = self.cross(ready, bytes);
            ready = self.controllers[lun.owner]
                .cpu
                .occupy(ready, cost + sends(lun.owner));
        }
        if let Some(other) = other {
            // Occupies the other processor from the request's arrival on, so as not to reserve it for a time to come.
            self.controllers[other].cpu.occupy(there, message);
            ready = self.cross(ready, bytes) + message + self.controller.link_latency;
        }
        Some(Entry {
            is_in: true,
            ready_at: ready,
            port,
            wait: from - now,
            link: there - from,
            controller: ready - there,
        })
    }

    fn cross(&mut self, from: Time, bytes: u64) -> Time {
        let time = transfer(bytes, self.controller.link_bytes_per_s);
        self.between.occupy(from, time) + self.controller.link_latency
    }

    /// Sends `bytes` of data out through `port`; returns when the host has them.
    pub(super) fn leave(&mut self, now: Time, port: usize, bytes: u64) -> Time {
        let per_controller = self.design.ports as usize;
        let controller = &mut self.controllers[port.div_euclid(per_controller)];
        let time = transfer(bytes, self.design.port_bytes_per_s);
        let port = &mut controller.ports[port % per_controller];
        port.requests -= 1;
        port.out.occupy(now, time) + self.design.latency
    }

    /// The processor time to pass over `bytes` once.
    fn pass(&self, bytes: u64) -> Span {
        transfer(bytes, self.controller.memory_bytes_per_s)
    }

    /// Charges a controller's processor for a request to a drive, which returns `read` bytes.
    pub(super) fn asked_drive(&mut self, now: Time, read: u64) {
        self.work(now, self.controller.device_io + self.pass(read));
    }

    /// Charges a controller's processor for parities computed from `bytes`.
    pub(super) fn computed(&mut self, now: Time, bytes: u64) {
        self.work(now, self.pass(bytes));
    }

    fn work(&mut self, now: Time, cost: Span) {
        if cost > Span::ZERO {
            // Alternates between the controllers that are up; their load is alike.
            self.turn = self.turn.wrapping_add(1);
            let count = self.controllers.len();
            let mut turns = (0..count).map(|more| self.turn.wrapping_add(more) % count);
            if let Some(at) = turns.find(|at| self.controllers[*at].is_up) {
                self.controllers[at].cpu.occupy(now, cost);
            }
        }
    }

    fn choose(&mut self, lun: &Ownership) -> Option<usize> {
        if !self.controllers[lun.owner].is_up {
            return None;
        }
        self.turn = self.turn.wrapping_add(1);
        let each = self.design.ports as usize;
        let optimised = match self.design.paths {
            PathPolicy::Optimised => self.next_up(lun.owner * each, each),
            PathPolicy::LeastQueue => self.least_queue(lun.owner * each, each),
            PathPolicy::All => None,
        };
        optimised.or_else(|| self.next_up(0, self.ports()))
    }

    /// The `count` ports from `first` on, starting with the next in turn.
    fn in_turn(&self, first: usize, count: usize) -> impl Iterator<Item = usize> {
        let each = self.design.ports as usize;
        let begin = self.turn % count;
        let in_turn = (begin..count).chain(0..begin).map(move |step| first + step);
        in_turn.filter(move |port| {
            let controller = &self.controllers[port.div_euclid(each)];
            controller.is_up && controller.ports[port % each].is_up
        })
    }

    /// The next working port in turn, of `count` from `first` on.
    fn next_up(&self, first: usize, count: usize) -> Option<usize> {
        self.in_turn(first, count).next()
    }

    /// The working port with the fewest requests, of `count` from `first` on.
    fn least_queue(&self, first: usize, count: usize) -> Option<usize> {
        let each = self.design.ports as usize;
        let requests =
            |port: &usize| self.controllers[port.div_euclid(each)].ports[port % each].requests;
        self.in_turn(first, count).min_by_key(requests)
    }

    /// Removes or restores a path.
    pub(super) fn set_port(&mut self, port: usize, is_up: bool) {
        let per_controller = self.design.ports as usize;
        self.controllers[port.div_euclid(per_controller)].ports[port % per_controller].is_up =
            is_up;
    }

    /// Handles a controller's failure or return: LUNs move to a working controller, or home.
    pub(super) fn set_controller<'a>(
        &mut self,
        now: Time,
        controller: usize,
        is_up: bool,
        luns: impl Iterator<Item = &'a mut Ownership>,
    ) {
        self.controllers[controller].is_up = is_up;
        let other = self.controllers.iter().position(|one| one.is_up);
        for lun in luns {
            if is_up && lun.home == controller {
                lun.owner = controller;
            } else if !self.controllers[lun.owner].is_up
                && let Some(other) = other
            {
                lun.owner = other;
                lun.blocked_until = now + self.controller.failover;
            }
        }
    }

    /// Restarts measurement.
    pub(super) fn forget_stats(&mut self, now: Time) {
        self.since = now;
        self.between.forget(now);
        for controller in &mut self.controllers {
            controller.cpu.forget(now);
            for port in &mut controller.ports {
                port.into.forget(now);
                port.out.forget(now);
            }
        }
    }

    /// Utilisation, 0 to 1: each controller's processor, each port (the busier direction), the link between the controllers.
    pub(super) fn utilisations(&self, now: Time) -> (Vec<f64>, Vec<f64>, f64) {
        let elapsed = now - self.since;
        let share = |busy: &Busy| {
            if elapsed == Span::ZERO {
                0.0
            } else {
                busy.spent(now).as_seconds() / elapsed.as_seconds()
            }
        };
        let cpus = self
            .controllers
            .iter()
            .map(|one| one.cpu.utilisation(now, elapsed));
        let ports = self.controllers.iter().flat_map(|one| &one.ports);
        let ports = ports.map(|port| share(&port.into).max(share(&port.out)));
        (cpus.collect(), ports.collect(), share(&self.between))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(paths: PathPolicy) -> Front {
        let design = FrontDesign {
            ports: 3,
            port_bytes_per_s: 100_000_000,
            paths,
            ..FrontDesign::default()
        };
        let controller = ControllerDesign {
            count: 2,
            ..ControllerDesign::default()
        };
        Front::new(design, controller)
    }

    /// The ports chosen for `count` simultaneous reads.
    fn ports(front: &mut Front, count: usize) -> Vec<usize> {
        let lun = Ownership::of(1);
        let enter = |_| {
            front
                .enter(Time::ZERO, &lun, Verb::Read, 8192, false)
                .unwrap()
        };
        (0..count).map(enter).map(|entry| entry.port).collect()
    }

    #[test]
    fn the_owners_ports_come_first_and_in_turn() {
        let mut front = front(PathPolicy::Optimised);
        assert_eq!(ports(&mut front, 4), [4, 5, 3, 4]);
        front.set_port(4, false);
        assert_eq!(ports(&mut front, 3), [5, 3, 5]);
        for port in [3, 5] {
            front.set_port(port, false);
        }
        assert!(
            ports(&mut front, 3).iter().all(|port| *port < 3),
            "the other controller's"
        );
    }

    #[test]
    fn a_controller_that_is_left_alone_does_all_requests_to_drives() {
        let mut front = front(PathPolicy::Optimised);
        front.controller.device_io = Span::micros(10);
        front.controllers[0].is_up = false;
        (0..4).for_each(|_| front.asked_drive(Time::ZERO, 0));
        let (busy, _, _) = front.utilisations(Time::ZERO + Span::micros(80));
        assert_eq!(busy, [0.0, 0.5]);
    }

    #[test]
    fn the_least_queue_is_found_and_forgotten_when_it_empties() {
        let mut front = front(PathPolicy::LeastQueue);
        let mut used = ports(&mut front, 6);
        used.sort_unstable();
        assert_eq!(used, [3, 3, 4, 4, 5, 5]);
        for _ in 0..2 {
            front.leave(Time::ZERO, 4, 8192);
        }
        assert_eq!(ports(&mut front, 2), [4, 4], "twice, as it has none");
        front.set_port(4, false);
        assert!(!ports(&mut front, 4).contains(&4));
    }
}
