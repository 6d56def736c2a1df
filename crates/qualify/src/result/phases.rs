//! The I/O of each phase in its written form, by file and by volume.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_report::host_counters::in_order;
use brunt_report::result::{HostCounter, Phase, PhaseIo, PhaseName, PhaseOp};
use brunt_stats::{Latencies, Meter, Reading};
use brunt_units::Span;

use super::{Assembly, Surroundings};
use crate::kinds::Work;
use crate::phase_io::PhaseMeters;

/// One stream: its path, its name if it has one, what it does, and its I/O.
type Stream<'a> = (PathBuf, Option<String>, PhaseOp, &'a Meter);

impl Assembly<'_> {
    /// Every phase that was counted, in the order of the test.
    pub(super) fn phases(&self, surroundings: &Surroundings) -> Vec<Phase> {
        let mut phases: Vec<Phase> = self.collection(surroundings).into_iter().collect();
        phases.extend(self.run.phases.iter().map(|own| self.phase(own, surroundings)));
        phases
    }

    /// The phase in which sessions ran, as the engine counted it.
    fn collection(&self, surroundings: &Surroundings) -> Option<Phase> {
        self.run.collected.as_ref()?;
        let phase = match self.plan.kind.work() {
            Work::Load => PhaseName::Load,
            Work::Replay => PhaseName::LogGeneration,
            Work::BackUp => return None,
        };
        let mut streams: Vec<Stream<'_>> = Vec::new();
        for (plan, meters) in self.plan.databases().zip(&self.meters.databases) {
            let name = Some(plan.name.clone());
            for (op, meter) in [
                (PhaseOp::Read, &meters.reads),
                (PhaseOp::Write, &meters.writes),
                (PhaseOp::MaintenanceRead, &meters.maintenance),
            ] {
                streams.push((plan.path.clone(), name.clone(), op, meter));
            }
        }
        for (plan, meters) in self.plan.instances.iter().zip(&self.meters.logs) {
            let (path, name) = (plan.log.join("edb*.log"), log_name(&plan.name));
            for (op, meter) in [
                (PhaseOp::Read, &meters.reads),
                (PhaseOp::Write, &meters.writes),
                (PhaseOp::FormatWrite, &meters.format),
                (PhaseOp::ReplicationRead, &meters.replication),
            ] {
                streams.push((path.clone(), Some(name.clone()), op, meter));
            }
        }
        let host = self.host(surroundings);
        Some(written(phase, self.length, &streams, host, surroundings))
    }

    fn phase(&self, own: &PhaseMeters, surroundings: &Surroundings) -> Phase {
        let streams = own.streams.iter();
        let streams = streams.map(|((path, op), meter)| {
            let name = self.name_of(path);
            (path.clone(), name, *op, meter)
        });
        let streams: Vec<Stream<'_>> = streams.collect();
        let host = match own.phase {
            PhaseName::Backup => self.host(surroundings),
            phase => {
                let mut watched = surroundings.phases.iter();
                let seen = watched.find(|(watched, _)| *watched == phase);
                seen.map_or_else(Vec::new, |(_, seen)| in_order(seen.clone()))
            }
        };
        written(own.phase, own.length(), &streams, host, surroundings)
    }

    /// The database or log at `path`.
    fn name_of(&self, path: &Path) -> Option<String> {
        let mut databases = self.plan.databases();
        if let Some(database) = databases.find(|database| database.path == path) {
            return Some(database.name.clone());
        }
        let is_log = path.file_name().is_some_and(|name| name == "edb*.log");
        let mut instances = self.plan.instances.iter();
        let own = instances.find(|own| is_log && path.parent() == Some(own.log.as_path()))?;
        Some(log_name(&own.name))
    }
}

fn log_name(instance: &str) -> String {
    format!("{instance} log")
}

fn written(
    phase: PhaseName,
    length: Span,
    streams: &[Stream<'_>],
    host: Vec<HostCounter>,
    surroundings: &Surroundings,
) -> Phase {
    let mut files = Vec::new();
    let mut volumes = BTreeMap::<(&str, PhaseOp), (Latencies, u64)>::new();
    let streams = streams.iter().map(|stream| (stream, stream.3.total()));
    for ((path, name, op, meter), total) in streams.filter(|(_, total)| total.count > 0) {
        let volume = mount_of(path, surroundings);
        if let Some(volume) = volume {
            let sum = volumes.entry((volume, op.plain())).or_default();
            sum.0.merge(meter.latencies());
            sum.1 += total.bytes;
        }
        files.push(PhaseIo {
            name: name.clone(),
            volume: volume.map(str::to_owned),
            ..PhaseIo::new(path.display().to_string(), *op, &total, length)
        });
    }
    let volumes = volumes.into_iter().map(|((volume, op), (latencies, bytes))| {
        PhaseIo::new(volume.to_owned(), op, &Reading::of(&latencies, bytes), length)
    });
    Phase { phase, seconds: length.as_seconds(), files, volumes: volumes.collect(), host }
}

/// Where the volume of `path` is mounted.
fn mount_of<'s>(path: &Path, surroundings: &'s Surroundings) -> Option<&'s str> {
    let volumes = surroundings.volumes.iter();
    let mounts = volumes.map(|used| used.volume.mount.as_str());
    let mounts = mounts.chain(surroundings.mounts.iter().map(String::as_str));
    let beneath = mounts.filter(|mount| path.starts_with(mount));
    beneath.max_by_key(|mount| Path::new(mount).components().count())
}
