//! The lines of the test log, in the words that readers of Jetstress logs know.
//!
//! Source of the vocabulary and of the order: logs in published reports of Jetstress 08.02 and
//! 15.00.0995. What brunt has and Jetstress has not (records, hung I/O, notes) stands between in
//! its own words.

use brunt_qualify::plan::Plan;
use brunt_report::event::{COLLECTION_ENDS, COLLECTION_STARTS};
use brunt_report::{counted, decimals};
use brunt_run::{Kept, News};
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
        News::Happened { what, .. } => vec![what.clone()],
        News::Control { name } => vec![format!("Control: {name}")],
        News::Step { when, name } => vec![format!("{when}: {name}")],
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

fn seconds(span: Span) -> String {
    format!("{} s", decimals(span.as_seconds()))
}

#[cfg(test)]
mod tests {
    use brunt_ese::format::stamp::Stamp;

    use super::*;

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
}
