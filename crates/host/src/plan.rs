//! The plan of a test on this machine.

use std::path::Path;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_ese::format::stamp::RunId;
use brunt_qualify::plan::{EnginePlan, Plan};
use brunt_report::Timestamp;
use brunt_scenario::Scenario;
use brunt_units::Time;
use brunt_workload::keys::Mixer;
use brunt_world::fault::Fault;
use brunt_world_real::facts;

use crate::consent::Consent;

/// The plan of `scenario`, for a run that began at `begun` and may do what `consent` allows.
pub fn plan(scenario: &Scenario, consent: Consent, begun: SystemTime) -> Plan {
    let plan = scenario.plan();
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let log_segment = log_segment(scenario.files().map(|(own, _)| own.log.as_path()));
    // The storage's own sectors are the smallest pieces that are torn.
    let sector = log_segment as u64;
    let faults = plan.faults.into_iter();
    Plan {
        engine: EnginePlan { log_segment, ..plan.engine },
        faults: faults.map(|fault| Fault { sector, ..fault }).collect(),
        renew: consent.replace,
        run: run_id(begun),
        epoch_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        ..plan
    }
}

/// A point in time on the clock of the world, whose beginning was `begun`.
pub fn world_time(begun: SystemTime, at: Timestamp) -> Time {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let from_begin = u128::from(at.unix_seconds) * 1_000_000_000;
    let nanos = from_begin.saturating_sub(since.as_nanos());
    Time(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// 512 bytes, unless a log lies on a device with larger sectors: there a smaller write would be
/// refused.
pub(crate) fn log_segment<'p>(logs: impl Iterator<Item = &'p Path>) -> usize {
    let sectors = logs.filter_map(|log| facts::place(log).ok()?.device?.logical_sector);
    if sectors.max().unwrap_or(512) > 512 { 4096 } else { 512 }
}

/// An id that no other run has: from the time and the number of the process.
pub fn run_id(begun: SystemTime) -> RunId {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    RunId(Mixer::new(process::id().into()).key(nanos))
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Document;

    use super::*;

    const TEXT: &str = "[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\nlog = \"log\"\n\
                        databases = [\"1.edb\"]\ndatabase_size = \"8 MiB\"\n";

    fn scenario(text: &str) -> Result<Scenario, String> {
        let document = Document::new("t.toml", text, Path::new("/"));
        let scenario = document.and_then(|document| document.test(&[]));
        scenario.map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn databases_are_replaced_only_with_consent() {
        let scenario = scenario(TEXT).unwrap();
        for replace in [false, true] {
            let plan = plan(&scenario, Consent { replace }, UNIX_EPOCH);
            assert_eq!(plan.renew, replace);
        }
    }

    #[test]
    fn a_scenario_cannot_give_consent() {
        for key in ["new", "renew", "replace", "consent"] {
            for text in [
                format!("{key} = true\n{TEXT}"),
                TEXT.replace("[test]", &format!("[test]\n{key} = true")),
                TEXT.replace("[[instance]]", &format!("[[instance]]\n{key} = true")),
            ] {
                let said = scenario(&text).unwrap_err();
                assert!(said.contains(&format!("unknown key `{key}`")), "{said}");
            }
        }
    }
}
