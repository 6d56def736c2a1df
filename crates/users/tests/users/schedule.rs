//! When tasks are due.

use std::collections::BTreeMap;

use brunt_units::{Span, Time};
use brunt_users::{Day, Due, Profile, Schedule, TaskKind};
use proptest::prelude::*;

fn day(length: u64, run: u64, ramp: u64) -> Day {
    let [length, run, ramp] = [length, run, ramp].map(Span::seconds);
    Day { length, run, ramp }
}

fn counted(due: &[Due]) -> BTreeMap<TaskKind, u32> {
    let mut counts = BTreeMap::new();
    for one in due {
        *counts.entry(one.kind).or_default() += 1;
    }
    counts
}

#[test]
fn a_day_has_as_many_tasks_as_the_profile_says() {
    let profile = Profile::built_in("mmb-1998").unwrap();
    let users = 200;
    // Compressed to two minutes: the same tasks.
    let due: Vec<Due> = Schedule::new(&profile, users, day(120, 120, 0), 1).collect();
    let counts = counted(&due);
    for task in &profile.tasks {
        let wanted = task.per_day * f64::from(users);
        let got = f64::from(counts[&task.kind]);
        // What is not whole is rounded by chance, for each user.
        assert!((got - wanted).abs() <= 3.0 * (f64::from(users) / 4.0).sqrt(), "{task:?}: {got}");
    }
    // All parts of the day have the same share.
    let quarter = due.iter().filter(|one| one.at < Time::ZERO + Span::seconds(30)).count();
    let share = quarter as f64 / due.len() as f64;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

#[test]
fn two_kinds_of_sends_are_two_tasks() {
    let profile = Profile::built_in("domino-n8mail").unwrap();
    let due: Vec<Due> = Schedule::new(&profile, 10, day(60, 60, 0), 1).collect();
    assert_eq!(counted(&due)[&TaskKind::Send], 60);
}

#[test]
fn users_log_on_over_the_ramp_and_the_steady_part_begins_after_it() {
    let profile = Profile::built_in("mmb-1998").unwrap();
    let long = day(60, 100, 40);
    let schedule = Schedule::new(&profile, 5, long, 1);
    let logons: Vec<u64> =
        (0..5).map(|user| schedule.logon(user).0.div_euclid(1_000_000_000)).collect();
    assert_eq!(logons, [0, 10, 20, 30, 40]);
    assert_eq!(long.steady(), (Span::seconds(40), Span::seconds(75)));
    assert_eq!(day(60, 100, 0).steady(), (Span::seconds(25), Span::seconds(75)));
    let first = |user| logons[user as usize];
    assert!(schedule.clone().all(|due| due.at.0.div_euclid(1_000_000_000) >= first(due.user)));
}

proptest! {
    #[test]
    fn tasks_are_in_order_within_the_run_and_the_same_for_each_seed(
        seed in any::<u64>(), users in 0_u32..20, length in 1_u64..100, run in 1_u64..200, ramp in 0_u64..50,
    ) {
        let profile = Profile::built_in("loadgen-heavy").unwrap();
        let all = |users| Schedule::new(&profile, users, day(length, run, ramp), seed);
        let due: Vec<Due> = all(users).collect();
        prop_assert!(due.is_sorted());
        prop_assert!(due.iter().all(|one| one.at <= Time::ZERO + Span::seconds(run) && one.user < users));
        prop_assert_eq!(&due, &all(users).collect::<Vec<_>>());
        // Without a ramp the tasks of a user do not depend on how many others there are.
        if ramp == 0 {
            let fewer = users.div_euclid(2);
            let of_some: Vec<Due> = due.into_iter().filter(|one| one.user < fewer).collect();
            prop_assert_eq!(of_some, all(fewer).collect::<Vec<_>>());
        }
    }
}
