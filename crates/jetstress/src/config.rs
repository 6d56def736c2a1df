//! Reads a `JetstressConfig.xml`.
//!
//! | element | becomes |
//! | --- | --- |
//! | `Type`, `Duration`, `Description`, `ThreadCount`, `DatabaseCopyCount` | keys of `[test]` |
//! | `MailboxCount`, `MailboxQuota`, `MailboxIops` | `[mailboxes]` |
//! | `CapacityPercentage`, `ThroughputPercentage` of a throughput test | `[throughput]` |
//! | `OperationMix`, `JetSystemParams`, maintenance | `[profile]` |
//! | the `Thresholds` of the kind of test, `MaximumLatencyErrors`, `MarginIops`, `DatabaseSpaceReserved` | `[limits]` |
//! | `LongPadLength`, `ShortPadLength` | `[records]` |
//! | `EseInstance` | `[[instance]]` |
//!
//! What brunt always does is a comment; what it cannot do is said. An element that is not known is
//! not supported either.

use brunt_report::result::{TestKind, Work};
use roxmltree::{Document, Node, ParsingOptions};

use crate::paths::PathMap;
use crate::settings::{Fate, Instance, Noted, Settings, quoted};

/// More elements than this are no configuration.
const NODES_MAX: u32 = 100_000;
/// More attributes of one element are none either: each is compared with all others.
const ATTRIBUTES_MAX: usize = 1_000;
/// Elements within elements; a configuration has six.
const DEPTH_MAX: usize = 32;

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not XML.
    #[error("line {0}: is not XML: {1}")]
    Xml(u32, String),
    /// Its root is something else.
    #[error("line 1: is not a Jetstress configuration: its root is <{0}>, not <configuration>")]
    Root(String),
    /// A value is none that Jetstress knows.
    #[error("line {line}: <{name}> is `{value}`: {what}")]
    Value {
        line: u32,
        /// The element.
        name: String,
        value: String,
        /// What it should be.
        what: String,
    },
    /// There is nothing to test.
    #[error("there is no <EseInstance> with a path of a database")]
    NoInstance,
}

/// Reads the configuration in `text`; paths of Windows are changed by `map`.
///
/// # Errors
/// [`ImportError`] for the first thing that cannot be read.
pub fn import(text: &str, map: &PathMap) -> Result<Settings, ImportError> {
    if let Some(line) = crowded(text) {
        let why = format!("an element with more than {ATTRIBUTES_MAX} attributes");
        return Err(ImportError::Xml(line, why));
    }
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| ImportError::Xml(error.pos().row, error.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "configuration" {
        return Err(ImportError::Root(root.tag_name().name().to_owned()));
    }
    let copies = find(root, "BackupToDisk").map(text_of);
    let mut reader = Reader {
        lines: text.match_indices('\n').map(|(at, _)| at).collect(),
        copies: copies.is_some_and(|copies| copies.eq_ignore_ascii_case("true")),
        depth: 0,
        map,
        settings: Settings::default(),
        kind: TestKind::Performance,
        is_capacity: false,
        finds_sessions: false,
    };
    reader.prepare(root)?;
    reader.children(root)?;
    reader.finish()
}

/// The line of the first element with too many attributes.
fn crowded(text: &str) -> Option<u32> {
    let (mut line, mut attributes) = (1, 0);
    for byte in text.bytes() {
        match byte {
            b'\n' => line += 1,
            b'<' | b'>' => attributes = 0,
            b'=' => attributes += 1,
            _ => {}
        }
        if attributes > ATTRIBUTES_MAX {
            return Some(line);
        }
    }
    None
}

struct Reader<'a> {
    /// Where lines end.
    lines: Vec<usize>,
    /// Whether backups are copied.
    copies: bool,
    depth: usize,
    map: &'a PathMap,
    settings: Settings,
    kind: TestKind,
    is_capacity: bool,
    finds_sessions: bool,
}

/// The text of an element.
fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_owned()
}

fn find<'a>(root: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    root.descendants().find(|node| node.has_tag_name(name))
}

impl<'a> Reader<'a> {
    fn line(&self, node: Node<'_, '_>) -> u32 {
        let before = self.lines.partition_point(|end| *end < node.range().start);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    fn wrong(&self, node: Node<'_, '_>, what: &str) -> ImportError {
        ImportError::Value {
            line: self.line(node),
            name: node.tag_name().name().to_owned(),
            value: text_of(node),
            what: what.to_owned(),
        }
    }

    fn note(&mut self, node: Node<'_, '_>, attribute: &str, value: &str, fate: Fate) {
        let name = node.tag_name().name();
        let name = match attribute {
            "" => name.to_owned(),
            attribute => format!("{name} {attribute}"),
        };
        let line = self.line(node);
        self.settings.noted.push(Noted { line, name, value: value.to_owned(), fate });
    }

    /// What other elements depend on.
    fn prepare(&mut self, root: Node<'a, 'a>) -> Result<(), ImportError> {
        if let Some(node) = find(root, "Type") {
            self.kind = match text_of(node).as_str() {
                "Performance" => TestKind::Performance,
                "Stress" => TestKind::Stress,
                "DatabaseBackup" | "StreamingBackup" => TestKind::DatabaseBackup,
                "SoftRecovery" => TestKind::SoftRecovery,
                _ => {
                    let what = "it can be Performance, Stress, DatabaseBackup or SoftRecovery";
                    return Err(self.wrong(node, what));
                }
            };
        }
        if let Some(node) = find(root, "DatabaseSizing") {
            self.is_capacity = text_of(node) == "Capacity";
        }
        self.settings.set_kind(self.kind);
        // Jetstress compares with the target itself.
        self.settings.set("test", "headroom_percent", "0".to_owned());
        let version = find(root, "EseVersionGenerated").map(text_of);
        let version = version.or(find(root, "JetstressVersionGenerated").map(text_of));
        let profile = version_of(version.as_deref().unwrap_or_default());
        self.settings.set("profile", "version", quoted(profile));
        Ok(())
    }

    fn children(&mut self, node: Node<'a, 'a>) -> Result<(), ImportError> {
        self.depth += 1;
        for child in node.children().filter(Node::is_element) {
            if self.depth > DEPTH_MAX {
                let what = format!("more than {DEPTH_MAX} elements lie in one another");
                return Err(self.wrong(child, &what));
            }
            self.element(child)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn element(&mut self, node: Node<'a, 'a>) -> Result<(), ImportError> {
        let name = node.tag_name().name();
        let value = text_of(node);
        let fate = match name {
            "TestDesignInfo" | "ExchangeProfile" | "JetSystemParams" | "EseInstances" => {
                return self.children(node);
            }
            "EseInstance" => return self.instance(node),
            "OperationMix" => return self.mix(node),
            "Thresholds" => return self.thresholds(node),
            "Type" => keys("test.kind"),
            "Duration" => {
                let Some(seconds) = seconds_of(&value) else {
                    return Err(self.wrong(node, "a duration looks like P0Y0M0DT2H0M0S"));
                };
                self.settings.set("test", "duration", quoted(&format!("{seconds}s")));
                keys("test.duration")
            }
            "Description" => {
                self.settings.set("", "description", quoted(&value));
                keys("description")
            }
            "ThreadCount" => match self.number(node, 1, 100_000) {
                Ok(count) => {
                    self.settings.set("test", "sessions", count.to_string());
                    keys("test.sessions")
                }
                // Jetstress writes 0 where it is to find the number itself.
                Err(_) if value == "0" => {
                    self.finds_sessions = true;
                    comment("found by tuning")
                }
                Err(error) => return Err(error),
            },
            "SuppressTuning" => {
                let tune = !self.switch(node)? && self.kind.has_limits();
                self.settings.set("test", "tune", tune.to_string());
                keys("test.tune")
            }
            "DatabaseCopyCount" => self.whole(node, "test", "copies", 1, 16)?,
            "LogFilesToReplay" => self.whole(node, "test", "logs", 1, 1_000_000)?,
            "TransPerSec" => match self.decimal(node)? {
                rate if rate > 0.0 => {
                    self.settings.set("test", "operations_per_s", format!("{rate:?}"));
                    keys("test.operations_per_s")
                }
                _ => comment("not paced"),
            },
            "MailboxCount" => self.mailboxes(node, "count", |count| format!("{count:.0}"))?,
            "MailboxQuota" => {
                self.mailboxes(node, "quota", |quota| quoted(&format!("{quota} MiB")))?
            }
            "MailboxIops" => self.mailboxes(node, "io_per_s", |rate| format!("{rate:?}"))?,
            "CapacityPercentage" if self.is_capacity => {
                self.whole(node, "throughput", "capacity_percent", 1, 100)?
            }
            "ThroughputPercentage" if self.is_capacity => {
                self.whole(node, "throughput", "throughput_percent", 1, 100)?
            }
            "CapacityPercentage" | "ThroughputPercentage" => {
                comment("not used: mailboxes size the databases and set the target")
            }
            "DatabaseSizing" => match value.as_str() {
                "Profile" => keys("[mailboxes]"),
                "Capacity" => keys("[throughput]"),
                _ => return Err(self.wrong(node, "it can be Profile or Capacity")),
            },
            "MarginIops" => {
                let percent = 100.0 * self.decimal(node)?;
                self.settings.set("limits", "margin_percent", format!("{percent:.0}"));
                keys("limits.margin_percent")
            }
            "MaximumLatencyErrors" => self.whole(node, "limits", "excursions", 0, 1_000_000)?,
            "DatabaseSpaceReserved" => self.whole(node, "limits", "reserve_percent", 0, 1_000)?,
            "LongPadLength" => self.bytes(node, "records", "long", 1)?,
            "ShortPadLength" => self.bytes(node, "records", "short", 1)?,
            "DatabasePageSize" => self.bytes(node, "profile", "page", 1)?,
            "LogFileSize" => self.bytes(node, "profile", "log_file", 1_024)?,
            "CircularLog" => {
                let circular = self.number(node, 0, 1)? == 1;
                self.settings.set("profile", "circular_logging", circular.to_string());
                keys("profile.circular_logging")
            }
            "DBMThrottling" => {
                let millis = self.number(node, 0, 3_600_000)?;
                self.settings.set("profile", "maintenance_sleep", quoted(&format!("{millis}ms")));
                keys("profile.maintenance_sleep")
            }
            "RunDatabaseMaintenancePerformance" => self.maintenance(node, false)?,
            "RunDatabaseMaintenanceSoftRecovery" => self.maintenance(node, true)?,
            "BackupToDisk" => match (self.switch(node)?, self.kind.work()) {
                (true, Work::BackUp) => keys("test.copy_to, from DatabaseBackupPath"),
                (true, Work::Load | Work::Replay) => comment("only a backup test copies databases"),
                (false, _) => comment("databases are read and not copied"),
            },
            "DatabaseSource" if value == "New" => comment("brunt run --new makes databases anew"),
            "DatabaseSource" => comment("databases that are there are used when they fit"),
            "JetstressVersionGenerated" | "EseVersionGenerated" => {
                comment("decides profile.version")
            }
            "VerifyChecksum" => match self.switch(node)? {
                true => comment("every page, log and record is always verified"),
                false => not_supported("every page, log and record is always verified"),
            },
            "UseEseCounters" => match self.switch(node)? {
                true => comment("latencies are those of the engine"),
                false => {
                    comment("latencies are those of the engine; counters of disks are beside them")
                }
            },
            "BinaryPerfLog" => comment("counters.csv and latency.hlog are always written"),
            "PreloadJetCache" => comment("warm-up lasts until the cache is full"),
            "LogFilesToChecksum" => comment("all logs are verified"),
            "OutputPath" => comment("brunt run --out FOLDER"),
            "LogInterval" if value == "15000" => comment("samples are 15 s long"),
            "LogInterval" | "LogInterval2" => not_supported("samples are 15 s long"),
            "MultiHostBreak" => match self.switch(node)? {
                true => not_supported("hosts start together by brunt run --start-at TIME"),
                false => comment("hosts do not wait for each other"),
            },
            "ContinueOnErrors" => match self.switch(node)? {
                true => not_supported("an error of I/O fails the test, which goes on where it can"),
                false => comment("an error of I/O fails the test"),
            },
            "ScanPercentage" if value == "0" => comment("no scans"),
            "SluggishSessions" if value == "1" => comment("sessions are not slowed down"),
            "SluggishSessions" => {
                not_supported("`scheduling` slows sessions down, with another meaning")
            }
            "RestoreBackupPath" if value.is_empty() => comment("no databases are restored"),
            "MaximumChecksumBuffers" | "MaximumChecksumThreads" => {
                not_supported("verification reads with a depth of its own")
            }
            "MaxVerPages" => not_supported("the version store has no limit in pages"),
            "RetrieveLVOnRead" | "RetrieveLVOnScan" | "PrereadOnRead" | "PrereadOnScan"
            | "UpdateLV" | "ScanPercentage" | "BatchRecords" | "BatchUpdates"
            | "Bulky1Percentage" => not_supported("fixed by the Exchange version"),
            "RestoreBackupPath" => not_supported("databases are not restored before a test"),
            _ => not_supported("is not known"),
        };
        self.note(node, "", &value, fate);
        Ok(())
    }

    fn number(&self, node: Node<'_, '_>, least: u64, most: u64) -> Result<u64, ImportError> {
        let number = text_of(node).parse::<u64>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            self.wrong(node, &format!("a whole number from {least} to {most} is wanted"))
        })
    }

    fn decimal(&self, node: Node<'_, '_>) -> Result<f64, ImportError> {
        let number = text_of(node).parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| {
            let with_point = text_of(node).replace(',', ".");
            let is_number = with_point.parse::<f64>().is_ok();
            let what = match is_number {
                true => format!("a number is wanted, with a decimal point: {with_point}"),
                false => "a number is wanted".to_owned(),
            };
            self.wrong(node, &what)
        })
    }

    fn switch(&self, node: Node<'_, '_>) -> Result<bool, ImportError> {
        match text_of(node).to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(self.wrong(node, "it can be true or false")),
        }
    }

    /// A whole number that is a key as it is.
    fn whole(
        &mut self,
        node: Node<'_, '_>,
        table: &'static str,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Fate, ImportError> {
        let number = self.number(node, least, most)?;
        self.settings.set(table, key, number.to_string());
        Ok(keys(&format!("{table}.{key}")))
    }

    /// A size in units of `unit` bytes.
    fn bytes(
        &mut self,
        node: Node<'_, '_>,
        table: &'static str,
        key: &'static str,
        unit: u64,
    ) -> Result<Fate, ImportError> {
        let number = self.number(node, 1, 1 << 30)?;
        self.settings.set(table, key, quoted(&format!("{} B", number * unit)));
        Ok(keys(&format!("{table}.{key}")))
    }

    fn mailboxes(
        &mut self,
        node: Node<'_, '_>,
        key: &'static str,
        shown: fn(f64) -> String,
    ) -> Result<Fate, ImportError> {
        if self.is_capacity {
            return Ok(comment("not used: the capacity sizes the databases"));
        }
        let number = self.decimal(node)?;
        if number <= 0.0 {
            return Err(self.wrong(node, "a number above zero is wanted"));
        }
        self.settings.set("mailboxes", key, shown(number));
        Ok(keys(&format!("mailboxes.{key}")))
    }

    /// Whether databases are scanned, in tests of recovery or in all others.
    fn maintenance(&mut self, node: Node<'_, '_>, of_recovery: bool) -> Result<Fate, ImportError> {
        let runs = self.switch(node)?;
        if of_recovery != (self.kind.work() == Work::Replay) {
            return Ok(comment("not used in this kind of test"));
        }
        self.settings.set("profile", "background_maintenance", runs.to_string());
        Ok(keys("profile.background_maintenance"))
    }

    fn mix(&mut self, node: Node<'a, 'a>) -> Result<(), ImportError> {
        let [mut inserts, mut deletes, mut replaces] = [0; 3];
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let key = match name {
                "InsertOps" => "insert_percent",
                "DeleteOps" => "delete_percent",
                "ReplaceOps" => "replace_percent",
                "LazyCommits" => "lazy_percent",
                "LockOps" => {
                    self.note(node, name, value, comment("the mix is never tuned"));
                    continue;
                }
                _ => {
                    self.note(node, name, value, not_supported("is not known"));
                    continue;
                }
            };
            let percent = value.trim().parse::<u64>().ok().filter(|percent| *percent <= 100);
            let Some(percent) = percent else {
                return Err(ImportError::Value {
                    line: self.line(node),
                    name: format!("OperationMix {name}"),
                    value: value.to_owned(),
                    what: "a whole number from 0 to 100 is wanted".to_owned(),
                });
            };
            match name {
                "InsertOps" => inserts = percent,
                "DeleteOps" => deletes = percent,
                "ReplaceOps" => replaces = percent,
                _ => {}
            }
            self.settings.set("profile", key, percent.to_string());
            self.note(node, name, value, keys(&format!("profile.{key}")));
        }
        let (sum, line) = (inserts + deletes + replaces, self.line(node));
        if sum > 100 {
            return Err(ImportError::Value {
                line,
                name: "OperationMix".to_owned(),
                value: format!("{inserts}, {deletes} and {replaces} %"),
                what: format!(
                    "inserts, deletes and replaces add up to {sum} %, and 100 % is all there is"
                ),
            });
        }
        if deletes > inserts {
            let warning = format!(
                "<OperationMix> has more deletes ({deletes} %) than inserts ({inserts} %): the databases shrink, which no mail server's do"
            );
            self.settings.warnings.push((line, warning));
        }
        Ok(())
    }

    /// The limits of this kind of test: those that name it, or those that name none.
    fn thresholds(&mut self, node: Node<'a, 'a>) -> Result<(), ImportError> {
        let named = node.attribute("TestRunTypes").unwrap_or_default();
        let mut kinds = named.split([',', ' ', ';']).filter(|kind| !kind.is_empty());
        let is_stress = kinds.any(|kind| kind.eq_ignore_ascii_case("Stress"));
        let name = node.attribute("Name").unwrap_or_default().to_owned();
        let applies = is_stress == (self.kind == TestKind::Stress);
        for child in node.children().filter(Node::is_element) {
            self.threshold(child.tag_name().name(), &text_of(child), child, &name, applies)?;
        }
        for attribute in node.attributes() {
            if !["Name", "TestRunTypes"].contains(&attribute.name()) {
                self.threshold(attribute.name(), attribute.value(), node, &name, applies)?;
            }
        }
        Ok(())
    }

    fn threshold(
        &mut self,
        what: &str,
        value: &str,
        node: Node<'a, 'a>,
        name: &str,
        applies: bool,
    ) -> Result<(), ImportError> {
        let key = match what {
            "AverageDatabaseReadLatency" => "read_average",
            "MaximumDatabaseReadLatency" => "read_sample",
            "AverageLogWriteLatency" => "log_average",
            "MaximumLogWriteLatency" => "log_sample",
            _ => {
                self.note(node, what, value, not_supported("is not known"));
                return Ok(());
            }
        };
        let millis = value.trim().parse::<u64>().ok().filter(|millis| *millis > 0);
        let Some(millis) = millis else {
            return Err(ImportError::Value {
                line: self.line(node),
                name: format!("Thresholds {what}"),
                value: value.to_owned(),
                what: "a whole number of milliseconds is wanted".to_owned(),
            });
        };
        let fate = match applies {
            true => {
                self.settings.set("limits", key, quoted(&format!("{millis}ms")));
                keys(&format!("limits.{key}"))
            }
            false => comment("of other kinds of tests"),
        };
        self.note(node, &format!("{name} {what}"), value, fate);
        Ok(())
    }

    fn instance(&mut self, node: Node<'a, 'a>) -> Result<(), ImportError> {
        let mut instance = Instance::default();
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let fate = match (name, value) {
                ("IopsBias", "1") => comment("instances share the load evenly"),
                ("IopsBias", _) => not_supported("instances share the load evenly"),
                _ => not_supported("is not known"),
            };
            self.note(node, name, value, fate);
        }
        for child in node.descendants().filter(Node::is_element).skip(1) {
            let value = text_of(child);
            match child.tag_name().name() {
                "DatabasePaths" => {}
                "Path" if !value.is_empty() => {
                    let path = self.here(child, &value)?;
                    instance.databases.push(path);
                    self.note(child, "", &value, keys("databases"));
                }
                "LogPath" if !value.is_empty() => {
                    instance.log = self.here(child, &value)?;
                    self.note(child, "", &value, keys("log"));
                }
                "DatabaseBackupPath" if value.is_empty() => {
                    self.note(child, "", &value, comment("no backup"));
                }
                "DatabaseBackupPath" => {
                    let is_first = self.settings.get("test", "copy_to").is_none();
                    let fate = match (self.kind.work(), self.copies, is_first) {
                        (Work::BackUp, true, true) => {
                            let path = self.here(child, &value)?;
                            self.settings.set("test", "copy_to", quoted(&path));
                            keys("test.copy_to")
                        }
                        (Work::BackUp, true, false) => {
                            not_supported("all backups go to one folder")
                        }
                        _ => comment("nothing is backed up to it"),
                    };
                    self.note(child, "", &value, fate);
                }
                _ => self.note(child, "", &value, not_supported("is not known")),
            }
        }
        if !instance.databases.is_empty() {
            self.settings.instances.push(instance);
        }
        Ok(())
    }

    fn here(&mut self, node: Node<'_, '_>, path: &str) -> Result<String, ImportError> {
        let Some((here, is_mapped)) = self.map.here(path) else {
            return Err(self.wrong(node, "a path with `..` is not followed"));
        };
        self.settings.paths.push(path.to_owned());
        if !is_mapped {
            self.settings.unmapped.push(path.to_owned());
        }
        Ok(here)
    }

    fn finish(mut self) -> Result<Settings, ImportError> {
        if self.settings.instances.is_empty() {
            return Err(ImportError::NoInstance);
        }
        for instance in &mut self.settings.instances {
            if instance.log.is_empty() {
                // Jetstress, too, puts logs beside the databases when nothing is said.
                instance.log.clone_from(&instance.databases[0]);
            }
        }
        if self.finds_sessions {
            self.settings.find_sessions();
        }
        Ok(self.settings)
    }
}

fn keys(keys: &str) -> Fate {
    Fate::Keys(keys.to_owned())
}

fn comment(why: &str) -> Fate {
    Fate::Comment(why.to_owned())
}

fn not_supported(why: &str) -> Fate {
    Fate::NotSupported(why.to_owned())
}

/// The profile of an engine's version: 8 is Exchange 2007, 14 is 2010, 15.0 is 2013, 15.1 is 2016,
/// 15.2 is 2019.
fn version_of(version: &str) -> &'static str {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    match (parts.next(), parts.next()) {
        (Some(6), _) => "exchange-2003",
        (Some(8), _) => "exchange-2007",
        (Some(14), _) => "exchange-2010",
        (Some(15), Some(1)) => "exchange-2016",
        (Some(15), Some(2)) => "exchange-2019",
        _ => "exchange-2013",
    }
}

/// The seconds of `P0Y0M1DT2H30M0S`; years and months are not used in tests.
pub(crate) fn seconds_of(duration: &str) -> Option<u64> {
    let rest = duration.trim().strip_prefix('P')?;
    let (date, time) = rest.split_once('T').unwrap_or((rest, ""));
    let days = parts_of(date, &[('Y', 365 * 86_400), ('M', 30 * 86_400), ('D', 86_400)])?;
    let seconds = parts_of(time, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    days.checked_add(seconds)
}

/// The sum of parts like `2H30M0S`, each a number and its letter.
fn parts_of(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let (mut sum, mut digits) = (0_u64, String::new());
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let (_, unit) = units.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(&c))?;
        let number = std::mem::take(&mut digits).parse::<u64>().ok()?;
        sum = sum.checked_add(number.checked_mul(*unit)?)?;
    }
    digits.is_empty().then_some(sum)
}
