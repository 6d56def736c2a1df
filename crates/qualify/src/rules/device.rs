//! Does the device agree? Compares the engine's I/O with what the kernel counted at the devices.
//!
//! A file system may ignore the request to bypass the page cache, and a cache underneath answers
//! faster than any storage. The kernel counts what reached the devices: the leaves under device
//! mapper, md, multipath and loop devices, so that nothing is counted twice. Bytes are compared,
//! because the kernel splits and merges requests.
//!
//! Blank pages may or may not reach the device: the file system knows that allocated but unwritten
//! space is zero. So the engine's bytes are counted without blank pages, plus as many of these as
//! the device read. A cache gains nothing from this: all it would have to keep is zeros. Likewise,
//! as many reads of passive copies count as the device read beyond the engine's: it is not known
//! exactly where and when they were. So do reads of software RAID for the parity of what was
//! written.
//!
//! | bytes at the device | means | outcome |
//! | --- | --- | --- |
//! | below 90 % of the engine's | a cache in between: something else was measured | failed |
//! | above 110 % | other programs read there too, so a cache in between would not be seen: not shown | advisory, and no qualification |
//! | no device (overlay, NFS, memory), or counters that stand still | | not measured |
//!
//! Writes are compared more loosely, because file systems write journals and metadata besides, and
//! RAID writes each copy. Below 90 % of the engine's a cache keeps them back, and above twice of
//! what the RAID makes of them others write there too: the result does not qualify. It is valid
//! all the same, as a write cache that storage promises to keep is a part of it.

use brunt_report::decimals;
use brunt_report::result::{Outcome, Rule};
use brunt_units::ByteSize;

use super::RuleId;

/// Tolerated gap, in percent.
const GAP_PERCENT: f64 = 10.0;
/// Below this, activity of other programs between two readings of the counters matters.
const BYTES_MIN: u64 = 4 << 20;
/// Above so many times the engine's writes, journals and metadata are no explanation. Our choice.
const OTHER_WRITES: u64 = 2;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeIo {
    /// Its mount point.
    pub mount: String,
    /// Bytes read by the engine.
    pub engine: u64,
    /// Bytes of these that were blank pages.
    pub blank: u64,
    /// Bytes read by brunt's passive copies there.
    pub copies: u64,
    /// Bytes that its devices may have read to compute parity.
    pub parity: u64,
    /// Bytes read by its devices; `None` without a device, or where the kernel does not count.
    pub device: Option<u64>,
    /// Bytes written by the engine.
    pub engine_written: u64,
    /// How often RAID may write each byte, with parity.
    pub written_times: u64,
    /// Bytes written by its devices; `None` where they cannot be compared.
    pub device_written: Option<u64>,
    /// Whether there are devices whose I/O the kernel does not count.
    pub is_uncounted: bool,
}

impl VolumeIo {
    /// Why it is not known what its devices read.
    fn unknown(&self) -> String {
        match self.is_uncounted {
            true => format!("the kernel counts no I/O of the devices under {}", self.mount),
            false => format!("no device is known under {}", self.mount),
        }
    }

    /// Bytes that the device must have read.
    fn written(&self) -> u64 {
        self.engine.saturating_sub(self.blank)
    }

    /// Bytes that the device should have read, given that it reports `device`.
    fn expected(&self, device: u64) -> u64 {
        let most = self.engine.saturating_add(self.copies);
        device.clamp(self.written(), most.saturating_add(self.parity))
    }

    fn share(&self, device: u64) -> f64 {
        100.0 * device as f64 / self.expected(device) as f64
    }

    /// How its devices wrote something else than the engine did, in words.
    fn other_writes(&self) -> Option<String> {
        let device = self.device_written.filter(|_| self.engine_written >= BYTES_MIN)?;
        let least = self.engine_written as f64 * (1.0 - GAP_PERCENT / 100.0);
        let most = self.engine_written.saturating_mul(self.written_times.max(1));
        let why = match device {
            few if (few as f64) < least => "a cache keeps writes back",
            many if many > most.saturating_mul(OTHER_WRITES) => "others write there too",
            _ => return None,
        };
        let [device, ours] = [device, self.engine_written].map(ByteSize::bytes);
        Some(format!("{why}; {}: the device wrote {device}, and brunt {ours}", self.mount))
    }
}

pub(super) fn rule(volumes: &[VolumeIo]) -> Rule {
    let rule = of_reads(volumes);
    let Some(writes) = volumes.iter().find_map(VolumeIo::other_writes) else {
        return rule;
    };
    Rule {
        outcome: match rule.outcome {
            Outcome::Ok => Outcome::Advisory,
            outcome => outcome,
        },
        remark: format!("{}; {writes}", rule.remark),
        ..rule
    }
}

fn of_reads(volumes: &[VolumeIo]) -> Rule {
    let least = 100.0 - GAP_PERCENT;
    let enough = volumes.iter().filter(|volume| volume.written() >= BYTES_MIN);
    let shares: Vec<(f64, &VolumeIo)> =
        enough.filter_map(|volume| Some((volume.share(volume.device?), volume))).collect();
    let unknown =
        volumes.iter().filter(|volume| volume.device.is_none() && volume.written() >= BYTES_MIN);
    let unknown: Vec<String> = unknown.map(VolumeIo::unknown).collect();
    let by_share =
        |one: &&(f64, &VolumeIo), other: &&(f64, &VolumeIo)| f64::total_cmp(&one.0, &other.0);
    let Some(least_share) = shares.iter().min_by(by_share) else {
        let rule = Rule::at_least(RuleId::DeviceAgrees, "% of reads", least, None);
        return rule.with_remark(match unknown.first() {
            Some(unknown) => unknown.clone(),
            None => "too little was read".to_owned(),
        });
    };
    let most_share = shares.iter().max_by(by_share).unwrap_or(least_share);
    let (shown, remark) = if least_share.0 >= least && most_share.0 > 100.0 + GAP_PERCENT {
        (most_share, said_of_others(most_share.1))
    } else {
        (least_share, said(least_share.1))
    };
    let rule = Rule::at_least(RuleId::DeviceAgrees, "% of reads", least, Some(shown.0));
    let mut rule = rule.about(&shown.1.mount);
    if shown.0 > 100.0 + GAP_PERCENT {
        rule.outcome = Outcome::Advisory;
    }
    match unknown.first() {
        Some(unknown) => rule.with_remark(format!("{remark}; {unknown}")),
        None => rule.with_remark(remark),
    }
}

/// Whether the counts do not show that reads bypassed the devices.
pub(crate) fn agrees(volumes: &[VolumeIo]) -> bool {
    of_reads(volumes).outcome != Outcome::Failed
}

/// Why a cache in between would not be seen, in words.
pub(crate) fn masked(volumes: &[VolumeIo]) -> Option<String> {
    let reads = of_reads(volumes);
    let (what, how) = match volumes.iter().find_map(VolumeIo::other_writes) {
        _ if reads.outcome == Outcome::Advisory => ("others read the same devices", reads.remark),
        writes => ("the devices wrote something else than brunt", writes?),
    };
    Some(format!("{what}, so a cache in between would not be seen ({how})"))
}

fn said(volume: &VolumeIo) -> String {
    let device = volume.device.unwrap_or(0);
    let share = decimals(volume.share(device));
    let [read, expected] = [device, volume.expected(device)].map(ByteSize::bytes);
    let mount = &volume.mount;
    format!("{mount}: {read} of {expected} ({share} %) reached the device")
}

fn said_of_others(volume: &VolumeIo) -> String {
    let ours = volume.engine.saturating_add(volume.copies);
    let [device, ours] = [volume.device.unwrap_or(0), ours].map(ByteSize::bytes);
    format!(
        "other programs read there too, or parity was read; {}: the device read {device}, {ours} of it for brunt",
        volume.mount
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(mount: &str, device: Option<u64>) -> VolumeIo {
        VolumeIo {
            mount: mount.to_owned(),
            engine: 1_000 << 20,
            blank: 0,
            copies: 0,
            parity: 0,
            device: device.map(|mib| mib << 20),
            ..VolumeIo::default()
        }
    }

    #[test]
    fn reads_that_never_reached_the_device_fail() {
        let outcome = |mib| rule(&[volume("/a", Some(1_000)), volume("/b", Some(mib))]).outcome;
        assert_eq!([900, 1_000, 1_100].map(outcome), [Outcome::Ok; 3]);
        assert_eq!(outcome(899), Outcome::Failed);
        assert_eq!(outcome(0), Outcome::Failed);
        assert_eq!(outcome(1_101), Outcome::Advisory);
        let others = rule(&[volume("/a", Some(20_000))]);
        assert_eq!(others.measured.unwrap(), 2_000.0);
        assert!(
            others.remark.ends_with("/a: the device read 19.53 GiB, 1000 MiB of it for brunt"),
            "{}",
            others.remark
        );
        let both = rule(&[volume("/a", Some(5_000)), volume("/b", Some(3))]);
        assert_eq!(both.outcome, Outcome::Failed, "{}", both.remark);
        assert!(both.remark.starts_with("/b: 3 MiB of 1000 MiB"), "{}", both.remark);
    }

    #[test]
    fn blank_pages_may_reach_the_device_or_not() {
        let told = |mib| {
            let volume = VolumeIo { blank: 400 << 20, ..volume("/a", Some(mib)) };
            rule(&[volume])
        };
        let outcome = |mib| told(mib).outcome;
        assert_eq!([540, 600, 800, 1_000, 1_100].map(outcome), [Outcome::Ok; 5]);
        assert_eq!([0, 539].map(outcome), [Outcome::Failed; 2]);
        assert_eq!(outcome(1_101), Outcome::Advisory);
        let remark = told(540).remark;
        assert_eq!(remark, "/a: 540 MiB of 600 MiB (90.0 %) reached the device");
        let remark = told(800).remark;
        assert_eq!(remark, "/a: 800 MiB of 800 MiB (100 %) reached the device");
    }

    #[test]
    fn what_passive_copies_read_is_not_of_others() {
        let told = |mib| {
            let volume = VolumeIo { copies: 400 << 20, ..volume("/a", Some(mib)) };
            rule(&[volume])
        };
        let outcome = |mib| told(mib).outcome;
        assert_eq!([900, 1_000, 1_400, 1_540].map(outcome), [Outcome::Ok; 4]);
        assert_eq!(outcome(899), Outcome::Failed, "copies may lie elsewhere");
        let others = told(2_800);
        assert_eq!(others.outcome, Outcome::Advisory);
        assert_eq!(others.measured, Some(200.0));
        assert!(others.remark.ends_with("1.37 GiB of it for brunt"), "{}", others.remark);
    }

    #[test]
    fn others_mask_a_cache_and_parity_does_not() {
        let alone = volume("/a", Some(1_100));
        assert_eq!(masked(std::slice::from_ref(&alone)), None);
        let others = volume("/a", Some(1_101));
        assert!(masked(std::slice::from_ref(&others)).unwrap().contains("/a"));
        let raid = VolumeIo { parity: 300 << 20, ..others };
        assert_eq!(masked(&[raid]), None);
    }

    #[test]
    fn writes_that_are_kept_back_or_of_others_are_no_proof() {
        let told = |device_written: u64, written_times| {
            let volume = VolumeIo {
                engine_written: 1_000 << 20,
                written_times,
                device_written: Some(device_written << 20),
                ..volume("/a", Some(1_000))
            };
            (rule(std::slice::from_ref(&volume)), masked(&[volume]))
        };
        let outcome = |mib, times| {
            let (rule, masked) = told(mib, times);
            assert_eq!(masked.is_some(), rule.outcome == Outcome::Advisory, "{masked:?}");
            rule.outcome
        };
        let [ok, advisory] = [Outcome::Ok, Outcome::Advisory];
        assert_eq!(
            [899, 900, 2_000, 2_001].map(|mib| outcome(mib, 1)),
            [advisory, ok, ok, advisory]
        );
        assert_eq!([4_000, 4_001].map(|mib| outcome(mib, 2)), [ok, advisory], "a mirror");
        let (kept, masked) = told(100, 1);
        let end = "; a cache keeps writes back; /a: the device wrote 100 MiB, and brunt 1000 MiB";
        assert!(kept.remark.ends_with(end), "{}", kept.remark);
        let wanted = "the devices wrote something else than brunt, so a cache in between would not be seen (a cache";
        assert!(masked.unwrap().starts_with(wanted));
        let failed = VolumeIo {
            engine_written: 1_000 << 20,
            device_written: Some(0),
            ..volume("/a", Some(3))
        };
        assert_eq!(rule(&[failed]).outcome, Outcome::Failed, "its reads never reached the device");
    }

    #[test]
    fn without_a_device_nothing_is_said() {
        let one = rule(&[volume("/nfs", None)]);
        assert_eq!(one.outcome, Outcome::NotMeasured);
        assert_eq!(one.remark, "no device is known under /nfs");
        let still = rule(&[VolumeIo { is_uncounted: true, ..volume("/a", None) }]);
        assert_eq!(still.outcome, Outcome::NotMeasured);
        assert_eq!(still.remark, "the kernel counts no I/O of the devices under /a");
        let mixed = rule(&[volume("/nfs", None), volume("/b", Some(1_000))]);
        assert_eq!(mixed.outcome, Outcome::Ok);
        assert!(mixed.remark.contains("no device is known under /nfs"));
        assert_eq!(rule(&[]).outcome, Outcome::NotMeasured);
        let little = VolumeIo { engine: 100, ..volume("/b", Some(0)) };
        assert_eq!(rule(&[little]).outcome, Outcome::NotMeasured);
    }
}
