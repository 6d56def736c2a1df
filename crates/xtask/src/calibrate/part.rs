//! A part of a group of servers that predicts the whole, for a search.
//!
//! The twelve servers of the EqualLogic group use four equal pools of data, three servers each, and
//! one pool for logs. Six servers with two of the pools, and half of what the log pool has (drives,
//! cores, ports, cache), are the same design once instead of twice. What differs is chance, and
//! that two queues of one core each wait a little longer than one of two. `calibrate` prints both,
//! so that they can be compared.

use crate::figures::Figures;

/// A part, and how many times the whole has it.
pub(super) struct Part {
    scenario: &'static str,
    pub(super) times: f64,
    pub(super) set: &'static [&'static str],
}

const PARTS: [Part; 1] = [Part {
    scenario: "eqlx-ps5000xv-group",
    times: 2.0,
    set: &[
        "servers=[\"DOWNPOUR\", \"FOG\", \"TYPHOON\", \"HURRICANE\", \"ICE\", \"SNOW\"]",
        "array.4.drives.0.count=16",
        "array.4.group.0.drives=16",
        "array.4.controller.cores=1",
        "array.4.front.ports=3",
        "array.4.cache.write=512MiB",
        "array.4.cache.read=256MiB",
    ],
}];

/// The part that stands for the scenario called `name`; `None` when only the whole does.
pub(super) fn of(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.scenario == name)
}

impl Part {
    pub(super) fn whole(&self, part: Figures) -> Figures {
        let all = |rate: Option<f64>| rate.map(|rate| rate * self.times);
        Figures {
            io_per_s: all(part.io_per_s),
            reads_per_s: all(part.reads_per_s),
            writes_per_s: all(part.writes_per_s),
            log_writes_per_s: all(part.log_writes_per_s),
            ..part
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    #[test]
    fn every_part_has_a_scenario_of_several_servers() {
        for part in &PARTS {
            let servers = published::outline(part.scenario).unwrap().servers as f64;
            let own = part.set[0].matches(", ").count() as f64 + 1.0;
            assert_eq!(servers, own * part.times);
            crate::prediction::scenario(
                part.scenario,
                &part.set.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
            .unwrap();
        }
        assert!(of("emc-cx3-20-performance").is_none());
    }

    #[test]
    fn rates_add_up_and_latencies_stay() {
        let part = Figures { io_per_s: Some(100.0), read_ms: Some(18.0), ..Figures::default() };
        let whole = PARTS[0].whole(part);
        assert_eq!((whole.io_per_s, whole.read_ms), (Some(200.0), Some(18.0)));
    }
}
