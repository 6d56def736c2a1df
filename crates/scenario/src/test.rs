//! The test: what is done, for how long, how hard.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use brunt_qualify::goal::Precision;
use brunt_qualify::goal::{Growth, HEADROOM_PERCENT, Target};
use brunt_qualify::kinds::{TestKind, Work};
use brunt_qualify::plan::{LOGS, LoadPlan, Plan};
use brunt_units::Span;
use brunt_workload::session::Scheduling;

use super::format::{path, quoted, span, word};
use super::kept::Keep;
use super::place::{Cause, Placed, Refusal};
use super::section::{self, Section};
use super::tree::Node;

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub kind: TestKind,
    /// How long is measured, once the cache is warm.
    pub duration: Span,
    /// How long sessions run before that, at least.
    pub min_warmup: Span,
    /// How many times the size of the databases is written before that, at least.
    pub precondition: Placed<f64>,
    /// Sessions, counted as the version counts them: for each log stream, for each database, or for
    /// the server.
    pub sessions: u32,
    /// Whether sessions are to be found before the test; then their number is where the search
    /// begins.
    pub tune: bool,
    /// The seed of all randomness.
    pub seed: u64,
    /// Database reads and writes per second that have to be reached, if any.
    pub target_io_per_s: Option<Placed<f64>>,
    /// How much more than the target is asked for, in percent.
    pub headroom_percent: u32,
    /// Operations per second of all sessions together, whatever they cost; nothing for a closed
    /// loop or a target.
    pub operations_per_s: Option<f64>,
    /// How sessions are held back when nothing paces them.
    pub scheduling: Scheduling,
    /// What becomes of databases that grow too large.
    pub growth: Growth,
    /// Copies of each database, its own included.
    pub copies: u32,
    /// Log files of each instance that a recovery test replays.
    pub logs: u32,
    /// Where a backup test copies the databases to.
    pub copy_to: Option<Placed<PathBuf>>,
    /// How long the restore of these copies may take, until the databases can be used.
    pub restore_within: Option<Span>,
    /// Whether that backup is restored.
    pub restore: bool,
    /// Whether the slowest few decide.
    pub strict_tail: bool,
    /// How well predictions must know their rates to stop early, as a share; nothing when they run
    /// for their whole length.
    pub precision: Option<f64>,
}

pub(super) const KEYS: [&str; 19] = [
    "kind",
    "duration",
    "min_warmup",
    "precondition",
    "sessions",
    "tune",
    "seed",
    "target_io_per_s",
    "headroom_percent",
    "operations_per_s",
    "scheduling",
    "growth",
    "copies",
    "logs",
    "copy_to",
    "restore_within",
    "restore",
    "strict_tail",
    "precision",
];

/// Words for growth; the first is the usual one.
const GROWTHS: [(&str, Growth); 2] = [("balance", Growth::Balance), ("refuse", Growth::Refuse)];

pub(super) const SESSIONS_MAX: u64 = 10_000;
/// The word for predictions of the whole duration.
const COMPLETE: &str = "none";
/// In percent: less takes days, and more is no prediction.
const PRECISIONS: std::ops::RangeInclusive<f64> = 0.1..=20.0;
/// The largest number of TOML.
const SEED_MAX: u64 = i64::MAX.unsigned_abs();
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
    pub(super) fn read(top: &mut Section, folder: &Path) -> Result<Self, Refusal> {
        let section = &mut top.section("test", &KEYS)?;
        let kinds = TestKind::ALL.map(|kind| (kind.word(), kind));
        let kind = section.choice_or("kind", kinds[0].1, &kinds)?;
        let duration = section.read("duration", section::span)?;
        let kind = kind.value;
        let duration = match duration {
            None if kind.has_limits() => {
                return Err(section.lacks("duration", "duration = \"2h\""));
            }
            Some(short) if short.value < DURATION_MIN => {
                let refusal = short.place.refuse("is less than a second");
                return Err(refusal.because(Cause::Value));
            }
            duration => duration.map_or(PATIENCE, |duration| duration.value),
        };
        // Whole milliseconds read better where the scenario is shown.
        let share = duration.0.div_euclid(WARM_UP_SHARE * 1_000_000);
        let usual = Span::millis(share).min(WARM_UP_MAX);
        let min_warmup = section.read_or("min_warmup", usual, section::span)?;
        let precondition = section.read_or("precondition", 0.0, section::not_negative)?;
        if precondition.value > PRECONDITION_MAX {
            let refusal = precondition
                .place
                .refuse("writes all databases more than a thousand times before the test");
            let refusal = refusal.hint("1 writes them once, 0 not at all");
            return Err(refusal.because(Cause::Value));
        }
        let sessions = section.read("sessions", |node| section::integer(node, 1..=SESSIONS_MAX))?;
        let sessions = sessions.ok_or_else(|| section.lacks("sessions", "sessions = 8"))?;
        let seed = section.read_or("seed", 1, |node| section::integer(node, 0..=SEED_MAX))?;
        let target = section.read("target_io_per_s", section::rate)?;
        let usual = u64::from(HEADROOM_PERCENT);
        let headroom = section.read_or("headroom_percent", usual, |node| {
            section::integer(node, 0..=HEADROOM_MAX)
                .map_err(|refusal| refusal.hint("for more than twice the target, raise the target"))
        })?;
        let operations = section.read("operations_per_s", section::rate)?;
        if let (Some(operations), Some(_)) = (&operations, &target) {
            let refusal = operations.place.refuse("paces the sessions, and so does the target");
            return Err(refusal.hint("keep `target_io_per_s` or `operations_per_s`"));
        }
        let scheduling = section.read_or("scheduling", Scheduling::None, read_scheduling)?;
        if scheduling.value != Scheduling::None && (operations.is_some() || target.is_some()) {
            let refusal = scheduling.place.refuse("the sessions are paced already");
            return Err(refusal.hint("keep `scheduling`, or the target or rate that paces them"));
        }
        let growth = section.choice_or("growth", GROWTHS[0].1, &GROWTHS)?;
        let copies = section.read_or("copies", 1, |node| section::integer(node, 1..=COPIES_MAX))?;
        let logs = section
            .read_or("logs", u64::from(LOGS), |node| section::integer(node, 1..=LOGS_MAX))?;
        let copy_to = section.read("copy_to", |node| section::absolute(node, folder))?;
        if let Some(copy_to) = copy_to.as_ref().filter(|_| kind.work() != Work::BackUp) {
            let what = "only a database-backup test copies databases";
            return Err(copy_to.place.refuse(what));
        }
        let restore = section.read("restore", section::switch)?;
        if let Some(restore) = restore.as_ref().filter(|_| copy_to.is_none()) {
            let refusal = restore.place.refuse("there is no backup to restore");
            return Err(refusal.hint("with `copy_to`, a database-backup test writes one"));
        }
        let restore_within = section.read("restore_within", section::some_time)?;
        if let Some(limit) = restore_within.as_ref().filter(|_| copy_to.is_none()) {
            let refusal = limit.place.refuse("nothing is restored without `copy_to`");
            return Err(refusal.hint("name the folder of the backup: copy_to = \"backup\""));
        }
        if let (Some(limit), Some(false)) = (&restore_within, restore.as_ref().map(|one| one.value))
        {
            let what = "nothing is restored with `restore = false`";
            return Err(limit.place.refuse(what));
        }
        let tune = section.read_or("tune", false, section::switch)?;
        if tune.value && !kind.has_limits() {
            let what = "only performance and stress tests are tuned";
            return Err(tune.place.refuse(what));
        }
        if let Some(operations) = operations.as_ref().filter(|_| tune.value) {
            let refusal = operations.place.refuse("says the pace, and `tune` looks for one");
            return Err(refusal.hint("keep `operations_per_s` or `tune`"));
        }
        let strict_tail = section.read_or("strict_tail", false, section::switch)?;
        let precision = section.read("precision", read_precision)?;
        if let Some(wanted) = precision.as_ref().filter(|_| !kind.has_limits()) {
            let what = "is for tests that run for a time; this one ends when its work is done";
            return Err(wanted.place.refuse(what));
        }
        let precision = precision.map_or(Some(Precision::default().rates), |wanted| wanted.value);
        Ok(Self {
            kind,
            duration,
            min_warmup: min_warmup.value,
            precondition,
            sessions: small(sessions.value),
            tune: tune.value,
            seed: seed.value,
            target_io_per_s: target,
            headroom_percent: small(headroom.value),
            operations_per_s: operations.map(|rate| rate.value),
            scheduling: scheduling.value,
            growth: growth.value,
            copies: small(copies.value),
            logs: small(logs.value),
            copy_to,
            restore_within: restore_within.map(|limit| limit.value),
            restore: restore.is_none_or(|restore| restore.value),
            strict_tail: strict_tail.value,
            precision,
        })
    }

    /// Writes `[test]`. With mailboxes the target is theirs.
    pub(super) fn write(&self, has_mailboxes: bool, out: &mut String) -> fmt::Result {
        writeln!(out, "\n[test]\nkind = {}", quoted(self.kind.word()))?;
        writeln!(out, "duration = {}", span(self.duration))?;
        writeln!(out, "min_warmup = {}", span(self.min_warmup))?;
        writeln!(out, "precondition = {:?}", self.precondition.value)?;
        writeln!(out, "sessions = {}\ntune = {}", self.sessions, self.tune)?;
        writeln!(out, "seed = {}", self.seed)?;
        let target = self.target_io_per_s.as_ref();
        if let Some(target) = target.filter(|_| !has_mailboxes) {
            writeln!(out, "target_io_per_s = {:?}", target.value)?;
        }
        writeln!(out, "headroom_percent = {}", self.headroom_percent)?;
        if let Some(rate) = self.operations_per_s {
            writeln!(out, "operations_per_s = {rate:?}")?;
        }
        let scheduling = self.scheduling.to_string();
        writeln!(out, "scheduling = {}", quoted(&scheduling))?;
        writeln!(out, "growth = {}", word(&GROWTHS, self.growth))?;
        writeln!(out, "copies = {}\nlogs = {}", self.copies, self.logs)?;
        if let Some(folder) = &self.copy_to {
            writeln!(out, "copy_to = {}", path(&folder.value))?;
            writeln!(out, "restore = {}", self.restore)?;
        }
        if let Some(limit) = self.restore_within {
            writeln!(out, "restore_within = {}", span(limit))?;
        }
        writeln!(out, "strict_tail = {}", self.strict_tail)?;
        let precision = match self.precision {
            Some(share) => format!("{} %", share * 100.0),
            None => COMPLETE.to_owned(),
        };
        match self.kind.has_limits() {
            true => writeln!(out, "precision = {}", quoted(&precision)),
            false => Ok(()),
        }
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
            restores: self.restore,
            copies: self.copies,
            precision: self.precision.map(Precision::of_rates),
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

fn small(number: u64) -> u32 {
    u32::try_from(number).expect("in range")
}
