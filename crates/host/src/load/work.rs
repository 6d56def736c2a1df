//! Users at work: what their messages are, what they did, and whether that is enough.

use brunt_mail::{MailingOptions, Routing, SizeClass};
use brunt_report::RunResult;
use brunt_report::result::{Group, MailTask, MailWork, Rule, RuleName, Verdict};
use brunt_users::{Check, Checks, Profile, Score, Tally, delayed_ack_share};

use super::Work;
use super::outcome::latency;

/// The shortest message that has all of its headers, and some text.
const TEXT_MIN: u64 = 512;

/// Recipients that one message can have.
pub(super) fn most_recipients(profile: &Profile) -> u32 {
    let of_lists = profile.recipients.list.map_or(0, |list| list.members_max);
    let of_tasks = profile.tasks.iter().filter_map(|task| task.recipients).max();
    of_lists.max(whole(profile.recipients.mean.ceil())).max(of_tasks.unwrap_or(0))
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
    /// Whether servers were killed: then times are shown and not judged.
    has_killed: bool,
}

impl<'a> Checked<'a> {
    pub(super) fn new(work: &'a Work, tally: &'a Tally, users: u32, has_killed: bool) -> Self {
        let checks = Checks::of(&work.profile, users, work.day.length, tally);
        Self { work, tally, checks, has_killed }
    }

    /// The part `work` of the section `mail`.
    fn section(&self) -> MailWork {
        let tasks = self.tally.tasks().map(|(kind, task)| MailTask {
            task: kind.to_string(),
            planned: task.planned,
            done: task.done,
            failed: task.failed,
            response: latency(&task.response),
            service: latency(&task.service),
            delayed_ack_share: delayed_ack_share(&task.service),
        });
        MailWork {
            profile: self.work.profile.name.clone(),
            day_s: self.work.day.length.as_seconds(),
            steady_s: self.tally.length().as_seconds(),
            score_ms: Score::of(self.tally).map(|score| score.millis),
            submitted_per_min: self.tally.submitted_per_min(),
            delivered_per_min: self.tally.delivered_per_min(),
            tasks: tasks.collect(),
            session: latency(self.tally.sessions()),
            session_delayed_ack_share: delayed_ack_share(self.tally.sessions()),
            waiting_max: self.tally.waiting().1,
            queue_growth: self.tally.queue_growth(),
            not_offered: self.tally.not_offered().map(|kind| kind.to_string()).collect(),
        }
    }

    /// `result` with what users did, and their rules. What failed fails a run that had passed.
    pub(super) fn put_into(&self, mut result: RunResult) -> RunResult {
        if let Some(mail) = &mut result.mail {
            mail.work = Some(self.section());
        }
        if self.has_killed {
            let reason = "servers were killed, so how long users waited is shown and not judged: \
                          --no-kill judges it";
            result.reasons.push(reason.to_owned());
            return result;
        }
        let broken: Vec<&Check> =
            self.checks.0.iter().filter(|check| check.holds() == Some(false)).collect();
        if result.verdict == Verdict::Pass && !broken.is_empty() {
            result.verdict = Verdict::Fail;
            let names: Vec<&str> = broken.iter().map(|check| check.name).collect();
            let kept = &mut result.storage.details.sentence;
            *kept = format!("Users were not served as planned: {}. {kept}", names.join(", "));
        }
        result.rules.extend(self.checks.0.iter().map(rule));
        result
    }
}

fn rule(check: &Check) -> Rule {
    let id = match check.name {
        "submitted a minute" => "users-submitted",
        "delivered a minute" => "users-delivered",
        "tasks done" => "users-tasks-done",
        "score" => "users-score",
        "tasks waiting" => "users-tasks-waiting",
        _ => "users-queue-growth",
    };
    let name = RuleName { id, group: Group::Limits, title: check.name };
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
