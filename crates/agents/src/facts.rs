//! What an agent says of its host before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_fleet::{Device, Facts};
use brunt_world_real::facts::identities;

/// Which boot of which machine this is; empty where the kernel does not say.
pub(crate) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

/// The facts for a test that writes below `folders`.
pub(crate) fn facts(scenario: &str, folders: &[PathBuf], boot: &str) -> Facts {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Facts {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: boot.to_owned(),
        scenario: crc32fast::hash(scenario.as_bytes()),
        devices: devices(folders),
        unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        warnings: warnings(),
    }
}

/// What names the devices under `folders` on every host. A folder that is not there yet lies on the
/// device of the one above it.
pub fn devices(folders: &[PathBuf]) -> Vec<Device> {
    let mut devices = BTreeSet::new();
    for folder in folders {
        let there = folder.ancestors().find(|above| above.exists());
        let ids = there.map(identities).unwrap_or_default();
        let folder = folder.display().to_string();
        devices.extend(ids.into_iter().map(|id| Device { id, folder: folder.clone() }));
    }
    devices.into_iter().collect()
}

/// Whether the end of this login would end the run.
fn warnings() -> Vec<String> {
    let is_login = fs::read_to_string("/proc/self/cgroup")
        .is_ok_and(|groups| groups.lines().any(|group| group.contains("/session-")));
    let drop_ins = fs::read_dir("/etc/systemd/logind.conf.d").into_iter().flatten();
    let files = drop_ins.filter_map(|entry| Some(entry.ok()?.path()));
    let files = files.chain([PathBuf::from("/etc/systemd/logind.conf")]);
    let kills = files.filter_map(|path| fs::read_to_string(path).ok()).any(|text| {
        text.lines().any(|line| line.replace(' ', "").eq_ignore_ascii_case("KillUserProcesses=yes"))
    });
    match is_login && kills {
        true => vec![
            "logins take their processes with them (KillUserProcesses): a lost connection would end \
             the run; enable lingering: loginctl enable-linger"
                .to_owned(),
        ],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_not_there_yet_are_on_the_device_above() {
        let made = tempfile::tempdir().unwrap();
        let there = devices(&[made.path().to_owned()]);
        let not_yet = devices(&[made.path().join("a/b")]);
        let ids = |devices: &[Device]| devices.iter().map(|d| d.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&there), ids(&not_yet));
    }
}
