//! The crash search on fixed seeds, crashes that once lost data, and canaries: deliberate mistakes
//! that it must find.

use brunt_ese::log::Durability;
use brunt_testkit::crash::{Configuration, Mistake, Proof, Proven, Search, Work};

fn prove(seed: u64, steps: u64) -> Proven {
    Proof::new(seed, steps).run(|_| true).unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn nothing_is_lost_and_a_seed_is_repeated_to_the_byte() {
    let (one, other) = (prove(1, 600), prove(1, 600));
    assert_eq!(one.digest, other.digest);
    assert_eq!(one.requests, other.requests);
    assert_eq!(one.copies, other.copies);
    let other = prove(2, 300);
    assert_ne!(one.digest, other.digest);
    assert_ne!(one.requests, other.requests);
    let coverage = one.coverage;
    assert_eq!(coverage.steps, 600);
    assert!(coverage.images() > 300, "{coverage:?}");
    assert!(coverage.states() > 50, "{coverage:?}");
    assert!(coverage.paths() > 10, "{coverage:?}");
    assert!(coverage.torn_pages > 0, "{coverage:?}");
    assert!(coverage.undone > 0, "{coverage:?}");
    assert!(coverage.second_crashes > 50, "{coverage:?}");
    assert!(coverage.spoiled > 0, "{coverage:?}");
    assert!(coverage.later > 0, "{coverage:?}");
    assert!(coverage.copies > 20, "{coverage:?}");
}

/// Volumes without room for one more page: transactions are refused and can be rolled back, also by
/// recovery.
#[test]
fn nothing_is_lost_on_full_volumes() {
    for (seed, work) in [(1, Work::Records), (2, Work::Messages)] {
        let search = Search {
            configuration: Configuration {
                spare_pages: Some(20),
                growth_pages: 4,
                ..Configuration::new(seed, work)
            },
            every: 37,
            first_sample: seed,
            samples: 2,
            deep_every: 1,
        };
        let coverage = search.run().unwrap_or_else(|what| panic!("{work:?}: {what}"));
        assert!(coverage.undone > 0, "{coverage:?}");
    }
}

/// Pages that rot while the power is off: nearly all are distinguished from torn ones. `Proof`
/// fails where a copy does not help.
#[test]
fn rot_is_told_from_tearing() {
    let proof = Proof { rot_percent: 100, ..Proof::new(3, 1500) };
    let proven = proof.run(|_| true);
    let coverage = proven.unwrap_or_else(|found| panic!("{found}")).coverage;
    assert!(coverage.spoiled > 200, "{coverage:?}");
    assert!(coverage.refused > 80, "{coverage:?}");
    assert!(coverage.missed * 200 < coverage.spoiled, "{coverage:?}");
}

#[test]
fn all_kinds_of_work_survive_every_crash() {
    for (work, every) in [(Work::Pages, 29), (Work::Records, 19), (Work::Messages, 31)] {
        for seed in 1..3 {
            let search = Search {
                configuration: Configuration::new(seed, work),
                every,
                first_sample: seed,
                samples: 4,
                deep_every: 1,
            };
            search.run().unwrap_or_else(|what| panic!("{work:?} of seed {seed}: {what}"));
        }
    }
}

/// A process that is killed while its machine keeps running has written data that can be read back
/// but is not durable. The next process took pages and the end of the log as durable; then the
/// power failed, and they were lost.
#[test]
fn what_a_killed_process_left_is_made_durable_before_it_is_trusted() {
    let search = Search {
        configuration: Configuration {
            segment: 4096,
            durability: Durability::WriteThenSync,
            killed: true,
            ..Configuration::new(3, Work::Pages)
        },
        every: 2,
        first_sample: 3,
        samples: 1,
        deep_every: 1,
    };
    search.run().unwrap();
}

/// The violation that a search of some hundred steps reports when the engine makes `mistake`.
fn caught(mistake: Mistake) -> String {
    let proof = Proof { mistake: Some(mistake), ..Proof::new(5, 2000) };
    let violation = proof.run(|_| true).expect_err("the mistake must be found");
    let text = violation.to_string();
    let command = format!("brunt prove --seed 5 --first {} --steps 1", violation.step);
    assert!(text.ends_with(&command), "{text}");
    // That step alone finds it again.
    let again = Proof { first: violation.step, steps: 1, ..proof };
    let again = again.run(|_| true).expect_err("it is repeated");
    assert_eq!(again.what, violation.what);
    violation.what
}

#[test]
fn canary_an_acknowledgement_before_the_flush_is_found() {
    let what = caught(Mistake::AcknowledgeEarly);
    assert!(what.starts_with("lost a durable commit"), "{what}");
}

#[test]
fn canary_one_log_write_that_is_skipped_is_found() {
    caught(Mistake::SkipLogWrite(7));
}

#[test]
fn canary_a_checkpoint_over_pages_that_are_not_synced_is_found() {
    caught(Mistake::SkipDatabaseSyncs);
}

#[test]
fn canary_a_log_that_is_not_synced_is_found() {
    caught(Mistake::SkipLogSyncs);
}

#[test]
fn canary_a_copys_checkpoint_over_pages_that_are_not_synced_is_found() {
    let what = caught(Mistake::SkipCopySyncs);
    assert!(what.starts_with("a passive copy: "), "{what}");
}
