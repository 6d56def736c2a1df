//! When an alarm is raised, and when it is cleared.
//!
//! ```text
//!              holds                  seen at `for` samples, or the run has ended
//!   (nothing) -------> seen n times --------------------------------------------> raised
//!       ^                   | holds no longer                                        |
//!       |-------------------+                     holds no longer, or the run is gone |
//!       +------------------------------------------------------------- cleared <------+
//! ```
//!
//! There is one of these for each alarm, run and subject. The subject of a rule is the rule at its
//! server: that another database is the worst one now is no new alarm.
//!
//! Invariants: what is raised and what is cleared of one subject alternate, beginning with raised; a
//! look that is older than one seen before changes nothing; looks at the same sample count once.
//! No time passes here, and nothing is read.

use std::collections::BTreeMap;

use brunt_qualify::rules::{self, Ending};
use brunt_report::Timestamp;
use brunt_report::result::{Outcome, Rule, Verdict};
use brunt_scenario::{AlarmPlan, AlarmWhen};
use brunt_units::Span;

use super::notice::{About, Notice};
use crate::{Look, State};

/// What is known at a moment: a run, and what others have found out about it. A condition whose
/// input is empty does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub look: &'a Look,
    /// Figures of this run that differ from those of runs before it.
    pub changes: &'a [Change],
    /// How soon the first of its logs is full.
    pub full_in: Option<Span>,
    /// When this is.
    pub now: Timestamp,
}

/// A figure of a run that has changed since the runs before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which figure; there is one alarm for each.
    pub figure: String,
    /// What has changed, in a sentence.
    pub words: String,
}

/// The alarms of a file, and what they have said of each run.
#[derive(Debug)]
pub struct Alarms {
    plans: Vec<AlarmPlan>,
    runs: BTreeMap<String, Watched>,
}

/// What an alarm is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Run,
    Rule { id: String, server: Option<String> },
    Figure(String),
}

/// A run that is looked at.
#[derive(Debug)]
struct Watched {
    run_id: String,
    samples: u64,
    /// Whether it was seen going on: before that nothing is raised.
    has_gone_on: bool,
    /// What holds, by alarm and subject.
    held: BTreeMap<(usize, Subject), Held>,
    /// The latest look, for what has to be cleared when the run is gone.
    last: Look,
}

/// A condition that holds.
#[derive(Debug)]
struct Held {
    /// At how many samples it was seen, and the last of them.
    seen: u64,
    last: u64,
    is_raised: bool,
    about: About,
}

impl Alarms {
    pub(super) fn of(plans: Vec<AlarmPlan>) -> Self {
        Self { plans, runs: BTreeMap::new() }
    }

    /// The commands that alarms run: program and arguments. They need the user's consent.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.plans.iter().map(|plan| plan.run.value.as_slice())
    }

    pub(super) fn plans(&self) -> &[AlarmPlan] {
        &self.plans
    }

    /// What is to be told of a run that was looked at.
    pub fn observe(&mut self, observed: Observed<'_>) -> Vec<Notice> {
        let Observed { look, now, .. } = observed;
        let mut told = Vec::new();
        let known = self.runs.get(&look.name);
        if known.is_some_and(|run| run.run_id != look.run_id) {
            told = self.gone(&look.name, now);
        }
        let run = self.runs.entry(look.name.clone()).or_insert_with(|| Watched {
            run_id: look.run_id.clone(),
            samples: look.samples,
            has_gone_on: false,
            held: BTreeMap::new(),
            last: look.clone(),
        });
        if look.samples < run.samples {
            return told;
        }
        run.samples = look.samples;
        run.last = look.clone();
        run.has_gone_on |= look.state == State::GoesOn;
        if !run.has_gone_on {
            return told;
        }
        let plans = self.plans.iter().enumerate();
        let holds: BTreeMap<_, _> = plans
            .flat_map(|(alarm, plan)| {
                let subjects = holding(plan, &observed).into_iter();
                subjects.map(move |(subject, about)| ((alarm, subject), about))
            })
            .collect();
        told.extend(run.clear(&self.plans, &holds, now));
        told.extend(run.hold(&self.plans, holds, now));
        told
    }

    /// Clears what was raised of the run called `name`, which is no longer there.
    pub fn gone(&mut self, name: &str, now: Timestamp) -> Vec<Notice> {
        let run = self.runs.remove(name);
        run.map_or(Vec::new(), |mut run| run.clear(&self.plans, &BTreeMap::new(), now))
    }
}

impl Watched {
    /// Forgets what no longer `holds`, and clears what was raised of it.
    fn clear(
        &mut self,
        plans: &[AlarmPlan],
        holds: &BTreeMap<(usize, Subject), About>,
        now: Timestamp,
    ) -> Vec<Notice> {
        let look = &self.last;
        let over = self.held.extract_if(.., |key, _| !holds.contains_key(key));
        let raised = over.filter(|(_, held)| held.is_raised);
        let told = raised.map(|((alarm, subject), held)| {
            let about = match subject {
                Subject::Rule { id, server } => now_of(look, &id, &server).unwrap_or(held.about),
                _ => held.about,
            };
            Notice::new((alarm, plans[alarm].when), false, look, about, now)
        });
        told.collect()
    }

    /// Counts what `holds`, and raises what has been seen often enough.
    fn hold(
        &mut self,
        plans: &[AlarmPlan],
        holds: BTreeMap<(usize, Subject), About>,
        now: Timestamp,
    ) -> Vec<Notice> {
        let mut told = Vec::new();
        for ((alarm, subject), about) in holds {
            let held = self.held.entry((alarm, subject)).or_insert_with(|| Held {
                seen: 1,
                last: self.samples,
                is_raised: false,
                about: about.clone(),
            });
            if self.samples > held.last {
                (held.seen, held.last) = (held.seen + 1, self.samples);
            }
            held.about = about;
            // No more samples come to a run that has ended.
            let is_due = held.seen >= plans[alarm].samples || self.last.state == State::Ended;
            if is_due && !held.is_raised {
                held.is_raised = true;
                let (alarm, about) = ((alarm, plans[alarm].when), held.about.clone());
                told.push(Notice::new(alarm, true, &self.last, about, now));
            }
        }
        told
    }
}

/// The rule as it stands in `look`.
fn now_of(look: &Look, id: &str, server: &Option<String>) -> Option<About> {
    let mut rules = look.run.result.rules.iter();
    let rule = rules.find(|rule| rule.id == id && rule.server == *server)?;
    Some(About::Rule(Box::new(rule.clone())))
}

/// What `plan` looks for and finds.
fn holding(plan: &AlarmPlan, observed: &Observed<'_>) -> Vec<(Subject, About)> {
    let Observed { look, changes, full_in, .. } = observed;
    let run = |holds: bool, about: About| match holds {
        true => vec![(Subject::Run, about)],
        false => Vec::new(),
    };
    match plan.when {
        AlarmWhen::RuleFailing => failing(plan, look, |_| true),
        AlarmWhen::RuleFailed => {
            let is_over = look.state == State::Ended;
            failing(plan, look, |rule| is_over || rules::is_for_good(rule))
        }
        AlarmWhen::RunEnded => run(look.state == State::Ended, About::Run),
        AlarmWhen::RunSilent => run(look.state == State::Silent, About::Run),
        AlarmWhen::RunInvalid => run(verdict_so_far(look) == Verdict::Invalid, About::Run),
        AlarmWhen::ChangeFound => {
            let found = changes.iter().map(|change| {
                (Subject::Figure(change.figure.clone()), About::Change(change.clone()))
            });
            found.collect()
        }
        AlarmWhen::LogFullWithin => match (full_in, plan.within) {
            (Some(full_in), Some(within)) => run(*full_in <= within, About::Full(*full_in)),
            _ => Vec::new(),
        },
    }
}

/// The failed rules that `plan` is about. Where a rule is judged several times, the first counts.
fn failing(plan: &AlarmPlan, look: &Look, which: impl Fn(&Rule) -> bool) -> Vec<(Subject, About)> {
    let is_own = |rule: &&Rule| plan.rule.as_ref().is_none_or(|id| *id == rule.id);
    let rules = look.run.result.rules.iter().filter(is_own);
    let mut found = BTreeMap::new();
    for rule in rules.filter(|rule| rule.outcome == Outcome::Failed && which(rule)) {
        let subject = Subject::Rule { id: rule.id.clone(), server: rule.server.clone() };
        found.entry(subject).or_insert_with(|| About::Rule(Box::new(rule.clone())));
    }
    found.into_iter().collect()
}

/// The verdict of a run that has ended; else what it would be if it ended now.
pub(crate) fn verdict_so_far(look: &Look) -> Verdict {
    match look.state {
        State::Ended => look.run.result.verdict,
        State::GoesOn | State::Silent => rules::verdict(&Ending::Complete, &look.run.result.rules),
    }
}

#[cfg(test)]
mod tests {
    use brunt_qualify::rules::RuleId;
    use brunt_scenario::read_alarms;
    use proptest::prelude::*;

    use super::*;
    use crate::sample;

    const NOW: Timestamp = Timestamp { unix_seconds: 1_800_000_000 };

    fn alarms(text: &str) -> Alarms {
        let rules = ["database-read-average", "io-errors"];
        let plans = read_alarms("a.toml", text, std::path::Path::new("/"), &rules);
        Alarms::of(plans.unwrap())
    }

    fn alarm(when: &str, more: &str) -> Alarms {
        alarms(&format!("[[alarm]]\nwhen = \"{when}\"\nrun = [\"/bin/true\"]\n{more}\n"))
    }

    fn read(ms: f64) -> Rule {
        Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, Some(ms)).about("DB1")
    }

    fn errors(count: f64) -> Rule {
        Rule::at_most(RuleId::IoErrors, "", 0.0, Some(count))
    }

    /// What is told of looks at one run, as `+` and `-` with the sample.
    fn told(alarms: &mut Alarms, looks: &[(Rule, u64, State)]) -> String {
        let mut all = Vec::new();
        for (rule, samples, state) in looks {
            let look = sample::look("demo", vec![rule.clone()], *samples, *state);
            let seen = Observed { look: &look, changes: &[], full_in: None, now: NOW };
            for notice in alarms.observe(seen) {
                let sign = if notice.is_raised() { '+' } else { '-' };
                all.push(format!("{sign}{samples}"));
            }
        }
        all.join(" ")
    }

    use State::{Ended, GoesOn, Silent};

    #[test]
    fn a_rule_that_recovers_is_cleared_and_may_fail_again() {
        let looks = [
            (read(5.0), 1, GoesOn),
            (read(25.0), 2, GoesOn),
            (read(26.0), 3, GoesOn),
            (read(9.0), 4, GoesOn),
            (read(29.0), 5, GoesOn),
            (read(29.0), 5, Ended),
        ];
        assert_eq!(told(&mut alarm("rule failing", ""), &looks), "+2 -4 +5");
        let own = "rule = \"database-read-average\"";
        assert_eq!(told(&mut alarm("rule failing", own), &looks), "+2 -4 +5");
        assert_eq!(told(&mut alarm("rule failing", "rule = \"io-errors\""), &looks), "");
        // Only the end makes a mean a failure.
        assert_eq!(told(&mut alarm("rule failed", ""), &looks), "+5");
    }

    #[test]
    fn what_time_cannot_mend_has_failed_at_once() {
        let looks = [(errors(0.0), 1, GoesOn), (errors(1.0), 2, GoesOn), (errors(4.0), 3, Ended)];
        assert_eq!(told(&mut alarm("rule failed", ""), &looks), "+2");
    }

    #[test]
    fn for_counts_samples_in_a_row_and_not_looks() {
        let looks = [
            (read(25.0), 1, GoesOn),
            (read(25.0), 1, GoesOn),
            (read(25.0), 1, GoesOn),
            (read(25.0), 2, GoesOn),
            (read(5.0), 3, GoesOn),
            (read(25.0), 4, GoesOn),
            (read(25.0), 9, GoesOn),
            (read(25.0), 10, GoesOn),
        ];
        assert_eq!(told(&mut alarm("rule failing", "for = \"3 samples\""), &looks), "+10");
        // A run that has ended has no more samples to wait for.
        let short = [(read(25.0), 1, GoesOn), (read(25.0), 1, Ended)];
        assert_eq!(told(&mut alarm("rule failed", "for = \"3 samples\""), &short), "+1");
    }

    #[test]
    fn runs_that_had_ended_before_raise_nothing() {
        let old = [(errors(1.0), 9, Ended), (errors(1.0), 9, Silent), (errors(1.0), 9, Ended)];
        for when in ["run ended", "run silent", "rule failed", "rule failing"] {
            assert_eq!(told(&mut alarm(when, ""), &old), "", "{when}");
        }
    }

    #[test]
    fn silence_ends_with_a_sign_of_life_or_the_end() {
        let looks = [
            (read(5.0), 1, GoesOn),
            (read(5.0), 1, Silent),
            (read(5.0), 1, Silent),
            (read(5.0), 2, GoesOn),
            (read(5.0), 2, Silent),
            (read(5.0), 2, Ended),
        ];
        assert_eq!(told(&mut alarm("run silent", ""), &looks), "+1 -2 +2 -2");
        assert_eq!(told(&mut alarm("run ended", ""), &looks), "+2");
    }

    #[test]
    fn a_run_that_is_invalid_so_far_says_so() {
        let stood = |ms| Rule::at_most(RuleId::TesterStandstill, "ms", 1_000.0, Some(ms));
        let looks = [(stood(10.0), 1, GoesOn), (stood(5_000.0), 2, GoesOn)];
        assert_eq!(told(&mut alarm("run invalid", ""), &looks), "+2");
    }

    #[test]
    fn inputs_that_a_run_does_not_have_never_fire() {
        let looks = [(errors(1.0), 1, GoesOn), (errors(1.0), 2, Ended)];
        assert_eq!(told(&mut alarm("change found", ""), &looks), "");
        assert_eq!(told(&mut alarm("log full within", "within = \"2h\""), &looks), "");
    }

    #[test]
    fn changes_and_full_logs_are_told_when_others_find_them() {
        let look = sample::look("demo", Vec::new(), 3, GoesOn);
        let change = Change { figure: "read_ms".to_owned(), words: "reads are slower".to_owned() };
        let mut changed = alarm("change found", "");
        let mut full = alarm("log full within", "within = \"2h\"");
        let observe = |alarms: &mut Alarms, changes: &[Change], full_in: Option<u64>| {
            let full_in = full_in.map(Span::seconds);
            let told = alarms.observe(Observed { look: &look, changes, full_in, now: NOW });
            told.iter().map(Notice::is_raised).collect::<Vec<_>>()
        };
        assert_eq!(observe(&mut changed, &[], None), [false; 0]);
        assert_eq!(observe(&mut changed, std::slice::from_ref(&change), None), [true]);
        assert_eq!(observe(&mut changed, &[], None), [false]);
        assert_eq!(observe(&mut full, &[], Some(7_201)), [false; 0]);
        assert_eq!(observe(&mut full, &[], Some(7_200)), [true]);
        assert_eq!(observe(&mut full, &[], Some(100)), [false; 0]);
        assert_eq!(observe(&mut full, &[], Some(9_000)), [false]);
    }

    #[test]
    fn a_run_that_is_gone_or_another_of_its_name_clears_what_was_raised() {
        let mut own = alarm("rule failed", "");
        assert_eq!(told(&mut own, &[(errors(1.0), 5, GoesOn)]), "+5");
        let mut look = sample::look("demo", vec![errors(0.0)], 1, GoesOn);
        look.run_id = "another".to_owned();
        let seen = Observed { look: &look, changes: &[], full_in: None, now: NOW };
        let cleared = own.observe(seen);
        assert_eq!(cleared.len(), 1);
        assert!(!cleared[0].is_raised() && cleared[0].to_json().contains("demo-id"));
        assert_eq!(told(&mut own, &[(errors(2.0), 1, GoesOn)]), "+1");
        assert_eq!(own.gone("demo", NOW).len(), 1);
        assert_eq!(own.gone("demo", NOW).len(), 0);
    }

    fn looks() -> impl Strategy<Value = Vec<(u8, u64, u8)>> {
        prop::collection::vec((0_u8..4, 0_u64..6, 0_u8..6), 1..40)
    }

    proptest! {
        /// Whatever is looked at, in whatever order: of one subject, raised and cleared alternate.
        #[test]
        fn raised_and_cleared_alternate(looks in looks(), samples in 1_u64..4) {
            let failing = format!("when = \"rule failing\"\nfor = \"{samples} samples\"");
            let each = [failing.as_str(), "when = \"rule failed\"", "when = \"run ended\"",
                "when = \"run silent\""];
            let each = each.map(|when| format!("[[alarm]]\n{when}\nrun = [\"/bin/true\"]\n"));
            let mut alarms = alarms(&each.concat());
            let mut open = BTreeMap::<String, bool>::new();
            let mut newest = 0;
            for (rules, samples, state) in looks {
                let state = match state { 0 => Silent, 1 => Ended, _ => GoesOn };
                let rules = vec![
                    read(if rules & 1 == 0 { 5.0 } else { 25.0 }),
                    errors(f64::from(rules >> 1)),
                ];
                let look = sample::look("demo", rules, samples, state);
                let told = alarms
                    .observe(Observed { look: &look, changes: &[], full_in: None, now: NOW });
                prop_assert!(told.is_empty() || samples >= newest, "an old look says nothing");
                newest = newest.max(samples);
                for notice in told {
                    let is_open = open.entry(notice.key()).or_default();
                    prop_assert_ne!(*is_open, notice.is_raised(), "{}", notice.to_json());
                    *is_open = notice.is_raised();
                }
            }
            // What is open at the end is cleared once.
            let cleared = alarms.gone("demo", NOW);
            prop_assert_eq!(cleared.len(), open.values().filter(|open| **open).count());
        }

        /// The same as counting by hand: samples in a row at which the rule was over its limit.
        #[test]
        fn for_is_what_counting_by_hand_says(over in prop::collection::vec(any::<bool>(), 1..30), wanted in 1_usize..5) {
            let mut own = alarm("rule failing", &format!("for = \"{wanted} samples\""));
            let mut row = 0;
            for (sample, over) in (1..).zip(over) {
                row = if over { row + 1 } else { 0 };
                let ms = if over { 25.0 } else { 5.0 };
                let raised = told(&mut own, &[(read(ms), sample, GoesOn)]).starts_with('+');
                prop_assert_eq!(raised, row == wanted);
            }
        }
    }
}
