//! The report is complete, in the order that readers expect, and executes nothing that a user
//! wrote.

use brunt_report::result::{Outcome, Sample, Verdict};
use brunt_report::{Event, Run, Timestamp, report_html};

fn place(html: &str, text: &str) -> usize {
    html.find(text).unwrap_or_else(|| panic!("no `{text}` in the report"))
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
fn a_printed_page_has_its_run_and_number_and_dates_do_not_break() {
    let run = crate::sample::run(true);
    let html = report_html(&run);
    let foot = format!(", run {}\"", run.result.origin.run_id);
    in_order(&html, &["counter(page)", &foot, "</style>"]);
    let started = run.result.times.started.for_people();
    assert!(html.contains(&format!(", <time>{started}</time></p>")));
    let dates = html.matches(" UTC").count();
    assert_eq!(dates, html.matches(" UTC</time>").count());
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
        log.pages_seen = Some(2_041);
        log.pages_bad = Some(number);
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
    for outside in ["http", "src=", "href=", "@import", "url(", "<link", "fetch(", "import "] {
        assert!(!html.contains(outside), "{outside}");
    }
}

/// Without the script a page loses the crosshair only.
#[test]
fn the_only_script_reads_the_attributes_of_the_pictures() {
    let html = report_html(&crate::sample::run(true));
    assert_eq!(html.matches("<script").count(), 1);
    let (page, script) = html.split_once("<script>").unwrap();
    for attribute in ["data-x=", "data-axis=", "data-unit=", "data-y-unit="] {
        assert_eq!(page.matches(attribute).count(), 4, "{attribute}");
    }
    assert_eq!(page.matches("data-values=").count(), 4 + 4 + 4 + 3);
    for name in ["axis", "unit", "yUnit", "name", "values"] {
        assert!(script.contains(&format!("dataset.{name}")), "{name}");
    }
    assert!(!script.contains("innerHTML"));
}

#[test]
fn only_limits_that_are_judged_are_drawn() {
    let mut run = crate::sample::run(true);
    let drawn = |run: &Run| report_html(run).matches("<line class=\"limit\"").count();
    assert_eq!(drawn(&run), 4, "of reads and logs, in two pictures");
    run.result.rules.retain(|rule| rule.id != "log-write-average");
    assert_eq!(drawn(&run), 2);
    run.result.rules.clear();
    assert_eq!(drawn(&run), 4, "the run did not end");
}

#[test]
fn the_tail_is_drawn_with_its_own_limit() {
    let mut run = crate::sample::run(true);
    let mut tail = run.result.rules[0].clone();
    tail.id = "tail-database-read".to_owned();
    tail.limit = Some(50.0);
    run.result.rules.push(tail);
    let html = report_html(&run);
    assert_eq!(html.matches(">read p99.9 limit 50 ms</text>").count(), 1);
    assert_eq!(html.matches(">mean read limit 20 ms</text>").count(), 2);
}

#[test]
fn target_and_pace_are_lines_that_reads_and_writes_should_reach() {
    let mut run = crate::sample::run(true);
    run.result.storage.target_iops = Some(500.0);
    let html = report_html(&run);
    for goal in [">target 500 /s</text>", ">pace 600 /s</text>", "</svg>database reads and writes<"]
    {
        assert_eq!(html.matches(goal).count(), 1, "{goal}");
    }
    run.result.storage.target_iops = None;
    run.result.storage.details.setup.pace_iops = None;
    let html = report_html(&run);
    assert!(!html.contains("<line class=\"goal\"") && !html.contains("database reads and writes<"));
}

#[test]
fn a_day_is_drawn_small_with_its_worst_sample() {
    let mut run = crate::sample::run(true);
    let samples = run.samples.clone();
    run.samples = (0..5_760)
        .map(|at| Sample { begin_s: 15.0 * f64::from(at), ..samples[at as usize % samples.len()] })
        .collect();
    run.samples[1_234].database_reads.latency_ms_mean = Some(77.7);
    let html = report_html(&run);
    assert!(html.len() < 300_000, "{} bytes", html.len());
    let latency = &html[place(&html, "<figcaption>Latency<")..];
    let values = latency.split("data-values=\"").nth(1).unwrap();
    let values = values.split('"').next().unwrap();
    assert_eq!(values.split(' ').count(), 480);
    assert!(html.contains("</svg>worst 15 s, all databases together: 77.7 ms<"));
    assert!(html.contains("Each point stands for 12 samples (3:00 min)."));
}

#[test]
fn what_happened_is_ruled_into_the_pictures_over_time() {
    let mut run = crate::sample::run(true);
    let begin = run.result.times.collection_started.unwrap().unix_seconds;
    let event = |after: u64, text: &str| Event {
        at: Timestamp { unix_seconds: begin + after },
        text: text.to_owned(),
    };
    let fault = "fault 1 on purpose: I/O error: a read of /data/<db1>/sample1.edb";
    run.events = vec![
        event(0, "Preparation done"),
        event(0, "mail-store-7: Collection starts: from now on samples count"),
        event(90, &format!("{fault} at offset 4096")),
        event(91, &format!("{fault} at offset 8192")),
        event(600, "DB1 has grown"),
        event(1_200, "mail-store-7: Performance logging ends"),
        event(1_200, "Shutting down databases"),
    ];
    let html = report_html(&run);
    assert_eq!(html.matches("<line class=\"event\"").count(), 3 * 2);
    let listed = "<ol class=\"events\"><li><time>1:30 min</time> fault 1 on purpose: I/O error: a read of \
                  /data/&lt;db1&gt;/sample1.edb (2 times)</li><li><time>10:00 min</time> DB1 has grown</li></ol>";
    assert!(html.contains(listed));
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
    assert_eq!(html.matches("<script").count(), 1, "our own");
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
    let html = report_html(&Run { events: Vec::new(), samples: Vec::new(), ..run });
    assert!(html.contains("INTERRUPTED") && html.contains("not measured"));
    assert!(!html.contains("<svg") && !html.contains("<script"));
}
