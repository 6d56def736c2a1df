//! The one result of a fleet: what its hosts measured, added up, and what happened to each.

use std::path::Path;

use brunt_fleet::{AgentReport, Fate, Report};
use brunt_host::runs::{self, HostsError};
use brunt_report::result::{Fleet, FleetAgent, IoNumbers, Origin, RunResult, Server, Verdict};
use brunt_report::{
    Cell, Column, ReadError, Row, Run, RunFolder, Table, counted, one_line, result_in,
};

use brunt_units::Span;

use super::kept::Kept;
use crate::version;

/// The run of all hosts, as far as their folders are in `folder`; `None` when no host has one.
///
/// # Errors
/// [`ReadError`] when a folder cannot be read.
pub(super) fn run(
    kept: &Kept,
    folder: &RunFolder,
    report: &Report,
) -> Result<Option<Run>, ReadError> {
    let names: Vec<&str> = report.agents.iter().map(|agent| agent.name.as_str()).collect();
    let fleet = Fleet {
        agents: report.agents.iter().map(agent).collect(),
        skew_ms: report.skew.map(Span::as_millis),
        skew_bound_ms: report.skew_bound.map(Span::as_millis),
        slowest: None,
        prediction: None,
    };
    let (mut run, apart) = match runs::of_hosts(folder.path(), &names, Some(fleet.clone())) {
        Ok(run) => (run, None),
        Err(HostsError::Read(error)) => return Err(error),
        // What the first of them has is shown; the sum is of hosts that were tested together.
        Err(HostsError::Apart(first, why)) => (*first, Some(why.to_string())),
        Err(HostsError::None) => return Ok(None),
    };
    let result = &mut run.result;
    let slowest = slowest(&result.storage.servers);
    let is_whole = apart.is_none() && result.storage.servers.len() == names.len();
    let prediction = kept.prediction.clone();
    let prediction = prediction.map(|prediction| prediction.beside(result, is_whole));
    result.fleet = Some(Fleet { slowest, prediction, ..fleet });
    let mut reasons = report.reasons.clone();
    reasons.extend(apart.map(|why| format!("hosts are not added up: {why}")));
    // Hosts that all came to their end say themselves what came of it.
    let is_plain = |agent: &AgentReport| matches!(agent.fate, Fate::Complete(_));
    if !report.agents.iter().all(is_plain) || report.verdict != result.verdict {
        result.storage.details.sentence = match reasons.is_empty() {
            false => reasons.join("; "),
            true => "the hosts were not tested together".to_owned(),
        };
    }
    result.verdict = report.verdict;
    result.qualifies &= report.verdict == Verdict::Pass && reasons.is_empty();
    reasons.extend(in_short(&result.reasons, &names));
    result.reasons = reasons;
    result.scenario.clone_from(&kept.name);
    let Origin { command, run_id, .. } = &mut result.origin;
    *command = version::command();
    run_id.clone_from(&kept.run);
    Ok(Some(run))
}

/// Reasons of single servers that have the same cure, as one.
fn in_short(reasons: &[String], servers: &[&str]) -> Vec<String> {
    let mut short: Vec<(String, u64)> = Vec::new();
    let cure = |reason: &str| reason.rsplit(": ").next().unwrap_or_default().to_owned();
    let is_of_server = |reason: &str| {
        servers
            .iter()
            .any(|server| reason.strip_prefix(server).is_some_and(|rest| rest.starts_with(": ")))
    };
    for reason in reasons {
        let same = short.iter_mut().find(|(own, _)| {
            is_of_server(own) && is_of_server(reason) && cure(own) == cure(reason)
        });
        match same {
            Some((_, more)) => *more += 1,
            None => short.push((reason.clone(), 0)),
        }
    }
    let said = short.into_iter().map(|(reason, more)| match more {
        0 => reason,
        more => format!("{reason} (and {})", counted(more, "other server")),
    });
    said.collect()
}

fn agent(agent: &AgentReport) -> FleetAgent {
    let is_plain = matches!(agent.fate, Fate::Complete(_));
    FleetAgent {
        name: agent.name.clone(),
        host: agent.host.clone(),
        outcome: agent.fate.outcome(),
        reason: (!is_plain && agent.fate != Fate::WithOthers)
            .then(|| one_line(&agent.fate.to_string()).into_owned()),
        may_change: may_change(&agent.fate),
        offset_ms: agent.offset_ns.map(|nanos| nanos as f64 / 1e6),
        offset_bound_ms: agent.offset_bound.map(|bound| bound.as_millis()),
    }
}

/// The server whose database reads took longest on average.
fn slowest(servers: &[Server]) -> Option<String> {
    let read = |server: &Server| {
        let databases = server.instances.iter().flat_map(|one| &one.details.databases);
        IoNumbers::together(databases.map(|database| &database.reads)).latency_ms_mean
    };
    let reads = servers.iter().filter_map(|server| Some((read(server)?, &server.name)));
    reads.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, name)| name.clone())
}

/// Whether a host may still be at work, or has a folder that is not here.
fn may_change(fate: &Fate) -> bool {
    matches!(fate, Fate::Lost { .. } | Fate::NotFetched { .. } | Fate::LetGo)
}

/// The same of a whole fleet, of which no folder is here.
pub(super) fn is_open(report: &Report) -> bool {
    report.agents.iter().any(|agent| may_change(&agent.fate))
}

/// The same of a result.
pub(super) fn is_unsettled(fleet: &Fleet) -> bool {
    fleet.agents.iter().any(|agent| agent.may_change)
}

/// The result of the run in `folder`, if nothing can change it any more.
pub(super) fn settled(folder: &Path) -> Option<RunResult> {
    let result = result_in(folder).ok()?;
    let is_settled = result.fleet.as_ref().is_some_and(|fleet| !is_unsettled(fleet));
    is_settled.then_some(result)
}

/// The hosts, for the last screen.
pub(super) fn hosts(result: &RunResult) -> String {
    let Some(fleet) = &result.fleet else { return String::new() };
    let columns = ["server", "host", "outcome", ""].map(Column::words);
    let rows = fleet.agents.iter().map(|agent| {
        let [host, outcome] = agent.in_words();
        Row::new([
            Cell::from(agent.name.as_str()),
            host.into(),
            outcome.into(),
            agent.reason.as_deref().unwrap_or("").into(),
        ])
    });
    let table = Table::new(columns, rows);
    let apart = fleet.apart().map(|apart| format!("\n{:14}{apart}", "together"));
    let slowest = fleet.slowest.as_ref().map(|name| format!("\n{:14}{name}", "slowest"));
    let more = [apart, slowest].into_iter().flatten().collect::<String>();
    format!("\n\n{}{more}", table.to_text())
}

/// What was predicted for all of them, for the last screen; the page has it for each.
pub(super) fn predicted(result: &RunResult) -> String {
    let prediction = result.fleet.as_ref().and_then(|fleet| fleet.prediction.as_ref());
    prediction.map_or_else(String::new, |prediction| {
        let (verdict, table) = (prediction.headline(), prediction.table(false).to_text());
        format!("\n\n{:14}{verdict}\n\n{table}", "a model said")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_still_come_is_not_settled() {
        let of = |fate: Fate| {
            let report = AgentReport {
                name: "A".to_owned(),
                host: None,
                fate,
                offset_ns: None,
                offset_bound: None,
            };
            let agents = vec![agent(&report)];
            let fleet = Fleet {
                agents,
                skew_ms: None,
                skew_bound_ms: None,
                slowest: None,
                prediction: None,
            };
            (may_change(&report.fate), is_unsettled(&fleet))
        };
        let why = || "why".to_owned();
        for open in [Fate::Lost { why: why() }, Fate::NotFetched { why: why() }, Fate::LetGo] {
            assert_eq!(of(open.clone()), (true, true), "{open}");
        }
        for over in [
            Fate::Complete(Verdict::Inconclusive),
            Fate::Complete(Verdict::Pass),
            Fate::Stopped,
            Fate::WithOthers,
            Fate::Killed { why: why() },
        ] {
            assert_eq!(of(over.clone()), (false, false), "{over}");
        }
    }

    #[test]
    fn reasons_with_one_cure_are_said_once() {
        let all = [
            "measured for 60 s: --duration 2h",
            "A: 3 GiB are less than memory: larger databases",
            "B: 2 GiB are less than memory: larger databases",
            "C: 2 GiB are less than memory: larger databases",
            "C: a load above its pace: a longer warm-up",
        ];
        let said = in_short(&all.map(str::to_owned), &["A", "B", "C"]);
        assert_eq!(said[..1], all[..1]);
        assert_eq!(said[1], format!("{} (and 2 other servers)", all[1]));
        assert_eq!(said[2..], all[4..]);
    }
}
