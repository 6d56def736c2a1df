//! Replicas of volumes: what is going to be simulated, and what became of them, for raw load and
//! for tests alike.

use brunt_array::{ReplicaState, Seed, SitesDesign, SystemDesign};
use brunt_report::result::ReplicaNumbers;
use brunt_units::{ByteSize, Span};

/// How volumes are replicated; nothing for those that are not.
pub fn described(design: &SystemDesign) -> Option<String> {
    let SystemDesign::Sites(sites) = design else {
        return None;
    };
    let mut parts: Vec<String> = sites.replicas.iter().map(one).collect();
    parts.push(format!("link of {} round trip", sites.link.round_trip));
    parts.extend(rate(sites));
    Some(parts.join("; "))
}

fn one(replica: &brunt_array::ReplicaDesign) -> String {
    let luns = match replica.luns.len() {
        1 => "1 LUN".to_owned(),
        many => format!("{many} LUNs"),
    };
    let seed = match replica.seed {
        Seed::Link => String::new(),
        Seed::Media(takes) => format!(", the first on media in {takes}"),
    };
    format!("{} ({luns}) every {}, {} kept{seed}", replica.name, replica.every, replica.keep)
}

fn rate(sites: &SitesDesign) -> Option<String> {
    let rate = sites.link.bytes_per_second;
    (rate > 0).then(|| format!("{:.1} MB/s a path", rate as f64 / 1e6))
}

/// What became of replicas, as numbers of a result.
pub fn numbers(states: &[ReplicaState]) -> Vec<ReplicaNumbers> {
    let states = states.iter();
    states
        .map(|state| ReplicaNumbers {
            name: state.name.clone(),
            complete: state.complete,
            skipped: state.skipped,
            given_up: state.given_up,
            kept: state.kept as u64,
            age_s: state.age.map(Span::as_seconds),
            worst_age_s: state.worst_age.map(Span::as_seconds),
            at_risk_bytes: state.at_risk.get(),
            left_bytes: state.left.map(ByteSize::get),
            last_took_s: state.last_took.map(Span::as_seconds),
            sent_bytes: state.sent.get(),
            recovered: None,
        })
        .collect()
}
