//! Collects what decides whether a result means anything for production.

use std::collections::BTreeSet;

use brunt_report::decimals;
use brunt_units::ByteSize;

use super::lighter::{RATE_MIN, lighter};
use super::qualifies::Circumstances;
use super::{Assembly, Beneath, Surroundings, THROUGH_CACHE, VolumeUse, sum};
use crate::rules::{Evidence, above_pace, device, shows_headroom, tester};

impl Assembly<'_> {
    pub(super) fn circumstances(
        &self,
        surroundings: &Surroundings,
        evidence: &Evidence,
    ) -> Circumstances {
        let data = ByteSize::bytes(sum(&self.run.last));
        let memory = surroundings.machine.memory_bytes;
        let shares = surroundings.volumes.iter().filter_map(|used| {
            let on_it =
                used.databases.iter().map(|at| self.run.last.get(*at).map_or(0, |size| size.get()));
            let whole = used.bytes.filter(|bytes| bytes.get() > 0)?;
            let share = on_it.sum::<u64>() as f64 / whole.get() as f64;
            (!used.databases.is_empty()).then_some(share)
        });
        let achieved = evidence.achieved_io_per_s;
        let target = self.run.target;
        let mut lighter = lighter(self.plan);
        lighter.extend(self.tiny_rate(achieved));
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
            masked: device::masked(&evidence.volumes),
            above_pace: above_pace(evidence, &self.plan.limits),
            short_of: self.run.short_of.clone(),
            headroom: !self.plan.kind.has_limits()
                || target.is_none_or(|target| shows_headroom(target, achieved, &self.plan.limits)),
            lighter,
            volumes: flattering(&surroundings.volumes, self.plan.array_cache),
            host: tester::obstacle(&evidence.tester),
            volume_share: shares.min_by(f64::total_cmp),
            setup: surroundings.setup.clone(),
            faults: self.plan.faults.len(),
            carried: self.plan.carried.map(|carried| carried.length),
        }
    }
}

impl Assembly<'_> {
    /// Why a test without a target asked for too little.
    fn tiny_rate(&self, achieved: Option<f64>) -> Option<String> {
        let least = RATE_MIN * self.plan.databases().count() as f64;
        let has_rate = self.plan.kind.has_limits() && self.plan.target.is_none();
        let rate = achieved.filter(|rate| has_rate && *rate < least)?;
        Some(format!(
            "{} I/Os a second are less than one of each database: more sessions",
            decimals(rate)
        ))
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

/// Why the volumes may be memory, or hide some; a stated cache is one that the databases are
/// compared with.
fn flattering(volumes: &[VolumeUse], stated: Option<ByteSize>) -> Vec<String> {
    const STATE: &str = "state it as `cache` in [storage]";
    let used = volumes.iter().filter(|used| !used.databases.is_empty() || !used.logs.is_empty());
    let reasons = used.filter_map(|used| {
        let mount = &used.volume.mount;
        match (&used.beneath, stated) {
            (Beneath::Memory(what), _) => {
                Some(format!("{mount} is in memory ({what}): a volume on drives"))
            }
            (Beneath::Program(what), None) => Some(format!(
                "{mount} is served by a program ({what}), and its cache is not known: {STATE}"
            )),
            (Beneath::Unknown, None) => {
                Some(format!("no device is known under {mount}, and no cache either: {STATE}"))
            }
            (Beneath::Devices, _) | (_, Some(_)) => None,
        }
    });
    reasons.collect()
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Volume;

    use super::*;

    #[test]
    fn memory_never_qualifies_and_an_unknown_cache_must_be_stated() {
        let on = |beneath: Beneath, stated| {
            let volume = VolumeUse {
                volume: Volume {
                    mount: "/mnt".to_owned(),
                    file_system: "ext4".to_owned(),
                    device: String::new(),
                    device_reads: None,
                    engine_reads: 0,
                    stack: Vec::new(),
                    redundancy: Vec::new(),
                },
                bytes: None,
                device_read: None,
                device_written: None,
                databases: Vec::new(),
                logs: vec![0],
                beneath,
            };
            flattering(&[volume], stated).join("; ")
        };
        let cache = Some(ByteSize::gib(1));
        assert_eq!(on(Beneath::Devices, None), "");
        for stated in [None, cache] {
            assert_eq!(
                on(Beneath::Memory("zram0".to_owned()), stated),
                "/mnt is in memory (zram0): a volume on drives"
            );
        }
        assert_eq!(
            on(Beneath::Program("nbd0".to_owned()), None),
            "/mnt is served by a program (nbd0), and its cache is not known: state it as `cache` in [storage]"
        );
        assert_eq!(
            on(Beneath::Unknown, None),
            "no device is known under /mnt, and no cache either: state it as `cache` in [storage]"
        );
        assert_eq!(on(Beneath::Unknown, cache), "");
        assert_eq!(on(Beneath::Program("nbd0".to_owned()), cache), "");
    }
}
