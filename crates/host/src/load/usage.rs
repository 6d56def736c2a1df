//! What servers, storage, the machine and brunt itself use while users work: looked at again and
//! again, and from that shares and rates of the steady part.

use std::path::Path;

use brunt_mail::incident::Part;
use brunt_report::result::{MailServerUsage, MailStorage, MailUsage};
use brunt_servers::Usage;
use brunt_units::{ByteSize, Span, Time};
use brunt_world_real::facts::{self, DiskCounters, Pressure, ProcessorTimes};

const MIB: f64 = (1 << 20) as f64;

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) at: Time,
    parts: Vec<(Part, Usage)>,
    /// Processor time of the thread with the sessions.
    own: Option<Span>,
    machine: Option<ProcessorTimes>,
    pressure: Option<Pressure>,
    memory: Option<ByteSize>,
    disk: Option<DiskCounters>,
}

impl Sample {
    /// Counters now, on the thread with the sessions.
    pub(super) fn now(at: Time, parts: Vec<(Part, Usage)>, device: Option<&str>) -> Self {
        Self {
            at,
            parts,
            own: facts::thread_use(),
            machine: facts::processor_times(),
            pressure: facts::pressure(),
            memory: facts::memory_available(),
            disk: device.and_then(|name| facts::disk_counters(name).ok().flatten()),
        }
    }

    fn part(&self, part: Part) -> Option<&Usage> {
        self.parts.iter().find_map(|(own, usage)| (*own == part).then_some(usage))
    }
}

/// The device that holds `folder`, if there is exactly one.
pub(super) fn device(folder: &Path) -> Option<String> {
    Some(facts::place(folder).ok()?.device?.name)
}

/// What was used from `from` to `to`; `None` with fewer than two samples between.
pub(super) fn between(
    samples: &[Sample],
    (from, to): (Time, Time),
    names: &[(Part, &'static str)],
    device: Option<&str>,
) -> Option<MailUsage> {
    let samples: Vec<&Sample> =
        samples.iter().filter(|sample| (from..=to).contains(&sample.at)).collect();
    let [first, .., last] = samples.as_slice() else {
        return None;
    };
    let seconds = last.at.since(first.at).as_seconds();
    let share = |now: Option<Span>, then: Option<Span>| Some((now? - then?).as_seconds() / seconds);
    let machine = last.machine.zip(first.machine).map(|(now, then)| {
        let busy = (now.user + now.system + now.steal) - (then.user + then.system + then.steal);
        busy.as_seconds() / (now.total - then.total).as_seconds().max(0.01)
    });
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // The relay first, as in the list of servers.
    let servers = names.iter().rev();
    let servers = servers.map(|(part, name)| server(name, &samples, *part, seconds)).collect();
    Some(MailUsage {
        seconds,
        servers,
        storage: device.and_then(|name| storage(name, first.disk?, last.disk?, seconds)),
        brunt_processors: share(last.own, first.own),
        processors: processors as u64,
        machine_busy: machine,
        stalled_on_processor: share(
            last.pressure.map(|one| one.cpu),
            first.pressure.map(|one| one.cpu),
        ),
        stalled_on_io: share(last.pressure.map(|one| one.io), first.pressure.map(|one| one.io)),
        memory_available_mib_min: samples
            .iter()
            .filter_map(|sample| Some(sample.memory?.get() as f64 / MIB))
            .reduce(f64::min),
    })
}

/// What one part used. A server that was killed begins to count anew.
fn server(name: &str, samples: &[&Sample], part: Part, seconds: f64) -> MailServerUsage {
    let mut usage = MailServerUsage { server: name.to_owned(), ..MailServerUsage::default() };
    let mut before: Option<&Usage> = None;
    let (mut cpu, mut read, mut written) = (0.0, 0, 0);
    for now in samples.iter().filter_map(|sample| sample.part(part)) {
        if let Some(before) = before {
            cpu += now.cpu.saturating_sub(before.cpu).as_secs_f64();
            read += now.read_bytes.saturating_sub(before.read_bytes);
            written += now.written_bytes.saturating_sub(before.written_bytes);
        }
        usage.memory_mib_max = usage.memory_mib_max.max(now.memory_bytes as f64 / MIB);
        usage.processes_max = usage.processes_max.max(now.processes as u64);
        before = Some(now);
    }
    usage.processors = cpu / seconds;
    usage.read_mib_per_s = read as f64 / MIB / seconds;
    usage.written_mib_per_s = written as f64 / MIB / seconds;
    usage
}

fn storage(
    name: &str,
    first: DiskCounters,
    last: DiskCounters,
    seconds: f64,
) -> Option<MailStorage> {
    let did = last.since(first);
    let mean = |time: Span, count: u64| (count > 0).then(|| time.as_millis() / count as f64);
    Some(MailStorage {
        device: name.to_owned(),
        busy: did.busy.as_seconds() / seconds,
        reads_per_s: did.reads as f64 / seconds,
        read_ms: mean(did.read_time, did.reads),
        writes_per_s: did.writes as f64 / seconds,
        write_ms: mean(did.write_time, did.writes),
        flushes_per_s: did.flushes.map(|flushes| flushes as f64 / seconds),
    })
    .filter(|_| seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(second: u64, cpu_ms: u64, memory: u64) -> Sample {
        let usage = Usage {
            processes: 3,
            cpu: Duration::from_millis(cpu_ms),
            written_bytes: second << 20,
            memory_bytes: memory,
            ..Usage::default()
        };
        Sample {
            at: Time::ZERO + Span::seconds(second),
            parts: vec![(Part::Store, usage)],
            own: Some(Span::millis(100 * second)),
            ..Sample::default()
        }
    }

    #[test]
    fn shares_are_of_the_steady_part_and_a_killed_server_counts_on() {
        // Killed between the 4th and the 6th second.
        let samples = [
            sample(0, 0, 9 << 20),
            sample(2, 1_000, 2 << 20),
            sample(4, 2_000, 4 << 20),
            sample(6, 500, 3 << 20),
            sample(8, 1_500, 1 << 20),
            sample(10, 9_000, 1 << 30),
        ];
        let at = |second| Time::ZERO + Span::seconds(second);
        let names = [(Part::Store, "Dovecot")];
        let usage = between(&samples, (at(1), at(9)), &names, None).unwrap();
        assert!((usage.seconds - 6.0).abs() < 1e-9);
        let server = &usage.servers[0];
        assert!((server.processors - 2.0 / 6.0).abs() < 1e-9, "{server:?}");
        assert!((server.memory_mib_max - 4.0).abs() < 1e-9);
        assert!((server.written_mib_per_s - 1.0).abs() < 1e-9);
        assert!((usage.brunt_processors.unwrap() - 0.1).abs() < 1e-9);
        assert!(between(&samples, (at(9), at(9)), &names, None).is_none());
    }
}
