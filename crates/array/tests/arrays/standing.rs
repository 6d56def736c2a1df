//! The state of groups while drives fail and return, and the progress of repairs.

use brunt_array::{Array, ArrayDesign, Incident, Level, Standing};
use brunt_units::Span;
use brunt_world::random::Streams;

use super::hosts::{second, small};
use super::pools::pool;

/// Runs incidents on an idle array and samples its standing, and the progress of its repairs in
/// percent.
fn watch(
    design: &ArrayDesign,
    incidents: &[(u64, Incident)],
    looks: &[u64],
) -> Vec<(Standing, Vec<u64>)> {
    let mut array = Array::new(design, Streams::new(5)).unwrap();
    for (at, incident) in incidents {
        array.schedule_incident(second(*at), incident.clone()).unwrap();
    }
    let look = |at: &u64| {
        array.advance(second(*at));
        let done = array.unfinished().into_iter().map(|one| {
            assert!((0.0..=1.0).contains(&one.done), "{one}");
            assert_eq!(one.left.is_some(), one.done > 0.0, "{one}");
            Span::from_seconds(one.done).0.div_euclid(10_000_000)
        });
        (array.standing(), done.collect())
    };
    looks.iter().map(look).collect()
}

#[test]
fn a_group_is_rebuilt_whole_and_copied_back() {
    for level in [Level::Raid10, Level::Raid5, Level::Raid6] {
        let incidents = [(2, Incident::DriveFails(1)), (60, Incident::DriveReturns(1))];
        let seen = watch(&small(6, 1, level), &incidents, &[1, 3, 4, 59, 61, 62, 120]);
        let standings: Vec<Standing> = seen.iter().map(|(standing, _)| *standing).collect();
        let expected = [
            Standing::Whole,
            Standing::Rebuilding,
            Standing::Rebuilding,
            Standing::Whole,
            Standing::CopyingBack,
            Standing::CopyingBack,
            Standing::Whole,
        ];
        assert_eq!(standings, expected, "{level:?}");
        let far = |at: usize| seen[at].1.clone();
        assert_eq!([far(0), far(3), far(6)], [vec![], vec![], vec![]], "{level:?}");
        // There is no other load, so progress is linear: after two seconds twice as far as after
        // one.
        for (one, two) in [(1, 2), (4, 5)] {
            let (one, two) = (far(one)[0], far(two)[0]);
            assert!(one > 3 && two.abs_diff(one * 2) <= 2, "{level:?}: {seen:?}");
        }
    }
}

#[test]
fn without_a_spare_a_group_is_degraded_until_data_is_lost() {
    let incidents = [(2, Incident::DriveFails(1)), (4, Incident::DriveFails(2))];
    let seen = watch(&small(5, 0, Level::Raid5), &incidents, &[1, 3, 5]);
    let expected = [Standing::Whole, Standing::Degraded, Standing::Lost];
    for ((standing, repairs), expected) in seen.into_iter().zip(expected) {
        assert_eq!((standing, repairs), (expected, vec![]));
    }
}

#[test]
fn a_pool_says_how_far_it_is_with_all_its_pieces() {
    let incidents = [(2, Incident::DriveFails(3)), (60, Incident::DriveReturns(3))];
    let seen = watch(&pool(12), &incidents, &[1, 3, 59, 61, 200]);
    let standings: Vec<Standing> = seen.iter().map(|(standing, _)| *standing).collect();
    let expected = [
        Standing::Whole,
        Standing::Rebuilding,
        Standing::Whole,
        Standing::CopyingBack,
        Standing::Whole,
    ];
    assert_eq!(standings, expected);
    for at in [1, 3] {
        let far = &seen[at].1;
        assert!(far.len() == 1 && (1..100).contains(&far[0]), "{seen:?}");
    }
}
