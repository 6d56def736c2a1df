//! The page of a test of mail servers: every outcome has its row, and what failed is named with the
//! number of the message.

use brunt_report::result::*;
use brunt_report::{Listed, Run, Timestamp, are_one_test, report_html, side_by_side};
use serde_json::Value;

use crate::validator;

const SCHEMA: &str = include_str!("../../../../docs/result.schema.json");

fn work(latency: MailLatency) -> MailWork {
    let task = |task: &str, share| MailTask {
        task: task.to_owned(),
        planned: 200,
        done: 199,
        failed: 1,
        response: Some(latency),
        service: Some(latency),
        delayed_ack_share: Some(share),
    };
    MailWork {
        profile: "mmb3".to_owned(),
        day_s: 120.0,
        steady_s: 60.0,
        score_ms: Some(77.0),
        submitted_per_min: Some(35.0),
        delivered_per_min: Some(88.0),
        tasks: vec![task("read", 0.25), task("send", 0.1)],
        session: Some(latency),
        session_delayed_ack_share: Some(0.9),
        waiting_max: 12,
        queue_growth: Some(-0.5),
        not_offered: vec!["quota".to_owned()],
    }
}

#[test]
fn tasks_stand_against_their_plan_and_the_timer_is_named() {
    let page = report_html(&run(MailLedger::default(), Verdict::Pass));
    for said in [
        "What users did, and how long they waited",
        "Profile mmb3, a day of 120 s",
        "does not offer it: quota",
        "read: 25 % of the times lie between 38 and 50 ms",
        "opening a session that sends: 90 % of the times",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("send: 10 % of the times"));
}

fn run(ledger: MailLedger, verdict: Verdict) -> Run {
    let server = |name: &str, role: &str, settings: &str| MailServer {
        name: name.to_owned(),
        version: Some("2.3.19".to_owned()),
        role: role.to_owned(),
        settings: settings.to_owned(),
    };
    let latency =
        MailLatency { count: 4_990, p50_ms: 5.5, p95_ms: 20.25, p99_ms: 41.0, max_ms: 1_204.0 };
    let mail = Mail {
        users: 50,
        servers: vec![
            server("Postfix", "relay", ""),
            server("Dovecot", "store", "sdbox, mail_fsync = optimized"),
        ],
        submission: "smtp".to_owned(),
        messages: 1_668,
        deliveries: 5_001,
        sending_s: 20.5,
        submitted_per_min: Some(4_880.0),
        accepted_per_min: Some(14_600.0),
        acceptance: Some(latency),
        visible: None,
        told: None,
        work: Some(work(latency)),
        ledger,
        findings: vec![MailFinding {
            message: 71,
            user: "u<03>@test.invalid".to_owned(),
            outcome: "changed".to_owned(),
            detail: "byte 512 is 0x41, not 0x61".to_owned(),
            section: "RFC 5321, 4.5.2".to_owned(),
        }],
        faults: vec![MailFault {
            what: "Dovecot killed".to_owned(),
            from_s: 10.25,
            until_s: Some(10.75),
        }],
        cut_loses_unsynced: Some(true),
        folders_renewed: 1,
        control: Some(MailControl {
            settings: "mail_fsync = never".to_owned(),
            accepted: 457,
            lost: 261,
        }),
        queue: Some(MailQueue { messages: 0, deliveries: 0 }),
        unread: Vec::new(),
        errors: vec![MailErrors {
            kind: "connection reset".to_owned(),
            count: 8,
            first: "<reset> by peer".to_owned(),
        }],
    };
    let sample = crate::sample::run(true).result;
    let lost = RuleName { id: "mail-changed", group: Group::Integrity, title: "mail changed" };
    let rule = Rule::at_most(lost, "deliveries", 0.0, Some(ledger.changed as f64));
    let result = RunResult::of_mail(
        MailRun {
            name: "load".to_owned(),
            sentence: "One delivery was changed.".to_owned(),
            verdict,
            reasons: vec!["servers were killed, the machine was not".to_owned()],
            rules: vec![rule],
            times: sample.times,
            origin: sample.origin,
            machine: sample.storage.servers[0].details.machine.clone(),
            backend: "io_uring".to_owned(),
        },
        mail,
    );
    Run { result, scenario: String::new(), events: Vec::new(), samples: Vec::new() }
}

fn ledger() -> MailLedger {
    MailLedger {
        accepted: 4_990,
        found: 4_988,
        refused: 3,
        unanswered_absent: 8,
        explained_double: 1,
        explained_max: 40,
        changed: 1,
        ..MailLedger::default()
    }
}

#[test]
fn a_page_names_what_failed_and_counts_everything() {
    let html = report_html(&run(ledger(), Verdict::Fail));
    for outcome in ledger().outcomes() {
        assert!(html.contains(&format!(">{}</", outcome.0)), "{}", outcome.0);
    }
    for words in ["4,988", ">71<", "byte 512 is 0x41", "Dovecot killed", "What failed", "1,204"] {
        assert!(html.contains(words), "{words}");
    }
    assert!(html.contains("u&lt;03&gt;@") && html.contains("&lt;reset&gt;"));
    assert!(!html.contains("<script src") && !html.contains("u<03>"));
}

#[test]
fn a_pass_says_what_it_does_not_show() {
    let good = MailLedger { changed: 0, found: 4_989, ..ledger() };
    let html = report_html(&run(good, Verdict::Pass));
    assert!(html.contains("PASS, not a qualification"));
    assert!(html.contains("Servers were killed, the machine was not."));
    assert!(!html.contains("What failed"));
}

#[test]
fn the_section_keeps_to_the_schema_and_is_read_again() {
    let result = run(ledger(), Verdict::Fail).result;
    assert_eq!(RunResult::from_json(&result.to_json()).unwrap(), result);
    let value: Value = serde_json::from_str(&result.to_json()).unwrap();
    assert_eq!(value["storage"]["test"], "mail");
    assert_eq!(value["mail"]["ledger"]["changed"], 1);
    if let Some(faults) = validator::faults(SCHEMA, &[value]) {
        assert_eq!(faults, [[""; 0]]);
    }
}

#[test]
fn runs_of_mail_are_listed_and_not_added_up() {
    let mut runs = [run(ledger(), Verdict::Fail), run(ledger(), Verdict::Pass)];
    runs[1].result.origin.run_id = "another".to_owned();
    runs[1].result.times.started = Timestamp { unix_seconds: 1 };
    let apart = are_one_test(&runs).unwrap_err().to_string();
    assert_eq!(apart, "each test of mail servers has a ledger of its own");
    let listed = runs.map(|run| Listed { label: "a".to_owned(), report: None, run });
    let text = side_by_side(&listed).to_text();
    assert!(text.contains("accepted /min") && text.contains("14,600"), "{text}");
}
