//! The page of a test of mail servers: the verdict, what became of every delivery, what was done to
//! the servers, and the rules.

mod usage;
mod work;

use serde::Serialize;

use super::page::{Heading, Served, rendered_for};
use super::tables;
use crate::result::{Mail, MailLatency, MailStanding, Outcome, RunResult, Verdict, World};
use crate::table::{Cell, Column, Row, Table};
use crate::{Run, capitalised, counted, decimals, grouped};

const TEMPLATE: &str = include_str!("mail.html");
/// Findings that are listed; `result.json` has more.
const FINDINGS_SHOWN: usize = 200;

#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    verdict: String,
    colour: &'static str,
    sentence: &'a str,
    subtitle: String,
    why_title: &'static str,
    why: Vec<String>,
    figures: Vec<Figure>,
    tables: Vec<Table>,
    rules: Vec<tables::Rules>,
    events: Table,
    origin: Table,
    scenario: &'a str,
}

/// A number beside the verdict.
#[derive(Serialize)]
struct Figure {
    class: &'static str,
    label: &'static str,
    number: String,
    remark: String,
}

/// The report on `run`, whose results are those of `mail`.
pub(super) fn mail_html(run: &Run, mail: &Mail, served: Option<&Served>) -> String {
    let result = &run.result;
    let heading = Heading::of(result, &result.storage.details.sentence, served);
    let page = Page {
        name: &result.scenario,
        verdict: heading.verdict,
        colour: heading.colour,
        sentence: heading.sentence,
        subtitle: subtitle(result, mail),
        why_title: match result.verdict {
            Verdict::Pass => "What this says and what it does not",
            Verdict::Fail => "What failed",
            _ => "Why there is no answer",
        },
        why: if heading.goes_on { Vec::new() } else { why(result) },
        figures: figures(mail),
        tables: vec![
            outcomes(mail),
            findings(mail),
            work::tasks(mail),
            usage::servers(mail),
            usage::loadsim(mail),
            servers(mail),
            times(mail),
            faults(mail),
            errors(mail),
        ],
        rules: tables::rules(result),
        events: super::events(result, &run.events),
        origin: tables::origin(result),
        scenario: &run.scenario,
    };
    let title = format!("{}: {} (brunt)", page.verdict, page.name);
    let foot = format!("{title}, run {}", result.origin.run_id);
    rendered_for(served, TEMPLATE, &title, &foot, &page)
}

fn subtitle(result: &RunResult, mail: &Mail) -> String {
    let world = match result.world {
        World::Real => result.times.started.for_people(),
        World::Virtual => "in virtual time".to_owned(),
    };
    let servers: Vec<&str> = mail.servers.iter().map(|server| server.name.as_str()).collect();
    format!(
        "{} to {}, {}, {}; {world}",
        counted(mail.deliveries, "delivery").replace("deliverys", "deliveries"),
        counted(mail.users, "user"),
        counted(mail.messages, "message"),
        servers.join(" before ")
    )
}

/// Rules that failed, and what is to be said of the verdict.
fn why(result: &RunResult) -> Vec<String> {
    let failed = result.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    let failed: Vec<String> = failed
        .map(|rule| match rule.remark.as_str() {
            "" => rule.against_limit(),
            remark => format!("{}; {remark}", rule.against_limit()),
        })
        .collect();
    let said = |reason: &&String| !failed.iter().any(|rule| rule.starts_with(reason.as_str()));
    let reasons: Vec<&String> = result.reasons.iter().filter(said).collect();
    let all = failed.iter().chain(reasons);
    all.map(|text| format!("{}.", capitalised(text.trim_end_matches('.')))).collect()
}

fn figures(mail: &Mail) -> Vec<Figure> {
    let broken: u64 = standing(mail, MailStanding::Broken);
    let open: u64 = standing(mail, MailStanding::Unknown);
    let figure = |class, label, number, remark: &str| Figure {
        class,
        label,
        number,
        remark: remark.to_owned(),
    };
    let of = |latency: Option<MailLatency>| {
        latency.map_or("-".to_owned(), |one| format!("{} ms", decimals(one.p95_ms)))
    };
    let rate = mail.accepted_per_min.map_or("-".to_owned(), decimals);
    let mut figures = vec![
        figure(
            if broken == 0 { "good" } else { "bad" },
            "Not as promised",
            grouped(broken),
            &format!("of {} deliveries that a server accepted", grouped(mail.ledger.accepted)),
        ),
        figure(
            if open == 0 { "" } else { "unknown" },
            "Cannot be told",
            grouped(open),
            "still queued, or in a mailbox that could not be read",
        ),
        figure("", "Accepted per minute", rate, "deliveries, while mail was sent"),
        figure(
            "",
            "Answered, p95",
            of(mail.acceptance),
            "from the beginning of a message to its last answer",
        ),
        figure(
            "",
            "Doubles, explained",
            grouped(mail.ledger.explained_double),
            &format!("at most {} are explained by the faults", grouped(mail.ledger.explained_max)),
        ),
    ];
    if let Some(work) = mail.work.as_ref().filter(|work| !work.is_stress) {
        let score = work.score_ms.map_or("-".to_owned(), |ms| format!("{} ms", decimals(ms)));
        let remark = "what users felt: 95th percentiles of all tasks, from when each was due";
        figures.insert(2, figure("", "Score", score, remark));
    }
    figures
}

fn standing(mail: &Mail, wanted: MailStanding) -> u64 {
    let outcomes = mail.ledger.outcomes();
    let with = outcomes.iter().filter(|(_, _, standing, _)| *standing == wanted);
    with.map(|(_, count, ..)| count).sum()
}

fn outcomes(mail: &Mail) -> Table {
    let rows = mail.ledger.outcomes().into_iter().map(|(name, count, standing, meaning)| {
        let (word, class) = match (standing, count) {
            (_, 0) => ("", ""),
            (MailStanding::Kept, _) => ("as promised", ""),
            (MailStanding::Broken, _) => ("not as promised", "failed"),
            (MailStanding::Unknown, _) => ("cannot be told", ""),
        };
        Row::classed([Cell::from(name), count.into(), word.into(), meaning.into()], class)
    });
    let columns = [
        Column::words("Outcome"),
        Column::numbers("Deliveries"),
        Column::words("The promise"),
        Column::words("Meaning"),
    ];
    Table::new(columns, rows).titled("What became of every delivery").noted(
        "A message to three recipients is three deliveries. A server that answers 250 has promised each of them (RFC 5321, 6.1).",
    )
}

fn findings(mail: &Mail) -> Table {
    let rows = mail.findings.iter().take(FINDINGS_SHOWN).map(|finding| {
        Row::new([
            Cell::from(finding.message),
            finding.user.as_str().into(),
            finding.outcome.as_str().into(),
            finding.detail.as_str().into(),
            finding.section.as_str().into(),
        ])
    });
    let words = ["User", "Outcome", "More", "Standard"].map(Column::words);
    let columns = std::iter::once(Column::numbers("Message")).chain(words);
    Table::new(columns, rows).titled("Deliveries that are not as promised").noted(
        "The number stands in the X-Brunt header of the message. conversations.log has the last lines of the sessions that sent them.",
    )
}

fn servers(mail: &Mail) -> Table {
    let rows = mail.servers.iter().map(|server| {
        Row::new([
            Cell::from(server.role.as_str()),
            server.name.as_str().into(),
            server.version.as_deref().into(),
            server.settings.as_str().into(),
        ])
    });
    let columns = ["Role", "Server", "Version", "Settings"].map(Column::words);
    Table::new(columns, rows).titled("Servers").noted("In the order in which mail passes them.")
}

fn times(mail: &Mail) -> Table {
    let measured = [
        ("Answered: from the beginning of a message to its last answer", mail.acceptance),
        ("Visible: from 250 until a user who looks sees it", mail.visible),
        ("Told: from 250 until a waiting user is told", mail.told),
    ];
    let rows = measured.into_iter().filter_map(|(name, latency)| {
        let one = latency?;
        let ms = [one.p50_ms, one.p95_ms, one.p99_ms, one.max_ms].map(Cell::from);
        Some(Row::new([Cell::from(name), one.count.into()].into_iter().chain(ms)))
    });
    let columns =
        Column::of(&["Time"], &["Measured", "p50 (ms)", "p95 (ms)", "p99 (ms)", "Longest (ms)"]);
    Table::new(columns, rows).titled("How long it took")
}

fn faults(mail: &Mail) -> Table {
    let rows = mail.faults.iter().map(|fault| {
        let until = fault.until_s.map_or(Cell::from("never"), |second| Cell::Fixed(second, 1));
        Row::new([Cell::from(fault.what.as_str()), Cell::Fixed(fault.from_s, 1), until])
    });
    let control = mail.control.as_ref().map_or(String::new(), |control| {
        format!(
            " The control of the power cut, {}: {} of {} accepted deliveries were lost.",
            control.settings,
            grouped(control.lost),
            grouped(control.accepted)
        )
    });
    Table::new(Column::of(&["What was done"], &["From (s)", "Ready again (s)"]), rows)
        .titled("Faults")
        .noted(&format!("Seconds since the first message.{control}"))
}

fn errors(mail: &Mail) -> Table {
    let rows = mail.errors.iter().map(|errors| {
        Row::new([
            Cell::from(errors.kind.as_str()),
            errors.count.into(),
            errors.first.as_str().into(),
        ])
    });
    let columns =
        [Column::words("Error"), Column::numbers("Times"), Column::words("The first one")];
    Table::new(columns, rows)
        .titled("Errors of connections and sessions")
        .noted("A server that is killed breaks connections: errors are no outcome of mail.")
}
