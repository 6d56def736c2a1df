//! Every key of a test's scenario that can make the load lighter than that of the version, or what
//! is written easier to store than mail. A value that does is a reason not to qualify.
//!
//! Other keys are declared *neutral*: a lighter value shows elsewhere (in the rate, in a size, in a
//! rule), or there is none. A test of `brunt-scenario` goes through the whole language: each key is
//! either in this table or neutral.

use std::cmp::Ordering;
use std::fmt;

use brunt_report::decimals;
use brunt_units::{ByteSize, Span};
use brunt_workload::mix::Kind;
use brunt_workload::profile::CheckpointPacing;
use brunt_workload::session::Scheduling;

use crate::goal::{HEADROOM_PERCENT, Target};
use crate::kinds::Work::{self, BackUp, Load, Replay};
use crate::plan::{EnginePlan, LOGS, Limits, LoadPlan, Plan, log_buffer};

/// A key of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its table and its name: `profile.page`.
    pub name: &'static str,
    effect: Effect,
}

/// What a key does to the load.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// A value beyond that of the version makes tests of this work lighter, such as this one.
    Beyond(&'static [Work], Side, Source, &'static str, fn(&Plan) -> Option<Value>),
    /// What makes it lighter takes more than one value, such as these.
    Own(&'static [Work], &'static str, fn(&Plan) -> Option<String>),
}

/// The lighter side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Less,
    More,
}

/// Whose value it is that a scenario departs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The version asks for it.
    Version,
    /// The version allows it.
    Limit,
    /// Jetstress, or published tests.
    Published,
}

/// A value, for a comparison and for people.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Size(ByteSize),
    Time(Span),
    Number(f64),
    /// One of two words, the second of them larger.
    Word(&'static [&'static str; 2], bool),
}

/// Data of which less is left once it is compressed and stored once. Mail compresses by a third to
/// a half.
const LEFT_PERCENT_MIN: u32 = 50;
/// With fewer I/Os a second of each database, a sample of 15 s has too few for a mean. Our choice.
pub(super) const RATE_MIN: f64 = 1.0;

const ALL: &[Work] = &[Load, BackUp, Replay];
const LOADS: &[Work] = &[Load, Replay];
const LOAD: &[Work] = &[Load];
const REPLAY: &[Work] = &[Replay];

use Effect::{Beyond, Own};
use Side::{Less, More};
use Source::{Limit, Published, Version};

pub const KEYS: [Key; 33] = [
    key("test.target_io_per_s", Own(LOAD, "0.5", tiny_target)),
    key("test.headroom_percent", less(LOAD, Published, "19 test.target_io_per_s=5", headroom)),
    key("test.scheduling", Own(ALL, "think 5ms", held_back)),
    key("test.logs", less(REPLAY, Published, "499 test.kind=soft-recovery", |p| number(p.logs))),
    key("profile.page", less(ALL, Version, "4 KiB", |p| bytes(p.engine.page.bytes_u64()))),
    key("profile.log_file", more(LOADS, Version, "2 MiB", |p| size(p.engine.log_file))),
    key("profile.log_buffer", more(LOADS, Version, "5 MiB @2003", |p| size(p.engine.log_buffer))),
    key("profile.cache_max", more(LOADS, Version, "1 TiB", |p| size(p.engine.cache_max))),
    key(
        "profile.checkpoint_depth",
        more(LOADS, Version, "2 GiB", |p| size(p.engine.checkpoint_depth)),
    ),
    key("profile.checkpoint_writes", more(LOADS, Version, "trickle", checkpoint_writes)),
    key("profile.background_maintenance", less(LOAD, Version, "false @2013", maintenance)),
    key(
        "profile.maintenance_read",
        less(LOAD, Version, "64 KiB @2013", |p| scanned(p, size(p.engine.maintenance.batch))),
    ),
    key(
        "profile.maintenance_sleep",
        more(LOAD, Version, "10h @2013", |p| scanned(p, time(p.engine.maintenance.sleep))),
    ),
    key(
        "profile.insert_percent",
        less(LOADS, Version, "0", |p| number(p.load.mix.percent(Kind::Insert))),
    ),
    key(
        "profile.delete_percent",
        less(LOADS, Version, "0", |p| number(p.load.mix.percent(Kind::Delete))),
    ),
    key(
        "profile.replace_percent",
        less(LOADS, Version, "0", |p| number(p.load.mix.percent(Kind::Replace))),
    ),
    key("profile.lazy_percent", more(LOADS, Version, "100", |p| number(p.load.mix.lazy_percent()))),
    key(
        "profile.reads_again_percent",
        more(LOADS, Version, "100", |p| number(p.load.reads_again_percent)),
    ),
    key("profile.batch_operations", more(LOADS, Version, "100000", |p| number(p.load.batch))),
    key("records.short", less(ALL, Version, "1 B", |p| bytes(p.load.shape.short.into()))),
    key("records.long", less(ALL, Version, "1 B", |p| bytes(p.load.shape.long.into()))),
    key("records.compressible_percent", Own(ALL, "60", compressible)),
    key(
        "records.beside_percent",
        more(LOADS, Version, "50", |p| number(p.load.shape.beside_percent)),
    ),
    key("limits.read_average", more(LOAD, Limit, "5s", |p| time(p.limits.latency.read_mean))),
    key("limits.read_sample", more(LOAD, Limit, "5s", |p| time(p.limits.latency.read_sample))),
    key("limits.log_average", more(LOAD, Limit, "5s", |p| time(p.limits.latency.log_mean))),
    key("limits.log_sample", more(LOAD, Limit, "5s", |p| time(p.limits.latency.log_sample))),
    key("limits.tail_device", more(LOAD, Limit, "1h", |p| time(p.limits.tail_device))),
    key("limits.tail_operation", more(LOAD, Limit, "1h", |p| time(p.limits.tail_operation))),
    key("limits.excursions", more(LOAD, Limit, "100", |p| number(p.limits.excursions))),
    key(
        "limits.stalls_per_s",
        more(LOAD, Limit, "10", |p| Some(Value::Number(p.limits.stalls_per_s))),
    ),
    key("limits.margin_percent", more(LOAD, Limit, "50", |p| number(p.limits.margin_percent))),
    key("limits.reserve_percent", less(LOAD, Version, "0", |p| number(p.limits.reserve_percent))),
];

const fn key(name: &'static str, effect: Effect) -> Key {
    Key { name, effect }
}

const fn less(
    works: &'static [Work],
    of: Source,
    such_as: &'static str,
    value: fn(&Plan) -> Option<Value>,
) -> Effect {
    Beyond(works, Less, of, such_as, value)
}

const fn more(
    works: &'static [Work],
    of: Source,
    such_as: &'static str,
    value: fn(&Plan) -> Option<Value>,
) -> Effect {
    Beyond(works, More, of, such_as, value)
}

#[expect(clippy::unnecessary_wraps, reason = "some values are not there")]
fn size(size: ByteSize) -> Option<Value> {
    Some(Value::Size(size))
}

fn bytes(bytes: u64) -> Option<Value> {
    size(ByteSize::bytes(bytes))
}

#[expect(clippy::unnecessary_wraps, reason = "some values are not there")]
fn time(span: Span) -> Option<Value> {
    Some(Value::Time(span))
}

#[expect(clippy::unnecessary_wraps, reason = "some values are not there")]
fn number(number: u32) -> Option<Value> {
    Some(Value::Number(number.into()))
}

fn headroom(plan: &Plan) -> Option<Value> {
    number(plan.target?.headroom_percent)
}

#[expect(clippy::unnecessary_wraps, reason = "some values are not there")]
fn checkpoint_writes(plan: &Plan) -> Option<Value> {
    let is_spread = plan.engine.pacing == CheckpointPacing::Trickle;
    Some(Value::Word(&["burst", "trickle"], is_spread))
}

#[expect(clippy::unnecessary_wraps, reason = "some values are not there")]
fn maintenance(plan: &Plan) -> Option<Value> {
    let is_on = plan.engine.background_maintenance;
    Some(Value::Word(&["false", "true"], is_on))
}

/// `value` where maintenance runs.
fn scanned(plan: &Plan, value: Option<Value>) -> Option<Value> {
    value.filter(|_| plan.engine.background_maintenance)
}

fn tiny_target(plan: &Plan) -> Option<String> {
    let rate = plan.target?.io_per_s;
    (rate < RATE_MIN * plan.databases().count() as f64).then(|| {
        format!(
            "target_io_per_s {} is less than one I/O a second of each database: a larger target",
            decimals(rate)
        )
    })
}

fn held_back(plan: &Plan) -> Option<String> {
    match plan.load.scheduling {
        Scheduling::None | Scheduling::Paced { .. } => None,
        Scheduling::Think { .. } | Scheduling::Pause { .. } | Scheduling::Station { .. } => {
            Some("sessions were held back by a model: no `scheduling`".to_owned())
        }
    }
}

fn compressible(plan: &Plan) -> Option<String> {
    let shape = plan.load.shape;
    let [of_bytes, of_records] =
        [shape.compressible_percent, shape.duplicate_percent].map(|percent| 100 - percent.min(100));
    let left = (of_bytes * of_records).div_euclid(100);
    (left < LEFT_PERCENT_MIN).then(|| {
        format!(
            "compressible_percent {} and duplicate_percent {} leave {left} % of the data, and mail at least {LEFT_PERCENT_MIN} %: less of both",
            shape.compressible_percent, shape.duplicate_percent
        )
    })
}

impl Value {
    fn against(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Size(own), Self::Size(other)) => own.partial_cmp(other),
            (Self::Time(own), Self::Time(other)) => own.partial_cmp(other),
            (Self::Number(own), Self::Number(other)) => own.partial_cmp(other),
            (Self::Word(_, own), Self::Word(_, other)) => own.partial_cmp(other),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Time(span) if *span >= Span::seconds(1) => write!(f, "{} s", span.as_seconds()),
            Self::Time(span) => write!(f, "{} ms", span.as_millis()),
            Self::Number(number) => number.fmt(f),
            Self::Word([smaller, larger], is_larger) => f.write_str(match is_larger {
                true => larger,
                false => smaller,
            }),
        }
    }
}

impl Key {
    /// A value that is a reason not to qualify, as TOML; behind it what else it takes: keys with
    /// their values, or ` @` and another version than 2007.
    pub fn lighter(&self) -> &'static str {
        match self.effect {
            Beyond(_, _, _, such_as, _) | Own(_, such_as, _) => such_as,
        }
    }

    /// The name within its table.
    pub fn word(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, word)| word)
    }

    fn reason(&self, plan: &Plan, usual: &Plan) -> Option<String> {
        let does = |works: &[Work]| works.contains(&plan.kind.work());
        match self.effect {
            Own(works, _, reason) if does(works) => reason(plan),
            Beyond(works, side, source, _, value) if does(works) => {
                let (used, own) = (value(plan)?, value(usual)?);
                let lighter = match side {
                    Less => Ordering::Less,
                    More => Ordering::Greater,
                };
                let has = match source {
                    Version => format!("{} has", plan.version),
                    Limit => format!("{} allows", plan.version),
                    Published => "published tests have".to_owned(),
                };
                let is_lighter = used.against(&own) == Some(lighter);
                is_lighter.then(|| format!("{} {used}, and {has} {own}", self.word()))
            }
            _ => None,
        }
    }
}

/// A reason for each key of `plan` that makes it lighter than a test of its version.
pub fn lighter(plan: &Plan) -> Vec<String> {
    let profile = plan.version.profile();
    let engine = EnginePlan::of(profile, plan.instances.len() as u64);
    let headroom = |target: Target| Target { headroom_percent: HEADROOM_PERCENT, ..target };
    let usual = Plan {
        logs: LOGS,
        target: plan.target.map(headroom),
        engine: EnginePlan {
            // As much of it as a log file of the plan holds.
            log_buffer: log_buffer(profile).min(plan.engine.log_file),
            ..engine
        },
        load: LoadPlan::of(profile),
        limits: Limits::of(profile, plan.kind),
        ..plan.clone()
    };
    let reasons = KEYS.iter().filter_map(|key| key.reason(plan, &usual));
    reasons.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::TestKind;
    use crate::plan::InstancePlan;
    use brunt_workload::profile;

    fn plan() -> Plan {
        let instance =
            InstancePlan { name: String::new(), log: "log".into(), databases: Vec::new() };
        Plan::new(profile::Version::Exchange2013, vec![instance])
    }

    #[test]
    fn a_test_of_the_version_has_no_lighter_load() {
        for version in profile::Version::ALL {
            for kind in TestKind::ALL {
                let own = Plan::new(version, plan().instances);
                let limits = Limits::of(version.profile(), kind);
                let own = Plan { kind, limits, ..own };
                assert_eq!(lighter(&own), [""; 0], "{version} {kind}");
            }
        }
    }

    #[test]
    fn each_looser_limit_is_named_and_a_stricter_one_is_not() {
        let mut plan = plan();
        plan.limits.latency.read_mean = Span::seconds(5);
        plan.limits.latency.log_mean = Span::millis(1);
        plan.limits.latency.log_sample = Span::millis(150);
        plan.limits.tail_device = Span::seconds(3_600);
        let limits = &mut plan.limits;
        (limits.excursions, limits.stalls_per_s, limits.margin_percent) = (7, 1.5, 4);
        assert_eq!(
            lighter(&plan),
            [
                "read_average 5 s, and Exchange 2013 allows 20 ms",
                "log_sample 150 ms, and Exchange 2013 allows 100 ms",
                "tail_device 3600 s, and Exchange 2013 allows 100 ms",
                "excursions 7, and Exchange 2013 allows 6",
                "stalls_per_s 1.5, and Exchange 2013 allows 1",
            ]
        );
        plan.kind = TestKind::DatabaseBackup;
        assert_eq!(lighter(&plan), [""; 0], "a backup has no limits");
    }

    #[test]
    fn data_that_nearly_vanishes_is_no_mail() {
        let mut plan = plan();
        for (compressible, duplicate, is_mail) in
            [(50, 0, true), (51, 0, false), (30, 28, true), (30, 30, false), (100, 100, false)]
        {
            plan.load.shape.compressible_percent = compressible;
            plan.load.shape.duplicate_percent = duplicate;
            let reasons = lighter(&plan);
            assert_eq!(reasons.is_empty(), is_mail, "{reasons:?}");
        }
    }
}
