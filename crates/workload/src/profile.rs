//! The figures of each Exchange version and its Jetstress: sizes, mixes, sessions, limits. Data,
//! with a source for each.
//!
//! Each figure states its source and its certainty: *found* in a source, *inferred* by arithmetic
//! from what was found, *fitted* so that predictions match published results, widely *published*
//! but not checked against a primary source, or *assumed* for lack of a source. A scenario can
//! override any of them; a report shows the figures that were used.
//!
//! The versions differ where it matters for storage: pages grew from 4 to 32 KiB, log files shrank
//! from 5 to 1 MiB, the mix moved from replaces to inserts, sessions from one storage group to the
//! whole server, and background maintenance was added.

mod table;

use std::fmt;
use std::str::FromStr;

use brunt_units::{ByteSize, PageSize, Span};

use crate::mix::Mix;

/// How certain a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Stated in the source.
    Found,
    /// Follows by arithmetic from what the source states.
    Inferred,
    /// Chosen so that predictions match published results.
    Fitted,
    /// Widely published; not checked against a primary source.
    Published,
    /// No source: our choice.
    Assumed,
}

/// A figure and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    pub certainty: Certainty,
    /// Its source, or the reason for it.
    pub source: &'static str,
}

/// A version of Exchange, as Jetstress tests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Exchange 2003, Jetstress 2003 and 2004.
    Exchange2003,
    /// Exchange 2007 with the mix of Jetstress 08.01.
    Exchange2007Early,
    /// Exchange 2007 with the mix of Jetstress 08.02.
    Exchange2007,
    /// Exchange 2010, Jetstress 14.
    Exchange2010,
    /// Exchange 2013, Jetstress 15.
    Exchange2013,
    /// Exchange 2016, tested with Jetstress 15.
    Exchange2016,
    /// Exchange 2019, tested with Jetstress 15.
    Exchange2019,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Self; 7] = [
        Self::Exchange2003,
        Self::Exchange2007Early,
        Self::Exchange2007,
        Self::Exchange2010,
        Self::Exchange2013,
        Self::Exchange2016,
        Self::Exchange2019,
    ];

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange2003 => "2003",
            Self::Exchange2007Early => "2007-08.01",
            Self::Exchange2007 => "2007",
            Self::Exchange2010 => "2010",
            Self::Exchange2013 => "2013",
            Self::Exchange2016 => "2016",
            Self::Exchange2019 => "2019",
        }
    }

    /// Its figures.
    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::Exchange2003 => &table::EXCHANGE_2003,
            Self::Exchange2007Early => &table::EXCHANGE_2007_EARLY,
            Self::Exchange2007 => &table::EXCHANGE_2007,
            Self::Exchange2010 => &table::EXCHANGE_2010,
            Self::Exchange2013 => &table::EXCHANGE_2013,
            Self::Exchange2016 => &table::EXCHANGE_2016,
            Self::Exchange2019 => &table::EXCHANGE_2019,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange {}", self.name())
    }
}

/// Text that names no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError(pub String);

impl std::error::Error for VersionError {}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Version::ALL.map(Version::name).join(", ");
        write!(f, "`{}` is not an Exchange version (known: {known})", self.0)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Parses `2013`, `Exchange 2013` or `exchange-2013`.
    ///
    /// # Errors
    /// [`VersionError`] lists the known versions.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let lower = text.trim().to_ascii_lowercase();
        let short = lower.strip_prefix("exchange").unwrap_or(&lower);
        let short = short.trim_start_matches([' ', '-', '_']);
        Self::ALL
            .into_iter()
            .find(|version| version.name() == short)
            .ok_or_else(|| VersionError(text.into()))
    }
}

/// What a test's session count refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionScope {
    /// Sessions for each instance (storage group); all together form one pool.
    Instance,
    /// Sessions for each database; all together form one pool.
    Database,
    /// One pool of that size for the whole server.
    Server,
}

/// How a session chooses the instance of its next batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceChoice {
    /// Uniformly at random for each batch.
    Uniform,
    /// In rotation over all sessions.
    Rotation,
}

/// How checkpoint writes are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointPacing {
    /// One pass per second, tens of pages at a time.
    Burst,
    /// One write in flight until the checkpoint falls behind.
    Trickle,
}

/// Background database maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// Bytes per read.
    pub batch: ByteSize,
    /// Pause after each read.
    pub sleep: Span,
}

/// The latency limits of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyLimits {
    /// Mean of database reads over the test.
    pub read_mean: Span,
    /// Mean of database reads in any sample.
    pub read_sample: Span,
    /// Mean of log writes over the test.
    pub log_mean: Span,
    /// Mean of log writes in any sample.
    pub log_sample: Span,
}

/// The figures of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The version they belong to.
    pub version: Version,
    /// Bytes in a database page.
    pub page_size: Figure<PageSize>,
    pub log_file: Figure<ByteSize>,
    /// Log buffer in units of 512 bytes, before the engine clamps it to its limits.
    pub log_buffer_units: Figure<u32>,
    /// Smallest cache per instance.
    pub cache_min: Figure<ByteSize>,
    /// Largest cache per instance; all instances share the sum.
    pub cache_max: Figure<ByteSize>,
    /// Frames are freed from this share of the largest cache on.
    pub start_percent: Figure<u32>,
    /// Freeing of frames stops at this share of the largest cache.
    pub stop_percent: Figure<u32>,
    /// Log between the checkpoint and the newest record.
    pub checkpoint_depth: Figure<ByteSize>,
    /// The same of a passive copy.
    pub copy_checkpoint_depth: Figure<ByteSize>,
    /// How checkpoint writes are spread over time.
    pub checkpoint_pacing: Figure<CheckpointPacing>,
    /// Pages by which a database grows.
    pub extension_pages: Figure<u32>,
    /// Whether logs before the checkpoint are deleted.
    pub circular_logging: Figure<bool>,
    /// Whether logs before the checkpoint are reused, which then need no formatting.
    pub log_reuse: Figure<bool>,
    /// Background maintenance during performance and stress tests.
    pub maintenance: Figure<Option<Maintenance>>,
    /// Shares of the operations and of lazy commits.
    pub mix: Figure<Mix>,
    pub batch_operations: Figure<u32>,
    /// What a test's session count refers to.
    pub session_scope: Figure<SessionScope>,
    /// How a session chooses its next instance.
    pub instance_choice: Figure<InstanceChoice>,
    /// Percentage of records that lie beside the one inserted before them.
    pub beside_percent: Figure<u32>,
    /// Percentage of reads that go to the record that their session touched last.
    pub reads_again_percent: Figure<u32>,
    /// Bytes in the short pad of a record.
    pub short_pad: Figure<u32>,
    /// Bytes in the long pad of a record.
    pub long_pad: Figure<u32>,
    /// Limits for tests of up to six hours.
    pub strict: Figure<LatencyLimits>,
    /// Limits for longer, "stress", tests.
    pub lenient: Figure<LatencyLimits>,
    /// Number of samples that may exceed a sample limit.
    pub excursions: Figure<u32>,
    /// Tolerated shortfall of the achieved rate below the target, in percent.
    pub margin_percent: Figure<u32>,
    /// Share of the initial database size kept free on the volume, in percent.
    pub reserve_percent: Figure<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::Kind;

    #[test]
    fn versions_are_read_as_people_write_them() {
        for version in Version::ALL {
            assert_eq!(version.name().parse(), Ok(version));
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(version.profile().version, version);
        }
        assert_eq!("exchange-2010".parse(), Ok(Version::Exchange2010));
        let error = "2012".parse::<Version>().unwrap_err().to_string();
        assert!(error.starts_with("`2012` is not an Exchange version (known: 2003, 2007-08.01,"));
    }

    #[test]
    fn reports_of_the_time_print_these_figures() {
        let mix = |version: Version| {
            let mix = version.profile().mix.value;
            let [insert, delete, replace, read] = Kind::ALL.map(|kind| mix.percent(kind));
            (insert, delete, replace, read, mix.lazy_percent())
        };
        assert_eq!(mix(Version::Exchange2003), (17, 5, 68, 10, 90));
        assert_eq!(mix(Version::Exchange2007Early), (25, 10, 50, 15, 80));
        assert_eq!(mix(Version::Exchange2007), (40, 30, 5, 25, 55));
        assert_eq!(mix(Version::Exchange2010), (40, 20, 5, 35, 70));
        assert_eq!(mix(Version::Exchange2019), (40, 20, 5, 35, 70));
        // Eight storage groups in 2008: 256 MB minimum, 2.0 GB maximum, 20.5 and 41.0 MB
        // thresholds.
        let profile = Version::Exchange2007.profile();
        assert_eq!(8 * profile.cache_min.value.get(), 256 << 20);
        let most = 8 * profile.cache_max.value.get();
        assert_eq!(most, 2_048 << 20);
        let threshold = |percent: u32| (most * u64::from(percent)) as f64 / 100.0 / 1048576.0;
        assert!((threshold(profile.start_percent.value) - 20.5).abs() < 0.05);
        assert!((threshold(profile.stop_percent.value) - 41.0).abs() < 0.05);
    }

    #[test]
    fn limits_are_consistent() {
        for version in Version::ALL {
            let profile = version.profile();
            let (strict, lenient) = (profile.strict.value, profile.lenient.value);
            assert!(strict.read_mean <= strict.read_sample, "{version}");
            assert!(strict.read_sample <= lenient.read_sample, "{version}");
            assert!(strict.log_mean <= strict.log_sample, "{version}");
            assert!(profile.cache_min.value < profile.cache_max.value);
            assert!(profile.start_percent.value < profile.stop_percent.value);
        }
    }
}
