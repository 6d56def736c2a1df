//! The way in and out: host stack, ports, controllers, and the link between controllers.
//!
//! ```text
//!    host stack -> port -> controller's processor [-> other controller, when it is the owner]
//!                                                 [-> mirrored to the other controller's cache and acknowledged, for a write]
//!    ...
//!    port -> host
//! ```
//!
//! Each stage records only when it will be free, so a request costs one event on its way in and one
//! on its way out.
//!
//! A LUN belongs to a controller. The owner's ports are its optimised paths; the other controller's
//! ports also work, at the cost of a hop. When the owner fails, the LUN moves to the other
//! controller and its hosts wait for the failover.

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
    /// Counts the requests to this controller's LUNs, which take the ports in turn.
    path_turn: usize,
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
        Self { home: controller, owner: controller, blocked_until: Time::ZERO }
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

/// How long controllers, ports and the link between controllers worked since measurement began, in
/// seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontWork {
    /// Of each controller's processor; of several cores, their mean.
    pub controllers: Vec<f64>,
    /// Of each port: in, and out.
    pub ports: Vec<[f64; 2]>,
    /// Of the link between controllers; `None` where there is one controller.
    pub between: Option<f64>,
}

/// Ports and controllers.
pub(super) struct Front {
    design: FrontDesign,
    controller: ControllerDesign,
    controllers: Vec<Controller>,
    between: Busy,
    /// Counts what drives ask of the processors, which take it in turn.
    work_turn: usize,
    since: Time,
}

impl Front {
    pub(super) fn new(front: FrontDesign, controller: ControllerDesign) -> Self {
        let port =
            || Port { into: Busy::default(), out: Busy::default(), is_up: true, requests: 0 };
        let one = || Controller {
            cpu: Pool::new(controller.cores as usize),
            is_up: true,
            ports: (0..front.ports).map(|_| port()).collect(),
            path_turn: 0,
        };
        Self {
            controllers: (0..controller.count.max(1)).map(|_| one()).collect(),
            design: front,
            controller,
            between: Busy::default(),
            work_turn: 0,
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

    /// Brings a request in at `now`; `mirrored` when its data is copied to the other controller.
    /// `None` when no path leads to the LUN.
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
        let sent = now + self.design.host_stack;
        let data_time = transfer(data, self.design.port_bytes_per_s);
        let entry = &mut self.controllers[through];
        entry.ports[number].requests += 1;
        let there = entry.ports[number].into.occupy(sent, data_time) + self.design.latency;
        let sends = |at: usize| {
            if other.is_some() && at == lun.owner { message } else { Span::ZERO }
        };
        let mut ready = entry.cpu.occupy(there, cost + sends(through));
        if through != lun.owner {
            ready = self.cross(there, ready, bytes);
            let owner = &mut self.controllers[lun.owner].cpu;
            ready = owner.occupy_later(there, ready, cost + sends(lun.owner));
        }
        if let Some(other) = other {
            self.controllers[other].cpu.occupy(there, message);
            ready = self.cross(there, ready, bytes) + message + self.controller.link_latency;
        }
        // Hosts that wait for a failover keep nobody else waiting.
        let wait = lun.blocked_until - now;
        Some(Entry {
            is_in: true,
            ready_at: ready + wait,
            port,
            wait,
            link: there - now,
            controller: ready - there,
        })
    }

    /// Sends `bytes` of a request that arrived at `arrived` to the other controller at `from`.
    fn cross(&mut self, arrived: Time, from: Time, bytes: u64) -> Time {
        let time = transfer(bytes, self.controller.link_bytes_per_s);
        self.between.occupy_later(arrived, from, time) + self.controller.link_latency
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
            self.work_turn = self.work_turn.wrapping_add(1);
            let count = self.controllers.len();
            let mut turns = (0..count).map(|more| self.work_turn.wrapping_add(more) % count);
            if let Some(at) = turns.find(|at| self.controllers[*at].is_up) {
                self.controllers[at].cpu.occupy(now, cost);
            }
        }
    }

    fn choose(&mut self, lun: &Ownership) -> Option<usize> {
        let owner = &mut self.controllers[lun.owner];
        if !owner.is_up {
            return None;
        }
        owner.path_turn = owner.path_turn.wrapping_add(1);
        let turn = owner.path_turn;
        let each = self.design.ports as usize;
        let mut optimised = self.in_turn(turn, lun.owner * each, each);
        let optimised = match self.design.paths {
            PathPolicy::Optimised => optimised.next(),
            PathPolicy::LeastQueue => optimised.min_by_key(|port| self.requests(*port)),
            PathPolicy::All => None,
        };
        optimised.or_else(|| self.in_turn(turn, 0, self.ports()).next())
    }

    /// The working ports of the `count` from `first` on, starting with the one whose turn it is.
    fn in_turn(&self, turn: usize, first: usize, count: usize) -> impl Iterator<Item = usize> {
        let each = self.design.ports as usize;
        let begin = turn % count;
        let in_turn = (begin..count).chain(0..begin).map(move |step| first + step);
        in_turn.filter(move |port| {
            let controller = &self.controllers[port.div_euclid(each)];
            controller.is_up && controller.ports[port % each].is_up
        })
    }

    /// Requests that came in through `port` and have not gone out.
    fn requests(&self, port: usize) -> u32 {
        let each = self.design.ports as usize;
        self.controllers[port.div_euclid(each)].ports[port % each].requests
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

    /// What each part has done up to `now`.
    pub(super) fn worked(&self, now: Time) -> FrontWork {
        let seconds = |busy: &Busy| busy.spent(now).as_seconds();
        let ports = self.controllers.iter().flat_map(|one| &one.ports);
        FrontWork {
            controllers: self.controllers.iter().map(|one| one.cpu.spent_s(now)).collect(),
            ports: ports.map(|port| [seconds(&port.into), seconds(&port.out)]).collect(),
            between: (self.controllers.len() > 1).then(|| seconds(&self.between)),
        }
    }

    /// Utilisation, 0 to 1: each controller's processor, each port (the busier direction), the link
    /// between the controllers.
    pub(super) fn utilisations(&self, now: Time) -> (Vec<f64>, Vec<f64>, f64) {
        let elapsed = now - self.since;
        let share = |busy: &Busy| {
            if elapsed == Span::ZERO {
                0.0
            } else {
                busy.spent(now).as_seconds() / elapsed.as_seconds()
            }
        };
        let cpus = self.controllers.iter().map(|one| one.cpu.utilisation(now, elapsed));
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
        let controller = ControllerDesign { count: 2, ..ControllerDesign::default() };
        Front::new(design, controller)
    }

    /// The ports chosen for `count` simultaneous reads.
    fn ports(front: &mut Front, count: usize) -> Vec<usize> {
        let lun = Ownership::of(1);
        let enter = |_| front.enter(Time::ZERO, &lun, Verb::Read, 8192, false).unwrap();
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
        assert!(ports(&mut front, 3).iter().all(|port| *port < 3), "the other controller's");
    }

    /// One request for `lun`, in at `now`.
    fn enter(front: &mut Front, now: Time, lun: &Ownership, verb: Verb) -> Entry {
        front.enter(now, lun, verb, 8192, true).unwrap()
    }

    #[test]
    fn requests_to_drives_change_no_turn_of_a_path() {
        let mut front = front(PathPolicy::Optimised);
        front.controller.device_io = Span::micros(10);
        let luns = [Ownership::of(0), Ownership::of(1)];
        let mut used = [0; 6];
        for number in 0..60 {
            let lun = &luns[number % 2];
            used[enter(&mut front, Time::ZERO, lun, Verb::Read).port] += 1;
            front.asked_drive(Time::ZERO, 0);
        }
        assert_eq!(used, [10; 6]);
        let (busy, _, _) = front.utilisations(Time::ZERO + Span::micros(300));
        assert_eq!(busy, [1.0, 1.0]);
    }

    #[test]
    fn a_failover_keeps_only_its_own_luns_waiting() {
        let mut front = front(PathPolicy::Optimised);
        front.controller.failover = Span::seconds(30);
        let (mut moved, other) = (Ownership::of(0), Ownership::of(1));
        let alone = enter(&mut front, Time::ZERO, &other, Verb::Write);
        front.set_controller(Time::ZERO, 0, false, std::iter::once(&mut moved));
        let waiting = enter(&mut front, Time::ZERO, &moved, Verb::Write);
        assert_eq!(waiting.wait, Span::seconds(30));
        assert!(waiting.ready_at > Time::ZERO + Span::seconds(30));
        let later = Time::ZERO + Span::seconds(1);
        let beside = enter(&mut front, later, &other, Verb::Write);
        assert_eq!(beside.ready_at - later, alone.ready_at - Time::ZERO);
    }

    #[test]
    fn a_busy_controller_keeps_writes_of_the_other_off_no_link() {
        let mut front = front(PathPolicy::Optimised);
        front.controller.write = Span::millis(1);
        let (busy, idle) = (Ownership::of(0), Ownership::of(1));
        let alone = enter(&mut front, Time::ZERO, &idle, Verb::Write);
        for _ in 0..10 {
            enter(&mut front, Time::ZERO, &busy, Verb::Write);
        }
        let now = Time::ZERO + Span::millis(2);
        let beside = enter(&mut front, now, &idle, Verb::Write);
        assert_eq!(beside.ready_at - now, alone.ready_at - Time::ZERO);
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
