//! Recovers the newest complete replica of a set, as an operator does with a clone of it at the
//! other site.
//!
//! The pool of the partner has nothing else to do and nothing in its caches: the time of log replay
//! is that of its drives. A replica is wrong when the engine refuses it, when a page is damaged,
//! when something that was acknowledged before its instant is not there, or when something is there
//! that came later.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_array::{SitesDesign, SystemDesign};
use brunt_drill::{Cut, Found, Key, Ledger, Loss};
use brunt_ese::verify::verify;
use brunt_qualify::plan::Plan;
use brunt_qualify::rules::ReplicaOutcome;
use brunt_qualify::server::Records;
use brunt_qualify::truth::witness::Hearing;
use brunt_report::result::ReplicaRecovered;
use brunt_scenario::ModelledScenario;
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{Device, VirtualOptions, VirtualVolume, VirtualWorld};

use super::copies::{End, Image};
use super::sets::{Held, SetPlan};
use crate::Engine;
use crate::device::{ArrayDevice, SharedArray};
use crate::drill::Unable;
use crate::drill::{DrillEngine, open_records};
use crate::storage::NAMES_LATENCY;

/// What became of a replica.
#[derive(Clone, Debug)]
pub(crate) struct Recovered {
    /// The array, by number.
    pub(crate) array: usize,
    /// The set, by its number there.
    pub(crate) set: usize,
    name: String,
    servers: Vec<usize>,
    pub(crate) numbers: ReplicaRecovered,
}

impl Recovered {
    /// What a rule judges, if the set holds something of `server`.
    pub(crate) fn outcome(&self, server: usize) -> Option<ReplicaOutcome> {
        let is_measured = self.numbers.unmeasured.is_none();
        self.servers.contains(&server).then(|| ReplicaOutcome {
            is_wrong: is_measured.then_some(self.numbers.wrong.is_some()),
            remark: format!("{}: {}", self.name, self.numbers.told()),
        })
    }
}

/// Recovers the replica of set number `number` that was the newest at the `end`.
pub(super) fn recover(
    scenario: &ModelledScenario,
    set: &SetPlan,
    end: &End,
    number: usize,
    plans: &[&Plan],
    engine: Engine,
) -> Recovered {
    let SystemDesign::Sites(design) = &scenario.arrays[set.array].design else {
        unreachable!("only sites have replicas");
    };
    let copy = end.newest[number].as_deref();
    let mut numbers = ReplicaRecovered {
        at_s: copy.map(|copy| copy.at.since(Time::ZERO).as_seconds()),
        behind_s: copy.map(|copy| end.at.since(copy.at).as_seconds()),
        ..ReplicaRecovered::default()
    };
    let torn = set.servers.iter().flat_map(|held| &held.torn).next();
    match (torn, copy) {
        (Some(torn), _) => {
            let whole = "a database needs its log of the same instant";
            numbers.wrong = Some(format!("{torn}, and {whole}"));
        }
        (None, None) => {
            // A whole interval has passed since the first was due.
            let replica = &design.replicas[set.number];
            let none = "no replica was complete".to_owned();
            match replica.first + replica.every <= end.at {
                true => numbers.wrong = Some(none),
                false => numbers.unmeasured = Some(none),
            }
        }
        (None, Some(copy)) if engine == Engine::Twin => {
            numbers.logs = Some(logs_of(set, copy, plans));
            let why = "a prediction's databases have no content";
            numbers.unmeasured = Some(why.to_owned());
        }
        (None, Some(copy)) if !is_in_use(set, copy) => {
            let why = "the newest replica is older than the load";
            numbers.unmeasured = Some(why.to_owned());
        }
        (None, Some(copy)) => {
            let mut sums = Sums::default();
            for held in &set.servers {
                let plan = plans[held.server];
                if let Err(what) = recover_server(set, design, end, copy, held, plan, &mut sums) {
                    let what = match &scenario.servers[..] {
                        [_] => what.to_string(),
                        names => format!("{}: {what}", names[held.server]),
                    };
                    numbers.wrong.get_or_insert(what);
                }
            }
            sums.tell(&mut numbers);
        }
    }
    Recovered {
        array: set.array,
        set: set.number,
        name: set.name.clone(),
        servers: set.servers.iter().map(|held| held.server).collect(),
        numbers,
    }
}

/// Whether sessions had begun.
fn is_in_use(set: &SetPlan, copy: &Image) -> bool {
    let mut servers = set.servers.iter();
    servers.all(|held| copy.ledgers[held.server].count() > 0)
}

/// Log files between the checkpoint and the end of each log.
fn logs_of(set: &SetPlan, copy: &Image, plans: &[&Plan]) -> u64 {
    let instances = set.servers.iter().flat_map(|held| {
        let own = held.instances.iter();
        own.map(|instance| &plans[held.server].instances[*instance])
    });
    let logs = instances.filter_map(|instance| copy.logs.get(&instance.log));
    logs.map(|log| {
        let first = log.checkpoint.generation.max(1);
        u64::from((log.durable.generation + 1).saturating_sub(first))
    })
    .sum()
}

/// What the servers of a set add up to.
#[derive(Default)]
struct Sums {
    logs: u64,
    took: Span,
    pages: Option<(u64, u64)>,
    commits: u64,
    lost: Option<u64>,
    is_open: bool,
}

impl Sums {
    fn tell(self, numbers: &mut ReplicaRecovered) {
        if self.is_open {
            numbers.logs = Some(self.logs);
            numbers.took_s = Some(self.took.as_seconds());
        }
        numbers.pages = self.pages.map(|(pages, _)| pages);
        numbers.pages_bad = self.pages.map(|(_, bad)| bad);
        numbers.commits = self.lost.map(|_| self.commits);
        numbers.commits_lost = self.lost;
    }
}

/// What the engine has made of a replica.
struct Opened {
    logs: u64,
    took: Span,
    found: Found,
    pages: u64,
    bad: u64,
}

fn recover_server(
    set: &SetPlan,
    design: &SitesDesign,
    end: &End,
    copy: &Image,
    held: &Held,
    plan: &Plan,
    sums: &mut Sums,
) -> Result<(), Unable> {
    let then = copy.ledgers[held.server].part(&held.instances);
    let now = end.ledgers[held.server].part(&held.instances);
    let mut keys = then.keys();
    keys.extend(now.keys());
    keys.sort_unstable();
    keys.dedup();
    let mut made = other_site(set, design, copy, plan.seed)?;
    let world = made.world.clone();
    let opening = open(world, part_of(plan, held), held.instances.clone(), keys);
    let opened = made.executor.block_on(opening)?;
    sums.is_open = true;
    sums.logs += opened.logs;
    sums.took = sums.took.max(opened.took);
    let (pages, bad) = sums.pages.unwrap_or_default();
    sums.pages = Some((pages + opened.pages, bad + opened.bad));
    compare(&opened.found, copy, &then, &now, end.at, sums)?;
    match opened.bad {
        0 => Ok(()),
        bad => Err(Unable::BadPages { bad, pages: opened.pages }),
    }
}

/// Checks that `found` is what was acknowledged `then`, and counts what came since.
fn compare(
    found: &Found,
    copy: &Image,
    then: &Ledger,
    now: &Ledger,
    ended: Time,
    sums: &mut Sums,
) -> Result<(), Unable> {
    let cut = Cut::of(then, found)?;
    let loss = Loss::of(then, &cut, copy.at);
    if loss.transactions > 0 {
        return Err(Unable::Lacks { commits: loss.transactions, age: loss.age });
    }
    let known = then.keys();
    for (key, is) in found {
        if known.binary_search(key).is_err() && *is != then.base().version(*key) {
            let (stream, database, number) = *key;
            return Err(Unable::Later { stream, database, number });
        }
    }
    let since = Cut::of(now, found)?;
    let lost = Loss::of(now, &since, ended).transactions;
    sums.commits += loss.kept - then.forgotten().0;
    sums.lost = Some(sums.lost.unwrap_or(0) + lost);
    Ok(())
}

/// The instances of `plan` that the set has.
fn part_of(plan: &Plan, held: &Held) -> Plan {
    let instances = held.instances.iter();
    Plan {
        instances: instances.map(|number| plan.instances[*number].clone()).collect(),
        hearing: Hearing::default(),
        precision: None,
        ..plan.clone()
    }
}

/// A world with the files of `copy` on LUNs of the partner.
fn other_site(
    set: &SetPlan,
    design: &SitesDesign,
    copy: &Image,
    seed: u64,
) -> Result<VirtualWorld, Unable> {
    let system = SystemDesign::Paged(design.partner.clone());
    let streams = Streams::new(seed).part("replica");
    let system = system.build(streams, &[])?;
    let luns = (0..).zip(set.volumes.iter().map(|volume| volume.there));
    let luns: Vec<(u32, u32)> = luns.collect();
    let mut array = SharedArray::new(ArrayDevice::new(system, &luns));
    for (path, file) in copy.files.names() {
        let paths = set.volumes.iter().map(|volume| volume.path.as_path());
        let volume = super::sets::find(paths, path).expect("a file of the set");
        let volume = u32::try_from(volume).expect("few volumes");
        let length = copy.files.length(file).unwrap_or(0);
        array.resized(volume, file, length);
    }
    array.device().assume_written();
    let volumes = set.volumes.iter().map(|volume| VirtualVolume {
        path: volume.path.clone(),
        bytes: volume.bytes,
        names_latency: NAMES_LATENCY,
        device: 0,
    });
    Ok(VirtualWorld::new(VirtualOptions {
        store: copy.files.fork(),
        devices: vec![Box::new(array)],
        volumes: volumes.collect(),
        ..VirtualOptions::new(seed)
    }))
}

/// Recovers the databases of `plan`, whose instances have the numbers `streams` in the whole, reads
/// the records with `keys`, closes the databases and verifies every page.
async fn open(
    world: World,
    plan: Plan,
    streams: Vec<usize>,
    keys: Vec<Key>,
) -> Result<Opened, Unable> {
    let server = open_records(&world, &plan).await?;
    let recoveries = server.recoveries().to_vec();
    let place: BTreeMap<usize, usize> = streams.iter().copied().zip(0..).collect();
    let keys = keys.into_iter();
    let keys = keys.map(|(stream, database, number)| (place[&stream], database, number));
    let found = Records::found(Rc::clone(&server), keys.collect()).await?;
    server.close().await?;
    let found = found.into_iter().map(|((stream, database, number), version)| {
        ((streams[stream], database, number), version)
    });
    let mut opened = Opened {
        logs: recoveries.iter().map(|one| u64::from(one.logs)).sum(),
        took: recoveries.iter().map(|one| one.took).max().unwrap_or_default(),
        found: found.collect(),
        pages: 0,
        bad: 0,
    };
    for database in plan.databases() {
        let report = verify(&world, &database.path).await;
        let report =
            report.map_err(|error| Unable::Verify { path: database.path.clone(), error })?;
        opened.pages += report.pages_seen;
        opened.bad += report.pages_bad;
    }
    Ok(opened)
}
