//! What is written is read by a parser of its own, and by promtool where there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::{env, fs};

use brunt_stats::Latencies;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::sample;

/// A series: its name and its labels.
type Series = (String, Vec<(String, String)>);

/// Reads the text format, and holds it to what Prometheus demands of it.
fn parse(text: &str) -> BTreeMap<Series, f64> {
    let (mut all, mut heads, mut kind) = (BTreeMap::new(), BTreeSet::new(), (String::new(), ""));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let name = rest.split(' ').next().unwrap();
            assert!(heads.insert(name.to_owned()), "{name} twice");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').unwrap();
            let of = ["counter", "gauge", "histogram"].into_iter().find(|known| *known == of);
            kind = (name.to_owned(), of.unwrap());
            continue;
        }
        let (series, value) = series(line);
        let ends: &[&str] =
            if kind.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        let is_own = |end: &&str| series.0 == format!("{}{end}", kind.0);
        assert!(ends.iter().any(is_own), "{} in {kind:?}", series.0);
        assert_eq!(kind.1 == "counter", series.0.ends_with("_total"), "{}", series.0);
        let value = match value {
            "NaN" => f64::NAN,
            "+Inf" => f64::INFINITY,
            number => number.parse().unwrap(),
        };
        assert!(all.insert(series.clone(), value).is_none(), "{series:?} twice");
    }
    all
}

fn series(line: &str) -> (Series, &str) {
    let end = line.find(['{', ' ']).unwrap();
    let name = line[..end].to_owned();
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
    let mut labels = Vec::new();
    let mut rest = &line[end..];
    while rest.starts_with(['{', ',']) {
        let (label, after) = rest[1..].split_once("=\"").unwrap();
        let (mut value, mut letters) = (String::new(), after.char_indices());
        let end = loop {
            match letters.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => match letters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    c @ ('\\' | '"') => value.push(c),
                    c => panic!("\\{c} in {line}"),
                },
                (_, c) => value.push(c),
            }
        };
        labels.push((label.to_owned(), value));
        rest = &after[end + 1..];
    }
    rest = rest.strip_prefix('}').unwrap_or(rest);
    ((name, labels), rest.strip_prefix(' ').unwrap())
}

fn latencies(millis: &[u64]) -> Latencies {
    let mut all = Latencies::new();
    millis.iter().for_each(|millis| all.record(Span::millis(*millis)));
    all
}

fn stream(millis: &[u64]) -> Stream {
    let latencies = latencies(millis);
    let count = latencies.count();
    Stream { count, bytes: count * 8_192, latencies, ..Stream::default() }
}

fn rules() -> Vec<Rule> {
    vec![
        Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, Some(34.0)),
        Rule::at_most(RuleId::TesterDelay, "ms", 1.0, Some(0.5)),
        Rule::not_measured(RuleId::LogWriteAverage),
    ]
}

fn look(name: &str, streams: &[(&str, &[u64])]) -> Look {
    let streams = streams.iter().map(|(name, millis)| ((*name).to_owned(), stream(millis)));
    let look = sample::look(name, rules(), 7, State::GoesOn);
    sample::with_streams(look, streams.collect())
}

/// The values of `name` whose labels are among others these.
fn values(all: &BTreeMap<Series, f64>, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
    let has = |own: &[(String, String)]| {
        labels.iter().all(|(label, value)| own.iter().any(|(a, b)| a == label && b == value))
    };
    let found = all.iter().filter(|((own, labels), _)| own == name && has(labels));
    found.map(|(_, value)| *value).collect()
}

#[test]
fn figures_are_those_of_the_run_in_base_units() {
    let look =
        look("demo", &[("database-read", &[1, 10, 15, 20, 21, 100, 300]), ("DB1.read", &[2, 4])]);
    let all = parse(&text([&look]));
    let read = |name, le: &str| values(&all, name, &[("stream", "database-read"), ("le", le)]);
    let within = ["0.0001", "0.001", "0.01", "0.02", "0.1", "1", "+Inf"];
    let counts = within.map(|le| read("brunt_io_seconds_bucket", le)[0]);
    assert_eq!(counts, [0.0, 1.0, 2.0, 4.0, 6.0, 7.0, 7.0]);
    let of = |name, label| values(&all, name, &[label])[0];
    assert_eq!(of("brunt_io_seconds_sum", ("stream", "database-read")), 0.467);
    assert_eq!(of("brunt_io_bytes_total", ("stream", "database-read")), 57_344.0);
    assert_eq!(of("brunt_file_io_seconds_total", ("stream", "DB1.read")), 0.006);
    assert_eq!(of("brunt_rule_measured", ("rule", "database-read-average")), 0.034);
    assert_eq!(of("brunt_rule_limit", ("unit", "seconds")), 0.02);
    assert_eq!(values(&all, "brunt_rule_measured", &[("rule", "log-write-average")]), [0.0; 0]);
    assert_eq!(of("brunt_rule_outcome", ("outcome", "not measured")), 1.0);
    assert_eq!(of("brunt_tester_delay_seconds", ("run", "demo")), 0.0005);
    assert_eq!(of("brunt_run_state", ("state", "goes on")), 1.0);
    assert_eq!(of("brunt_run_state", ("state", "ended")), 0.0);
    assert_eq!(of("brunt_samples_total", ("run", "demo")), 7.0);
}

#[test]
fn hostile_names_stay_inside_their_label() {
    let name = "a\"} 1\nbrunt_fake 2\n\\\u{1b}[2J";
    let long = format!("{}.read", "x".repeat(1 << 20));
    let all = parse(&text([&look(name, &[("database-read", &[1]), (&long, &[1]), (name, &[1])])]));
    assert!(all.keys().all(|(name, _)| names().contains(name)));
    let runs: BTreeSet<_> = all
        .keys()
        .flat_map(|(_, labels)| labels.iter().filter(|(label, _)| label == "run"))
        .map(|(_, run)| run.as_str())
        .collect();
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), ["a\"} 1\\nbrunt_fake 2\\n\\\\u{1b}[2J"]);
    assert!(text([&look("demo", &[(&long, &[1])])]).len() < 20_000);
}

#[test]
fn what_is_no_number_is_written_so() {
    let rule = |measured| Rule::at_most(RuleId::PageFaultStalls, "/s", 1.0, Some(measured));
    for (measured, wanted) in
        [(f64::NAN, " NaN\n"), (f64::INFINITY, " +Inf\n"), (f64::NEG_INFINITY, " -Inf\n")]
    {
        let written = text([&sample::look("demo", vec![rule(measured)], 1, State::Ended)]);
        assert!(written.contains(wanted), "{measured}");
    }
}

#[test]
fn ten_thousand_databases_are_left_out_and_counted() {
    let files: Vec<String> = (0..10_000).map(|number| format!("DB{number}.read")).collect();
    let mut streams: Vec<(&str, &[u64])> =
        files.iter().map(|name| (name.as_str(), &[1][..])).collect();
    streams.push(("database-read", &[1]));
    let (large, small) = (look("2026-large", &streams), look("2025-small", &streams[..333]));
    let written = text([&large, &small]);
    assert!(written.len() < 150_000, "{}", written.len());
    let all = parse(&written);
    let left_out = |run| values(&all, "brunt_file_series_left_out", &[("run", run)]);
    assert_eq!((left_out("2026-large"), left_out("2025-small")), (vec![30_000.0], vec![0.0]));
    assert_eq!(values(&all, "brunt_file_io_total", &[]).len(), 333);
    assert_eq!(values(&all, "brunt_io_total", &[("run", "2026-large")]), [1.0]);
}

#[test]
fn of_many_runs_those_that_go_on_have_series() {
    let mut looks: Vec<Look> = (0..150)
        .map(|number| sample::look(&format!("2026-{number:03}"), Vec::new(), 1, State::Ended))
        .collect();
    looks[0].state = State::GoesOn;
    let all = parse(&text(&looks));
    assert_eq!(values(&all, "brunt_runs_left_out", &[]), [50.0]);
    let has = |run| values(&all, "brunt_samples_total", &[("run", run)]).len();
    assert_eq!([has("2026-000"), has("2026-001"), has("2026-149")], [1, 0, 1]);
}

proptest! {
    /// What was counted once is counted from then on.
    #[test]
    fn counters_never_go_down(nanos in prop::collection::vec(1_u64..30_000_000_000, 1..40), near in prop::collection::vec(9_900_000_u64..10_200_000, 1..40)) {
        let mut own = Stream::default();
        let mut before = BTreeMap::<Series, f64>::new();
        for nanos in near.into_iter().chain(nanos) {
            own.latencies.record(Span(nanos));
            own.count += 1;
            let streams = [("database-read".to_owned(), own.clone())];
            let look = sample::with_streams(sample::look("demo", Vec::new(), own.count, State::GoesOn), streams.into());
            let now = parse(&text([&look]));
            for (series, was) in &before {
                let grows = ["_total", "_bucket", "_sum", "_count"].iter().any(|end| series.0.ends_with(end));
                prop_assert!(!grows || now[series] >= *was, "{series:?}: {was}, then {}", now[series]);
            }
            before = now;
        }
    }
}

#[test]
fn promtool_has_nothing_to_say() {
    let program = env::var_os("BRUNT_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let run = Command::new(program)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut run) = run else {
        if let Some(list) = env::var_os("BRUNT_SKIPPED") {
            let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
            writeln!(list, "promtool_has_nothing_to_say: no promtool (Debian's prometheus)")
                .unwrap();
        }
        return;
    };
    let look = look(
        "de\"mo",
        &[
            ("database-read", &[1, 30]),
            ("DB1.read", &[2]),
            ("page_fault_stalls", &[]),
            ("cache", &[]),
        ],
    );
    run.stdin.take().unwrap().write_all(text([&look]).as_bytes()).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""));
}

/// Words of `text` that name a series.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("brunt_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_its_page_use_series_that_are_written() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana");
    let dashboard = fs::read_to_string(format!("{folder}/brunt.json")).unwrap();
    serde_json::from_str::<Value>(&dashboard).unwrap();
    let known: BTreeSet<String> = names().into_iter().collect();
    let used = named(&dashboard);
    assert!(used.len() > 8 && used.is_subset(&known), "{:?}", used.difference(&known));
    let page = fs::read_to_string(format!("{folder}/README.md")).unwrap();
    let explained = named(&page);
    let families: BTreeSet<String> = FAMILIES.iter().map(|family| family.name.to_owned()).collect();
    assert_eq!(explained, families);
}
