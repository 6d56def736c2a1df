//! What an interrupted run has recorded, wherever its tables were cut.

use std::fs;
use std::path::Path;

use brunt_report::result::{RunResult, Verdict};
use brunt_report::{Counters, Earlier, EarlierError};
use brunt_stats::{Latencies, LatencyLog, Reading};
use brunt_units::{Span, Time};
use tempfile::TempDir;

const RESULT: &str = include_str!("result_v2.json");
const SAMPLES: u64 = 6;

fn outline(verdict: Verdict) -> String {
    let mut result = RunResult::from_json(RESULT).unwrap();
    result.verdict = verdict;
    result.times.ended = None;
    result.to_json()
}

/// The tables of a run: whole server in every sample, the histogram of a file in every second one.
fn tables() -> (Vec<u8>, Vec<u8>) {
    let (mut counters, mut log) = (Counters::new(), LatencyLog::new(1_795_284_903));
    let mut held = Latencies::new();
    for at in 0..SAMPLES {
        let begin = Time::ZERO + Span::seconds(40 + at * 10);
        let length = Span::seconds(10);
        let mut latencies = Latencies::new();
        (0..=at).for_each(|_| latencies.record(Span::micros(1_000 + at)));
        held.merge(&latencies);
        let latency = latencies.mean();
        let reading = Reading {
            count: at + 1,
            bytes: (at + 1) * 4096,
            mean: latency,
            p50: latency,
            p99: latency,
            p999: latency,
            max: latency,
        };
        counters.add(begin, length, "DB1.read", &reading);
        counters.add(begin, length, "database-read", &reading);
        counters.add_count(begin, length, "page_fault_stalls", 1);
        log.add("database-read", begin, length, &latencies);
        if at % 2 == 1 {
            let since = Time::ZERO + Span::seconds(30 + at * 10);
            log.add("DB1.read", since, Span::seconds(20), &held);
            held.clear();
        }
    }
    let counters = format!("{}{}", Counters::HEAD, counters.take());
    (counters.into_bytes(), log.take())
}

fn read(folder: &Path, counters: &[u8], log: &[u8]) -> Result<Earlier, EarlierError> {
    fs::write(folder.join("result.json"), outline(Verdict::Interrupted)).unwrap();
    fs::write(folder.join("counters.csv"), counters).unwrap();
    fs::write(folder.join("latency.hlog"), log).unwrap();
    Earlier::read(folder)
}

#[test]
fn wherever_the_tables_are_cut_what_is_carried_on_is_whole() {
    let folder = TempDir::new().unwrap();
    let (counters, log) = tables();
    let mut lengths = Vec::new();
    for (counted, logged) in (0..=20).flat_map(|a| (0..=20).map(move |b| (a, b))) {
        let counters = &counters[..(counters.len() * counted).div_euclid(20)];
        let log = &log[..(log.len() * logged).div_euclid(20)];
        let earlier = match read(folder.path(), counters, log) {
            Ok(earlier) => earlier,
            Err(EarlierError::NotBegun(_)) => continue,
            Err(other) => panic!("{other}"),
        };
        let samples = earlier.samples.len() as u64;
        assert_eq!(samples % 2, 0, "a histogram was split");
        assert_eq!(earlier.begin_s, 40.0);
        assert_eq!(earlier.length_s, 10.0 * samples as f64);
        let wanted: u64 = (1..=samples).sum();
        for name in ["DB1.read", "database-read"] {
            let stream = &earlier.streams[name];
            assert_eq!(stream.total.count, wanted);
            assert_eq!(stream.latencies.count(), wanted, "{name}");
            assert_eq!(stream.means.len() as u64, samples);
            assert_eq!(stream.means[0].0, 0.0);
            let longest = Span::micros(1_000 + samples - 1);
            assert_eq!(stream.latencies.max(), Some(longest), "exact");
        }
        assert_eq!(earlier.streams["page_fault_stalls"].total.count, samples);
        // The run that carries it on can be carried on itself.
        let again = read(folder.path(), &earlier.counters, &earlier.latency_log);
        assert!(again.is_ok_and(|again| again.length_s <= earlier.length_s) || samples == 2);
        lengths.push(samples);
    }
    assert_eq!(lengths.iter().max(), Some(&4), "the last one may be torn");
}

#[test]
fn only_an_interrupted_run_is_carried_on() {
    let folder = TempDir::new().unwrap();
    let (counters, log) = tables();
    read(folder.path(), &counters, &log).unwrap();
    fs::write(folder.path().join("result.json"), RESULT).unwrap();
    let said = Earlier::read(folder.path()).unwrap_err().to_string();
    let said = said.replace(folder.path().to_str().unwrap(), "RUN");
    assert!(said.starts_with("RUN: was not interrupted, its verdict is "), "{said}");
    assert!(said.ends_with("\n  to run it again: brunt run RUN/scenario.toml"));
    fs::remove_file(folder.path().join("result.json")).unwrap();
    assert!(matches!(Earlier::read(folder.path()), Err(EarlierError::Read(_))));
}
