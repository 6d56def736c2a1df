//! From a scenario to the plan of a test.

use brunt_qualify::plan::{DatabasePlan, EnginePlan, InstancePlan, LoadPlan, Plan, circular};
use brunt_scenario::Scenario;
use brunt_workload::session::Scheduling;

/// The plan of `scenario`, on storage whose sectors have 512 bytes. What belongs to a single run, such as its id and when it
/// began, is that of [`Plan::new`].
pub fn plan(scenario: &Scenario) -> Plan {
    let test = &scenario.test;
    let instances = scenario.instances.iter().map(instance).collect();
    Plan {
        kind: test.kind,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        duration: test.duration,
        warm_up_min: test.min_warmup,
        precondition: test.precondition,
        sessions: scenario.pool(),
        tune: scenario.tune(),
        capacity_percent: scenario.sized_percent,
        throughput_percent: scenario.throughput_percent,
        session_scope: scenario.session_scope(),
        seed: test.seed,
        target: test.target(),
        mailboxes: scenario.mailboxes.as_ref().map(|mailboxes| mailboxes.count),
        growth: test.growth,
        logs: test.logs,
        copy_to: test.copy_to.as_ref().map(|folder| folder.value.clone()),
        copies: test.copies,
        engine: engine(scenario),
        load: load(scenario),
        limits: scenario.limits,
        array_cache: scenario.array_cache,
        faults: scenario.faults.clone(),
        ..Plan::new(scenario.profile.version, instances)
    }
}

fn load(scenario: &Scenario) -> LoadPlan {
    let profile = &scenario.profile;
    LoadPlan {
        mix: profile.mix,
        batch: profile.batch_operations,
        shape: scenario.records,
        reads_again_percent: profile.reads_again_percent,
        scheduling: scenario
            .test
            .operations_per_s
            .map_or(scenario.test.scheduling, |rate| Scheduling::Paced { rate }),
        ..LoadPlan::of(profile.version.profile())
    }
}

fn engine(scenario: &Scenario) -> EnginePlan {
    let profile = &scenario.profile;
    let figures = profile.version.profile();
    let usual = EnginePlan::of(figures, scenario.instances.len() as u64);
    EnginePlan {
        page: profile.page,
        log_file: profile.log_file,
        log_buffer: profile.log_buffer,
        cache_min: profile.cache_min,
        cache_max: profile.cache_max,
        checkpoint_depth: profile.checkpoint_depth,
        circular: circular(profile.version.profile(), profile.circular_logging),
        pacing: profile.checkpoint_writes,
        maintenance: profile
            .background_maintenance
            .then_some(profile.maintenance),
        recovery_reads: profile.recovery_reads.unwrap_or(usual.recovery_reads),
        ..usual
    }
}

fn instance(instance: &brunt_scenario::InstancePlan) -> InstancePlan {
    let databases = instance.databases.iter();
    InstancePlan {
        name: instance.name.clone(),
        log: instance.log.value.clone(),
        databases: databases
            .map(|database| DatabasePlan {
                name: database.name.clone(),
                path: database.path.value.clone(),
                size: database.size.value,
            })
            .collect(),
    }
}
