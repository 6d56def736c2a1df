//! The table itself, oldest version first; each row gives only its differences from the one before.
//!
//! Sources by short name:
//!
//! | name | what |
//! | --- | --- |
//! | ESE | microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx |
//! | HP 2005 | HP Continuous Access EVA5000 with Exchange 2003, May 2005 |
//! | EMC 2007 | EMC CX3-20, 700 users, Exchange 2007, ESRP-Storage 2.0 |
//! | Dell 2008 | Dell EqualLogic PS5000XV, 90,000 users, Exchange 2007, ESRP-Storage 2.1 |
//! | EMC 2010 | EMC CX4-960, 80,000 users, Exchange 2010 |
//! | Dell 2015 | Dell PowerVault MD3820f, 500 users, Exchange 2013, ESRP-Storage 4.0 |
//! | hmlee | hmlee's blog, Microsoft blog archive, on the Jetstress operation mix and capacity |
//! | XML 2013 | a JetstressConfig.xml of version 15.00.0995, jacobklitzke/Jetstress-Test-Automation |

use brunt_units::{ByteSize, PageSize, Span};

use super::{
    Certainty, CheckpointPacing, Figure, InstanceChoice, LatencyLimits, Maintenance, Profile,
    SessionScope, Version,
};
use crate::mix::Mix;

const fn found<T: Copy>(value: T, source: &'static str) -> Figure<T> {
    figure(value, Certainty::Found, source)
}

const fn inferred<T: Copy>(value: T, source: &'static str) -> Figure<T> {
    figure(value, Certainty::Inferred, source)
}

const fn fitted<T: Copy>(value: T, source: &'static str) -> Figure<T> {
    figure(value, Certainty::Fitted, source)
}

const fn published<T: Copy>(value: T, source: &'static str) -> Figure<T> {
    figure(value, Certainty::Published, source)
}

const fn assumed<T: Copy>(value: T, source: &'static str) -> Figure<T> {
    figure(value, Certainty::Assumed, source)
}

const fn figure<T: Copy>(value: T, certainty: Certainty, source: &'static str) -> Figure<T> {
    Figure { value, certainty, source }
}

const fn mix(insert: u32, delete: u32, replace: u32, lazy: u32) -> Mix {
    match Mix::new(insert, delete, replace, lazy) {
        Ok(mix) => mix,
        Err(_) => panic!("a mix in the table is over 100 %"),
    }
}

/// Limits in milliseconds.
const fn limits(read_mean: u64, read_sample: u64, log_mean: u64, log_sample: u64) -> LatencyLimits {
    LatencyLimits {
        read_mean: Span::millis(read_mean),
        read_sample: Span::millis(read_sample),
        log_mean: Span::millis(log_mean),
        log_sample: Span::millis(log_sample),
    }
}

/// Jetstress 2013: reads of 256 KiB, then 100 ms of sleep.
const MAINTENANCE: Maintenance =
    Maintenance { batch: ByteSize::kib(256), sleep: Span::millis(100) };

pub(super) const EXCHANGE_2003: Profile = Profile {
    version: Version::Exchange2003,
    page_size: published(PageSize::KIB_4, "Exchange 2003 and earlier"),
    log_file: published(ByteSize::mib(5), "Exchange 2003 and earlier; the ESE default"),
    log_buffer_units: found(9_000, "HP 2005: recommended for Exchange 2003"),
    cache_min: assumed(ByteSize::mib(32), "as Jetstress 2007"),
    cache_max: assumed(ByteSize::mib(256), "as Jetstress 2007"),
    start_percent: found(1, "ESE: 20,000,000 of 2,000,000,000"),
    stop_percent: found(2, "ESE: 40,000,000 of 2,000,000,000"),
    checkpoint_depth: found(ByteSize::mib(20), "ESE default"),
    copy_checkpoint_depth: assumed(ByteSize::mib(20), "as its active"),
    checkpoint_pacing: inferred(CheckpointPacing::Burst, "bursts in reports of 2007"),
    extension_pages: found(256, "ESE default"),
    circular_logging: assumed(true, "as Jetstress 2007"),
    log_reuse: inferred(
        false,
        "log writes of EMC 2007 and Dell 2008 have twice the bytes of the log",
    ),
    maintenance: found(None, "not in Jetstress before 2010"),
    mix: found(mix(17, 5, 68, 90), "hmlee"),
    batch_operations: inferred(50, "log writes per batch in reports of 2007 and 2010"),
    session_scope: inferred(SessionScope::Instance, "as Jetstress 2007; HP 2005: 10 threads"),
    instance_choice: inferred(InstanceChoice::Uniform, "batch counts in reports of 2007"),
    beside_percent: fitted(
        30,
        "0.75 writes for each insert and delete in EMC 2007, Dell 2008, Dell 2015",
    ),
    reads_again_percent: fitted(60, "as Jetstress 2007"),
    short_pad: assumed(200, "as Jetstress 2013"),
    long_pad: inferred(800, "hmlee: a base record of 1,000 bytes, less the short pad"),
    strict: found(limits(20, 40, 20, 40), "HP 2005, citing Exchange 2003 guidance"),
    lenient: assumed(limits(20, 40, 20, 40), "as the strict ones"),
    excursions: assumed(6, "as Jetstress 2013"),
    margin_percent: assumed(5, "as Jetstress 2013"),
    reserve_percent: found(25, "hmlee"),
};

pub(super) const EXCHANGE_2007_EARLY: Profile = Profile {
    version: Version::Exchange2007Early,
    page_size: inferred(PageSize::KIB_8, "Dell 2008: 57,126 MB / 7,312,194 pages"),
    log_file: found(ByteSize::mib(1), "Dell 2008"),
    log_buffer_units: found(9_000, "EMC 2007"),
    cache_min: inferred(ByteSize::mib(32), "EMC 2007: 64 MB for 2 storage groups"),
    cache_max: inferred(ByteSize::mib(256), "EMC 2007: 512 MB for 2 storage groups"),
    circular_logging: inferred(true, "Dell 2008: 2 or 3 logs left after each test"),
    mix: found(mix(25, 10, 50, 80), "EMC 2007"),
    session_scope: found(SessionScope::Instance, "EMC 2007: 2 (per-storage group)"),
    strict: found(limits(20, 50, 10, 50), "EMC 2007"),
    lenient: found(limits(20, 100, 10, 100), "EMC 2007"),
    long_pad: inferred(
        800,
        "EMC 2007: 1,003 logs of 1 MiB by 19,580 batches, 1,074 bytes for an operation",
    ),
    reads_again_percent: fitted(
        60,
        "0.32 reads for an operation in EMC 2007, 0.63 in Dell 2008, both by the volume of their logs",
    ),
    ..EXCHANGE_2003
};

pub(super) const EXCHANGE_2007: Profile = Profile {
    version: Version::Exchange2007,
    log_buffer_units: found(9_000, "Dell 2008"),
    cache_min: inferred(ByteSize::mib(32), "Dell 2008: 256 MB for 8 storage groups"),
    cache_max: inferred(ByteSize::mib(256), "Dell 2008: 2,048 MB for 8 storage groups"),
    mix: found(mix(40, 30, 5, 55), "Dell 2008"),
    session_scope: found(SessionScope::Instance, "Dell 2008: 16 (per-storage group)"),
    strict: found(limits(20, 50, 10, 50), "Dell 2008"),
    lenient: found(limits(20, 100, 10, 100), "Dell 2008"),
    ..EXCHANGE_2007_EARLY
};

pub(super) const EXCHANGE_2010: Profile = Profile {
    version: Version::Exchange2010,
    page_size: published(PageSize::KIB_32, "Exchange 2010 and later"),
    log_file: found(ByteSize::mib(1), "EMC 2010"),
    log_buffer_units: assumed(9_000, "as 2007: not printed; logs of 1 MiB cut it anyway"),
    cache_min: published(ByteSize::mib(32), "as before and after"),
    cache_max: published(ByteSize::mib(256), "as before and after"),
    copy_checkpoint_depth: found(
        ByteSize::mib(5),
        "Microsoft, Exchange 2010 store: passive copies; Dell BP1013",
    ),
    checkpoint_pacing: inferred(CheckpointPacing::Trickle, "write latencies in reports of 2010"),
    maintenance: inferred(Some(MAINTENANCE), "optional in 2010; pace as Jetstress 2013"),
    mix: inferred(mix(40, 20, 5, 70), "operations found in 2010 reports; lazy as 2013"),
    session_scope: found(SessionScope::Database, "Jetstress 2010 documentation, thread count"),
    short_pad: inferred(200, "as Jetstress 2013"),
    long_pad: inferred(2_000, "as Jetstress 2013"),
    reads_again_percent: fitted(20, "as Jetstress 2013"),
    strict: inferred(limits(20, 100, 10, 100), "as Jetstress 2013"),
    lenient: inferred(limits(20, 200, 10, 200), "as Jetstress 2013"),
    ..EXCHANGE_2007
};

pub(super) const EXCHANGE_2013: Profile = Profile {
    version: Version::Exchange2013,
    copy_checkpoint_depth: found(
        ByteSize::mib(100),
        "R. Subramanian, 2014: passive copies have half the I/O of active ones",
    ),
    page_size: found(PageSize::KIB_32, "XML 2013: DatabasePageSize"),
    log_file: found(ByteSize::kib(1_024), "XML 2013: LogFileSize"),
    cache_min: inferred(ByteSize::mib(32), "Dell 2015: 64 MB for 2 databases"),
    cache_max: inferred(ByteSize::mib(256), "Dell 2015: 512 MB for 2 databases"),
    circular_logging: found(true, "XML 2013: CircularLog"),
    log_reuse: inferred(true, "Dell 2015: bytes of log writes are those of the logs shipped"),
    maintenance: found(Some(MAINTENANCE), "XML 2013: DBMThrottling; Dell 2015: 262,144 bytes"),
    mix: found(mix(40, 20, 5, 70), "XML 2013: OperationMix; Dell 2015"),
    batch_operations: assumed(50, "as 2010; 2013 reports show fewer log writes than that gives"),
    session_scope: found(SessionScope::Server, "NetApp, \"Jetstress 2013 Global Threads\""),
    instance_choice: inferred(InstanceChoice::Rotation, "equal batch counts in Dell 2015"),
    short_pad: found(200, "XML 2013: ShortPadLength"),
    long_pad: found(2_000, "XML 2013: LongPadLength"),
    reads_again_percent: fitted(20, "0.71 reads for an operation in Dell 2015"),
    strict: found(limits(20, 100, 10, 100), "XML 2013: Thresholds Strict"),
    lenient: found(limits(20, 200, 10, 200), "XML 2013: Thresholds Lenient"),
    excursions: found(6, "XML 2013: MaximumLatencyErrors"),
    margin_percent: found(5, "XML 2013: MarginIops"),
    reserve_percent: found(25, "XML 2013: DatabaseSpaceReserved"),
    ..EXCHANGE_2010
};

pub(super) const EXCHANGE_2016: Profile =
    Profile { version: Version::Exchange2016, ..EXCHANGE_2013 };

pub(super) const EXCHANGE_2019: Profile =
    Profile { version: Version::Exchange2019, ..EXCHANGE_2013 };
