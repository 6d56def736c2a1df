//! The world of a drill: two sites with their hosts, the pair between them, and the files of both.
//!
//! ```text
//!   /db1 ...             volumes of the first site,  on LUNs of [array]
//!   /other-site/db1 ...  volumes of the second site, on the LUNs of the replica that hold their copies
//! ```
//!
//! Hosts of the second site begin to exist when it takes over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_array::{
    ArrayDevice, Control, Incident, Misplaced, PairDesign, PairIncident, Phase, Replication,
    ReplicationState, Scheduled, SharedArray, SystemDesign,
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
use crate::server::plan_of;
use crate::storage::NAMES_LATENCY;

/// Where the second site has its volumes.
const OTHER_SITE: &str = "/other-site";

/// A site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    /// That of `[array]`.
    First,
    /// That of `[replica]`.
    Second,
}

impl Site {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// `path` as the site has it.
    pub(crate) fn path(self, path: &Path) -> PathBuf {
        match self {
            Self::First => path.to_owned(),
            Self::Second => Path::new(OTHER_SITE).join(path.strip_prefix("/").unwrap_or(path)),
        }
    }

    /// Whether `path` is one of the site.
    pub(crate) fn holds(self, path: &Path) -> bool {
        path.starts_with(OTHER_SITE) == (self == Self::Second)
    }

    /// Its name in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::First => "first site",
            Self::Second => "second site",
        }
    }

    fn address(self, server: usize) -> std::net::IpAddr {
        let server = u8::try_from(server % 250).expect("below 250") + 1;
        let site = match self {
            Self::First => 1,
            Self::Second => 2,
        };
        [10, 0, site, server].into()
    }
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
pub(crate) struct Stage {
    pub(crate) made: VirtualWorld,
    pub(crate) array: SharedArray,
    pub(crate) mirror: Rc<RefCell<Mirror>>,
    pub(crate) volumes: Rc<Vec<Replicated>>,
}

/// What the conductor of a drill has of its world.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) machine: Machine,
    pub(crate) array: SharedArray,
    pub(crate) mirror: Rc<RefCell<Mirror>>,
    pub(crate) volumes: Rc<Vec<Replicated>>,
}

impl Stage {
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
        let (mut volumes, mut luns, mut replicated, mut heard) = (vec![], vec![], vec![], vec![]);
        for site in [Site::First, Site::Second] {
            for volume in &scenario.volumes {
                let own = scenario.path_of(volume.server, &volume.path);
                let replica = replicas.get(&small(volume.lun)).copied();
                let lun = match (site, replica) {
                    (Site::First, _) => small(volume.lun),
                    (Site::Second, Some((_, replica))) => small(luns_at_first) + replica,
                    (Site::Second, None) => continue,
                };
                let number = small(volumes.len());
                let path = site.path(&own);
                if let Some((group, _)) = replica {
                    heard.push((number, path.clone(), group));
                    if site == Site::First {
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
        let (mirror, ear) = Mirror::new(design.groups.len(), &heard);
        system.listen(Box::new(ear)).expect("it is a pair");
        let array = SharedArray::new(ArrayDevice::new(system, &luns));
        let made = VirtualWorld::new(VirtualOptions {
            devices: vec![Box::new(array.clone()) as Box<dyn Device>],
            volumes,
            ..VirtualOptions::new(seed)
        });
        let mirror = Rc::new(RefCell::new(mirror));
        made.machine.follow(Rc::<RefCell<Mirror>>::clone(&mirror));
        Ok(Self {
            made,
            array,
            mirror,
            volumes: Rc::new(replicated),
        })
    }

    pub(crate) fn scene(&self) -> Scene {
        Scene {
            world: self.made.world.clone(),
            machine: self.made.machine.clone(),
            array: self.array.clone(),
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
            one.luns
                .iter()
                .map(move |(lun, replica)| (*lun, (group, *replica)))
        })
        .collect()
}

impl Scene {
    pub(crate) fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// A host for server number `number` at `site`.
    pub(crate) fn host(&self, site: Site, number: usize, name: &str) -> Host {
        let address = site.address(number);
        Host::new(&self.machine, &self.world, name, address, Cores::default())
    }

    /// Lets `what` happen to the pair now.
    ///
    /// # Errors
    /// [`Misplaced`] when it cannot.
    pub(crate) fn strike(&self, what: PairIncident) -> Result<(), Misplaced> {
        self.schedule(&Scheduled {
            at: self.now(),
            array: 0,
            incident: Incident::Pair(what),
        })
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
        log: site.path(&instance.log),
        databases: instance
            .databases
            .iter()
            .map(|database| DatabasePlan {
                path: site.path(&database.path),
                ..database.clone()
            })
            .collect(),
    });
    Plan {
        instances: instances.collect(),
        precision: None,
        ..plan
    }
}
