//! What the kernel says about the tested devices while a run goes on.
//!
//! ```text
//!   /dev/kmsg   ....old messages....|....messages of the run....|
//!                                   ^ listen: to the end        ^ heard: all that came since
//! ```
//!
//! The file is opened at the beginning and read at the end, so nothing has to be told apart by
//! times. Each message has a level; those that name a tested device, its partitions or its
//! controller count. Reading needs privileges on most systems: without them the log is *not
//! measured*, but errors that a file system has counted meanwhile are: one that became read-only
//! did so for them, and not because a user mounted it so. Format:
//! `Documentation/ABI/testing/dev-kmsg` of Linux.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use brunt_qualify::rules::SystemLog;
use brunt_world_real::facts;
use rustix::fs::OFlags;

const LOG: &str = "/dev/kmsg";
/// Longer than any message with its properties.
const MESSAGE_MAX: usize = 16 << 10;
/// Levels of messages: 3 is *error*, 4 is *warning*.
const ERROR: u32 = 3;
const WARNING: u32 = 4;
/// Messages that are read at most: a kernel that has nothing else to do can write for ever.
const MESSAGES_MAX: u32 = 1_000_000;

/// Listens to the kernel.
#[derive(Debug)]
pub struct Listening {
    devices: Vec<String>,
    /// Mount points without a device.
    unheard: Vec<String>,
    log: io::Result<File>,
    /// Errors that file systems had counted, in the order of `devices`.
    counted: Vec<u64>,
}

impl Listening {
    /// Begins to listen for messages about these devices; of the volumes at `unheard` the kernel
    /// says nothing.
    pub fn begin(devices: Vec<String>, unheard: Vec<String>) -> Self {
        let counted = counted(&devices);
        Self { devices, unheard, log: opened(), counted }
    }

    /// What was said since.
    pub fn heard(&mut self) -> SystemLog {
        let now = counted(&self.devices);
        let devices = &self.devices;
        let since = now.iter().zip(&self.counted).map(|(now, then)| now.saturating_sub(*then));
        let counted: Vec<(&String, u64)> = devices.iter().zip(since).collect();
        let heard = match &mut self.log {
            _ if devices.is_empty() => no_device("the volumes"),
            Err(error) => not_measured(&format!(
                "{LOG} cannot be read: {error}; try `journalctl -k`, or run as root"
            )),
            Ok(log) => match messages(log) {
                Ok(messages) => {
                    let heard = judged(devices, messages.iter().map(String::as_str));
                    whole(heard, &self.unheard)
                }
                Err(error) => not_measured(&format!("{LOG}: {error}")),
            },
        };
        with_counted(heard, &counted)
    }
}

fn counted(devices: &[String]) -> Vec<u64> {
    devices.iter().map(|device| facts::file_system_errors(device)).collect()
}

/// What was heard; where that is no error, those that file systems on `counted` devices counted.
fn with_counted(heard: SystemLog, counted: &[(&String, u64)]) -> SystemLog {
    match counted.iter().find(|(_, errors)| *errors > 0) {
        Some((device, errors)) if heard.errors.unwrap_or(0) == 0 => SystemLog {
            errors: Some(*errors),
            remark: format!("counted by the file system on {device}"),
            ..heard
        },
        _ => heard,
    }
}

/// What was heard, unless it is too little to say that there were no errors.
fn whole(heard: SystemLog, unheard: &[String]) -> SystemLog {
    match unheard.first() {
        Some(mount) if heard.errors == Some(0) => no_device(mount),
        _ => heard,
    }
}

fn no_device(under: &str) -> SystemLog {
    not_measured(&format!("no device is known under {under}: what answers is not known"))
}

fn not_measured(why: &str) -> SystemLog {
    SystemLog { remark: why.to_owned(), ..SystemLog::default() }
}

fn opened() -> io::Result<File> {
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let mut log = options.read(true).custom_flags(no_wait).open(LOG)?;
    log.seek(SeekFrom::End(0))?;
    Ok(log)
}

/// Everything up to the end: one message for each read.
fn messages(log: &mut impl Read) -> io::Result<Vec<String>> {
    let mut all = Vec::new();
    let mut message = vec![0; MESSAGE_MAX];
    for _ in 0..MESSAGES_MAX {
        match log.read(&mut message) {
            Ok(0) => break,
            Ok(length) => all.push(String::from_utf8_lossy(&message[..length]).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // Messages were overwritten before they were read; the next read has the oldest that is
            // left.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                all.push("4,0,0,-;brunt: messages of the kernel were overwritten".to_owned());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn judged<'m>(devices: &[String], messages: impl Iterator<Item = &'m str>) -> SystemLog {
    let mut found = SystemLog { errors: Some(0), ..SystemLog::default() };
    let mut warning = String::new();
    for message in messages {
        let Some((level, text)) = parsed(message) else {
            continue;
        };
        let is_lost = text.starts_with("brunt: ");
        if level > WARNING || !is_lost && !devices.iter().any(|device| names(text, device)) {
            continue;
        }
        if level <= ERROR {
            if found.errors == Some(0) {
                text.clone_into(&mut found.remark);
            }
            found.errors = found.errors.map(|errors| errors + 1);
        } else {
            if warning.is_empty() {
                text.clone_into(&mut warning);
            }
            found.warnings += 1;
        }
    }
    if found.errors == Some(0) {
        found.remark = warning;
    }
    found
}

/// Level and text of a message: `6,339,5140900,-;text`, and properties in further lines.
fn parsed(message: &str) -> Option<(u32, &str)> {
    let (head, text) = message.split_once(';')?;
    let priority = head.split(',').next()?.parse::<u32>().ok()?;
    // Above the three bits of the level is the source of the message.
    Some((priority & 7, text.lines().next().unwrap_or_default()))
}

/// Whether `text` names `device`, one of its partitions, or its NVMe controller.
fn names(text: &str, device: &str) -> bool {
    let controller = facts::controller_of(device);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut words = words.map(|word| word.trim_matches('-'));
    // An address has no word of its own.
    device.contains(['.', ':']) && text.contains(device)
        || words.any(|word| {
            let Some(rest) = word.strip_prefix(device) else {
                return controller.as_deref() == Some(word);
            };
            let partition = match device.ends_with(|c: char| c.is_ascii_digit()) {
                true => rest.strip_prefix('p').unwrap_or("-"),
                false => rest,
            };
            let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
            rest.is_empty() || is_number(partition)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_with_its_partitions_and_no_other() {
        for (text, device, is_named) in [
            ("I/O error, dev sda, sector 8", "sda", true),
            ("EXT4-fs error (device sda1): x", "sda", true),
            ("Buffer I/O error on dev sdab, x", "sda", false),
            ("nvme nvme0: I/O 7 QID 5 timeout", "nvme0n1", true),
            ("nvme nvme0: x", "nvme01n1", false),
            ("blk: nvme0n1p2: x", "nvme0n1", true),
            ("nvme nvme3: starting error recovery", "nvme2c3n1", true),
            ("nvme nvme3: starting error recovery", "nvme3", true),
            ("nvme nvme3: starting error recovery", "nvme2n1", false),
            ("block nvme2n1: no usable path", "nvme2n1", true),
            ("nvme nvme0: x", "nvme0c3n1", false),
            ("XFS (dm-3): log I/O error", "dm-3", true),
            ("XFS (dm-31): log I/O error", "dm-3", false),
            ("md/raid1:md127: Disk failure", "md127", true),
            ("nfs: server mail-nas not responding, still trying", "mail-nas", true),
            ("nfs: server 10.0.0.5 not responding, still trying", "10.0.0.5", true),
        ] {
            assert_eq!(names(text, device), is_named, "{text} {device}");
        }
    }

    #[test]
    fn levels_decide_and_other_devices_do_not_count() {
        let heard = |messages: &[&str]| judged(&["vda".to_owned()], messages.iter().copied());
        let quiet = heard(&["6,1,5,-;vda: vda1", "3,2,6,-;I/O error, dev vdb, sector 0", "junk"]);
        assert_eq!((quiet.errors, quiet.warnings), (Some(0), 0));
        let loud = heard(&[
            "4,1,5,-;vda: slow",
            "11,2,6,-;I/O error, dev vda, sector 0\n SUBSYSTEM=block",
            "2,3,7,-;EXT4-fs error (device vda1): bad",
        ]);
        assert_eq!((loud.errors, loud.warnings), (Some(2), 1));
        assert_eq!(loud.remark, "I/O error, dev vda, sector 0");
        let warned = heard(&["4,1,5,-;vda: slow"]);
        assert_eq!((warned.errors, warned.remark.as_str()), (Some(0), "vda: slow"));
    }

    #[test]
    fn a_volume_without_a_device_leaves_the_log_open() {
        let log = |errors| SystemLog { errors, ..SystemLog::default() };
        let mount = ["/srv".to_owned()];
        assert_eq!(whole(log(Some(0)), &[]), log(Some(0)));
        assert_eq!(whole(log(Some(2)), &mount), log(Some(2)));
        let open = whole(log(Some(0)), &mount);
        assert_eq!(open.errors, None);
        assert_eq!(open.remark, "no device is known under /srv: what answers is not known");
    }

    #[test]
    fn what_a_file_system_counted_is_an_error_where_nothing_is_heard() {
        let vda = "vda".to_owned();
        let of = |heard: SystemLog, errors| with_counted(heard, &[(&vda, errors)]);
        let closed = not_measured("/dev/kmsg cannot be read");
        assert_eq!(of(closed.clone(), 0), closed);
        let found = of(closed, 3);
        assert_eq!(found.errors, Some(3));
        assert_eq!(found.remark, "counted by the file system on vda");
        let loud = SystemLog { errors: Some(1), ..SystemLog::default() };
        assert_eq!(of(loud.clone(), 3), loud);
    }

    /// A log that gives one message for each read, and then has no more for now.
    struct Fed(Vec<io::Result<&'static str>>);

    impl Read for Fed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => {
                    let message = self.0.remove(0)?;
                    buffer[..message.len()].copy_from_slice(message.as_bytes());
                    Ok(message.len())
                }
            }
        }
    }

    #[test]
    fn overwritten_messages_are_a_warning() {
        let mut log = Fed(vec![Err(io::ErrorKind::BrokenPipe.into()), Ok("6,1,5,-;vda: fine")]);
        let all = messages(&mut log).unwrap();
        let found = judged(&["vda".to_owned()], all.iter().map(String::as_str));
        assert_eq!((found.errors, found.warnings), (Some(0), 1));
    }

    #[test]
    fn without_devices_nothing_is_measured() {
        let log = Listening::begin(Vec::new(), Vec::new()).heard();
        assert_eq!(log.errors, None);
        let closed = Listening {
            unheard: Vec::new(),
            devices: vec!["no-such-device".to_owned()],
            log: Err(io::Error::other("closed")),
            counted: vec![0],
        }
        .heard();
        assert_eq!(closed.errors, None);
        assert!(closed.remark.starts_with("/dev/kmsg cannot be read: closed"), "{closed:?}");
    }
}
