//! The virtual world of a scenario: its arrays, and the servers' folders on their LUNs.

use brunt_array::SystemError;
use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world_virtual::{Device, Digest, VirtualOptions, VirtualVolume, VirtualWorld};

use brunt_scenario::ModelledScenario;

use crate::device::{ArrayDevice, SharedArray};

/// The latency of an operation on names: a lookup in the file system's memory. Assumed; names
/// change once for each log file.
pub(crate) const NAMES_LATENCY: Span = Span::micros(50);

/// A world, and handles to its arrays.
pub(crate) struct Storage {
    pub(crate) world: VirtualWorld,
    /// In the scenario's order.
    pub(crate) arrays: Vec<SharedArray>,
}

impl Storage {
    /// Hash of each server's requests and their completion times, in the scenario's order.
    pub(crate) fn digest(&self, scenario: &ModelledScenario) -> Digest {
        let requests = self.world.machine.requests();
        let mut all = Digest::default();
        for server in 0..scenario.servers.len() {
            let mut own = Digest::default();
            for (volume, requests) in scenario.volumes.iter().zip(&requests) {
                if volume.server == server {
                    own.mix(requests.value());
                }
            }
            all.mix(own.value());
        }
        all
    }
}

/// Builds the arrays of `scenario` in a world of `seed`, and maps every folder to its LUN.
///
/// # Errors
/// [`SystemError`] when an array cannot be built; scenarios are checked before.
pub(crate) fn build(scenario: &ModelledScenario, seed: u64) -> Result<Storage, SystemError> {
    let random = Streams::new(seed).part("array");
    let mut arrays = Vec::new();
    for (number, plan) in scenario.arrays.iter().enumerate() {
        let streams = random.part(&number.to_string());
        let array = plan.design.build(streams, &plan.incidents)?;
        let luns = luns_of(scenario, number);
        arrays.push(SharedArray::new(ArrayDevice::new(array, &luns)));
    }
    let devices = arrays.iter().cloned();
    let options = VirtualOptions {
        devices: devices.map(|array| Box::new(array) as Box<dyn Device>).collect(),
        volumes: volumes(scenario),
        ..VirtualOptions::new(seed)
    };
    Ok(Storage { world: VirtualWorld::new(options), arrays })
}

/// Volumes of the world on an array, each with its LUN.
fn luns_of(scenario: &ModelledScenario, array: usize) -> Vec<(u32, u32)> {
    let number = |at: usize| u32::try_from(at).expect("few volumes and LUNs");
    let volumes = scenario.volumes.iter().enumerate();
    volumes
        .filter(|(_, volume)| volume.array == array)
        .map(|(at, volume)| (number(at), number(volume.lun)))
        .collect()
}

fn volumes(scenario: &ModelledScenario) -> Vec<VirtualVolume> {
    let volumes = scenario.volumes.iter();
    volumes
        .map(|volume| VirtualVolume {
            path: scenario.path_of(volume.server, &volume.path),
            bytes: volume.bytes.get(),
            names_latency: NAMES_LATENCY,
            device: volume.array,
        })
        .collect()
}
