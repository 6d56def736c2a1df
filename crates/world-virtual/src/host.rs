//! A host that can be killed, on disks that survive it.
//!
//! ```text
//!    tasks of the host        a group of the executor: dropped at its death
//!    ------------------------------------------------------------------------- Host::world
//!    cores of its own         Life: disk and volume, until it is switched off
//!    ------------------------------------------------------------------------- the world it was made from
//! ```
//!
//! Killing a host kills all of its processes at one instant: its tasks are dropped, whatever they
//! wait for. From then on requests through its world have no effect and are never answered. What
//! was in flight continues below it: writes land, names change. Its connections are closed by its
//! operating system. A host that loses power is silent instead; for what its disks lose with it,
//! record a [`crate::Journal`] and take a crash image.
//!
//! Files that it had open stay open, so a removed one keeps its space.

use std::cell::Cell;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;

use brunt_world::{
    Answer, Disk, FileId, Io, OpenMode, Space, Ticket, Tickets, Volume, World, answer,
};

use crate::net::HostNet;
use crate::{Cores, Machine};

/// A modelled server: processors, an address, tasks that end together, and storage that outlives
/// it.
pub struct Host {
    name: String,
    address: IpAddr,
    cores: Cores,
    /// The world underneath.
    below: World,
    machine: Machine,
    world: World,
    net: Rc<HostNet>,
    life: Rc<Life>,
}

impl Host {
    /// A host with its own processors and address; everything else comes from `below`.
    ///
    /// # Panics
    /// While another host has the address.
    pub fn new(
        machine: &Machine,
        below: &World,
        name: &str,
        address: IpAddr,
        cores: Cores,
    ) -> Self {
        let life = Rc::new(Life {
            requests_left: Cell::new(u64::MAX),
            is_killed: Cell::new(false),
            tickets: Tickets::new(below.spawner.tasks()),
            below: below.clone(),
        });
        let net = machine.network.host(address);
        let world = World {
            clock: machine.cores(cores),
            net: Rc::<HostNet>::clone(&net),
            disk: Rc::<Life>::clone(&life),
            volume: Rc::<Life>::clone(&life),
            spawner: below.spawner.group(),
            ..below.clone()
        };
        Self {
            name: name.to_owned(),
            address,
            cores,
            below: below.clone(),
            machine: machine.clone(),
            world,
            net,
            life,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The world of its tasks.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Cuts it off from its disk and volume after `requests` more disk requests. Its tasks live on,
    /// and requests in flight are still answered.
    pub fn cut_storage_after(&self, requests: u64) {
        self.life.requests_left.set(requests);
    }

    /// Whether it is still connected to its storage.
    pub fn has_storage(&self) -> bool {
        self.life.has_storage()
    }

    /// Kills all of its processes. A task of its own that calls this ends at its next wait.
    pub fn kill(&self) {
        self.end(false);
    }

    /// Kills it, and no other host hears of it: connections to it time out.
    pub fn lose_power(&self) {
        self.end(true);
    }

    /// Stops all of its processes where they are, until [`Self::thaw`]. Its disks and its operating
    /// system work on: what they had asked for is done, and their connections stay open.
    pub fn freeze(&self) {
        self.world.spawner.freeze_group();
    }

    /// Lets its processes go on.
    pub fn thaw(&self) {
        self.world.spawner.thaw_group();
    }

    fn end(&self, loses_power: bool) {
        self.life.is_killed.set(true);
        self.cut_storage_after(0);
        self.world.spawner.end_group();
        self.net.end_life(loses_power);
    }

    /// The host's next life, on the same disks.
    ///
    /// # Panics
    /// When it was not killed.
    #[must_use]
    pub fn restart(&self) -> Self {
        assert!(self.life.is_killed.get(), "{} was not killed", self.name);
        let (name, address) = (&self.name, self.address);
        Self::new(&self.machine, &self.below, name, address, self.cores)
    }
}

/// One life of a host, and the switch of its storage.
struct Life {
    /// Zero when it is cut off.
    requests_left: Cell<u64>,
    is_killed: Cell<bool>,
    /// Tickets of requests that are never answered.
    tickets: Tickets,
    below: World,
}

impl Life {
    fn has_storage(&self) -> bool {
        self.requests_left.get() > 0
    }

    /// Asks the volume; never answers when the host is cut off.
    fn ask<T>(&self, ask: impl FnOnce(&dyn Volume) -> Answer<T>) -> Answer<T> {
        if self.has_storage() {
            ask(&*self.below.volume)
        } else {
            answer(self.below.spawner.tasks()).1
        }
    }
}

impl Disk for Life {
    fn submit(&self, io: Io) -> Ticket {
        match self.requests_left.get().checked_sub(1) {
            None => self.tickets.issue(self.below.clock.now()).0,
            Some(left) => {
                self.requests_left.set(left);
                self.below.disk.submit(io)
            }
        }
    }
}

impl Volume for Life {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        self.ask(|volume| volume.open(path, mode))
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.ask(|volume| volume.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.ask(|volume| volume.length(file))
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.ask(|volume| volume.allocate(file, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        self.ask(|volume| volume.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.ask(|volume| volume.remove(path))
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.ask(|volume| volume.list(directory))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.ask(|volume| volume.sync_directory(directory))
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.ask(|volume| volume.space(path))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::pending;

    use brunt_units::Span;
    use brunt_world::{Class, Frame};

    use super::*;
    use crate::{VirtualOptions, VirtualWorld};

    fn host(machine: &Machine, world: &World, number: u8, cores: Cores) -> Host {
        let name = format!("mail-{number}");
        Host::new(machine, world, &name, [10, 0, 0, number].into(), cores)
    }

    /// Runs `test` with a host on a disk with latencies from 100 µs.
    fn with_host<F: Future<Output = ()> + 'static>(
        test: impl FnOnce(Host, World, Machine) -> F,
    ) -> Machine {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let (world, machine) = (made.world.clone(), made.machine.clone());
        let host = host(&machine, &world, 1, Cores::Unlimited);
        made.executor.block_on(test(host, world, machine));
        made.machine
    }

    async fn create(world: &World) -> FileId {
        let path = Path::new("file");
        world.volume.open(path, OpenMode::CreateNew).await.unwrap()
    }

    fn filled(world: &World, byte: u8) -> Rc<Frame> {
        let mut frame = world.frames.take(4096);
        frame.fill(byte);
        Rc::new(frame)
    }

    #[test]
    fn tasks_end_at_the_instant_whatever_they_wait_for() {
        with_host(|host, world, _| async move {
            let reached = Rc::new(Cell::new(0));
            let held = Rc::new(());
            let (inside, outside) = (host.world().clone(), world.clone());
            let file = create(&world).await;
            let frame = filled(&world, 1);
            let write = Io::write(Class::Log, file, 0, &frame);
            let (sleep, spend) = (inside.sleep(Span::millis(1)), Span::millis(1));
            let spend = inside.clock.spend(spend);
            let ticket = inside.disk.submit(write);
            let listed = inside.volume.list(Path::new(""));
            macro_rules! start {
                ($($future:expr),*) => {$({
                    let (reached, held) = (Rc::clone(&reached), Rc::clone(&held));
                    drop(inside.spawner.spawn(async move {
                        let _ = $future.await;
                        reached.set(reached.get() + 1);
                        drop(held);
                    }));
                })*};
            }
            start!(sleep, spend, ticket, listed, pending::<()>());
            // Another one that has started a child task.
            let (spawner, child) = (inside.spawner.clone(), Rc::clone(&held));
            drop(inside.spawner.spawn(async move {
                let keeping = async move {
                    pending::<()>().await;
                    drop(child);
                };
                spawner.spawn(keeping).await;
            }));
            outside.sleep(Span::micros(10)).await;
            assert_eq!(Rc::strong_count(&held), 7);
            host.kill();
            outside.sleep(Span::nanos(1)).await;
            assert_eq!(Rc::strong_count(&held), 1, "every future is dropped");
            outside.sleep(Span::seconds(1)).await;
            assert_eq!(reached.get(), 0, "no timer and no completion resumed one");
            drop(inside.spawner.spawn(async move { reached.set(1) }));
            outside.sleep(Span::seconds(1)).await;
            assert_eq!(Rc::strong_count(&held), 1);
        });
    }

    #[test]
    fn a_task_that_kills_its_own_host_ends_at_its_next_wait() {
        with_host(|host, world, _| async move {
            let steps = Rc::new(RefCell::new(Vec::new()));
            let (inside, its_steps) = (host.world().clone(), Rc::clone(&steps));
            let host = Rc::new(host);
            let its_host = Rc::clone(&host);
            drop(host.world().spawner.spawn(async move {
                its_host.kill();
                its_steps.borrow_mut().push("killed");
                inside.sleep(Span::nanos(1)).await;
                its_steps.borrow_mut().push("slept");
            }));
            world.sleep(Span::seconds(1)).await;
            assert_eq!(*steps.borrow(), ["killed"]);
            assert_eq!(Rc::strong_count(&host), 1);
        });
    }

    #[test]
    fn writes_in_flight_land_and_later_requests_do_nothing() {
        let machine = with_host(|host, world, machine| async move {
            let file = create(host.world()).await;
            let (early, late) = (filled(&world, 1), filled(&world, 2));
            let inside = host.world().clone();
            let write = Io::write(Class::Log, file, 0, &early);
            let answer = inside.disk.submit(write);
            drop(inside.spawner.spawn(answer));
            let renamed = inside.volume.rename(Path::new("file"), Path::new("renamed"));
            host.kill();
            assert!(!host.has_storage());
            let dead = inside.disk.submit(Io::write(Class::Log, file, 0, &late));
            let removed = inside.volume.remove(Path::new("renamed"));
            assert_eq!(machine.in_flight(), 1);
            assert_eq!(Rc::strong_count(&late), 1, "a dead host's memory is free");
            world.sleep(Span::seconds(1)).await;
            assert_eq!(machine.in_flight(), 0);
            assert_eq!(Rc::strong_count(&early), 1, "and that of a detached ticket");
            drop((dead, removed, renamed));
        });
        let content = machine.store().get(Path::new("renamed")).unwrap();
        assert_eq!(content, [1; 4096]);
    }

    #[test]
    fn storage_is_cut_off_after_a_number_of_requests() {
        let machine = with_host(|host, world, _| async move {
            let inside = host.world().clone();
            let file = create(&inside).await;
            let task = async move {
                for at in 0..9 {
                    let frame = filled(&inside, 1);
                    let write = Io::write(Class::Log, file, at * 4096, &frame);
                    inside.disk.submit(write).await.result.unwrap();
                }
            };
            host.cut_storage_after(3);
            let task = host.world().spawner.spawn(task);
            world.sleep(Span::seconds(1)).await;
            assert!(!host.has_storage() && !task.is_done());
        });
        let content = machine.store().get(Path::new("file")).unwrap();
        assert_eq!(content, [1; 3 * 4096]);
    }

    #[test]
    fn another_host_goes_on_and_a_restarted_one_finds_its_files() {
        with_host(|host, world, machine| async move {
            let other = self::host(&machine, &world, 2, Cores::Unlimited);
            let inside = other.world().clone();
            let sleeper = async move {
                inside.sleep(Span::seconds(1)).await;
                inside.clock.spend(Span::micros(5)).await;
                inside.clock.now()
            };
            let sleeper = other.world().spawner.spawn(sleeper);
            let file = create(host.world()).await;
            host.world().volume.close(file).await.unwrap();
            host.kill();
            let again = host.restart();
            assert_eq!(again.name(), "mail-1");
            let inside = again.world().clone();
            let found = again.world().spawner.spawn(async move {
                let path = Path::new("file");
                inside.volume.open(path, OpenMode::Write).await.unwrap()
            });
            assert_ne!(found.await, file, "a handle of its own");
            assert_eq!(sleeper.await.0, 1_000_005_000);
        });
    }

    #[test]
    fn processors_are_its_own() {
        with_host(|host, world, machine| async move {
            let one = Cores::Count(std::num::NonZeroU32::MIN);
            let small = self::host(&machine, &world, 2, one);
            let spend = |host: &Host| host.world().clock.spend(Span::micros(10));
            for spent in [spend(&small), spend(&host), spend(&small)] {
                spent.await;
            }
            assert_eq!(world.clock.now().0, 20_000, "no one waits for another host");
        });
    }
}
