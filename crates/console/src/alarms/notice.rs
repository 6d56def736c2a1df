//! What an alarm says: one JSON object for programs, one sentence for people.
//!
//! Names and remarks come from folders that anybody may have written, so every text is on one line,
//! without control characters, and of bounded length.

use std::ffi::OsString;

use brunt_report::result::Rule;
use brunt_report::{Timestamp, one_line};
use brunt_scenario::AlarmWhen;
use brunt_units::Span;
use serde_json::{Value, json};

use super::machine::{Change, verdict_so_far};
use crate::Look;

/// Name and version of the object that a command reads. Fields are only added.
pub const ALARM_SCHEMA: &str = "brunt.alarm/1";

/// Characters of a text in it.
const TEXT_MAX: usize = 400;

/// Something to tell: an alarm of a run was raised, or cleared.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The number of the alarm in its file, from 0.
    pub(super) alarm: usize,
    when: AlarmWhen,
    is_raised: bool,
    run: String,
    run_id: String,
    state: &'static str,
    verdict: String,
    samples: u64,
    at: Timestamp,
    about: About,
    headline: String,
}

/// What it is about, as it was when it was told.
#[derive(Clone, Debug)]
pub(super) enum About {
    Run,
    Rule(Box<Rule>),
    Change(Change),
    /// How soon the first log is full.
    Full(Span),
}

impl Notice {
    pub(super) fn new(
        (alarm, when): (usize, AlarmWhen),
        is_raised: bool,
        look: &Look,
        about: About,
        at: Timestamp,
    ) -> Self {
        let verdict = verdict_so_far(look);
        let verdict = json!(verdict).as_str().unwrap_or_default().to_owned();
        Self {
            alarm,
            when,
            is_raised,
            run: shortened(&look.name),
            run_id: shortened(&look.run_id),
            state: look.state.label(),
            verdict,
            samples: look.samples,
            at,
            about,
            headline: look.run.result.headline(),
        }
    }

    /// Whether it was raised, and not cleared.
    pub fn is_raised(&self) -> bool {
        self.is_raised
    }

    /// One sentence for people.
    pub fn text(&self) -> String {
        let (run, raised) = (&self.run, self.is_raised);
        let said = match (&self.about, self.when) {
            (About::Rule(rule), when) => {
                let rule = in_words(rule);
                match (when, raised) {
                    (AlarmWhen::RuleFailed, true) => format!("failed for good: {rule}"),
                    (AlarmWhen::RuleFailed, false) => format!("not failed after all: {rule}"),
                    (_, true) => format!("failing now: {rule}"),
                    (_, false) => format!("no longer failing: {rule}"),
                }
            }
            (About::Change(change), _) if raised => format!("changed: {}", change.words),
            (About::Change(change), _) => format!("no longer changed: {}", change.words),
            (About::Full(span), _) if raised => format!("a log is full in {span}"),
            (About::Full(_), _) => "no log is full so soon any more".to_owned(),
            (About::Run, AlarmWhen::RunEnded) if raised => format!("ended: {}", self.headline),
            (About::Run, AlarmWhen::RunEnded) => "goes on after its end".to_owned(),
            (About::Run, AlarmWhen::RunSilent) if raised => {
                "silent: it was killed, its host died, or it hangs".to_owned()
            }
            (About::Run, AlarmWhen::RunSilent) => "no longer silent".to_owned(),
            (About::Run, _) if raised => {
                "invalid so far: something other than the storage is measured".to_owned()
            }
            (About::Run, _) => "no longer invalid".to_owned(),
        };
        shortened(&format!("{run}: {said}"))
    }

    /// What a command reads: one line.
    pub fn to_json(&self) -> String {
        let rule = match &self.about {
            About::Rule(rule) => json!({
                "id": shortened(&rule.id),
                "title": shortened(&rule.title),
                "server": rule.server.as_deref().map(shortened),
                "subject": rule.subject.as_deref().map(shortened),
                "direction": rule.direction,
                "limit": rule.limit,
                "measured": rule.measured,
                "unit": shortened(&rule.unit),
            }),
            _ => Value::Null,
        };
        let change = match &self.about {
            About::Change(change) => json!({
                "figure": shortened(&change.figure),
                "words": shortened(&change.words),
            }),
            _ => Value::Null,
        };
        let full_in_s = match self.about {
            About::Full(span) => json!(span.as_seconds()),
            _ => Value::Null,
        };
        let object = json!({
            "schema": ALARM_SCHEMA,
            "alarm": self.word(),
            "when": self.when.word(),
            "text": self.text(),
            "time": self.at,
            "run": self.run,
            "run_id": self.run_id,
            "state": self.state,
            "verdict_so_far": self.verdict,
            "sample": self.samples,
            "rule": rule,
            "change": change,
            "full_in_s": full_in_s,
        });
        format!("{object}\n")
    }

    /// The variables of its command, besides those that every command has.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 3] {
        [
            ("BRUNT_ALARM", self.word().into()),
            ("BRUNT_WHEN", self.when.word().into()),
            ("BRUNT_TEXT", self.text().into()),
        ]
    }

    fn word(&self) -> &'static str {
        if self.is_raised { "raised" } else { "cleared" }
    }

    /// What tells its subject from others.
    #[cfg(test)]
    pub(super) fn key(&self) -> String {
        match &self.about {
            About::Rule(rule) => format!("{} {} {:?}", self.alarm, rule.id, rule.server),
            About::Change(change) => format!("{} {}", self.alarm, change.figure),
            About::Run | About::Full(_) => self.alarm.to_string(),
        }
    }
}

fn in_words(rule: &Rule) -> String {
    let subject = rule.subject.as_ref().map_or_else(String::new, |subject| format!(", {subject}"));
    format!("{}{subject}", rule.against_limit())
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(TEXT_MAX).collect();
    if short.len() < text.len() {
        short.push_str(" ...");
    }
    one_line(&short).into_owned()
}

#[cfg(test)]
mod tests {
    use brunt_qualify::rules::RuleId;

    use super::*;
    use crate::State;
    use crate::sample;

    const NOW: Timestamp = Timestamp { unix_seconds: 1_800_000_000 };

    #[test]
    fn a_program_reads_one_line_with_everything() {
        let rule = Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, Some(34.2)).about("DB2");
        let look = sample::look("2026-demo", vec![rule.clone()], 12, State::GoesOn);
        let about = About::Rule(Box::new(rule));
        let notice = Notice::new((0, AlarmWhen::RuleFailing), true, &look, about, NOW);
        let line = notice.to_json();
        assert_eq!(line.matches('\n').count(), 1);
        let wanted = json!({
            "schema": "brunt.alarm/1", "alarm": "raised", "when": "rule failing",
            "text": "2026-demo: failing now: database read, average: 34.2 ms (limit 20 ms), DB2",
            "time": "2027-01-15T08:00:00Z", "run": "2026-demo", "run_id": "2026-demo-id",
            "state": "goes on", "verdict_so_far": "fail", "sample": 12,
            "rule": {"id": "database-read-average", "title": "database read, average",
                "server": null, "subject": "DB2", "direction": "at most", "limit": 20.0,
                "measured": 34.2, "unit": "ms"},
            "change": null, "full_in_s": null,
        });
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), wanted);
    }

    #[test]
    fn texts_from_folders_are_bounded_and_harmless() {
        let rule = Rule::at_most(RuleId::IoErrors, "", 0.0, Some(f64::NAN));
        let rule = rule.about(format!("\u{1b}[2J\r\nBcc: all@example.com{}", "x".repeat(1 << 20)));
        let look = sample::look(&"\n".repeat(5_000), vec![rule.clone()], 1, State::Ended);
        let about = About::Rule(Box::new(rule));
        let notice = Notice::new((0, AlarmWhen::RuleFailed), true, &look, about, NOW);
        assert!(notice.to_json().len() < 16_000);
        for (_, value) in notice.environment() {
            assert!(!value.to_str().unwrap().contains(char::is_control));
        }
        assert!(
            serde_json::from_str::<Value>(&notice.to_json()).unwrap()["rule"]["measured"].is_null()
        );
    }
}
