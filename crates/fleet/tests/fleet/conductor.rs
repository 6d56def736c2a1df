//! A coordinator on a host of its own, with its connections.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_fleet::{Coordinator, Deed, Plan, Report};
use brunt_units::Span;
use brunt_world::{SocketId, World};

use crate::hosts::PORT;

const LOOK: Span = Span::millis(50);

/// Files of hosts, by host and name.
pub(crate) type Kept = RefCell<BTreeMap<(usize, String), Vec<u8>>>;

pub(crate) struct Conductor {
    world: World,
    addresses: Vec<IpAddr>,
    coordinator: RefCell<Coordinator>,
    /// Which connection to each host is the newest, and what is to be sent on it.
    newest: RefCell<Vec<(u64, Option<Way>)>>,
    /// How often to stop.
    pub(crate) stops: Cell<u32>,
    /// Messages that were sent.
    pub(crate) sent: Cell<u64>,
}

#[derive(Clone)]
struct Way {
    connection: SocketId,
    outgoing: Rc<RefCell<VecDeque<Vec<u8>>>>,
    is_sending: Rc<Cell<bool>>,
}

impl Conductor {
    pub(crate) fn new(world: &World, addresses: &[IpAddr], plan: Plan) -> Rc<Self> {
        let coordinator = Coordinator::new(plan, world.clock.now());
        Rc::new(Self {
            world: world.clone(),
            addresses: addresses.to_vec(),
            coordinator: RefCell::new(coordinator),
            newest: RefCell::new(addresses.iter().map(|_| (0, None)).collect()),
            stops: Cell::default(),
            sent: Cell::default(),
        })
    }

    /// Conducts to the end.
    pub(crate) async fn conduct(self: Rc<Self>, kept: Rc<Kept>) -> Report {
        loop {
            if let Some(left) = self.stops.get().checked_sub(1) {
                self.stops.set(left);
                self.coordinator.borrow_mut().stop();
            }
            self.coordinator.borrow_mut().tick(self.world.clock.now());
            self.carry_out(&kept);
            let report = self.coordinator.borrow().report();
            if let Some(report) = report {
                // What was said last still goes out.
                self.world.sleep(LOOK).await;
                return report;
            }
            self.world.sleep(LOOK).await;
        }
    }

    fn carry_out(self: &Rc<Self>, kept: &Rc<Kept>) {
        let deeds = self.coordinator.borrow_mut().deeds();
        for deed in deeds {
            match deed {
                Deed::Connect(host) => self.connect(host, kept),
                Deed::Close(host) => {
                    let way = self.newest.borrow_mut()[host].1.take();
                    self.newest.borrow_mut()[host].0 += 1;
                    if let Some(way) = way {
                        self.world.net.close(way.connection);
                    }
                }
                Deed::Send(host, bytes) => {
                    self.sent.set(self.sent.get() + 1);
                    if let Some(way) = self.newest.borrow()[host].1.clone() {
                        way.outgoing.borrow_mut().push_back(bytes);
                        self.send(&way);
                    }
                }
                Deed::Keep { host, name, offset, bytes } => {
                    let mut kept = kept.borrow_mut();
                    let file = kept.entry((host, name)).or_default();
                    file.truncate(usize::try_from(offset).unwrap());
                    assert_eq!(file.len() as u64, offset, "no hole");
                    file.extend(bytes);
                }
                Deed::Advise(_) => {}
            }
        }
    }

    fn send(self: &Rc<Self>, way: &Way) {
        if way.is_sending.replace(true) {
            return;
        }
        let (world, way) = (self.world.clone(), way.clone());
        drop(self.world.spawner.spawn(async move {
            loop {
                let next = way.outgoing.borrow_mut().pop_front();
                let Some(bytes) = next else { break };
                if world.net.write(way.connection, bytes).await.is_err() {
                    break;
                }
            }
            way.is_sending.set(false);
        }));
    }

    fn connect(self: &Rc<Self>, host: usize, kept: &Rc<Kept>) {
        let number = self.newest.borrow()[host].0 + 1;
        self.newest.borrow_mut()[host] = (number, None);
        let (conductor, kept) = (Rc::clone(self), Rc::clone(kept));
        drop(self.world.spawner.spawn(async move {
            let to = SocketAddr::new(conductor.addresses[host], PORT);
            let world = conductor.world.clone();
            let is_newest = || conductor.newest.borrow()[host].0 == number;
            let connection = world.net.connect(to).await;
            let connection = match connection {
                Ok(connection) if is_newest() => connection,
                Ok(connection) => return world.net.close(connection),
                Err(error) => {
                    if is_newest() {
                        let now = world.clock.now();
                        conductor.coordinator.borrow_mut().lost(host, error.to_string(), now);
                    }
                    return;
                }
            };
            let way = Way { connection, outgoing: Rc::default(), is_sending: Rc::default() };
            conductor.newest.borrow_mut()[host].1 = Some(way);
            conductor.coordinator.borrow_mut().connected(host, world.clock.now());
            conductor.carry_out(&kept);
            loop {
                let read = world.net.read(connection, 1 << 16).await;
                if !is_newest() {
                    return;
                }
                let now = world.clock.now();
                match read {
                    Ok(bytes) if !bytes.is_empty() => {
                        conductor.coordinator.borrow_mut().heard(host, &bytes, now);
                        conductor.carry_out(&kept);
                    }
                    ended => {
                        let why = ended.err().map_or("it ended".to_owned(), |e| e.to_string());
                        conductor.coordinator.borrow_mut().lost(host, why, now);
                        return world.net.close(connection);
                    }
                }
            }
        }));
    }
}
