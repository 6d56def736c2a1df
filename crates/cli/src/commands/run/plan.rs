//! From a scenario to the plan of a test.

use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_ese::format::stamp::RunId;
use brunt_qualify::plan::{
    DatabasePlan, EnginePlan, InstancePlan, LoadPlan, Plan, TwinPlan, circular,
};
use brunt_qualify::witness::Hearing;
use brunt_report::Timestamp;
use brunt_units::Time;
use brunt_workload::keys::Mixer;
use brunt_workload::session::Scheduling;
use brunt_world::fault::Fault;
use brunt_world_real::facts;

use brunt_scenario::Scenario;

/// The plan of `scenario`, for a run that began at `begun`.
pub fn plan(scenario: &Scenario, renew: bool, begun: SystemTime) -> Plan {
    let test = &scenario.test;
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let instances = scenario.instances.iter();
    Plan {
        kind: test.kind,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        version: scenario.profile.version,
        duration: test.duration,
        warm_up_min: test.min_warmup,
        precondition: test.precondition,
        sessions: scenario.pool(),
        tune: scenario.tune(),
        capacity_percent: scenario.sized_percent,
        throughput_percent: scenario.throughput_percent,
        session_scope: scenario.session_scope(),
        start_at: None,
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
        twin: TwinPlan::default(),
        array_cache: scenario.array_cache,
        instances: instances.map(instance).collect(),
        faults: faults(scenario),
        hearing: Hearing::default(),
        renew,
        run: run_id(begun),
        epoch_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
    }
}

/// A point in time on the clock of the world, whose beginning was `begun`.
pub(super) fn world_time(begun: SystemTime, at: Timestamp) -> Time {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let from_begin = u128::from(at.unix_seconds) * 1_000_000_000;
    let nanos = from_begin.saturating_sub(since.as_nanos());
    Time(u64::try_from(nanos).unwrap_or(u64::MAX))
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
        log_segment: log_segment(scenario),
        log_buffer: profile.log_buffer,
        cache_min: profile.cache_min,
        cache_max: profile.cache_max,
        checkpoint_depth: profile.checkpoint_depth,
        circular: circular(profile.version.profile(), profile.circular_logging),
        pacing: profile.checkpoint_writes,
        maintenance: profile
            .background_maintenance
            .then_some(profile.maintenance),
        ..usual
    }
}

/// Faults of `[faults]`; the storage's own sectors are the smallest pieces that are torn.
fn faults(scenario: &Scenario) -> Vec<Fault> {
    let sector = log_segment(scenario) as u64;
    let faults = scenario.faults.iter().cloned();
    faults.map(|fault| Fault { sector, ..fault }).collect()
}

/// 512 bytes, unless a log lies on a device with larger sectors: there a smaller write would be refused.
fn log_segment(scenario: &Scenario) -> usize {
    let logs = scenario
        .instances
        .iter()
        .map(|instance| &instance.log.value);
    let sectors = logs.filter_map(|log| facts::place(log).ok()?.device?.logical_sector);
    if sectors.max().unwrap_or(512) > 512 {
        4096
    } else {
        512
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

/// An id that no other run has: from the time and the number of the process.
fn run_id(begun: SystemTime) -> RunId {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    RunId(Mixer::new(process::id().into()).key(nanos))
}
