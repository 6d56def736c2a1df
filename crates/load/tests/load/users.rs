//! Users at work against the liar.

use std::collections::BTreeSet;

use brunt_load::TroubleKind;
use brunt_mail::{Outcome, Verdict};
use brunt_testkit::liar::{Lie, Which};
use brunt_units::Span;
use brunt_users::{Dispatch, Profile, TaskKind, Until};

use super::liar::Play;

/// A day of two minutes.
fn play(seed: u64, profile: &'static str) -> Play {
    let day = Span::seconds(120);
    Play { users: Some((profile, day, day)), ..Play::new(seed) }
}

#[test]
fn users_of_every_profile_do_what_they_planned() {
    for profile in Profile::names() {
        let mut play = play(3, profile);
        if profile == "imaptest-aggressive" {
            // A delivery each ten seconds of eight hours.
            play.users = Some((profile, Span::seconds(1_200), Span::seconds(20)));
        }
        let (finished, told) = play.start();
        let audited = &finished.audited;
        assert!(told.is_empty());
        assert_eq!(
            audited.verdict(),
            Verdict::Pass,
            "{profile}: {audited:?} {:?}",
            finished.errors
        );
        let tally = finished.tally.expect("users worked");
        for (kind, task) in tally.tasks() {
            assert_eq!(
                (task.planned, task.failed),
                (task.done, 0),
                "{profile}: {kind}: {:?}",
                finished.errors
            );
        }
        let errors = &finished.errors;
        assert!(errors.is_empty(), "{profile}: {errors:?}");
        assert!(finished.sent.accepted > 0, "{profile}");
    }
}

#[test]
fn what_users_did_is_held_against_the_mailboxes() {
    let (finished, _) = play(1, "mmb3").start();
    let counts = |outcome| finished.audited.counts.of(outcome);
    // Users have deleted, moved, flagged and answered, and all of it was found.
    assert!(counts(Outcome::Removed) > 10, "{:?}", finished.audited.counts);
    assert!(counts(Outcome::Found) > 100);
    let tally = finished.tally.expect("users worked");
    let kinds: Vec<TaskKind> = tally.tasks().map(|(kind, _)| kind).collect();
    for kind in [TaskKind::Reply, TaskKind::Delete, TaskKind::Move, TaskKind::Read] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn lies_about_changes_are_named() {
    use Outcome::{Changed, ForgottenFlag, Lost, Resurrected};
    for (lie, outcomes) in [
        // A message whose \\Deleted is forgotten stays when it is expunged.
        (Lie::ForgetFlag, [ForgottenFlag, Resurrected]),
        (Lie::Resurrect, [Resurrected; 2]),
        (Lie::DropAppend, [Lost; 2]),
        (Lie::Drop, [Lost; 2]),
        (Lie::Alter, [Changed; 2]),
    ] {
        let play = Play { lies: vec![(lie, Which::PerMillion(20_000))], ..play(2, "mmb3") };
        let (finished, told) = play.start();
        assert!(!told.is_empty(), "{lie:?} was not told");
        let audited = finished.audited;
        assert_eq!(audited.verdict(), Verdict::Fail, "{lie:?}");
        let told: BTreeSet<_> = told
            .iter()
            .map(|told| (told.number.expect("a message of brunt's"), told.account))
            .collect();
        let found: BTreeSet<_> =
            audited.findings.iter().map(|one| (one.number, one.account)).collect();
        assert!(found.is_subset(&told), "{lie:?}: {found:?} beyond {told:?}");
        // A flag may be set again, or go with its message, before anybody looks.
        if lie != Lie::ForgetFlag {
            assert_eq!(found, told, "{lie:?}");
        }
        let named = audited.findings.iter().filter(|one| outcomes.contains(&one.outcome)).count();
        assert!(named > 0, "{lie:?}: {:?}", audited.findings);
    }
}

#[test]
fn honest_servers_pass_whatever_is_killed_under_users() {
    for seed in 0..6 {
        let play = Play { kills: 3, cuts_per_million: 2_000, ..play(seed, "mmb3") };
        let (finished, _) = play.start();
        let audited = finished.audited;
        assert_eq!(
            audited.verdict(),
            Verdict::Pass,
            "seed {seed}: {:?} {:?} {:?}",
            audited.counts,
            audited.findings,
            finished.errors
        );
    }
}

#[test]
fn mail_from_elsewhere_ends_with_the_run_whatever_waits_still() {
    let (day, run) = (Span::seconds(1_200), Span::seconds(20));
    let users = Some(("imaptest-aggressive", day, run));
    let (finished, _) = Play { users, is_silent: true, ..Play::new(2) }.start();
    let sent = finished.sent;
    assert_eq!(sent.sessions, 0, "nobody was greeted");
    // Hundreds wait, and each would take a minute of patience.
    let took = sent.until.since(sent.from);
    assert!(took < run + Span::seconds(130), "{took}");
    let silent = finished.errors.get(TroubleKind::NoAnswer).expect("nobody answered");
    assert!(silent.count > 1 && silent.count < 60, "{silent:?}");
}

#[test]
fn users_under_stress_never_wait() {
    let (day, run) = (Span::seconds(60), Span::seconds(4));
    let relaxed = Play { users: Some(("mmb3", day, run)), ..Play::new(5) };
    let stressed =
        Play { users: Some(("mmb3", day, run)), dispatch: Dispatch::AtOnce, ..Play::new(5) };
    let done = |play: Play| {
        let (finished, told) = play.start();
        assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.errors);
        assert!(told.is_empty());
        let tally = finished.tally.expect("users worked");
        let kinds: Vec<TaskKind> = tally.tasks().map(|(kind, _)| kind).collect();
        // A schedule was kept only where there is one.
        if tally.late().count() == 0 {
            let has = |kind| kinds.contains(&kind);
            assert!(has(TaskKind::Reply) && has(TaskKind::Send), "{kinds:?}");
            for (kind, task) in tally.tasks() {
                let waited = task.waiting.max().unwrap_or_default();
                assert_eq!(waited, Span::ZERO, "{kind}");
            }
        }
        tally.tasks().map(|(_, task)| task.done).sum::<u64>()
    };
    let (relaxed, stressed) = (done(relaxed), done(stressed));
    assert!(stressed > 5 * relaxed, "{stressed} tasks without a break, {relaxed} with");
}

#[test]
fn a_rule_that_has_failed_for_good_ends_the_run_in_order() {
    let run = Span::seconds(600);
    let play = Play {
        // More than users can do.
        users: Some(("mmb3", Span::millis(200), run)),
        until: Some(Until::TasksWaiting),
        ..Play::new(6)
    };
    let (finished, _) = play.start();
    let took = finished.sent.until.since(finished.sent.from);
    assert!(took < Span::seconds(60), "{took}");
    let tally = finished.tally.expect("users worked");
    assert!(tally.waiting().1 > 100 && tally.length() <= took);
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.errors);
    // An honest server refuses nothing, and the run takes its time.
    let day = Span::seconds(30);
    let until = Some(Until::RefusedForGood);
    let play = Play { users: Some(("mmb3", day, day)), until, ..Play::new(6) };
    let sent = play.start().0.sent;
    assert!(sent.until.since(sent.from) >= day);
}

#[test]
fn mailboxes_are_filled_before_the_day_and_in_no_figure() {
    let day = Span::seconds(60);
    let play = Play { users: Some(("mmb3", day, day)), fill: 30, ..Play::new(8) };
    let (empty, _) = Play { fill: 0, ..Play { users: play.users, ..Play::new(8) } }.start();
    let (finished, told) = play.start();
    assert!(told.is_empty());
    let audited = &finished.audited;
    assert_eq!(audited.verdict(), Verdict::Pass, "{:?} {:?}", audited.counts, finished.errors);
    let filled = finished.filled.expect("they were filled");
    let users = filled.messages.div_euclid(30);
    assert!(users > 1 && filled.messages == 30 * users, "{filled:?}");
    assert!(filled.took > Span::ZERO);
    // Every message of them is accounted for, and users have deleted and moved some.
    let known = audited.accepted;
    assert!(known >= u64::from(filled.messages) + finished.sent.accepted, "{known}");
    // Nobody answers them: as much is sent as from mailboxes that begin empty, give or take chance.
    let (sent, without) = (finished.sent.messages, empty.sent.messages);
    assert!(sent < 2 * without, "{sent} after filling, {without} without");
    assert_eq!(empty.filled, None);
}
