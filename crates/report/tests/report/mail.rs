//! The page of a test of mail servers: every outcome has its row, and what failed is named with the
//! number of the message.

use brunt_report::parts::Parts;
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
        at_once: (share > 0.2).then_some(MailLatency { count: 20, p50_ms: 0.28, ..latency }),
    };
    MailWork {
        profile: "mmb3".to_owned(),
        day_s: 120.0,
        filled: 150_000,
        filled_s: 210.0,
        is_stress: false,
        ended_by: None,
        steady_s: 60.0,
        score_ms: Some(77.0),
        submitted_per_min: Some(35.0),
        delivered_per_min: Some(88.0),
        tasks: vec![task("read", 0.25), task("send", 0.1)],
        session: Some(latency),
        session_delayed_ack_share: Some(0.9),
        session_at_once: None,
        waiting_max: 12,
        queue_growth: Some(-0.5),
        schedule_error: Some(latency),
        slowest: Some(MailSlowest {
            task: "read".to_owned(),
            p95_ms: 9.5,
            because: "storage: sda was in use for 93 %".to_owned(),
        }),
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
        "Read: 25 % of the times are from 38 to 50 ms; p50 5.50 ms, and 0.28 ms in 20 times with TCP_QUICKACK: \
         this is TCP's timer (40 ms)",
        "Opening a session that sends: 90 % of the times are from 38 to 50 ms, as those of",
    ] {
        assert!(said_on(&page, said), "{said}");
    }
    assert!(!page.contains("Send: 10 % of the times"));
}

fn usage() -> MailUsage {
    let server = |server: &str, processors| MailServerUsage {
        server: server.to_owned(),
        processors,
        memory_mib_max: 61.5,
        processes_max: 40,
        read_mib_per_s: 0.0,
        written_mib_per_s: 3.25,
    };
    MailUsage {
        seconds: 59.0,
        servers: vec![server("Postfix", 0.4), server("Dovecot", 1.1)],
        storage: Some(MailStorage {
            device: "sda".to_owned(),
            busy: 0.93,
            reads_per_s: 2.0,
            read_ms: Some(1.5),
            writes_per_s: 300.0,
            write_ms: Some(25.0),
            flushes_per_s: Some(120.0),
        }),
        brunt_processors: Some(0.12),
        processors: 2,
        machine_busy: Some(0.85),
        stalled_on_processor: Some(0.3),
        stalled_on_io: Some(0.2),
        memory_available_mib_min: Some(4_096.0),
    }
}

#[test]
fn what_was_used_and_what_loadsim_would_have_said_is_shown() {
    let page = report_html(&run(MailLedger::default(), Verdict::Pass));
    for said in [
        "<td>Dovecot</td><td class=\"n\">1.10</td><td class=\"n\">61.5</td>",
        "<td>brunt, its sessions</td><td class=\"n\">0.12</td>",
        "sda, under the servers' folder, was in use for 93 %",
        "Slowest, p95 9.50 ms: read. Storage: sda was in use for 93 %.",
        "Before the day 150,000 messages were put into the mailboxes, in 210 s",
        // A write takes longer than Microsoft's limit, a processor is busier.
        "<td>write of the device, mean (ms)</td><td class=\"n\">25.0</td><td>beyond</td>",
        "<td class=\"n\">85.0</td><td>beyond</td>",
        "<td>MemAvailable, least (MiB)</td><td class=\"n\">4,096</td><td>within</td>",
        "not applicable: the address space of 32-bit Windows",
    ] {
        assert!(said_on(&page, said), "{said}");
    }
}

/// Whether the page says it, whatever keeps numbers and units together.
fn said_on(page: &str, said: &str) -> bool {
    page.replace('\u{a0}', " ").replace("&#x27;", "'").replace("&#39;", "'").contains(said)
}

#[test]
fn users_without_a_break_have_no_response() {
    let mut run = run(MailLedger::default(), Verdict::Pass);
    let mail = run.result.mail.as_mut().expect("it is one of mail");
    let work = mail.work.as_mut().expect("users worked");
    work.is_stress = true;
    (work.score_ms, work.schedule_error) = (None, None);
    work.tasks.iter_mut().for_each(|task| task.response = None);
    let page = report_html(&run);
    assert!(page.contains("What users did without a break") && page.contains("in stress mode"));
    for unsaid in
        ["Response p50", "Server alone, p95", "tasks waited at once", "<span>Score</span>"]
    {
        assert!(!page.contains(unsaid), "{unsaid}");
    }
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
        usage: Some(usage()),
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
    Run {
        result,
        scenario: String::new(),
        events: Vec::new(),
        samples: Vec::new(),
        parts: Parts::default(),
    }
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
