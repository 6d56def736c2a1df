//! The world of a drill: two sites with their hosts, the pair between them, and the files of both.
//!
//! ```text
//!   /db1 ...             volumes of the source,       on LUNs of [array]
//!   /other-site/db1 ...  volumes of the destination,  on the LUNs of the replica that hold their copies
//! ```
//!
//! Hosts of the destination begin to exist when it takes over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_array::{
    Control, Incident, Misplaced, PairDesign, PairIncident, Phase, Replication, ReplicationState,
    Scheduled, Site, SystemDesign,
};
use brunt_qualify::plan::{DatabasePlan, InstancePlan, Plan};
use brunt_scenario::ModelledScenario;
use brunt_units::Time;
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{
    Cores, Device, Host, Machine, VirtualOptions, VirtualVolume, VirtualWorld,
};

use super::DrillError;
use super::mirror::Mirror;
use crate::device::{ArrayDevice, SharedArray};
use crate::gauge::parts::Names;
use crate::server::plan_of;
use crate::storage::NAMES_LATENCY;

/// Where the destination has its volumes.
const OTHER_SITE: &str = "/other-site";

/// `path` as `site` has it.
pub(crate) fn path_at(site: Site, path: &Path) -> PathBuf {
    match site {
        Site::Source => path.to_owned(),
        Site::Destination => Path::new(OTHER_SITE).join(path.strip_prefix("/").unwrap_or(path)),
    }
}

/// Whether `path` is one of `site`.
pub(crate) fn is_at(site: Site, path: &Path) -> bool {
    path.starts_with(OTHER_SITE) == (site == Site::Destination)
}

/// The address of server number `server` at `site`.
fn address(site: Site, server: usize) -> std::net::IpAddr {
    let server = u8::try_from(server % 250).expect("below 250") + 1;
    let site = match site {
        Site::Source => 1,
        Site::Destination => 2,
    };
    [10, 0, site, server].into()
}

/// The pair of `scenario`.
///
/// # Errors
/// [`DrillError::NoPair`] when there is none.
pub(crate) fn pair_of(scenario: &ModelledScenario) -> Result<&PairDesign, DrillError> {
    match scenario.arrays.as_slice() {
        [only] => match &only.design {
            SystemDesign::Pair(pair) => Ok(pair),
            _ => Err(DrillError::NoPair),
        },
        _ => Err(DrillError::NoPair),
    }
}

/// A replicated volume: its paths at both sites, and its group.
pub(crate) struct Replicated {
    pub(crate) path: PathBuf,
    pub(crate) group: usize,
}

/// The world of a drill.
pub(crate) struct TwoSites {
    pub(crate) made: VirtualWorld,
    pub(crate) array: SharedArray,
    pub(crate) names: Rc<Vec<Names>>,
    pub(crate) mirror: Rc<RefCell<Mirror>>,
    pub(crate) volumes: Rc<Vec<Replicated>>,
}

/// What the conductor of a drill has of its world.
#[derive(Clone)]
pub(crate) struct Sites {
    pub(crate) world: World,
    pub(crate) machine: Machine,
    pub(crate) array: SharedArray,
    pub(crate) names: Rc<Vec<Names>>,
    pub(crate) mirror: Rc<RefCell<Mirror>>,
    pub(crate) volumes: Rc<Vec<Replicated>>,
}

impl TwoSites {
    /// Builds the world of `scenario` with `seed`; `control` breaks the replica.
    ///
    /// # Errors
    /// [`DrillError`] when the scenario replicates nothing, or an array cannot be built.
    pub(crate) fn build(
        scenario: &ModelledScenario,
        seed: u64,
        control: Option<Control>,
    ) -> Result<Self, DrillError> {
        let mut design = pair_of(scenario)?.clone();
        design.controls.extend(control);
        let luns_at_first = design.source.lun_names().len();
        let replicas = replicas(&design);
        let streams = Streams::new(seed).part("array").part("0");
        let mut system = SystemDesign::from(design.clone()).build(streams, &[])?;
        let small = |number: usize| u32::try_from(number).expect("few volumes and LUNs");
        let (mut volumes, mut luns, mut replicated, mut followed) =
            (vec![], vec![], vec![], vec![]);
        for site in [Site::Source, Site::Destination] {
            for volume in &scenario.volumes {
                let own = scenario.path_of(volume.server, &volume.path);
                let replica = replicas.get(&small(volume.lun)).copied();
                let lun = match (site, replica) {
                    (Site::Source, _) => small(volume.lun),
                    (Site::Destination, Some((_, replica))) => small(luns_at_first) + replica,
                    (Site::Destination, None) => continue,
                };
                let number = small(volumes.len());
                let path = path_at(site, &own);
                if let Some((group, _)) = replica {
                    followed.push((number, path.clone(), group));
                    if site == Site::Source {
                        replicated.push(Replicated { path: own, group });
                    }
                }
                luns.push((number, lun));
                volumes.push(VirtualVolume {
                    path,
                    bytes: volume.bytes.get(),
                    names_latency: NAMES_LATENCY,
                    device: 0,
                });
            }
        }
        let (mirror, queue) =
            Mirror::new(design.groups.len(), &followed, |path| is_at(Site::Source, path));
        system.listen(Box::new(queue)).expect("it is a pair");
        let array = SharedArray::new(ArrayDevice::new(system, &luns));
        let made = VirtualWorld::new(VirtualOptions {
            devices: vec![Box::new(array.clone()) as Box<dyn Device>],
            volumes,
            ..VirtualOptions::new(seed)
        });
        let mirror = Rc::new(RefCell::new(mirror));
        made.machine.follow(Rc::<RefCell<Mirror>>::clone(&mirror));
        let names = Rc::new(Names::of(&scenario.arrays));
        Ok(Self { made, array, names, mirror, volumes: Rc::new(replicated) })
    }

    pub(crate) fn sites(&self) -> Sites {
        Sites {
            world: self.made.world.clone(),
            machine: self.made.machine.clone(),
            array: self.array.clone(),
            names: Rc::clone(&self.names),
            mirror: Rc::clone(&self.mirror),
            volumes: Rc::clone(&self.volumes),
        }
    }
}

/// The group of each replicated LUN of the source, and its LUN of the destination.
fn replicas(design: &PairDesign) -> BTreeMap<u32, (usize, u32)> {
    let groups = design.groups.iter().enumerate();
    groups
        .flat_map(|(group, one)| {
            one.luns.iter().map(move |(lun, replica)| (*lun, (group, *replica)))
        })
        .collect()
}

impl Sites {
    pub(crate) fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// A host for server number `number` at `site`.
    pub(crate) fn host(&self, site: Site, number: usize, name: &str) -> Host {
        let address = address(site, number);
        Host::new(&self.machine, &self.world, name, address, Cores::default())
    }

    /// Lets `what` happen to the pair now.
    ///
    /// # Errors
    /// [`Misplaced`] when it cannot.
    pub(crate) fn strike(&self, what: PairIncident) -> Result<(), Misplaced> {
        self.schedule(&Scheduled { at: self.now(), array: 0, incident: Incident::Pair(what) })
    }

    /// Schedules an incident.
    ///
    /// # Errors
    /// [`Misplaced`] when it cannot happen.
    pub(crate) fn schedule(&self, one: &Scheduled) -> Result<(), Misplaced> {
        self.array.device().schedule(one)?;
        self.machine.wake(0);
        Ok(())
    }

    /// The replication now. It counts every write that waits, so it is not for every moment.
    pub(crate) fn replication(&self) -> ReplicationState {
        self.of_pair(Replication::state)
    }

    /// The names of the groups that are not in step.
    pub(crate) fn apart(&self) -> Vec<String> {
        self.of_pair(|pair| {
            let apart = (0..pair.group_count()).filter(|group| pair.phase(*group) != Phase::Normal);
            apart.map(|group| pair.name(group).to_owned()).collect()
        })
    }
}

/// The plan of server `number` at `site`.
pub(crate) fn plan_at(scenario: &ModelledScenario, site: Site, number: usize, seed: u64) -> Plan {
    let plan = plan_of(scenario, number, seed);
    let instances = plan.instances.iter().map(|instance| InstancePlan {
        name: instance.name.clone(),
        log: path_at(site, &instance.log),
        databases: instance
            .databases
            .iter()
            .map(|database| DatabasePlan {
                path: path_at(site, &database.path),
                ..database.clone()
            })
            .collect(),
    });
    Plan { instances: instances.collect(), precision: None, ..plan }
}
