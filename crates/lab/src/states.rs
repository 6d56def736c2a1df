//! The load by the state of the groups: while whole, degraded, rebuilding.
//!
//! A sample counts for the worst state that any group of any array had in it. What hosts got while
//! a rebuild lasted so stands by itself, beside the whole test. A test without any incident has no
//! such figures: they would be those of the whole test.

use std::cell::RefCell;
use std::collections::BTreeMap;

use brunt_array::Standing;
use brunt_report::result::{StateIo, StateNumbers, StateSpan};
use brunt_run::Recorded;
use brunt_stats::{Latencies, Percentile};
use brunt_units::{Span, Time};

use crate::device::SharedArray;

/// The samples of all servers, by state.
#[derive(Default)]
pub(crate) struct States {
    sums: RefCell<BTreeMap<Standing, BTreeMap<usize, Sums>>>,
}

/// The samples of one server in one state.
#[derive(Clone, Default)]
struct Sums {
    samples: u64,
    length: Span,
    reads: Sum,
    writes: Sum,
    log_writes: Sum,
}

/// I/O of one kind.
#[derive(Clone, Default)]
struct Sum {
    latencies: Latencies,
    /// The highest mean of a sample.
    worst: Option<Span>,
}

impl States {
    /// Counts a sample of server number `server`.
    pub(crate) fn count(&self, arrays: &[SharedArray], server: usize, recorded: &Recorded) {
        let begin = recorded.sample.begin;
        let until = begin + recorded.sample.length;
        let worst = |array: &SharedArray| array.device().standings().worst(begin, until);
        let standing = arrays.iter().map(worst).max().unwrap_or_default();
        self.add(standing, server, recorded);
    }

    fn add(&self, standing: Standing, server: usize, recorded: &Recorded) {
        let mut sums = self.sums.borrow_mut();
        let own = sums.entry(standing).or_default().entry(server).or_default();
        own.samples += 1;
        own.length += recorded.sample.length;
        own.reads.add(&recorded.whole.reads);
        own.writes.add(&recorded.whole.writes);
        own.log_writes.add(&recorded.whole.log_writes);
    }

    /// The figures of each state that there was, and those of all samples; nothing when all groups
    /// were whole throughout.
    pub(crate) fn numbers(&self) -> Vec<StateNumbers> {
        let sums = self.sums.borrow();
        if sums.keys().all(|standing| *standing == Standing::Whole) {
            return Vec::new();
        }
        let mut all = BTreeMap::<usize, Sums>::new();
        let mut numbers = Vec::new();
        for (standing, servers) in sums.iter() {
            numbers.push(numbers_of(standing.word(), servers));
            for (server, own) in servers {
                all.entry(*server).or_default().merge(own);
            }
        }
        numbers.push(numbers_of("all", &all));
        numbers
    }
}

impl Sum {
    fn add(&mut self, sample: &Latencies) {
        self.latencies.merge(sample);
        self.worst = self.worst.max(sample.mean());
    }

    fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.worst = self.worst.max(other.worst);
    }
}

impl Sums {
    fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.length += other.length;
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.log_writes.merge(&other.log_writes);
    }
}

/// The rates of servers add up.
fn numbers_of(state: &str, servers: &BTreeMap<usize, Sums>) -> StateNumbers {
    let length = servers.values().map(|own| own.length).max();
    StateNumbers {
        state: state.to_owned(),
        seconds: length.unwrap_or_default().as_seconds(),
        samples: servers.values().map(|own| own.samples).sum(),
        database_reads: io(servers, |own| &own.reads),
        database_writes: io(servers, |own| &own.writes),
        log_writes: io(servers, |own| &own.log_writes),
    }
}

fn io(servers: &BTreeMap<usize, Sums>, of: fn(&Sums) -> &Sum) -> StateIo {
    let mut all = Sum::default();
    let mut per_s = 0.0;
    for own in servers.values() {
        let seconds = own.length.as_seconds().max(f64::MIN_POSITIVE);
        per_s += of(own).latencies.count() as f64 / seconds;
        all.merge(of(own));
    }
    let millis = |span: Option<Span>| span.map(Span::as_millis);
    StateIo {
        per_s,
        latency_ms_mean: millis(all.latencies.mean()),
        latency_ms_p99: millis(all.latencies.percentile(Percentile::P99)),
        latency_ms_worst_sample: millis(all.worst),
    }
}

/// The times in which a group of any of `arrays` was not whole, up to `until`.
pub(crate) fn spans(arrays: &[SharedArray], until: Time) -> Vec<StateSpan> {
    let mut times: Vec<Time> = Vec::new();
    for array in arrays {
        let device = array.device();
        times.extend(device.standings().spans(until).map(|(_, since, _)| since));
    }
    times.push(until);
    times.sort();
    times.dedup();
    let seconds = |at: Time| Span(at.0).as_seconds();
    let mut spans: Vec<StateSpan> = Vec::new();
    for two in times.windows(2) {
        let worst = |array: &SharedArray| array.device().standings().worst(two[0], two[1]);
        let standing = arrays.iter().map(worst).max().unwrap_or_default();
        let (from_s, until_s) = (seconds(two[0]), seconds(two[1]));
        match spans.last_mut() {
            Some(last) if last.state == standing.word() && last.until_s == from_s => {
                last.until_s = until_s;
            }
            _ if standing == Standing::Whole => {}
            _ => spans.push(StateSpan { state: standing.word().to_owned(), from_s, until_s }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brunt_run::WholeLatencies;

    use super::*;

    fn sample(seconds: u64, reads: u64, millis: u64) -> Recorded {
        let mut whole = WholeLatencies::default();
        (0..reads).for_each(|_| whole.reads.record(Span::millis(millis)));
        let recorded = Recorded::of_machine(Time::ZERO, Span::seconds(seconds));
        Recorded { whole: Arc::new(whole), ..recorded }
    }

    #[test]
    fn samples_are_split_by_state_and_stand_beside_the_whole() {
        let states = States::default();
        states.add(Standing::Whole, 0, &sample(10, 100, 4));
        assert!(states.numbers().is_empty(), "nothing happened");
        states.add(Standing::Rebuilding, 0, &sample(10, 50, 8));
        states.add(Standing::Rebuilding, 0, &sample(30, 30, 16));
        let numbers = states.numbers();
        let read = |at: usize| {
            let StateNumbers { state, seconds, database_reads, .. } = &numbers[at];
            (state.as_str(), *seconds, database_reads.per_s, database_reads.latency_ms_worst_sample)
        };
        assert_eq!(read(0), ("whole", 10.0, 10.0, Some(4.0)));
        assert_eq!(read(1), ("rebuilding", 40.0, 2.0, Some(16.0)));
        assert_eq!(read(2), ("all", 50.0, 3.6, Some(16.0)));
        assert_eq!(numbers[1].database_reads.latency_ms_mean, Some(11.0));
        assert_eq!(numbers[1].samples, 2);
        assert_eq!(numbers[2].log_writes.latency_ms_mean, None);
    }

    #[test]
    fn rates_of_servers_add_up() {
        let states = States::default();
        for server in 0..2 {
            states.add(Standing::Degraded, server, &sample(10, 100, 4));
        }
        let numbers = states.numbers();
        assert_eq!((numbers[0].seconds, numbers[0].database_reads.per_s), (10.0, 20.0));
    }
}
