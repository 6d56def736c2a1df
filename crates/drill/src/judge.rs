//! Judges a drill: rules over what was found, and the outcome.
//!
//! A drill that finds nothing wrong proves little until the same checks have found what was made
//! wrong: a control that stays green makes the whole drill inconclusive.

use brunt_report::counted;
use brunt_report::result::{DrillPhase, Group, Limits, Outcome, Rule, RuleName, Verdict};
use brunt_scenario::Drill;
use brunt_units::{ByteSize, Span, Time};

use crate::controls::Control;
use crate::cut::Broken;
use crate::loss::Loss;

/// A service level that operators commonly agree on, and that of HP's paper on Continuous Access
/// EVA (May 2005).
const RECOVERY_TIME: Span = Span::seconds(15 * 60);

/// What a drill has to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objectives {
    /// The longest time without service.
    pub recovery_time: Span,
    /// The oldest promised commit that may be lost; `None`: nobody says, so what is lost is
    /// reported, and there is no verdict on it.
    pub recovery_point: Option<Span>,
}

impl Objectives {
    /// 15 minutes; and nothing lost where replication is synchronous throughout, otherwise no
    /// limit.
    pub fn usual(is_synchronous: bool) -> Self {
        Self { recovery_time: RECOVERY_TIME, recovery_point: is_synchronous.then_some(Span::ZERO) }
    }

    /// Those of a scenario.
    pub fn of(drill: &Drill, is_synchronous: bool) -> Self {
        let usual = Self::usual(is_synchronous).recovery_point;
        Self { recovery_time: drill.recovery_time, recovery_point: drill.recovery_point.or(usual) }
    }
}

/// What replication said would be lost, at the failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtRisk {
    /// Acknowledged writes that the other side did not have.
    pub writes: u64,
    /// Their bytes.
    pub bytes: ByteSize,
    /// When the first of them was acknowledged.
    pub since: Option<Time>,
}

/// What a failover led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Survival {
    /// What is lost, or why what was found is no beginning of what was committed.
    pub loss: Result<Loss, Broken>,
    /// What replication said; `None` where it is asked nothing.
    pub reported: Option<AtRisk>,
    /// From the failure to the first operation; `None` if there was none.
    pub recovery_time: Option<Span>,
    /// Why service could not be resumed.
    pub refused: Option<String>,
}

/// Pages that were read at the side that does not serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Pages read.
    pub pages: u64,
    pub bad: u64,
}

/// Everything that a drill found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Every failover.
    pub survivals: Vec<Survival>,
    /// How long users had had no service when the drill ended; `None` when they had it.
    pub out_of_service: Option<Span>,
    /// The checksum of the other side at the end; `None` when it was not read.
    pub checksum: Option<Checksum>,
    /// Why it was not read: it is no replica now.
    pub not_read: Option<String>,
    /// Why it could not be read.
    pub unreadable: Option<String>,
    /// Records of the serving side that are not as committed, after the drill; `None` when they
    /// were not compared.
    pub wrong_records: Option<u64>,
    /// Whether both sides served without an order to do so.
    pub both_served: bool,
    /// Groups that were not in step at the end.
    pub apart: Vec<String>,
    /// What kept the two sides apart at the end: a site or a link that did not come back.
    pub kept_apart: Option<String>,
    /// Why the timeline did not come to its end.
    pub unfinished: Option<String>,
    pub controls: Vec<Control>,
}

/// The rules of drills: id, group, title. Those of latencies are judged once for each phase, which
/// the title then names.
pub const RULES: [RuleName; 12] = [
    rule("drill-order", Group::Integrity, "survivor: no gap, no reorder"),
    rule("drill-recovery-point", Group::Limits, "recovery point"),
    rule("drill-as-reported", Group::Integrity, "lost no more than reported"),
    rule("drill-recovery-time", Group::Limits, "recovery time"),
    rule("drill-records", Group::Integrity, "records at the serving side"),
    rule("drill-remote-checksum", Group::Integrity, "checksum of the other side"),
    rule("drill-one-side", Group::Integrity, "only one side served"),
    rule("drill-in-step", Group::Limits, "groups in step at the end"),
    rule("drill-read-average", Group::Limits, "database read, average"),
    rule("drill-log-average", Group::Limits, "log write, average"),
    rule("drill-log-sample", Group::Limits, "log write, worst sample"),
    rule("drill-controls", Group::FairTest, "controls that were found"),
];

const fn rule(id: &'static str, group: Group, title: &'static str) -> RuleName {
    RuleName { id, group, title }
}

fn named(id: &str) -> RuleName {
    *RULES.iter().find(|rule| rule.id == id).expect("it is listed")
}

/// What drills call the time between a failure and the first operation.
const NO_SERVICE: &str = "no service";

/// The latencies of each phase against the `limits` of the version; a phase without such I/O, or
/// without service, has no rule.
pub(crate) fn latencies(phases: &[DrillPhase], limits: &Limits) -> Vec<Rule> {
    let of_phase = |phase: &DrillPhase| {
        let judged = |id, limit, measured: Option<f64>| {
            let rule = Rule::at_most(named(id), "ms", limit, Some(measured?));
            Some(Rule {
                title: format!("{}, {}", rule.title, phase.name),
                ..rule.about(phase.name.as_str())
            })
        };
        [
            judged("drill-read-average", limits.database_read_ms_mean, phase.read_ms),
            judged("drill-log-average", limits.log_write_ms_mean, phase.log_ms),
            judged("drill-log-sample", limits.log_write_ms_max, phase.log_worst_ms),
        ]
    };
    let served = phases.iter().filter(|phase| phase.name != NO_SERVICE);
    served.flat_map(of_phase).flatten().collect()
}

impl Evidence {
    /// The rules, judged.
    pub fn rules(&self, wanted: &Objectives) -> Vec<Rule> {
        let mut rules = Vec::new();
        for survival in &self.survivals {
            rules.extend(survival.rules(wanted));
        }
        let last = self.survivals.last();
        let is_told = last.is_some_and(|last| last.refused.is_some() || last.loss.is_err());
        let is_known = is_told || self.unfinished.is_some();
        if self.out_of_service.is_some() && !is_known {
            let most = wanted.recovery_time.as_seconds();
            rules.push(Rule {
                outcome: Outcome::Failed,
                remark: "service did not come back".to_owned(),
                ..Rule::at_most(named("drill-recovery-time"), "s", most, None)
            });
        }
        if let Some(wrong) = self.wrong_records {
            rules.push(none_of("drill-records", "wrong", wrong));
        }
        let name = named("drill-remote-checksum");
        rules.push(match (self.checksum, &self.unreadable) {
            (Some(sum), _) => Rule {
                remark: format!("of {}", counted(sum.pages, "page")),
                ..none_of("drill-remote-checksum", "bad pages", sum.bad)
            },
            (None, Some(why)) => Rule {
                outcome: Outcome::Failed,
                remark: why.clone(),
                ..Rule::at_most(name, "bad pages", 0.0, None)
            },
            (None, None) => Rule {
                remark: self
                    .not_read
                    .clone()
                    .unwrap_or_else(|| "without content there is nothing to read".to_owned()),
                ..Rule::not_measured(name)
            },
        });
        rules.push(none_of("drill-one-side", "times both", self.both_served.into()));
        rules.push(match &self.kept_apart {
            Some(why) => Rule { remark: why.clone(), ..Rule::not_measured(named("drill-in-step")) },
            None => Rule {
                remark: self.apart.join(", "),
                ..none_of("drill-in-step", "apart", self.apart.len() as u64)
            },
        });
        if !self.controls.is_empty() {
            rules.push(self.control_rule());
        }
        rules
    }

    fn control_rule(&self) -> Rule {
        let red = self.controls.iter().filter(|control| control.found.is_some());
        let missed = self.controls.iter().filter(|control| control.found.is_none());
        let missed: Vec<&str> = missed.map(|control| control.name).collect();
        let remark = match missed.is_empty() {
            true => String::new(),
            false => format!("not found: {}", missed.join(", ")),
        };
        let (all, red) = (self.controls.len() as f64, red.count() as f64);
        Rule { remark, ..Rule::at_least(named("drill-controls"), "red", all, Some(red)) }
    }

    /// The outcome by `rules`, and why, if it is no pass.
    pub fn outcome(&self, rules: &[Rule]) -> (Verdict, Vec<String>) {
        let mut why: Vec<String> = rules
            .iter()
            .filter(|rule| rule.outcome == Outcome::Failed && rule.group != Group::FairTest)
            .map(|rule| match rule.remark.as_str() {
                "" => rule.against_limit(),
                remark => format!("{}: {remark}", rule.against_limit()),
            })
            .collect();
        if !why.is_empty() {
            return (Verdict::Fail, why);
        }
        why.extend(self.unfinished.clone());
        let refused = self.survivals.iter();
        why.extend(refused.filter_map(|survival| survival.refused.clone()));
        for control in self.controls.iter().filter(|control| control.found.is_none()) {
            let name = control.name;
            why.push(match (&control.fails_anyway, control.struck) {
                (Some(anyway), _) => format!(
                    "control \"{name}\" shows nothing: without the fault, the same course fails as well: {anyway}"
                ),
                (None, true) => {
                    format!("control \"{name}\" was not found: the checks are blind to it")
                }
                (None, false) => format!("control \"{name}\" found nothing to break"),
            });
        }
        let open = rules.iter().find(|rule| rule.outcome == Outcome::NotJudged);
        match (why.is_empty(), open) {
            (false, _) => (Verdict::Inconclusive, why),
            (true, None) => (Verdict::Pass, why),
            (true, Some(rule)) => {
                let how = "no limit says how much may be lost: set drill.recovery_point";
                (Verdict::NoLimitSet, vec![format!("{}; {how}", rule.remark)])
            }
        }
    }
}

impl Survival {
    fn rules(&self, wanted: &Objectives) -> Vec<Rule> {
        let loss = match &self.loss {
            Ok(loss) => loss,
            Err(broken) => {
                let order =
                    Rule { remark: broken.to_string(), ..none_of("drill-order", "broken logs", 1) };
                return vec![order, self.time(wanted)];
            }
        };
        let mut rules = vec![none_of("drill-order", "broken logs", 0)];
        let point = named("drill-recovery-point");
        let seconds = loss.age.as_seconds();
        let lost = format!(
            "{} lost, {}",
            counted(loss.transactions, "acknowledged commit"),
            counted(loss.records, "record")
        );
        let remark = if loss.is_nothing() { String::new() } else { lost };
        rules.push(match wanted.recovery_point {
            Some(most) if most == Span::ZERO => Rule {
                remark,
                ..none_of("drill-recovery-point", "commits lost", loss.transactions)
            },
            Some(most) => {
                Rule { remark, ..Rule::at_most(point, "s", most.as_seconds(), Some(seconds)) }
            }
            None => Rule {
                measured: Some(seconds),
                unit: "s".to_owned(),
                outcome: match loss.transactions {
                    0 => Outcome::Ok,
                    _ => Outcome::NotJudged,
                },
                remark: if loss.is_nothing() { "nothing was lost".to_owned() } else { remark },
                ..Rule::not_measured(point)
            },
        });
        rules.push(self.as_reported(loss));
        rules.push(self.time(wanted));
        rules
    }

    /// The recovery time. A failover that was carried out and brought no service back took too
    /// long.
    fn time(&self, wanted: &Objectives) -> Rule {
        let most = wanted.recovery_time.as_seconds();
        let time = self.recovery_time.map(Span::as_seconds);
        let rule = Rule::at_most(named("drill-recovery-time"), "s", most, time);
        match (&self.refused, time) {
            (Some(why), _) => rule.with_remark(why.as_str()),
            (None, Some(_)) => rule,
            (None, None) => {
                Rule { outcome: Outcome::Failed, ..rule.with_remark("service did not come back") }
            }
        }
    }

    /// Nothing that is lost was acknowledged before the oldest write that replication said to be at
    /// risk.
    fn as_reported(&self, loss: &Loss) -> Rule {
        let Some(reported) = self.reported else {
            return Rule {
                remark: "replication is not brunt's, and says nothing".to_owned(),
                ..Rule::not_measured(named("drill-as-reported"))
            };
        };
        let older = match (loss.first_at, reported.since) {
            (None, _) => false,
            (Some(_), None) => true,
            // A commit is acknowledged after the write that carries it.
            (Some(lost), Some(reported)) => lost < reported,
        };
        let remark = match older {
            false => String::new(),
            true => format!(
                "{} lost, and replication said that {} ({}) were at risk",
                counted(loss.transactions, "commit"),
                counted(reported.writes, "write"),
                reported.bytes
            ),
        };
        Rule { remark, ..none_of("drill-as-reported", "beyond", older.into()) }
    }
}

/// A rule that holds when there are none.
fn none_of(id: &str, unit: &str, found: u64) -> Rule {
    Rule::at_most(named(id), unit, 0.0, Some(found as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survived() -> Survival {
        Survival {
            loss: Ok(Loss { kept: 10, ..Loss::default() }),
            reported: Some(AtRisk::default()),
            recovery_time: Some(Span::seconds(400)),
            refused: None,
        }
    }

    /// Service came back nowhere.
    fn unusable() -> Survival {
        Survival {
            loss: Err(Broken::Unusable("nothing has arrived".to_owned())),
            recovery_time: None,
            ..survived()
        }
    }

    fn evidence(survival: Survival) -> Evidence {
        Evidence {
            survivals: vec![survival],
            checksum: Some(Checksum { pages: 9, bad: 0 }),
            controls: vec![Control {
                name: "swap two writes",
                found: Some("a gap".to_owned()),
                fails_anyway: None,
                struck: true,
            }],
            ..Evidence::default()
        }
    }

    fn judged(evidence: &Evidence, is_synchronous: bool) -> (Verdict, Vec<String>) {
        let rules = evidence.rules(&Objectives::usual(is_synchronous));
        evidence.outcome(&rules)
    }

    fn lost(transactions: u64, reported: Option<u64>) -> Survival {
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        Survival {
            loss: Ok(Loss {
                transactions,
                records: transactions,
                age: Span::seconds(3),
                first_at: Some(at(7)),
                ..Loss::default()
            }),
            reported: Some(AtRisk { writes: 5, since: reported.map(at), ..AtRisk::default() }),
            ..survived()
        }
    }

    #[test]
    fn a_pass_needs_controls_that_are_red() {
        let mut good = evidence(survived());
        assert_eq!(judged(&good, true), (Verdict::Pass, vec![]));
        good.controls[0].found = None;
        let (verdict, why) = judged(&good, true);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert_eq!(why, ["control \"swap two writes\" was not found: the checks are blind to it"]);
    }

    #[test]
    fn each_rule_can_fail() {
        let failed = |evidence: Evidence, is_synchronous| {
            let rules = evidence.rules(&Objectives::usual(is_synchronous));
            let failed = rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
            failed.map(|rule| rule.id.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(failed(evidence(survived()), true), "");
        assert_eq!(failed(evidence(lost(2, Some(6))), true), "drill-recovery-point");
        assert_eq!(failed(evidence(lost(2, Some(6))), false), "");
        assert_eq!(failed(evidence(lost(2, Some(8))), false), "drill-as-reported");
        assert_eq!(failed(evidence(lost(2, None)), false), "drill-as-reported");
        let slow = Survival { recovery_time: Some(Span::seconds(901)), ..survived() };
        assert_eq!(failed(evidence(slow), true), "drill-recovery-time");
        let broken =
            Survival { loss: Err(Broken::Never { key: (0, 0, 1), found: None }), ..survived() };
        assert_eq!(failed(evidence(broken), true), "drill-order");
        assert_eq!(failed(evidence(unusable()), true), "drill-order drill-recovery-time");
        let with = |change: fn(&mut Evidence)| {
            let mut evidence = evidence(survived());
            change(&mut evidence);
            failed(evidence, true)
        };
        assert_eq!(with(|one| one.wrong_records = Some(1)), "drill-records");
        let bad = |one: &mut Evidence| one.checksum = Some(Checksum { pages: 9, bad: 1 });
        assert_eq!(with(bad), "drill-remote-checksum");
        let unreadable = |one: &mut Evidence| {
            (one.checksum, one.unreadable) = (None, Some("db.edb: I/O error".to_owned()));
        };
        assert_eq!(with(unreadable), "drill-remote-checksum");
        assert_eq!(with(|one| one.checksum = None), "");
        assert_eq!(with(|one| one.both_served = true), "drill-one-side");
        assert_eq!(with(|one| one.apart = vec!["SG1".to_owned()]), "drill-in-step");
        assert_eq!(with(|one| one.controls[0].found = None), "drill-controls");
    }

    #[test]
    fn a_loss_without_a_limit_is_no_pass() {
        let (verdict, why) = judged(&evidence(lost(2, Some(6))), false);
        assert_eq!(verdict, Verdict::NoLimitSet);
        assert_eq!(
            why,
            [
                "2 acknowledged commits lost, 2 records; no limit says how much may be lost: set drill.recovery_point"
            ]
        );
        assert_eq!(judged(&evidence(survived()), false).0, Verdict::Pass);
        // Failures first.
        let mut split = evidence(lost(2, Some(6)));
        split.both_served = true;
        assert_eq!(judged(&split, false).0, Verdict::Fail);
    }

    #[test]
    fn a_control_is_found_only_where_its_course_is_green_without_the_fault() {
        let (red, green) =
            (none_of("drill-records", "wrong", 3), none_of("drill-records", "wrong", 0));
        let control = |rules: &Rule, sound: &Rule| {
            Control::judged("swap", true, std::slice::from_ref(rules), std::slice::from_ref(sound))
        };
        assert!(control(&red, &green).found.is_some());
        assert_eq!(control(&green, &green).found, None);
        let anyway = control(&red, &red);
        assert_eq!(anyway.found, None);
        let mut good = evidence(survived());
        good.controls = vec![anyway];
        let (verdict, why) = judged(&good, true);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(
            why[0].contains("without the fault, the same course fails as well: records"),
            "{why:?}"
        );
    }

    #[test]
    fn latencies_of_each_phase_are_judged_by_the_limits_of_the_version() {
        let limits = Limits {
            database_read_ms_mean: 20.0,
            database_read_ms_max: 100.0,
            log_write_ms_mean: 10.0,
            log_write_ms_max: 100.0,
        };
        let phase = |name: &str, read_ms, log_ms| DrillPhase {
            name: name.to_owned(),
            from_s: 0.0,
            to_s: 10.0,
            io_per_s: 100.0,
            read_ms,
            write_ms: None,
            log_ms,
            log_worst_ms: log_ms,
            log_bytes: 0,
        };
        let phases = [
            phase("before", Some(8.0), Some(2.0)),
            phase("no service", Some(900.0), None),
            phase("merging", Some(24.0), Some(4.0)),
        ];
        let rules = latencies(&phases, &limits);
        assert_eq!(rules.len(), 6);
        let failed: Vec<String> = rules
            .iter()
            .filter(|rule| rule.outcome == Outcome::Failed)
            .map(Rule::against_limit)
            .collect();
        assert_eq!(failed, ["database read, average, merging: 24 ms (limit 20 ms)"]);
    }

    #[test]
    fn a_drill_that_did_not_end_says_so() {
        let mut early = evidence(survived());
        early.unfinished = Some("stopped before the failover at 60 s".to_owned());
        assert_eq!(judged(&early, true).0, Verdict::Inconclusive);
    }
}
