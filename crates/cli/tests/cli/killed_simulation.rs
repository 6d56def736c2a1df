//! Simulations that are killed, and what their journals say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::program::{answer, brunt, keeps_to_the_schema, run_folder, said};

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-array.toml");

/// Rows of the whole server that must be there before the kill.
const SAMPLES: usize = 3;

/// Simulates a day of `servers`, and kills the program when it has recorded some samples of each.
fn killed(servers: &[&str]) -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let names: Vec<String> = servers.iter().map(|name| format!("{name:?}")).collect();
    let line = match servers {
        [] => String::new(),
        _ => format!("servers = [{}]\n", names.join(", ")),
    };
    let scenario = EXAMPLE.replacen("name =", &format!("{line}name ="), 1);
    fs::write(home.path().join("mail.toml"), scenario).unwrap();
    let mut command = brunt(home.path());
    command.args(["simulate", "mail.toml", "--duration=24h", "--set=test.min_warmup=2s"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let has_samples = |folder: &Path| {
        let text = fs::read_to_string(folder.join("counters.csv")).unwrap_or_default();
        text.matches(",database-read,").count() >= SAMPLES
    };
    let folder = loop {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        thread::sleep(Duration::from_millis(20));
        let Some(folder) = run_folder(home.path()) else { continue };
        let is_there = match servers {
            [] => has_samples(&folder),
            all => all.iter().all(|name| has_samples(&folder.join(name))),
        };
        if is_there {
            break folder;
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    (home, folder)
}

/// What `brunt report` says of it.
fn judged(home: &Path, folder: &Path) -> Value {
    let output = answer(home, &["report", folder.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    keeps_to_the_schema(&result);
    for (field, wanted) in [("verdict", "interrupted"), ("world", "virtual")] {
        assert_eq!(result[field], wanted, "{result:#}");
    }
    assert_eq!(result["qualifies"], false);
    assert!(result["times"]["ended"].is_null());
    assert!(result["storage"]["achieved_iops"].as_f64().unwrap() > 0.0);
    let rules = result["rules"].as_array().unwrap();
    let reads = rules.iter().filter(|rule| rule["id"] == "database-read-average");
    assert!(reads.clone().count() > 0 && reads.clone().all(|rule| rule["measured"].is_f64()));
    result
}

#[test]
fn a_simulation_that_was_killed_is_judged_by_its_journal() {
    let (home, folder) = killed(&[]);
    let outline: Value =
        serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
    assert!(outline["storage"]["achieved_iops"].is_null());
    let result = judged(home.path(), &folder);
    assert!(result["reasons"][0].as_str().unwrap().starts_with("a prediction: "), "{result:#}");
    let text = said(&answer(home.path(), &["report", folder.to_str().unwrap()]));
    assert!(text.contains("INTERRUPTED") && text.contains("it was killed"), "{text}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<svg"), "what it recorded is drawn");
    assert!(page.contains("Utilisation of drives"), "that of its array, too");
    let resumed = said(&answer(home.path(), &["run", "--resume", folder.to_str().unwrap()]));
    assert!(resumed.starts_with("error: "), "{resumed}");
}

#[test]
fn servers_of_a_simulation_that_was_killed_are_added_up() {
    let (home, folder) = killed(&["ANNA", "BERT"]);
    let result = judged(home.path(), &folder);
    let servers = result["storage"]["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    let iops = |result: &Value| result["storage"]["achieved_iops"].as_f64().unwrap();
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Utilisation of drives"));
    let own = ["ANNA", "BERT"].map(|name| iops(&judged(home.path(), &folder.join(name))));
    assert!((own[0] + own[1] - iops(&result)).abs() < 1e-6 * iops(&result));
    let sentence = result["storage"]["details"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("ANNA (interrupted), BERT (interrupted)"), "{sentence}");
    // A name in a result leads nowhere else.
    fs::rename(folder.join("BERT"), home.path().join("BERT")).unwrap();
    std::os::unix::fs::symlink(home.path().join("BERT"), folder.join("BERT")).unwrap();
    let output = answer(home.path(), &["report", folder.to_str().unwrap(), "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["storage"]["achieved_iops"].is_null(), "{result:#}");
}
