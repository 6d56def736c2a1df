//! What is known of each version before anything is calculated. Data, with a source and a certainty
//! for each figure. [`SOURCES`] says what their names stand for.

use brunt_workload::profile::{Certainty, Figure, Version};

use self::Era::{E2003, E2007, E2010, E2013, E2016, E2019};

/// What the names of sources stand for.
pub(crate) const SOURCES: [(&str, &str); 10] = [
    ("EXDOC", "Microsoft's Exchange documentation, storage configuration and sizing, 2013 to 2019"),
    ("EMC 2010", "EMC CX4-960, 80,000 users, Exchange 2010, H6918.1"),
    ("EMC 2007", "EMC CX3-20, 700 users, Exchange 2007, ESRP-Storage 2.0"),
    ("Dell 2008", "Dell EqualLogic PS5000XV, 90,000 users, Exchange 2007, ESRP-Storage 2.1"),
    (
        "Dell 2015",
        "Dell PowerVault MD3820f, 500 users, Exchange 2013, ESRP-Storage 4.0; its calculator, worked backwards",
    ),
    ("slipstick", "slipstick.com on the I/O of Exchange 2007, September 2008"),
    ("techcommunity", "Microsoft's \"Transaction Log Space is Critical\", November 2011"),
    ("design tables", "Microsoft's mailbox design tables, as they are widely quoted"),
    (
        "SizingChecker",
        "the public script SizingChecker.ps1 1.0, which follows Microsoft's \"Sizing Exchange 2013\"",
    ),
    (
        "HealthChecker",
        "Microsoft's public script HealthChecker.ps1: microsoft/CSS-Exchange 876, dpaulson45/HealthChecker 78, 87 and 412",
    ),
];

/// Versions whose figures are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    E2003,
    E2007,
    E2010,
    E2013,
    E2016,
    E2019,
}

impl From<Version> for Era {
    fn from(version: Version) -> Self {
        match version {
            Version::Exchange2003 => E2003,
            Version::Exchange2007Early | Version::Exchange2007 => E2007,
            Version::Exchange2010 => E2010,
            Version::Exchange2013 => E2013,
            Version::Exchange2016 => E2016,
            Version::Exchange2019 => E2019,
        }
    }
}

/// Which numbers of copies a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    Any,
    One,
    More,
}

/// A figure, from each version on that changed it.
struct Row {
    name: &'static str,
    copies: Copies,
    from: &'static [(Era, Figure<f64>)],
}

const fn figure(value: f64, certainty: Certainty, source: &'static str) -> Figure<f64> {
    Figure { value, certainty, source }
}

const fn found(value: f64, source: &'static str) -> Figure<f64> {
    figure(value, Certainty::Found, source)
}

const fn inferred(value: f64, source: &'static str) -> Figure<f64> {
    figure(value, Certainty::Inferred, source)
}

const fn published(value: f64, source: &'static str) -> Figure<f64> {
    figure(value, Certainty::Published, source)
}

const fn assumed(value: f64, source: &'static str) -> Figure<f64> {
    figure(value, Certainty::Assumed, source)
}

const fn row(name: &'static str, from: &'static [(Era, Figure<f64>)]) -> Row {
    Row { name, copies: Copies::Any, from }
}

const fn alone(name: &'static str, from: &'static [(Era, Figure<f64>)]) -> Row {
    Row { name, copies: Copies::One, from }
}

const fn copied(name: &'static str, from: &'static [(Era, Figure<f64>)]) -> Row {
    Row { name, copies: Copies::More, from }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;
const TIB: f64 = 1024.0 * GIB;
const MB: f64 = 1e6;

const NOT_YET: &str = "not in this version";

const TABLE: &[Row] = &[
    row(
        "headroom_percent",
        &[(E2003, found(20.0, "Dell 2008, EMC 2007, EMC 2010: profiles include 20 %"))],
    ),
    row("growth_percent", &[(E2003, assumed(0.0, "sized for today; give what you expect"))]),
    // Users.
    row(
        "message_bytes",
        &[
            (E2003, assumed(50.0 * KIB, "as Exchange 2007")),
            (E2007, published(50.0 * KIB, "design tables: about 50 KB")),
            (E2010, published(75.0 * KIB, "design tables")),
        ],
    ),
    alone(
        "io_per_message",
        &[
            (E2010, found(0.0012, "design tables: 0.060 at 50, 0.18 at 150, 0.36 at 300 messages")),
            (E2013, inferred(0.00067, "design tables: linear, 0.134 at 200 messages")),
        ],
    ),
    copied(
        "io_per_message",
        &[
            (E2010, inferred(0.001, "design tables: linear, 0.15 at 150 messages in EMC 2010")),
            (E2013, inferred(0.00067, "design tables: linear, 0.134 at 200 messages in Dell 2015")),
        ],
    ),
    row(
        "read_percent",
        &[
            (E2003, found(66.0, "Microsoft: 66 to 75 % are reads; the lower costs more drives")),
            (E2007, found(50.0, "Dell 2008: about as many reads as writes")),
            (E2010, found(60.0, "EMC 2010: 3 to 2")),
            (E2013, found(60.0, "Dell 2015")),
        ],
    ),
    row(
        "log_io_percent",
        &[
            (E2003, assumed(37.5, "as Exchange 2007")),
            (E2007, found(37.5, "slipstick: three quarters of the writes")),
            (E2010, assumed(22.0, "as Exchange 2013")),
            (E2013, inferred(22.0, "Dell 2015: 4 of 20")),
        ],
    ),
    // Logs.
    row(
        "log_bytes",
        &[
            (E2003, published(5.0 * MIB, "Exchange 2003 and earlier")),
            (E2007, found(MIB, "Dell 2008")),
        ],
    ),
    row(
        "logs_per_message",
        &[
            (E2003, assumed(0.048, "the bytes of Exchange 2007 in files of 5 MB")),
            (E2007, published(0.24, "design tables: 24 at 100 messages")),
            (E2010, found(0.2, "techcommunity: 30 at 150 messages")),
            (E2013, found(0.2, "Dell 2015: 40 at 200 messages")),
        ],
    ),
    row(
        "message_body_percent",
        &[(
            E2003,
            inferred(90.0, "techcommunity: twice the message size makes 1.9 times the logs"),
        )],
    ),
    row(
        "log_days",
        &[
            (E2003, assumed(3.0, "as Exchange 2013")),
            (E2013, found(3.0, "EXDOC: three days' worth")),
        ],
    ),
    row(
        "moves_percent",
        &[(E2003, published(1.0, "calculators: 1 % of mailboxes move in a week"))],
    ),
    row(
        "peak_hour_percent",
        &[(
            E2003,
            assumed(
                15.0,
                "the busiest hour's share of a day's logs; measure log generations by the hour",
            ),
        )],
    ),
    // What a mailbox takes.
    row(
        "deleted_item_days",
        &[
            (E2003, published(7.0, "default of Exchange 2003")),
            (E2007, published(14.0, "default from Exchange 2007 on; Dell 2015 follows it")),
        ],
    ),
    row(
        "whitespace_days",
        &[(E2003, published(1.0, "calculators: the mail of a day; Dell 2015 follows it"))],
    ),
    row(
        "recovery_percent",
        &[
            (E2003, found(0.0, NOT_YET)),
            (E2010, inferred(1.2, "calculators, single item recovery; Dell 2015 follows it")),
        ],
    ),
    row(
        "calendar_percent",
        &[
            (E2003, found(0.0, NOT_YET)),
            (E2010, inferred(3.0, "calculators, calendar logging; Dell 2015 follows it")),
        ],
    ),
    row(
        "overhead_percent",
        &[
            (E2003, assumed(20.0, "as Exchange 2007")),
            (E2007, found(20.0, "Microsoft (bb738147): 120 GB become 144")),
            (E2010, published(20.0, "calculators of Exchange 2010")),
            (E2013, inferred(0.0, "Dell 2015: databases are what mailboxes take")),
        ],
    ),
    row(
        "index_percent",
        &[
            (E2003, assumed(0.0, "no index unless it is switched on")),
            (E2007, found(10.0, "Dell BP1013: 5 to 10 % of the database")),
            (E2013, inferred(20.0, "calculators; Dell 2015 follows it")),
            (E2019, published(0.0, "in the database")),
        ],
    ),
    row(
        "merge_index_percent",
        &[
            (E2003, found(0.0, NOT_YET)),
            (E2013, inferred(20.0, "room to merge one index on a volume; Dell 2015 follows it")),
            (E2019, published(0.0, "in the database")),
        ],
    ),
    row(
        "free_percent",
        &[(E2003, found(20.0, "EXDOC: 20 % of a volume stay free (Dell 2015: 5 %)"))],
    ),
    row("log_volume_bytes_min", &[(E2003, assumed(GIB, "less has no room for a test"))]),
    // Databases.
    alone(
        "database_bytes_max",
        &[
            (E2003, assumed(100.0 * GIB, "as Exchange 2007")),
            (E2007, published(100.0 * GIB, "Microsoft: without continuous replication")),
            (E2010, found(100.0 * GIB, "EMC 2010: without copies")),
            (E2013, found(200.0 * GIB, "EXDOC: without copies")),
        ],
    ),
    copied(
        "database_bytes_max",
        &[
            (E2003, assumed(100.0 * GIB, "this version has no copies of its own")),
            (E2007, published(200.0 * GIB, "Microsoft: with continuous replication")),
            (E2010, found(2.0 * TIB, "EXDOC: two copies or more")),
        ],
    ),
    row(
        "databases_max",
        &[
            (E2003, published(20.0, "four storage groups of five databases")),
            (E2007, published(50.0, "50 on a server")),
            (E2010, published(100.0, "100 on a server")),
        ],
    ),
    row(
        "maintenance_bytes_per_s",
        &[
            (E2003, found(0.0, NOT_YET)),
            (E2010, found(5.0 * MB, "Dell CML1037: 5 MB/s for each copy")),
            (E2013, found(MB, "Dell 2015: 1 MB/s for each copy")),
        ],
    ),
    // Restore.
    row(
        "restore_bytes_per_s",
        &[(
            E2003,
            assumed(100.0 * MB, "measure it: brunt run, kind = \"database-backup\" with copy_to"),
        )],
    ),
    row(
        "replay_s_per_log",
        &[
            (E2003, assumed(2.3, "five times that of a log of 1 MB")),
            (E2007, found(0.458, "EMC 2007; measure it: kind = \"soft-recovery\"")),
            (E2010, assumed(0.458, "as Exchange 2007; measure it: kind = \"soft-recovery\"")),
        ],
    ),
    row("backup_days", &[(E2003, assumed(1.0, "a backup every night"))]),
    // Memory.
    row(
        "memory_base_bytes",
        &[
            (E2003, assumed(4.0 * GIB, "all that 32 bits can use")),
            (E2007, found(2.0 * GIB, "2 GB and 5 MB a mailbox")),
            (E2010, published(4.0 * GIB, "the least that a mailbox server has")),
            (E2013, published(8.0 * GIB, "the least that a mailbox server has")),
            (E2019, published(128.0 * GIB, "the least that is recommended")),
        ],
    ),
    row(
        "memory_bytes_per_mailbox",
        &[
            (E2003, assumed(0.0, "all of it is used in any case")),
            (E2007, found(5.0 * MIB, "2 GB and 5 MB a mailbox")),
            (E2010, found(0.0, "by messages")),
        ],
    ),
    row(
        "memory_bytes_per_message",
        &[
            (E2003, found(0.0, "by mailboxes")),
            (
                E2010,
                found(
                    0.06 * MIB,
                    "design tables: database cache, 3 MB at 50, 18 MB at 300 messages",
                ),
            ),
            (E2013, published(0.24 * MIB, "design tables: 12 MB at 50 messages")),
        ],
    ),
    row(
        "memory_bytes_min",
        &[
            (E2013, published(8.0 * GIB, "the least that a mailbox server has")),
            (E2019, found(128.0 * GIB, "HealthChecker: below is too little")),
        ],
    ),
    row(
        "memory_bytes_max",
        &[
            (E2013, found(96.0 * GIB, "HealthChecker: above is too much")),
            (E2016, found(192.0 * GIB, "HealthChecker: above is too much")),
            (E2019, found(256.0 * GIB, "HealthChecker: above is too much")),
        ],
    ),
    // Processor.
    row(
        "cores_max",
        &[
            (E2013, found(24.0, "HealthChecker: over 24 cores are a problem")),
            (E2019, found(48.0, "HealthChecker: over 48 cores are a problem")),
        ],
    ),
    row(
        "active_megacycles_per_message",
        &[
            (E2010, published(0.02, "design tables: 1 at 50 messages")),
            (E2013, found(0.0585, "SizingChecker, all roles")),
        ],
    ),
    row(
        "passive_megacycles_per_message",
        &[
            (E2010, found(0.003, "Microsoft (ee712771): 15 % of the active ones")),
            (E2013, found(0.0137, "SizingChecker")),
        ],
    ),
    row(
        "copy_megacycles_percent",
        &[
            (E2003, found(0.0, NOT_YET)),
            (E2010, published(10.0, "10 % for each further copy")),
            (E2013, found(0.0, "SizingChecker has none")),
        ],
    ),
    row(
        "megacycles_per_core",
        &[
            (E2003, published(3333.0, "the baseline core of Exchange 2010")),
            (E2013, found(2123.3, "SizingChecker: 35.83 SPECint2006 a core, x 2000 / 33.75")),
        ],
    ),
    row(
        "processor_percent_max",
        &[
            (E2003, found(80.0, "Microsoft (aa995737)")),
            (E2013, found(75.0, "SizingChecker: above is red")),
        ],
    ),
    // Transport.
    row(
        "queued_percent",
        &[(E2003, inferred(50.0, "Dell 2015: with two days of queue and seven of Safety Net"))],
    ),
    row("queue_days", &[(E2003, published(2.0, "calculators"))]),
    row(
        "safety_days",
        &[
            (E2003, assumed(0.0, "the dumpster of transport is small")),
            (E2013, published(2.0, "Safety Net; 7 beside Exchange 2010")),
        ],
    ),
    row(
        "queue_copies",
        &[(E2003, found(1.0, NOT_YET)), (E2013, published(2.0, "shadow redundancy"))],
    ),
];

/// Figures that nobody knows but the user.
pub(crate) const UNKNOWN: [&str; 4] =
    ["on_disk_percent", "megacycles_per_mailbox", "server_cores", "server_memory_bytes"];

/// What is known of a version with this many copies of a database.
pub(crate) fn known(era: Era, copies: u64) -> impl Iterator<Item = (&'static str, Figure<f64>)> {
    let rows = TABLE.iter().filter(move |row| match row.copies {
        Copies::Any => true,
        Copies::One => copies == 1,
        Copies::More => copies > 1,
    });
    rows.filter_map(move |row| {
        let last = row.from.iter().rev().find(|(from, _)| *from <= era);
        last.map(|(_, figure)| (row.name, *figure))
    })
}

/// Names of everything in the table, each once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    TABLE.iter().map(|row| row.name).filter(move |name| std::mem::replace(&mut last, name) != *name)
}

/// Messages of a profile in a day, sent and received together, and the database I/Os per second of
/// its mailbox.
type ProfileRow = (f64, f64);

/// Exchange 2003: light, average, heavy, large (Microsoft, bb125019).
const PROFILES_2003: [ProfileRow; 4] = [(70.0, 0.5), (105.0, 0.75), (140.0, 1.0), (210.0, 1.5)];
/// Exchange 2007: light, average, heavy, very heavy (slipstick).
const PROFILES_2007: [ProfileRow; 4] = [(25.0, 0.11), (50.0, 0.18), (100.0, 0.32), (150.0, 0.48)];

/// The profiles of a version that has no figure for each message.
pub(crate) fn profiles(era: Era) -> Option<&'static [ProfileRow]> {
    match era {
        E2003 => Some(&PROFILES_2003),
        E2007 => Some(&PROFILES_2007),
        _ => None,
    }
}

/// I/Os per second at `messages`, between two rows of `profiles`; outside them in proportion to the
/// nearest.
pub(crate) fn io_between(profiles: &[ProfileRow], messages: f64) -> f64 {
    between(profiles.iter().copied(), messages)
}

/// Messages at `io` per second: the other way.
pub(crate) fn messages_between(profiles: &[ProfileRow], io: f64) -> f64 {
    between(profiles.iter().map(|(messages, io)| (*io, *messages)), io)
}

fn between(rows: impl Iterator<Item = (f64, f64)>, at: f64) -> f64 {
    let mut below: Option<(f64, f64)> = None;
    for (x, y) in rows {
        if at <= x {
            return match below {
                None => y * at / x,
                Some((x0, y0)) => y0 + (y - y0) * (at - x0) / (x - x0),
            };
        }
        below = Some((x, y));
    }
    let (x, y) = below.expect("profiles have rows");
    y * at / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_met_and_passed_evenly() {
        for (profiles, messages, io) in [
            (&PROFILES_2007, 100.0, 0.32),
            (&PROFILES_2007, 75.0, 0.25),
            (&PROFILES_2007, 12.5, 0.055),
            (&PROFILES_2007, 300.0, 0.96),
            (&PROFILES_2003, 140.0, 1.0),
        ] {
            assert!((io_between(profiles, messages) - io).abs() < 1e-12, "{messages}");
            assert!((messages_between(profiles, io) - messages).abs() < 1e-9, "{io}");
        }
    }

    #[test]
    fn every_version_knows_each_figure_once() {
        for version in Version::ALL {
            for copies in [1, 2] {
                let mut names: Vec<_> =
                    known(version.into(), copies).map(|(name, _)| name).collect();
                let all = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), all, "{version}");
                assert!(all > 30, "{version}: {all}");
            }
        }
    }
}
