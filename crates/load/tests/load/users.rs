//! Users at work against the liar.

use std::collections::BTreeSet;

use brunt_load::TroubleKind;
use brunt_mail::{Outcome, Verdict};
use brunt_testkit::liar::{Lie, Which};
use brunt_units::Span;
use brunt_users::{Profile, TaskKind};

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
