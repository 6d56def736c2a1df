//! Users at work: what their messages are, what they did, and whether that is enough.

use brunt_load::Filled;
use brunt_mail::{MailingOptions, Routing, SizeClass};
use brunt_report::RunResult;
use brunt_report::result::{
    Group, MailTask, MailUsage, MailWork, Outcome, Rule, RuleName, Verdict,
};
use brunt_stats::{Latencies, Percentile};
use brunt_units::Span;
use brunt_users::{Check, Checks, Dispatch, Profile, Score, Tally, Until, delayed_ack_share};

use super::outcome::latency;
use super::{Work, cause};

/// The shortest message that has all of its headers, and some text.
const TEXT_MIN: u64 = 512;

/// The 99th percentile of how late the schedule may be looked at: a twentieth of the second that
/// users may wait.
const LATE_MAX: Span = Span::millis(50);

/// Recipients that one message can have.
pub(super) fn most_recipients(profile: &Profile) -> u32 {
    let of_lists = profile.recipients.list.map_or(0, |list| list.members_max);
    let of_tasks = profile.tasks.iter().filter_map(|task| task.recipients).max();
    of_lists.max(whole(profile.recipients.mean.ceil())).max(of_tasks.unwrap_or(0))
}

/// What fills the mailboxes of `users` before the day.
pub(super) fn fill_bytes(work: &Work, users: u32) -> u64 {
    bytes(work, f64::from(users) * f64::from(work.fill))
}

/// That, and what arrives for them while they work.
pub(super) fn mail_bytes(work: &Work, users: u32) -> u64 {
    let days = work.day.run.as_seconds() / work.day.length.as_seconds().max(1.0);
    let a_day = work.profile.deliveries_per_day().unwrap_or_default();
    bytes(work, f64::from(users) * (f64::from(work.fill) + a_day * days))
}

fn bytes(work: &Work, messages: f64) -> u64 {
    // Headers of a message, and what a store adds.
    const EACH_MESSAGE: f64 = 2_048.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size above zero; the cast saturates"
    )]
    let bytes = (messages * (work.profile.message_bytes() + EACH_MESSAGE)) as u64;
    bytes
}

/// The messages of users with this profile.
pub(super) fn mailing(work: &Work, options: MailingOptions) -> MailingOptions {
    let classes = work.profile.messages.iter().map(|class| SizeClass {
        text: u32::try_from(class.text.get().max(TEXT_MIN)).unwrap_or(u32::MAX),
        attachment: u32::try_from(class.attachment.get()).unwrap_or(u32::MAX),
        weight: whole(class.weight * 1_000.0),
    });
    MailingOptions { classes: classes.collect(), routing: Routing::ByTurn, ..options }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures of profiles are at most a million, and a float cast saturates"
)]
fn whole(figure: f64) -> u32 {
    figure.round() as u32
}

/// What users did, held against their profile.
pub(super) struct Checked<'a> {
    work: &'a Work,
    tally: &'a Tally,
    checks: Checks,
    /// Whether something was done to servers: then times are shown and not judged.
    was_disturbed: bool,
}

impl<'a> Checked<'a> {
    pub(super) fn new(work: &'a Work, tally: &'a Tally, users: u32, was_disturbed: bool) -> Self {
        let checks = Checks::of(&work.profile, users, (work.day.length, work.dispatch), tally);
        Self { work, tally, checks, was_disturbed }
    }

    fn is_stress(&self) -> bool {
        self.work.dispatch == Dispatch::AtOnce
    }

    /// The rule that ended the run before its time.
    fn ended_by(&self) -> Option<Until> {
        self.work.until.filter(|until| until.has_failed(self.tally))
    }

    /// Whether the times are those of servers, and not brunt's own.
    fn fair_test(&self, usage: Option<&MailUsage>) -> Vec<Rule> {
        let own = usage.and_then(|usage| usage.brunt_processors);
        let name = RuleName {
            id: "users-brunt-processor",
            group: Group::FairTest,
            title: "brunt's own processor, busy",
        };
        let (limit, own) = (100.0 * cause::BRUNT_MAX, own.map(|own| 100.0 * own));
        let processor = Rule::at_most(name, "%", limit, own);
        let remark = "its sessions have one; above that, times are brunt's own";
        let processor = processor.with_remark(remark);
        let late = self.tally.late().percentile(Percentile::P99).map(Span::as_millis);
        let name = RuleName {
            id: "users-schedule",
            group: Group::FairTest,
            title: "schedule looked at late, p99",
        };
        let rule = Rule::at_most(name, "ms", LATE_MAX.as_millis(), late);
        let rule = rule
            .with_remark("what brunt itself adds to times, where it or the machine is too busy");
        let schedule = Some(rule).filter(|_| !self.is_stress());
        schedule.into_iter().chain([processor]).collect()
    }

    /// The part `work` of the section `mail`.
    fn section(&self, usage: Option<&MailUsage>) -> MailWork {
        let is_stress = self.is_stress();
        let felt = |latencies: &Latencies| latency(latencies).filter(|_| !is_stress);
        let tasks = self.tally.tasks().map(|(kind, task)| MailTask {
            task: kind.to_string(),
            planned: task.planned,
            done: task.done,
            failed: task.failed,
            response: felt(&task.response),
            service: latency(&task.service),
            delayed_ack_share: delayed_ack_share(&task.service),
            at_once: task.at_once.as_ref().and_then(latency),
        });
        let tasks: Vec<MailTask> = tasks.collect();
        MailWork {
            filled: 0,
            filled_s: 0.0,
            slowest: cause::slowest(&tasks, usage),
            profile: self.work.profile.name.clone(),
            day_s: self.work.day.length.as_seconds(),
            is_stress,
            ended_by: self.ended_by().map(|until| until.id().to_owned()),
            steady_s: self.tally.length().as_seconds(),
            score_ms: Score::of(self.tally).map(|score| score.millis).filter(|_| !is_stress),
            submitted_per_min: self.tally.submitted_per_min(),
            delivered_per_min: self.tally.delivered_per_min(),
            tasks,
            session: latency(self.tally.sessions()),
            session_at_once: self.tally.sessions_at_once().and_then(latency),
            session_delayed_ack_share: delayed_ack_share(self.tally.sessions()),
            waiting_max: if is_stress { 0 } else { self.tally.waiting().1 },
            queue_growth: self.tally.queue_growth().filter(|_| !is_stress),
            schedule_error: felt(self.tally.late()),
            not_offered: self.tally.not_offered().map(|kind| kind.to_string()).collect(),
        }
    }

    /// `result` with what users did, and their rules. What failed fails a run that had passed, and
    /// times that are brunt's own make it invalid.
    pub(super) fn put_into(&self, mut result: RunResult, filled: Option<Filled>) -> RunResult {
        let usage = result.mail.as_ref().and_then(|mail| mail.usage.clone());
        if let Some(mail) = &mut result.mail {
            let mut work = self.section(usage.as_ref());
            if let Some(filled) = filled {
                work.filled = filled.messages.into();
                work.filled_s = filled.took.as_seconds();
            }
            mail.work = Some(work);
        }
        if let Some(until) = self.ended_by() {
            let seconds = result.mail.as_ref().map_or(0.0, |mail| mail.sending_s);
            let id = until.id();
            result
                .reasons
                .push(format!("users stopped after {seconds:.0} s, as {id} had failed (--until)"));
        }
        if self.was_disturbed {
            let reason = "something was done to servers, so how long users waited is shown and not judged: \
                          --no-kill judges it";
            result.reasons.push(reason.to_owned());
            return result;
        }
        let broken: Vec<&Check> =
            self.checks.0.iter().filter(|check| check.holds() == Some(false)).collect();
        let fair_test = self.fair_test(usage.as_ref());
        let unfair: Vec<&Rule> =
            fair_test.iter().filter(|rule| rule.outcome == Outcome::Failed).collect();
        let prepend = |result: &mut RunResult, said: String| {
            let kept = &mut result.storage.details.sentence;
            *kept = format!("{said} {kept}");
        };
        if result.verdict == Verdict::Pass && !unfair.is_empty() {
            result.verdict = Verdict::Invalid;
            let names: Vec<String> = unfair.iter().map(|rule| rule.against_limit()).collect();
            let names = names.join(", ");
            prepend(&mut result, format!("Times are brunt's own and not the servers': {names}."));
        } else if result.verdict == Verdict::Pass && !broken.is_empty() {
            result.verdict = Verdict::Fail;
            let names: Vec<&str> = broken.iter().map(|check| check.name).collect();
            let names = names.join(", ");
            prepend(&mut result, format!("Users were not served as planned: {names}."));
        }
        result.rules.extend(self.checks.0.iter().map(rule));
        result.rules.extend(fair_test);
        result
    }
}

fn rule(check: &Check) -> Rule {
    let name = RuleName { id: check.id, group: Group::Limits, title: check.name };
    let rule = match check.at_least {
        true => Rule::at_least(name, check.unit, check.limit, check.measured),
        false => Rule::at_most(name, check.unit, check.limit, check.measured),
    };
    rule.with_remark(check.why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_as_many_recipients_as_their_profile_says() {
        for name in Profile::names() {
            let most = most_recipients(&Profile::built_in(name).unwrap());
            assert!((1..=20).contains(&most), "{name}: {most}");
        }
        let most = |name| most_recipients(&Profile::built_in(name).unwrap());
        assert_eq!((most("mmb-1998"), most("loadgen-heavy"), most("domino-n8mail")), (20, 4, 3));
    }
}
