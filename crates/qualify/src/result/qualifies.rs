//! Whether a result may be shown as a qualification: the pass of a small demo must not look like
//! one.
//!
//! The verdict says whether the limits were held; this says whether holding them means anything for
//! a server that goes live. Every obstacle is a reason in words, and behind a colon what removes
//! it. Most are known before a run starts ([`super::foreseen`]).

use brunt_report::result::{Group, Outcome, Rule, Verdict};
use brunt_report::{counted, decimals, grouped};
use brunt_units::{ByteSize, Span};

use crate::kinds::{Kind, TestKind};

/// Below this share of its volume a database may flatter the storage: heads hardly move. Source:
/// the footnote of ESRP papers on tests that use about a quarter of the disks' capacity.
const VOLUME_SHARE_MIN: f64 = 0.25;

/// Decides whether a result qualifies.
#[derive(Clone, Debug, PartialEq)]
pub struct Circumstances {
    pub kind: TestKind,
    /// Length of the collection.
    pub measured: Span,
    /// Size of all databases.
    pub data: ByteSize,
    /// Memory of the machine, which may cache anything smaller; `None` when unknown, or without a
    /// machine.
    pub memory: Option<ByteSize>,
    /// Cache of the storage itself, if the scenario states it.
    pub array_cache: Option<ByteSize>,
    /// Whether I/O bypassed the page cache.
    pub direct: bool,
    /// Devices that are files with I/O through the page cache: `loop3`.
    pub cached_files: Vec<String>,
    /// Folders whose files are written through the page cache in spite of `O_DIRECT`.
    pub cached_writes: Vec<String>,
    /// Whether reads came from the devices, as far as the kernel counts them.
    pub reached_devices: bool,
    /// Why a cache in between would not be seen, in words.
    pub masked: Option<String>,
    /// How far the load was above its pace, in words, if that was too far.
    pub above_pace: Option<String>,
    /// Which log had not gone through the checkpoint depth when the collection began, in words.
    pub short_of: Option<String>,
    /// Whether the storage achieved the target with its headroom.
    pub headroom: bool,
    /// Keys that make the test lighter than one of its version, in words.
    pub lighter: Vec<String>,
    /// Volumes on which a test may be measuring memory, in words.
    pub volumes: Vec<String>,
    /// What kept the machine from running the program, in words.
    pub host: Option<String>,
    /// The smallest share of its volume that the databases on it fill, 0 to 1.
    pub volume_share: Option<f64>,
    /// What is wrong with how the storage is set up, in words with the way out.
    pub setup: Vec<String>,
    /// Number of injected faults.
    pub faults: usize,
    /// How much an interrupted run had collected that was carried on.
    pub carried: Option<Span>,
}

/// Why a result does not qualify; empty when it does.
pub fn obstacles(circumstances: &Circumstances) -> Vec<String> {
    let mut reasons = Vec::new();
    if circumstances.faults > 0 {
        reasons.push(format!(
            "{} injected: a run without them",
            counted(circumstances.faults as u64, "fault")
        ));
    }
    let least = Kind::of(circumstances.kind).length_min;
    if circumstances.measured < least {
        let seconds = grouped(circumstances.measured.0.div_euclid(1_000_000_000));
        let hours = least.0.div_euclid(3_600_000_000_000);
        reasons
            .push(format!("measured for {seconds} s, not for {hours} hours: --duration {hours}h"));
    }
    if let Some(carried) = circumstances.carried {
        reasons.push(format!("interrupted after {carried} and carried on: a run in one piece"));
    }
    if !circumstances.direct {
        let (what, remedy) =
            match (circumstances.cached_files.as_slice(), circumstances.cached_writes.as_slice()) {
                ([], []) => (
                    "I/O".to_owned(),
                    "a file system with O_DIRECT, such as XFS or ext4".to_owned(),
                ),
                ([], folders) => (
                    format!("direct writes in {}", folders.join(", ")),
                    "XFS, or on btrfs `chattr +C` for the folder before its files are made"
                        .to_owned(),
                ),
                (loops, _) => {
                    ("I/O".to_owned(), format!("`losetup --direct-io=on` for {}", loops.join(", ")))
                }
            };
        reasons.push(format!("{what} through the page cache of the operating system: {remedy}"));
    }
    if !circumstances.reached_devices {
        reasons.push(
            "what was read did not come from the devices: O_DIRECT was ignored, or a cache answered"
                .to_owned(),
        );
    }
    if let Some(masked) = &circumstances.masked {
        reasons.push(format!("{masked}: devices of their own"));
    }
    if let Some(short_of) = &circumstances.short_of {
        reasons.push(format!(
            "measuring began before the load was complete ({short_of}): a longer test, or a smaller checkpoint_depth"
        ));
    }
    if let Some(above) = &circumstances.above_pace {
        reasons.push(format!("the load was {above}: a longer `min_warmup`"));
    }
    if !circumstances.headroom {
        reasons.push(
            "the headroom was not shown: more sessions (--tune finds them), or a lower target"
                .to_owned(),
        );
    }
    reasons.extend(circumstances.setup.clone());
    reasons.extend(circumstances.lighter.clone());
    reasons.extend(circumstances.volumes.clone());
    let cache = circumstances.array_cache;
    if let Some(cache) = cache.filter(|cache| *cache > circumstances.data) {
        reasons.push(format!(
            "{} of databases are less than the storage's cache ({cache}): larger databases",
            circumstances.data
        ));
    }
    if let Some(memory) = circumstances.memory.filter(|m| *m > circumstances.data) {
        reasons.push(format!(
            "{} of databases are less than the machine's memory ({memory}): larger databases",
            circumstances.data
        ));
    }
    if let Some(share) = circumstances.volume_share.filter(|share| *share < VOLUME_SHARE_MIN) {
        reasons.push(format!(
            "the databases fill {} % of their volume, less than {:.0} %: larger databases, or a smaller volume",
            decimals(share * 100.0),
            VOLUME_SHARE_MIN * 100.0
        ));
    }
    reasons.extend(circumstances.host.clone());
    reasons
}

/// Why a test with this verdict proves nothing, regardless of the circumstances: it did not pass,
/// or a required measurement is missing.
pub fn unproven(verdict: Verdict, rules: &[Rule]) -> Vec<String> {
    let failed = match verdict {
        Verdict::Pass => None,
        Verdict::Fail => Some("a rule failed".to_owned()),
        Verdict::Interrupted => Some("the test was stopped before its end".to_owned()),
        Verdict::Error => Some("the test could not be carried through".to_owned()),
        Verdict::Invalid => Some("something other than the storage was measured".to_owned()),
        Verdict::Inconclusive | Verdict::NoLimitSet => {
            Some("the test came to no answer".to_owned())
        }
    };
    let unmeasured = rules.iter().filter(|rule| {
        // Some systems cannot tell whether a test was fair; whether I/O bypassed the page cache is
        // known from elsewhere.
        rule.group != Group::FairTest && rule.outcome == Outcome::NotMeasured
    });
    let named = |rule: &Rule| match rule.remark.as_str() {
        "" => rule.title.clone(),
        why => format!("{} ({why})", rule.title),
    };
    let unmeasured: Vec<String> = unmeasured.map(named).collect();
    let unmeasured = (verdict == Verdict::Pass && !unmeasured.is_empty())
        .then(|| format!("not measured: {}", unmeasured.join(", ")));
    failed.into_iter().chain(unmeasured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleId;

    fn good() -> Circumstances {
        Circumstances {
            kind: TestKind::Performance,
            measured: Kind::of(TestKind::Performance).length_min,
            data: ByteSize::gib(64),
            memory: Some(ByteSize::gib(64)),
            array_cache: Some(ByteSize::gib(63)),
            direct: true,
            reached_devices: true,
            masked: None,
            above_pace: None,
            short_of: None,
            headroom: true,
            cached_files: Vec::new(),
            cached_writes: Vec::new(),
            lighter: Vec::new(),
            volumes: Vec::new(),
            host: None,
            volume_share: Some(VOLUME_SHARE_MIN),
            setup: Vec::new(),
            faults: 0,
            carried: None,
        }
    }

    #[test]
    fn every_limit_itself_qualifies() {
        assert_eq!(obstacles(&good()), Vec::<String>::new());
    }

    #[test]
    fn only_a_pass_with_everything_measured_proves_anything() {
        let rule = |name: RuleId, measured| Rule::at_most(name, "", 0.0, measured);
        let all = [rule(RuleId::PagesVerified, Some(0.0)), rule(RuleId::DeviceAgrees, None)];
        assert_eq!(unproven(Verdict::Pass, &all), [""; 0]);
        assert_eq!(unproven(Verdict::Fail, &all), ["a rule failed"]);
        let stopped = "the test was stopped before its end";
        assert_eq!(unproven(Verdict::Interrupted, &all), [stopped]);
        let broken = "the test could not be carried through";
        assert_eq!(unproven(Verdict::Error, &all), [broken]);
        let unanswered = "the test came to no answer";
        assert_eq!(unproven(Verdict::Inconclusive, &all), [unanswered]);
        let unfair = "something other than the storage was measured";
        assert_eq!(unproven(Verdict::Invalid, &all), [unfair]);
        let some = [rule(RuleId::PagesVerified, None), rule(RuleId::RecordsVerified, None)];
        let missing = "not measured: pages verified, records verified";
        assert_eq!(unproven(Verdict::Pass, &some), [missing]);
        let why = "no device is known under /mnt: what answers is not known";
        let log = rule(RuleId::SystemLog, None).with_remark(why.to_owned());
        let wanted = format!("not measured: system event log ({why})");
        assert_eq!(unproven(Verdict::Pass, &[log]), [wanted]);
    }

    #[test]
    fn each_obstacle_is_named() {
        let cases: [(&str, Circumstances); 19] = [
            (
                "direct writes in /db through the page cache of the operating system: XFS, or on btrfs `chattr +C`",
                Circumstances { direct: false, cached_writes: vec!["/db".to_owned()], ..good() },
            ),
            (
                "others read the same devices: devices of their own",
                Circumstances { masked: Some("others read the same devices".to_owned()), ..good() },
            ),
            (
                "md0 is degraded",
                Circumstances {
                    setup: vec!["whole RAID, md0 is degraded: mend it".to_owned()],
                    ..good()
                },
            ),
            (
                "before the load was complete (Instance 1 ",
                Circumstances {
                    short_of: Some("Instance 1 has logged 3 MiB".to_owned()),
                    ..good()
                },
            ),
            (
                "12.5 % above its pace",
                Circumstances { above_pace: Some("12.5 % above its pace".to_owned()), ..good() },
            ),
            (
                "interrupted after 48 min 00 s and carried on",
                Circumstances { carried: Some(Span::seconds(48 * 60)), ..good() },
            ),
            ("2 faults injected", Circumstances { faults: 2, ..good() }),
            (
                "measured for 7,199 s, not for 2 hours",
                Circumstances { measured: Span(good().measured.0 - 1), ..good() },
            ),
            ("not for 24 hours", Circumstances { kind: TestKind::Stress, ..good() }),
            ("did not come from the devices", Circumstances { reached_devices: false, ..good() }),
            ("headroom", Circumstances { headroom: false, ..good() }),
            (
                "the storage's cache",
                Circumstances { array_cache: Some(ByteSize::gib(65)), ..good() },
            ),
            ("stolen", Circumstances { host: Some("stolen".to_owned()), ..good() }),
            ("page cache", Circumstances { direct: false, ..good() }),
            (
                "`losetup --direct-io=on` for loop3",
                Circumstances { direct: false, cached_files: vec!["loop3".to_owned()], ..good() },
            ),
            (
                "read_average 5 s",
                Circumstances { lighter: vec!["read_average 5 s, and".to_owned()], ..good() },
            ),
            (
                "/mnt is in memory",
                Circumstances { volumes: vec!["/mnt is in memory".to_owned()], ..good() },
            ),
            ("memory", Circumstances { data: ByteSize::gib(63), ..good() }),
            ("24.0 %", Circumstances { volume_share: Some(0.24), ..good() }),
        ];
        for (word, circumstances) in cases {
            let reasons = obstacles(&circumstances);
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(reasons[0].contains(word), "{reasons:?}");
        }
    }
}
