//! Journals that were cut, doubled, reordered or changed, and what follows from them.

use brunt_run::{
    Cut, Ended, Errors, Event, FORMAT, Findings, Folded, Head, Histogram, Journal, JournalError,
    Record, Row, Sample, Standing, Value, Why, Writer, fold,
};
use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};
use proptest::prelude::*;

const SAMPLES: u64 = 6;

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::seconds(seconds)
}

/// A sample of ten seconds. Every second one has the histogram of the file; those of the server
/// are in each.
fn sample(number: u64, held: &mut Latencies) -> Sample {
    let (begin, length) = (at(40 + 10 * number), Span::seconds(10));
    let mut latencies = Latencies::new();
    (0..=number).for_each(|_| latencies.record(Span::micros(1_000 + number)));
    held.merge(&latencies);
    let reading = Reading::of(&latencies, (number + 1) * 4096);
    let is_whole = number % 2 == 1;
    let of = |stream: &str, begin, length, latencies: &Latencies| Histogram {
        stream: stream.to_owned(),
        begin,
        length,
        latencies: latencies.clone(),
    };
    let mut histograms = vec![of("database-read", begin, length, &latencies)];
    if is_whole {
        histograms.push(of("DB1.read", at(30 + 10 * number), Span::seconds(20), held));
        held.clear();
    }
    let rows = vec![
        Row::io("DB1.read", reading),
        Row::io("database-read", reading),
        Row::new("page_fault_stalls", Value::Count(1)),
        Row::new("host: cpu", Value::Other(0.5)),
    ];
    Sample { begin, length, rows, histograms, is_whole }
}

fn standing(errors: u64) -> Record {
    let first = "db1.edb: read at 32768: -1022".to_owned();
    Record::Standing(Box::new(Standing {
        sessions: 4,
        errors: Errors { count: errors, first },
        findings: Findings { torn: errors, ..Findings::default() },
        ..Standing::default()
    }))
}

/// The records of a run that found an error in each sample from the third on, each as bytes.
fn records() -> Vec<Vec<u8>> {
    let mut writer = Writer::new("run 7");
    let head = Head { run_id: "run 7".to_owned(), ..Head::default() };
    let mut records = vec![writer.bytes(Time::ZERO, &Record::Head(Box::new(head)))];
    let mut held = Latencies::new();
    for number in 0..SAMPLES {
        let end = at(50 + 10 * number);
        records.push(writer.bytes(end, &standing(number.saturating_sub(1))));
        records.push(writer.bytes(end, &Record::Sample(sample(number, &mut held))));
        let event = Event { unix_s: number, text: format!("sample {number}") };
        records.push(writer.bytes(end, &Record::Event(event)));
    }
    let ended = Ended { verdict: "fail".to_owned() };
    records.push(writer.bytes(at(120), &Record::Ended(ended)));
    records
}

fn read(bytes: &[u8]) -> Folded {
    fold(&mut Journal::open(bytes).unwrap()).unwrap()
}

fn journal(records: &[Vec<u8>]) -> Vec<u8> {
    [FORMAT.as_bytes(), &records.concat()].concat()
}

/// What is said of the first `whole` samples.
fn is_whole(folded: &Folded, whole: u64) {
    assert_eq!(folded.samples.len() as u64, whole);
    assert_eq!(folded.length, Span::seconds(10 * whole));
    let wanted: u64 = (1..=whole).sum();
    for name in ["DB1.read", "database-read"] {
        let Some(stream) = folded.streams.get(name) else {
            assert_eq!(whole, 0);
            continue;
        };
        assert_eq!((stream.count, stream.bytes), (wanted, wanted * 4096));
        assert_eq!(stream.latencies.count(), wanted, "{name}");
        assert_eq!(stream.means.len() as u64, whole);
        assert_eq!(stream.means[0], (at(40), Span::micros(1_000)));
        assert_eq!(stream.latencies.max(), Some(Span::micros(999 + whole)));
    }
}

#[test]
fn wherever_a_journal_is_cut_its_whole_records_stay() {
    let records = records();
    let whole = journal(&records);
    let mut border = FORMAT.len();
    let borders = records.iter().map(|record| {
        border += record.len();
        border
    });
    let borders: Vec<usize> = borders.collect();
    // Every border, and some places within records.
    for length in (0..=whole.len()).filter(|at| at % 7 == 0 || borders.contains(at)) {
        if length < FORMAT.len() {
            let opened = Journal::open(&whole[..length]);
            assert!(matches!(opened, Err(JournalError::Format)));
            continue;
        }
        let folded = read(&whole[..length]);
        let there = borders.iter().filter(|border| **border <= length).count();
        // A head, then three records for each sample, of which every second one is whole.
        let samples = (there.saturating_sub(1) + 1).div_euclid(3);
        is_whole(&folded, samples as u64 & !1);
        let is_torn = length != FORMAT.len() && !borders.contains(&length);
        let after = borders.iter().rev().find(|border| **border <= length);
        let after = *after.unwrap_or(&FORMAT.len()) as u64;
        assert_eq!(folded.cut, is_torn.then_some(Cut { after, why: Why::Torn }), "{length}");
        assert_eq!(folded.ended.is_some(), length == whole.len());
        // A fault counts as soon as it is recorded, though its sample is not whole.
        let standings = (there.saturating_sub(1).div_ceil(3) as u64).min(SAMPLES);
        assert_eq!(folded.standing.errors.count, standings.saturating_sub(2));
    }
}

#[test]
fn what_follows_damage_is_left_out() {
    let records = records();
    let whole = journal(&records);
    for byte in (FORMAT.len()..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[byte] ^= 0x20;
        let folded = read(&changed);
        assert!(folded.cut.is_some_and(|cut| cut.after <= byte as u64), "{byte}");
        assert_eq!(folded.ended, None);
    }
    let mut other = Writer::new("run 8");
    let mut stranger = records.clone();
    stranger[4] = (0..=4).map(|_| other.bytes(at(50), &standing(0))).next_back().unwrap();
    for (what, records) in [
        (Why::OutOfOrder, [&records[..4], &records[3..]].concat()),
        (Why::OutOfOrder, [&records[..4], &records[5..]].concat()),
        (Why::OutOfOrder, records[1..].to_vec()),
        (Why::OtherRun, stranger),
    ] {
        let folded = read(&journal(&records));
        assert_eq!(folded.cut.map(|cut| cut.why), Some(what));
        assert_eq!((folded.ended, folded.samples.len()), (None, 0));
    }
    for wrong in ["brunt.run/2\n", "begin_s,length_s\n", ""] {
        assert!(matches!(Journal::open(wrong.as_bytes()), Err(JournalError::Format)), "{wrong}");
    }
}

/// A run that was killed after each of these samples, and carried on.
fn in_parts(killed_after: &[u64]) -> Folded {
    let mut writer = Writer::new("run 9");
    let mut held = Latencies::new();
    let mut bytes = FORMAT.as_bytes().to_vec();
    let mut add = |writer: &mut Writer, record: &Record| {
        bytes.extend(writer.bytes(Time::ZERO, record));
    };
    let head = Record::Head(Box::default());
    add(&mut writer, &head);
    let mut errors = 0;
    for number in 0..SAMPLES {
        errors += 1;
        add(&mut writer, &standing(errors));
        add(&mut writer, &Record::Sample(sample(number, &mut held)));
        if killed_after.contains(&number) {
            // In the middle of a sample that does not count.
            add(&mut writer, &Record::Sample(sample(2 * SAMPLES, &mut Latencies::new())));
            writer.next_part();
            add(&mut writer, &head);
            errors = 0;
        }
    }
    read(&bytes)
}

#[test]
fn a_run_in_parts_is_the_run_in_one() {
    let whole = in_parts(&[]);
    is_whole(&whole, SAMPLES);
    for killed_after in [&[1][..], &[3], &[1, 3], &[5]] {
        let parts = in_parts(killed_after);
        is_whole(&parts, SAMPLES);
        assert_eq!(parts.samples, whole.samples);
        assert_eq!(parts.heads.len(), killed_after.len() + 1);
        assert_eq!((parts.standing.errors.count, parts.standing.findings.torn), (SAMPLES, SAMPLES));
        for (name, stream) in &whole.streams {
            let other = &parts.streams[name];
            assert_eq!((&other.means, &other.values), (&stream.means, &stream.values));
            assert!(other.latencies.buckets().eq(stream.latencies.buckets()), "{name}");
        }
    }
}

/// What happened between two samples of a run: latencies in microseconds, faults since the one
/// before, whether every histogram was written, and whether the run was killed then.
type Piece = (Vec<u64>, u64, bool, bool);

/// The journal of these pieces. Carried on in one part, nothing is written of kills, nor of the
/// samples that did not count then.
fn pieces(pieces: &[Piece], in_one_part: bool) -> Vec<u8> {
    let mut writer = Writer::new("run 10");
    let mut bytes = FORMAT.as_bytes().to_vec();
    let mut add = |writer: &mut Writer, record: &Record| {
        bytes.extend(writer.bytes(Time::ZERO, record));
    };
    let head = Record::Head(Box::default());
    add(&mut writer, &head);
    let (mut now, mut faults, mut delays) = (0, 0, Latencies::new());
    // A run that is killed loses what follows its last whole sample.
    let lives = pieces.split_inclusive(|(.., is_killed)| *is_killed);
    for (number, life) in lives.enumerate() {
        if number > 0 && !in_one_part {
            writer.next_part();
            add(&mut writer, &head);
            (faults, delays) = (0, Latencies::new());
        }
        let counts = life.iter().rposition(|(_, _, is_whole, _)| *is_whole);
        for (place, (micros, more, is_whole, _)) in life.iter().enumerate() {
            let is_lost = counts.is_none_or(|last| place > last);
            let mut latencies = Latencies::new();
            micros.iter().for_each(|micros| latencies.record(Span::micros(*micros)));
            // Faults count, even those of a sample that does not.
            faults += more;
            delays.merge(&latencies);
            let first = if faults > 0 { "the first".to_owned() } else { String::new() };
            add(
                &mut writer,
                &Record::Standing(Box::new(Standing {
                    errors: Errors { count: faults, first },
                    findings: Findings { torn: faults, ..Findings::default() },
                    delays: delays.clone(),
                    ..Standing::default()
                })),
            );
            if is_lost && in_one_part {
                continue;
            }
            let (begin, length) = (at(now), Span::seconds(10));
            let reading = Reading::of(&latencies, 4096 * latencies.count());
            let stream = "database-read".to_owned();
            add(
                &mut writer,
                &Record::Sample(Sample {
                    begin,
                    length,
                    rows: vec![Row::io(&stream, reading), Row::new("host: cpu", Value::Other(0.5))],
                    histograms: vec![Histogram { stream, begin, length, latencies }],
                    is_whole: *is_whole,
                }),
            );
            now += if is_lost { 0 } else { 10 };
        }
    }
    bytes
}

proptest! {
    /// Wherever a run is killed and carried on, it is the run that was not killed.
    #[test]
    fn parts_are_the_whole(
        all in proptest::collection::vec(
            (
                proptest::collection::vec(1_u64..90_000, 0..9),
                0_u64..3,
                any::<bool>(),
                proptest::bool::weighted(0.3),
            ),
            0..20,
        ),
    ) {
        let [parts, whole] = [false, true].map(|in_one| read(&pieces(&all, in_one)));
        prop_assert_eq!(parts.cut, None);
        prop_assert_eq!(&parts.samples, &whole.samples);
        prop_assert_eq!((parts.begin, parts.length), (whole.begin, whole.length));
        prop_assert_eq!(&parts.standing.errors, &whole.standing.errors);
        prop_assert_eq!(parts.standing.findings, whole.standing.findings);
        let buckets = |folded: &Folded| folded.standing.delays.buckets().collect::<Vec<_>>();
        prop_assert_eq!(buckets(&parts), buckets(&whole));
        prop_assert!(parts.streams.keys().eq(whole.streams.keys()));
        for (name, stream) in &whole.streams {
            let other = &parts.streams[name];
            prop_assert_eq!((other.count, other.bytes), (stream.count, stream.bytes));
            prop_assert_eq!((&other.means, &other.values), (&stream.means, &stream.values));
            prop_assert!(other.latencies.buckets().eq(stream.latencies.buckets()), "{}", name);
        }
        prop_assert_eq!(parts.heads.len(), 1 + all.iter().rev().skip(1).filter(|one| one.3).count());
    }

    /// Bytes from anywhere are no reason to panic, or to take memory for a length.
    #[test]
    fn rubbish_is_no_record(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = [FORMAT.as_bytes(), &tail].concat();
        let folded = read(&bytes);
        prop_assert!(folded.samples.is_empty());
    }

    /// Records that are lost never take a fault away that was recorded before them.
    #[test]
    fn a_shorter_journal_is_never_better(length in 0_usize..20) {
        let records = records();
        let faults = |length: usize| read(&journal(&records[..length])).standing.errors.count;
        let length = length.min(records.len());
        prop_assert!((0..=length).all(|shorter| faults(shorter) <= faults(length)));
    }
}
