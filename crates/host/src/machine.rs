//! The machine during the collection: one look at the end of each sample.
//!
//! What counts up is shown as the difference of two looks; what stands (free memory, a temperature)
//! as it is. A number that the system does not tell is left out. The recorder's thread looks, not
//! the engine's.

use std::collections::BTreeMap;

use brunt_report::host_counters as names;
use brunt_report::result::{HostCounter, PhaseName, Watched};
use brunt_report::streams::HOST;
use brunt_run::{Row, Value};
use brunt_units::{ByteSize, Span, Time};
use brunt_world_real::facts::{
    self, DiskCounters, Pressure, ProcessUse, ProcessorTimes, disk_counters,
};

use crate::yardstick::Yardstick;

/// Looks at the machine and remembers what it saw.
pub(crate) struct MachineWatch {
    devices: Vec<String>,
    yardstick: Yardstick,
    last: Look,
    watched: BTreeMap<String, Watched>,
    /// The running phase, when its last look was, and what was seen then.
    phase: Option<(PhaseName, Time, Look)>,
    phases: BTreeMap<PhaseName, BTreeMap<String, Watched>>,
}

/// What counts up.
#[derive(Clone, Debug, Default)]
struct Look {
    processors: Option<ProcessorTimes>,
    own: Option<ProcessUse>,
    throttled: Option<Span>,
    pressure: Option<Pressure>,
    devices: BTreeMap<String, DiskCounters>,
}

const MEBIBYTE: f64 = 1_048_576.0;

impl MachineWatch {
    /// A watch over the machine and these of its devices.
    pub(crate) fn new(devices: Vec<String>) -> Self {
        let last = Look::now(&devices);
        Self {
            devices,
            yardstick: Yardstick::new(),
            last,
            watched: BTreeMap::new(),
            phase: None,
            phases: BTreeMap::new(),
        }
    }

    /// The collection begins: what was before does not count.
    pub(crate) fn begin(&mut self) {
        self.last = Look::now(&self.devices);
        self.watched.clear();
    }

    /// A sample that began at `begin` has just ended; the rows of `counters.csv` that belong to it.
    pub(crate) fn sample(&mut self, length: Span) -> Vec<Row> {
        let now = Look::now(&self.devices);
        let mut values = now.since(&self.last, length.as_seconds());
        values.extend(standing());
        values.push((names::CHECKSUM_SPEED.to_owned(), self.yardstick.gb_per_s()));
        self.last = now;
        let mut rows = Vec::new();
        for (name, value) in values {
            rows.push(Row::new(&format!("{HOST}{name}"), Value::Other(value)));
            let watched = self.watched.entry(name).or_default();
            watched.add(value, length.as_seconds());
        }
        rows
    }

    /// `phase` runs from `at` on, or still runs then; `None` when none does that has no samples of
    /// its own.
    pub(crate) fn phase(&mut self, phase: Option<PhaseName>, at: Time) {
        if phase.is_none() && self.phase.is_none() {
            return;
        }
        let now = Look::now(&self.devices);
        if let Some((name, since, before)) = self.phase.take()
            && at > since
        {
            let seconds = (at - since).as_seconds();
            let mut values = now.since(&before, seconds);
            values.extend(standing());
            let watched = self.phases.entry(name).or_default();
            for (name, value) in values {
                watched.entry(name).or_default().add(value, seconds);
            }
        }
        self.phase = phase.map(|phase| (phase, at, now));
    }

    /// What was seen in phases without samples.
    pub(crate) fn phases(&self) -> Vec<(PhaseName, Vec<HostCounter>)> {
        let phases = self.phases.iter().map(|(phase, watched)| {
            let counters = watched.iter();
            let counters = counters.map(|(name, seen)| seen.counter(name));
            (*phase, counters.collect())
        });
        phases.collect()
    }

    /// What was seen since the collection began.
    pub(crate) fn counters(&self) -> Vec<HostCounter> {
        let watched = self.watched.iter();
        watched.map(|(name, seen)| seen.counter(name)).collect()
    }
}

impl Look {
    fn now(devices: &[String]) -> Self {
        let counted = devices.iter().filter_map(|device| {
            let counters = disk_counters(device).ok()??;
            Some((device.clone(), counters))
        });
        Self {
            processors: facts::processor_times(),
            own: facts::process_use(),
            throttled: facts::throttled(),
            pressure: facts::pressure(),
            devices: counted.collect(),
        }
    }

    /// What was counted in the `seconds` since `before`.
    fn since(&self, before: &Self, seconds: f64) -> Vec<(String, f64)> {
        let mut values = Vec::new();
        let mut add = |name: &str, value: f64| values.push((name.to_owned(), value));
        if let (Some(now), Some(before)) = (self.processors, before.processors) {
            for (name, value) in processors(now, before) {
                add(name, value);
            }
        }
        let share = |now: Span, before: Span| 100.0 * (now - before).as_seconds() / seconds;
        if let (Some(now), Some(before)) = (self.own, before.own) {
            let used = |own: ProcessUse| own.user + own.system;
            add(names::OWN_PROCESSOR, share(used(now), used(before)));
            add(names::OWN_MEMORY, mebibytes(now.peak_memory));
        }
        if let (Some(now), Some(before)) = (self.throttled, before.throttled) {
            add(names::THROTTLED, share(now, before));
        }
        if let (Some(now), Some(before)) = (self.pressure, before.pressure) {
            add(names::PRESSURE_PROCESSOR, share(now.cpu, before.cpu));
            add(names::PRESSURE_MEMORY, share(now.memory, before.memory));
            add(names::PRESSURE_IO, share(now.io, before.io));
        }
        for (device, now) in &self.devices {
            let Some(before) = before.devices.get(device) else {
                continue;
            };
            let counted = now.since(*before);
            let mean = |time: Span, count: u64| time.as_millis() / count as f64;
            add(&names::busy(device), share(counted.busy, Span::ZERO));
            if counted.reads > 0 {
                let value = mean(counted.read_time, counted.reads);
                add(&names::read_await(device), value);
            }
            if counted.writes > 0 {
                let value = mean(counted.write_time, counted.writes);
                add(&names::write_await(device), value);
            }
        }
        values
    }
}

/// Shares of the machine's processor time, in percent; nothing when none has passed.
fn processors(now: ProcessorTimes, before: ProcessorTimes) -> Vec<(&'static str, f64)> {
    let total = (now.total - before.total).as_seconds();
    if total <= 0.0 {
        return Vec::new();
    }
    let share = |now: Span, before: Span| 100.0 * (now - before).as_seconds() / total;
    let user = share(now.user, before.user);
    let system = share(now.system, before.system);
    vec![
        (names::PROCESSOR, user + system),
        (names::USER, user),
        (names::SYSTEM, system),
        (names::STEAL, share(now.steal, before.steal)),
    ]
}

/// What does not count up.
fn standing() -> Vec<(String, f64)> {
    let limits = facts::group_limits();
    let known = [
        (names::AVAILABLE_MEMORY, facts::memory_available().map(mebibytes)),
        (names::FREQUENCY, facts::frequency_mhz()),
        (names::PROCESSOR_LIMIT, limits.processors),
        (names::MEMORY_LIMIT, limits.memory.map(mebibytes)),
    ];
    let known = known.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let temperatures = facts::temperatures().into_iter();
    let temperatures = temperatures.map(|(chip, degrees)| (names::temperature(&chip), degrees));
    known.chain(temperatures).collect()
}

fn mebibytes(size: ByteSize) -> f64 {
    size.get() as f64 / MEBIBYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_up_becomes_a_share_and_a_mean() {
        let ms = Span::millis;
        let look = |turn: u64| Look {
            processors: Some(ProcessorTimes {
                user: ms(600 * turn),
                system: ms(200 * turn),
                steal: ms(100 * turn),
                total: ms(2_000 * turn),
            }),
            own: Some(ProcessUse {
                user: ms(300 * turn),
                system: ms(200 * turn),
                peak_memory: ByteSize::mib(70),
            }),
            throttled: Some(ms(50 * turn)),
            pressure: None,
            devices: BTreeMap::from([(
                "sda".to_owned(),
                DiskCounters {
                    reads: 100 * turn,
                    read_time: ms(400 * turn),
                    busy: ms(250 * turn),
                    ..DiskCounters::default()
                },
            )]),
        };
        let values = look(3).since(&look(2), 1.0);
        let value = |name: &str| {
            let found = values.iter().find(|(found, _)| found == name);
            found.map(|(_, value)| *value)
        };
        assert_eq!(value(names::PROCESSOR), Some(40.0));
        assert_eq!(value(names::STEAL), Some(5.0));
        assert_eq!(value(names::OWN_PROCESSOR), Some(50.0));
        assert_eq!(value(names::OWN_MEMORY), Some(70.0));
        assert_eq!(value(names::THROTTLED), Some(5.0));
        assert_eq!(value(names::PRESSURE_IO), None);
        assert_eq!(value("sda read await (ms)"), Some(4.0));
        assert_eq!(value("sda busy (%)"), Some(25.0));
        assert_eq!(value("sda write await (ms)"), None, "it wrote nothing");
    }

    #[test]
    fn this_machine_is_watched() {
        let mut watch = MachineWatch::new(Vec::new());
        watch.begin();
        let rows = watch.sample(Span::seconds(1));
        let has = |stream: &str| rows.iter().any(|row| row.stream == stream);
        assert!(has("host: Available MBytes"), "{rows:?}");
        assert!(has("host: checksum speed (GB/s)"), "{rows:?}");
        let memory = watch.counters();
        let memory = memory.iter().find(|c| c.counter == names::AVAILABLE_MEMORY);
        assert!(memory.unwrap().avg > Some(1.0));
    }
}
