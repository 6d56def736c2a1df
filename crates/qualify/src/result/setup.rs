//! The parameters and times of a test.

use brunt_ese::instance::Circular;
use brunt_report::Timestamp;
use brunt_report::result::{Limits, Setup, Times};
use brunt_units::Time;
use brunt_workload::mix::Kind;
use brunt_workload::profile::SessionScope;

use super::Assembly;
use crate::plan::Plan;
use crate::sampling::Collected;

impl Assembly<'_> {
    pub(super) fn times(&self) -> Times {
        let run = self.run;
        let at = |time| timestamp(self.plan, time);
        let collected = run.collected.as_ref();
        let carried = self.plan.carried;
        let begin = |collected: &Collected| match carried {
            Some(carried) => carried.started.after(collected.begin.0.div_euclid(1_000_000_000)),
            None => at(collected.begin),
        };
        Times {
            started: carried.map_or_else(|| at(run.started), |carried| carried.started),
            collection_started: collected.map(begin),
            collection_ended: run.collection_ended.map(at),
            ended: Some(at(run.ended)),
            collection_s: self.length.as_seconds(),
        }
    }

    pub(super) fn setup(&self) -> Setup {
        let plan = self.plan;
        let (engine, mix, latency) = (&plan.engine, plan.load.mix, plan.limits.latency);
        Setup {
            description: plan.description.clone(),
            profile: format!("exchange-{}", plan.version.name()),
            sessions: self.run.sessions,
            session_scope: match plan.session_scope {
                SessionScope::Server => "server",
                SessionScope::Instance => "instance",
                SessionScope::Database => "database",
            }
            .to_owned(),
            sessions_each: self.run.sessions.div_euclid(plan.session_unit()),
            capacity_percent: plan.capacity_percent,
            mailboxes: plan.mailboxes,
            throughput_percent: plan.throughput_percent,
            pace_iops: self.run.target.map(|target| target.offered()),
            page_bytes: engine.page.bytes_u64(),
            log_file_bytes: engine.log_file.get(),
            log_buffer_bytes: engine.log_buffer.get(),
            cache_bytes_min: engine.cache_min.get(),
            cache_bytes_max: engine.cache_max.get(),
            checkpoint_depth_bytes: engine.checkpoint_depth.get(),
            insert_percent: mix.percent(Kind::Insert),
            delete_percent: mix.percent(Kind::Delete),
            replace_percent: mix.percent(Kind::Replace),
            read_percent: mix.percent(Kind::Read),
            lazy_commit_percent: mix.lazy_percent(),
            shards: plan.shards,
            background_maintenance: engine.background_maintenance,
            copies: plan.copies_of_each(),
            circular_logging: engine.circular != Circular::Off,
            limits: Limits {
                database_read_ms_mean: latency.read_mean.as_millis(),
                database_read_ms_max: latency.read_sample.as_millis(),
                log_write_ms_mean: latency.log_mean.as_millis(),
                log_write_ms_max: latency.log_sample.as_millis(),
            },
        }
    }
}

/// Converts a time of the world's clock to a calendar time.
pub fn timestamp(plan: &Plan, time: Time) -> Timestamp {
    let millis = plan.epoch_ms + time.0.div_euclid(1_000_000);
    Timestamp { unix_seconds: millis.div_euclid(1_000) }
}
