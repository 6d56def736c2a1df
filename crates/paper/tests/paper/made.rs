//! What a paper says, and that it can be made again.

use brunt_paper::verify::{Answer, verify};
use brunt_paper::{Paper, is_page, is_paper};
use brunt_report::result::{Tested, World};

use crate::{PROGRAM, evidence, files, of_kind, one, sample, text_of};

#[test]
fn equal_evidence_gives_equal_bytes() {
    let written = || Paper::new(&one()).unwrap().to_pdf().unwrap();
    let (first, second) = (written(), written());
    assert!(first == second, "two papers differ");
    assert!(is_paper(&first));
    // Poppler complains about it each time, and it says the default.
    let text = String::from_utf8_lossy(&first);
    assert!(text.contains("/MarkInfo<</Marked true ") && !text.contains("/Suspects"));
}

#[test]
fn a_paper_follows_from_its_evidence() {
    let paper = Paper::new(&one()).unwrap();
    assert_eq!(paper.audit.wrong, []);
    let pdf = paper.to_pdf().unwrap();
    let checked = verify(&pdf, PROGRAM).unwrap();
    assert_eq!(checked.differences, []);
    assert_eq!((checked.runs, checked.answer), (1, Answer::Unproven));
    assert_eq!(checked.unproven[..2], ["run1 has no counters.csv", "run1 has no latency.hlog"]);
    assert!(checked.follows == pdf);
    assert_eq!(checked.digest, paper.digest);
    assert!(checked.numbers > 200, "{}", checked.numbers);
}

#[test]
fn the_verdict_comes_first_and_every_section_is_there() {
    let runs = [
        ("runs/a", sample::run(true)),
        ("runs/b", of_kind("stress", "b")),
        ("runs/c", of_kind("database-backup", "c")),
        ("runs/d", of_kind("soft-recovery", "d")),
    ];
    let evidence = evidence(runs.iter().map(|(label, run)| files(label, run)).collect());
    let paper = Paper::new(&evidence).unwrap();
    let text = text_of(&paper.to_pdf().unwrap());
    let mut rest = text.as_str();
    for wanted in [
        "Größe & Söhne ES-400 [U+4E2D]",
        "PASS, not a qualification",
        "Contents",
        "1 Overview",
        "2 Solution",
        "3 Targeted customer profile",
        "4 Tested deployment",
        "5 Reliability",
        "6 Performance test",
        "7 Stress test",
        "8 Backup test",
        "9 Recovery test",
        "10 Normalized results",
        "11 Conclusion",
        "sums and means",
        "SHA-256",
        "characters that are not shown",
    ] {
        let at = rest.find(wanted);
        let at =
            at.unwrap_or_else(|| panic!("{wanted} is not in, or not after the others: {text}"));
        rest = &rest[at..];
    }
    assert_eq!(paper.unshown, ['\u{4e2d}']);
    let page = paper.to_html();
    assert!(is_page(page.as_bytes()) && page.contains("\u{4e2d}"), "{page}");
    assert!(page.contains("PASS, not a qualification"));
}

#[test]
fn a_redacted_paper_names_no_host() {
    let mut run = sample::run(true);
    let server = &mut run.result.storage.servers[0];
    server.name = "hail-7.example.com".to_owned();
    server.details.machine.name = "hail-7".to_owned();
    run.result.reasons.push("HAIL-7 was busy".to_owned());
    let setup = &mut run.result.storage.details.setup;
    setup.description =
        "/home/ann/hail-7 of Contoso at 10.1.2.3, ask ann@mail.contoso.org".to_owned();
    let mut evidence = evidence(vec![files("runs/a", &run)]);
    let redacted = evidence.redact(&["contoso".to_owned()]).unwrap();
    let replaced: Vec<&str> = redacted.replaced.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["hail-7.example.com", "hail-7", "example.com", "ann", "10.1.2.3", "contoso"] {
        assert!(replaced.contains(&name), "{name}: {replaced:?}");
    }
    assert!(redacted.stays.contains(&run.result.scenario), "{:?}", redacted.stays);
    let pdf = Paper::new(&evidence).unwrap().to_pdf().unwrap();
    let checked = verify(&pdf, PROGRAM).unwrap();
    assert_eq!(checked.differences, []);
    for file in &checked.attachments {
        let text = String::from_utf8_lossy(&file.bytes);
        let text = text.to_lowercase();
        for name in ["hail-7", "contoso", "10.1.2.3", "/home/ann", "ann@"] {
            assert!(!text.contains(name), "{}: {name}: {text}", file.name);
        }
    }
    let text = text_of(&pdf);
    assert!(text.contains("server1 was busy") && !text.contains("hail-7"));
}

/// A modelled server without a name of its own has that of the scenario, which stays.
#[test]
fn a_redacted_prediction_keeps_the_name_of_its_scenario() {
    let mut run = sample::run(true);
    run.result.world = World::Virtual;
    run.result.scenario = "mail".to_owned();
    let server = &mut run.result.storage.servers[0];
    server.name = "mail".to_owned();
    server.details.machine.name = "mail".to_owned();
    run.result.reasons.push("no mail was stored".to_owned());
    let mut evidence = evidence(vec![files("runs/a", &run)]);
    evidence.redact(&[]).unwrap();
    let page = Paper::new(&evidence).unwrap().to_html();
    assert!(page.contains("no mail was stored"), "{page}");
}

/// A backup of one server of two is no rate of all drives, and its mailboxes are those of that
/// server.
#[test]
fn rates_are_normalised_by_the_servers_of_a_test() {
    let of = |name: &str, test: &str, mailboxes| {
        let mut run = sample::run(true);
        run.result.storage.test = Tested::try_from(test.to_owned()).unwrap();
        run.result.storage.servers[0].name = name.to_owned();
        run.result.origin.run_id = format!("{test} of {name}");
        run.result.storage.details.setup.mailboxes = Some(mailboxes);
        files(&format!("runs/{test}-{name}"), &run)
    };
    let evidence = evidence(vec![
        of("a", "performance", 4_000),
        of("b", "performance", 1_000),
        of("a", "stress", 4_000),
    ]);
    let page = Paper::new(&evidence).unwrap().to_html();
    assert!(page.contains("5,000 mailboxes, 2 servers"), "{page}");
    let row = |test: &str| {
        let (_, table) = page.rsplit_once("Normalized results").unwrap();
        let (_, row) = table.split_once(&format!("<td>{test} test</td>")).unwrap();
        let (row, _) = row.split_once("</tr>").unwrap();
        let cells = row.split("<td class=\"n\">").skip(1);
        let cells = cells.map(|cell| cell.trim_end_matches("</td>").to_owned());
        cells.collect::<Vec<_>>()
    };
    assert_eq!(row("performance"), ["497", "0.10", "41.4", "69.0", "3,614"]);
    assert_eq!(row("stress"), ["248", "0.06", "-", "-", "3,614"]);
}
