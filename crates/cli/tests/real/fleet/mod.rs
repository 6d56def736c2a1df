//! `brunt fleet` with servers that are processes of this machine: real agents, real storage, real
//! kills.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SERVERS: [&str; 3] = ["MAIL1", "MAIL2", "MAIL3"];

/// A fleet for a test of a few seconds.
const SCENARIO: &str = r#"
servers = ["MAIL1", "MAIL2", "MAIL3"]
scratch = "/HOME/{server}"
[fleet]
reach = []
max_skew = "20s"
wait = "2min"
same_machine = true
[test]
duration = "4s"
sessions = 2
operations_per_s = 400
min_warmup = "2s"
[profile]
version = "exchange-2013"
cache_max = "4 MiB"
cache_min = "4 MiB"
checkpoint_depth = "1 MiB"
[limits]
stalls_per_s = 1000
[[instance]]
log = "log"
databases = ["db/1.edb"]
database_size = "8 MiB"
"#;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(180);

struct Fleet {
    home: tempfile::TempDir,
}

impl Fleet {
    fn of(scenario: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let text = scenario.replace("/HOME", home.path().to_str().unwrap());
        fs::write(home.path().join("mail.toml"), text).unwrap();
        Self { home }
    }

    fn path(&self) -> &Path {
        self.home.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command
            .arg("fleet")
            .args(arguments)
            .args(crate::LENIENT.iter().filter(|_| arguments.contains(&"mail.toml")))
            .arg("--json")
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> (Output, Value) {
        came(self.command(arguments).output().unwrap())
    }

    /// Begins a run; what it says goes to a file.
    fn begin(&self) -> Child {
        self.begin_with(&[])
    }

    fn begin_with(&self, flags: &[&str]) -> Child {
        let said = fs::File::create(self.path().join("said")).unwrap();
        let mut command = self.command(&["run", "mail.toml"]);
        command.args(flags);
        command.stdout(Stdio::piped()).stderr(said).spawn().unwrap()
    }

    /// Waits until `word` is said of `server`.
    fn wait_for(&self, server: &str, word: &str) {
        let line = format!("{server:14}{word}");
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(self.path().join("said")).unwrap();
            if said.lines().any(|own| own.starts_with(&line)) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{line} did not come:\n{said}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Processes of this fleet that are called with `word`.
    fn processes(&self, word: &str) -> Vec<i32> {
        let own = |process: &Path| {
            let call = fs::read(process.join("cmdline")).ok()?;
            let call = String::from_utf8_lossy(&call).replace('\0', " ");
            let is_ours = call.contains(self.path().to_str()?) && call.contains(word);
            is_ours.then(|| process.file_name()?.to_str()?.parse().ok()).flatten()
        };
        let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        all.filter_map(|process| own(&process.path())).collect()
    }

    /// Waits until no agent is left.
    fn is_left_alone(&self) {
        let begun = Instant::now();
        while !self.processes("agent").is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.processes("agent"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The folder of the only run.
    fn folder(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.path().join("runs")).unwrap();
        runs.next().unwrap().unwrap().path()
    }

    /// How often a test has begun on this machine.
    fn begun(&self) -> usize {
        let agents = fs::read_dir(self.path().join("state/brunt/agents")).unwrap();
        let out = agents.filter_map(|agent| fs::read_dir(agent.ok()?.path().join("out")).ok());
        out.map(Iterator::count).sum()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for process in self.processes("agent") {
            signal(process, Signal::KILL);
        }
    }
}

fn signal(process: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(process).unwrap(), signal);
}

fn came(output: Output) -> (Output, Value) {
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, result)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn outcomes(result: &Value) -> Vec<String> {
    let agents = result["fleet"]["agents"].as_array().unwrap();
    agents.iter().map(|agent| agent["outcome"].to_string().replace('"', "")).collect()
}

#[test]
fn servers_begin_at_one_instant_and_are_one_result() {
    let fleet = Fleet::of(SCENARIO);
    let (output, result) = fleet.run(&["run", "mail.toml"]);
    assert_eq!(result["verdict"], "pass", "{}{result:#}", said(&output));
    assert_eq!(outcomes(&result), ["pass"; 3]);
    let names = result["storage"]["servers"].as_array().unwrap().iter();
    assert_eq!(names.map(|server| &server["name"]).collect::<Vec<_>>(), SERVERS);
    // One machine has one clock.
    for agent in result["fleet"]["agents"].as_array().unwrap() {
        let [offset, bound] = ["offset_ms", "offset_bound_ms"].map(|key| agent[key].as_f64());
        assert!(offset.unwrap().abs() <= bound.unwrap(), "{agent}");
    }
    assert!(result["fleet"]["skew_ms"].as_f64().unwrap() < 20_000.0);
    let folder = fleet.folder();
    for server in SERVERS {
        let here = folder.join(server);
        assert!(here.join("journal").exists() && here.join("report.html").exists(), "{server}");
    }
    let again = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .args(["report", "--json"])
        .arg(&folder)
        .output()
        .unwrap();
    let (_, again) = came(again);
    assert_eq!(again, result, "a report made again says the same");
    fleet.is_left_alone();
    assert_eq!(fleet.begun(), 3);
}

#[test]
fn a_killed_test_is_named_and_makes_it_invalid() {
    let fleet = Fleet::of(&SCENARIO.replace("\"4s\"", "\"60s\""));
    let child = fleet.begin();
    fleet.wait_for("MAIL2", "collecting");
    let workers = fleet.processes("--work MAIL2");
    assert_eq!(workers.len(), 1);
    signal(workers[0], Signal::KILL);
    let (output, result) = came(child.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(result["verdict"], "invalid", "{result:#}");
    assert_eq!(outcomes(&result), ["null", "invalid", "null"]);
    let why = result["reasons"][0].as_str().unwrap();
    assert_eq!(why, "MAIL2: was killed: signal 9, as when memory is short");
    // The others have ended in order, and what they have is here.
    let folder = fleet.folder();
    assert!(folder.join("MAIL1/result.json").exists() && folder.join("MAIL2/journal").exists());
    fleet.is_left_alone();
}

#[test]
fn a_run_whose_coordinator_was_killed_is_gone_on_with() {
    let fleet = Fleet::of(SCENARIO);
    let mut child = fleet.begin();
    fleet.wait_for("MAIL3", "preparing");
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = fleet.folder();
    let (output, result) = fleet.run(&["attach", folder.to_str().unwrap()]);
    assert_eq!(result["verdict"], "pass", "{}{result:#}", said(&output));
    fleet.is_left_alone();
    assert_eq!(fleet.begun(), 3, "none of them began twice");
    // What is over can be collected again.
    let (_, again) = fleet.run(&["collect", folder.to_str().unwrap()]);
    assert_eq!(again["verdict"], "pass");
    assert_eq!(again["storage"], result["storage"]);
}

#[test]
fn a_stream_that_is_dropped_every_two_seconds_changes_nothing() {
    let reach = format!(
        "reach = [\"timeout\", \"2\", \"env\", \"FOR={{host}}\"]\nprogram = \"{}\"",
        env!("CARGO_BIN_EXE_brunt")
    );
    let fleet = Fleet::of(&SCENARIO.replace("reach = []", &reach));
    let (output, _) = fleet.run(&["run", "mail.toml"]);
    assert!(said(&output).contains("read it, then repeat this with --allow-exec"));
    let (output, result) = fleet.run(&["run", "mail.toml", "--allow-exec"]);
    assert_eq!(result["verdict"], "pass", "{}{result:#}", said(&output));
    fleet.is_left_alone();
    assert_eq!(fleet.begun(), 3);
}

#[test]
fn ctrl_c_ends_all_hosts_in_order() {
    let fleet = Fleet::of(&SCENARIO.replace("\"4s\"", "\"60s\""));
    let child = fleet.begin();
    fleet.wait_for("MAIL1", "collecting");
    signal(child.id().cast_signed(), Signal::INT);
    let (output, result) = came(child.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(outcomes(&result), ["interrupted"; 3], "{result:#}");
    fleet.is_left_alone();
    let (_, stopped) = fleet.run(&["stop", fleet.folder().to_str().unwrap()]);
    assert_eq!(stopped["verdict"], "interrupted");
}

#[test]
fn nothing_is_written_unless_all_can_begin() {
    let fleet = Fleet::of(
        &SCENARIO
            .replace("[test]", "[fleet.MAIL2]\nset = [\"scratch=/HOME/missing/folder\"]\n[test]"),
    );
    let (output, _) = fleet.run(&["run", "mail.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.contains("no host has begun\n  MAIL2: cannot begin: "), "{said}");
    assert!(!fleet.path().join("MAIL1").exists(), "nothing was made for another server");
    assert_eq!(fs::read_dir(fleet.path().join("runs")).unwrap().count(), 0);
    fleet.is_left_alone();
}

#[test]
fn one_machine_is_not_two_hosts() {
    let reach = format!(
        "reach = [\"env\", \"FOR={{host}}\"]\nprogram = \"{}\"",
        env!("CARGO_BIN_EXE_brunt")
    );
    let scenario = SCENARIO.replace("reach = []", &reach).replace("same_machine = true\n", "");
    let fleet = Fleet::of(&scenario);
    let (output, _) = fleet.run(&["run", "mail.toml", "--allow-exec"]);
    let said = said(&output);
    assert!(said.contains("MAIL2: is the machine of MAIL1"), "{said}");
    fleet.is_left_alone();
}

/// What lies under the servers, for a model.
const ARRAYS: &str = r#"
[array]
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 4
[[array.group]]
name = "all"
level = "raid10"
drives = 4
[[array.lun]]
name = "of {}"
each = ["MAIL1", "MAIL2", "MAIL3"]
group = "all"
size = "20 GiB"
[volumes]
"/HOME" = "of {server}"
"#;

/// The model is asked once, before hosts begin: another coordinator finds what it said.
#[test]
fn a_prediction_stands_beside_each_figure() {
    let scenario = SCENARIO
        .replace("scratch = \"/HOME/{server}\"\n", "")
        .replace("\"log\"", "\"/HOME/{server}/log\"")
        .replace("\"db/1.edb\"", "\"/HOME/{server}/1.edb\"");
    let fleet = Fleet::of(&(scenario + ARRAYS));
    for server in SERVERS {
        fs::create_dir_all(fleet.path().join(server).join("log")).unwrap();
    }
    let mut child = fleet.begin_with(&["--predict"]);
    fleet.wait_for("MAIL3", "preparing");
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = fleet.folder();
    let (output, result) = fleet.run(&["attach", folder.to_str().unwrap()]);
    assert_eq!(outcomes(&result), ["pass"; 3], "{}{result:#}", said(&output));
    let prediction = &result["fleet"]["prediction"];
    assert!(prediction["verdict"].is_string(), "{prediction:#}");
    let figures = prediction["figures"].as_array().unwrap();
    let of = |key: &str| figures.iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    let ids = ["database-io", "database-read", "database-write", "log-write"];
    assert_eq!(of("id"), [ids; 4].concat());
    assert_eq!(of("server")[..4], [Value::Null, Value::Null, Value::Null, Value::Null]);
    assert_eq!(of("server")[4..].iter().step_by(4).collect::<Vec<_>>(), SERVERS);
    for figure in figures {
        let [model, real, error] =
            ["predicted", "measured", "error_percent"].map(|key| figure[key].as_f64().unwrap());
        assert!((error - (model / real - 1.0) * 100.0).abs() < 1e-6, "{figure}");
        assert!(figure["known_error_percent"].is_array(), "{figure}");
    }
    // Drives that turn are no file system of this machine, and servers add up.
    let io = |at: usize| figures[at]["measured"].as_f64().unwrap();
    assert!((io(0) - io(4) - io(8) - io(12)).abs() < 1e-6);
    let rate = result["storage"]["achieved_iops"].as_f64().unwrap();
    assert!((io(0) - rate).abs() < rate / 100.0, "{} {rate}", io(0));
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Predicted and measured") && page.contains("-9 to +25 %"));
    fleet.is_left_alone();
}

/// The demo is `examples/fleet.toml`. What a busy machine does to rates and latencies is not judged.
#[test]
fn the_demo_is_three_servers_of_this_machine() {
    let fleet = Fleet::of(SCENARIO);
    let (output, result) = fleet.run(&["run", "--duration", "5s"]);
    let came = outcomes(&result);
    let is_answer = |outcome: &String| ["pass", "fail", "inconclusive"].contains(&outcome.as_str());
    assert!(came.len() == 3 && came.iter().all(is_answer), "{}{result:#}", said(&output));
    assert!(result["fleet"]["skew_ms"].is_number());
    assert_eq!(result["storage"]["servers"].as_array().unwrap().len(), 3);
    fleet.is_left_alone();
}

/// The servers of the paper at a hundredth of their size.
#[test]
fn twelve_servers_begin_at_one_instant() {
    let fleet = Fleet::of(SCENARIO);
    let scratch = format!("scratch={}/{{server}}", fleet.path().display());
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/twelve-servers.toml");
    let small = ["--duration", "3s", "--set", "test.min_warmup=1s", "--set", &scratch];
    let (output, result) = fleet.run(&[&["run", scenario], &small[..]].concat());
    let came = outcomes(&result);
    let is_answer = |outcome: &String| ["pass", "fail", "inconclusive"].contains(&outcome.as_str());
    assert!(came.len() == 12 && came.iter().all(is_answer), "{}{result:#}", said(&output));
    assert_eq!(result["storage"]["servers"].as_array().unwrap().len(), 12);
    fleet.is_left_alone();
}
