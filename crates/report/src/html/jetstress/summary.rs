//! Test Summary, Database Sizing and Throughput, Jetstress System Parameters.

use brunt_units::Span;

use crate::Timestamp;
use crate::result::{Colour, Precision, RunResult, Setup};
use crate::table::{Cell, Table};

pub(super) fn summary(result: &RunResult, outcome: &str) -> Table {
    let (times, origin) = (&result.times, &result.origin);
    let when = |time: Option<Timestamp>| time.map_or("not measured".into(), |at| result.when(at));
    let all = |of: fn(&crate::result::Server) -> String| {
        let mut names: Vec<String> = result.storage.servers.iter().map(of).collect();
        names.dedup();
        Cell::from(names.join(", "))
    };
    let system = all(|server| {
        let machine = &server.details.machine;
        match machine.kernel.as_str() {
            "" => "none: in virtual time".to_owned(),
            kernel => format!("{}, Linux {kernel}", machine.operating_system),
        }
    });
    let program = format!("none; {}", origin.program());
    let mut table = Table::pairs(
        "Test Summary",
        vec![
            ("Overall Test Result", outcome.into()),
            ("Machine Name", all(|server| server.name.clone())),
            ("Test Description", result.storage.details.setup.description.as_str().into()),
            ("Test Start Time", result.when(times.started)),
            ("Test End Time", when(times.ended)),
            ("Collection Start Time", when(times.collection_started)),
            ("Collection End Time", when(times.collection_ended)),
            ("Jetstress Version", program.as_str().into()),
            ("ESE Version", program.as_str().into()),
            ("Operating System", system),
            ("Performance Log", "counters.csv, latency.hlog".into()),
        ]
        .into_iter()
        .chain(parts(result.storage.precision.as_ref()))
        .collect(),
    );
    table.rows[0].class = match result.colour() {
        Colour::Green => "success",
        Colour::Red => "failure",
        Colour::Amber => "doubt",
        Colour::Grey => "",
    };
    table
}

/// Seeds of a prediction share its duration, and begin at the same virtual time: start and end of
/// the collection are those of one.
fn parts(precision: Option<&Precision>) -> Option<(&'static str, Cell)> {
    let precision = precision.filter(|precision| precision.seeds.len() > 1)?;
    let seeds = precision.seeds.len();
    let each = Span::from_seconds(precision.collected_s / seeds as f64);
    let all = Span::from_seconds(precision.collected_s);
    let said = format!("{seeds} parts of {each} side by side, together {all}");
    Some(("Collection Length", said.into()))
}

pub(super) fn sizing(result: &RunResult) -> Table {
    let rate =
        |rate: Option<f64>, without: &str| rate.map_or(without.into(), |rate| Cell::Fixed(rate, 3));
    let bytes = |bytes: Option<u64>| bytes.map_or("not measured".into(), Cell::Bytes);
    let (achieved, target) = match super::counts_logical_disks(result) {
        true => ("Achieved I/O per Second", "Target I/O per Second"),
        false => ("Achieved Transactional I/O per Second", "Target Transactional I/O per Second"),
    };
    let rows = vec![
        (achieved, rate(result.storage.achieved_iops, "not measured")),
        (target, rate(result.storage.target_iops, "none set")),
        ("Initial Database Size (bytes)", bytes(result.storage.database_bytes_initial)),
        ("Final Database Size (bytes)", bytes(result.storage.database_bytes_final)),
        ("Database Files (Count)", result.storage.database_files.to_string().into()),
    ];
    Table::pairs("Database Sizing and Throughput", with_shares(result, rows))
}

/// The thread count as that version of Jetstress counts it, with its scope when that is not the
/// server.
fn threads(setup: &Setup) -> String {
    match setup.session_scope.as_str() {
        "instance" => format!("{} (per-storage group)", setup.sessions_each),
        "database" => format!("{} (per-database)", setup.sessions_each),
        _ => setup.sessions.to_string(),
    }
}

/// A throughput test shows shares of capacity and throughput where other tests have a target.
/// Scripts that read later reports rely on the row of the target, so there the shares are appended
/// instead.
fn with_shares<'a>(result: &RunResult, mut rows: Vec<(&'a str, Cell)>) -> Vec<(&'a str, Cell)> {
    let setup = &result.storage.details.setup;
    let Some(throughput) = setup.throughput_percent else {
        return rows;
    };
    let capacity = setup.capacity_percent;
    let capacity = capacity.map_or("not by capacity".to_owned(), |share| share.to_string());
    let shares = [
        ("Capacity Percentage", capacity.into()),
        ("Throughput Percentage", throughput.to_string().into()),
    ];
    match super::counts_logical_disks(result) {
        true => drop(rows.splice(1..2, shares)),
        false => rows.extend(shares),
    }
    rows
}

/// Bytes of an ESE log buffer: one sector.
const LOG_BUFFER: u64 = 512;

pub(super) fn parameters(result: &RunResult) -> Table {
    let setup = &result.storage.details.setup;
    let percent = |share: u32| format!("{share}%");
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / f64::from(1 << 20));
    let truth = |is: bool| if is { "True" } else { "False" }.to_owned();
    let mut rows = vec![("Thread Count", threads(setup))];
    let former = super::counts_logical_disks(result);
    if former {
        let buffers = setup.log_buffer_bytes.div_euclid(LOG_BUFFER);
        rows.push(("Log Buffers", buffers.to_string()));
    }
    rows.extend([
        ("Minimum Database Cache", megabytes(setup.cache_bytes_min)),
        ("Maximum Database Cache", megabytes(setup.cache_bytes_max)),
        ("Insert Operations", percent(setup.insert_percent)),
        ("Delete Operations", percent(setup.delete_percent)),
        ("Replace Operations", percent(setup.replace_percent)),
        ("Read Operations", percent(setup.read_percent)),
        ("Lazy Commits", percent(setup.lazy_commit_percent)),
    ]);
    if !former {
        rows.extend([
            ("Run Background Database Maintenance", truth(setup.background_maintenance)),
            ("Number of Copies per Database", setup.copies.to_string()),
        ]);
    }
    Table::pairs("Jetstress System Parameters", rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = include_str!("../../../tests/report/result_v2.json");

    fn of_version(profile: &str, scope: &str) -> RunResult {
        let mut result = RunResult::from_json(RESULT).unwrap();
        let setup = &mut result.storage.details.setup;
        (setup.profile, setup.session_scope) = (profile.to_owned(), scope.to_owned());
        (setup.sessions, setup.sessions_each) = (16, 2);
        result
    }

    #[test]
    fn threads_are_counted_as_the_version_counts_them() {
        let threads = |scope| threads(&of_version("exchange-2007", scope).storage.details.setup);
        assert_eq!(threads("instance"), "2 (per-storage group)");
        assert_eq!(threads("database"), "2 (per-database)");
        assert_eq!(threads("server"), "16");
        assert_eq!(threads(""), "16", "a result of an earlier program");
    }

    #[test]
    fn the_parts_of_a_prediction_are_named() {
        let shown = |seeds: &[u64]| {
            let precision = Precision {
                stopped_early: false,
                lacked: None,
                collected_s: 7_200.0,
                duration_s: 7_200.0,
                steady_from_s: 0.0,
                wanted_rates_percent: None,
                wanted_latencies_percent: None,
                seeds: seeds.to_vec(),
                figures: Vec::new(),
            };
            parts(Some(&precision)).map(|(_, said)| said)
        };
        let said = "2 parts of 60 min 00 s side by side, together 2 h 00 min";
        assert_eq!(shown(&[1, 2]), Some(said.into()));
        assert_eq!(shown(&[1]), None);
    }

    #[test]
    fn a_throughput_test_shows_its_shares() {
        let names = |profile| {
            let mut result = of_version(profile, "server");
            result.storage.details.setup.capacity_percent = Some(100);
            result.storage.details.setup.throughput_percent = Some(80);
            let rows = ["achieved", "target", "initial"].map(|name| (name, Cell::Nothing));
            let rows = with_shares(&result, rows.to_vec());
            rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let former = ["achieved", "Capacity Percentage", "Throughput Percentage", "initial"];
        assert_eq!(names("exchange-2007"), former);
        let later =
            ["achieved", "target", "initial", "Capacity Percentage", "Throughput Percentage"];
        assert_eq!(names("exchange-2013"), later);
    }
}
