//! A tiny active and its copy on two hosts, and what the active had committed when.
//!
//! ```text
//!   10.0.0.1  /a   sessions -> Instance -> Shipper   ---- link ----   PassiveCopy   /b   10.0.0.2
//!                     |
//!                   Truth: state after each commit, and the log that its record is in
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_copies::truncation::Limits;
use brunt_copies::{CopyError, CopyOptions, PassiveCopy, Shipper};
use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, Instance, InstanceOptions, Replayer};
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::scan::Throttle;
use brunt_testkit::tiny::{SIZE, TABLE, options, tree_database};
use brunt_units::Span;
use brunt_world::World;
use brunt_world::random::Stream;
use brunt_world_virtual::{
    Cores, Host, LinkOptions, Store, VirtualLink, VirtualOptions, VirtualWorld,
};

/// Keys of the table.
const KEYS: u32 = 24;
/// Frames of either cache.
const FRAMES: u32 = 24;
/// The scan of a copy: hurried, to meet redo often.
const SCAN: Throttle =
    Throttle { batch_bytes: 16 << 10, sleep: Span::millis(6), interval: Span::millis(40) };
/// Where an active listens.
pub(crate) const PORT: u16 = 64327;

/// The version of each record.
pub(crate) type State = BTreeMap<u32, u32>;

/// The states of an active.
#[derive(Clone, Default)]
pub(crate) struct Truth {
    /// After each commit; the first one before all.
    pub(crate) history: Vec<State>,
    /// The generation of the log's tail before and after each commit.
    pub(crate) logged: Vec<(u32, u32)>,
}

/// A truth that is being made.
pub(crate) type Telling = Rc<RefCell<Truth>>;

impl Truth {
    pub(crate) fn begin() -> Telling {
        Rc::new(RefCell::new(Self { history: vec![State::new()], logged: vec![(0, 0)] }))
    }

    pub(crate) fn last(&self) -> State {
        self.history.last().cloned().unwrap_or_default()
    }

    /// Checks the state of a copy that has the logs up to `last`: that of the active at the end of
    /// that log.
    pub(crate) fn judge(&self, last: u32, found: &State) -> Result<(), String> {
        let least = self.logged.iter().rposition(|(_, after)| *after <= last);
        let most = self.logged.iter().rposition(|(before, _)| *before <= last);
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        if self.history[least..=most].contains(found) {
            return Ok(());
        }
        Err(match self.history.iter().position(|known| known == found) {
            Some(at) => format!("state {at}; log {last} says {least} to {most}"),
            None => format!("no state that ever was, at log {last}"),
        })
    }
}

/// The options of an instance below `root`.
pub(crate) fn instance(root: &str, segment: usize, circular: Circular) -> InstanceOptions {
    let root = Path::new(root);
    InstanceOptions {
        log_directory: root.join("log"),
        databases: vec![root.join("tiny.edb")],
        circular,
        ..options(1, segment)
    }
}

pub(crate) fn copy_options(instance: InstanceOptions) -> CopyOptions {
    CopyOptions {
        instance,
        cache: CacheOptions::new(SIZE, FRAMES),
        lag: Span::ZERO,
        maintenance: Some(SCAN),
    }
}

/// The same empty database below each of `roots`.
pub(crate) fn files(roots: &[&str]) -> Store {
    let mut store = Store::new();
    let made = PathBuf::from("made");
    tree_database(&mut store, &made);
    let bytes = store.get(&made).expect("just made");
    let mut files = Store::new();
    for root in roots {
        files.put(&Path::new(root).join("tiny.edb"), &bytes);
    }
    files
}

pub(crate) fn address(number: u8) -> IpAddr {
    [10, 0, 0, number].into()
}

/// Two hosts, 1 and 2, with a link, over `store`.
pub(crate) fn world(seed: u64, store: Store, link: LinkOptions) -> (VirtualWorld, [Host; 2]) {
    let link = VirtualLink { ends: [address(1), address(2)], options: link };
    let made =
        VirtualWorld::new(VirtualOptions { store, links: vec![link], ..VirtualOptions::new(seed) });
    let hosts = [(1, "active"), (2, "copy")].map(|(number, name)| {
        let (machine, world) = (&made.machine, &made.world);
        Host::new(machine, world, name, address(number), Cores::Unlimited)
    });
    (made, hosts)
}

/// Opens an active that keeps its logs for a copy.
pub(crate) async fn open_active(
    world: &World,
    options: InstanceOptions,
) -> Result<(Instance<Bytes>, Shipper), EngineError> {
    let meters = Rc::new(MeterBoard::new(1, 1));
    let cache = Cache::new(world, CacheOptions::new(SIZE, FRAMES), meters);
    let replayer = Replayer::open(world, &cache, options).await?;
    let hold = replayer.hold_log_from(0);
    let (instance, _) = replayer.finish().await?;
    let shipper = Shipper::new(world, &instance, 1, Limits::default());
    drop(hold);
    Ok((instance, shipper))
}

/// Accepts copies for the shipper that `current` gives, for ever. Ends of connections go to
/// `ended`.
pub(crate) async fn accept(
    world: World,
    current: impl Fn() -> Shipper,
    ended: impl Fn(Result<(), CopyError>) + Clone + 'static,
) {
    let at = SocketAddr::new(address(1), PORT);
    let (listener, _) = world.net.listen(at).await.expect("nobody else listens");
    while let Ok((connection, _)) = world.net.accept(listener).await {
        let (shipper, ended) = (current(), ended.clone());
        drop(world.spawner.spawn(async move {
            ended(shipper.serve(0, connection).await);
        }));
    }
}

/// Connects a copy to its active again and again, until it is stopped or must be reseeded.
pub(crate) async fn receive(world: World, copy: PassiveCopy) -> Result<(), CopyError> {
    let at = SocketAddr::new(address(1), PORT);
    loop {
        if let Ok(connection) = world.net.connect(at).await {
            match copy.receive(connection).await {
                Err(error) if error.wants_reseed() => return Err(error),
                _ => {}
            }
        }
        world.sleep(Span::millis(70)).await;
    }
}

/// The first page that the scan of `copy` has called bad.
pub(crate) fn alarm(copy: &PassiveCopy) -> Option<String> {
    let mut bad = copy.findings().into_iter().flat_map(|found| found.bad);
    bad.next().map(|(_, error)| error.to_string())
}

fn key(number: u32) -> Vec<u8> {
    let mut key = vec![0x7F; 40];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

/// The content of a version: its number, and bytes that no other version has.
fn content(version: u32) -> Vec<u8> {
    let length = 40 + version.wrapping_mul(2_654_435_761).rem_euclid(1300);
    let words = (0..length.div_euclid(4)).map(|at| version.wrapping_mul(31).wrapping_add(at));
    let mut content = version.to_le_bytes().to_vec();
    content.extend(words.flat_map(u32::to_le_bytes));
    content
}

/// Makes `commits` commits of one to three changes each; hard ones, or some lazy ones.
pub(crate) async fn work(
    world: &World,
    instance: &Instance<Bytes>,
    telling: &Telling,
    commits: u32,
    draw: &mut Stream,
) -> Result<(), EngineError> {
    for _ in 0..commits {
        let mut state = telling.borrow().last();
        let version = u32::try_from(telling.borrow().history.len()).expect("few commits");
        let transaction = instance.begin();
        for _ in 0..=draw.below(3) {
            let number = u32::try_from(draw.below(KEYS.into())).expect("few keys");
            let data = content(version);
            match state.contains_key(&number) {
                true if draw.percent(20) && state[&number] != version => {
                    transaction.delete(0, TABLE, &key(number)).await?;
                    state.remove(&number);
                }
                true => {
                    transaction.replace(0, TABLE, &key(number), &data).await?;
                    state.insert(number, version);
                }
                false => {
                    transaction.insert(0, TABLE, &key(number), &data).await?;
                    state.insert(number, version);
                }
            }
        }
        let before = instance.log().tail().generation;
        let how = if draw.percent(70) { Commit::Hard } else { Commit::Lazy };
        transaction.commit(how).await?;
        let after = instance.log().tail().generation;
        telling.borrow_mut().history.push(state);
        telling.borrow_mut().logged.push((before, after));
        if draw.percent(30) {
            world.sleep(Span::millis(draw.below(120))).await;
        }
    }
    let log = instance.log();
    log.flushed(log.tail(), brunt_ese::log::FlushReason::Drain).await
}

/// Reads every record; one with bytes of no version has version 0.
pub(crate) async fn read(instance: &Instance<Bytes>) -> Result<State, EngineError> {
    let mut state = State::new();
    for number in 0..KEYS {
        if let Some(data) = instance.read(0, TABLE, &key(number)).await? {
            let version = u32::from_le_bytes(*data.first_chunk().unwrap_or(&[0; 4]));
            let is_whole = content(version) == data;
            state.insert(number, if is_whole { version } else { 0 });
        }
    }
    Ok(state)
}

/// The newest log of a folder of a copy.
pub(crate) fn newest_log(store: &Store, root: &str) -> u32 {
    let names = store.list(&Path::new(root).join("log")).into_iter();
    let numbers = names.filter_map(|name| {
        let digits = name.to_str()?.strip_prefix("edb")?.strip_suffix(".log")?;
        u32::from_str_radix(digits, 16).ok()
    });
    numbers.max().unwrap_or(0)
}
