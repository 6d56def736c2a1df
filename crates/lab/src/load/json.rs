//! A simulation's result as JSON, version `brunt.simulation/1`. Fields are only added.

use brunt_array::load::{Outcome, Side};
use brunt_array::{Breakdown, CacheStats, TierStats};
use brunt_stats::Percentile;
use brunt_units::{Span, Time};
use serde_json::{Map, Value, json};

use super::{pairs, replicas, words};
use brunt_scenario::ArrayScenario;

/// The whole result, on several lines.
pub fn json(scenario: &ArrayScenario, outcome: &Outcome) -> String {
    let simulation = &scenario.simulation;
    let elapsed = outcome.elapsed();
    let value = json!({
        "version": "brunt.simulation/1",
        "name": scenario.name,
        "seed": simulation.seed,
        "measured_s": elapsed.as_seconds(),
        "warm_up_s": simulation.warm_up.as_seconds(),
        "data_lost": outcome.loss().is_some(),
        "reads": side(&outcome.reads, elapsed),
        "writes": side(&outcome.writes, elapsed),
        "groups": groups(scenario, outcome),
        "drives": drives(outcome),
        "controllers": { "utilisation": outcome.controllers, "link_between": outcome.between },
        "ports": { "utilisation": outcome.ports },
        "cache": outcome.cache.as_ref().map(cache),
        "tier": outcome.tier.as_ref().map(tier),
        "pages": words::pages_of(scenario, outcome),
        "replication": pairs::of(outcome),
        "replicas": replicas::numbers(&outcome.replicas),
        "intervals": intervals(outcome),
        "phases": phases(outcome),
        "notes": notes(outcome),
        "unfinished": unfinished(outcome),
        "device_ios": outcome.device_ios,
    });
    serde_json::to_string_pretty(&value).expect("numbers and texts can be written")
}

fn seconds(time: Time) -> f64 {
    Span(time.0).as_seconds()
}

fn side(side: &Side, elapsed: Span) -> Value {
    let latencies = &side.latencies;
    let millis = |span: Option<Span>| span.map(Span::as_millis);
    let parts: Map<String, Value> = Breakdown::NAMES
        .iter()
        .zip(side.parts_ms())
        .map(|(name, ms)| (format!("{name}_ms"), json!(ms)))
        .collect();
    json!({
        "count": latencies.count(),
        "errors": side.errors,
        "per_s": latencies.count() as f64 / elapsed.as_seconds(),
        "latency_ms_mean": millis(latencies.mean()),
        "latency_ms_p50": millis(latencies.percentile(Percentile::P50)),
        "latency_ms_p99": millis(latencies.percentile(Percentile::P99)),
        "latency_ms_max": millis(latencies.max()),
        "where_it_went": parts,
    })
}

fn groups(scenario: &ArrayScenario, outcome: &Outcome) -> Value {
    let groups = scenario.simulation.design.groups();
    let groups = groups.into_iter().zip(&outcome.groups);
    let groups = groups.map(|((first, group), utilisation)| {
        let drives = group.drives.iter().map(|drive| first + usize::from(*drive));
        let drives: Vec<usize> = drives.collect();
        json!({
            "name": group.name,
            "level": group.level.word(),
            "drives": drives,
            "utilisation": utilisation,
        })
    });
    groups.collect()
}

fn drives(outcome: &Outcome) -> Value {
    let drives = outcome.drives.iter().map(|drive| {
        json!({
            "utilisation": drive.utilisation(),
            "queue_mean": drive.queue(),
            "service_ms_mean": drive.service_ms(),
            "response_ms_mean": drive.response_ms(),
            "reads": drive.reads,
            "writes": drive.writes,
            "sectors": drive.sectors,
            "seek_ms": drive.seek.as_millis(),
            "rotation_ms": drive.rotation.as_millis(),
            "transfer_ms": drive.transfer.as_millis(),
        })
    });
    drives.collect()
}

fn cache(cache: &CacheStats) -> Value {
    json!({
        "read_hits": cache.read_hits,
        "read_misses": cache.read_misses,
        "writes": cache.writes,
        "writes_stalled": cache.stalled,
        "destages": cache.destages,
        "destaged_pages": cache.destaged_pages,
        "prefetched_sectors": cache.prefetched_sectors,
        "parity_reads": cache.parity_reads,
        "parity_reads_spared": cache.parity_reads_spared,
        "dirty_pages": cache.unwritten,
        "dirty_pages_max": cache.unwritten_most,
        "write_pages": cache.write_pages,
    })
}

fn tier(tier: &TierStats) -> Value {
    json!({
        "hits": tier.hits,
        "misses": tier.misses,
        "blocks_admitted": tier.admitted,
        "blocks_evicted": tier.evicted,
        "pages_written": tier.pages_written,
        "blocks": tier.blocks,
        "blocks_max": tier.room,
    })
}

fn intervals(outcome: &Outcome) -> Value {
    let intervals = outcome.intervals.iter().map(|interval| {
        json!({
            "until_s": seconds(interval.until),
            "length_s": interval.length.as_seconds(),
            "reads": side(&interval.reads, interval.length),
            "writes": side(&interval.writes, interval.length),
            "busiest_drive": interval.busiest.1,
            "busiest_utilisation": interval.busiest.0,
            "dirty_share": interval.dirty,
            "tier_hit_share": interval.tier_hits,
            "room_used_share": interval.room,
            "replica_age_s": interval.replica_age.map(Span::as_seconds),
        })
    });
    intervals.collect()
}

fn phases(outcome: &Outcome) -> Value {
    let phases = outcome.phases.iter().map(|phase| {
        let length = phase.until - phase.since;
        json!({
            "groups": phase.standing.word(),
            "since_s": seconds(phase.since),
            "until_s": seconds(phase.until),
            "reads": side(&phase.reads, length),
            "writes": side(&phase.writes, length),
        })
    });
    phases.collect()
}

fn unfinished(outcome: &Outcome) -> Value {
    let unfinished = outcome.unfinished.iter().map(|one| {
        json!({
            "what": one.to_string(),
            "done_share": one.done,
            "left_s": one.left.map(Span::as_seconds),
        })
    });
    unfinished.collect()
}

fn notes(outcome: &Outcome) -> Value {
    let notes = outcome.notes.iter().map(|note| {
        json!({
            "at_s": seconds(note.at),
            "what": note.what.to_string(),
            "is_loss": note.what.is_loss(),
        })
    });
    notes.collect()
}
