//! A test of given volumes that only the storage and the host can keep from qualifying.
//!
//! ```text
//!   mailboxes x quota, spread over the LUNs -> scenario -> room? -> folders, file -> what a run would do
//! ```
//!
//! * One instance with one database on each LUN. Logs are spread over the log folders; without any,
//!   each database logs to the next LUN, so that losing one costs no database and its log.
//! * Sessions are enough to ask for the target even when every I/O takes as long as its limit
//!   allows, so they are never in the way.
//! * Whether it fits and qualifies is asked of the functions that a run asks. How many mailboxes
//!   would do is found by trying.

use std::path::{Path, PathBuf};

use brunt_host::consent::Consent;
use brunt_host::preflight::{check_memory, demands};
use brunt_qualify::goal::{HEADROOM_PERCENT, Target};
use brunt_qualify::result::foreseen;
use brunt_report::grouped;
use brunt_scenario::{Document, Refusal, Scenario};
use brunt_units::{ByteSize, Span};
use brunt_workload::profile::{SessionScope, Version};
use brunt_world_real::facts;

use super::text::{self, IoRate};
use super::{InitError, Typed};
use crate::opening::labelled;
use crate::outlook::{Outlook, outlook};

/// What a test is to be like.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) name: String,
    pub(super) mailboxes: u64,
    pub(super) quota: Typed<ByteSize>,
    /// Absolute, at least one.
    pub(super) luns: Vec<PathBuf>,
    pub(super) logs: Vec<PathBuf>,
    pub(super) version: Version,
    pub(super) io_per_mailbox: Option<f64>,
    pub(super) duration: Option<Typed<Span>>,
}

/// The test.
pub(super) struct Design {
    wish: Wish,
    text: String,
    scenario: Scenario,
}

/// Database I/Os per second of a mailbox where nobody has measured them, and where the figure is
/// from.
const PUBLISHED: [(Version, f64, &str); 3] = [
    (
        Version::Exchange2007Early,
        0.32,
        "a heavy user: Dell EqualLogic PS5000XV, ESRP-Storage 2.1, 2008",
    ),
    (Version::Exchange2010, 0.15, "150 messages a day, copies: EMC CX4-960, 80,000 users, 2010"),
    (
        Version::Exchange2013,
        0.134,
        "200 messages a day: Dell PowerVault MD3820f, ESRP-Storage 4.0, 2015",
    ),
];

impl Design {
    /// The test that is wished for.
    ///
    /// # Errors
    /// [`InitError`] when a folder is missing, caches do not fit into memory, or a volume has no
    /// room; with what there is room for.
    pub(super) fn new(wish: Wish) -> Result<Self, InitError> {
        check_folders(&wish)?;
        let text = wish.text(wish.mailboxes)?;
        let scenario = read(&text)?;
        check_memory(&scenario)?;
        let design = Self { wish, text, scenario };
        match design.wish.fits(design.wish.mailboxes)? {
            true => Ok(design),
            false => Err(InitError::Impossible(design.no_room()?)),
        }
    }

    /// The scenario.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Folders that a run needs. Their parents were named, and are there.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let logs = self.scenario.instances.iter().map(|one| one.log.as_path());
        let databases = self.scenario.databases();
        let databases = databases.filter_map(|database| database.path.parent());
        let all = databases.chain(logs).filter(|folder| !folder.exists());
        all.map(Path::to_owned).collect()
    }

    /// What a run would do, and what would make it qualify.
    pub(super) fn outlook(&self) -> Result<String, InitError> {
        let outlook = outlook(&self.scenario, Consent::default(), Path::new("runs"))?;
        let mut lines = vec![outlook.text.clone()];
        lines.extend(labelled("large enough", self.large_enough(&outlook)?));
        lines.extend(labelled("note", self.wish.shared()));
        Ok(lines.join("\n"))
    }

    /// What makes databases large enough, if they are too small to qualify.
    fn large_enough(&self, outlook: &Outlook) -> Result<Option<String>, InitError> {
        let mut endless = self.scenario.plan();
        for instance in &mut endless.instances {
            for database in &mut instance.databases {
                database.size = ByteSize::bytes(1 << 60);
            }
        }
        let others = foreseen(&endless, &outlook.around).len();
        if outlook.obstacles.len() == others {
            return Ok(None);
        }
        let is_enough = |mailboxes| -> Result<bool, InitError> {
            let plan = read(&self.wish.text(mailboxes)?)?.plan();
            Ok(foreseen(&plan, &outlook.around).len() == others)
        };
        let most = self.wish.most()?;
        if !is_enough(most)? {
            return Ok(Some(
                "no number of mailboxes that fits; it takes larger or emptier volumes".to_owned(),
            ));
        }
        let least = least(self.wish.mailboxes, most, is_enough)?;
        let quota = u128::from(self.wish.quota.value.get()) * u128::from(least);
        let quota = quota.div_ceil(u128::from(self.wish.mailboxes) << 20);
        Ok(Some(format!("--mailboxes {least}, or --quota {quota}MiB")))
    }

    fn no_room(&self) -> Result<String, InitError> {
        let wish = &self.wish;
        let mut lines = vec![format!(
            "{} mailboxes of {} do not fit",
            grouped(wish.mailboxes),
            wish.quota.value
        )];
        for demand in demands(&self.scenario) {
            lines.push(format!(
                "  {}: {} needed (databases with {} % for growth, logs), {} free",
                demand.mount.display(),
                demand.needed,
                self.scenario.limits.reserve_percent,
                demand.free
            ));
        }
        lines.push(match wish.most()? {
            0 => "  not even one fits: name other volumes, or make room".to_owned(),
            most => format!(
                "  the most that fit: --mailboxes {most}; or a smaller --quota, or more volumes"
            ),
        });
        Ok(lines.join("\n"))
    }
}

impl Wish {
    /// The scenario for `mailboxes`.
    fn text(&self, mailboxes: u64) -> Result<String, InitError> {
        let io = self.io_rate()?;
        text::scenario(self, mailboxes, &io, self.sessions(mailboxes, io.per_s))
            .map_err(InitError::Impossible)
    }

    fn io_rate(&self) -> Result<IoRate, InitError> {
        if let Some(per_s) = self.io_per_mailbox {
            let source = "as given".to_owned();
            return Ok(IoRate { per_s, source });
        }
        // A version without a figure does what the one before it does; there is none before
        // Exchange 2003.
        let mut known = PUBLISHED.iter().filter(|(version, ..)| *version <= self.version);
        match known.next_back() {
            Some((_, per_s, source)) => Ok(IoRate { per_s: *per_s, source: (*source).to_owned() }),
            None => Err(InitError::Impossible(format!(
                "there is no published figure for the I/Os of a mailbox of Exchange {}\n  measure it on the old server: --io-per-mailbox 0.5",
                self.version.name()
            ))),
        }
    }

    /// Sessions, as the version counts them, that reach the target with its headroom even at the
    /// limits of latency.
    fn sessions(&self, mailboxes: u64, io_per_s: f64) -> u64 {
        let figures = self.version.profile();
        let limits = figures.strict.value;
        let target =
            Target { io_per_s: mailboxes as f64 * io_per_s, headroom_percent: HEADROOM_PERCENT };
        let busy = target.offered() * (limits.read_mean + limits.log_mean).as_seconds();
        let shared_by = match figures.session_scope.value {
            SessionScope::Server => 1,
            SessionScope::Instance | SessionScope::Database => self.luns.len(),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float cast saturates, and it is above zero"
        )]
        let each = (busy / shared_by as f64).ceil() as u64;
        let most = SESSIONS_MAX.div_euclid(shared_by as u64).max(SESSIONS_MIN);
        each.clamp(SESSIONS_MIN, most)
    }

    /// Whether `mailboxes` have room. So many that their databases have too many pages have none.
    fn fits(&self, mailboxes: u64) -> Result<bool, InitError> {
        let has_room = |scenario: Scenario| {
            let demands = demands(&scenario);
            demands.iter().all(|demand| demand.needed <= demand.free)
        };
        // What was wished for can be read, so fewer are refused for too few pages.
        let fewer = mailboxes < self.mailboxes;
        Ok(read(&self.text(mailboxes)?).map_or(fewer, has_room))
    }

    /// The most mailboxes that have room.
    fn most(&self) -> Result<u64, InitError> {
        let (mut fit, mut too_many) = (0, self.mailboxes);
        while too_many < MAILBOXES_MAX && self.fits(too_many)? {
            (fit, too_many) = (too_many, too_many.saturating_mul(2).min(MAILBOXES_MAX));
        }
        let most = least(fit, too_many, |count| Ok(!self.fits(count)?))? - 1;
        match most > 0 && read(&self.text(most)?).is_ok() {
            true => Ok(most),
            false => Ok(0),
        }
    }

    /// LUNs that are no volumes of their own.
    fn shared(&self) -> Option<String> {
        let volume = |path: &PathBuf| facts::room(path).map(|room| room.volume);
        let shared = self.luns.iter().enumerate().find_map(|(at, lun)| {
            let others = &self.luns[at + 1..];
            let other = others.iter().find(|other| volume(other) == volume(lun))?;
            Some((lun, other))
        });
        shared.map(|(one, other)| {
            if one == other {
                return format!("{} is named twice, and is one LUN", one.display());
            }
            format!(
                "{} and {} are on one volume, so they are not two LUNs",
                one.display(),
                other.display()
            )
        })
    }
}

/// Two, so that one waits while the other reads.
const SESSIONS_MIN: u64 = 2;
/// A scenario has no more.
const SESSIONS_MAX: u64 = 10_000;
const MAILBOXES_MAX: u64 = 100_000_000;

/// The least number of which `holds` is true; it is of `most`, and if of one, of all above it.
fn least(
    below: u64,
    most: u64,
    holds: impl Fn(u64) -> Result<bool, InitError>,
) -> Result<u64, InitError> {
    let (mut low, mut high) = (below, most);
    while low + 1 < high {
        let middle = low.midpoint(high);
        match holds(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(high)
}

fn read(text: &str) -> Result<Scenario, Refusal> {
    Document::new("the scenario", text, Path::new("/"))?.test(&[])
}

fn check_folders(wish: &Wish) -> Result<(), InitError> {
    let luns = wish.luns.iter().map(|path| ("--lun", path));
    let logs = wish.logs.iter().map(|path| ("--log", path));
    let missing: Vec<String> = luns
        .chain(logs)
        .filter(|(_, path)| !path.is_dir())
        .map(|(flag, path)| {
            let is_there = path.exists();
            let path = path.display();
            if is_there {
                return format!("{flag} {path}: is not a folder");
            }
            format!("{flag} {path}: there is no such folder\n  mount the volume first, or: mkdir -p {path}")
        })
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(InitError::Impossible(missing.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn wish(home: &Path, mailboxes: u64) -> Wish {
        let luns = ["a", "b"].map(|name| home.join(name));
        for lun in &luns {
            fs::create_dir(lun).unwrap();
        }
        Wish {
            name: "t".to_owned(),
            mailboxes,
            quota: "1MiB".parse().unwrap(),
            luns: luns.into(),
            logs: Vec::new(),
            version: Version::Exchange2019,
            io_per_mailbox: None,
            duration: None,
        }
    }

    #[test]
    fn what_is_large_enough_is_found_by_the_rules() {
        let home = tempfile::tempdir().unwrap();
        let design = Design::new(wish(home.path(), 100)).unwrap();
        for folder in design.missing_folders() {
            fs::create_dir(folder).unwrap();
        }
        let mut outlook = outlook(&design.scenario, Consent::default(), home.path()).unwrap();
        let mut large_enough = |memory: ByteSize, volume: ByteSize| {
            outlook.around.machine.memory_bytes = memory.get();
            for used in &mut outlook.around.volumes {
                used.bytes = Some(volume);
            }
            outlook.obstacles = foreseen(&design.scenario.plan(), &outlook.around);
            design.large_enough(&outlook).unwrap()
        };
        let (mib, gib) = (ByteSize::mib, ByteSize::gib);
        assert_eq!(large_enough(mib(100), mib(400)), None);
        // Memory decides, then the share of the volume.
        let enough =
            |mailboxes, quota| Some(format!("--mailboxes {mailboxes}, or --quota {quota}MiB"));
        assert_eq!(large_enough(mib(120), mib(400)), enough(120, 2));
        assert_eq!(large_enough(mib(100), mib(600)), enough(150, 2));
        let never = large_enough(gib(1 << 20), mib(400)).unwrap();
        assert!(never.starts_with("no number of mailboxes that fits"), "{never}");
    }

    #[test]
    fn sessions_reach_the_target_at_the_limits() {
        let home = tempfile::tempdir().unwrap();
        let wish = wish(home.path(), 4_000);
        // 480 a second with headroom, 20 ms for a read and 10 for a log write.
        assert_eq!(wish.sessions(4_000, 0.1), 15);
        assert_eq!(wish.sessions(1, 0.1), SESSIONS_MIN);
        assert_eq!(wish.sessions(100_000_000, 1.0), SESSIONS_MAX);
        let for_each_database = Wish { version: Version::Exchange2010, ..wish };
        assert_eq!(for_each_database.sessions(4_000, 0.1), 8);
    }

    #[test]
    fn each_version_has_the_figure_of_its_time() {
        let home = tempfile::tempdir().unwrap();
        let wish = wish(home.path(), 4_000);
        let of = |version| {
            let wish = Wish { version, ..wish.clone() };
            wish.io_rate().map(|io| io.per_s).map_err(|error| error.to_string())
        };
        assert!(of(Version::Exchange2003).is_err());
        assert_eq!(of(Version::Exchange2007), Ok(0.32));
        assert_eq!(of(Version::Exchange2010), Ok(0.15));
        assert_eq!(of(Version::Exchange2019), Ok(0.134));
    }
}
