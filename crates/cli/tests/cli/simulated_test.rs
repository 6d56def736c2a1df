//! Tests on modelled storage, by the program itself: what they leave, and that they can be
//! repeated.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use super::folders::only_folder;
use super::program::{brunt, keeps_to_the_schema, said};

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-array.toml");

/// The example, made small enough for a test.
const SMALL: [&str; 6] = [
    "--duration=5s",
    "--set=test.min_warmup=2s",
    "--set=instance.0.database_size=8MiB",
    "--set=instance.1.database_size=8MiB",
    "--set=profile.cache_min=4MiB",
    "--set=profile.cache_max=8MiB",
];

fn simulate(folder: &Path, scenario: &str, out: &str, more: &[&str]) -> Output {
    let mut command = brunt(folder);
    command.args(["simulate", scenario, "--engine=bytes"]);
    command.args(["--out", out]).args(SMALL).args(more);
    command.output().unwrap()
}

fn home(scenario: &str) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("mail.toml"), scenario).unwrap();
    home
}

fn result(folder: &Path) -> Value {
    let text = fs::read(folder.join("result.json")).unwrap();
    let result = serde_json::from_slice(&text).unwrap();
    keeps_to_the_schema(&result);
    result
}

/// The result without what equal seeds may differ in.
fn repeatable(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        for key in ["started", "ended", "wall_seconds", "host", "tool", "run_folder", "command"] {
            fields.remove(key);
        }
        for field in fields.values_mut() {
            *field = repeatable(field.take());
        }
    }
    value
}

#[test]
fn equal_seeds_give_equal_results_also_from_the_run_folder() {
    let home = home(EXAMPLE);
    let first = simulate(home.path(), "mail.toml", "a", &["--seed=3"]);
    assert_ne!(first.status.code(), Some(2), "{}", said(&first));
    let folder = only_folder(&home.path().join("a"));
    let scenario = folder.join("scenario.toml");
    simulate(home.path(), scenario.to_str().unwrap(), "b", &["--seed=3"]);
    simulate(home.path(), "mail.toml", "c", &["--seed=4"]);
    let of = |name: &str| repeatable(result(&only_folder(&home.path().join(name))));
    assert_eq!(of("a"), of("b"));
    assert_ne!(of("a"), of("c"));
    let digest = |name: &str| {
        let digest = &of(name)["storage"]["details"]["model"]["request_digest"];
        digest.as_str().unwrap().to_owned()
    };
    assert_eq!(digest("a").len(), 16);
    assert_ne!(digest("a"), digest("c"));
    assert!(said(&first).contains(&format!("{} of all requests to storage", digest("a"))));
    for table in ["counters.csv", "latency.hlog", "events.log"] {
        let read = |out: &str| {
            let text = fs::read_to_string(only_folder(&home.path().join(out)).join(table)).unwrap();
            let lines = text.lines().filter(|line| !line.contains("Command line: "));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(read("a"), read("b"), "{table}");
    }
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("Where the time went"));
    let command = &result(&folder)["origin"]["command"];
    let command = command.as_str().unwrap();
    let begin = "brunt simulate mail.toml --engine=bytes --out a --duration=5s ";
    assert!(command.starts_with(begin) && command.ends_with(" --seed=3"));
    assert!(report.contains(command));
}

#[test]
fn an_incident_after_the_end_is_refused() {
    let home =
        home(&format!("{EXAMPLE}\n[[event]]\nat = \"9h\"\nwhat = \"drive fails\"\ndrive = 3\n"));
    let output = simulate(home.path(), "mail.toml", "a", &[]);
    let said = said(&output);
    let why =
        "`at = \"9h\"`: would never happen: the simulation ends after 7.0 s, its warm-up included";
    assert!(said.contains(why), "{said}");
    assert!(!home.path().join("a").exists());
}

#[test]
fn the_load_while_degraded_stands_beside_that_of_the_whole_test() {
    let event = "[[event]]\nat = \"4s\"\nwhat = \"drive fails\"\ndrive = 1\n";
    let home = home(&format!("{EXAMPLE}\n{event}"));
    let output = simulate(home.path(), "mail.toml", "a", &[]);
    let folder = only_folder(&home.path().join("a"));
    let result = result(&folder);
    let states = result["storage"]["states"].as_array().unwrap();
    let names: Vec<&str> = states.iter().filter_map(|s| s["state"].as_str()).collect();
    assert_eq!(names, ["whole", "degraded", "all"]);
    let reads = |state: &Value| {
        let per_s = state["database_reads"]["per_s"].as_f64().unwrap();
        per_s * state["seconds"].as_f64().unwrap()
    };
    let all = reads(&states[2]);
    assert!((reads(&states[0]) + reads(&states[1]) - all).abs() < 0.01 * all);
    let instances = result["storage"]["servers"][0]["instances"].as_array().unwrap();
    let counted = instances.iter().map(|one| one["db_read_latency"]["count"].as_f64().unwrap());
    assert!((counted.sum::<f64>() - all).abs() < 0.5);
    let text = said(&output);
    assert!(text.contains("by the state of the groups\n"), "{text}");
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    assert_eq!(report.matches("<rect class=\"state\"").count(), 3 + 7);
    assert!(report.contains("Busiest drives while degraded: "), "{text}");
    assert!(report.contains("</time> drive 1 failed</li>"), "{text}");
}

#[test]
fn the_model_agrees_with_what_the_server_saw() {
    let home = home(EXAMPLE);
    let output = simulate(home.path(), "mail.toml", "a", &[]);
    let result = result(&only_folder(&home.path().join("a")));
    assert_eq!(result["world"], "virtual", "{}", said(&output));
    assert_eq!(result["qualifies"], false);
    let model = &result["storage"]["details"]["model"];
    let array = &model["arrays"][0];
    let asked = array["asked"].as_array().unwrap();
    let asked = |what: &str| asked.iter().find(|asked| asked["what"] == what).unwrap();
    let instances = result["storage"]["servers"][0]["instances"].as_array().unwrap();
    let sum = |key: &str| instances.iter().map(|i| i[key].as_f64().unwrap()).sum::<f64>();
    for (what, key) in [
        ("database read", "db_reads_per_s"),
        ("database write", "db_writes_per_s"),
        ("log write", "log_writes_per_s"),
    ] {
        let (array, server) = (asked(what)["per_s"].as_f64().unwrap(), sum(key));
        assert!((array / server - 1.0).abs() < 0.02, "{what}: {array} and {server}");
    }
    let read = asked("database read");
    let parts = read["parts"].as_array().unwrap();
    let parts: f64 = parts.iter().map(|part| part["ms"].as_f64().unwrap()).sum();
    let mean = read["latency_ms_mean"].as_f64().unwrap();
    assert!((parts - mean).abs() < 1e-3, "{parts} and {mean}");
    let time = model["sessions"].as_object().unwrap();
    let shares: f64 = time.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{time:?}");
    let idle = time["held_back"].as_f64().unwrap();
    assert!(idle < 0.02, "nothing holds them back: {idle}");
}

#[test]
fn a_pause_leaves_sessions_idle_half_their_time() {
    let home = home(EXAMPLE);
    simulate(home.path(), "mail.toml", "a", &["--set=test.scheduling=pause 1"]);
    let result = result(&only_folder(&home.path().join("a")));
    let idle = &result["storage"]["details"]["model"]["sessions"]["held_back"];
    assert!((idle.as_f64().unwrap() - 0.5).abs() < 0.02, "{idle}");
    assert_eq!(result["storage"]["details"]["model"]["scheduling"], "pause 1");
}

#[test]
fn several_servers_share_the_storage_and_have_folders_of_their_own() {
    let two = EXAMPLE.replacen("name =", "servers = [\"ANNA\", \"BERT\"]\nname =", 1);
    let home = home(&two);
    let output = simulate(home.path(), "mail.toml", "a", &[]);
    let folder = only_folder(&home.path().join("a"));
    let result = result(&folder);
    let servers = result["storage"]["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2, "{}", said(&output));
    assert_eq!(servers[1]["name"], "BERT");
    let rate = |server: &Value| {
        let instances = server["instances"].as_array().unwrap().clone();
        let of = |i: &Value| {
            i["db_reads_per_s"].as_f64().unwrap() + i["db_writes_per_s"].as_f64().unwrap()
        };
        instances.iter().map(of).sum::<f64>()
    };
    let all = result["storage"]["achieved_iops"].as_f64().unwrap();
    assert!((rate(&servers[0]) + rate(&servers[1]) - all).abs() < 1e-6);
    for name in ["ANNA/counters.csv", "BERT/result.json", "counters.csv", "events.log"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let log = fs::read_to_string(folder.join("latency.hlog")).unwrap();
    assert!(log.contains("Tag=ANNA.DB1.read,") && log.contains("Tag=BERT.DB1.read,"));
    // The first server tells of the array that both share.
    let tells = ["ANNA", "BERT", ""].map(|own| {
        let table = fs::read_to_string(folder.join(own).join("counters.csv")).unwrap();
        table.contains(",array: controller 0,,,")
    });
    assert_eq!(tells, [true, false, true]);
    let pictures = |report: &str| report.matches("role=\"img\"").count();
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    let again = brunt(home.path()).args(["report", "--out=again.html"]).arg(&folder).output();
    assert_eq!(again.unwrap().status.code(), Some(0));
    let again = fs::read_to_string(home.path().join("again.html")).unwrap();
    assert_eq!([&report, &again].map(|report| pictures(report)), [4 + 7; 2]);
}

#[test]
fn a_sweep_has_a_row_for_each_value_and_a_curve() {
    let home = home(EXAMPLE);
    // With less memory, three sessions wait for free pages.
    let more = [
        "--set=profile.cache_min=8MiB",
        "--set=profile.cache_max=16MiB",
        "--sweep=test.sessions=1..3",
    ];
    let output = simulate(home.path(), "mail.toml", "a", &more);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(text.lines().count(), 8, "{text}");
    let sentence = text.lines().next().unwrap();
    assert!(sentence.contains("ery limit holds at"), "{text}");
    let read = |file: &str| {
        let folder = only_folder(&home.path().join("a"));
        fs::read_to_string(folder.join(file)).unwrap()
    };
    let page = read("report.html");
    for part in ["<svg", sentence, "--sweep=test.sessions=1..3", "[[instance]]"] {
        assert!(page.contains(part), "{part}");
    }
    let csv = read("points.csv");
    assert!(csv.starts_with("test.sessions,io_per_s,read_ms,"), "{csv}");
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let seeds = simulate(home.path(), "mail.toml", "a", &["--seeds=1"]);
    assert!(said(&seeds).contains("`--seeds 1`: is not between 2 and 1000"));
}

/// Synchronous, over two slow paths: a log write waits for two round trips.
const REPLICATED: &str = r#"
[link]
rtt = "0ms"
bandwidth = "1 MB"
paths = 2

[replication]
"#;

#[test]
fn a_sweep_of_round_trips_says_how_far_apart_sites_may_be() {
    let home = home(&format!("{EXAMPLE}{REPLICATED}"));
    let more = ["--sweep=link.rtt=0ms..20ms/3", "--json"];
    let output = simulate(home.path(), "mail.toml", "a", &more);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = json["points"].as_array().unwrap();
    let log_ms = |point: &Value| point["log_write_ms"].as_f64().unwrap();
    for (point, round_trip) in points.iter().zip([0.0, 10.0, 20.0]) {
        let (all, lost) = (log_ms(point), log_ms(&point["one_path_lost"]));
        assert!(all >= 2.0 * round_trip && lost >= all, "{all} and {lost} ms");
    }
    for (series, points) in [
        ("all_paths", points.iter().collect::<Vec<_>>()),
        ("one_path_lost", points.iter().map(|point| &point["one_path_lost"]).collect()),
    ] {
        // The average of log writes may be 10 ms.
        let found = &json["found"]["round_trip"][series];
        let passed = points.iter().take_while(|point| point["passed"] == true);
        let holds = [None, Some(0.0), Some(10.0), Some(20.0)][passed.count()];
        assert_eq!(found["holds_ms"].as_f64(), holds, "{series}: {found}");
        assert!(points[1]["passed"] == false && points[2]["passed"] == false);
    }
    let folder = only_folder(&home.path().join("a"));
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let page = read("report.html");
    assert_eq!(page.matches("role=\"img\"").count(), 4);
    assert!(page.contains("With one path lost, "));
    let csv = read("points.csv");
    assert!(csv.starts_with("link.rtt,paths,io_per_s,"), "{csv}");
    assert!(csv.contains("\n20ms,one lost,"), "{csv}");
}

#[test]
fn a_replicated_test_says_what_bandwidth_it_needs() {
    let home = home(&format!("{EXAMPLE}{REPLICATED}"));
    let output = simulate(home.path(), "mail.toml", "a", &[]);
    let said = said(&output);
    for part in ["replicated writes need ", " in the busiest sample", "OC3", "all logs", "24 h"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let result = result(&only_folder(&home.path().join("a")));
    let model = &result["storage"]["details"]["model"];
    let replication = &model["arrays"][0]["replication"];
    let rate = |of: &Value, what: &str| of["writes"][what].as_f64().unwrap();
    let (mean, busiest) =
        (rate(replication, "bytes_per_s_mean"), rate(replication, "bytes_per_s_busiest"));
    assert!(0.0 < mean && mean <= busiest, "{replication}");
    let groups = replication["groups"].as_array().unwrap();
    let sum: f64 = groups.iter().map(|group| rate(group, "bytes_per_s_mean")).sum();
    assert!((sum / mean - 1.0).abs() < 1e-9, "{replication}");
}

#[test]
fn a_run_that_breaks_is_no_pass() {
    let home = home(EXAMPLE);
    let said_of = |more: &[&str]| {
        let mut command = brunt(home.path());
        command.args(["simulate", "mail.toml", "--duration=20s"]).args(&SMALL[1..]);
        // No stalls, so that no rule fails before databases have outgrown their reserve.
        command.args(["--set=profile.cache_min=16MiB", "--set=profile.cache_max=64MiB"]);
        command.arg("--set=limits.reserve_percent=0");
        said(&command.args(more).output().unwrap())
    };
    let sweep = said_of(&["--sweep=test.sessions=2,3"]);
    let why = "error: The test could not be carried through: DB";
    assert_eq!(sweep.matches(why).count(), 2, "{sweep}");
    let seeds = said_of(&["--seeds=2"]);
    let lines: Vec<&str> = seeds.lines().collect();
    assert_eq!(lines[0], "2 seeds, every rule holds with 0 of them");
    assert!(
        lines[1].starts_with("2 runs left out: The test could not be carried through: DB"),
        "{seeds}"
    );
}

#[test]
fn a_value_that_does_not_fit_is_a_row_and_the_others_stay() {
    let home = home(EXAMPLE);
    let more = ["--sweep=instance.0.database_size=8MiB,12TiB", "--json"];
    let output = simulate(home.path(), "mail.toml", "a", &more);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "brunt.points/1");
    assert!(json["points"][0]["io_per_s"].as_f64().unwrap() > 0.0);
    let refused = json["points"][1]["refused"].as_str().unwrap();
    assert!(refused.contains("do not fit on LUN"), "{refused}");
    let folder = only_folder(&home.path().join("a"));
    let kept = fs::read(folder.join("points.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), json);
    let scenario = fs::read_to_string(folder.join("scenario.toml")).unwrap();
    assert!(scenario.contains("[volumes]"), "{scenario}");
}

#[test]
fn the_largest_number_of_mailboxes_lies_between_one_that_passes_and_one_that_does_not() {
    // Cache enough for no stalls: the rate decides.
    let text =
        EXAMPLE.replace("database_size = \"40 GiB\"\n", "").replace("scheduling = \"none\"\n", "");
    let home =
        home(&format!("{text}\n[mailboxes]\ncount = 400\nquota = \"40 KiB\"\nio_per_s = 1.0\n"));
    let mut command = brunt(home.path());
    // With the twin: on a machine under load ten points of the engine itself took minutes.
    command.args(["simulate", "mail.toml", "--until-fail"]);
    command.args(["--duration=4s", "--set=test.min_warmup=2s"]);
    command.args(["--set=profile.cache_min=2MiB", "--set=profile.cache_max=8MiB"]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let folder = only_folder(&home.path().join("runs"));
    let points = fs::read(folder.join("points.json")).unwrap();
    let found = &serde_json::from_slice::<Value>(&points).unwrap()["found"];
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{found}"));
    let (passes, fails) = (number("mailboxes_per_server"), number("fails_from"));
    assert!(passes < fails && fails <= passes * 1.021 + 1.0, "{text}");
    // The rule that ends it stands below the answer.
    assert_eq!(found["limit"], "rules");
    let why = text.lines().nth(1).unwrap();
    assert!(why.starts_with("  ") && why.contains(" (limit "), "{text}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains(why.trim()), "{page}");
}
