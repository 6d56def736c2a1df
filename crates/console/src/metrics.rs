//! What is known of runs, as Prometheus reads it: the text format 0.0.4.
//!
//! ```text
//!   Look -> families (one kind of figure, its help, its series) -> text
//!   whole server   database-read, ...      histograms; buckets at the rules' limits and decades between
//!   single files   DB1.read, ...           counters; none of a run whose files have too many series
//! ```
//!
//! Names and units follow Prometheus' conventions: base units, `_total` for counters. Names come from
//! run folders, so labels are escaped and cut, and what is left out is a figure itself. A series
//! appears once, whatever a folder says. docs/grafana explains each figure.
//!
//! Invariant: while a run goes on its counters only grow. So a latency counts for the bucket of the
//! histogram that it was recorded in, and not for what is known of the slowest one by now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use brunt_qualify::rules::RuleId;
use brunt_report::result::{Flow, Outcome, Rule};
use brunt_report::{one_line, streams};
use brunt_run::{Stream, is_of_server};
use brunt_units::Span;

use crate::alarms::verdict_so_far;
use crate::{Look, State};

/// The type of what is written, for the head of an answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Series of single files, of all runs together.
const FILE_SERIES_MAX: usize = 1_000;
/// Series that each stream of a file has.
const SERIES_OF_FILE: usize = 3;
/// Runs that have series; those that go on come first.
const RUNS_MAX: usize = 100;
/// Rules of a run that have series.
const RULES_MAX: usize = 1_000;
/// Characters of a label.
const LABEL_MAX: usize = 128;

/// The bounds of buckets: decades, and the limits of the rules (10, 20 and 100 ms).
const BOUNDS: [(Span, &str); 8] = [
    (Span::micros(10), "1e-05"),
    (Span::micros(100), "0.0001"),
    (Span::millis(1), "0.001"),
    (Span::millis(10), "0.01"),
    (Span::millis(20), "0.02"),
    (Span::millis(100), "0.1"),
    (Span::millis(1_000), "1"),
    (Span::millis(10_000), "10"),
];

/// A kind of figure.
#[derive(Clone, Copy)]
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: "counter", help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: "gauge", help }
}

const STATE: Family = gauge("brunt_run_state", "Whether a run is in this state: 1 or 0.");
const PHASE: Family = gauge("brunt_run_phase", "Whether a run is in this phase: 1 or 0.");
const VERDICT: Family =
    gauge("brunt_run_verdict", "The verdict of a run that has ended, else of one that ended now.");
const SAMPLES: Family = counter("brunt_samples_total", "Samples that count.");
const COLLECTED: Family = gauge("brunt_collected_seconds", "Length of the collection so far.");
const IO: Family = Family {
    name: "brunt_io_seconds",
    kind: "histogram",
    help: "Latencies of the I/O and operations of a whole server, up to 0.8 % too low.",
};
const IO_COUNT: Family = counter("brunt_io_total", "I/Os and operations of a whole server.");
const IO_BYTES: Family = counter("brunt_io_bytes_total", "Bytes of the I/O of a whole server.");
const IO_RATE: Family = gauge("brunt_io_per_second", "I/Os per second in the last sample.");
const FILE_COUNT: Family = counter("brunt_file_io_total", "I/Os of a database or log.");
const FILE_BYTES: Family =
    counter("brunt_file_io_bytes_total", "Bytes of I/O of a database or log.");
const FILE_TIME: Family =
    counter("brunt_file_io_seconds_total", "Latencies of the I/O of a database or log, added up.");
const STALLS: Family = counter(
    "brunt_page_fault_stalls_total",
    "Operations that waited for a free page of the cache.",
);
const CACHE: Family = gauge("brunt_cache_bytes", "Pages in memory.");
const MEASURED: Family =
    gauge("brunt_rule_measured", "What a rule measured so far; ms are given in seconds.");
const LIMIT: Family = gauge("brunt_rule_limit", "The limit of a rule; ms are given in seconds.");
const OUTCOME: Family = gauge("brunt_rule_outcome", "The outcome of a rule so far: 1.");
const DELAY: Family =
    gauge("brunt_tester_delay_seconds", "How late the tester itself ran, 99th percentile.");
const RUNS_LEFT_OUT: Family = gauge("brunt_runs_left_out", "Runs that have no series here.");
const RULES_LEFT_OUT: Family = gauge("brunt_rules_left_out", "Rules that have no series here.");
const FILES_LEFT_OUT: Family = gauge(
    "brunt_file_series_left_out",
    "Series of databases and logs that are left out, because there would be too many.",
);

const FAMILIES: [Family; 21] = [
    STATE,
    PHASE,
    VERDICT,
    SAMPLES,
    COLLECTED,
    IO,
    IO_COUNT,
    IO_BYTES,
    IO_RATE,
    FILE_COUNT,
    FILE_BYTES,
    FILE_TIME,
    STALLS,
    CACHE,
    MEASURED,
    LIMIT,
    OUTCOME,
    DELAY,
    RUNS_LEFT_OUT,
    RULES_LEFT_OUT,
    FILES_LEFT_OUT,
];

/// The name of every series that can be written.
pub fn names() -> Vec<String> {
    let all = FAMILIES.iter().flat_map(|family| match family.kind {
        "histogram" => {
            ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", family.name)).to_vec()
        }
        _ => vec![family.name.to_owned()],
    });
    all.collect()
}

/// All figures of `looks`.
pub fn text<'l>(looks: impl IntoIterator<Item = &'l Look>) -> String {
    let mut looks: Vec<&Look> = looks.into_iter().collect();
    looks.sort_by(|one, other| order(one).cmp(&order(other)));
    let mut page = Page::default();
    page.set(RUNS_LEFT_OUT, &[], looks.len().saturating_sub(RUNS_MAX) as f64);
    let mut room = FILE_SERIES_MAX;
    for look in looks.into_iter().take(RUNS_MAX) {
        of_run(&mut page, look, &mut room);
    }
    page.text()
}

/// Those that go on come first, then the newest: names begin with the time.
fn order(look: &Look) -> (bool, std::cmp::Reverse<&str>) {
    (look.state != State::GoesOn, std::cmp::Reverse(look.name.as_str()))
}

fn of_run(page: &mut Page, look: &Look, room: &mut usize) {
    let result = &look.run.result;
    let own = &[("run", look.name.as_str())];
    for state in State::ALL {
        let is_in = f64::from(u8::from(look.state == state));
        page.set(STATE, &[own[0], ("state", state.label())], is_in);
    }
    let times = &result.times;
    let phase = match (times.collection_started, times.collection_ended) {
        (None, _) => "preparation",
        (Some(_), None) if look.state != State::Ended => "collection",
        (Some(_), _) => "verification",
    };
    for word in ["preparation", "collection", "verification"] {
        let is_in = look.state == State::GoesOn && phase == word;
        page.set(PHASE, &[own[0], ("phase", word)], f64::from(u8::from(is_in)));
    }
    let verdict = verdict_so_far(look).to_string();
    page.set(VERDICT, &[own[0], ("verdict", &verdict)], 1.0);
    page.set(SAMPLES, own, look.samples as f64);
    page.set(COLLECTED, own, times.collection_s);
    let rules = &result.rules;
    page.set(RULES_LEFT_OUT, own, rules.len().saturating_sub(RULES_MAX) as f64);
    rules.iter().take(RULES_MAX).for_each(|rule| of_rule(page, own[0], rule));
    of_streams(page, look, room);
}

fn of_rule(page: &mut Page, run: (&str, &str), rule: &Rule) {
    let (unit, factor) = match rule.unit.as_str() {
        "ms" => ("seconds", 1e-3),
        "s" => ("seconds", 1.0),
        unit => (unit, 1.0),
    };
    let server = rule.server.as_deref().unwrap_or_default();
    let own = [run, ("server", server), ("rule", &rule.id), ("title", &rule.title)];
    let with_unit = [own[0], own[1], own[2], own[3], ("unit", unit)];
    let measured = rule.measured.map(|measured| measured * factor);
    measured.iter().for_each(|measured| page.set(MEASURED, &with_unit, *measured));
    rule.limit.iter().for_each(|limit| page.set(LIMIT, &with_unit, limit * factor));
    let outcome: Outcome = rule.outcome;
    page.set(OUTCOME, &[own[0], own[1], own[2], own[3], ("outcome", &outcome.to_string())], 1.0);
    if let Some(delay) = measured.filter(|_| RuleId::TesterDelay.is(rule)) {
        page.set(DELAY, &[run, ("server", server)], delay);
    }
}

fn of_streams(page: &mut Page, look: &Look, room: &mut usize) {
    let run = ("run", look.name.as_str());
    // The journal of a run has the streams of one server, its own.
    let server = match &look.run.result.storage.servers[..] {
        [only] => only.name.as_str(),
        _ => "",
    };
    let server = ("server", server);
    for (name, stream) in look.streams.iter().filter(|(name, _)| is_of_server(name)) {
        let own = [run, server, ("stream", name.as_str())];
        match name.as_str() {
            streams::PAGE_FAULT_STALLS => page.set(STALLS, &own[..2], stream.count as f64),
            streams::CACHE => page.set(CACHE, &own[..2], stream.bytes as f64),
            _ => of_server(page, own, stream),
        }
    }
    let last = look.run.samples.last();
    for (name, flow) in last.into_iter().flat_map(|sample| {
        [
            (streams::DATABASE_READ, &sample.database_reads),
            (streams::DATABASE_WRITE, &sample.database_writes),
            (streams::LOG_WRITE, &sample.log_writes),
        ]
    }) {
        let flow: &Flow = flow;
        page.set(IO_RATE, &[run, server, ("stream", name)], flow.per_s);
    }
    let is_file = |(name, stream): &(&String, &Stream)| is_of_file(name, stream);
    let files: Vec<_> = look.streams.iter().filter(is_file).collect();
    let series = files.len() * SERIES_OF_FILE;
    let fits = series <= *room;
    page.set(FILES_LEFT_OUT, &[run], if fits { 0.0 } else { series as f64 });
    if !fits {
        return;
    }
    *room -= series;
    for (name, stream) in files {
        let own = [run, server, ("stream", name.as_str())];
        page.set(FILE_COUNT, &own, stream.count as f64);
        page.set(FILE_BYTES, &own, stream.bytes as f64);
        page.set(FILE_TIME, &own, seconds(stream));
    }
}

/// Streams of the machine have a colon; those of files without I/O have nothing to count.
fn is_of_file(name: &str, stream: &Stream) -> bool {
    !is_of_server(name) && !name.starts_with(streams::HOST) && stream.values.is_empty()
}

fn of_server(page: &mut Page, own: [(&str, &str); 3], stream: &Stream) {
    page.set(IO_COUNT, &own, stream.count as f64);
    page.set(IO_BYTES, &own, stream.bytes as f64);
    let with = |end: &str| (IO.name.to_owned() + end, IO);
    for (bound, written) in BOUNDS {
        let within = stream.latencies.count_within(bound) as f64;
        page.put(with("_bucket"), &[own[0], own[1], own[2], ("le", written)], within);
    }
    let all = stream.latencies.count() as f64;
    page.put(with("_bucket"), &[own[0], own[1], own[2], ("le", "+Inf")], all);
    page.put(with("_sum"), &own, seconds(stream));
    page.put(with("_count"), &own, all);
}

fn seconds(stream: &Stream) -> f64 {
    stream.latencies.sum_nanos() as f64 / 1e9
}

/// Series by family, in the order in which they came.
#[derive(Default)]
struct Page {
    families: BTreeMap<&'static str, Vec<(String, f64)>>,
    seen: std::collections::BTreeSet<String>,
}

impl Page {
    fn set(&mut self, family: Family, labels: &[(&str, &str)], value: f64) {
        self.put((family.name.to_owned(), family), labels, value);
    }

    /// Notes a series of `family` under its own name. The first of equal series counts: cut labels
    /// may be equal.
    fn put(&mut self, (mut name, family): (String, Family), labels: &[(&str, &str)], value: f64) {
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(name, "{before}{label}=\"{}\"", escaped(value));
        }
        if !labels.is_empty() {
            name.push('}');
        }
        if self.seen.insert(name.clone()) {
            self.families.entry(family.name).or_default().push((name, value));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for family in FAMILIES {
            let Family { name, kind, help } = family;
            let Some(series) = self.families.get(name) else { continue };
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (series, value) in series {
                let _ = writeln!(text, "{series} {}", number(*value));
            }
        }
        text
    }
}

/// A label's value: cut, on one line, without what would end it.
fn escaped(value: &str) -> String {
    let mut short: String = value.chars().take(LABEL_MAX).collect();
    if short.len() < value.len() {
        short.push_str("...");
    }
    one_line(&short).replace('\\', "\\\\").replace('"', "\\\"")
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
