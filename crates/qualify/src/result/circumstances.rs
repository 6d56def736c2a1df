//! Collects what decides whether a result means anything for production.

use std::collections::BTreeSet;

use brunt_units::ByteSize;
use brunt_workload::session::Scheduling;

use super::qualifies::Circumstances;
use super::{Assembly, Surroundings, THROUGH_CACHE, sum};
use crate::rules::{Evidence, device, looser, shows_headroom, tester};

impl Assembly<'_> {
    pub(super) fn circumstances(
        &self,
        surroundings: &Surroundings,
        evidence: &Evidence,
    ) -> Circumstances {
        let data = ByteSize::bytes(sum(&self.run.last));
        let memory = surroundings.machine.memory_bytes;
        let shares = surroundings.volumes.iter().filter_map(|used| {
            let on_it = used
                .databases
                .iter()
                .map(|at| self.run.last.get(*at).map_or(0, |size| size.get()));
            let whole = used.bytes.filter(|bytes| bytes.get() > 0)?;
            let share = on_it.sum::<u64>() as f64 / whole.get() as f64;
            (!used.databases.is_empty()).then_some(share)
        });
        let achieved = evidence.achieved_io_per_s;
        let target = self.run.target;
        Circumstances {
            kind: self.plan.kind,
            measured: self.length,
            data,
            memory: (memory > 0).then(|| ByteSize::bytes(memory)),
            array_cache: self.plan.array_cache,
            direct: surroundings.backend.direct,
            cached_files: cached_files(surroundings),
            cached_writes: surroundings.cached_writes.clone(),
            reached_devices: device::agrees(&evidence.volumes),
            headroom: !self.plan.kind.has_limits()
                || target.is_none_or(|target| shows_headroom(target, achieved, &self.plan.limits)),
            looser_limits: match self.plan.kind.has_limits() {
                true => looser(&self.plan.limits, self.plan.kind, self.plan.version),
                false => Vec::new(),
            },
            host: tester::obstacle(&evidence.tester),
            volume_share: shares.min_by(f64::total_cmp),
            scheduling: held_back(self.plan.load.scheduling),
            setup: surroundings.setup.clone(),
            faults: self.plan.faults.len(),
            carried: self.plan.carried.map(|carried| carried.length),
        }
    }
}

/// Devices that are files whose I/O goes through the page cache.
fn cached_files(surroundings: &Surroundings) -> Vec<String> {
    let volumes = surroundings.volumes.iter();
    let devices = volumes.flat_map(|used| &used.volume.stack);
    let cached = devices.filter(|device| device.made.ends_with(THROUGH_CACHE));
    let names: BTreeSet<&String> = cached.map(|device| &device.name).collect();
    names.into_iter().cloned().collect()
}

fn held_back(scheduling: Scheduling) -> Option<String> {
    match scheduling {
        Scheduling::None | Scheduling::Paced { .. } => None,
        Scheduling::Think { .. } | Scheduling::Pause { .. } | Scheduling::Station { .. } => {
            Some("sessions were held back by a model".to_owned())
        }
    }
}
