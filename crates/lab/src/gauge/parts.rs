//! What each part of the arrays did in one sample: rows of the journal and of `counters.csv`.
//!
//! ```text
//!   measured since the begin   |----------|-----------|
//!   a row                                 |-----------|     the difference of two marks
//! ```
//!
//! A row says what was measured, or it is not there: a LUN without reads has no read time. Rows are
//! few, however large the arrays are: of groups, LUNs, ports and controllers there are those that
//! were the busiest in the sample, of drives the four busiest.
//!
//! Names of streams are in [`brunt_report::parts`]. Numbers are those of the scenario, from 0.

use std::collections::BTreeMap;

use brunt_array::drive::DriveStats;
use brunt_array::{Breakdown, CacheStats, FrontWork, Part, SystemDesign};
use brunt_report::parts::{What, stream};
use brunt_run::{Row, Value};
use brunt_scenario::ArrayPlan;
use brunt_units::Span;
use brunt_world::Class;

use crate::device::{ArrayDevice, SharedArray};
use crate::pages::group_name;

/// Most rows of each kind of part.
const PARTS_MAX: usize = 16;
const DRIVES_MAX: usize = 4;

/// What the parts of arrays are called.
pub(crate) struct Names {
    /// Of the array, if there are several.
    array: Option<String>,
    groups: Vec<GroupName>,
    luns: Vec<String>,
    design: SystemDesign,
}

struct GroupName {
    name: String,
    /// Its drives by their numbers in the whole system.
    drives: Vec<usize>,
}

impl Names {
    /// Those of each of `arrays`.
    pub(crate) fn of(arrays: &[ArrayPlan]) -> Vec<Self> {
        let several = arrays.len() > 1;
        arrays.iter().map(|plan| Self::of_one(plan, several)).collect()
    }

    fn of_one(plan: &ArrayPlan, is_named: bool) -> Self {
        let groups = plan.design.groups().into_iter().enumerate();
        let groups = groups.map(|(number, (first, group))| GroupName {
            name: group_name(&plan.design, number, group),
            drives: group.drives.iter().map(|drive| first + usize::from(*drive)).collect(),
        });
        Self {
            array: is_named.then(|| plan.name.clone()),
            groups: groups.collect(),
            luns: plan.design.all_lun_names(),
            design: plan.design.clone(),
        }
    }
}

/// Where array number `number` of a system is, after the name of a part; nothing for a single
/// array.
fn place(design: &SystemDesign, number: usize) -> String {
    match design {
        SystemDesign::One(_) => String::new(),
        SystemDesign::Paged(_) => format!(" of member {number}"),
        SystemDesign::Pair(pair) => match number.checked_sub(pair.source.arrays().len()) {
            None => place(&pair.source, number),
            Some(number) => format!("{} at the destination", place(&pair.destination, number)),
        },
        SystemDesign::Sites(sites) => match number.checked_sub(sites.source.members.len()) {
            None => format!(" of member {number}"),
            Some(number) => format!(" of member {number} at the partner"),
        },
    }
}

/// Everything measured of an array up to some time.
#[derive(Clone, Default)]
struct Mark {
    /// Of each array of the system.
    fronts: Vec<FrontWork>,
    /// Of all arrays of the system, one after the other.
    drives: Vec<DriveStats>,
    luns: BTreeMap<u32, Asked>,
    /// Database reads, and the sums of the parts of their latency in nanoseconds.
    database_reads: (u64, [u128; 8]),
}

/// Requests of hosts, and their times in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Asked {
    reads: u64,
    writes: u64,
    read_ns: u128,
}

impl Mark {
    fn of(device: &ArrayDevice) -> Self {
        let system = device.array();
        let mut mark = Self { drives: system.drive_stats(), ..Self::default() };
        for part in system.parts() {
            if let Part::Array(_, array) = part {
                mark.fronts.push(array.front_work());
            }
        }
        for (lun, class, asked) in device.tally().luns() {
            let own = mark.luns.entry(lun).or_default();
            own.reads += asked.reads.latencies.count();
            own.writes += asked.writes.latencies.count();
            own.read_ns += asked.reads.latencies.sum_nanos();
            if class == Class::Database {
                let (count, parts) = &mut mark.database_reads;
                *count += asked.reads.latencies.count();
                for (sum, part) in parts.iter_mut().zip(asked.reads.parts_ns) {
                    *sum += part;
                }
            }
        }
        mark
    }
}

/// The marks at the end of the newest sample, of each array; none before the measurement began.
#[derive(Clone, Default)]
pub(crate) struct Marks(Vec<Mark>);

impl Marks {
    /// Begins now.
    pub(crate) fn begin(arrays: &[SharedArray]) -> Self {
        Self(arrays.iter().map(|array| Mark::of(&array.device())).collect())
    }

    /// Ends a sample of this `length` now; its rows, of all arrays.
    pub(crate) fn sample(
        &mut self,
        arrays: &[SharedArray],
        names: &[Names],
        length: Span,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for ((array, names), last) in arrays.iter().zip(names).zip(&mut self.0) {
            let device = array.device();
            let mark = Mark::of(&device);
            let mut sample = Sampled {
                names,
                from: last,
                to: &mark,
                seconds: length.as_seconds(),
                rows: &mut rows,
            };
            sample.fronts();
            sample.groups();
            sample.drives();
            sample.requests();
            sample.cache(device.array().cache_stats());
            sample.histories(&device);
            *last = mark;
        }
        rows
    }
}

/// One array in one sample.
struct Sampled<'a> {
    names: &'a Names,
    from: &'a Mark,
    to: &'a Mark,
    seconds: f64,
    rows: &'a mut Vec<Row>,
}

impl Sampled<'_> {
    fn row(&mut self, what: What, name: &str, value: f64) {
        let stream = stream(self.names.array.as_deref(), what, name);
        self.rows.push(Row::new(&stream, Value::Other(value)));
    }

    /// The share of the sample in which something worked that had worked so long, in seconds,
    /// before and after.
    fn share(&self, from: f64, to: f64) -> f64 {
        ((to - from) / self.seconds).clamp(0.0, 1.0)
    }

    fn fronts(&mut self) {
        let (mut controllers, mut ports, mut link) = (Vec::new(), Vec::new(), None);
        for (number, to) in self.to.fronts.iter().enumerate() {
            let nothing = FrontWork::default();
            let from = self.from.fronts.get(number).unwrap_or(&nothing);
            let place = place(&self.names.design, number);
            for (at, work) in to.controllers.iter().enumerate() {
                let before = from.controllers.get(at).copied().unwrap_or(0.0);
                controllers.push((format!("{at}{place}"), self.share(before, *work)));
            }
            for (at, [into, out]) in to.ports.iter().enumerate() {
                let [into_before, out_before] = from.ports.get(at).copied().unwrap_or_default();
                let busier = self.share(into_before, *into).max(self.share(out_before, *out));
                ports.push((format!("{at}{place}"), busier));
            }
            if let Some(work) = to.between {
                let share = self.share(from.between.unwrap_or(0.0), work);
                link = Some(share.max(link.unwrap_or(0.0)));
            }
        }
        for (name, share) in busiest(controllers, PARTS_MAX) {
            self.row(What::Controller, &name, share);
        }
        for (name, share) in busiest(ports, PARTS_MAX) {
            self.row(What::Port, &name, share);
        }
        if let Some(share) = link {
            self.row(What::Link, "", share);
        }
    }

    /// What a drive did in the sample: its utilisation, and the mean number of requests in it.
    fn drive(&self, number: usize) -> (f64, f64) {
        let Some(to) = self.to.drives.get(number) else { return (0.0, 0.0) };
        let from = self.from.drives.get(number).copied().unwrap_or_default();
        let queued = to.queue_ns.saturating_sub(from.queue_ns) as f64 / 1e9;
        let busy = self.share(from.busy.as_seconds(), to.busy.as_seconds());
        (busy, queued / self.seconds)
    }

    fn groups(&mut self) {
        let names = self.names;
        let groups = names.groups.iter().map(|group| {
            let drives: Vec<_> = group.drives.iter().map(|number| self.drive(*number)).collect();
            let count = drives.len().max(1) as f64;
            let busiest = drives.iter().map(|(busy, _)| *busy).fold(0.0, f64::max);
            let busy = drives.iter().map(|(busy, _)| busy).sum::<f64>() / count;
            let queue = drives.iter().map(|(_, queue)| queue).sum::<f64>() / count;
            ((&group.name, busy, queue), busiest)
        });
        for ((name, busy, queue), most) in busiest(groups.collect(), PARTS_MAX) {
            self.row(What::Group, name, busy);
            self.row(What::BusiestDrive, name, most);
            self.row(What::Queue, name, queue);
        }
    }

    fn drives(&mut self) {
        let mut first = 0;
        let mut all = Vec::new();
        // Spares and drives of tiers are none of a group's.
        for (number, array) in self.names.design.arrays().into_iter().enumerate() {
            for at in 0..array.drives.len() {
                let (busy, queue) = self.drive(first + at);
                all.push(((at, number, queue), busy));
            }
            first += array.drives.len();
        }
        for ((at, number, queue), busy) in busiest(all, DRIVES_MAX) {
            let name = format!("{at}{}", place(&self.names.design, number));
            self.row(What::Drive, &name, busy);
            self.row(What::DriveQueue, &name, queue);
        }
    }

    fn requests(&mut self) {
        let mut luns = Vec::new();
        let (mut reads, mut writes) = (0.0, 0.0);
        for (number, to) in &self.to.luns {
            let from = self.from.luns.get(number).copied().unwrap_or_default();
            let (own_reads, own_writes) = (to.reads - from.reads, to.writes - from.writes);
            reads += own_reads as f64;
            writes += own_writes as f64;
            let read_ms = mean_ms(to.read_ns - from.read_ns, own_reads);
            luns.push(((*number, read_ms), (own_reads + own_writes) as f64 / self.seconds));
        }
        let sum = |of: fn(&DriveStats) -> u64, mark: &Mark| mark.drives.iter().map(of).sum::<u64>();
        let behind = |of| sum(of, self.to).saturating_sub(sum(of, self.from)) as f64;
        let (back_reads, back_writes) = (behind(|drive| drive.reads), behind(|drive| drive.writes));
        for (what, count) in [
            (What::FrontReads, reads),
            (What::FrontWrites, writes),
            (What::BackReads, back_reads),
            (What::BackWrites, back_writes),
        ] {
            self.row(what, "", count / self.seconds);
        }
        let names = self.names;
        for ((number, read_ms), per_s) in busiest(luns, PARTS_MAX) {
            let Some(name) = names.luns.get(number as usize) else { continue };
            self.row(What::Lun, name, per_s);
            if let Some(ms) = read_ms {
                self.row(What::LunRead, name, ms);
            }
        }
        let ((before, parts_before), (count, parts)) =
            (self.from.database_reads, self.to.database_reads);
        for (number, name) in Breakdown::NAMES.into_iter().enumerate() {
            if let Some(ms) = mean_ms(parts[number] - parts_before[number], count - before) {
                self.row(What::ReadPart, name, ms);
            }
        }
    }

    fn cache(&mut self, stats: Option<CacheStats>) {
        if let Some(stats) = stats.filter(|stats| stats.write_pages > 0) {
            let dirty = stats.unwritten as f64 / stats.write_pages as f64;
            self.row(What::Dirty, "", dirty.min(1.0));
        }
    }

    /// The write history logs of a pair. Those of more groups than there are rows for are left out
    /// unless they are the fullest.
    fn histories(&mut self, device: &ArrayDevice) {
        let Some(pair) = device.array().replication() else { return };
        let logs = (0..pair.taken_bytes().count()).map(|number| {
            let log = pair.log(number);
            let fill = log.used.get() as f64 / log.limit.get().max(1) as f64;
            ((pair.name(number), log.full_in), fill.min(1.0))
        });
        for ((name, full_in), fill) in busiest(logs.collect(), PARTS_MAX) {
            self.row(What::History, name, fill);
            if let Some(full_in) = full_in {
                self.row(What::FullIn, name, full_in.as_seconds());
            }
        }
    }
}

fn mean_ms(nanos: u128, count: u64) -> Option<f64> {
    (count > 0).then(|| nanos as f64 / count as f64 / 1e6)
}

/// At most `most` of `parts`, those with the largest numbers, in the order of `parts`.
fn busiest<T>(parts: Vec<(T, f64)>, most: usize) -> Vec<(T, f64)> {
    if parts.len() <= most {
        return parts;
    }
    let mut numbers: Vec<(usize, f64)> =
        parts.iter().enumerate().map(|(at, (_, number))| (at, *number)).collect();
    // The first of equals.
    numbers.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    numbers.truncate(most);
    numbers.sort_by_key(|(at, _)| *at);
    let mut kept = numbers.into_iter().map(|(at, _)| at).peekable();
    let parts = parts.into_iter().enumerate();
    parts.filter_map(|(at, part)| kept.next_if_eq(&at).map(|_| part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_stay_in_their_order() {
        let parts = vec![('a', 0.1), ('b', 0.9), ('c', 0.1), ('d', 0.5), ('e', 0.1)];
        let names = |most| busiest(parts.clone(), most).iter().map(|(name, _)| *name).collect();
        let kept: Vec<String> = (0..6).map(names).collect();
        assert_eq!(kept, ["", "b", "bd", "abd", "abcd", "abcde"]);
    }

    #[test]
    fn large_arrays_have_few_rows() {
        let drives: u16 = 600;
        let group = |number: usize| GroupName {
            name: format!("group {number}"),
            drives: (number * 6..number * 6 + 6).collect(),
        };
        let model = brunt_array::drive::library::find("cheetah-15k5-146-fc").unwrap();
        let design =
            brunt_array::ArrayDesign::one_group(&model, drives, brunt_array::Level::Raid10);
        let names = Names {
            array: None,
            groups: (0..100).map(group).collect(),
            luns: (0..80).map(|number| format!("lun {number}")).collect(),
            design: design.into(),
        };
        let front = |work: f64| FrontWork {
            controllers: vec![work; 40],
            ports: vec![[work, 0.0]; 200],
            between: Some(work / 10.0),
        };
        let asked = Asked { reads: 30, writes: 10, read_ns: 30_000_000 };
        let to = Mark {
            fronts: vec![front(5.0)],
            drives: vec![DriveStats::default(); drives.into()],
            luns: (0..80).map(|lun| (lun, asked)).collect(),
            database_reads: (10, [1_000_000; 8]),
        };
        let from = Mark { fronts: vec![front(0.0)], ..Mark::default() };
        let mut rows = Vec::new();
        let mut sample =
            Sampled { names: &names, from: &from, to: &to, seconds: 10.0, rows: &mut rows };
        sample.fronts();
        sample.groups();
        sample.drives();
        sample.requests();
        assert!(rows.len() <= PARTS_MAX * 7 + 2 * DRIVES_MAX + 1 + 4 + 8, "{}", rows.len());
        let value =
            |stream: &str| rows.iter().find(|row| row.stream == stream).map(|row| row.value);
        assert_eq!(value("array: controller 0"), Some(Value::Other(0.5)));
        assert_eq!(value("array: link"), Some(Value::Other(0.05)));
        assert_eq!(value("array: LUN lun 0"), Some(Value::Other(4.0)));
        assert_eq!(value("array: read time of LUN lun 0"), Some(Value::Other(1.0)));
        assert_eq!(value("array: front reads"), Some(Value::Other(240.0)));
        assert_eq!(value("array: read time in seek"), Some(Value::Other(0.1)));
    }
}
