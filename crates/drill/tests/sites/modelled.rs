//! Two sites as modelled hosts, and everything that they acknowledged.
//!
//! ```text
//!   conductor's host --- lines, late ---> source, destination       each with an engine of its own
//!          relay <---------- bytes -----------'
//! ```

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use brunt_drill::sites::messages::{Answer, Command, Speaker, line};
use brunt_drill::sites::relay::Relay;
use brunt_drill::sites::site::{Inbox, SiteOptions, Voice};
use brunt_drill::sites::{CourseError, CoursePlan, Doing, Heed, Link, Site, Storage, lines, site};
use brunt_qualify::truth::witness::Change;
use brunt_scenario::{Document, Exec, RealDrill};
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world::messages::Token;
use brunt_world::random::Stream;
use brunt_world_virtual::{Cores, Host, LinkOptions, VirtualLink, VirtualOptions, VirtualWorld};

/// The conductor's address.
const CONDUCTOR: u8 = 3;

fn address(number: u8) -> IpAddr {
    [10, 0, 0, number].into()
}

/// A world with three hosts: the sites, and the conductor between them.
pub(crate) fn world(seed: u64) -> (VirtualWorld, [Host; 3]) {
    let link = |number: u8| VirtualLink {
        ends: [address(number), address(CONDUCTOR)],
        options: LinkOptions {
            delay: Span::micros(50),
            bytes_per_second: 1_250_000_000,
            jitter: Span::micros(20),
            ..LinkOptions::default()
        },
    };
    let made = VirtualWorld::new(VirtualOptions {
        links: vec![link(1), link(2)],
        ..VirtualOptions::new(seed)
    });
    let hosts = [(1, "source"), (2, "destination"), (CONDUCTOR, "conductor")];
    let hosts = hosts.map(|(number, name)| {
        Host::new(&made.machine, &made.world, name, address(number), Cores::Unlimited)
    });
    (made, hosts)
}

/// A commit that a site asked for or acknowledged, as it was said and before it was heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) is_acknowledged: bool,
    pub(crate) change: Change,
}

/// All of them, in their order.
pub(crate) type Truth = Arc<Mutex<Vec<Said>>>;

/// What a site says, until it is heard.
struct Lines {
    fresh: Mutex<VecDeque<String>>,
    truth: Truth,
}

impl Voice for Lines {
    fn say(&self, line: &str) {
        let line = line.trim_end();
        if let Some((mark, change)) = lines::parse(line) {
            let is_acknowledged = mark == lines::ACKNOWLEDGED;
            self.truth.lock().unwrap().push(Said { is_acknowledged, change });
        }
        self.fresh.lock().unwrap().push_back(line.to_owned());
    }
}

/// A site as a modelled host.
pub(crate) struct ModelledSite {
    name: &'static str,
    host: Rc<Host>,
    /// Of the conductor.
    world: World,
    inbox: Inbox,
    lines: Arc<Lines>,
    /// What is on its way to the conductor.
    coming: RefCell<VecDeque<(Time, String)>>,
    /// How late lines are at most.
    late: Span,
    draw: RefCell<Stream>,
    has_ended: Rc<Cell<bool>>,
}

impl ModelledSite {
    pub(crate) fn new(
        name: &'static str,
        host: Host,
        world: &World,
        truth: &Truth,
        late: Span,
        draw: Stream,
    ) -> Self {
        Self {
            name,
            host: Rc::new(host),
            world: world.clone(),
            inbox: Inbox::default(),
            lines: Arc::new(Lines { fresh: Mutex::default(), truth: Arc::clone(truth) }),
            coming: RefCell::default(),
            late,
            draw: RefCell::new(draw),
            has_ended: Rc::default(),
        }
    }

    pub(crate) fn host(&self) -> &Rc<Host> {
        &self.host
    }

    /// Its next life, after it was killed.
    pub(crate) fn restarted(&self) -> Host {
        Site::kill(self);
        self.host.restart()
    }

    fn delay(&self) -> Span {
        Span(self.draw.borrow_mut().below(self.late.0.max(1)))
    }

    /// Begins to work, as the process of a site does.
    fn begin(&self, scenario: &str, folder: PathBuf, log_segment: usize) {
        let document = Document::new("drill", scenario, Path::new("/")).unwrap();
        let drill = document.real_drill(&[]).unwrap();
        let mut plan = drill.at(&folder).plan();
        plan.engine.log_segment = log_segment;
        let voice: Arc<dyn Voice> = Arc::<Lines>::clone(&self.lines);
        let site = site::Site::new(SiteOptions {
            world: self.host.world().clone(),
            plan,
            drill,
            folder,
            address: self.host.address(),
            voice,
            inbox: self.inbox.clone(),
            secret,
        });
        let (host, has_ended) = (Rc::clone(&self.host), Rc::clone(&self.has_ended));
        drop(self.host.world().spawner.spawn(async move {
            site.run().await;
            // The process ends, and everything of it.
            has_ended.set(true);
            host.kill();
        }));
        self.lines.say(&line(&Answer::Done));
    }

    /// What it has said so far is on its way.
    fn carry(&self) {
        let now = self.world.clock.now();
        let mut coming = self.coming.borrow_mut();
        for line in self.lines.fresh.lock().unwrap().drain(..) {
            let due = now + self.delay();
            // A pipe keeps the order.
            let due = coming.back().map_or(due, |(before, _)| due.max(*before));
            coming.push_back((due, line));
        }
    }
}

fn secret(world: &World) -> io::Result<Token> {
    let mut secret = Token([0; 16]);
    world.random.named("secret").fill(&mut secret.0);
    Ok(secret)
}

impl Site for ModelledSite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn send(&self, line: &str) {
        let command = serde_json::from_str(line).expect("a command");
        if let Command::Begin { scenario, folder, log_segment } = command {
            return self.begin(&scenario, folder, log_segment);
        }
        let (inbox, delay, world) = (self.inbox.clone(), self.delay(), self.world.clone());
        drop(self.world.spawner.spawn(async move {
            world.sleep(delay).await;
            inbox.put(command);
        }));
    }

    fn new_lines(&self) -> Vec<String> {
        self.carry();
        let now = self.world.clock.now();
        let mut coming = self.coming.borrow_mut();
        let due = coming.iter().take_while(|(due, _)| *due <= now).count();
        coming.drain(..due).map(|(_, line)| line).collect()
    }

    fn has_ended(&self) -> bool {
        self.has_ended.get() && self.coming.borrow().is_empty()
    }

    fn last_words(&self) -> String {
        "it was killed".to_owned()
    }

    fn dismiss(&self) {}

    fn kill(&self) {
        self.carry();
        self.has_ended.set(true);
        self.host.kill();
    }

    fn freeze(&self) {
        self.host.freeze();
    }

    fn thaw(&self) {
        self.host.thaw();
    }
}

/// Relays of the conductor.
pub(crate) struct ModelledLink {
    pub(crate) round_trip: Span,
    pub(crate) relays: RefCell<Vec<Relay>>,
}

impl Link for ModelledLink {
    fn way_to<'a>(&'a self, world: &'a World, to: SocketAddr) -> Doing<'a, SocketAddr> {
        Box::pin(async move {
            let relay =
                Relay::open(world, SocketAddr::new(address(CONDUCTOR), 0), to, self.round_trip)
                    .await;
            let (relay, at) = relay.map_err(CourseError::of)?;
            self.relays.borrow_mut().push(relay);
            Ok(at)
        })
    }

    fn sent(&self) -> u64 {
        self.relays.borrow().iter().map(Relay::sent).sum()
    }

    fn cut(&self) {
        self.relays.borrow().iter().for_each(Relay::cut);
    }

    fn mend(&self) {
        self.relays.borrow().iter().for_each(Relay::mend);
    }

    fn shortcoming(&self) -> Option<String> {
        None
    }

    fn carried(&self) -> Option<String> {
        None
    }
}

/// Folders that nothing is done to.
pub(crate) struct ModelledStorage;

impl Storage for ModelledStorage {
    fn speaker(&self) -> Speaker {
        Speaker::own(None)
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn may_replace(&self) -> bool {
        false
    }

    fn log_segment(&self) -> usize {
        512
    }

    fn release(&self) {}

    fn is_there(&self) -> bool {
        true
    }

    fn arrive(&self) -> Result<(), CourseError> {
        unreachable!("brunt replicates")
    }

    fn exec<'a>(&'a self, _: &'a World, _: &'a Exec, _: Heed<'a>) -> Doing<'a, ()> {
        unreachable!("the scenario has no commands")
    }
}

/// The course that a scenario describes, with a short warm-up.
pub(crate) fn course_of(drill: &RealDrill) -> CoursePlan {
    CoursePlan {
        timeline: drill.timeline.clone(),
        warm_up: Span::millis(200),
        after: drill.drill.after,
        replication: drill.replication,
        how: None,
    }
}
