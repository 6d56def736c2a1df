//! What a test of mail servers says on the terminal: first and last.

use std::path::Path;

use brunt_host::load::{Demand, LoadOptions, has_control, kill_each, planned};
use brunt_report::result::{Mail, MailStanding, MailWork, Outcome, RunResult, Verdict};
use brunt_report::{Column, Row, Table, counted, decimals, grouped, one_line};
use brunt_servers::{Relay, Store};
use brunt_users::Dispatch;

use crate::closing::{failure, rules, verdict_again};
use crate::output::{Output, Tone};
use crate::version;

/// Findings that are listed.
const FINDINGS_SHOWN: usize = 10;

/// What is asked of servers, in a few words.
pub(super) fn what(demand: &Demand) -> String {
    match &demand.work {
        None => format!("{} deliveries", grouped(demand.deliveries)),
        Some(work) => {
            let (name, day) = (&work.profile.name, work.day);
            match work.dispatch {
                Dispatch::WhenDue => {
                    format!("profile {name}, a day of {} for {}", day.length, day.run)
                }
                Dispatch::AtOnce => format!("profile {name}, without a break for {}", day.run),
            }
        }
    }
}

/// What is started, what is sent, and what is done meanwhile.
pub(super) fn opening(name: &str, options: &LoadOptions, left_out: Option<&str>) -> String {
    let (plan, demand) = (&options.plan, &options.demand);
    let store = match plan.store {
        Store::Dovecot { format, fsync } => {
            format!("Dovecot, {}, mail_fsync = {}", format.name(), fsync.name())
        }
        Store::Cyrus => "Cyrus IMAP".to_owned(),
    };
    let (relay, way) = match plan.relay {
        Some(Relay::Postfix) => ("Postfix before ", "SMTP to the relay, with TLS"),
        Some(Relay::Exim) => ("Exim before ", "SMTP to the relay, with TLS"),
        None => ("", "LMTP"),
    };
    let users = counted(plan.users.into(), "user");
    let control = match has_control(options) {
        true => "; first a control, which must lose mail",
        false => "",
    };
    let events = match options.incidents.as_slice() {
        [] => "nothing is killed".to_owned(),
        incidents if incidents == kill_each(plan) => {
            "each server is killed once, in the middle (kill -9)".to_owned()
        }
        incidents if incidents.len() > 2 => {
            format!("{} events of the scenario{control}", incidents.len())
        }
        incidents => format!("{}{control}", planned(incidents, plan).join(", then ")),
    };
    let mut lines = vec![
        format!("brunt {}   {}   {users}, {}", version::SHORT, one_line(name), what(demand)),
        format!("{:14}{relay}{store}", "servers"),
        format!("{:14}{way}; read by IMAP over TLS", "mail"),
        format!("{:14}{events}", "events"),
        format!("{:14}{}", "seed", demand.seed),
    ];
    if let Some(work) = &demand.work {
        let known = work.profile.mailbox_messages;
        let known = known.map_or(String::new(), |messages| {
            format!("; the profile has {} in each (--fill)", counted(messages.into(), "message"))
        });
        let mailboxes = match work.fill {
            0 => format!("begin empty{known}"),
            messages => format!("filled first: {} in each", counted(messages.into(), "message")),
        };
        lines.insert(3, format!("{:14}{mailboxes}", "mailboxes"));
    }
    lines.extend(left_out.map(|why| format!("{:14}{}", "left out", one_line(why))));
    lines.extend(demand.limit.map(|limit| format!("{:14}{limit}", "limit")));
    format!("{}\n", lines.join("\n"))
}

/// The last lines: verdict, what became of every delivery, rules, and where everything is.
pub(in crate::commands) fn closing(
    result: &RunResult,
    folder: &Path,
    report: &Path,
    output: &Output,
) -> String {
    let mail = result.mail.iter();
    let parts = [
        format!("{}{}{}", line(result, output), failed(result), reasons(result)),
        mail.clone().map(outcomes).collect(),
        mail.clone().map(findings).collect(),
        mail.clone().filter_map(|mail| mail.work.as_ref()).map(work).collect(),
        mail.map(figures).collect(),
        rules(&result.rules, output, output.width()).trim_end().to_owned(),
        format!(
            "{:14}{}\n{:14}brunt load --audit {}{}",
            "report",
            report.display(),
            "look again",
            folder.display(),
            verdict_again_of(result, output)
        ),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Verdict and sentence.
fn line(result: &RunResult, output: &Output) -> String {
    let word = output.paint(Tone::from(result.colour()), &format!("{:12}", result.headline()));
    format!("{word}  {}", one_line(&result.storage.details.sentence))
}

fn verdict_again_of(result: &RunResult, output: &Output) -> String {
    match verdict_again(result, output).is_empty() {
        true => String::new(),
        false => format!("\n\n{}", line(result, output)),
    }
}

fn failed(result: &RunResult) -> String {
    let is_judged = matches!(result.verdict, Verdict::Fail);
    let failed = result.rules.iter().filter(|rule| is_judged && rule.outcome == Outcome::Failed);
    failed.map(failure).collect()
}

fn reasons(result: &RunResult) -> String {
    result.reasons.iter().map(|reason| format!("\n{:14}{}", "", one_line(reason))).collect()
}

/// What became of every delivery; what did not occur is left out.
fn outcomes(mail: &Mail) -> String {
    let rows = mail.ledger.outcomes().into_iter().filter(|(_, count, ..)| *count > 0);
    let rows = rows.map(|(name, count, standing, meaning)| {
        let promise = match standing {
            MailStanding::Kept => "as promised",
            MailStanding::Broken => "NOT AS PROMISED",
            MailStanding::Unknown => "cannot be told",
        };
        Row::new([name.to_owned(), grouped(count), promise.to_owned(), meaning.to_owned()])
    });
    let columns = [
        Column::words("outcome"),
        Column::numbers("deliveries"),
        Column::words(""),
        Column::words(""),
    ];
    Table::new(columns, rows).to_text().trim_end().to_owned()
}

fn findings(mail: &Mail) -> String {
    if mail.findings.is_empty() {
        return String::new();
    }
    let rows = mail.findings.iter().take(FINDINGS_SHOWN).map(|finding| {
        Row::new([
            grouped(finding.message),
            finding.user.clone(),
            finding.outcome.clone(),
            one_line(&finding.detail).into_owned(),
        ])
    });
    let columns = [
        Column::numbers("message"),
        Column::words("user"),
        Column::words("outcome"),
        Column::words(""),
    ];
    let text = Table::new(columns, rows).to_text().trim_end().to_owned();
    match mail.findings.len().saturating_sub(FINDINGS_SHOWN) {
        0 => text,
        more => format!("{text}\n{more} more are in the report"),
    }
}

/// Each task against its plan.
fn work(work: &MailWork) -> String {
    let ms = |latency: Option<f64>| latency.map_or("-".to_owned(), decimals);
    let rows = work.tasks.iter().map(|task| {
        let times = if work.is_stress { &task.service } else { &task.response };
        Row::new([
            task.task.clone(),
            grouped(task.planned),
            grouped(task.done),
            ms(times.as_ref().map(|one| one.p50_ms)),
            ms(times.as_ref().map(|one| one.p95_ms)),
            ms(times.as_ref().map(|one| one.max_ms)),
        ])
    });
    let columns = [
        Column::words("task"),
        Column::numbers(if work.is_stress { "begun" } else { "planned" }),
        Column::numbers("done"),
        Column::numbers("p50 ms"),
        Column::numbers("p95 ms"),
        Column::numbers("longest"),
    ];
    let mut lines = vec![Table::new(columns, rows).to_text().trim_end().to_owned(), score(work)];
    lines.extend(filled(work));
    lines.extend(work.session.as_ref().map(|one| {
        let [p50, p95] = [one.p50_ms, one.p95_ms].map(decimals);
        format!("{:14}p50 {p50} ms, p95 {p95} ms to open one that sends", "sessions")
    }));
    lines.extend(work.slowest.as_ref().map(|one| {
        let because = one_line(&one.because);
        format!("{:14}{}, p95 {} ms; {because}", "slowest", one.task, decimals(one.p95_ms))
    }));
    lines.extend(work.schedule_error.as_ref().map(|one| {
        let [p50, p99] = [one.p50_ms, one.p99_ms].map(decimals);
        format!("{:14}p50 {p50} ms, p99 {p99} ms late in brunt itself", "schedule")
    }));
    let delayed = work.delayed_acks();
    lines.extend(delayed.iter().map(|one| format!("{:14}{}", "delayed ACK", one.in_words())));
    if !work.not_offered.is_empty() {
        let kinds = work.not_offered.join(", ");
        lines.push(format!("{:14}{kinds} (the server does not offer it)", "left out"));
    }
    lines.join("\n")
}

/// How mailboxes were filled.
fn filled(work: &MailWork) -> Option<String> {
    let (messages, seconds) = (grouped(work.filled), decimals(work.filled_s));
    (work.filled > 0).then(|| {
        format!(
            "{:14}{messages} messages in {seconds} s, before the day and in no figure",
            "filled"
        )
    })
}

/// What users felt; in a closed loop, what servers did.
fn score(work: &MailWork) -> String {
    let steady = decimals(work.steady_s);
    if work.is_stress {
        let rate = work.done_per_s().map_or("-".to_owned(), decimals);
        return format!(
            "{:14}{rate} tasks a second in the {steady} s in the middle; no task waited for a schedule, so \
             nothing says how long users would",
            "stress"
        );
    }
    let score =
        work.score_ms.map_or("not measured".to_owned(), |ms| format!("{} ms", decimals(ms)));
    format!(
        "{:14}{score}: what users felt, from when each task was due, in the {steady} s in the middle",
        "score"
    )
}

/// Rates, times and faults.
fn figures(mail: &Mail) -> String {
    let mut lines = Vec::new();
    if let (Some(submitted), Some(accepted)) = (mail.submitted_per_min, mail.accepted_per_min) {
        let rates = [submitted, accepted].map(decimals);
        lines.push(format!(
            "{:14}{} messages and {} deliveries a minute, for {} s",
            "accepted",
            rates[0],
            rates[1],
            decimals(mail.sending_s)
        ));
    }
    for (label, what, latency) in [
        ("", "from the beginning of a message to its last answer", mail.acceptance),
        ("visible", "from the answer until a user who looks sees it", mail.visible),
        ("told", "from the answer until a user who waits is told", mail.told),
    ] {
        lines.extend(latency.map(|one| {
            let [p50, p95, max] = [one.p50_ms, one.p95_ms, one.max_ms].map(decimals);
            format!("{label:14}p50 {p50} ms, p95 {p95} ms, longest {max} ms {what}")
        }));
    }
    lines.extend(mail.usage.iter().map(|usage| {
        let servers = usage.servers.iter().map(|one| {
            let (cpu, memory) = (one.processors, decimals(one.memory_mib_max));
            format!("{} {cpu:.2} processors, {memory} MiB; ", one.server)
        });
        let own = usage.brunt_processors.map_or("-".to_owned(), |own| format!("{own:.2}"));
        let storage = usage.storage.as_ref().map_or(String::new(), |one| {
            format!("; {} in use for {:.0} %", one.device, 100.0 * one.busy)
        });
        format!("{:14}{}brunt {own}{storage}", "used", servers.collect::<String>())
    }));
    for fault in &mail.faults {
        let until = match fault.until_s {
            Some(until) => format!("ready again after {:.1} s", until - fault.from_s),
            None => "did not come back".to_owned(),
        };
        lines.push(format!("{:14}{} after {:.1} s, {until}", "fault", fault.what, fault.from_s));
    }
    lines.extend(mail.control.iter().map(|control| {
        format!(
            "{:14}{}: {} of {} accepted deliveries were lost",
            "control",
            control.settings,
            grouped(control.lost),
            grouped(control.accepted)
        )
    }));
    lines.extend(mail.queue.map(|queue| match queue.messages {
        0 => format!("{:14}empty", "queue"),
        messages => {
            format!(
                "{:14}{} for {} recipients",
                "queue",
                counted(messages, "message"),
                grouped(queue.deliveries)
            )
        }
    }));
    for errors in &mail.errors {
        let times = counted(errors.count, "time");
        lines.push(format!("{:14}{}, {times}: {}", "errors", errors.kind, one_line(&errors.first)));
    }
    lines.join("\n")
}
