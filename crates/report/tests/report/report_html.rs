//! The report is complete, in the order that readers expect, and executes nothing that a user wrote.

use brunt_report::result::{Outcome, Verdict};
use brunt_report::{Run, report_html};

fn place(html: &str, text: &str) -> usize {
    html.find(text)
        .unwrap_or_else(|| panic!("no `{text}` in the report"))
}

fn in_order(html: &str, texts: &[&str]) {
    let places: Vec<_> = texts.iter().map(|text| place(html, text)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_verdict_comes_first_and_the_origin_last() {
    let run = crate::sample::run(false);
    assert_eq!(run.result.verdict, Verdict::Fail);
    let html = report_html(&run);
    let texts = [
        ">FAIL<",
        "does not carry the load",
        "database read, average",
        "<figure>",
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
        "Checksum Statistics",
        "How it was made",
        "kind = &quot;performance&quot;",
    ];
    in_order(&html, &texts);
    assert_eq!(html.matches("<figure>").count(), 4);
    assert!(html.contains("not measured"));
    assert!(html.contains("<td>brunt 0.1.0 (1b7112e)</td>"));
}

#[test]
fn a_profile_of_2007_has_the_tables_of_2007() {
    let mut run = crate::sample::run(true);
    run.result.storage.details.setup.profile = "exchange-2007".to_owned();
    let html = report_html(&run);
    let texts = [
        "Test Summary",
        "Database Sizing and Throughput",
        "Achieved I/O per Second",
        "Jetstress System Parameters",
        "Log Buffers",
        "Disk Subsystem Performance",
        "LogicalDisk",
        "Avg. Disk sec/Read",
        "Database (/data/db1/sample1.edb)",
        "(n/a)",
        "Host System Performance",
        "Test Log",
    ];
    in_order(&html, &texts);
    for later in ["Transactional I/O Performance", "Number of Copies"] {
        assert!(!html.contains(later), "{later}");
    }
}

#[test]
fn logs_are_checked_by_the_folder() {
    let mut run = crate::sample::run(true);
    let files = &mut run.result.storage.servers[0].checksum;
    for number in 0..3 {
        let mut log = files[0].clone();
        log.file = format!("/data/log1/E000000{number}.log");
        log.pages_seen = 2_041;
        log.pages_bad = number;
        files.push(log);
    }
    let html = report_html(&run);
    assert!(
        html.contains(
            "<td>/data/log1 (3 files)</td><td class=\"n\">6,123</td><td class=\"n\">3</td>"
        )
    );
    assert!(html.contains("<td>(Sum)</td><td class=\"n\">2,103,275</td><td class=\"n\">3</td>"));
    assert!(!html.contains("E0000001.log"));
}

#[test]
fn devices_are_named_and_what_they_do_not_tell_is_said() {
    let html = report_html(&crate::sample::run(true));
    let drive = "<td>sdb</td><td>drive</td><td>MADE-UP MU3450857SS</td><td>3SK1X5CV</td><td>unknown</td>\
                 <td>rotational</td><td>write through</td><td>mq-deadline, 256</td><td class=\"n\">512 in 4096</td>\
                 <td class=\"n\">419.19 GiB</td>";
    assert!(html.contains(drive));
    assert!(html.contains("<td>/data/db2</td><td>no block device is known (nfs4)</td>"));
}

#[test]
fn the_page_needs_nothing_else() {
    let html = report_html(&crate::sample::run(true));
    for outside in [
        "http", "src=", "href=", "@import", "url(", "<script", "<link",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn what_a_user_wrote_is_text() {
    const EVIL: &str = "<script>alert('x')</script>";
    let mut run = crate::sample::run(true);
    let result = &mut run.result;
    let server = &mut result.storage.servers[0];
    let instance = &mut server.instances[0];
    for text in [
        &mut result.scenario,
        &mut result.storage.details.sentence,
        &mut result.storage.details.setup.description,
        &mut result.origin.command,
        &mut server.name,
        &mut instance.name,
        &mut instance.details.databases[0].path,
        &mut result.rules[0].remark,
        &mut run.scenario,
        &mut run.events[0].text,
    ] {
        *text = EVIL.to_owned();
    }
    let html = report_html(&run);
    assert!(!html.contains("<script"));
    assert!(html.matches("&lt;script&gt;").count() >= 10);
}

#[test]
fn a_run_that_never_collected_still_has_a_report() {
    let mut run = crate::sample::run(true);
    let result = &mut run.result;
    result.verdict = Verdict::Interrupted;
    result.storage.servers[0].instances.clear();
    result.times.collection_started = None;
    result.storage.achieved_iops = None;
    for rule in &mut result.rules {
        rule.measured = None;
        rule.outcome = Outcome::NotMeasured;
    }
    let html = report_html(&Run {
        events: Vec::new(),
        samples: Vec::new(),
        ..run
    });
    assert!(html.contains("INTERRUPTED") && html.contains("not measured"));
    assert!(!html.contains("<svg"));
}
