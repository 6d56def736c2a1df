//! The samples of a run, from its journal and from its tables.

use std::fs;
use std::path::Path;

use brunt_report::{Counters, each_sample, open_in};
use brunt_run::{FORMAT, Head, Histogram, Record, Row, Sample, Value, Writer};
use brunt_stats::{Latencies, LatencyLog, Reading};
use brunt_units::{Span, Time};
use tempfile::TempDir;

const RUN: &str = "run 7";

/// Samples of ten seconds, of which the second has no I/O.
fn recorded() -> Vec<Sample> {
    let sample = |number: u64| {
        let (begin, length) = (Time::ZERO + Span::seconds(40 + 10 * number), Span::seconds(10));
        let mut latencies = Latencies::new();
        let count = if number == 1 { 0 } else { 200 + number };
        (0..count).for_each(|at| latencies.record(Span::micros(at * at + number)));
        let reading = Reading::of(&latencies, 4096 * count);
        let histogram = |stream: &str| Histogram {
            stream: stream.to_owned(),
            begin,
            length,
            latencies: latencies.clone(),
        };
        let mut histograms = vec![histogram("DB1.read"), histogram("database-read")];
        histograms.retain(|_| count > 0);
        let rows = vec![
            Row::io("DB1.read", reading),
            Row::io("database-read", reading),
            Row::new("page_fault_stalls", Value::Count(number)),
            Row::new("cache", Value::Bytes(7 << 20)),
            Row::new("host: cpu", Value::Other(0.5)),
        ];
        Sample { begin, length, rows, histograms, is_whole: true }
    };
    (0..4).map(sample).collect()
}

fn write_tables(folder: &Path, samples: &[Sample]) {
    let (mut counters, mut log) = (Counters::new(), LatencyLog::new(0));
    for sample in samples {
        counters.add_sample(sample);
        for one in &sample.histograms {
            log.add(&one.stream, one.begin, one.length, &one.latencies);
        }
    }
    let text = format!("{}{}", Counters::HEAD, counters.take());
    fs::write(folder.join("counters.csv"), text).unwrap();
    fs::write(folder.join("latency.hlog"), log.take()).unwrap();
}

fn write_journal(folder: &Path, samples: &[Sample]) {
    let mut writer = Writer::new(RUN);
    let head = Head { run_id: RUN.to_owned(), ..Head::default() };
    let records = [Record::Head(Box::new(head))].into_iter();
    let records = records.chain(samples.iter().cloned().map(Record::Sample));
    let bytes = records.flat_map(|record| writer.bytes(Time::ZERO, &record));
    let bytes: Vec<u8> = FORMAT.bytes().chain(bytes).collect();
    fs::write(folder.join("journal"), bytes).unwrap();
}

/// What is known of the whole server: rows, and histograms by their buckets.
type OfServer = (Time, Vec<Row>, Vec<(Span, u64)>);

fn of_server(sample: &Sample) -> OfServer {
    let rows = sample.rows.iter().filter(|row| brunt_run::is_of_server(&row.stream));
    let histograms = sample.histograms.iter();
    let own = histograms.filter(|one| brunt_run::is_of_server(&one.stream));
    let buckets = own.flat_map(|one| one.latencies.buckets());
    (sample.begin, rows.cloned().collect(), buckets.collect())
}

fn read(folder: &Path) -> Vec<OfServer> {
    let mut samples = Vec::new();
    each_sample(folder, |name| open_in(folder, name), |sample| samples.push(of_server(sample)))
        .unwrap();
    samples
}

#[test]
fn tables_say_what_the_journal_says() {
    let wanted: Vec<_> = recorded().iter().map(of_server).collect();
    let (journal, tables) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_journal(journal.path(), &recorded());
    assert_eq!(read(journal.path()), wanted);
    write_tables(tables.path(), &recorded());
    assert_eq!(read(tables.path()), wanted);
    // Where there is a journal, nobody looks at tables.
    fs::write(journal.path().join("counters.csv"), "rubbish").unwrap();
    assert_eq!(read(journal.path()), wanted);
    assert!(read(TempDir::new().unwrap().path()).is_empty());
}

#[test]
fn a_histogram_of_other_samples_is_none() {
    let folder = TempDir::new().unwrap();
    let mut samples = recorded();
    write_tables(folder.path(), &samples);
    // The first line of the log is of all samples, as in a paper; that of the last is gone.
    let mut log = LatencyLog::new(0);
    let mut all = samples[0].histograms[1].latencies.clone();
    all.merge(&samples[2].histograms[1].latencies);
    log.add("database-read", Time::ZERO, Span::seconds(50), &all);
    let third = &samples[2].histograms[1];
    log.add(&third.stream, third.begin, third.length, &third.latencies);
    fs::write(folder.path().join("latency.hlog"), log.take()).unwrap();
    for at in [0, 3] {
        samples[at].histograms.clear();
    }
    assert_eq!(read(folder.path()), samples.iter().map(of_server).collect::<Vec<_>>());
}
