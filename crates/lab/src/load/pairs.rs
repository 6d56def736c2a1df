//! A replicated array: what is going to be simulated, and what became of it, for raw load and for
//! tests alike.

use brunt_array::load::Outcome;
use brunt_array::{
    AtRisk, Loss, Mode, PairDesign, ReplicationState, Site, SystemDesign, WriteRates,
};
use brunt_report::result::{ReplicationGroup, ReplicationNumbers, WriteRate};
use brunt_units::Span;

/// How an array is replicated; nothing for one that is not.
pub fn described(design: &SystemDesign) -> Option<String> {
    let SystemDesign::Pair(pair) = design else {
        return None;
    };
    let mut parts = vec![groups(pair)];
    let link = &pair.link;
    let mut way = format!("link of {} round trip", link.round_trip);
    if link.gateway > Span::ZERO {
        way.push_str(&format!(" and {} of gateways", link.gateway));
    }
    parts.push(way);
    if link.bytes_per_second > 0 {
        let rate = link.bytes_per_second as f64 / 1e6;
        parts.push(format!("{rate:.1} MB/s a path"));
    }
    if link.paths > 1 {
        parts.push(format!("{} paths", link.paths));
    }
    Some(parts.join("; "))
}

fn groups(pair: &PairDesign) -> String {
    let of = |mode| pair.groups.iter().filter(|one| one.mode == mode).count();
    let failsafe = pair.groups.iter().filter(|one| one.failsafe).count();
    let modes = [(of(Mode::Synchronous), "synchronous"), (of(Mode::Asynchronous), "asynchronous")];
    let modes = modes.iter().filter(|(count, _)| *count > 0);
    let modes: Vec<String> = modes.map(|(count, mode)| format!("{count} {mode}")).collect();
    let noun = if pair.groups.len() == 1 { "group" } else { "groups" };
    let failsafe = match failsafe {
        0 => "no failsafe".to_owned(),
        all if all == pair.groups.len() => "failsafe".to_owned(),
        some => format!("{some} with failsafe"),
    };
    format!("{} {noun}, {failsafe}", modes.join(", "))
}

/// What failovers have lost together; nothing without any, and where that cannot be said.
fn lost(losses: &[Loss], of: fn(AtRisk) -> u64) -> Option<u64> {
    let all: Option<Vec<u64>> = losses.iter().map(|loss| loss.lost.map(of)).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

fn rate(rate: &brunt_array::WriteRate) -> WriteRate {
    WriteRate { bytes_per_s_mean: rate.mean, bytes_per_s_busiest: rate.busiest }
}

/// What became of the replication, and how fast hosts wrote to it, as numbers of a result.
pub fn numbers(replication: &ReplicationState, rates: Option<&WriteRates>) -> ReplicationNumbers {
    let writes = |number: usize| rates?.groups.get(number).map(rate);
    let groups = replication.groups.iter().enumerate();
    let groups = groups.map(|(number, state)| ReplicationGroup {
        name: state.name.clone(),
        state: state.phase.word().to_owned(),
        log_bytes: state.log.used.get(),
        log_peak_bytes: state.log_peak.get(),
        at_risk_writes: state.at_risk.map(|risk| risk.writes),
        at_risk_bytes: state.at_risk.map(|risk| risk.bytes),
        copied_bytes: state.copied.0.get(),
        serving: (state.serving != Site::Source).then(|| state.serving.word().to_owned()),
        lost_writes: lost(&state.losses, |lost| lost.writes),
        lost_bytes: lost(&state.losses, |lost| lost.bytes),
        writes: writes(number),
    });
    ReplicationNumbers {
        log_peak_bytes: replication.log_peak.get(),
        resumption_s: replication.longest_resumption.map(Span::as_seconds),
        link_bytes: replication.link_bytes,
        writes: rates.map(|rates| rate(&rates.all)),
        groups: groups.collect(),
    }
}

/// The same of a simulation of raw load.
pub(super) fn of(outcome: &Outcome) -> Option<ReplicationNumbers> {
    let state = outcome.replication.as_ref()?;
    Some(numbers(state, outcome.write_rates.as_ref()))
}
