//! The first lines of a run: what is tested, on what, and how it can be repeated.

use std::path::Path;

use brunt_qualify::goal::Tune;
use brunt_qualify::kinds::{Kind, Opening};
use brunt_report::{counted, decimals, one_line};
use brunt_units::ByteSize;
use brunt_world_real::facts;

use crate::version;
use brunt_scenario::Scenario;

/// Three or more lines: the scenario, the storage, the seed.
pub fn opening(scenario: &Scenario, backend: &str) -> String {
    let mut lines = vec![first_line(scenario)];
    lines.extend(goal(scenario).map(|goal| format!("{:14}{goal}", "target")));
    let mut label = "storage";
    for (place, volume) in volumes(scenario) {
        let page = scenario.profile.engine.page;
        lines.push(format!("{label:14}{}   {volume}   {backend}, {page} pages", one_line(&place)));
        label = "";
    }
    lines.extend(shards(scenario));
    lines.push(format!("{:14}{}", "seed", scenario.test.seed));
    lines.extend(faults(scenario));
    lines.join("\n")
}

/// Whether a pass will qualify, before anything is written: `reasons` are what is known to prevent
/// it.
pub fn qualifies(reasons: &[String]) -> String {
    if reasons.is_empty() {
        let text = "if it passes with its headroom, and the host has the time to run it";
        return format!("{:14}{text}", "qualifies");
    }
    let reasons = reasons.iter();
    let lines = reasons.map(|reason| format!("no: {}", one_line(reason)));
    labelled("qualifies", lines).join("\n")
}

/// `lines` with `label` before the first.
pub(crate) fn labelled(label: &str, lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let lines = lines.into_iter().enumerate();
    let labelled = lines.map(|(at, line)| {
        let label = if at == 0 { label } else { "" };
        format!("{label:14}{line}")
    });
    labelled.collect()
}

/// How the work is divided, if it is.
fn shards(scenario: &Scenario) -> Option<String> {
    let shards = scenario.shards.value;
    let each = scenario.instances.len().div_euclid(shards as usize) as u64;
    let instances = counted(each, "instance");
    (shards > 1)
        .then(|| format!("{:14}{shards}, each with {instances} on a core of its own", "shards"))
}

/// The injected faults: such a run must not be taken for a test of the storage.
fn faults(scenario: &Scenario) -> Vec<String> {
    let faults = scenario.faults.iter().enumerate();
    let mut lines: Vec<String> = faults
        .map(|(at, fault)| {
            let label = if at == 0 { "FAULTS" } else { "" };
            format!("{label:14}{}: {}, {}", at + 1, fault.kind, fault.file.display())
        })
        .collect();
    if !lines.is_empty() {
        let what = "put in the way on purpose: this run says nothing about the storage";
        lines.push(format!("{:14}{what}", ""));
    }
    lines
}

/// What is tested, and how long.
pub(crate) fn first_line(scenario: &Scenario) -> String {
    format!(
        "brunt {}   {}   {} profile, {}, {}",
        version::SHORT,
        one_line(&scenario.name),
        scenario.profile.version,
        databases(scenario),
        test(scenario),
    )
}

/// Who does what, and for how long or how often.
fn test(scenario: &Scenario) -> String {
    let test = &scenario.test;
    Kind::of(test.kind).opening(&Opening {
        sessions: sessions(scenario),
        duration: test.duration,
        logs: test.logs,
        restores: test.restore == Some(true),
    })
}

/// `16 sessions`, or what they are counted for.
fn sessions(scenario: &Scenario) -> String {
    let own = scenario.test.sessions;
    if scenario.tune().is_some() {
        return "sessions to be found".to_owned();
    }
    match scenario.pool() {
        pool if pool == own => counted(own.into(), "session"),
        pool => {
            format!("{} {} ({pool})", counted(own.into(), "session"), scenario.scope_in_words())
        }
    }
}

/// What is to be reached, and how it comes about; tests of other kinds than load have no target.
pub(crate) fn goal(scenario: &Scenario) -> Option<String> {
    if !scenario.test.kind.has_limits() {
        return None;
    }
    if let Some(Tune::Maximum { percent }) = scenario.tune() {
        return Some(match percent {
            100 => "the most I/O that passes".to_owned(),
            percent => format!("{percent} % of the most I/O that passes, which is found first"),
        });
    }
    let target = scenario.test.target()?;
    let mut text = format!("{} I/Os per second", decimals(target.io_per_s));
    if let Some(mailboxes) = &scenario.mailboxes {
        text += &format!(
            " ({} of {}, {} each)",
            counted(mailboxes.count, "mailbox"),
            mailboxes.quota.value,
            mailboxes.io_per_s.value
        );
    }
    if target.headroom_percent > 0 {
        text += &format!(
            ", paced at {} with {} % headroom",
            decimals(target.offered()),
            target.headroom_percent
        );
    }
    Some(text)
}

/// `2 databases x 512 MiB`, or their sum when they differ.
fn databases(scenario: &Scenario) -> String {
    let sizes: Vec<_> = scenario.databases().map(|database| database.size).collect();
    let count = sizes.len();
    let databases = counted(count as u64, "database");
    if sizes.windows(2).all(|pair| pair[0] == pair[1]) {
        return format!("{databases} x {}", sizes[0]);
    }
    let sum = sizes.iter().map(|size| size.get()).sum();
    format!("{databases}, {} together", ByteSize::bytes(sum))
}

/// Every file system in use: a path on it, and what it is.
fn volumes(scenario: &Scenario) -> Vec<(String, String)> {
    if let Some(scratch) = &scenario.scratch {
        return vec![(scratch.value.display().to_string(), volume(&scratch.value).1)];
    }
    let logs = scenario.instances.iter().map(|instance| &instance.log);
    let databases = scenario.databases().map(|database| &database.path);
    let mut seen: Vec<(String, String)> = Vec::new();
    for path in databases.chain(logs) {
        let found = volume(path);
        if !seen.contains(&found) {
            seen.push(found);
        }
    }
    seen
}

/// Where the file system of `path` is mounted, and its type and device: `("/data", "ext4 on vda")`.
pub(crate) fn volume(path: &Path) -> (String, String) {
    let place = path.ancestors().find_map(|there| facts::place(there).ok());
    let Some(place) = place else {
        return (path.display().to_string(), "unknown file system".to_owned());
    };
    let mount = place.mount_point.as_deref().unwrap_or(path).display().to_string();
    let kind = place.file_system.unwrap_or_else(|| "unknown file system".to_owned());
    let device = place.device.map(|device| device.name).or(place.source);
    match device {
        Some(device) => (mount, format!("{kind} on {device}")),
        None => (mount, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_scenario::{DEMO, Document, Override};

    #[test]
    fn the_first_line_says_what_is_tested() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Document::new("demo.toml", DEMO, folder.path()).unwrap().test(&[]).unwrap();
        let text = opening(&scenario, "io_uring, O_DIRECT");
        let lines: Vec<_> = text.lines().collect();
        let first = lines[0].split_once("   ").unwrap().1;
        assert_eq!(
            first,
            "demo   Exchange 2013 profile, 2 databases x 512 MiB, 8 sessions, performance 60 s"
        );
        assert_eq!(
            lines[1],
            "target        1,000 I/Os per second, paced at 1,200 with 20 % headroom"
        );
        let scratch = folder.path().join("brunt-demo");
        assert!(lines[2].starts_with(&format!("storage       {}   ", scratch.display())), "{text}");
        assert!(lines[2].ends_with("   io_uring, O_DIRECT, 32 KiB pages"), "{text}");
        assert_eq!(lines[3], "seed          1");
    }

    #[test]
    fn a_backup_has_no_target() {
        let backup = Override::of_set("test.kind=database-backup").unwrap();
        let scenario =
            Document::new("demo.toml", DEMO, Path::new("/")).unwrap().test(&[backup]).unwrap();
        assert!(scenario.test.target().is_some());
        assert_eq!(goal(&scenario), None);
    }

    #[test]
    fn volumes_are_named_once() {
        let text = DEMO.replace("scratch = \"brunt-demo\"", "");
        let scenario =
            Document::new("demo.toml", &text, Path::new("/")).unwrap().test(&[]).unwrap();
        assert_eq!(volumes(&scenario).len(), 1);
    }
}
