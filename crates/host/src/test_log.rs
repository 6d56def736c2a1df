//! The lines of the test log, in the words that readers of Jetstress logs know.
//!
//! Source of the vocabulary and of the order: logs in published reports of Jetstress 08.02 and
//! 15.00.0995. What brunt has and Jetstress has not (records, hung I/O, notes) stands between in
//! its own words.

use brunt_qualify::plan::Plan;
use brunt_qualify::progress::Kept;
use brunt_qualify::progress::News;
use brunt_report::event::{COLLECTION_ENDS, COLLECTION_STARTS};
use brunt_report::host_counters::PAGE_FAULT_STALLS;
use brunt_report::result::{RunResult, Server};
use brunt_report::{counted, decimals, grouped};
use brunt_units::{ByteSize, Span};
use brunt_workload::mix::Kind;

/// What is known before anything is done.
pub fn beginning(plan: &Plan, command: &str) -> Vec<String> {
    vec![
        format!("Command line: {command}"),
        format!("Testing begins: {}, seed {}", plan.name, plan.seed),
        "Preparing for testing".to_owned(),
    ]
}

/// `open 2 databases of 2.03 GiB from 2026-11-23 04:25; create 1 database x 512 MiB`.
pub fn databases(open: &[Kept], create: &[ByteSize]) -> String {
    let number = |count: usize| counted(count as u64, "database");
    let mut parts = Vec::new();
    if !open.is_empty() {
        let sizes = from_to(open.iter().map(|kept| kept.size), ByteSize::to_string);
        // To the minute.
        let made = open.iter().map(|kept| kept.made.clone());
        let made = from_to(made, |made| made.chars().take(16).collect());
        parts.push(format!("open {} of {sizes} from {made}", number(open.len())));
    }
    if !create.is_empty() {
        let sizes = from_to(create.iter().copied(), ByteSize::to_string);
        parts.push(format!("create {} x {sizes}", number(create.len())));
    }
    parts.join("; ")
}

/// The least of `values` as `show` has it, and the most if that reads otherwise: `2 GiB`, `2 GiB to
/// 3 GiB`.
fn from_to<T: Ord + Clone>(values: impl Iterator<Item = T>, show: impl Fn(&T) -> String) -> String {
    let mut values: Vec<T> = values.collect();
    values.sort();
    let ends = [values.first(), values.last()].map(|end| end.map_or_else(String::new, &show));
    match ends {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    }
}

/// What `news` adds; nothing for most.
pub fn news(news: &News) -> Vec<String> {
    match news {
        News::Note { text: note } => vec![note.clone()],
        News::Databases { open, create } => vec![format!("Databases: {}", databases(open, create))],
        News::Tuned { .. } => Vec::new(),
        News::Tried(trial) => vec![format!("Tuning: {trial}")],
        News::Created { total, took } => {
            vec![format!("Databases created: {total} in {}", seconds(*took))]
        }
        News::WarmedUp { filled, cache, took } => vec![format!(
            "Prerequisites attained after {}: \\MSExchange Database(brunt)\\Database Cache Size, last {} of {}",
            seconds(*took),
            filled.get(),
            cache.get()
        )],
        News::CollectionStarted => vec![COLLECTION_STARTS.to_owned()],
        News::CollectionEnded => {
            vec![COLLECTION_ENDS.to_owned(), "Dispatching transactions ends".to_owned()]
        }
        // Told again and again; the first time says that it begins.
        News::Closing { done, .. } if done.get() == 0 => {
            vec!["Shutting down databases".to_owned()]
        }
        News::Verified { took, judged } => {
            let took = seconds(*took);
            vec![match judged {
                true => format!("Records and files verified in {took}"),
                false => format!("Databases read in {took}; without content nothing is verified"),
            }]
        }
        _ => Vec::new(),
    }
}

/// What is set before sessions begin.
pub fn dispatch(plan: &Plan) -> Vec<String> {
    let (engine, mix) = (&plan.engine, plan.load.mix);
    let limits = &plan.limits.latency;
    let share = |percent: u32| {
        let share = engine.cache_max.get() as f64 * f64::from(percent) / 100.0;
        format!("{:.1} MB", share / f64::from(1 << 20))
    };
    let latency = |span: Span, of: &str| format!("{} msec/{of}", decimals(span.as_millis()));
    let mut lines = vec![
        "Preparation done".to_owned(),
        "Dispatching transactions begins".to_owned(),
        format!(
            "Database cache settings: minimum {}, maximum {}",
            engine.cache_min, engine.cache_max
        ),
        format!(
            "Database flush thresholds: start {}, stop {}",
            share(engine.start_percent),
            share(engine.stop_percent)
        ),
        format!(
            "Database read latency thresholds: average {}, maximum {}",
            latency(limits.read_mean, "read"),
            latency(limits.read_sample, "read")
        ),
        format!(
            "Log write latency thresholds: average {}, maximum {}",
            latency(limits.log_mean, "write"),
            latency(limits.log_sample, "write")
        ),
        format!(
            "Operation mix: Sessions {}, Inserts {}%, Deletes {}%, Replaces {}%, Reads {}%, Lazy Commits {}%",
            plan.sessions,
            mix.percent(Kind::Insert),
            mix.percent(Kind::Delete),
            mix.percent(Kind::Replace),
            mix.percent(Kind::Read),
            mix.lazy_percent()
        ),
        format!("Performance logging begins (interval: {} ms)", plan.sample_interval().as_millis()),
    ];
    // Logs are written from a cold cache on: nothing has to be attained.
    if plan.kind.has_limits() {
        let wanted = engine.cache_max.get() as f64 * 0.9;
        lines.push(format!(
            "Attaining prerequisites: \\MSExchange Database(brunt)\\Database Cache Size, lower bound {wanted:.0}, upper bound none"
        ));
    }
    lines
}

/// What the result adds, when everything is done.
pub fn ending(result: &RunResult) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &result.storage.servers {
        batches(server, &mut lines);
        if server.backup.is_empty() && server.recovery.is_empty() {
            shut_down(server, &mut lines);
        }
        statistics(server, &mut lines);
        checksums(server, &mut lines);
        latencies(server, &mut lines);
    }
    lines.push(format!(
        "Test ends: {}. {}",
        result.outcome_in_words(),
        result.storage.details.sentence
    ));
    lines
}

fn batches(server: &Server, lines: &mut Vec<String>) {
    let counts = server.instances.iter().map(|instance| instance.batches);
    let counts: Option<Vec<String>> = counts.map(|c| c.map(|c| c.to_string())).collect();
    if let Some(counts) = counts.filter(|counts| !counts.is_empty()) {
        lines.push(format!("Batch transaction stats: {}", counts.join(", ")));
    }
}

fn shut_down(server: &Server, lines: &mut Vec<String>) {
    let names = server.instances.iter();
    let names: Vec<String> = names.map(|i| format!("{} (complete)", i.name)).collect();
    lines.push(format!("Databases shut down: {}", names.join(", ")));
}

/// What a backup read, and what a recovery replayed.
fn statistics(server: &Server, lines: &mut Vec<String>) {
    for backup in &server.backup {
        lines.push(format!(
            "Database backup: {} (100% processed), {} MB in {:.3} s",
            backup.instance,
            decimals(backup.megabytes),
            backup.seconds
        ));
    }
    for recovery in &server.recovery {
        lines.push(format!(
            "Recovering databases: {} ({} logs replayed), elapsed {:.3} s",
            recovery.instance,
            grouped(recovery.logs),
            recovery.seconds
        ));
    }
}

/// A line for each database, and one for each folder of logs.
fn checksums(server: &Server, lines: &mut Vec<String>) {
    let of_database = |path: &str| {
        let databases = server.instances.iter().flat_map(|i| &i.details.databases);
        databases.clone().any(|database| database.path == path)
    };
    for file in server.checksum.iter().filter(|f| of_database(&f.file)) {
        lines.push(match (file.pages_seen, file.pages_bad) {
            (Some(seen), Some(bad)) => format!(
                "Database checksum: {} (100% processed), {} pages seen, {} bad",
                file.file,
                grouped(seen),
                grouped(bad)
            ),
            _ => format!(
                "Database checksum: {} ({} of {} read), pages not measured",
                file.file,
                ByteSize::bytes(file.bytes_read.unwrap_or(0)),
                ByteSize::bytes(file.bytes)
            ),
        });
    }
    for instance in &server.instances {
        let folder = format!("{}/", instance.details.log.path);
        let logs = server.checksum.iter();
        let logs: Vec<_> = logs.filter(|file| file.file.starts_with(&folder)).collect();
        if logs.is_empty() {
            continue;
        }
        let passed = logs.iter().filter(|file| file.pages_bad == Some(0)).count();
        lines.push(format!(
            "Log checksum: {} ({passed} of {} logs passed)",
            instance.details.log.path,
            logs.len()
        ));
    }
}

fn latencies(server: &Server, lines: &mut Vec<String>) {
    for instance in &server.instances {
        for (mean, what) in [
            (instance.db_read_latency_ms, "I/O Database Reads Average Latency"),
            (instance.log_write_latency_ms, "I/O Log Writes Average Latency"),
        ] {
            if let Some(mean) = mean {
                lines.push(format!("{} has {mean:.3} for {what}", instance.name));
            }
        }
    }
    let stalls = server.host_counter(PAGE_FAULT_STALLS);
    if let Some(most) = stalls.and_then(|stalls| stalls.max) {
        lines.push(format!("Test has {} maximum Database Page Fault Stalls/sec", decimals(most)));
    }
}

fn seconds(span: Span) -> String {
    format!("{} s", decimals(span.as_seconds()))
}

#[cfg(test)]
mod tests {
    use brunt_ese::format::stamp::Stamp;
    use brunt_report::result::Backup;

    use super::*;

    const RESULT: &str = include_str!("../../report/tests/report/result_v2.json");

    #[test]
    fn it_is_said_which_databases_are_opened_and_which_are_made() {
        let kept = |mib, minute: u64| Kept {
            size: ByteSize::mib(mib),
            made: Stamp::from_unix_millis(1_795_406_709_000 + minute * 60_000).to_string(),
        };
        let two = [ByteSize::mib(512); 2];
        assert_eq!(databases(&[], &two), "create 2 databases x 512 MiB");
        assert_eq!(
            databases(&[kept(2_080, 0), kept(2_080, 0)], &two[..1]),
            "open 2 databases of 2.03 GiB from 2026-11-23 04:05; create 1 database x 512 MiB"
        );
        assert_eq!(
            databases(&[kept(3, 1), kept(2, 0)], &[]),
            "open 2 databases of 2 MiB to 3 MiB from 2026-11-23 04:05 to 2026-11-23 04:06"
        );
    }

    #[test]
    fn the_end_names_every_instance_and_file() {
        let result = RunResult::from_json(RESULT).unwrap();
        let lines = ending(&result);
        assert_eq!(lines[0], "Batch transaction stats: 5690, 5690");
        assert_eq!(lines[1], "Databases shut down: Instance 1 (complete), Instance 2 (complete)");
        assert_eq!(
            lines[2],
            "Database checksum: /data/db1/sample1.edb (100% processed), 1,048,576 pages seen, 0 bad"
        );
        let mut backup = result.clone();
        backup.storage.servers[0].backup.push(Backup {
            instance: "DB1".to_owned(),
            megabytes: 1024.0,
            seconds: 2.0,
            mb_per_s: 512.0,
            copied_to: None,
        });
        let backup = ending(&backup);
        let wanted = "Database backup: DB1 (100% processed), 1,024 MB in 2.000 s";
        assert_eq!(backup[1], wanted, "and nothing was shut down");
        let latency = |line: &&String| line.starts_with("Instance 2 has 24.");
        assert_eq!(lines.iter().filter(latency).count(), 1);
        assert!(lines.last().unwrap().starts_with("Test ends: Fail. "));
    }
}
