//! Loop devices: storage whose I/O the operating system may answer from its cache, and a device
//! that two use at once.
//!
//! ```text
//!   /mnt  ext4  ->  loop0  ->  disk.img  ->  the page cache, or not  ->  vda
//! ```
//!
//! O_DIRECT on the upper file system is kept there and lost below, where nothing of it can be seen
//! but that the drive was not read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use brunt_qualify::rules::RuleId;
use brunt_world_real::facts;
use serde_json::Value;
use tempfile::TempDir;

use super::{TRIES, brunt, fails, reasons, result_of, rule, scenario, skip, turn};

const SIZE: u64 = 512 << 20;

/// A file system on a loop device; both go with it.
struct Volume {
    /// Where the file of the device lies, and the mount point.
    home: TempDir,
    device: PathBuf,
    is_mounted: bool,
}

impl Volume {
    /// A volume whose file's I/O goes through the page cache, or not; why there is none otherwise.
    fn new(is_direct: bool) -> Result<Self, String> {
        // Where the build is there is a disk; the folder for temporary files is often in memory.
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
        let below = facts::place(home.path()).map_err(|e| e.to_string())?.device;
        below.ok_or("the build is not on a block device")?;
        let image = home.path().join("disk.img");
        let file = File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(SIZE).map_err(|e| e.to_string())?;
        said("mkfs.ext4", &["-q".as_ref(), &image])?;
        let direct = format!("--direct-io={}", if is_direct { "on" } else { "off" });
        let device = said("losetup", &["-f".as_ref(), "--show".as_ref(), direct.as_ref(), &image])?;
        let mut volume = Self { home, device: PathBuf::from(device.trim()), is_mounted: false };
        fs::create_dir(volume.mount()).map_err(|e| e.to_string())?;
        said("mount", &[&volume.device, &volume.mount()])?;
        volume.is_mounted = true;
        Ok(volume)
    }

    fn mount(&self) -> PathBuf {
        self.home.path().join("mnt")
    }

    /// The result of a short test on it.
    fn run(&self, load: &str) -> Value {
        let text = scenario(&self.mount().join("scratch"), load);
        result_of(brunt(), self.home.path(), &text)
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = said("umount", &[&self.mount()]);
        }
        let _ = said("losetup", &["-d".as_ref(), &self.device]);
    }
}

/// Somebody else, who reads a device over and over until this is dropped.
struct Others {
    go_on: Arc<AtomicBool>,
    reading: Option<JoinHandle<()>>,
}

impl Others {
    fn reading(device: &Path) -> Self {
        let go_on = Arc::new(AtomicBool::new(true));
        let (own, device) = (Arc::clone(&go_on), device.display().to_string());
        let read = move || {
            let input = format!("if={device}");
            let dd = [&input, "of=/dev/null", "bs=1M", "iflag=direct"];
            while own.load(Ordering::Relaxed) {
                said("dd", &dd.map(Path::new)).unwrap();
            }
        };
        Self { go_on, reading: Some(std::thread::spawn(read)) }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.go_on.store(false, Ordering::Relaxed);
        let reading = self.reading.take().map(JoinHandle::join);
        assert!(reading.is_some_and(|ended| ended.is_ok()));
    }
}

/// Whether others read on the drive under a test that has ended: what they read may look like its
/// own reads.
fn others_read(result: &Value) -> bool {
    let stack = &result["storage"]["servers"][0]["details"]["backend"]["volumes"][0]["stack"];
    let mut devices = stack.as_array().unwrap().iter();
    let drive = devices.find(|device| device["is_leaf"] == true).unwrap();
    let read = || {
        let counters = facts::disk_counters(drive["name"].as_str().unwrap()).unwrap();
        counters.unwrap().read_bytes.get()
    };
    let before = read();
    (0..10).any(|_| {
        std::thread::sleep(Duration::from_secs(1));
        read() - before > 1 << 20
    })
}

/// The output of a command, or why it failed.
fn said(program: &str, arguments: &[&Path]) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', " ");
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{program}: {}", text(&output.stderr))),
    }
}

#[test]
fn a_cache_that_answers_instead_of_the_device_makes_a_test_invalid() {
    const NAME: &str = "a_cache_that_answers_instead_of_the_device_makes_a_test_invalid";
    let _turn = turn();
    let volume = match Volume::new(false) {
        Ok(volume) => volume,
        Err(why) => return skip(NAME, &why),
    };
    // As fast as it goes, and from memory that is fast: what others read on the drive meanwhile is
    // little beside it, mostly.
    let run = || volume.run("sessions = 4");
    let mut results = std::iter::repeat_with(run).take(TRIES);
    let is_ours = |result: &Value| {
        rule(result, RuleId::DeviceAgrees)["outcome"] == "failed" || !others_read(result)
    };
    let Some(result) = results.find(is_ours) else {
        return skip(NAME, "others read the drive all the time");
    };
    fails(&result, RuleId::DeviceAgrees, "failed");
    // On a busy machine a limit may be exceeded besides, and that is a failure unless the machine
    // held the program back.
    let mut rules = result["rules"].as_array().unwrap().iter();
    let is_failed = |rule: &Value| rule["outcome"] == "failed" && rule["group"] != "fair test";
    let is_failure = result["verdict"] == "fail" && rules.any(is_failed);
    assert!(is_failure || result["verdict"] == "invalid", "{}", result["verdict"]);
    for reason in ["did not come from the devices", "I/O through the page cache"] {
        assert!(reasons(&result).contains(reason), "{}", reasons(&result));
    }
    let stack = &result["storage"]["servers"][0]["details"]["backend"]["volumes"][0]["stack"];
    let made = stack[0]["made"].as_str().unwrap();
    assert!(made.ends_with("disk.img through the page cache"), "{stack:#}");
    assert_eq!(stack[0]["is_leaf"], false);
}

#[test]
fn others_who_read_the_device_are_noticed() {
    let _turn = turn();
    let volume = match Volume::new(true) {
        Ok(volume) => volume,
        Err(why) => return skip("others_who_read_the_device_are_noticed", &why),
    };
    let others = Others::reading(&volume.device);
    let result = volume.run("sessions = 4\noperations_per_s = 400");
    drop(others);
    let agrees = fails(&result, RuleId::DeviceAgrees, "advisory");
    let remark = agrees["remark"].as_str().unwrap();
    assert!(remark.starts_with("other programs read there too"), "{remark}");
    assert!(agrees["measured"].as_f64() > Some(110.0), "{agrees}");
    assert_eq!(result["storage"]["servers"][0]["details"]["backend"]["direct"], true);
}
