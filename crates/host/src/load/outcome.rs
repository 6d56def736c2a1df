//! The result of a run of mail: the section `mail`, the verdict, and what is to be said about it.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use brunt_load::{Errors, Finished};
use brunt_mail::{Audited, Mailing};
use brunt_report::result::{
    Mail, MailControl, MailErrors, MailFault, MailLatency, MailQueue, MailRun, MailServer, Origin,
    Times, Verdict,
};
use brunt_report::{RunResult, Timestamp, counted};
use brunt_run::Stop;
use brunt_servers::{MailFsync, MailSystem, Plan, Store};
use brunt_stats::{Latencies, Percentile};
use brunt_units::{Span, Time};
use brunt_world_real::RealWorld;

use super::course::{self, Deeds};
use super::{Subject, judge};
use crate::surroundings::machine;

/// The file of a result in its folder.
const RESULT: &str = "result.json";
/// The name of a test without a scenario.
const NAME: &str = "load";

/// What the head of a journal says of a run called `name`, with `users`, that has not ended.
pub fn outline(name: &str, users: u64, began: Timestamp, origin: Origin) -> RunResult {
    let run = MailRun {
        name: name.to_owned(),
        sentence: "The run has not ended.".to_owned(),
        verdict: Verdict::Interrupted,
        reasons: vec!["the run has not ended".to_owned()],
        rules: Vec::new(),
        times: Times { ended: None, ..times(began.unix_seconds, Time::ZERO, Time::ZERO) },
        origin,
        machine: machine(),
        backend: String::new(),
    };
    RunResult::of_mail(run, Mail { users, ..Mail::default() })
}

/// What an audit came to.
pub(super) struct Judged<'a> {
    pub(super) mailing: &'a Mailing,
    pub(super) audited: &'a Audited,
    pub(super) errors: &'a Errors,
}

/// The section `mail` of the result.
pub(super) fn mail(
    subject: &Subject,
    judged: &Judged<'_>,
    ran: Option<(&Finished, &Deeds)>,
) -> Mail {
    let audited = judged.audited;
    let errors = judged.errors.iter().map(|(kind, noted)| MailErrors {
        kind: kind.to_string(),
        count: noted.count,
        first: noted.first_line.clone(),
    });
    let unread = audited.unread.iter().map(|account| judge::user(judged.mailing, *account));
    let mut mail = Mail {
        users: subject.accounts.count().into(),
        servers: subject.servers.clone(),
        submission: subject.protocol.to_owned(),
        deliveries: judge::all(audited),
        ledger: judge::ledger(audited),
        findings: judge::findings(audited, judged.mailing),
        unread: unread.collect(),
        folders_renewed: audited.folders_renewed,
        errors: errors.collect(),
        ..Mail::default()
    };
    if let Some((finished, deeds)) = ran {
        let sent = &finished.sent;
        let seconds = sent.until.since(sent.from).as_seconds();
        let per_minute = |count: f64| (seconds > 0.0).then_some(60.0 * count / seconds);
        let queue = deeds.queue.as_ref();
        mail.messages = finished.messages.into();
        mail.sending_s = seconds;
        mail.submitted_per_min = per_minute(f64::from(sent.messages));
        mail.accepted_per_min = per_minute(judge::number(sent.accepted));
        mail.acceptance = latency(&sent.answers);
        if let Some(watched) = &finished.watched {
            mail.visible = latency(&watched.visible);
            mail.told = latency(&watched.told);
        }
        mail.cut_loses_unsynced = deeds.cut_loses;
        mail.faults = deeds.done.iter().map(|done| fault(done, sent.from)).collect();
        mail.queue =
            queue.map(|queue| MailQueue { messages: queue.messages, deliveries: queue.deliveries });
    }
    mail
}

fn fault(done: &course::Done, zero: Time) -> MailFault {
    let since = |time: Time| time.max(zero).since(zero).as_seconds();
    MailFault { what: done.what.clone(), from_s: since(done.from), until_s: done.until.map(since) }
}

pub(super) fn latency(latencies: &Latencies) -> Option<MailLatency> {
    let at = |percentile| latencies.percentile(percentile).map(Span::as_millis);
    Some(MailLatency {
        count: latencies.count(),
        p50_ms: at(Percentile::P50)?,
        p95_ms: at(Percentile::per_mille(950))?,
        p99_ms: at(Percentile::P99)?,
        max_ms: latencies.max()?.as_millis(),
    })
}

/// The verdict of a run that has ended.
pub(super) fn verdict(finished: &Finished, stop: &Stop) -> Verdict {
    match judge::verdict(&finished.audited) {
        // What was found broken until then stays broken.
        Verdict::Fail => Verdict::Fail,
        _ if stop.is_asked() => Verdict::Interrupted,
        other => other,
    }
}

/// What a run said about itself when it ended, for a later audit: nothing where it was killed.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) cut_loses: Option<bool>,
    pub(super) control: Option<MailControl>,
    pub(super) faults: Vec<MailFault>,
}

impl Earlier {
    /// Of the run in `folder`.
    pub(super) fn read(folder: &Path) -> Self {
        let text = fs::read(folder.join(RESULT)).unwrap_or_default();
        let result: Option<RunResult> = serde_json::from_slice(&text).ok();
        result.and_then(|result| result.mail).map_or_else(Self::default, |mail| Self {
            cut_loses: mail.cut_loses_unsynced,
            control: mail.control,
            faults: mail.faults,
        })
    }
}

/// What is to be said about the verdict: whether servers were killed; where their power was cut,
/// whether that lost what was not synced, as far as is known.
pub(super) fn reasons(
    (was_killed, cut): (bool, Option<Option<bool>>),
    plan: &Plan,
    judged: &Judged<'_>,
    deeds: &Deeds,
) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(deeds.broken.as_ref().map(|why| format!("a server did not come back: {why}")));
    reasons.push(
        match (cut, was_killed) {
            (Some(Some(true)), _) => {
                "the power of the file systems was cut, not that of the drive: what it has in a \
                 volatile cache is not tested"
            }
            (Some(Some(false)), _) => {
                "the cut spared a file that was not synced: it proves nothing here"
            }
            (Some(None), _) => {
                "whether the cut lost what was not synced is not known: it proves nothing here"
            }
            (None, true) => {
                "servers were killed, the machine was not: what a power cut would lose is not known"
            }
            (None, false) => "nothing was killed: what a crash would lose is not known",
        }
        .to_owned(),
    );
    if let (Store::Dovecot { fsync: MailFsync::Never, .. }, None) = (plan.store, cut) {
        reasons.push("mail_fsync = never: a power cut loses mail that was accepted".to_owned());
    }
    let renewed = judged.audited.folders_renewed;
    if renewed > 0 {
        let folders = counted(renewed, "folder");
        reasons.push(format!(
            "{folders} began anew after the cut, with a greater UIDVALIDITY, as RFC 9051 (2.3.1.1) \
             allows: clients that keep mail fetch it again"
        ));
    }
    reasons.extend(deeds.left_out.iter().cloned());
    reasons.extend(deeds.reason.as_ref().map(|why| format!("the relay put mail off: {why}")));
    reasons.extend(judge::others(judged.audited));
    reasons
}

pub(super) fn times(began: u64, from: Time, until: Time) -> Times {
    let at = |time: Time| Timestamp {
        unix_seconds: began.saturating_add(time.since(Time::ZERO).0.div_euclid(1_000_000_000)),
    };
    let is_load = until > from;
    Times {
        started: Timestamp { unix_seconds: began },
        collection_started: is_load.then(|| at(from)),
        collection_ended: is_load.then(|| at(until)),
        ended: Some(SystemTime::now().into()),
        collection_s: until.since(from).as_seconds(),
    }
}

pub(super) fn result(
    judged: &Judged<'_>,
    mail: Mail,
    verdict: Verdict,
    reasons: Vec<String>,
    times: Times,
    origin: Origin,
    real: &RealWorld,
) -> RunResult {
    let run = MailRun {
        name: NAME.to_owned(),
        sentence: judge::sentence(judged.audited, verdict),
        verdict,
        reasons,
        rules: judge::rules(judged.audited, judged.mailing),
        times,
        origin,
        machine: machine(),
        backend: real.backend().kind.to_string(),
    };
    RunResult::of_mail(run, mail)
}

pub(super) fn servers(system: &MailSystem) -> Vec<MailServer> {
    let settings = match system.plan().store {
        Store::Dovecot { format, fsync } => {
            format!("{}, mail_fsync = {}", format.name(), fsync.name())
        }
        Store::Cyrus => String::new(),
    };
    let servers = system.servers();
    let last = servers.len().saturating_sub(1);
    let servers = servers.into_iter().enumerate().map(|(at, server)| MailServer {
        name: server.name.to_owned(),
        version: Some(server.version.to_string()),
        role: if at == last { "store" } else { "relay" }.to_owned(),
        settings: if at == last { settings.clone() } else { String::new() },
    });
    servers.collect()
}
