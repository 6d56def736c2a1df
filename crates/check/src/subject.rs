//! What rules look at: a scenario, and the machine that it is for.

use brunt_array::{ArrayDesign, GroupDesign, PairDesign, SystemDesign};
use brunt_host::configuration::{Configuration, Device, Volume};
use brunt_scenario::{ArrayScenario, ModelledScenario, Scenario, Site};
use brunt_sizing::Sizing;
use brunt_workload::profile::Version;

use crate::rules::{Gap, Item, Measured};

/// A scenario, by what it describes.
#[derive(Clone, Copy)]
pub enum What<'a> {
    /// A test on real storage.
    Test(&'a Scenario),
    /// A test on modelled arrays.
    Modelled(&'a ModelledScenario),
    /// Raw load on a modelled array.
    Load(&'a ArrayScenario),
    Organisation(&'a Sizing<'a>),
}

/// What is judged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The scenario.
    pub what: What<'a>,
    /// The machine, for real storage.
    pub host: Option<&'a Configuration>,
}

impl<'a> Subject<'a> {
    /// The version of Exchange, if there is mail.
    pub fn version(&self) -> Option<Version> {
        match self.what {
            What::Organisation(sizing) => Some(sizing.org.version),
            _ => self.test().ok().map(|test| test.profile.version),
        }
    }

    /// The test, if it is one.
    pub(crate) fn test(&self) -> Result<&'a Scenario, Gap> {
        match self.what {
            What::Test(test) => Ok(test),
            What::Modelled(modelled) => Ok(&modelled.scenario),
            What::Load(_) => Err("raw load has no mail servers".into()),
            What::Organisation(_) => {
                Err(Gap::unknown("an organisation has no test; check its design"))
            }
        }
    }

    pub(crate) fn modelled(&self) -> Option<&'a ModelledScenario> {
        match self.what {
            What::Modelled(modelled) => Some(modelled),
            _ => None,
        }
    }

    pub(crate) fn sizing(&self) -> Result<&'a Sizing<'a>, Gap> {
        match self.what {
            What::Organisation(sizing) => Ok(sizing),
            _ => Err("only an organisation says it".into()),
        }
    }

    /// What is known of the site.
    pub(crate) fn site(&self) -> Site {
        self.test().map(|test| test.site).unwrap_or_default()
    }

    /// The value that `[site]` gives.
    pub(crate) fn said<T>(value: Option<T>) -> Result<T, Gap> {
        value.ok_or_else(|| Gap::unknown("no program can see it; [site] can say it"))
    }

    /// The systems of modelled arrays, by name.
    fn systems(&self) -> Result<Vec<(&'a str, &'a SystemDesign)>, Gap> {
        match self.what {
            What::Modelled(modelled) => {
                let arrays = modelled.arrays.iter();
                Ok(arrays.map(|array| (array.name.as_str(), &array.design)).collect())
            }
            What::Load(load) => Ok(vec![("array", &load.simulation.design)]),
            What::Test(_) => Err(Gap::unknown(
                "an array does not show its settings to hosts; describe it in [array]",
            )),
            What::Organisation(_) => {
                Err(Gap::unknown("an organisation has no array yet; check its design"))
            }
        }
    }

    /// Modelled arrays, those of pairs and pools, too.
    pub(crate) fn arrays(&self) -> Result<Vec<(&'a str, &'a ArrayDesign)>, Gap> {
        let systems = self.systems()?.into_iter();
        Ok(systems
            .flat_map(|(name, system)| system.arrays().into_iter().map(move |array| (name, array)))
            .collect())
    }

    /// Groups of drives, with their array.
    pub(crate) fn groups(&self) -> Result<Vec<(&'a ArrayDesign, &'a GroupDesign)>, Gap> {
        let arrays = self.arrays()?.into_iter();
        Ok(arrays
            .flat_map(|(_, array)| array.groups.iter().map(move |group| (array, group)))
            .collect())
    }

    /// Pairs over a link.
    pub(crate) fn pairs(&self) -> Result<Vec<(&'a str, &'a PairDesign)>, Gap> {
        let systems = self.systems()?.into_iter();
        let pairs: Vec<_> = systems
            .filter_map(|(name, system)| match system {
                SystemDesign::Pair(pair) => Some((name, pair)),
                _ => None,
            })
            .collect();
        match pairs.is_empty() {
            true => Err("nothing is replicated".into()),
            false => Ok(pairs),
        }
    }

    pub(crate) fn machine(&self) -> Result<&'a Configuration, Gap> {
        self.host.ok_or_else(|| match self.what {
            What::Test(_) => Gap::unknown("this machine was not looked at"),
            _ => "modelled storage has no host".into(),
        })
    }

    /// The volumes of the machine.
    pub(crate) fn volumes(&self) -> Result<&'a [Volume], Gap> {
        Ok(&self.machine()?.volumes)
    }

    /// Every device below the volumes, once.
    pub(crate) fn devices(&self) -> Result<Vec<&'a Device>, Gap> {
        let mut devices: Vec<&Device> = Vec::new();
        for device in self.volumes()?.iter().flat_map(|volume| &volume.devices) {
            if devices.iter().all(|other| other.device.name != device.device.name) {
                devices.push(device);
            }
        }
        match devices.is_empty() {
            true => Err(Gap::unknown("the kernel names no device below these volumes")),
            false => Ok(devices),
        }
    }

    /// Every lowest device, and what `value` tells of it.
    pub(crate) fn leaves<V: Into<crate::rules::Value>>(
        &self,
        value: impl Fn(&'a Device) -> Option<V>,
        unknown: &str,
    ) -> Measured {
        let devices = self.devices()?.into_iter().filter(|device| device.is_leaf);
        known(
            devices.filter_map(|device| Some(Item::new(&device.device.name, value(device)?))),
            unknown,
        )
    }
}

/// `items`, or why there are none.
pub(crate) fn known(items: impl Iterator<Item = Item>, unknown: &str) -> Measured {
    let items: Vec<Item> = items.collect();
    match items.is_empty() {
        true => Err(match unknown.contains("tell") {
            true => Gap::unknown(unknown),
            false => unknown.into(),
        }),
        false => Ok(items),
    }
}
