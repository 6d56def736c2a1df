//! The report holds what it has to hold, in the order readers and their scripts expect, and nothing a user wrote runs.

mod sample;

use brunt_report::result::{Outcome, Verdict};
use brunt_report::{Counters, Run, RunFolder, report_html};

fn place(html: &str, text: &str) -> usize {
    html.find(text)
        .unwrap_or_else(|| panic!("no `{text}` in the report"))
}

#[test]
fn the_verdict_comes_first_and_the_origin_last() {
    let run = sample::run(false);
    assert_eq!(run.result.verdict, Verdict::Fail);
    let html = report_html(&run);
    let order = [
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
        "How it was made",
        "--seed 7",
    ];
    let places: Vec<_> = order.iter().map(|text| place(&html, text)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(html.matches("<svg").count(), 4);
}

#[test]
fn scripts_for_jetstress_reports_find_their_cells() {
    let html = report_html(&sample::run(true));
    assert!(html.contains(
        "<td class=\"grid_row_header\">Overall Test Result</td>\n<td class=\"success\">Pass</td>"
    ));
    let fieldsets: Vec<_> = html.split("<fieldset>").skip(1).collect();
    assert!(fieldsets[1].contains("Achieved Transactional I/O per Second"));
    let row = fieldsets[4].split("<tbody>").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("<td>Instance 1</td>"));
    assert_eq!(row.matches("<td>").count(), 13);
}

#[test]
fn the_file_needs_nothing_from_elsewhere() {
    let html = report_html(&sample::run(true));
    for text in [
        "http://", "https://", "<link", "<script", "url(", "@import", "<img",
    ] {
        assert!(!html.contains(text), "{text}");
    }
}

#[test]
fn what_a_user_wrote_stays_text() {
    const EVIL: &str = "</pre><script>alert(1)</script>";
    let mut run = sample::run(true);
    let result = &mut run.result;
    let instance = &mut result.instances[0];
    for text in [
        &mut result.name,
        &mut result.sentence,
        &mut result.setup.description,
        &mut result.origin.command,
        &mut instance.name,
        &mut instance.databases[0].path,
        &mut result.rules[0].remark,
        &mut run.scenario,
        &mut run.events[0].text,
    ] {
        *text = EVIL.to_owned();
    }
    let html = report_html(&run);
    assert!(!html.contains("<script"));
    assert!(html.matches("&lt;script&gt;").count() >= 9);
}

#[test]
fn a_run_that_never_collected_still_has_a_report() {
    let Run {
        mut result,
        scenario,
        ..
    } = sample::run(true);
    result.verdict = Verdict::Interrupted;
    result.samples.clear();
    result.instances.clear();
    result.times.collection_started = None;
    result.sizing.achieved_io_per_s = None;
    for rule in &mut result.rules {
        rule.measured = None;
        rule.outcome = Outcome::NotMeasured;
    }
    let run = Run {
        result,
        scenario,
        events: Vec::new(),
    };
    let html = report_html(&run);
    assert!(html.contains("INTERRUPTED") && html.contains("not measured"));
    assert!(!html.contains("<svg"));
}

#[test]
fn a_run_folder_is_complete() {
    let parent = tempfile::tempdir().unwrap();
    let run = sample::run(true);
    let folder = RunFolder::create(parent.path(), run.result.times.started, "sample").unwrap();
    folder.write_run(&run, &Counters::new(), b"#log\n").unwrap();
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "counters.csv",
            "events.log",
            "latency.hlog",
            "report.html",
            "result.json",
            "scenario.toml"
        ]
    );
}
