//! Samples of several servers, added up in every way in which they can be split.

use brunt_run::{Histogram, Row, Sample, Sum, Value, is_of_array, is_of_server};
use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};
use proptest::prelude::*;

const EVERY: Span = Span::seconds(15);

/// A sample of a server: when it began, and its latencies in microseconds.
#[derive(Clone, Debug)]
struct Made {
    server: usize,
    after_s: u64,
    micros: Vec<u64>,
    has_histogram: bool,
}

impl Made {
    fn latencies(&self) -> Latencies {
        let mut latencies = Latencies::new();
        self.micros.iter().for_each(|micros| latencies.record(Span::micros(*micros)));
        latencies
    }

    fn add_to(&self, sum: &mut Sum) {
        let latencies = self.latencies();
        let (begin, length) = (Time::ZERO + Span::seconds(self.after_s), EVERY);
        let mut histograms = vec![Histogram {
            stream: "database-read".to_owned(),
            begin,
            length,
            latencies: latencies.clone(),
        }];
        histograms.retain(|_| self.has_histogram);
        let reading = Reading::of(&latencies, 4096 * latencies.count());
        let mut rows = vec![
            Row::io("database-read", reading),
            Row::io("DB1.read", reading),
            Row::new("page_fault_stalls", Value::Count(1)),
            Row::new("cache", Value::Bytes(1_000 + self.after_s)),
            Row::new("host: cpu", Value::Other(0.5)),
        ];
        // One server of a simulation tells of its arrays.
        if self.server == 0 {
            rows.push(Row::new("array: link", Value::Other(self.after_s as f64 / 64.0)));
        }
        let sample = Sample { begin, length, rows, histograms, is_whole: true };
        sum.add(self.server, Span::seconds(self.after_s), &sample);
    }
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let micros = prop::collection::vec(prop_oneof![1_u64..50, 1_000_u64..90_000], 0..20);
    let one = (0_usize..4, 0_u64..60, micros, prop::bool::weighted(0.9));
    prop::collection::vec(one, 0..24).prop_map(|all| {
        let one = |(server, after_s, micros, has_histogram)| Made {
            server,
            after_s,
            micros,
            has_histogram,
        };
        all.into_iter().map(one).collect()
    })
}

fn sum(all: &[Made]) -> Sum {
    let mut sum = Sum::every(EVERY);
    all.iter().for_each(|one| one.add_to(&mut sum));
    sum
}

proptest! {
    /// Parts by lot, each added up by itself, and then all of them in this order and pairwise.
    #[test]
    fn parts_are_the_whole_in_any_order(all in made(), lots in prop::collection::vec(0_usize..5, 24)) {
        let mut parts = vec![Vec::new(); 5];
        for (one, lot) in all.iter().zip(&lots) {
            parts[*lot].push(one.clone());
        }
        let whole = sum(&all);
        let mut parts: Vec<Sum> = parts.iter().map(|part| sum(part)).collect();
        let mut in_a_row = Sum::every(EVERY);
        parts.iter().rev().for_each(|part| in_a_row.merge(part));
        prop_assert_eq!(&in_a_row, &whole);
        while parts.len() > 1 {
            let last = parts.pop().unwrap();
            let half = parts.len().div_euclid(2);
            parts[half].merge(&last);
        }
        prop_assert_eq!(&parts[0], &whole);
        prop_assert!(parts[0].samples().eq(whole.samples()));
    }

    #[test]
    fn figures_are_those_of_all_requests(all in made()) {
        for sample in sum(&all).samples() {
            let own = |one: &&Made| {
                let middle = Span::seconds(one.after_s) + Span(EVERY.0.div_euclid(2));
                let begin = sample.begin.since(Time::ZERO);
                middle >= begin && middle < begin + EVERY
            };
            let mut latencies = Latencies::new();
            all.iter().filter(own).for_each(|one| latencies.merge(&one.latencies()));
            let is_known = all.iter().filter(own).all(|one| one.has_histogram || one.micros.is_empty());
            let wanted = Reading::of(&latencies, 4096 * latencies.count());
            let row = sample.rows.iter().find(|row| row.stream == "database-read");
            let Some(Row { value: Value::Io(reading), .. }) = row else { panic!("{sample:?}") };
            prop_assert_eq!((reading.count, reading.bytes), (wanted.count, wanted.bytes));
            prop_assert_eq!(reading.max, wanted.max);
            match is_known {
                true => prop_assert_eq!(reading, &wanted),
                false => prop_assert_eq!([reading.p50, reading.p99, reading.p999], [None; 3]),
            }
            prop_assert!(sample.rows.iter().all(|row| is_of_server(&row.stream) || is_of_array(&row.stream)));
        }
    }
}

#[test]
fn amounts_add_up_side_by_side_and_not_over_time() {
    let one = |server, after_s| Made { server, after_s, micros: vec![7], has_histogram: true };
    let all = [one(0, 0), one(1, 2), one(1, 5), one(0, 15)];
    let sum = sum(&all);
    let value = |sample: &Sample, stream: &str| {
        let mut rows = sample.rows.iter();
        rows.find(|row| row.stream == stream).map(|row| row.value)
    };
    let [first, second] = sum.samples().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(value(&first, "cache"), Some(Value::Bytes(1_000 + 1_005)));
    assert_eq!(value(&first, "page_fault_stalls"), Some(Value::Count(3)));
    // Two samples of one server in a row.
    assert_eq!(first.length, EVERY * 2);
    assert_eq!((second.begin, second.length), (Time::ZERO + EVERY, EVERY));
}

#[test]
fn arrays_are_told_of_by_one_server() {
    let sample = |seconds, busy: f64| Sample {
        length: Span::seconds(seconds),
        rows: vec![
            Row::io("database-read", Reading::default()),
            Row::new("array: link", Value::Other(busy)),
            Row::new("host: cpu", Value::Other(busy)),
        ],
        ..Sample::default()
    };
    let shares = |sum: &Sum| {
        let rows = sum.samples().flat_map(|sample| sample.rows);
        let others = rows.filter_map(|row| match row.value {
            Value::Other(value) => Some((row.stream, value)),
            _ => None,
        });
        others.collect::<Vec<_>>()
    };
    let mut sum = Sum::every(EVERY);
    sum.add(1, Span::ZERO, &sample(10, 0.3));
    sum.add(1, Span::seconds(5), &sample(5, 0.6));
    sum.add(1, Span::seconds(15), &sample(15, 0.125));
    let wanted = [0.4, 0.125].map(|share| ("array: link".to_owned(), share));
    assert_eq!(shares(&sum), wanted);
    // Two simulations have two arrays of one name.
    sum.add(2, Span::seconds(15), &sample(15, 0.5));
    assert_eq!(shares(&sum), []);
}
