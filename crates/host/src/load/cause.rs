//! What makes the slowest task slow, as far as counters tell.
//!
//! | said | when |
//! | --- | --- |
//! | brunt itself | its thread has no more than a fifth of its processor left |
//! | delayed acknowledgements | a fifth of the task's times are those of TCP's timer |
//! | processors | nine tenths of the machine's were busy |
//! | storage | the device was in use for eight tenths of the time, or something waited for it for four |
//! | tasks waiting | the task waited for its user longer than servers took |
//! | none of these | otherwise |

use brunt_report::result::{DELAYED_ACK, DELAYED_ACK_TIMES, MailSlowest, MailTask, MailUsage};

const _: () = assert!(DELAYED_ACK_TIMES == brunt_users::DELAYED_ACK_TIMES);
const _: () = assert!(DELAYED_ACK == brunt_users::DELAYED_ACK, "tasks are repeated that are named");

/// Of one processor, what brunt's sessions may use before their times are their own.
pub(super) const BRUNT_MAX: f64 = 0.8;
const MACHINE_MAX: f64 = 0.9;
const STORAGE_MAX: f64 = 0.8;
const STALLED_MAX: f64 = 0.4;
/// A task that was done less often says little.
const DONE_MIN: u64 = 20;

/// The task with the longest 95th percentile, and what made it slow.
pub(super) fn slowest(tasks: &[MailTask], usage: Option<&MailUsage>) -> Option<MailSlowest> {
    let often = |task: &&MailTask| task.done >= DONE_MIN;
    let is_often = tasks.iter().any(|task| often(&task));
    let p95 = |task: &MailTask| Some(task.response.or(task.service)?.p95_ms);
    let tasks = tasks.iter().filter(|task| !is_often || often(task));
    let (task, p95_ms) = tasks
        .filter_map(|task| Some((task, p95(task)?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let because = because(task, usage);
    Some(MailSlowest { task: task.task.clone(), p95_ms, because })
}

fn because(task: &MailTask, usage: Option<&MailUsage>) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if let Some(own) = usage.and_then(|usage| usage.brunt_processors)
        && own > BRUNT_MAX
    {
        return format!("brunt itself: its sessions had their processor busy for {}", percent(own));
    }
    let delayed = task.delayed_ack();
    if delayed.is_seen() && delayed.is_timer() != Some(false) {
        return format!(
            "delayed acknowledgements: {} of its times are TCP's timer",
            percent(delayed.share)
        );
    }
    if let Some(usage) = usage {
        if let Some(busy) = usage.machine_busy.filter(|busy| *busy >= MACHINE_MAX) {
            return processors(usage, busy);
        }
        if let Some(storage) = usage.storage.as_ref().filter(|one| one.busy >= STORAGE_MAX) {
            return format!("storage: {} was in use for {}", storage.device, percent(storage.busy));
        }
        if let Some(stalled) = usage.stalled_on_io.filter(|share| *share >= STALLED_MAX) {
            return format!(
                "storage: something waited for it for {} of the time",
                percent(stalled)
            );
        }
    }
    if let (Some(response), Some(service)) = (task.response, task.service)
        && response.p95_ms > 2.0 * service.p95_ms
    {
        return "tasks waiting: its users were still busy with the tasks before".to_owned();
    }
    match usage.filter(|usage| !usage.servers.is_empty()) {
        Some(_) => "nothing stands out: neither processors, storage nor brunt were at their limit"
            .to_owned(),
        None => "it is not known what servers used".to_owned(),
    }
}

/// Who kept the processors busy.
fn processors(usage: &MailUsage, busy: f64) -> String {
    let own = usage.brunt_processors.unwrap_or(0.0);
    let of_servers: f64 = usage.servers.iter().map(|one| one.processors).sum();
    let others = (busy * usage.processors as f64 - of_servers - own).max(0.0);
    let names = usage.servers.iter().map(|one| (one.server.as_str(), one.processors));
    let all = names.chain([("brunt", own), ("others", others)]);
    let all: Vec<String> = all.map(|(name, used)| format!("{name} {used:.2}")).collect();
    let percent = 100.0 * busy;
    format!("processors: {percent:.0} % of {} were busy, {}", usage.processors, all.join(", "))
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{MailLatency, MailServerUsage, MailStorage};

    use super::*;

    fn task(name: &str, done: u64, p95: f64) -> MailTask {
        let latency = |p95_ms| MailLatency {
            count: done,
            p50_ms: 1.0,
            p95_ms,
            p99_ms: p95_ms,
            max_ms: p95_ms,
        };
        MailTask {
            task: name.to_owned(),
            planned: done,
            done,
            failed: 0,
            response: Some(latency(p95)),
            service: Some(latency(p95 / 1.5)),
            delayed_ack_share: Some(0.0),
            at_once: None,
        }
    }

    #[test]
    fn the_slowest_task_is_one_that_was_done_often() {
        let tasks = [task("read", 100, 5.0), task("send", 30, 50.0), task("quota", 2, 900.0)];
        let found = slowest(&tasks, None).unwrap();
        assert_eq!((found.task.as_str(), found.p95_ms), ("send", 50.0));
        assert_eq!(slowest(&tasks[2..], None).unwrap().task, "quota");
        assert_eq!(slowest(&[], None), None);
    }

    #[test]
    fn each_cause_has_its_sign() {
        let calm = MailUsage {
            servers: vec![MailServerUsage {
                server: "Dovecot".to_owned(),
                processors: 1.7,
                ..Default::default()
            }],
            storage: Some(MailStorage {
                device: "sda".to_owned(),
                busy: 0.1,
                ..Default::default()
            }),
            brunt_processors: Some(0.1),
            processors: 2,
            machine_busy: Some(0.3),
            stalled_on_io: Some(0.0),
            ..Default::default()
        };
        let busy_disk = MailStorage { device: "sda".to_owned(), busy: 0.9, ..Default::default() };
        let waited = MailTask { service: task("send", 30, 1.0).service, ..task("send", 30, 50.0) };
        let delayed = MailTask { delayed_ack_share: Some(0.5), ..task("send", 30, 44.0) };
        let at_once = task("send", 20, 40.0).service;
        let confirmed = MailTask {
            at_once: at_once.map(|one| MailLatency { p50_ms: 0.1, ..one }),
            ..delayed.clone()
        };
        let disproved = MailTask { at_once, ..delayed.clone() };
        let plain = task("send", 30, 50.0);
        for (task, usage, said) in [
            (
                &plain,
                MailUsage { brunt_processors: Some(0.9), machine_busy: Some(1.0), ..calm.clone() },
                "brunt itself",
            ),
            (&delayed, calm.clone(), "delayed acknowledgements: 50 %"),
            (&confirmed, calm.clone(), "delayed acknowledgements: 50 %"),
            (&disproved, calm.clone(), "nothing stands out"),
            (
                &plain,
                MailUsage { machine_busy: Some(0.95), ..calm.clone() },
                "Dovecot 1.70, brunt 0.10, others 0.10",
            ),
            (&plain, MailUsage { storage: Some(busy_disk), ..calm.clone() }, "storage: sda"),
            (
                &plain,
                MailUsage { stalled_on_io: Some(0.5), ..calm.clone() },
                "waited for it for 50 %",
            ),
            (&waited, calm.clone(), "tasks waiting"),
            (&plain, calm.clone(), "nothing stands out"),
        ] {
            let because = because(task, Some(&usage));
            assert!(because.contains(said), "{because}");
        }
    }
}
