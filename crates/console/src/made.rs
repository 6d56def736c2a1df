//! Run folders for tests: a journal that grows, of a test with two databases.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_report::result::RunResult;
use brunt_report::{JOURNAL, NewsLine, Timestamp};
use brunt_run::{
    Ended, Event, FORMAT, Head, Histogram, Live, News, Record, Row, Sample, Standing, Value, Writer,
};
use brunt_scenario::DEMO;
use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};

pub(crate) const RUN_ID: &str = "0123456789abcdef";

/// The result of the demo before it began.
pub(crate) fn outline() -> RunResult {
    let kept = include_str!("../../report/tests/report/result_v2.json");
    let mut outline = RunResult::from_json(kept).unwrap();
    outline.times.ended = None;
    outline.origin.run_id = RUN_ID.to_owned();
    outline
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::seconds(seconds)
}

fn news(second: u64, news: News) -> Record {
    Record::News(NewsLine { at: Timestamp { unix_seconds: second }, news }.to_json())
}

/// Ten seconds of reads and log writes; those of `number` take that many milliseconds.
pub(crate) fn sample(number: u64) -> Sample {
    let (begin, length) = (at(30 + 10 * number), Span::seconds(10));
    let mut latencies = Latencies::new();
    (0..100).for_each(|_| latencies.record(Span::millis(1 + number)));
    let reading = Reading::of(&latencies, 100 * 32_768);
    let streams = ["DB1.read", "DB2.read", "Instance-1.log-write", "database-read", "log-write"];
    let histogram = |stream: &str| Histogram {
        stream: stream.to_owned(),
        begin,
        length,
        latencies: latencies.clone(),
    };
    let rows = streams.iter().map(|stream| Row::io(stream, reading));
    let rows = rows.chain([Row::new("page_fault_stalls", Value::Count(0))]);
    let histograms = streams.iter().map(|stream| histogram(stream));
    Sample { begin, length, rows: rows.collect(), histograms: histograms.collect(), is_whole: true }
}

/// The records of a run with as many `samples`, each as bytes.
pub(crate) fn records(samples: u64) -> Vec<Vec<u8>> {
    let head = Head {
        run_id: RUN_ID.to_owned(),
        began_unix_s: 1_700_000_000,
        scenario: DEMO.to_owned(),
        outline: outline().to_json(),
    };
    let duration = Span::seconds(10 * samples);
    let live = |elapsed| News::Testing(Live { elapsed, duration, ..Live::default() });
    let event = |unix_s, text: &str| Record::Event(Event { unix_s, text: text.to_owned() });
    let mut all = vec![
        Record::Head(Box::new(head)),
        event(1_700_000_000, "Preparing for testing"),
        news(29, News::Settling { share: 0.5, what: "the <cache>".to_owned(), at_most: None }),
        news(30, News::CollectionStarted),
    ];
    for number in 0..samples {
        all.push(Record::Standing(Box::new(Standing { sessions: 4, ..Standing::default() })));
        all.push(Record::Sample(sample(number)));
        all.push(news(40 + 10 * number, live(Span::seconds(10 * (number + 1)))));
    }
    all.push(Record::Ended(Ended { verdict: "pass".to_owned() }));
    let mut writer = Writer::new(RUN_ID);
    all.iter().map(|record| writer.bytes(Time::ZERO, record)).collect()
}

/// The bytes of a journal with these `records`.
pub(crate) fn journal(records: &[Vec<u8>]) -> Vec<u8> {
    [FORMAT.as_bytes(), &records.concat()].concat()
}

/// A run called `name` in `runs` with the first bytes of its journal.
pub(crate) fn folder(runs: &Path, name: &str, journal: &[u8]) -> PathBuf {
    let folder = runs.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("result.json"), outline().to_json()).unwrap();
    fs::write(folder.join(JOURNAL), journal).unwrap();
    folder
}
