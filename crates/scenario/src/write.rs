//! The resolved scenario as TOML.

use std::fmt::Write;
use std::path::Path;

use brunt_units::{ByteSize, Span};
use brunt_workload::mix::Kind;

use super::faults;
use super::model::{BACKENDS, Scenario};
use super::profile::{CHECKPOINT_WRITES, word};
use super::test::GROWTHS;

impl Scenario {
    /// The scenario with every default written out and every path absolute. Reading it gives this scenario again.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes all");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "name = {}", quoted(&self.name))?;
        writeln!(out, "description = {}", quoted(&self.description))?;
        if let Some(scratch) = &self.scratch {
            writeln!(out, "scratch = {}", path(&scratch.value))?;
        }
        self.write_test(out)?;
        if let Some(mailboxes) = &self.mailboxes {
            writeln!(out, "\n[mailboxes]\ncount = {}", mailboxes.count)?;
            writeln!(out, "quota = {}", size(mailboxes.quota))?;
            writeln!(out, "io_per_s = {:?}", mailboxes.io_per_s.value)?;
        }
        self.write_throughput(out)?;
        self.write_profile(out)?;
        self.write_limits(out)?;
        self.write_records(out)?;
        if let Some(cache) = self.array_cache {
            writeln!(out, "\n[storage]\ncache = {}", size(cache))?;
        }
        let backend = BACKENDS.iter().find(|(_, choice)| *choice == self.backend);
        let backend = backend.expect("every choice has a word").0;
        writeln!(out, "\n[engine]\nbackend = {}", quoted(backend))?;
        self.write_instances(out)?;
        faults::write(&self.faults, out)
    }

    fn write_test(&self, out: &mut String) -> std::fmt::Result {
        let test = &self.test;
        writeln!(out, "\n[test]\nkind = {}", quoted(test.kind.word()))?;
        writeln!(out, "duration = {}", span(test.duration))?;
        writeln!(out, "min_warmup = {}", span(test.min_warmup))?;
        writeln!(out, "precondition = {:?}", test.precondition)?;
        writeln!(out, "sessions = {}\ntune = {}", test.sessions, test.tune)?;
        writeln!(out, "seed = {}", test.seed)?;
        // With mailboxes the target is theirs.
        let target = test.target_io_per_s.as_ref();
        if let Some(target) = target.filter(|_| self.mailboxes.is_none()) {
            writeln!(out, "target_io_per_s = {:?}", target.value)?;
        }
        writeln!(out, "headroom_percent = {}", test.headroom_percent)?;
        if let Some(rate) = test.operations_per_s {
            writeln!(out, "operations_per_s = {rate:?}")?;
        }
        let scheduling = test.scheduling.to_string();
        writeln!(out, "scheduling = {}", quoted(&scheduling))?;
        let growth = GROWTHS.iter().find(|(_, growth)| *growth == test.growth);
        let growth = growth.expect("every way has a word").0;
        writeln!(out, "growth = {}", quoted(growth))?;
        writeln!(out, "copies = {}\nlogs = {}", test.copies, test.logs)?;
        if let Some(folder) = &test.copy_to {
            writeln!(out, "copy_to = {}", path(&folder.value))?;
        }
        writeln!(out, "strict_tail = {}", test.strict_tail)
    }

    /// Sizes that have been made from the capacity are written as such, and the share is not.
    fn write_throughput(&self, out: &mut String) -> std::fmt::Result {
        let capacity = self.capacity_percent.as_ref();
        let throughput = self.throughput_percent;
        if capacity.is_none() && throughput.is_none() {
            return Ok(());
        }
        writeln!(out, "\n[throughput]")?;
        if let Some(percent) = capacity {
            writeln!(out, "capacity_percent = {}", percent.value)?;
        }
        if let Some(percent) = throughput {
            writeln!(out, "throughput_percent = {percent}")?;
        }
        Ok(())
    }

    fn write_profile(&self, out: &mut String) -> std::fmt::Result {
        let profile = &self.profile;
        writeln!(
            out,
            "\n[profile]\nversion = {}",
            quoted(&word(profile.version))
        )?;
        let page = ByteSize::bytes(profile.page.bytes_u64());
        for (key, bytes) in [
            ("page", page),
            ("log_file", profile.log_file),
            ("log_buffer", profile.log_buffer),
            ("cache_min", profile.cache_min),
            ("cache_max", profile.cache_max),
            ("checkpoint_depth", profile.checkpoint_depth),
        ] {
            writeln!(out, "{key} = {}", size(bytes))?;
        }
        writeln!(out, "circular_logging = {}", profile.circular_logging)?;
        writeln!(
            out,
            "background_maintenance = {}",
            profile.background_maintenance
        )?;
        let pacing = CHECKPOINT_WRITES.iter();
        let pacing = pacing
            .clone()
            .find(|(_, pacing)| *pacing == profile.checkpoint_writes);
        let pacing = pacing.expect("every pacing has a word").0;
        writeln!(out, "checkpoint_writes = {}", quoted(pacing))?;
        writeln!(
            out,
            "maintenance_read = {}",
            size(profile.maintenance.batch)
        )?;
        writeln!(
            out,
            "maintenance_sleep = {}",
            span(profile.maintenance.sleep)
        )?;
        for (key, kind) in [
            ("insert_percent", Kind::Insert),
            ("delete_percent", Kind::Delete),
            ("replace_percent", Kind::Replace),
        ] {
            writeln!(out, "{key} = {}", profile.mix.percent(kind))?;
        }
        writeln!(out, "lazy_percent = {}", profile.mix.lazy_percent())?;
        writeln!(out, "reads_again_percent = {}", profile.reads_again_percent)?;
        writeln!(out, "batch_operations = {}", profile.batch_operations)?;
        match profile.recovery_reads {
            Some(reads) => writeln!(out, "recovery_reads = {reads}"),
            None => Ok(()),
        }
    }

    fn write_limits(&self, out: &mut String) -> std::fmt::Result {
        let limits = &self.limits;
        writeln!(out, "\n[limits]")?;
        for (key, limit) in [
            ("read_average", limits.latency.read_mean),
            ("read_sample", limits.latency.read_sample),
            ("log_average", limits.latency.log_mean),
            ("log_sample", limits.latency.log_sample),
            ("tail_device", limits.tail_device),
            ("tail_operation", limits.tail_operation),
        ] {
            writeln!(out, "{key} = {}", span(limit))?;
        }
        writeln!(out, "excursions = {}", limits.excursions)?;
        writeln!(out, "stalls_per_s = {:?}", limits.stalls_per_s)?;
        writeln!(out, "margin_percent = {}", limits.margin_percent)?;
        writeln!(out, "reserve_percent = {}", limits.reserve_percent)
    }

    fn write_records(&self, out: &mut String) -> std::fmt::Result {
        let records = &self.records;
        let bytes = |bytes: u32| size(ByteSize::bytes(bytes.into()));
        writeln!(out, "\n[records]\nshort = {}", bytes(records.short))?;
        writeln!(out, "long = {}", bytes(records.long))?;
        writeln!(
            out,
            "compressible_percent = {}",
            records.compressible_percent
        )?;
        writeln!(out, "duplicate_percent = {}", records.duplicate_percent)?;
        writeln!(out, "beside_percent = {}", records.beside_percent)
    }

    fn write_instances(&self, out: &mut String) -> std::fmt::Result {
        for instance in &self.instances {
            writeln!(out, "\n[[instance]]\nname = {}", quoted(&instance.name))?;
            writeln!(out, "log = {}", path(&instance.log.value))?;
            let paths: Vec<_> = instance
                .databases
                .iter()
                .map(|d| path(&d.path.value))
                .collect();
            writeln!(out, "databases = [{}]", paths.join(", "))?;
            let bytes = instance.databases[0].size.value;
            if bytes.get() > 0 {
                writeln!(out, "database_size = {}", size(bytes))?;
            }
        }
        Ok(())
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A size that reads back exactly: what its usual form would round is written in bytes.
pub(super) fn size(bytes: ByteSize) -> String {
    let usual = bytes.to_string();
    let exact = usual.parse() == Ok(bytes);
    quoted(&if exact {
        usual
    } else {
        format!("{} B", bytes.get())
    })
}

pub(super) fn span(span: Span) -> String {
    let (seconds, millis) = (
        span.0.div_euclid(1_000_000_000),
        span.0.div_euclid(1_000_000),
    );
    if Span::seconds(seconds) == span {
        format!("\"{seconds}s\"")
    } else if Span::millis(millis) == span {
        format!("\"{millis}ms\"")
    } else {
        format!("\"{}ns\"", span.0)
    }
}
