//! Whether what several devices make together is whole: software RAID (md), RAID of LVM (dm-raid),
//! btrfs.
//!
//! | | lacks something | reads or rewrites itself |
//! | --- | --- | --- |
//! | md | `md/degraded`, `md/array_state` *broken*, *resync* and *recover* in `md/sync_action` | *check*, *repair*, *reshape* there |
//! | dm-raid | `D`, `-` or `a` among the characters of its state, *resync* and *recover* | the same |
//! | btrfs | `devinfo/*/missing` | `exclusive_operation` |
//!
//! Source: kernel documentation, `Documentation/admin-guide/md.rst`,
//! `Documentation/admin-guide/device-mapper/dm-raid.rst`; btrfs(5).

use std::fs;
use std::path::{Path, PathBuf};

use super::{mapped, number, text};

/// What several devices make together, and how it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redundancy {
    /// Its name: `md0`, `vg0-mail`, `btrfs on sda`.
    pub name: String,
    /// What it lacks, or that its copies do not agree yet.
    pub lacks: Option<String>,
    /// That it is being read or rewritten.
    pub busy: Option<String>,
}

impl Redundancy {
    pub fn words(&self) -> String {
        let found = self.lacks.iter().chain(&self.busy).cloned();
        let found: Vec<String> = found.collect();
        match found.is_empty() {
            true => "whole".to_owned(),
            false => found.join("; "),
        }
    }
}

/// That of the device or partition `name`; `None` if it is no RAID, or its state cannot be read.
pub fn redundancy(name: &str) -> Option<Redundancy> {
    let own = fs::canonicalize(Path::new("/sys/class/block").join(name)).ok()?;
    let disk = super::block_device::disk(&own)?;
    md(&disk).or_else(|| raid_target(&disk))
}

/// That of the btrfs on `device`.
pub fn btrfs_redundancy(device: &str) -> Option<Redundancy> {
    btrfs(Path::new("/sys/fs/btrfs"), device)
}

fn md(disk: &Path) -> Option<Redundancy> {
    let md = disk.join("md");
    text(&md.join("level"))?;
    let action = text(&md.join("sync_action")).unwrap_or_default();
    let done = text(&md.join("sync_completed")).and_then(|done| percent(&done));
    let state = text(&md.join("array_state")).unwrap_or_default();
    let degraded = number(&md.join("degraded")).unwrap_or(0);
    let missing = missing(degraded, number(&md.join("raid_disks")));
    let broken = matches!(state.as_str(), "broken" | "inactive" | "clear");
    let broken = broken.then(|| format!("{state}, a member is missing"));
    let (building, busy) = at_work(&action, done);
    Some(Redundancy {
        name: disk.file_name()?.to_string_lossy().into_owned(),
        lacks: joined([missing, broken, building]),
        busy,
    })
}

/// `degraded, 1 of 3 members missing`.
fn missing(degraded: u32, members: Option<u32>) -> Option<String> {
    let of = members.map_or_else(String::new, |members| format!(" of {members}"));
    (degraded > 0).then(|| format!("degraded, {degraded}{of} members missing"))
}

/// What a RAID does in the background: as what it lacks, and as what it is busy with.
fn at_work(action: &str, done: Option<u64>) -> (Option<String>, Option<String>) {
    let done = done.map_or_else(String::new, |done| format!(", {done} % done"));
    let said = Some(format!("{action}{done}"));
    match action {
        "" | "idle" | "frozen" => (None, None),
        "resync" | "recover" => (said, None),
        _ => (None, said),
    }
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `1024 / 2093056` and `1024/2093056` in percent.
fn percent(done: &str) -> Option<u64> {
    let (done, all) = done.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (done.saturating_mul(100)).checked_div(all)
}

fn raid_target(disk: &Path) -> Option<Redundancy> {
    let name = text(&disk.join("dm/name"))?;
    let status = mapped::status(&text(&disk.join("dev"))?, "raid");
    status.iter().find_map(|status| raid_status(&name, status))
}

/// The status of a target: `raid1 2 AD 16384/16384 idle 0 0 -`.
fn raid_status(name: &str, status: &str) -> Option<Redundancy> {
    let mut words = status.split_ascii_whitespace().skip(1);
    let members: u32 = words.next()?.parse().ok()?;
    let (health, done, action) = (words.next()?, words.next()?, words.next().unwrap_or("idle"));
    let gone = health.chars().filter(|c| matches!(c, 'D' | '-')).count();
    let behind = health.contains('a');
    let (building, busy) = at_work(action, percent(done));
    let behind = (behind && building.is_none()).then(|| "members are not in sync yet".to_owned());
    let gone = missing(u32::try_from(gone).unwrap_or(members), Some(members));
    Some(Redundancy { name: name.to_owned(), lacks: joined([gone, building, behind]), busy })
}

/// `tree` has a folder for each file system, with a link for each device that is there, and a
/// folder for each that should be.
fn btrfs(tree: &Path, device: &str) -> Option<Redundancy> {
    let folders = |of: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(of).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let all = folders(tree).into_iter();
    let own = all
        .map(|system| (system.join("devices").join(device), system))
        .find(|(link, _)| link.symlink_metadata().is_ok());
    let (_, own) = own?;
    let members = folders(&own.join("devinfo"));
    let gone = members.iter().filter(|member| number::<u8>(&member.join("missing")) == Some(1));
    let counted = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let action = text(&own.join("exclusive_operation")).unwrap_or_default();
    let action = action.split(' ').next().unwrap_or_default().to_owned();
    Some(Redundancy {
        name: format!("btrfs on {device}"),
        lacks: missing(counted(gone.count()), Some(counted(members.len()))),
        busy: (!matches!(action.as_str(), "" | "none" | "swap")).then_some(action),
    })
}

#[cfg(test)]
mod tests {
    use super::super::captured::Captured;
    use super::*;

    #[test]
    fn a_raid_without_one_of_its_disks_is_degraded() {
        let sys = Captured::new(include_str!("captured/md-degraded-linux-6.1.txt"));
        let found = md(&sys.path("block/md0")).unwrap();
        assert_eq!((found.name.as_str(), &found.busy), ("md0", &None));
        assert_eq!(found.words(), "degraded, 1 of 3 members missing");
        assert_eq!(md(&sys.path("block")), None, "no RAID");
    }

    #[test]
    fn building_is_a_lack_and_checking_is_work() {
        let words = |action: &str, done: &str, degraded: u32, state: &str| {
            let sys = Captured::new(&format!(
                "F block/md1/md/level raid1\nF block/md1/md/raid_disks 2\nF block/md1/md/degraded {degraded}\n\
                 F block/md1/md/sync_action {action}\nF block/md1/md/sync_completed {done}\n\
                 F block/md1/md/array_state {state}\n"
            ));
            let found = md(&sys.path("block/md1")).unwrap();
            [found.lacks, found.busy].map(Option::unwrap_or_default)
        };
        assert_eq!(words("idle", "none", 0, "clean"), ["", ""]);
        let building = words("resync", "1024 / 2048", 0, "active");
        assert_eq!(building, ["resync, 50 % done", ""]);
        let rebuilding = words("recover", "512 / 2048", 1, "clean");
        let both = "degraded, 1 of 2 members missing; recover, 25 % done";
        assert_eq!(rebuilding, [both, ""]);
        assert_eq!(words("check", "none", 0, "clean"), ["", "check"]);
        assert_eq!(words("reshape", "1 / 2", 0, "clean"), ["", "reshape, 50 % done"]);
        assert_eq!(words("", "", 0, "broken"), ["broken, a member is missing", ""]);
    }

    #[test]
    fn the_state_of_dm_raid_is_read() {
        let words = |status: &str| raid_status("vg0-mail", status).unwrap().words();
        assert_eq!(words("raid1 2 AA 16384/16384 idle 0 0 -"), "whole");
        let degraded = "degraded, 1 of 3 members missing";
        assert_eq!(words("raid5_ls 3 AAD 2093056/2093056 idle 0 0 -"), degraded);
        assert_eq!(words("raid1 2 aa 8192/16384 resync 0 0 -"), "resync, 50 % done");
        assert_eq!(words("raid1 2 Aa 0/16384 idle 0 0 -"), "members are not in sync yet");
        assert_eq!(words("raid1 2 AA 16/64 check 0 0 -"), "check, 25 % done");
        assert_eq!(raid_status("x", "linear"), None);
    }

    #[test]
    fn a_btrfs_lacks_a_device() {
        let sys = |missing: u8, operation: &str| {
            Captured::new(&format!(
                "L fs/btrfs/0b2e/devices/vda ../../../../block/vda\nF fs/btrfs/0b2e/devinfo/1/missing 0\n\
                 F fs/btrfs/0b2e/devinfo/2/missing {missing}\nF fs/btrfs/0b2e/exclusive_operation {operation}\n\
                 F fs/btrfs/features/raid56 0\n"
            ))
        };
        let words = |missing, operation, device| {
            let found = btrfs(&sys(missing, operation).path("fs/btrfs"), device);
            found.map(|found| found.words())
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(words(0, "none", "vda"), some("whole"));
        let degraded = "degraded, 1 of 2 members missing";
        assert_eq!(words(1, "none", "vda"), some(degraded));
        assert_eq!(words(0, "balance", "vda"), some("balance"));
        assert_eq!(words(1, "none", "vdb"), None);
    }
}
