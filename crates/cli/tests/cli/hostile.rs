//! What other people and accidents put in the program's way: pipes, devices, full disks, odd names.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::program::{brunt, said};

/// A run that was made up: its report can be made, and it took no time.
const RESULT: &str = include_str!("../../../report/tests/report/result_v2.json");

fn run_folder(home: &Path) -> std::path::PathBuf {
    let folder = home.join("run");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("result.json"), RESULT).unwrap();
    folder
}

#[test]
fn data_that_does_not_arrive_is_an_error_of_every_command() {
    let home = tempfile::tempdir().unwrap();
    run_folder(home.path());
    fs::write(home.path().join("one.edb"), "").unwrap();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["init", "-"],
        &["report", "run"],
        &["report", "run", "--json"],
        &["verify", "one.edb"],
        &["prove", "--steps", "1"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = brunt(home.path()).args(arguments).stdout(full).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains("stdout: No space left on device"), "{arguments:?}: {text}");
    }
    // A reader that has seen enough is something else.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut init = brunt(home.path());
    let status = init.args(["init", "-"]).stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_pipe_without_a_writer_is_waited_for_in_vain_and_a_signal_ends_that_at_once() {
    let home = tempfile::tempdir().unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, home.path().join("pipe"), FileType::Fifo, mode, 0).unwrap();
    let mut child = brunt(home.path()).args(["run", "pipe"]).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // Until it waits for the pipe.
    while !is_asleep(&child) {
        assert!(child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(10));
    }
    kill_process(pid, Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    assert!(!home.path().join("runs").exists());
}

fn is_asleep(child: &std::process::Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    status.contains(") S ")
}

#[test]
fn a_scenario_comes_through_a_pipe_and_is_bounded() {
    let home = tempfile::tempdir().unwrap();
    let run = |text: &[u8]| {
        let mut child = brunt(home.path())
            .args(["run", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may have seen enough before it has seen all.
        let _ = child.stdin.take().unwrap().write_all(text);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), said(&output))
    };
    let (code, text) = run(b"# nothing\nsratch = \"x\"\n");
    assert_eq!(code, Some(2));
    let unknown = "stdin:2: `sratch = \"x\"`: unknown key `sratch` in the scenario\n  did you mean `scratch`?\n";
    assert!(text.ends_with(unknown), "{text}");
    let (code, text) = run(&vec![b'#'; 10 << 20]);
    assert_eq!(code, Some(2));
    assert_eq!(text, "error: stdin: cannot be read: it is longer than 1 MiB, and no scenario is\n");
    let output = brunt(home.path()).args(["run", "/dev/zero"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said(&output), "error: /dev/zero: cannot be read: it is a device\n");
}

#[test]
fn a_report_replaces_nothing_but_a_report() {
    let home = tempfile::tempdir().unwrap();
    let folder = run_folder(home.path());
    let victim = home.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let report = |arguments: &[&str]| {
        let mut report = brunt(home.path());
        let output = report.arg("report").args(arguments).output().unwrap();
        (output.status.code(), said(&output))
    };
    symlink(&victim, folder.join("report.html")).unwrap();
    for (arguments, what) in [
        (&["run"][..], "error: run/report.html: is a symbolic link, and is left alone"),
        (&["run", "--out=victim"], "error: victim: is not a report of brunt, and is left alone"),
        (&["run", "--out=/dev/full"], "error: /dev/full: is not a regular file, and is left alone"),
    ] {
        let (code, text) = report(arguments);
        assert_eq!(code, Some(2), "{text}");
        assert_eq!(text, format!("{what}\n  name another file with --out\n"));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    for _ in 0..2 {
        assert_eq!(report(&["run", "--out=mine.html"]).0, Some(0));
    }
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_old_one() {
    let home = tempfile::tempdir().unwrap();
    let folder = run_folder(home.path());
    let made = |limit: &str| {
        let program = env!("CARGO_BIN_EXE_brunt");
        let line = format!("ulimit -f {limit}; exec '{program}' report run");
        let mut shell = Command::new("sh");
        shell.current_dir(home.path()).args(["-c", &line]);
        shell.output().unwrap().status
    };
    assert!(made("unlimited").success());
    let report = fs::read(folder.join("report.html")).unwrap();
    // The kernel ends who writes beyond the limit, in the middle of the file.
    assert!(!made("8").success());
    assert_eq!(fs::read(folder.join("report.html")).unwrap(), report);
    assert!(made("unlimited").success());
}

/// A scenario that is over in some seconds, in the folder `scratch`, and whose databases keep
/// within their room however long a busy machine takes.
const SMALL: &str = r#"
scratch = "scratch"
[test]
kind = "performance"
duration = "1s"
min_warmup = "1s"
sessions = 2
operations_per_s = 100
seed = 3
[profile]
version = "exchange-2013"
cache_min = "8 MiB"
cache_max = "8 MiB"
checkpoint_depth = "1 MiB"
[[instance]]
log = "log1"
databases = ["db1/one.edb"]
database_size = "12 MiB"
"#;

fn small(home: &Path) {
    fs::write(home.join("small.toml"), SMALL).unwrap();
    for folder in ["scratch/log1", "scratch/db1"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
}

/// The exit code of the small test, and what it said.
fn run(home: &Path) -> (Option<i32>, String) {
    let output = brunt(home).args(["run", "small.toml"]).output().unwrap();
    let home = home.to_str().unwrap();
    (output.status.code(), said(&output).replace(home, "HOME"))
}

/// Whether it worked on the files and came to a verdict. On a busy host that is `INVALID`.
fn is_judged((code, text): &(Option<i32>, String)) -> bool {
    matches!(code, Some(0 | 1)) || (*code == Some(2) && text.contains("INVALID  "))
}

/// The same under a limit of the shell's `ulimit`.
fn run_limited(home: &Path, limit: &str, command: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_brunt");
    let mut shell = Command::new("sh");
    let line = format!("ulimit {limit}; exec '{program}' {command}");
    shell.current_dir(home).args(["-c", &line]);
    shell.env("NO_COLOR", "1").stdin(Stdio::null());
    shell.output().unwrap()
}

#[test]
fn somebody_elses_lock_file_is_refused_and_untouched() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    let lock = home.path().join("scratch/log1/brunt.lock");
    let victim = home.path().join("victim");
    let refused = "error: HOME/scratch/log1/brunt.lock: is not a file of brunt, ";
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &lock).unwrap();
    let (code, text) = run(home.path());
    assert_eq!(code, Some(2));
    assert!(text.starts_with(refused), "{text}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(lock.is_symlink());
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "notes").unwrap();
    let (code, text) = run(home.path());
    assert_eq!(code, Some(2));
    assert!(text.starts_with(refused), "{text}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), "notes");
    assert!(!home.path().join("runs").exists());
}

#[test]
fn links_lead_to_the_scratch_folder_and_not_below_it() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    let path = |name: &str| home.path().join(name);
    fs::rename(path("scratch"), path("disk")).unwrap();
    symlink(path("disk"), path("scratch")).unwrap();
    let judged = run(home.path());
    assert!(is_judged(&judged), "{}", judged.1);
    assert!(path("disk/db1/one.edb").is_file());
    fs::rename(path("disk/log1"), path("disk/elsewhere")).unwrap();
    symlink(path("disk/elsewhere"), path("disk/log1")).unwrap();
    let (code, text) = run(home.path());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("HOME/scratch/log1 is a symbolic link"), "{text}");
}

#[test]
fn a_link_at_a_file_of_ours_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    assert!(is_judged(&run(home.path())));
    let path = |name: &str| home.path().join("scratch").join(name);
    for name in ["db1/one.edb", "db1/one.jfm", "log1/edb.chk", "log1/edb.log"] {
        let target = home.path().join("target");
        fs::rename(path(name), &target).unwrap();
        symlink(&target, path(name)).unwrap();
        let before = fs::read(&target).unwrap();
        let (code, text) = run(home.path());
        assert_eq!(code, Some(2), "{name}: {text}");
        assert!(text.contains("is a symbolic link"), "{name}: {text}");
        assert!(fs::read(&target).unwrap() == before, "{name}");
        fs::remove_file(path(name)).unwrap();
        fs::rename(&target, path(name)).unwrap();
    }
}

#[test]
fn a_file_with_two_names_is_worked_on_by_neither_test() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    assert!(is_judged(&run(home.path())));
    let path = |name: &str| home.path().join("scratch").join(name);
    for name in ["db1/one.edb", "log1/edb.log"] {
        let other = home.path().join("other");
        fs::hard_link(path(name), &other).unwrap();
        let before = fs::read(&other).unwrap();
        let (code, text) = run(home.path());
        assert_eq!(code, Some(2), "{name}: {text}");
        assert!(text.contains("has 2 names (hard links)"), "{name}: {text}");
        assert!(fs::read(&other).unwrap() == before, "{name}");
        fs::remove_file(&other).unwrap();
    }
    assert!(is_judged(&run(home.path())));
}

#[test]
fn too_few_file_handles_are_our_error() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    for limit in [12, 16, 20, 40] {
        let output = run_limited(home.path(), &format!("-n {limit}"), "run small.toml");
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{limit}: {text}");
        assert!(text.contains("ulimit -n"), "{limit}: {text}");
        assert!(!home.path().join("runs").exists(), "{limit}");
    }
    let output = run_limited(home.path(), "-Sn 16", "run small.toml");
    let judged = (output.status.code(), said(&output));
    assert!(is_judged(&judged), "{}", judged.1);
}

#[test]
fn too_little_memory_is_our_error() {
    let home = tempfile::tempdir().unwrap();
    small(home.path());
    assert!(is_judged(&run(home.path())));
    for limit_mib in [80, 110, 140, 180, 300] {
        for command in ["run small.toml --quiet", "verify scratch/db1/one.edb"] {
            let limit = format!("-v {}", limit_mib << 10);
            let output = run_limited(home.path(), &limit, command);
            let (code, text) = (output.status.code(), said(&output));
            let is_loaded = !text.contains("error while loading");
            assert!(
                matches!(code, Some(0..=2)) || !is_loaded,
                "{limit}: {command}: {code:?} {text}"
            );
            assert!(!text.contains("panicked"), "{limit}: {command}: {text}");
        }
    }
}
