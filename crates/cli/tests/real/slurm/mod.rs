//! A sweep on a real Slurm: a task is killed, a node is lost, the array is cancelled and resumed.
//! The merge comes to the result of one process.

mod cluster;
#[path = "../../cli/folders.rs"]
mod folders;

use std::fs;

use cluster::{Cluster, kill};
use folders::{differences, only_folder};

use crate::drill::skip;

const EXAMPLE: &str = include_str!("../../../../../examples/mail-on-array.toml");

/// Points of a second or two of processor time; the 25th is computed twice.
const SWEEP: [&str; 4] =
    ["mail.toml", "--duration=10s", "--set=test.min_warmup=1s", "--sweep=test.sessions=1..26/26"];

#[test]
fn a_sweep_on_slurm_comes_to_the_result_of_one_process() {
    let mut cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(why) => return skip("a_sweep_on_slurm_comes_to_the_result_of_one_process", &why),
    };
    fs::write(cluster.work().join("mail.toml"), EXAMPLE).unwrap();
    let whole = cluster.brunt(&[&["simulate", "--out=whole"], &SWEEP[..]].concat());
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stderr));
    cluster.brunt(&[&["simulate", "--plan=sweep", "--parts=6"], &SWEEP[..]].concat());

    submit(&cluster);
    let killed = cluster.task(|index, _| index == "0");
    kill(killed.process);
    let lost = cluster.task(|index, node| index != "0" && node == "n2");
    assert_eq!(lost.node, "n2");
    cluster.lose("n2");
    // The other node computes what the lost one had; nobody computes what was killed.
    cluster.wait();
    assert!(newest_merge(&cluster).contains("--array=0\n"), "{}", logs(&cluster));
    assert!(!cluster.work().join("sweep/runs").exists());

    cluster.node("n2");
    assert!(submit(&cluster).contains("parts 0 of 6"));
    cluster.task(|index, _| index == "0");
    let user = cluster.ask("id", &["-un"]);
    cluster.ask("scancel", &["--state=RUNNING", "-u", user.trim()]);
    cluster.wait();
    assert!(newest_merge(&cluster).contains("INCOMPLETE"), "{}", logs(&cluster));

    submit(&cluster);
    cluster.wait();
    let merged = newest_merge(&cluster);
    assert!(
        merged.contains("26 points, 1 computed twice with equal results"),
        "{}",
        logs(&cluster)
    );
    let [one, other] = ["whole", "sweep/runs"].map(|runs| only_folder(&cluster.work().join(runs)));
    // The command in the page.
    assert_eq!(differences(&one, &other).len(), 1);
}

/// Submits what is missing, as a user does.
fn submit(cluster: &Cluster) -> String {
    let script = cluster.brunt(&["plan", "sweep", "--for", "slurm"]);
    let script = String::from_utf8(script.stdout).unwrap();
    fs::write(cluster.path("run/submit.sh"), &script).unwrap();
    let said = cluster.ask("sh", &[cluster.path("run/submit.sh").to_str().unwrap()]);
    assert!(said.contains("merge: job "), "{said}");
    script
}

/// What jobs have written, by name.
fn logs(cluster: &Cluster) -> String {
    let logs = fs::read_dir(cluster.work().join("sweep/logs")).unwrap();
    let texts = logs.map(|log| {
        let path = log.unwrap().path();
        format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap())
    });
    texts.collect()
}

fn newest_merge(cluster: &Cluster) -> String {
    let logs = fs::read_dir(cluster.work().join("sweep/logs")).unwrap();
    let merges = logs.filter_map(|log| {
        let path = log.unwrap().path();
        let name = path.file_stem()?.to_str()?.strip_prefix("merge-")?.parse::<u64>().ok()?;
        Some((name, path))
    });
    let newest = merges.max().map(|(_, path)| fs::read_to_string(path).unwrap());
    newest.unwrap_or_default()
}
