//! A sweep in parts comes to what one process comes to, whatever happens to the parts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::folders::{differences, only_folder};
use super::program::{answer, brunt, said};

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-array.toml");

/// The example, made small enough for a test.
const SMALL: [&str; 6] = [
    "--duration=5s",
    "--set=test.min_warmup=1s",
    "--set=instance.0.database_size=8MiB",
    "--set=instance.1.database_size=8MiB",
    "--set=profile.cache_min=4MiB",
    "--set=profile.cache_max=8MiB",
];

/// One of them is refused.
const SWEEP: &str = "--sweep=test.sessions=1,2,0,3";

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("mail.toml"), EXAMPLE).unwrap();
    home
}

fn simulate(home: &Path, more: &[&str]) -> Output {
    answer(home, &[&["simulate", "mail.toml"], &SMALL[..], more].concat())
}

fn part(home: &Path, which: &str) -> (Option<i32>, String) {
    let output = answer(home, &["part", "plan", which]);
    (output.status.code(), said(&output))
}

/// The folders of two results are equal but for the command.
fn same(one: &Path, other: &Path) {
    for (one, other) in differences(one, other) {
        assert!(one.contains("brunt simulate") && other.contains("brunt merge"), "{one}\n{other}");
    }
}

/// Records in the plan's folder.
fn records(home: &Path) -> Vec<PathBuf> {
    let points = fs::read_dir(home.join("plan/points")).unwrap();
    let records = points.flat_map(|point| fs::read_dir(point.unwrap().path()).unwrap());
    let mut records: Vec<PathBuf> = records.map(|record| record.unwrap().path()).collect();
    records.sort();
    records
}

#[test]
fn parts_come_to_the_result_of_one_process() {
    let home = home();
    let whole = simulate(home.path(), &[SWEEP, "--out=whole"]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    let planned = simulate(home.path(), &[SWEEP, "--plan=plan", "--parts=3"]);
    assert!(said(&planned).contains("plan: 4 points, in 3 parts"), "{}", said(&planned));
    // The plan has the text.
    fs::write(home.path().join("mail.toml"), "changed").unwrap();
    for (which, computed) in [("2/3", 1), ("0/3", 2), ("0/3", 0)] {
        let (code, said) = part(home.path(), which);
        assert_eq!(code, Some(0), "{said}");
        let points = if computed == 1 { "point" } else { "points" };
        assert!(said.contains(&format!("part {which}: {computed} {points} computed")), "{said}");
    }
    let merge = |out: &str| answer(home.path(), &["merge", "plan", "--out", out]);
    let missing = merge("never");
    assert_eq!(missing.status.code(), Some(2));
    assert!(said(&missing).contains("1 of 4 points missing"), "{}", said(&missing));
    assert!(said(&missing).contains("--array=1\n"), "{}", said(&missing));
    assert!(!home.path().join("never").exists());
    let script = answer(home.path(), &["plan", "plan", "--for", "slurm"]);
    assert!(said(&script).contains(" --array=1 "), "{}", said(&script));
    // Another split has the same points.
    assert_eq!(part(home.path(), "0/1").0, Some(0));
    for out in ["merged", "again"] {
        let merged = merge(out);
        assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
        same(&only_folder(&home.path().join("whole")), &only_folder(&home.path().join(out)));
    }
}

#[test]
fn seeds_in_parts_come_to_the_means_of_one_process() {
    let home = home();
    let whole = simulate(home.path(), &["--seeds=3", "--json"]);
    simulate(home.path(), &["--seeds=3", "--plan=plan"]);
    for which in ["1/3", "2/3", "0/3"] {
        let (code, said) = part(home.path(), which);
        assert_eq!(code, Some(0), "{said}");
    }
    let merged = answer(home.path(), &["merge", "plan", "--json"]);
    assert_eq!(merged.stdout, whole.stdout, "{}", said(&merged));
    assert_eq!(merged.status.code(), whole.status.code());
}

#[test]
fn a_search_goes_on_in_rounds() {
    let home = TempDir::new().unwrap();
    let text = include_str!("../../../../examples/two-servers.toml");
    fs::write(home.path().join("two.toml"), text).unwrap();
    let search = |more: &[&str]| {
        // So few that no number has an answer.
        let set = ["--set=mailboxes.count=4", "--set=event=[]"];
        let head = ["simulate", "two.toml", "--until-fail", "--duration=2s"];
        answer(home.path(), &[&head[..], &set, &SMALL[1..2], more].concat())
    };
    let whole = search(&["--out=whole"]);
    assert!(said(&whole).contains("no number of mailboxes passes"), "{}", said(&whole));
    let planned = search(&["--plan=plan"]);
    assert!(said(&planned).contains("rounds"), "{}", said(&planned));
    let mut rounds = 0;
    let merged = loop {
        let merged = answer(home.path(), &["merge", "plan", "--out", "merged"]);
        if !said(&merged).contains("INCOMPLETE") {
            break merged;
        }
        for which in ["1/2", "0/2"] {
            let (code, said) = part(home.path(), which);
            assert_eq!(code, Some(0), "{said}");
        }
        rounds += 1;
        assert!(rounds < 40);
    };
    assert_eq!((rounds, merged.status.code()), (2, whole.status.code()), "{}", said(&merged));
    same(&only_folder(&home.path().join("whole")), &only_folder(&home.path().join("merged")));
}

#[test]
fn an_exit_code_says_whether_to_try_again() {
    let home = home();
    let (code, said_of) = part(home.path(), "0/1");
    assert_eq!(code, Some(64), "{said_of}");
    assert!(said_of.contains("there is no plan.json"), "{said_of}");
    simulate(home.path(), &[SWEEP, "--plan=plan", "--parts=2"]);
    for (which, why) in [
        ("2/2", "there is no part 2 of 2"),
        ("auto", "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX"),
        ("x", "`x` is no part"),
    ] {
        let (code, said) = part(home.path(), which);
        assert!(code == Some(64) && said.contains(why), "{said}");
    }
    let index = |name: &str| {
        let mut command = brunt(home.path());
        command.env(name, "1").args(["part", "plan", "auto", "--threads=1"]).output().unwrap()
    };
    let output = index("JOB_COMPLETION_INDEX");
    assert!(said(&output).contains("part 1/2: 2 points computed"), "{}", said(&output));
    assert!(said(&index("SLURM_ARRAY_TASK_ID")).contains("part 1/2: 0 points"));
    let other = simulate(home.path(), &["--sweep=test.sessions=1,2", "--plan=plan"]);
    assert!(said(&other).contains("has another plan already"), "{}", said(&other));
    // What cannot be written may be written next time.
    fs::rename(home.path().join("plan/points"), home.path().join("aside")).unwrap();
    fs::write(home.path().join("plan/points"), "").unwrap();
    assert_eq!(part(home.path(), "0/2").0, Some(75));
    // A plan of another program is never computed by this one.
    let path = home.path().join("plan/plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    fs::write(&path, text.replace(&version, "\"version\": \"0.0.9\"")).unwrap();
    let (code, said) = part(home.path(), "0/2");
    assert!(code == Some(64) && said.contains("was made by brunt 0.0.9"), "{said}");
    fs::write(&path, &text[..text.len().div_euclid(2)]).unwrap();
    assert_eq!(part(home.path(), "0/2").0, Some(64));
}

#[test]
fn a_full_disk_is_tried_again_later() {
    let home = home();
    simulate(home.path(), &[SWEEP, "--plan=plan", "--parts=1"]);
    let script = "mount -t tmpfs -o size=64k none plan/points || exit 99
head -c 1M /dev/zero >plan/points/full
\"$0\" part plan 0/1; code=$?
rm plan/points/full
\"$0\" part plan 0/1 && \"$0\" merge plan --out merged || exit 98
exit $code";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_brunt")).current_dir(home.path()).stdin(Stdio::null());
    let output = command.output();
    match output.as_ref().map(|output| output.status.code()) {
        Ok(Some(75)) => {}
        Ok(Some(99 | 1)) | Err(_) => {
            skip("a_full_disk_is_tried_again_later: no namespace with a tmpfs")
        }
        Ok(code) => panic!("{code:?}: {}", said(&output.unwrap())),
    }
}

fn skip(line: &str) {
    use std::io::Write;
    if let Some(list) = std::env::var_os("BRUNT_SKIPPED") {
        let list = fs::OpenOptions::new().create(true).append(true).open(list);
        writeln!(list.unwrap(), "{line}").unwrap();
    }
}

#[test]
fn a_part_that_is_stopped_or_killed_leaves_whole_records_only() {
    let home = home();
    let long = ["--duration=2h", "--sweep=test.sessions=1,2,3,4", "--plan=plan", "--parts=1"];
    answer(home.path(), &[&["simulate", "mail.toml"], &SMALL[1..], &long[..]].concat());
    for (signal, wanted) in [("TERM", Some(130)), ("KILL", None)] {
        let mut running = brunt(home.path());
        running.args(["part", "plan", "0/1", "--threads=2"]).stderr(Stdio::null());
        let mut running = running.spawn().unwrap();
        thread::sleep(Duration::from_millis(700));
        let id = running.id().to_string();
        Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert_eq!(running.wait().unwrap().code(), wanted);
    }
    assert!(records(home.path()).len() < 4);
    let missing = answer(home.path(), &["merge", "plan"]);
    assert!(said(&missing).contains("--array=0"), "{}", said(&missing));
}

#[test]
fn what_is_no_record_is_left_out_and_named() {
    let home = home();
    simulate(home.path(), &[SWEEP, "--plan=plan", "--parts=1"]);
    part(home.path(), "0/1");
    let all = records(home.path());
    let [one, other] = [&all[0], &all[1]];
    let beside = |name: &str| one.with_file_name(name);
    symlink("/etc/passwd", beside("link")).unwrap();
    fs::copy(other, beside("other")).unwrap();
    fs::write(beside("cut"), &fs::read(one).unwrap()[..100]).unwrap();
    fs::write(beside(".draft"), "half").unwrap();
    fs::create_dir(beside("folder")).unwrap();
    let pipe = beside("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let merged = answer(home.path(), &["merge", "plan"]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    for note in [
        "link: is a symbolic link, and is left out",
        "other: belongs to another point",
        "cut: is damaged",
        "folder: is not a regular file",
        "pipe: is not a regular file",
    ] {
        assert!(said(&merged).contains(note), "{note}: {}", said(&merged));
    }
    fs::write(one, "damaged").unwrap();
    let missing = answer(home.path(), &["merge", "plan"]);
    assert!(said(&missing).contains("1 of 4 points missing"), "{}", said(&missing));
}
