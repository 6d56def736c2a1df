//! A running test on the screen: the state of its rules, a picture of read latency over the run,
//! and a row a database.
//!
//! ```text
//! test          ##################..........   41 s of 60 s   then verification
//!               1,202 IOPS   mean 1,198, at least 950   read 0.17 ms (p99 0.92)
//!               write 0.40 ms   log 0.29 ms   stalls 0   pass so far
//! rules         limits ok   integrity ok   steadiness -   tail ok   fair test ok
//! reads         ▁▁▂▁▃▂▁█▂▁▁   up to 0.31 ms
//! DB1           read #....... 0.17 of 20 ms   log #....... 0.29 of 10 ms
//! DB2           read #....... 0.16 of 20 ms   log #....... 0.31 of 10 ms
//! ```
//!
//! The rows below the figures are left out where there is no terminal, and databases that do not
//! fit, the best first.

use std::cmp::Ordering;
use std::time::Instant;

use brunt_qualify::plan::Plan;
use brunt_report::{counted, decimals};
use brunt_run::{Live, LiveDatabase};
use brunt_units::{Span, Time};

use crate::progress::exact;

/// Cells of a bar.
const BAR: usize = 8;
/// Cells of the picture of read latency, which fit 80 columns with their label and maximum.
const CELLS: usize = 48;
const NAME: usize = 13;

/// What the screen remembers of a test.
#[derive(Debug)]
pub(super) struct Screen {
    read_limit: Span,
    log_limit: Span,
    reads: History,
    last: Option<Live>,
    /// Whether the terminal shows more than ASCII.
    is_unicode: bool,
}

impl Screen {
    pub(super) fn new(plan: &Plan, is_unicode: bool) -> Self {
        let limits = &plan.limits.latency;
        Self {
            read_limit: limits.read_mean,
            log_limit: limits.log_mean,
            reads: History::default(),
            last: None,
            is_unicode,
        }
    }

    /// Takes in the state of the test.
    pub(super) fn note(&mut self, live: &Live) {
        if let Some(read) = live.read {
            self.reads.push(read.as_millis());
        }
        let mut live = live.clone();
        let before = self.last.take().map(|last| last.databases);
        for (now, before) in live.databases.iter_mut().zip(before.into_iter().flatten()) {
            // A sample that has just begun has nothing to show yet.
            now.read = now.read.or(before.read);
            now.log_write = now.log_write.or(before.log_write);
        }
        self.last = Some(live);
    }

    /// The rows below the figures, at most `room` of them.
    pub(super) fn rows(&self, room: usize) -> Vec<String> {
        let Some(live) = &self.last else {
            return Vec::new();
        };
        let mut rows = vec![rules(live)];
        rows.extend(self.reads.drawn(self.is_unicode));
        let room = room.saturating_sub(rows.len());
        let all = live.databases.len();
        let mut databases: Vec<&LiveDatabase> = live.databases.iter().collect();
        if all > room {
            databases.sort_by(|one, other| {
                let [one, other] = [one, other].map(|database| self.used(database));
                other.partial_cmp(&one).unwrap_or(Ordering::Equal)
            });
            databases.truncate(room.saturating_sub(1));
        }
        rows.extend(databases.iter().map(|database| self.row(database)));
        let more = all - databases.len();
        if more > 0 && room > 0 {
            rows.push(format!("{:NAME$} and {more} more", ""));
        }
        rows
    }

    /// The larger share of both limits, and that of reads: databases of an instance have the same
    /// log.
    fn used(&self, database: &LiveDatabase) -> (f64, f64) {
        let read = share(database.read, self.read_limit);
        let log = share(database.log_write, self.log_limit);
        (read.max(log), read)
    }

    fn row(&self, database: &LiveDatabase) -> String {
        let name: String = database.name.chars().take(NAME).collect();
        format!(
            "{name:NAME$} read {}   log {}",
            against(database.read, self.read_limit),
            against(database.log_write, self.log_limit)
        )
    }
}

/// A line of the rules so far, group by group.
fn rules(live: &Live) -> String {
    let groups = live.so_far.groups.iter().map(|(group, outcome)| {
        let word = match outcome.as_str() {
            "not measured" => "-",
            outcome => outcome,
        };
        format!("{group} {word}")
    });
    let groups: Vec<String> = groups.collect();
    let groups = match groups.is_empty() {
        true => "not judged before the first sample".to_owned(),
        false => groups.join("   "),
    };
    format!("{:NAME$} {groups}", "rules")
}

fn share(latency: Option<Span>, limit: Span) -> f64 {
    latency.map_or(0.0, |latency| latency.as_seconds() / limit.as_seconds())
}

/// `#....... 0.17 of 20 ms`; the last cell of a bar that is over its limit is a `!`.
fn against(latency: Option<Span>, limit: Span) -> String {
    let share = share(latency, limit);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between zero and the bar's length"
    )]
    let full = (share.clamp(0.0, 1.0) * BAR as f64).ceil() as usize;
    let mut bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR - full));
    if share > 1.0 {
        bar.replace_range(BAR - 1.., "!");
    }
    let latency = latency.map_or("-".to_owned(), |latency| decimals(latency.as_millis()));
    format!("{bar} {latency:>4} of {} ms", limit.as_millis())
}

/// Values over a run of any length, in cells of equal length: when there are too many, every two
/// become one.
#[derive(Debug, Default)]
struct History {
    /// Sum and number of the values of each cell.
    cells: Vec<(f64, u32)>,
    /// Values in a full cell.
    each: u32,
}

impl History {
    fn push(&mut self, value: f64) {
        self.each = self.each.max(1);
        match self.cells.last_mut() {
            Some((sum, count)) if *count < self.each => {
                *sum += value;
                *count += 1;
            }
            _ => self.cells.push((value, 1)),
        }
        if self.cells.len() > CELLS {
            let pairs = self.cells.chunks(2);
            let sum = |pair: &[(f64, u32)]| {
                pair.iter().fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
            };
            self.cells = pairs.map(sum).collect();
            self.each *= 2;
        }
    }

    /// The means of the cells between zero and the largest; nothing without values.
    fn drawn(&self, is_unicode: bool) -> Option<String> {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];
        let levels = if is_unicode { BLOCKS } else { ASCII };
        let means = self.cells.iter().map(|(sum, count)| sum / f64::from(*count));
        let most = means.clone().max_by(f64::total_cmp)?;
        let level = |mean: f64| {
            let share = if most > 0.0 { mean / most } else { 0.0 };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between zero and the number of levels"
            )]
            let level = (share * levels.len() as f64).ceil() as usize;
            levels[level.clamp(1, levels.len()) - 1]
        };
        let picture: String = means.map(level).collect();
        Some(format!("{:NAME$} {picture}   up to {} ms", "reads", decimals(most)))
    }
}

/// How fast virtual time goes by at `at`, if the test began to be watched at `since` in virtual
/// time.
pub(super) fn speed(since: Option<Instant>, at: Time) -> String {
    let Some(since) = since else {
        return String::new();
    };
    let real = since.elapsed().as_secs_f64().max(1e-3);
    let speed = (at - Time::ZERO).as_seconds() / real;
    format!("   {} s of virtual time per second", decimals(speed))
}

/// The figures of a running test.
pub(super) fn testing(live: &Live, speed: &str) -> String {
    let millis =
        |span: Option<Span>| span.map_or("-".to_owned(), |span| decimals(span.as_millis()));
    let least = live
        .io_per_s_min
        .map_or_else(String::new, |least| format!(", at least {}", decimals(least)));
    format!(
        "{} of {}{speed}\n{} IOPS   mean {}{least}   read {} ms (p99 {})   write {} ms   log {} ms   {}   {}",
        exact(live.elapsed.as_seconds()),
        exact(live.duration.as_seconds()),
        decimals(live.io_per_s),
        decimals(live.io_per_s_mean),
        millis(live.read),
        millis(live.read_p99),
        millis(live.write),
        millis(live.log_write),
        counted(live.stalls, "stall"),
        state(live),
    )
}

/// What the rules say so far.
fn state(live: &Live) -> String {
    let so_far = &live.so_far;
    match (so_far.passes, &so_far.failed) {
        (Some(false), Some(failed)) => format!("fail so far: {failed}"),
        (Some(false), None) => "fail so far".to_owned(),
        (Some(true), _) => "pass so far".to_owned(),
        (None, _) => "undecided".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use brunt_run::SoFar;

    use super::*;
    use crate::progress::standing::Standing;
    use crate::progress::standing::tests::Terminal;

    fn screen() -> Screen {
        Screen {
            read_limit: Span::millis(20),
            log_limit: Span::millis(10),
            reads: History::default(),
            last: None,
            is_unicode: true,
        }
    }

    fn live(databases: u64) -> Live {
        let database = |number: u64| LiveDatabase {
            name: format!("DB{number}"),
            read: Some(Span::millis(number)),
            log_write: Some(Span::micros(290)),
        };
        Live {
            read: Some(Span::micros(170)),
            databases: (1..=databases).map(database).collect(),
            ..Live::default()
        }
    }

    #[test]
    fn a_frame_has_rules_reads_and_every_database() {
        let mut screen = screen();
        let mut live = live(2);
        screen.note(&live);
        live.read = Some(Span::micros(310));
        live.databases[0].read = None;
        live.databases[1].read = Some(Span::millis(34));
        let groups = [("limits", "failed"), ("steadiness", "not measured"), ("fair test", "ok")];
        let owned = |(group, outcome): (&str, &str)| (group.to_owned(), outcome.to_owned());
        live.so_far.groups = groups.map(owned).to_vec();
        screen.note(&live);
        assert_eq!(
            screen.rows(20),
            [
                "rules         limits failed   steadiness -   fair test ok",
                "reads         ▅█   up to 0.31 ms",
                "DB1           read #....... 1.00 of 20 ms   log #....... 0.29 of 10 ms",
                "DB2           read #######! 34.0 of 20 ms   log #....... 0.29 of 10 ms",
            ]
        );
        screen.is_unicode = false;
        assert_eq!(screen.rows(20)[1], "reads         =#   up to 0.31 ms");
    }

    #[test]
    fn where_databases_do_not_fit_the_worst_come_first() {
        let mut screen = screen();
        screen.note(&live(9));
        let rows = screen.rows(5);
        assert_eq!(rows.len(), 5);
        let names: Vec<&str> = rows[2..].iter().map(|row| row[..14].trim()).collect();
        assert_eq!(names, ["DB9", "DB8", ""]);
        assert_eq!(rows[4], "              and 7 more");
        assert_eq!(screen.rows(11).len(), 11, "all of them fit");
        assert_eq!(screen.rows(0).len(), 2);
    }

    #[test]
    fn frames_replace_one_another_and_the_last_stays() {
        let (standing, mut terminal, mut screen) = (Standing::default(), Terminal::new(), screen());
        for databases in [3, 3, 1] {
            screen.note(&live(databases));
            terminal.write(&standing.stand(&screen.rows(24).join("\n"), Some(80)));
        }
        terminal.write(&standing.say(&screen.rows(24).join("\n"), Some(80)));
        assert_eq!(
            terminal.rows,
            [
                "rules         not judged before the first sample",
                "reads         ███   up to 0.17 ms",
                "DB1           read #....... 1.00 of 20 ms   log #....... 0.29 of 10 ms",
                ""
            ]
        );
    }

    #[test]
    fn a_run_of_any_length_fits() {
        let mut history = History::default();
        for value in 0..10_000 {
            history.push(f64::from(value));
        }
        let drawn = history.drawn(true).unwrap();
        let cells = drawn.chars().filter(|letter| *letter >= '▁').count();
        assert!((24..=CELLS).contains(&cells), "{drawn}");
        assert!(drawn.chars().count() <= 80, "{drawn}");
        assert_eq!(History::default().drawn(true), None);
    }

    #[test]
    fn it_passes_so_far_only_when_the_rules_say_so() {
        let with = |so_far| {
            let live =
                Live { io_per_s_mean: 4_158.0, io_per_s_min: Some(57_000.0), so_far, ..live(1) };
            testing(&live, "")
        };
        let text = with(SoFar::default());
        assert!(text.contains("mean 4,158, at least 57,000   "), "{text}");
        assert!(text.ends_with("   undecided"), "{text}");
        let so_far = |passes| SoFar {
            passes: Some(passes),
            failed: Some("achieved database I/O".to_owned()),
            groups: Vec::new(),
        };
        assert!(with(so_far(true)).ends_with("   pass so far"));
        assert!(with(so_far(false)).ends_with("   fail so far: achieved database I/O"));
    }
}
