//! Seeds for mutation: files written by an engine, scenarios, a result.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use brunt_copies::Refusal;
use brunt_copies::wire::{Held, Hello, Message, Welcome};
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_ese::instance::transaction::Commit;
use brunt_run::{
    Ended, Entry, Errors, FORMAT, Histogram, Record, Row, Sample, Standing, Value, Writer,
};
use brunt_scenario::{DEMO, TEMPLATE};
use brunt_stats::{Latencies, Reading};
use brunt_testkit::tiny::{RUN, SIZE, TABLE, open, options, tree_files};
use brunt_units::{Span, Time};
use brunt_world::Frames;
use brunt_world::random::Streams;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

/// Frames of the engine that creates and opens these files.
pub(crate) const FRAMES: u32 = 32;
/// Their log segment size in bytes.
pub const SEGMENT: usize = 512;
/// Their page size.
pub const PAGE: brunt_units::PageSize = SIZE;

/// The files left by an engine that was killed in the middle of its work: a database, its flush
/// map, logs, a checkpoint.
pub fn files() -> Store {
    thread_local! {
        static FILES: OnceCell<Store> = const { OnceCell::new() };
    }
    FILES.with(|files| files.get_or_init(make).fork())
}

/// A world over `store`. All worlds share their memory: it is allocated from the system only once.
pub(crate) fn world(store: Store) -> VirtualWorld {
    thread_local! {
        static MEMORY: Frames = Frames::in_memory();
    }
    VirtualWorld::new(VirtualOptions {
        store,
        frames: MEMORY.with(Frames::clone),
        ..VirtualOptions::default()
    })
}

/// A key of the table, which has a hundred.
pub(crate) fn key(number: u64) -> Vec<u8> {
    let mut key = vec![0x7F; 24];
    key.extend(number.to_be_bytes());
    key
}

fn make() -> Store {
    let mut made = world(tree_files());
    let world = made.world.clone();
    made.executor.block_on(async move {
        let mut draw = Streams::new(1).named("seeds");
        // Closed once, so that there is a clean state; then killed.
        for life in 0..2 {
            let opened = open(&world, FRAMES, options(1, SEGMENT)).await;
            let (instance, _) = opened.expect("our own files");
            for number in life * 50..life * 50 + 50 {
                let transaction = instance.begin();
                let data = vec![7; 200 + usize::try_from(draw.below(900)).expect("small")];
                let inserted = transaction.insert(0, TABLE, &key(number), &data).await;
                inserted.expect("a key of its own");
                let committed = transaction.commit(Commit::Hard).await;
                committed.expect("a disk that keeps its word");
            }
            if life == 0 {
                instance.close().await.expect("a disk that keeps its word");
            }
        }
    });
    made.machine.store()
}

/// Every file of [`files`], with its path.
pub fn engine_files() -> Vec<(PathBuf, Vec<u8>)> {
    let store = files();
    let names: Vec<_> = store.names().map(|(path, inode)| (path.to_owned(), inode)).collect();
    names
        .into_iter()
        .map(|(path, inode)| {
            let length = store.length(inode).expect("it has a name");
            let mut bytes = vec![0; usize::try_from(length).expect("files are small")];
            store.read(inode, 0, &mut bytes);
            (path, bytes)
        })
        .collect()
}

/// The files whose names end with `end`.
pub fn ending(end: &str) -> Vec<Vec<u8>> {
    let files = engine_files().into_iter();
    let is_one = |path: &Path| path.to_string_lossy().ends_with(end);
    files.filter(|(path, _)| is_one(path)).map(|(_, bytes)| bytes).collect()
}

/// Scenarios for tests and for arrays.
pub fn scenarios() -> Vec<Vec<u8>> {
    let texts = [
        DEMO,
        TEMPLATE,
        include_str!("../../../examples/lying-disk.toml"),
        include_str!("../../../examples/arrays/raid5-rebuilding.toml"),
        include_str!("../../../examples/arrays/pool-degraded.toml"),
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

pub fn results() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../report/tests/report/result_v2.json").to_vec()]
}

/// A journal of two samples, and its records before they are deflated.
pub fn journals() -> Vec<Vec<u8>> {
    let mut latencies = Latencies::new();
    (1..50).for_each(|at| latencies.record(Span::micros(at * at)));
    let length = Span::seconds(1);
    let sample = |at: u64| {
        let (begin, stream) = (Time::ZERO + Span::seconds(at), "database-read".to_owned());
        let rows = vec![
            Row::io(&stream, Reading::of(&latencies, 4096)),
            Row::new("host: cpu", Value::Other(0.5)),
        ];
        let histograms = vec![Histogram { stream, begin, length, latencies: latencies.clone() }];
        Sample { begin, length, rows, histograms, is_whole: at > 0 }
    };
    let standing =
        Standing { errors: Errors { count: 1, first: "a page".to_owned() }, ..Standing::default() };
    let records = [
        Record::Head(Box::default()),
        Record::Standing(Box::new(standing)),
        Record::Sample(sample(0)),
        Record::Sample(sample(1)),
        Record::Ended(Ended { verdict: "pass".to_owned() }),
    ];
    let mut writer = Writer::new("7");
    let mut journal = FORMAT.as_bytes().to_vec();
    let mut plain = Vec::new();
    for (seq, record) in (0..).zip(records) {
        journal.extend(writer.bytes(Time::ZERO, &record));
        plain.push(Entry { run: 7, part: 0, seq, at: Time::ZERO, record }.to_plain());
    }
    plain.push(journal);
    plain
}

/// A line of each shape.
pub(crate) fn lines_of_sites() -> Vec<Vec<u8>> {
    let lines = [
        "{\"begin\":{\"scenario\":\"\",\"folder\":\"/a\",\"log_segment\":512}}",
        "{\"mirror\":{\"to\":\"127.0.0.1:9\",\"token\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],\"epoch\":1}}",
        "{\"look\":{\"keys\":[[0,0,7],[1,0,18446744073709551615]]}}",
        "{\"take\":{\"folder\":\"/a\",\"replace\":false,\"drill\":{\"protocol\":1,\"version\":\"0.1.0\"}}}",
        "{\"taken\":{\"log_segment\":512,\"protocol\":1,\"version\":\"0.1.0\",\"commit\":\"1b7112e\"}}",
        "\"work\"",
        "{\"found\":{\"versions\":[[[0,0,7],3],[[0,0,8],null]]}}",
        "{\"opened\":{\"replay_s\":0.25,\"logs\":3}}",
        "{\"fenced\":{\"epoch\":2}}",
        "? 0 0 replace 1234 7 hard",
        "! 3 1 delete 12 7 lazy",
    ];
    lines.iter().map(|line| line.as_bytes().to_vec()).collect()
}

/// Messages between an active and a passive copy.
pub(crate) fn shipped() -> Vec<Vec<u8>> {
    let stream = Signature::ours(1, Stamp::from_unix_millis(2), RUN);
    let last = Held { generation: 7, sum: 9 };
    let hello =
        Hello { stream: Some(stream), last: Some(last), next: 8, replayed: 6, is_lagged: true };
    let messages = [
        Message::Hello(hello),
        Message::Welcome(Welcome { stream, closed: 9 }),
        Message::Closed(10),
        Message::Log { generation: 8, length: 64 << 10 },
        Message::Piece { at: 4096, bytes: vec![7; 100] },
        Message::Stored(8),
        Message::Replayed(7),
        Message::Refused(Refusal::Diverged(7)),
    ];
    messages.iter().map(Message::to_bytes).collect()
}
