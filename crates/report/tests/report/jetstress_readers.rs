//! Reads the report as scripts for Jetstress reports do.
//!
//! One script counts (jacobklitzke/Jetstress-HTML-Parse, `JetstressParse.java`): all `fieldset`s of
//! the page, all `tr` of a fieldset, all `td` of a row. It parses the text of a cell as a number.
//! Others look for a line (`xExchJetstress` of xExchange; `JetstressAutomation.ps1`): the value is
//! on the line after its name.

use brunt_report::result::{
    Backup, Mib, MibPerS, Phase, PhaseIo, PhaseName, PhaseOp, Recovery, TestKind, Verdict,
};
use brunt_report::{Run, report_html};
use brunt_stats::Reading;
use brunt_units::Span;

/// The content of each `<name>` element of `html`. None of these elements contains another of its
/// kind.
fn elements<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let parts = html.split(open.as_str()).skip(1);
    let parts = parts.filter(|part| part.starts_with(['>', ' ']));
    parts
        .map(|part| {
            let (_, inner) = part.split_once('>').unwrap();
            let (inner, _) = inner.split_once(close.as_str()).expect("it is closed");
            assert!(!inner.contains(&format!("{open}>")), "{name} in {name}");
            inner
        })
        .collect()
}

/// The cell texts of each row of a fieldset.
fn rows(fieldset: &str) -> Vec<Vec<&str>> {
    let rows = elements(fieldset, "tr");
    rows.into_iter().map(|row| elements(row, "td")).collect()
}

fn number(cell: &str) -> f64 {
    cell.trim().parse().unwrap_or_else(|_| panic!("`{cell}` is no number"))
}

fn close(one: f64, other: f64) {
    assert!((one - other).abs() <= 0.000_51 + other.abs() * 1e-9, "{one} {other}");
}

#[test]
fn a_script_that_counts_finds_its_numbers() {
    let run = crate::sample::run(true);
    let html = report_html(&run);
    let fieldsets = elements(&html, "fieldset");
    let initial = rows(fieldsets[1])[3][1];
    let bytes = run.result.storage.database_bytes_initial.unwrap();
    assert_eq!(initial.parse(), Ok(bytes));
    let line = line_after(&html, "Initial Database Size (bytes)");
    assert_eq!(elements(line, "td"), [initial]);
    let transactional = &rows(fieldsets[4])[1..];
    let instances = &run.result.storage.servers[0].instances;
    assert_eq!(transactional.len(), instances.len());
    for (cells, instance) in transactional.iter().zip(instances) {
        assert_eq!(cells.len(), 1 + 12);
        assert_eq!(cells[0], instance.name);
        let at = |column: usize| number(cells[1 + column]);
        close(at(0), instance.db_read_latency_ms.unwrap());
        close(at(1), instance.db_write_latency_ms.unwrap());
        close(at(2), instance.db_reads_per_s.unwrap());
        close(at(3), instance.db_writes_per_s.unwrap());
        close(at(4), instance.db_read_bytes.unwrap());
        close(at(5), instance.db_write_bytes.unwrap());
        close(at(7), instance.log_write_latency_ms.unwrap());
        close(at(8), 0.0);
        close(at(9), instance.log_writes_per_s.unwrap());
        close(at(11), instance.log_write_bytes.unwrap());
    }
}

#[test]
fn a_script_that_counts_finds_backup_and_recovery() {
    let mut run = crate::sample::run(true);
    let databases = 2;
    run.result.storage.servers[0].backup = (1..=databases)
        .map(|at| Backup {
            instance: format!("Instance {at}"),
            size: Mib(1000.0),
            seconds: 10.0,
            rate: MibPerS(100.0),
            copied_to: None,
        })
        .collect();
    let html = report_html(&run);
    let backup = rows(elements(&html, "fieldset")[0]);
    assert_eq!(number(backup[databases + 1][3]), 100.0);
    assert_eq!(number(backup[databases + 2][3]), 200.0);
    assert!(html.contains("<b>200</b> MiB/s"), "the figure beside the verdict");
    run.result.storage.servers[0].backup.clear();
    run.result.storage.servers[0].recovery = (1..=databases)
        .map(|at| Recovery { instance: format!("Instance {at}"), logs: 500, seconds: 250.0 })
        .collect();
    let html = report_html(&run);
    let recovery = rows(elements(&html, "fieldset")[0]);
    let sum = &recovery[databases + 2];
    assert_eq!(number(sum[1]) / number(sum[2]), 2.0);
    assert!(html.contains("<b>500</b> ms<span>for one log, mean"));
}

/// The cells of the first instance in the table of transactional I/O.
fn transactional(run: &Run) -> Vec<String> {
    let html = report_html(run);
    let fieldsets = elements(&html, "fieldset");
    let mut fieldsets = fieldsets.into_iter();
    let title = "Transactional I/O Performance";
    let table = fieldsets.find(|fieldset| elements(fieldset, "legend")[0] == title);
    let cells = rows(table.unwrap()).remove(1);
    cells.into_iter().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_io_of_a_backup_is_that_of_the_backup() {
    let mut run = crate::sample::run(true);
    run.result.storage.test = TestKind::DatabaseBackup.into();
    let unmeasured = vec!["not measured"; 12];
    assert_eq!(transactional(&run), unmeasured);
    let server = &mut run.result.storage.servers[0];
    let path = server.instances[0].details.databases[0].path.clone();
    let length = Span::seconds(10);
    let reading =
        Reading { count: 100, bytes: 100 << 18, mean: Some(Span::millis(3)), ..Reading::default() };
    server.phases.push(Phase {
        phase: PhaseName::Backup,
        seconds: 10.0,
        files: vec![PhaseIo::new(path, PhaseOp::Read, &reading, length)],
        volumes: Vec::new(),
        host: Vec::new(),
    });
    let cells = transactional(&run);
    let [latency, _, per_s, writes, bytes, ..] = &cells[..] else {
        panic!("{cells:?}");
    };
    close(number(latency), 3.0);
    close(number(per_s), 10.0);
    close(number(writes), 0.0);
    close(number(bytes), 262_144.0);
    let html = report_html(&run);
    assert!(html.contains("I/O by File - backup"), "it has a table of its own");
}

/// The line after the row head `name`.
fn line_after<'h>(html: &'h str, name: &str) -> &'h str {
    let wanted = format!("<td class=\"grid_row_header\">{name}</td>");
    let mut lines = html.lines().skip_while(|line| !line.contains(&wanted));
    lines.next().expect("the name is there");
    lines.next().expect("a line follows")
}

#[test]
fn a_script_that_looks_for_lines_finds_its_values() {
    let mut run = crate::sample::run(true);
    let html = report_html(&run);
    let line = line_after(&html, "Overall Test Result");
    assert!(line.starts_with("<td class=\"doubt\">PASS, not a qualification</td>"), "{line}");
    run.result.qualifies = true;
    let html = report_html(&run);
    let line = line_after(&html, "Overall Test Result");
    assert!(line.starts_with("<td class=\"success\">Pass</td>"), "{line}");
    let line = line_after(&html, "Achieved Transactional I/O per Second");
    close(number(elements(line, "td")[0]), run.result.storage.achieved_iops.unwrap());
    for verdict in [Verdict::Fail, Verdict::Interrupted, Verdict::Error] {
        let mut run = crate::sample::run(false);
        run.result.verdict = verdict;
        let html = report_html(&run);
        let line = line_after(&html, "Overall Test Result");
        assert!(line.contains(&format!(">{verdict}<")), "{line}");
        assert!(!line.contains("success"), "{line}");
    }
}

#[test]
fn nothing_but_their_tables_is_a_fieldset() {
    let html = report_html(&crate::sample::run(true));
    let names: Vec<_> = elements(&html, "fieldset")
        .iter()
        .map(|fieldset| elements(fieldset, "legend")[0])
        .collect();
    assert_eq!(
        names,
        [
            "Test Summary",
            "Database Sizing and Throughput",
            "Jetstress System Parameters",
            "Database Configuration",
            "Transactional I/O Performance",
            "Background Database Maintenance I/O Performance",
            "Log Replication I/O Performance",
            "Total I/O Performance",
            "Host System Performance",
            "Test Log",
        ]
    );
}
