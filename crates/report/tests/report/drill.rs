//! The page of a drill: for a pass, for lost records, and for a drill without an answer. Its
//! figures are those of the result.

use brunt_report::result::*;
use brunt_report::{
    Listed, Run, RunFolder, Timestamp, are_one_test, grouped, report_html, side_by_side,
};

/// A drill of twelve minutes: the first site is lost after one, and the second serves after another
/// 5.5.
fn passed() -> Run {
    let rpo = DrillLoss { lazy: 7, kept: 1_136, ..DrillLoss::default() };
    let step = |name: &str, seconds| DrillStep {
        name: name.to_owned(),
        seconds,
        given: name != "first operation",
    };
    let steps = vec![
        step("decision", 30.0),
        step("storage failover", 180.05),
        step("host rescan", 120.0),
        step("first operation", 0.7),
    ];
    let event = |at_s, what: &str| DrillEvent { at_s, what: what.to_owned() };
    let phase = |name: &str, from_s, to_s, io_per_s, read_ms| DrillPhase {
        name: name.to_owned(),
        from_s,
        to_s,
        io_per_s,
        read_ms,
        write_ms: None,
        log_ms: Some(4.164),
        log_worst_ms: Some(4.4255),
        log_bytes: 337_152_512,
    };
    let names = [
        "drop one acknowledged write",
        "swap two writes",
        "promote the stale side",
        "lose the tail of the log",
    ];
    let control = |name: &str| DrillControl {
        name: name.to_owned(),
        red: true,
        found: format!("drill-order: the <log> of {name}"),
    };
    let drill = Drill {
        outcome: Verdict::Pass,
        rpo: Some(rpo),
        rto_s: Some(330.75),
        out_of_service_s: None,
        steps: steps.clone(),
        controls: names.map(control).to_vec(),
        replication: DrillReplication {
            whl_peak_bytes: 195_544_576,
            merge_s: Some(61.0),
            link_bytes: 118_417_408,
        },
        failovers: vec![DrillFailover {
            kind: "unplanned failover".to_owned(),
            at_s: 60.0,
            rpo,
            rto_s: 330.75,
            steps,
        }],
        events: vec![
            event(60.0, "source lost"),
            event(270.0, "SG1: the destination serves"),
            event(270.0, "SG2: the destination serves"),
            event(390.75, "the second site serves <again>"),
        ],
        phases: vec![
            phase("before", 0.0, 60.0, 256.516, Some(0.9488)),
            phase("no service", 60.0, 390.0, 0.0, None),
            phase("after the unplanned failover", 390.75, 720.9, 130.2577, Some(0.1395)),
        ],
        samples: (1..=144).map(sample).collect(),
    };
    let mut run = crate::sample::run(true);
    run.samples.clear();
    run.events.clear();
    let result = &mut run.result;
    result.world = World::Virtual;
    result.verdict = Verdict::Pass;
    result.reasons = vec!["a rehearsal on modelled arrays".to_owned()];
    result.storage.test = Tested::Drill;
    result.storage.details.sentence = "Nothing that was acknowledged is lost.".to_owned();
    result.rules = vec![
        rule("drill-recovery-point", Group::Limits, "commits lost", 0.0, 0.0),
        rule("drill-recovery-time", Group::Limits, "s", 900.0, 330.75),
        rule("drill-in-step", Group::Limits, "apart", 0.0, 0.0),
    ];
    result.drill = Some(drill);
    run
}

fn sample(number: u32) -> DrillSample {
    let at_s = 5.0 * f64::from(number);
    let serves = !(60.0..395.0).contains(&(at_s - 1.0));
    let some = |ms: f64| serves.then_some(ms);
    DrillSample {
        at_s,
        length_s: 5.0,
        reads: if serves { 600 } else { 0 },
        read_ms: some(0.9),
        writes: if serves { 280 } else { 0 },
        write_ms: some(5.0),
        log_writes: if serves { 170 } else { 0 },
        log_ms: some(4.2),
        log_bytes: if at_s > 395.0 { u64::from(number) << 21 } else { 0 },
        at_risk_writes: (at_s < 700.0).then_some(u64::from(number)),
        full_in_s: (at_s > 395.0).then_some(4_000.0 - at_s),
    }
}

fn rule(id: &'static str, group: Group, unit: &str, limit: f64, measured: f64) -> Rule {
    let title = id;
    Rule::at_most(RuleName { id, group, title }, unit, limit, Some(measured))
}

/// The same, but replication did not wait, and recovery took too long.
fn lost() -> Run {
    let mut run = passed();
    let result = &mut run.result;
    let drill = result.drill.as_mut().unwrap();
    let rpo = DrillLoss {
        records: 30,
        transactions: 12,
        bytes: 1_310_720,
        seconds: 4.2,
        lazy: 9,
        kept: 1_124,
    };
    drill.outcome = Verdict::Fail;
    drill.rpo = Some(rpo);
    drill.rto_s = Some(1_025.0);
    drill.steps[1].seconds = 874.3;
    let failover = &mut drill.failovers[0];
    (failover.rpo, failover.rto_s, failover.steps) = (rpo, 1_025.0, drill.steps.clone());
    result.verdict = Verdict::Fail;
    result.rules = vec![
        rule("drill-recovery-point", Group::Limits, "commits lost", 0.0, 12.0),
        rule("drill-recovery-time", Group::Limits, "s", 900.0, 1_025.0),
        Rule {
            remark: "SG1, SG2".to_owned(),
            ..rule("drill-in-step", Group::Limits, "apart", 0.0, 2.0)
        },
    ];
    let reasons = result.rules.iter().map(Rule::against_limit);
    result.reasons.extend(reasons);
    run
}

/// No failover came to its end, and one control was missed.
fn inconclusive() -> Run {
    let mut run = passed();
    let result = &mut run.result;
    let drill = result.drill.as_mut().unwrap();
    drill.outcome = Verdict::Inconclusive;
    (drill.rpo, drill.rto_s) = (None, None);
    drill.failovers.clear();
    drill.steps.clear();
    drill.controls[1].red = false;
    drill.controls[1].found = "nothing: the checks are blind to it".to_owned();
    result.verdict = Verdict::Inconclusive;
    result.rules.clear();
    result.reasons.extend([
        "failover is refused: the <copy> is not whole".to_owned(),
        "control \"swap two writes\" was not found: the checks are blind to it".to_owned(),
    ]);
    run
}

/// The page as it reads, whatever keeps numbers with their units.
fn read(html: &str) -> String {
    html.replace('\u{a0}', " ")
}

fn has_all(html: &str, texts: &[&str]) {
    let html = read(html);
    for text in texts {
        assert!(html.contains(text), "no `{text}`");
    }
}

/// The lines below `title` in the list of what is wrong.
fn why<'h>(html: &'h str, title: &str) -> Vec<&'h str> {
    let (_, list) = html.split_once(&format!("<h2>{title}</h2><ul>")).expect(title);
    let (list, _) = list.split_once("</ul>").unwrap();
    list.split("<li>").skip(1).map(|line| line.trim_end_matches("</li>")).collect()
}

#[test]
fn a_pass_shows_both_figures_and_the_picture() {
    let html = report_html(&passed());
    let texts = [
        "<header class=\"doubt\">",
        "<span class=\"verdict\">PREDICTED PASS</span>",
        "<b>0 commits</b>",
        "all 1,136 are there",
        "<b>5 min 30 s</b>",
        "<span>5 min 30 s given, ",
        " measured; limit 15 min 00 s, 37 % of it used",
        "<b>4 of 4</b>",
        "<b>186.49 MiB</b>",
        "<th scope=\"row\">storage failover (given)</th><td class=\"n\">3 min 00 s</td><td class=\"n\">3 min 30 s</td>",
        "Limit 15 min 00 s: held",
        "<svg class=\"wide\"",
        "no service 5 min 30 s",
        "2 SG1, SG2: the destination serves",
        "the second site serves &lt;again&gt;",
        "the &lt;log&gt; of swap two writes",
        "How it was made",
    ];
    has_all(&html, &texts);
    assert!(!html.contains("What failed") && !html.contains("NaN"));
    assert_eq!(html.matches("class=\"hatch absent\"").count(), 2, "no value after 700 s");
}

#[test]
fn figures_are_those_of_the_result() {
    let run = lost();
    let drill = run.result.drill.as_ref().unwrap();
    let html = report_html(&run);
    let (_, phases) = html.split_once("<h2>Load by phase</h2>").unwrap();
    for (row, phase) in phases.split("\n<tr>").skip(1).zip(&drill.phases) {
        let cells: Vec<&str> = row
            .split("<td")
            .map(|cell| cell.split_once('>').map_or("", |(_, rest)| rest))
            .collect();
        let number = |at: usize| cells[at].split('<').next().unwrap().parse::<f64>().ok();
        assert_eq!(cells[2], format!("{}</td>", phase.name));
        assert!((number(5).unwrap() - phase.io_per_s).abs() < 0.51, "{row}");
        assert_eq!(number(6).is_some(), phase.read_ms.is_some());
        assert!((number(6).unwrap_or(0.0) - phase.read_ms.unwrap_or(0.0)).abs() < 0.006, "{row}");
    }
    let values = |name: &str| {
        let (_, values) = html.split_once(&format!("data-name=\"{name}\" data-values=\"")).unwrap();
        let values = values.split('"').next().unwrap().split(' ');
        values.map(|value| value.replace(',', "").parse::<f64>().ok()).collect::<Vec<_>>()
    };
    let of = |of: fn(&DrillSample) -> Option<f64>| drill.samples.iter().map(of).collect::<Vec<_>>();
    // Without service there is no curve.
    let serves = |one: &DrillSample| {
        let at = one.at_s - one.length_s / 2.0;
        let mut all = drill.failovers.iter();
        !all.any(|out| out.at_s < at && at < out.at_s + out.rto_s)
    };
    let served = |of: fn(&DrillSample) -> Option<f64>| {
        let all = drill.samples.iter();
        all.map(|one| of(one).filter(|_| serves(one))).collect::<Vec<_>>()
    };
    assert!(drill.samples.iter().any(|one| !serves(one)));
    assert_eq!(values("database reads"), served(|one| Some(one.reads as f64 / one.length_s)));
    assert_eq!(values("log write"), served(|one| one.log_ms));
    assert_eq!(values("at risk"), of(|one| one.at_risk_writes.map(|writes| writes as f64)));
    let rpo = drill.rpo.unwrap();
    let row = [rpo.transactions, rpo.records]
        .map(|count| format!("<td class=\"n\">{}</td>", grouped(count)));
    has_all(
        &html,
        &[row.concat().as_str(), "<td class=\"n\">1.25 MiB</td><td class=\"n\">17 min 05 s</td>"],
    );
    let peak = brunt_report::Cell::Bytes(drill.replication.whl_peak_bytes);
    assert!(html.contains(&format!("<td>{peak}</td>")), "a size for people: {peak}");
}

#[test]
fn each_failure_is_a_sentence() {
    let html = read(&report_html(&lost()));
    assert_eq!(
        why(&html, "What failed"),
        [
            "12 commits that users were told are safe are lost, and with them the newest change of 30 records. The first was acknowledged \
             4.2 s before the failure.",
            "Users waited 17 min 05 s, 2 min 05 s longer than the 15 min 00 s that are allowed. The longest step was storage failover, with \
             14 min 34 s.",
            "2 groups were not in step when the drill ended: SG1, SG2. Until then the other site is behind, and a failover to it loses what \
             it lacks.",
        ]
    );
    has_all(&html, &["<b>12 commits</b>", "Limit 15 min 00 s: exceeded", "class=\"late\""]);
}

#[test]
fn service_that_did_not_come_back_is_a_sentence() {
    let mut run = lost();
    run.result.drill.as_mut().unwrap().out_of_service_s = Some(150.0);
    run.result.rules = vec![Rule {
        measured: None,
        outcome: Outcome::Failed,
        remark: "service did not come back".to_owned(),
        ..rule("drill-recovery-time", Group::Limits, "s", 900.0, 0.0)
    }];
    let html = report_html(&run);
    assert_eq!(why(&html, "What failed")[0], "Service did not come back.");
    assert!(html.contains("no service 2 min 30 s"), "{html}");
}

#[test]
fn without_an_answer_the_page_says_why() {
    let html = report_html(&inconclusive());
    assert_eq!(
        why(&html, "Why there is no answer"),
        [
            "The control \u{201c}swap two writes\u{201d} was not found: the checks are blind to it. A check that misses it proves \
             nothing when it is green.",
            "Failover is refused: the &lt;copy&gt; is not whole.",
        ]
    );
    has_all(
        &html,
        &["NOT FOUND", "<b>3 of 4</b>", "no failover came to its end", "no service 5 min 30 s"],
    );
    assert!(!html.contains("How long users waited"));
}

#[test]
fn a_drill_without_samples_or_controls_has_a_page() {
    let mut run = passed();
    let drill = run.result.drill.as_mut().unwrap();
    drill.samples.clear();
    drill.controls.clear();
    let html = report_html(&run);
    assert!(!html.contains("<svg class=\"wide\"") && !html.contains("<script>"));
    assert!(html.contains("No control was run"));
}

#[test]
fn the_page_needs_nothing_else() {
    let html = report_html(&passed());
    for outside in ["http", "src=", "href=", "@import", "url(", "<link", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(
        html.matches("<th").count() - html.matches("<thead").count(),
        html.matches("<th scope=").count()
    );
}

#[test]
fn the_folder_of_a_drill_is_enough() {
    let run = passed();
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(parent.path(), Timestamp::default(), "drill").unwrap();
    folder.write("scenario.toml", run.scenario.as_bytes()).unwrap();
    folder.write("result.json", run.result.to_json().as_bytes()).unwrap();
    let read = Run::read(folder.path()).unwrap();
    assert_eq!(read.result, run.result);
    assert_eq!(report_html(&read), report_html(&run));
}

#[test]
fn drills_stand_side_by_side() {
    let (one, mut other) = (passed(), lost());
    other.result.origin.run_id = "other".to_owned();
    other.result.storage.servers[0].name = "other".to_owned();
    let apart = are_one_test(&[one.clone(), other.clone()]).unwrap_err();
    assert_eq!(apart.to_string(), "each drill is a rehearsal of its own");
    let listed = |label: &str, run| Listed { label: label.to_owned(), report: None, run };
    let runs = [listed("a", one), listed("b", other), listed("c", inconclusive())];
    let text = side_by_side(&runs).to_text();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    assert_eq!(
        lines[2],
        [
            "b",
            "sample",
            "PREDICTED FAIL",
            "unplanned failover",
            "12",
            "30",
            "4.2 s",
            "17 min 05 s",
            "4 of 4",
            "186.49 MiB"
        ]
    );
    assert_eq!(lines[3][2..], ["INCONCLUSIVE", "-", "-", "-", "-", "-", "3 of 4", "186.49 MiB"]);
    let mixed = [runs[0].clone(), listed("d", crate::sample::run(true))];
    assert!(side_by_side(&mixed).to_text().contains("performance"));
}
