//! A server that stands still for 3 s of 10: what an open schedule shows of it, and a closed loop
//! hides.

use std::collections::VecDeque;

use brunt_stats::Percentile;
use brunt_units::{Span, Time};
use brunt_users::{Score, Tally, TaskKind, delayed_ack_share};

/// What a task takes.
const SERVICE: Span = Span::millis(1);
const P95: Percentile = Percentile::per_mille(950);

/// When a task that begins at `begun` is done by a server that is frozen from 4 to 7 s.
fn done(begun: Time) -> Time {
    let (freezes, thaws) = (Time::ZERO + Span::seconds(4), Time::ZERO + Span::seconds(7));
    match (freezes..thaws).contains(&begun) || (begun < freezes && begun + SERVICE > freezes) {
        true => thaws + SERVICE,
        false => begun + SERVICE,
    }
}

/// Tasks of `users` users, each every `gap`, for 10 s.
fn run(users: u64, gap: Span) -> Tally {
    let end = Time::ZERO + Span::seconds(10);
    let mut tally = Tally::new(Time::ZERO, end);
    let mut due: Vec<(Time, u64)> = Vec::new();
    for user in 0..users {
        let mut at = Time::ZERO + Span((gap.0 * user).div_euclid(users));
        while at < end {
            due.push((at, user));
            at += gap;
        }
    }
    due.sort_unstable();
    let mut free = vec![Time::ZERO; usize::try_from(users).unwrap()];
    let mut open: VecDeque<(Time, Time)> = VecDeque::new();
    let mut sampled = Time::ZERO;
    for (at, user) in due {
        while sampled < at {
            tally.sample(sampled);
            sampled += Span::millis(100);
        }
        tally.due(TaskKind::Read, at);
        let free = &mut free[usize::try_from(user).unwrap()];
        let begun = at.max(*free);
        *free = done(begun);
        open.push_back((at, begun));
        // A task that has begun by now waits no more.
        while let Some((intended, begun)) = open.front().copied()
            && begun <= at
        {
            open.pop_front();
            tally.begun(TaskKind::Read, intended, begun);
        }
        tally.ended(TaskKind::Read, at, begun, *free, true);
    }
    tally
}

#[test]
fn an_open_schedule_shows_what_users_felt() {
    let tally = run(50, Span::millis(500));
    let (_, task) = tally.tasks().next().unwrap();
    let p95 = task.p95().unwrap();
    // 30 % of the tasks wait for up to 3 s: the 95th of a hundred for 2.5 s.
    assert!((p95.as_seconds() - 2.5).abs() < 0.2, "{p95}");
    assert_eq!(task.planned, task.done);
    // A closed loop would have begun one task for each user, and felt the others not at all.
    let (service, waiting) = (task.service.percentile(P95), task.waiting.percentile(P95));
    assert!(service.unwrap() < Span::seconds(3) && waiting.unwrap() > Span::seconds(1));
    assert!(tally.waiting().1 > 100, "{:?}", tally.waiting());
    let score = Score::of(&tally).unwrap();
    assert!((score.millis - p95.as_millis()).abs() < 1.0);
}

#[test]
fn a_queue_that_grows_is_seen() {
    let (from, to) = (Time::ZERO, Time::ZERO + Span::seconds(100));
    let mut tally = Tally::new(from, to);
    for second in 0..100 {
        let at = from + Span::seconds(second);
        tally.due(TaskKind::Send, at);
        tally.sample(at);
    }
    let growth = tally.queue_growth().unwrap();
    assert!((growth - 75.0).abs() < 1.0, "{growth}");
    assert_eq!(Tally::new(from, to).queue_growth(), None);
}

#[test]
fn the_timer_of_delayed_acknowledgements_is_named() {
    let end = Time::ZERO + Span::seconds(10);
    let mut tally = Tally::new(Time::ZERO, end);
    for number in 0..100_u64 {
        let at = Time::ZERO + Span::millis(number);
        tally.due(TaskKind::Read, at);
        tally.begun(TaskKind::Read, at, at);
        let took = if number < 30 { Span::millis(44) } else { Span::micros(300) };
        tally.ended(TaskKind::Read, at, at, at + took, true);
    }
    let (_, task) = tally.tasks().next().unwrap();
    assert!((delayed_ack_share(&task.service).unwrap() - 0.3).abs() < 1e-9);
}
