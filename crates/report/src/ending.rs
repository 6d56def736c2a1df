//! The end of the test log: what a result says, in the words that readers of Jetstress logs know,
//! and what no table has.
//!
//! A paper holds the lines against its result, so that neither can say something else than the
//! other: the machine, its devices, and whatever the rules say that no table shows.

use brunt_units::ByteSize;

use crate::host_counters::PAGE_FAULT_STALLS;
use crate::result::{Device, Group, Rule, RunResult, Server};
use crate::{decimals, grouped};

/// The beginning of the last line.
pub const TEST_ENDS: &str = "Test ends: ";

/// What `result` adds to the test log, when everything is done.
pub fn ending(result: &RunResult) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &result.storage.servers {
        batches(server, &mut lines);
        if server.backup.is_empty() && server.recovery.is_empty() {
            shut_down(server, &mut lines);
        }
        statistics(server, &mut lines);
        checksums(server, &mut lines);
        latencies(server, &mut lines);
        machine(server, &mut lines);
    }
    lines.extend(result.rules.iter().filter_map(unrecorded));
    lines.push(format!(
        "{TEST_ENDS}{}. {}",
        result.outcome_in_words(),
        result.storage.details.sentence
    ));
    lines
}

fn batches(server: &Server, lines: &mut Vec<String>) {
    let counts = server.instances.iter().map(|instance| instance.batches);
    let counts: Option<Vec<String>> = counts.map(|c| c.map(|c| c.to_string())).collect();
    if let Some(counts) = counts.filter(|counts| !counts.is_empty()) {
        lines.push(format!("Batch transaction stats: {}", counts.join(", ")));
    }
}

fn shut_down(server: &Server, lines: &mut Vec<String>) {
    let names = server.instances.iter();
    let names: Vec<String> = names.map(|i| format!("{} (complete)", i.name)).collect();
    lines.push(format!("Databases shut down: {}", names.join(", ")));
}

/// What a backup read, and what a recovery replayed.
fn statistics(server: &Server, lines: &mut Vec<String>) {
    for backup in &server.backup {
        lines.push(format!(
            "Database backup: {} (100% processed), {} MB in {:.3} s",
            backup.instance,
            decimals(backup.size.0),
            backup.seconds
        ));
    }
    for recovery in &server.recovery {
        lines.push(format!(
            "Recovering databases: {} ({} logs replayed), elapsed {:.3} s",
            recovery.instance,
            grouped(recovery.logs),
            recovery.seconds
        ));
    }
}

/// A line for each database, and one for each folder of logs.
fn checksums(server: &Server, lines: &mut Vec<String>) {
    let of_database = |path: &str| {
        let databases = server.instances.iter().flat_map(|i| &i.details.databases);
        databases.clone().any(|database| database.path == path)
    };
    for file in server.checksum.iter().filter(|f| of_database(&f.file)) {
        lines.push(match (file.pages_seen, file.pages_bad) {
            (Some(seen), Some(bad)) => format!(
                "Database checksum: {} (100% processed), {} pages seen, {} bad",
                file.file,
                grouped(seen),
                grouped(bad)
            ),
            _ => format!(
                "Database checksum: {} ({} of {} read), pages not measured",
                file.file,
                ByteSize::bytes(file.bytes_read.unwrap_or(0)),
                ByteSize::bytes(file.bytes)
            ),
        });
    }
    for instance in &server.instances {
        let folder = format!("{}/", instance.details.log.path);
        let logs = server.checksum.iter();
        let logs: Vec<_> = logs.filter(|file| file.file.starts_with(&folder)).collect();
        if logs.is_empty() {
            continue;
        }
        let passed = logs.iter().filter(|file| file.pages_bad == Some(0)).count();
        lines.push(format!(
            "Log checksum: {} ({passed} of {} logs passed)",
            instance.details.log.path,
            logs.len()
        ));
    }
}

fn latencies(server: &Server, lines: &mut Vec<String>) {
    for instance in &server.instances {
        for (mean, what) in [
            (instance.db_read_latency_ms, "I/O Database Reads Average Latency"),
            (instance.log_write_latency_ms, "I/O Log Writes Average Latency"),
        ] {
            if let Some(mean) = mean {
                lines.push(format!("{} has {mean:.3} for {what}", instance.name));
            }
        }
    }
    let stalls = server.host_counter(PAGE_FAULT_STALLS);
    if let Some(most) = stalls.and_then(|stalls| stalls.max) {
        lines.push(format!("Test has {} maximum Database Page Fault Stalls/sec", decimals(most)));
    }
}

/// The machine and what its volumes lie on; nothing of a model.
fn machine(server: &Server, lines: &mut Vec<String>) {
    let machine = &server.details.machine;
    if machine.memory_bytes == 0 {
        return;
    }
    lines.push(format!(
        "Machine: {}, {}, {}, {} x {}, {} bytes of memory",
        machine.name,
        machine.operating_system,
        machine.kernel,
        machine.processors,
        machine.processor,
        grouped(machine.memory_bytes)
    ));
    for volume in &server.details.backend.volumes {
        let (system, device) = (&volume.file_system, &volume.device);
        lines.push(format!("Volume {}: {system} on {device}", volume.mount));
        lines.extend(volume.stack.iter().map(device_line));
    }
}

/// `Device sdb: drive, MADE-UP MU3450857SS, serial 3SK1X5CV, 450,098,159,616 bytes`.
fn device_line(device: &Device) -> String {
    let named = |what: &str, text: &Option<String>| {
        text.as_ref().map_or_else(String::new, |text| format!(", {what}{text}"))
    };
    let bytes = device.capacity_bytes.map(|bytes| format!("{} bytes", grouped(bytes)));
    format!(
        "Device {}: {}{}{}{}{}",
        device.name,
        device.made,
        named("", &device.model),
        named("serial ", &device.serial),
        named("firmware ", &device.firmware),
        named("", &bytes)
    )
}

/// What a rule says that no table shows.
fn unrecorded(rule: &Rule) -> Option<String> {
    let is_recorded = !matches!(rule.group, Group::Integrity | Group::FairTest);
    let remark = match rule.remark.as_str() {
        "" => String::new(),
        remark => format!(", {remark}"),
    };
    (!is_recorded && rule.measured.is_some())
        .then(|| format!("{}: {}{remark}", rule.heading(), rule.measured_in_words()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Backup, Mib, MibPerS};

    const RESULT: &str = include_str!("../tests/report/result_v2.json");

    #[test]
    fn the_end_names_every_instance_and_file() {
        let result = RunResult::from_json(RESULT).unwrap();
        let lines = ending(&result);
        assert_eq!(lines[0], "Batch transaction stats: 5690, 5690");
        assert_eq!(lines[1], "Databases shut down: Instance 1 (complete), Instance 2 (complete)");
        assert_eq!(
            lines[2],
            "Database checksum: /data/db1/sample1.edb (100% processed), 1,048,576 pages seen, 0 bad"
        );
        let mut backup = result.clone();
        backup.storage.servers[0].backup.push(Backup {
            instance: "DB1".to_owned(),
            size: Mib(1024.0),
            seconds: 2.0,
            rate: MibPerS(512.0),
            copied_to: None,
        });
        let backup = ending(&backup);
        let wanted = "Database backup: DB1 (100% processed), 1,024 MB in 2.000 s";
        assert_eq!(backup[1], wanted, "and nothing was shut down");
        let latency = |line: &&String| line.starts_with("Instance 2 has 24.");
        assert_eq!(lines.iter().filter(latency).count(), 1);
        assert!(lines.last().unwrap().starts_with("Test ends: Fail. "));
    }
}
