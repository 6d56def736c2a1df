//! The test: what is done, for how long, how hard.

use std::path::{Path, PathBuf};

use brunt_qualify::goal::Precision;
use brunt_qualify::goal::{Growth, HEADROOM_PERCENT, Target};
use brunt_qualify::kinds::{TestKind, Work};
use brunt_qualify::plan::{LOGS, LoadPlan, Plan};
use brunt_units::Span;
use brunt_workload::session::Scheduling;

use super::kept::Keep;
use super::keys::{
    At, Maybe, PATH, RATE, SEED, SOME_TIME, SWITCH, TIME, Whole, Word, keys, number, own, time,
};
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::tree::Node;

keys! {
    /// What is done: a field for each key of [`TEST`], in its words.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Test; TEST = "[test]";
    /// What is done.
    kind: TestKind = TestKind::ALL[0], own(read_kind, "`\"performance\"`, `\"stress\"`, `\"soft-recovery\"`, `\"database-backup\"`"), "`\"performance\"`" is neutral;
    /// How long is measured, once the cache is warm; a second at least.
    duration: Span = PATIENCE, time(read_duration, "time"), "has to be there for performance and stress; else `\"2h\"`" is neutral;
    /// How long sessions run before that, at least.
    min_warmup: Span = WARM_UP_MAX, TIME, "a twelfth of `duration`, up to `\"5min\"`" is neutral, |test| test.min_warmup = usual_warmup(test.duration);
    /// How many times the size of the databases is written before that, at least.
    precondition: Placed<f64> = Placed::unwritten(0.0), At(number(read_precondition, "0 to 1000")), "0" is neutral;
    /// Sessions, counted as the version counts them: for each log stream, database, or the server.
    sessions: u32 = 8, Whole(1..=SESSIONS_MAX), "has to be there" is neutral;
    /// Whether sessions are to be found before the test; then their number is where that begins.
    tune: bool = false, SWITCH, "`false`" is neutral;
    /// The seed of all randomness.
    seed: u64 = 1, SEED, "1" is neutral;
    /// Database reads and writes per second that have to be reached.
    target_io_per_s: Option<Placed<f64>> = None, Maybe(At(RATE)), "none";
    /// How much more than the target is asked for, in percent.
    headroom_percent: u32 = HEADROOM_PERCENT, own(read_headroom, "0 to 100"), "20";
    /// Operations per second of all sessions together, whatever they cost.
    operations_per_s: Option<f64> = None, Maybe(RATE), "a closed loop, or the target" is neutral;
    /// How sessions are held back when nothing paces them.
    scheduling: Scheduling = Scheduling::None, own(read_scheduling, "`\"none\"`, `\"think 50ms\"`, `\"station 0.43\"`, `\"pause 1\"`"), "`\"none\"`";
    /// What to do when databases grow too large.
    growth: Growth = GROWTHS[0].1, Word(&GROWTHS), "`\"balance\"`" is neutral;
    /// Copies of each database, its own included.
    copies: u32 = 1, Whole(1..=COPIES_MAX), "1" is neutral;
    /// Log files of each instance that a recovery test replays.
    logs: u32 = LOGS, Whole(1..=LOGS_MAX), "500";
    /// Where a backup test copies the databases to.
    copy_to: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "they are only read" is neutral;
    /// How long the restore of these copies may take, until the databases can be used.
    restore_within: Option<Span> = None, Maybe(SOME_TIME), "no limit" is neutral;
    /// Whether that backup is restored.
    restore: Option<bool> = None, Maybe(SWITCH), "`true`" is neutral, |test| test.restore = test.copy_to.is_some().then_some(true);
    /// Whether the slowest few decide.
    strict_tail: bool = false, SWITCH, "`false`" is neutral;
    /// How well predictions must know their rates to stop early.
    precision: Option<Option<f64>> = None, Maybe(own(read_precision, "`\"1 %\"`, `\"none\"`")), "`\"1 %\"`" is neutral, |test| test.precision = test.kind.has_limits().then(usual_precision);
}

/// Words for growth; the first is the usual one.
static GROWTHS: [(&str, Growth); 2] = [("balance", Growth::Balance), ("refuse", Growth::Refuse)];

pub(super) const SESSIONS_MAX: u64 = 10_000;
/// The word for predictions of the whole duration.
const COMPLETE: &str = "none";
/// In percent: less takes days, and more is no prediction.
const PRECISIONS: std::ops::RangeInclusive<f64> = 0.1..=20.0;
/// Factors of ways to hold sessions back.
const FACTORS: std::ops::RangeInclusive<f64> = 0.0..=100.0;
const DURATION_MIN: Span = Span::seconds(1);
/// Who wants to see twice the target and more has another target. A slip (500 for 50) costs an
/// evening.
const HEADROOM_MAX: u64 = 100;
/// Writing all databases more often than this takes days and is a slip.
const PRECONDITION_MAX: f64 = 1_000.0;
/// More than an availability group has.
const COPIES_MAX: u64 = 16;
const LOGS_MAX: u64 = 1_000_000;
/// How long tests may take that end by themselves.
const PATIENCE: Span = Span::seconds(2 * 3600);
/// Where a scenario says nothing: a twelfth of the test, but not more than five minutes. Our
/// choice.
const WARM_UP_SHARE: u64 = 12;
const WARM_UP_MAX: Span = Span::seconds(300);

impl Test {
    /// Reads `[test]`. A relative path in it is relative to `folder`.
    pub(super) fn read(top: &mut Section, folder: &Path) -> Self {
        let mut test = Self::default();
        let section = TEST.read(top.table("test"), &mut test);
        if test.kind.has_limits() && !section.written("duration") {
            section.refuse(section.lacks("duration", "duration = \"2h\""));
        }
        if !section.written("sessions") {
            section.refuse(section.lacks("sessions", "sessions = 8"));
        }
        if let Some(copy_to) = &mut test.copy_to {
            copy_to.value = section::joined(folder, &copy_to.value);
        }
        test.refuse_two_paces(&section);
        test.refuse_backup_elsewhere(&section);
        let refuse = |key: &str, what: &str| section.place_of(key).refuse(what);
        if test.tune && !test.kind.has_limits() {
            section.refuse(refuse("tune", "only performance and stress tests are tuned"));
        }
        if test.tune && test.operations_per_s.is_some() {
            let refusal = refuse("operations_per_s", "says the pace, and `tune` looks for one");
            section.refuse(refusal.hint("keep `operations_per_s` or `tune`"));
        }
        if section.written("precision") && !test.kind.has_limits() {
            let what = "is for tests that run for a time; this one ends when its work is done";
            section.refuse(refuse("precision", what));
        }
        test
    }

    fn refuse_two_paces(&self, section: &Section) {
        let (rate, target) = (self.operations_per_s.is_some(), self.target_io_per_s.is_some());
        if rate && target {
            let place = section.place_of("operations_per_s");
            let refusal = place.refuse("paces the sessions, and so does the target");
            section.refuse(refusal.hint("keep `target_io_per_s` or `operations_per_s`"));
        }
        if self.scheduling != Scheduling::None && (rate || target) {
            let place = section.place_of("scheduling");
            let refusal = place.refuse("the sessions are paced already");
            let hint = "keep `scheduling`, or the target or rate that paces them";
            section.refuse(refusal.hint(hint));
        }
    }

    fn refuse_backup_elsewhere(&self, section: &Section) {
        let copies = section.written("copy_to");
        if copies && self.kind.work() != Work::BackUp {
            let what = "only a database-backup test copies databases";
            section.refuse(section.place_of("copy_to").refuse(what));
        }
        if section.written("restore") && !copies {
            let refusal = section.place_of("restore").refuse("there is no backup to restore");
            section.refuse(refusal.hint("with `copy_to`, a database-backup test writes one"));
        }
        let limit = section.place_of("restore_within");
        if self.restore_within.is_some() && !copies {
            let refusal = limit.refuse("nothing is restored without `copy_to`");
            section.refuse(refusal.hint("name the folder of the backup: copy_to = \"backup\""));
        } else if self.restore_within.is_some() && self.restore == Some(false) {
            section.refuse(limit.refuse("nothing is restored with `restore = false`"));
        }
    }

    /// Writes `[test]`. With mailboxes the target is theirs.
    pub(super) fn write(&self, has_mailboxes: bool, out: &mut String) {
        let target_io_per_s = self.target_io_per_s.clone().filter(|_| !has_mailboxes);
        TEST.write(&Self { target_io_per_s, ..self.clone() }, out);
    }

    /// `plan` of a test that does this.
    pub(super) fn planned(&self, plan: Plan) -> Plan {
        let paced = self.operations_per_s.map(|rate| Scheduling::Paced { rate });
        Plan {
            kind: self.kind,
            duration: self.duration,
            warm_up_min: self.min_warmup,
            precondition: self.precondition.value,
            seed: self.seed,
            target: self.target(),
            growth: self.growth,
            logs: self.logs,
            copy_to: self.copy_to.as_ref().map(|folder| folder.value.clone()),
            restores: self.restore.unwrap_or(true),
            copies: self.copies,
            precision: self.precision.unwrap_or_else(usual_precision).map(Precision::of_rates),
            load: LoadPlan { scheduling: paced.unwrap_or(self.scheduling), ..plan.load },
            ..plan
        }
    }

    /// When sessions stop, from the start; nothing where their work decides it.
    pub(super) fn end(&self) -> Option<Span> {
        let is_known = self.kind.has_limits() && self.precondition.value == 0.0;
        is_known.then(|| self.min_warmup + self.duration)
    }

    /// What has to be reached, if anything.
    pub fn target(&self) -> Option<Target> {
        self.target_io_per_s.as_ref().map(|target| Target {
            io_per_s: target.value,
            headroom_percent: self.headroom_percent,
        })
    }
}

impl Keep for TestKind {
    fn keep(&self) -> toml::Value {
        self.word().into()
    }
}

impl Keep for Option<f64> {
    fn keep(&self) -> toml::Value {
        self.map_or_else(|| COMPLETE.to_owned(), |share| format!("{} %", share * 100.0)).into()
    }
}

fn read_kind(node: &Node) -> Result<TestKind, Refusal> {
    section::choice(node, &TestKind::ALL.map(|kind| (kind.word(), kind)))
}

fn read_duration(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        short if short < DURATION_MIN => Err(node.place.refuse("is less than a second")),
        duration => Ok(duration),
    }
}

fn usual_warmup(duration: Span) -> Span {
    // Whole milliseconds read better where the scenario is shown.
    let share = duration.0.div_euclid(WARM_UP_SHARE * 1_000_000);
    Span::millis(share).min(WARM_UP_MAX)
}

fn usual_precision() -> Option<f64> {
    Some(Precision::default().rates)
}

fn read_precondition(node: &Node) -> Result<f64, Refusal> {
    match section::not_negative(node)? {
        many if many > PRECONDITION_MAX => Err(node
            .place
            .refuse("writes all databases more than a thousand times before the test")
            .hint("1 writes them once, 0 not at all")),
        times => Ok(times),
    }
}

fn read_headroom(node: &Node) -> Result<u32, Refusal> {
    section::integer(node, 0..=HEADROOM_MAX)
        .map(|percent| u32::try_from(percent).expect("in range"))
        .map_err(|refusal| refusal.hint("for more than twice the target, raise the target"))
}

impl Keep for Scheduling {
    fn keep(&self) -> toml::Value {
        self.to_string().into()
    }
}

/// The longest think time.
const THINK_MAX: Span = Span::seconds(60);

/// How sessions are held back, in a word and a factor or time: `none`, `station 0.43`, `pause 1`,
/// `think 50ms`.
fn read_scheduling(node: &Node) -> Result<Scheduling, Refusal> {
    let text = section::text(node)?;
    let time = text.strip_prefix("think ").map(str::parse::<Span>);
    if let Some(Ok(time)) = time
        && time <= THINK_MAX
    {
        return Ok(Scheduling::Think { time });
    }
    let mut words = text.split_whitespace();
    let (word, factor) = (words.next().unwrap_or_default(), words.next());
    let factor = factor.map(str::parse::<f64>);
    let rest = words.next();
    match (word, factor, rest) {
        ("none", None, None) => Ok(Scheduling::None),
        ("station", Some(Ok(factor)), None) if FACTORS.contains(&factor) => {
            Ok(Scheduling::Station { factor })
        }
        ("pause", Some(Ok(factor)), None) if FACTORS.contains(&factor) => {
            Ok(Scheduling::Pause { factor })
        }
        _ => Err(node.place.refuse("is not a valid `scheduling`").hint(
            "\"none\", \"think 50ms\" (after each operation, 60s at most), \"station 0.43\" (times a database write, one session of an instance at a time), or \"pause 1\" (times its active time)",
        )),
    }
}

/// How well predictions must know their rates: `1 %`, or `none`.
fn read_precision(node: &Node) -> Result<Option<f64>, Refusal> {
    let text = section::text(node)?;
    if text == COMPLETE {
        return Ok(None);
    }
    let percent = text.strip_suffix('%').map(|number| number.trim().parse());
    match percent {
        Some(Ok(percent)) if PRECISIONS.contains(&percent) => Ok(Some(percent / 100.0)),
        _ => Err(node.place.refuse("is not a valid `precision`").hint(format!(
            "\"1 %\", from {} to {} %, or {COMPLETE:?} to simulate the whole duration",
            PRECISIONS.start(),
            PRECISIONS.end()
        ))),
    }
}
