//! The part of a plan that is a shard's.

use brunt_units::ByteSize;
use brunt_workload::keys::Mixer;
use brunt_workload::session::Scheduling;

use crate::goal::Target;
use crate::plan::{EnginePlan, LoadPlan, Plan};

impl Plan {
    /// The plan of shard number `number`, from zero: as many log streams as every other, in the
    /// order of the plan, and its part of sessions, cache and target. All else is as in the whole
    /// plan.
    ///
    /// # Panics
    /// When log streams cannot be dealt out evenly, or there are fewer sessions than shards.
    pub fn shard(&self, number: u32) -> Self {
        let of = self.shards;
        let each = self.instances.len().div_euclid(of as usize);
        assert!(each * of as usize == self.instances.len() && self.sessions >= of);
        let first = number as usize * each;
        let rate = |whole: f64| whole / f64::from(of);
        let page = self.engine.page.bytes_u64();
        let pages = |size: ByteSize| {
            let pages = part(size.get().div_euclid(page), number, of);
            ByteSize::bytes(pages * page)
        };
        Self {
            shards: 1,
            // The scenario refuses them with more shards than one.
            passive: Vec::new(),
            instances: self.instances[first..first + each].to_vec(),
            sessions: u32::try_from(part(self.sessions.into(), number, of)).expect("a part"),
            target: self.target.map(|target| Target { io_per_s: rate(target.io_per_s), ..target }),
            load: LoadPlan {
                scheduling: match self.load.scheduling {
                    Scheduling::Paced { rate: whole } => Scheduling::Paced { rate: rate(whole) },
                    alone => alone,
                },
                ..self.load
            },
            seed: seed(self.seed, number),
            hearing: self.hearing.of_part(first),
            engine: EnginePlan {
                cache_min: pages(self.engine.cache_min),
                cache_max: pages(self.engine.cache_max),
                ..self.engine
            },
            ..self.clone()
        }
    }
}

/// What shard `number` gets of `total`: the first ones get what is left over.
fn part(total: u64, number: u32, of: u32) -> u64 {
    let of = u64::from(of);
    total.div_euclid(of) + u64::from(u64::from(number) < total.rem_euclid(of))
}

/// Every shard draws its own random numbers.
fn seed(seed: u64, number: u32) -> u64 {
    match number {
        0 => seed,
        number => Mixer::new(seed).key(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut whole = Plan {
            shards: 3,
            sessions: 7,
            target: Some(Target { io_per_s: 600.0, headroom_percent: 20 }),
            ..plan()
        };
        whole.instances = (0..6).map(|at| whole.instances[at % 2].clone()).collect();
        whole.load.scheduling = Scheduling::Paced { rate: 90.0 };
        whole.engine.cache_max = ByteSize::kib(4 * 257);
        let parts: Vec<Plan> = (0..3).map(|number| whole.shard(number)).collect();
        let of = |what: fn(&Plan) -> u64| parts.iter().map(what).collect::<Vec<u64>>();
        assert_eq!(of(|plan| plan.sessions.into()), [3, 2, 2]);
        assert_eq!(of(|plan| plan.frames().into()), [86, 86, 85]);
        let targets = parts.iter().map(|plan| plan.target.unwrap());
        assert!(targets.clone().all(|target| target.headroom_percent == 20));
        assert_eq!(targets.map(|target| target.io_per_s).sum::<f64>(), 600.0);
        let paced = Scheduling::Paced { rate: 30.0 };
        assert!(parts.iter().all(|plan| plan.load.scheduling == paced));
        let instances = parts.iter().flat_map(|plan| &plan.instances);
        assert!(instances.eq(&whole.instances), "each once, in their order");
        assert!(parts.iter().all(|plan| plan.run == whole.run));
    }

    #[test]
    fn shards_draw_other_numbers() {
        let whole = Plan { shards: 2, ..plan() };
        let seeds = [0, 1].map(|number| whole.shard(number).seed);
        assert_eq!(seeds[0], whole.seed);
        assert_eq!(BTreeSet::from(seeds).len(), 2);
    }
}
