//! Memory: whether the caches of a test, and the rest of the program, fit into what the machine and
//! its control group have.
//!
//! The cache fills only after the databases were made. What does not fit is killed by the kernel
//! then, hours later and without a verdict.

use brunt_qualify::plan::Plan;
use brunt_scenario::{Refusal, Scenario};
use brunt_units::ByteSize;
use brunt_world_real::facts;

/// What the program needs beside its caches. Measured: at most 100 MiB, the 30 MiB of the oracle's
/// window (`docs/performance.md`).
const BESIDE_CACHES: ByteSize = ByteSize::mib(128);

/// The memory that a test of `plan` needs.
pub fn memory_needed(plan: &Plan) -> ByteSize {
    let caches = plan.caches().get();
    ByteSize::bytes(caches.saturating_add(BESIDE_CACHES.get()))
}

/// How much memory there is: of the machine, and of its control group if that has a limit.
#[derive(Clone, Copy, Debug)]
struct Memory {
    machine: Option<ByteSize>,
    group: Option<ByteSize>,
}

/// Refuses a cache that does not fit.
pub(super) fn beyond_memory(scenario: &Scenario) -> Option<Refusal> {
    let memory = Memory { machine: facts::host().memory, group: facts::group_limits().memory };
    beyond(scenario, memory)
}

fn beyond(scenario: &Scenario, memory: Memory) -> Option<Refusal> {
    let machine = memory.machine.map(|limit| {
        let what = format!("this machine has {limit} of memory");
        (limit, what, "use a machine with more memory")
    });
    let group = memory.group.map(|limit| {
        let what = format!("its control group limits memory to {limit}");
        (
            limit,
            what,
            "raise memory.max and memory.high of the group (memory.limit_in_bytes in version 1)",
        )
    });
    let (limit, what, instead) =
        machine.into_iter().chain(group).min_by_key(|(limit, ..)| *limit)?;
    let plan = scenario.plan();
    let needed = memory_needed(&plan);
    if needed <= limit {
        return None;
    }
    let copies = match plan.passive.is_empty() {
        true => "",
        false => " and those of its copies",
    };
    let refusal = scenario.cache_max.place.refuse(format!(
        "a cache (`cache_max`) of {}{copies}, and {BESIDE_CACHES} for the rest of the program, need {needed}, and {what}",
        scenario.cache_max.value
    ));
    Some(match largest_cache(&plan, limit) {
        Some(largest) => {
            refusal.hint(format!("make `cache_max` {largest} or smaller, or {instead}"))
        }
        None => refusal.hint(instead),
    })
}

/// The largest `cache_max` with which `plan` fits into `limit`, in whole MiB.
fn largest_cache(plan: &Plan, limit: ByteSize) -> Option<ByteSize> {
    let left = u128::from(limit.get().checked_sub(BESIDE_CACHES.get())?);
    let (own, all) = (plan.engine.cache_max.get(), plan.caches().get());
    let most = (left * u128::from(own)).div_euclid(u128::from(all.max(1)));
    let mib = u64::try_from(most).ok()? >> 20;
    (mib > 0).then(|| ByteSize::mib(mib))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brunt_scenario::Document;

    use super::*;

    fn said(profile: &str, copies: &str, machine: u64, group: Option<u64>) -> String {
        let text = format!(
            "[test]\nduration = \"1s\"\nsessions = 1\n{profile}[[instance]]\nlog = \"/log\"\n\
             databases = [\"/db/1.edb\"]\ndatabase_size = \"100 MiB\"\n{copies}"
        );
        let document = Document::new("t.toml", &text, Path::new("/")).unwrap();
        let scenario = document.test(&[]).unwrap();
        let memory =
            Memory { machine: Some(ByteSize::mib(machine)), group: group.map(ByteSize::mib) };
        beyond(&scenario, memory).map_or_else(String::new, |refusal| refusal.to_string())
    }

    #[test]
    fn a_cache_larger_than_memory_is_refused_where_it_is_written() {
        let profile = "[profile]\ncache_max = \"1 GiB\"\n";
        assert_eq!(said(profile, "", 1_152, None), "");
        assert_ne!(said(profile, "", 1_151, None), "");
        assert_eq!(
            said(profile, "", 1_000, None),
            "t.toml:5: `cache_max = \"1 GiB\"`: a cache (`cache_max`) of 1 GiB, and 128 MiB for the rest of the program, need \
             1.12 GiB, and this machine has 1000 MiB of memory\n  make `cache_max` 872 MiB or smaller, or use a machine with \
             more memory"
        );
    }

    #[test]
    fn the_limit_of_the_control_group_is_named_when_it_is_the_tighter_one() {
        let said_in = |group| said("", "", 8_192, Some(group));
        assert_eq!(said_in(384), "");
        let said = said_in(383);
        assert!(said.starts_with("t.toml"), "{said}");
        assert!(
            said.contains("`cache_max`) of 256 MiB")
                && said.contains("its control group limits memory to 383 MiB\n  make `cache_max` 255 MiB or smaller, or raise"),
            "{said}"
        );
        let said = said_in(100);
        assert!(said.contains("MiB\n  raise memory.max"), "{said}");
    }

    #[test]
    fn caches_of_copies_count_as_well() {
        let copies =
            "[[copy]]\nof = \"Instance 1\"\nlog = \"/log2\"\ndatabases = [\"/db2/1.edb\"]\n";
        assert_eq!(said("", copies, 640, None), "");
        let said = said("", copies, 639, None);
        assert!(
            said.contains("and those of its copies") && said.contains("`cache_max` 255 MiB"),
            "{said}"
        );
    }
}
