//! Measurements of the arrays, as numbers of the result.

use brunt_array::drive::DriveStats;
use brunt_array::load::Side;
use brunt_array::{Asked, Breakdown, CacheStats, GroupDesign, Note, SystemDesign};
use brunt_report::result::{
    ArrayEvent, ArrayNumbers, AskedNumbers, BusyPart, CacheNumbers, DriveNumbers, GroupNumbers,
    LunNumbers, PartNumbers,
};
use brunt_units::{Span, Time};
use brunt_world::Class;

use crate::gauge::Reading;
use crate::load::{pairs, replicas};
use crate::pages;
use brunt_scenario::{ArrayPlan, ModelledScenario};

/// The numbers of every array of `scenario`.
pub(crate) fn arrays(scenario: &ModelledScenario, readings: &[Reading]) -> Vec<ArrayNumbers> {
    let arrays = scenario.arrays.iter().zip(readings);
    arrays.map(|(plan, reading)| array(plan, reading)).collect()
}

fn array(plan: &ArrayPlan, reading: &Reading) -> ArrayNumbers {
    let seconds = reading.length.as_seconds().max(f64::MIN_POSITIVE);
    let luns = luns(plan, reading, seconds);
    ArrayNumbers {
        name: plan.name.clone(),
        asked: asked(reading, seconds),
        groups: groups(plan, reading, &luns, seconds),
        luns,
        drives: reading.drives.iter().map(drive).collect(),
        controllers: reading.controllers.clone(),
        ports: reading.ports.clone(),
        link_between: reading.between,
        cache: reading.cache.as_ref().map(|stats| cache(stats, seconds)),
        pages: reading.pages.as_ref().and_then(|read| {
            let used = (&read.used_before[..], &read.used[..]);
            pages::numbers(&plan.design, &read.stats, &read.snapshots, used, seconds)
        }),
        replication: reading
            .replication
            .as_ref()
            .map(|state| pairs::numbers(state, reading.write_rates.as_ref())),
        replicas: replicas::numbers(&reading.replicas),
        notes: reading.notes.clone(),
        not_reached: not_reached(plan, reading),
        events: reading.events.iter().map(event).collect(),
    }
}

fn event(note: &Note) -> ArrayEvent {
    ArrayEvent { at_s: Span(note.at.0).as_seconds(), what: note.what.to_string() }
}

/// The busiest group, controller, port or link of all arrays; `None` if nothing was measured.
pub(crate) fn busiest(arrays: &[ArrayNumbers]) -> Option<BusyPart> {
    let parts = arrays.iter().flat_map(|array| {
        let name = match arrays.len() {
            1 => String::new(),
            _ => format!(" of {}", array.name),
        };
        let numbered = |what: &'static str, all: &[f64]| {
            let parts = all.iter().enumerate();
            let parts = parts.map(move |(at, busy)| (format!("{what} {}", at + 1), *busy));
            parts.collect::<Vec<_>>()
        };
        let groups = array.groups.iter();
        let mut parts: Vec<_> =
            groups.map(|group| (format!("group \"{}\"", group.name), group.utilisation)).collect();
        parts.extend(numbered("controller", &array.controllers));
        parts.extend(numbered("port", &array.ports));
        parts.push(("the link between controllers".to_owned(), array.link_between));
        let part = move |(part, busy)| BusyPart { part: format!("{part}{name}"), busy };
        parts.into_iter().map(part)
    });
    let busiest = parts.max_by(|one, other| one.busy.total_cmp(&other.busy));
    busiest.filter(|part| part.busy > 0.0)
}

/// Whether incidents were scheduled for later than the end.
fn not_reached(plan: &ArrayPlan, reading: &Reading) -> Option<String> {
    let times = plan.incidents.iter().map(|incident| incident.at);
    too_late(times, reading.until)
}

/// A note about incidents that were scheduled for later than `end`; `None` without any.
pub fn too_late(times: impl Iterator<Item = Time>, end: Time) -> Option<String> {
    let late: Vec<Time> = times.filter(|at| *at > end).collect();
    let first = late.iter().min()?;
    let first = Span(first.0);
    Some(match late.len() {
        1 => format!("an incident at {first} comes after the end"),
        many => format!("{many} incidents come after the end, the first at {first}"),
    })
}

/// The purpose of an I/O, in words.
fn word(class: Class) -> &'static str {
    match class {
        Class::Database => "database",
        Class::Log => "log",
        Class::LogFormat => "log format",
        Class::Metadata => "metadata",
        Class::Maintenance => "maintenance",
        Class::Backup => "backup",
        Class::Verify => "verification",
        Class::Create => "creation",
        Class::Recovery => "recovery",
        Class::Replication => "replication",
    }
}

fn asked(reading: &Reading, seconds: f64) -> Vec<AskedNumbers> {
    let mut all = Vec::new();
    for (class, asked) in reading.tally.classes() {
        for (verb, side) in [("read", &asked.reads), ("write", &asked.writes)] {
            if side.latencies.count() > 0 {
                let what = format!("{} {verb}", word(class));
                all.push(one_purpose(what, side, seconds));
            }
        }
    }
    all
}

fn one_purpose(what: String, side: &Side, seconds: f64) -> AskedNumbers {
    let parts = Breakdown::NAMES.iter().zip(side.parts_ms());
    AskedNumbers {
        what,
        per_s: side.latencies.count() as f64 / seconds,
        latency_ms_mean: side.latencies.mean().map(Span::as_millis),
        parts: parts.map(|(part, ms)| PartNumbers { part: (*part).to_owned(), ms }).collect(),
    }
}

fn luns(plan: &ArrayPlan, reading: &Reading, seconds: f64) -> Vec<LunNumbers> {
    let names = plan.design.all_lun_names();
    let usual = plan.design.lun_names().len();
    let mut sums = vec![Asked::default(); names.len()];
    for (lun, _, asked) in reading.tally.luns() {
        let sum = &mut sums[lun as usize];
        sum.reads.merge(&asked.reads);
        sum.writes.merge(&asked.writes);
    }
    // Those of a replica only after a failover.
    let is_used = |sum: &Asked| {
        let all = [&sum.reads.latencies, &sum.writes.latencies];
        all.iter().any(|latencies| latencies.count() > 0)
    };
    let shown = match sums[usual..].iter().any(is_used) {
        true => sums.len(),
        false => usual,
    };
    let luns = names.into_iter().zip(&sums[..shown]);
    luns.map(|(name, sum)| LunNumbers {
        name,
        reads_per_s: sum.reads.latencies.count() as f64 / seconds,
        writes_per_s: sum.writes.latencies.count() as f64 / seconds,
        read_ms_mean: sum.reads.latencies.mean().map(Span::as_millis),
        write_ms_mean: sum.writes.latencies.mean().map(Span::as_millis),
    })
    .collect()
}

/// The groups of an array, or of all arrays under a page map, each with its load.
fn groups(
    plan: &ArrayPlan,
    reading: &Reading,
    luns: &[LunNumbers],
    seconds: f64,
) -> Vec<GroupNumbers> {
    let groups = plan.design.groups().into_iter().enumerate();
    let asked = reading.pages.as_ref().map(|pages| &pages.stats.0.asked[..]);
    let asked: Vec<f64> =
        asked.unwrap_or_default().iter().map(|asked| *asked as f64 / seconds).collect();
    let rates: Vec<(f64, f64)> =
        luns.iter().map(|lun| (lun.reads_per_s, lun.writes_per_s)).collect();
    let front = |number: usize| front_rate(&plan.design, &asked, &rates, number);
    groups
        .map(|(number, (first, design))| {
            let drives = &reading.drives[first..];
            group(pages::group_name(&plan.design, number, design), design, front(number), drives)
        })
        .collect()
}

/// Requests per second to group `number`: of hosts, who read and write each LUN at these `rates`,
/// or of the pages that it holds.
fn front_rate(design: &SystemDesign, asked: &[f64], rates: &[(f64, f64)], number: usize) -> f64 {
    match design {
        SystemDesign::One(design) => {
            let own = design.luns.iter().zip(rates);
            let own = own.filter(|(lun, _)| lun.group == number);
            own.map(|(_, (reads, writes))| reads + writes).sum()
        }
        // A member has one group. What the partner is asked is not counted.
        SystemDesign::Paged(_) | SystemDesign::Sites(_) => {
            asked.get(number).copied().unwrap_or_default()
        }
        SystemDesign::Pair(pair) => match number.checked_sub(pair.source.groups().len()) {
            None => front_rate(&pair.source, asked, rates, number),
            Some(number) => {
                let mut replicas = vec![(0.0, 0.0); pair.destination.lun_names().len()];
                for (lun, replica) in pair.groups.iter().flat_map(|group| &group.luns) {
                    replicas[*replica as usize].1 = rates[*lun as usize].1;
                }
                // Hosts use them after a failover.
                let own = rates.iter().skip(pair.source.lun_names().len());
                for (sum, (reads, writes)) in replicas.iter_mut().zip(own) {
                    *sum = (sum.0 + reads, sum.1 + writes);
                }
                front_rate(&pair.destination, &[], &replicas, number)
            }
        },
    }
}

/// `drives` begins with those of the group's array; others may follow.
fn group(
    name: String,
    design: &GroupDesign,
    front_per_s: f64,
    drives: &[DriveStats],
) -> GroupNumbers {
    let own: Vec<DriveNumbers> =
        design.drives.iter().map(|number| drive(&drives[usize::from(*number)])).collect();
    let count = own.len().max(1) as f64;
    let sum = |pick: fn(&DriveNumbers) -> f64| own.iter().map(pick).sum::<f64>();
    // Times are weighted by the requests of the drives.
    let all = sum(|drive| drive.reads_per_s + drive.writes_per_s).max(f64::MIN_POSITIVE);
    GroupNumbers {
        name,
        level: design.level.word(),
        drives: own.len(),
        utilisation: sum(|drive| drive.utilisation) / count,
        front_per_s,
        back_reads_per_s: sum(|drive| drive.reads_per_s),
        back_writes_per_s: sum(|drive| drive.writes_per_s),
        queue: sum(|drive| drive.queue) / count,
        service_ms: sum(|d| d.service_ms * (d.reads_per_s + d.writes_per_s)) / all,
        response_ms: sum(|d| d.response_ms * (d.reads_per_s + d.writes_per_s)) / all,
    }
}

fn drive(stats: &DriveStats) -> DriveNumbers {
    let seconds = stats.elapsed().as_seconds().max(f64::MIN_POSITIVE);
    DriveNumbers {
        utilisation: stats.utilisation(),
        queue: stats.queue(),
        service_ms: stats.service_ms(),
        response_ms: stats.response_ms(),
        reads_per_s: stats.reads as f64 / seconds,
        writes_per_s: stats.writes as f64 / seconds,
    }
}

fn cache(stats: &CacheStats, seconds: f64) -> CacheNumbers {
    let share = |part: u64, whole: u64| match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    };
    CacheNumbers {
        read_hits: share(stats.read_hits, stats.read_hits + stats.read_misses),
        dirty: share(stats.unwritten, stats.write_pages),
        dirty_max: share(stats.unwritten_most, stats.write_pages),
        stalled_per_s: stats.stalled as f64 / seconds,
        pages_per_destage: share(stats.destaged_pages, stats.destages),
    }
}
