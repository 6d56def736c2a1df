//! From a simulated test to a paper, and back: what `brunt paper`, `brunt verify PAPER.pdf` and
//! `brunt import` do to files.

use std::fs;
use std::path::Path;
use std::process::Command;

use brunt_paper::audit::Audit;
use brunt_paper::{Evidence, Paper, RunFiles};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::program::{answer, said};

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-array.toml");
const CONFIG: &str = include_str!("../../../jetstress/tests/JetstressConfig.xml");

/// The example, made small enough for a test.
const SMALL: [&str; 5] = [
    "--duration=60s",
    "--set=test.min_warmup=2s",
    "--set=instance.0.database_size=256MiB",
    "--set=instance.1.database_size=256MiB",
    "--complete",
];

/// A folder with a run in it: `run`.
fn home() -> TempDir {
    home_of(&[])
}

/// The same, with more options.
fn home_of(more: &[&str]) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("mail.toml"), EXAMPLE).unwrap();
    let words = [&["simulate", "mail.toml", "--out", "runs"][..], &SMALL, more].concat();
    let made = answer(home.path(), &words);
    assert_ne!(made.status.code(), Some(2), "{}", said(&made));
    let mut runs = fs::read_dir(home.path().join("runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    fs::rename(run, home.path().join("run")).unwrap();
    home
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_paper_is_made_checked_and_taken_apart() {
    let home = home();
    let home = home.path();
    let made = answer(home, &["paper", "run", "--out", "a.pdf"]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    assert!(said(&made).contains("brunt verify a.pdf"), "{}", said(&made));
    assert!(!said(&made).contains("doubtful"), "{}", said(&made));
    // A paper replaces a paper, and equal runs give equal bytes.
    let first = fs::read(home.join("a.pdf")).unwrap();
    answer(home, &["paper", "run", "--out", "a.pdf"]);
    assert!(first == fs::read(home.join("a.pdf")).unwrap());

    let checked = answer(home, &["verify", "a.pdf", "--extract", "kept"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    assert!(said(&checked).contains("follow from the evidence"));
    assert_eq!(names(&home.join("kept")), ["paper.json", "run1"]);
    let result = |folder: &str| fs::read(home.join(folder).join("result.json")).unwrap();
    assert!(result("run") == result("kept/run1"));
    let report = answer(home, &["report", "kept/run1"]);
    assert_eq!(report.status.code(), Some(0), "{}", said(&report));
    // What is there is not written over.
    let again = answer(home, &["verify", "a.pdf", "--extract", "kept"]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));

    let line = answer(home, &["verify", "--json", "a.pdf"]);
    let line: serde_json::Value = serde_json::from_slice(&line.stdout).unwrap();
    assert_eq!((&line["kind"], &line["runs"]), (&"paper".into(), &1.into()));
    assert_eq!(line["differences"], serde_json::json!([]));

    // Saved again by another program, it is not judged, and the paper that follows is there.
    let rewritten = [first.as_slice(), b"\n"].concat();
    fs::write(home.join("b.pdf"), rewritten).unwrap();
    let other = answer(home, &["verify", "b.pdf"]);
    assert_eq!(other.status.code(), Some(2), "{}", said(&other));
    assert!(said(&other).contains("NOT JUDGED  "), "{}", said(&other));
    assert!(said(&other).contains("--paper FILE.pdf"), "{}", said(&other));
    let other = answer(home, &["verify", "b.pdf", "--paper", "c.pdf"]);
    assert_eq!(other.status.code(), Some(2), "{}", said(&other));
    assert!(first == fs::read(home.join("c.pdf")).unwrap());
    let two = answer(home, &["verify", "a.pdf", "b.pdf", "--paper", "c.pdf"]);
    assert_eq!(two.status.code(), Some(2), "{}", said(&two));

    let page = answer(home, &["paper", "run", "--out", "a.html"]);
    assert!(said(&page).contains("only a PDF carries the evidence"), "{}", said(&page));
}

#[test]
fn a_page_to_sign_says_what_is_missing() {
    let home = home();
    let home = home.path();
    let made = answer(home, &["handover", "."]);
    assert_eq!(made.status.code(), Some(2), "{}", said(&made));
    let words = said(&made);
    assert!(words.contains("INCONCLUSIVE  Not tested: backup, recovery. "), "{words}");
    assert!(words.contains("brunt verify signoff.pdf"), "{words}");
    let checked = answer(home, &["verify", "signoff.pdf"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    answer(home, &["handover", "run", "--out", "a.json"]);
    let page: serde_json::Value =
        serde_json::from_slice(&fs::read(home.join("a.json")).unwrap()).unwrap();
    assert_eq!(page["schema"], "brunt.handover/1");
    assert_eq!(page["tests"][2]["verdict"], "missing");
    let other = home.join("other");
    fs::create_dir(&other).unwrap();
    for file in fs::read_dir(home.join("run")).unwrap() {
        let from = file.unwrap().path();
        fs::copy(&from, other.join(from.file_name().unwrap())).unwrap();
    }
    let result = fs::read_to_string(other.join("result.json")).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&result).unwrap();
    result["storage"]["servers"][0]["name"] = "mail2".into();
    fs::write(other.join("result.json"), result.to_string()).unwrap();
    let two = answer(home, &["handover", "run", "other"]);
    assert_eq!(two.status.code(), Some(2), "{}", said(&two));
    assert!(said(&two).contains("the runs are of 2 servers"), "{}", said(&two));
    assert!(said(&two).contains("brunt handover other --out signoff-mail2.pdf"), "{}", said(&two));
    let nothing = answer(home, &["handover", "run/nothing"]);
    assert!(said(&nothing).contains("run/nothing: "), "{}", said(&nothing));
    let format = answer(home, &["handover", "run", "--out", "a.docx"]);
    assert!(said(&format).contains("is a .pdf, an .html or a .json"), "{}", said(&format));
}

/// Somebody changes a result and makes the paper again: it contradicts its tables.
#[test]
fn a_result_that_was_changed_before_is_found_by_its_tables() {
    let home = home();
    let home = home.path();
    let path = home.join("run/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rate = result["storage"]["achieved_iops"].as_f64().unwrap();
    result["storage"]["achieved_iops"] = (rate * 1.5).into();
    fs::write(&path, result.to_string()).unwrap();
    let made = answer(home, &["paper", "run", "--out", "a.pdf"]);
    assert!(
        said(&made).contains("doubtful      run1: achieved I/Os per second is "),
        "{}",
        said(&made)
    );
    let checked = answer(home, &["verify", "a.pdf"]);
    assert_eq!(checked.status.code(), Some(1), "{}", said(&checked));
    assert!(said(&checked).contains("achieved I/Os per second, by counters.csv is "));
}

/// What is wrong in the paper of a run whose files `change` has changed.
fn audit(run: &RunFiles, change: impl FnOnce(&mut Value, &mut RunFiles)) -> Audit {
    let mut run = run.clone();
    let result = run.bytes("result.json").unwrap();
    let mut result: Value = serde_json::from_slice(result).unwrap();
    let origin = &result["origin"];
    let program = match origin["commit"].as_str() {
        Some(commit) => format!("{} ({commit})", origin["version"].as_str().unwrap()),
        None => origin["version"].as_str().unwrap().to_owned(),
    };
    change(&mut result, &mut run);
    run.files[0].bytes = result.to_string().into_bytes();
    let evidence = Evidence { program, runs: vec![run], ..Evidence::default() };
    Paper::new(&evidence).unwrap().audit
}

fn rule<'r>(result: &'r mut Value, id: &str) -> &'r mut Value {
    let rules = result["rules"].as_array_mut().unwrap();
    rules.iter_mut().find(|rule| rule["id"] == id).unwrap()
}

fn leave_out(result: &mut Value, id: &str) {
    let rules = result["rules"].as_array_mut().unwrap();
    rules.retain(|rule| rule["id"] != id);
}

type Forgery<'f> = Box<dyn FnOnce(&mut Value, &mut RunFiles) + 'f>;

/// What only remarks and the test log say.
fn said_beside() -> [(&'static str, Forgery<'static>); 2] {
    [
        (
            "database read, worst sample, remark",
            Box::new(|result, _| {
                rule(result, "database-read-worst")["remark"] = "none is slow".into();
            }),
        ),
        (
            "device agrees, by the test log",
            Box::new(|result, _| {
                rule(result, "device-agrees")["measured"] = 100.0.into();
            }),
        ),
    ]
}

/// An editor of texts is enough to change a result; its tables and its scenario contradict it.
#[test]
fn each_forged_result_contradicts_its_evidence() {
    let home = home_of(&["--set=test.target_io_per_s=1000", "--set=test.headroom_percent=0"]);
    let folder = home.path().join("run");
    let run = RunFiles::read("run", |name| brunt_report::open_in(&folder, name)).unwrap();
    let honest = audit(&run, |_, _| {});
    assert_eq!((honest.wrong, honest.unproven), (vec![], vec![]));
    let measured = |id: &'static str, value: f64| {
        move |result: &mut Value, _: &mut RunFiles| rule(result, id)["measured"] = value.into()
    };
    let instance = "/storage/servers/0/instances/0";
    let forgeries: Vec<(&str, Forgery<'_>)> = vec![
        ("achieved database I/O, measured", Box::new(measured("achieved-io", 6_000.0))),
        ("database read, average, measured", Box::new(measured("database-read-average", 1.0))),
        ("database read, worst sample, measured", Box::new(measured("database-read-worst", 1.0))),
        ("log write, worst sample, measured", Box::new(measured("log-write-worst", 0.01))),
        ("tail, database read p99.9, measured", Box::new(measured("tail-database-read", 1.0))),
        (
            "the limit of database read, average",
            Box::new(|result, _| {
                rule(result, "database-read-average")["limit"] = 200.0.into();
            }),
        ),
        (
            "outcome of I/O errors",
            Box::new(|result, _| {
                let errors = rule(result, "io-errors");
                errors["measured"] = 3.0.into();
                errors["outcome"] = "advisory".into();
            }),
        ),
        (
            "outcome of page-fault stalls, average",
            Box::new(|result, _| {
                let stalls = rule(result, "page-fault-stalls");
                stalls["outcome"] = "not judged".into();
            }),
        ),
        (
            "outcome of database read, average",
            Box::new(|result, _| {
                rule(result, "database-read-average")["outcome"] = "failed".into();
            }),
        ),
        (
            "seconds of the collection, by counters.csv",
            Box::new(|result, _| {
                result["times"]["collection_s"] = 7_200.0.into();
                result["reasons"] = json!(["a prediction"]);
            }),
        ),
        (
            "a reason against a qualification",
            Box::new(|result, _| {
                result["reasons"] = json!([]);
                result["qualifies"] = true.into();
            }),
        ),
        (
            "records verified, measured",
            Box::new(|result, _| {
                let mut found =
                    json!({"records": 1000, "records_checked": 1000, "versions_known": 1000});
                found["lost"] = 500.into();
                for none in ["stale", "phantom", "torn"] {
                    found[none] = 0.into();
                }
                result["storage"]["integrity"] = found;
                let rule = rule(result, "records-verified");
                rule["measured"] = 0.0.into();
                rule["outcome"] = "ok".into();
            }),
        ),
        ("the rule pages verified", Box::new(|result, _| leave_out(result, "pages-verified"))),
        ("the rule achieved database I/O", Box::new(|result, _| leave_out(result, "achieved-io"))),
        (
            "target, I/Os per second",
            Box::new(|result, _| {
                result["storage"]["target_iops"] = 10.0.into();
            }),
        ),
        (
            "the sentence of the verdict",
            Box::new(|result, _| {
                result["storage"]["details"]["sentence"] = "This storage held 9,999 I/Os.".into();
            }),
        ),
        (
            "profile",
            Box::new(|result, _| {
                result["storage"]["details"]["setup"]["profile"] = "exchange-2013".into();
            }),
        ),
        (
            "Instance 1, database read, p99, by latency.hlog",
            Box::new(move |result, _| {
                *result.pointer_mut(&format!("{instance}/db_read_latency/p99_ms")).unwrap() =
                    1.0.into();
            }),
        ),
        (
            "seconds of the collection, by counters.csv",
            Box::new(|_, run| {
                let head = run.files[3].bytes.iter().position(|byte| *byte == b'\n');
                run.files[3].bytes.truncate(head.unwrap() + 1);
            }),
        ),
        (
            "latencies of DB1.read in latency.hlog",
            Box::new(|_, run| {
                run.files[4].bytes.retain(|byte| *byte != b'A');
            }),
        ),
    ];
    for (what, change) in forgeries.into_iter().chain(said_beside()) {
        let found = audit(&run, change);
        assert!(found.wrong.iter().any(|wrong| wrong.what == what), "{what}: {:#?}", found.wrong);
    }
    // Without a table, or by another version, nothing is contradicted, and nothing is proven.
    let found = audit(&run, |_, run| drop(run.files.remove(3)));
    assert_eq!(found.wrong, []);
    assert_eq!(found.unproven, ["run1 has no counters.csv"]);
    let found = audit(&run, |result, _| {
        result["origin"]["commit"] = "0123456".into();
        leave_out(result, "pages-verified");
    });
    assert_eq!(found.wrong, []);
    assert!(found.unproven[0].starts_with("run1 was tested by brunt "), "{:?}", found.unproven);
}

/// The figures of both halves of a prediction are in its tables, however early it stopped.
#[test]
fn a_prediction_that_stopped_early_is_held_to_its_tables() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("mail.toml"), EXAMPLE).unwrap();
    let words = ["simulate", "mail.toml", "--out", "runs", "--duration=30min"];
    let sets = ["test.min_warmup=2s", "test.precision=10%", "test.operations_per_s=60"];
    let sets = sets.map(|set| format!("--set={set}"));
    let words = words.into_iter().chain(sets.iter().map(String::as_str));
    let made = answer(home.path(), &words.collect::<Vec<_>>());
    let folder = fs::read_dir(home.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let run = RunFiles::read("run", |name| brunt_report::open_in(&folder, name)).unwrap();
    let result: Value = serde_json::from_slice(run.bytes("result.json").unwrap()).unwrap();
    let precision = &result["storage"]["precision"];
    assert_eq!(precision["stopped_early"], true, "{}", said(&made));
    let honest = audit(&run, |_, _| {});
    assert_eq!((honest.wrong, honest.unproven), (vec![], vec![]));
    let found = audit(&run, |result, _| {
        rule(result, "database-read-average")["measured"] = 1.0.into();
    });
    let what: Vec<&str> = found.wrong.iter().map(|wrong| wrong.what.as_str()).collect();
    assert!(what.contains(&"database read, average, measured"), "{what:?}");
}

/// Tables of each server stay in its own folder.
#[test]
fn several_servers_in_one_simulation_are_not_proven() {
    let home = home_of(&["--set=servers=[\"A\", \"B\"]", "--set=test.operations_per_s=20"]);
    let folder = home.path().join("run");
    let run = RunFiles::read("run", |name| brunt_report::open_in(&folder, name)).unwrap();
    let found = audit(&run, |_, _| {});
    assert_eq!(found.wrong, []);
    let [unproven] = found.unproven.as_slice() else {
        panic!("{:?}", found.unproven);
    };
    assert!(unproven.starts_with("run1 is of 2 servers in one simulation"), "{unproven}");
    let found = audit(&run, |result, _| {
        result["storage"]["achieved_iops"] = 9_999.0.into();
    });
    let what: Vec<&str> = found.wrong.iter().map(|wrong| wrong.what.as_str()).collect();
    assert_eq!(what, ["achieved I/Os per second"]);
}

#[test]
fn what_keeps_a_paper_from_being_made_leaves_nothing_behind() {
    let home = home();
    let home = home.path();
    let told = |words: &[&str], code| {
        let before = names(home);
        let output = answer(home, words);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert_eq!(names(home), before);
        said(&output)
    };
    fs::write(home.join("mine.pdf"), "%PDF-1.4 mine").unwrap();
    let mine = told(&["paper", "run", "--out", "mine.pdf"], 2);
    assert!(mine.contains("mine.pdf: is not a paper of brunt, and is left alone"), "{mine}");
    assert_eq!(fs::read(home.join("mine.pdf")).unwrap(), b"%PDF-1.4 mine");
    let word = told(&["paper", "run", "--out", "a.docx"], 2);
    assert!(word.contains("a.docx: a paper is a .pdf or an .html"), "{word}");
    let none = told(&["paper", "mail.toml"], 2);
    assert!(none.contains("mail.toml: is not the folder of a run"), "{none}");
    let twice = told(&["paper", "run", "run"], 2);
    assert!(twice.contains("the performance runs are not one test: run "), "{twice}");
    let nothing = told(&["paper", "run", "--solution", "mail.toml"], 2);
    assert!(nothing.contains("mail.toml: has no [solution]"), "{nothing}");
    let broken = told(&["verify", "mine.pdf"], 2);
    assert!(broken.contains("mine.pdf: cannot be read as a PDF: "), "{broken}");
    // A run whose host died.
    let path = home.join("run/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    result["times"]["ended"] = serde_json::Value::Null;
    fs::write(&path, result.to_string()).unwrap();
    let died = told(&["paper", "run"], 2);
    assert!(died.contains("run: did not end"), "{died}");
}

#[test]
fn a_configuration_of_jetstress_becomes_a_scenario() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let utf_16: Vec<u8> = CONFIG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf_16 = [&[0xff, 0xfe], utf_16.as_slice()].concat();
    fs::write(home.join("JetstressConfig.xml"), utf_16).unwrap();
    let map = format!("C:\\Volumes={}", home.join("volumes").display());
    let words = ["import", "JetstressConfig.xml", "--map", &map];
    let made = answer(home, &words);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let told = said(&made);
    assert!(told.contains("not supported line "), "{told}");
    assert!(told.contains("MaxVerPages = 8192: "), "{told}");
    let text = fs::read_to_string(home.join("JetstressConfig.toml")).unwrap();
    assert!(text.contains("volumes/Vol1/DB1/Jetstress001001.edb"), "{text}");
    let again = answer(home, &words);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("JetstressConfig.toml: exists, and is left alone"));
}

/// Twenty streams that lie over each other, of nearly 60 MiB each.
fn overlapping() -> Vec<u8> {
    const COUNT: usize = 20;
    let content = vec![b'0'; 60 << 20];
    let tail = b"\nendstream\nendobj\n";
    let heads = |end: usize| {
        let mut heads = b"%PDF-1.7\n".to_vec();
        let mut places = Vec::new();
        for number in 1..=COUNT {
            places.push(heads.len());
            // Eight digits whatever the length.
            let length = end.saturating_sub(heads.len() + 37);
            heads.extend(format!("{number:02} 0 obj\n<</Length {length:08}>>\nstream\n").bytes());
        }
        (heads, places)
    };
    let end = heads(0).0.len() + content.len();
    let (heads, places) = heads(end);
    let mut file = [heads.as_slice(), &content, tail].concat();
    let xref = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", COUNT + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = COUNT + 1;
    file.extend(
        format!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{xref}\n%%EOF\n").bytes(),
    );
    file
}

/// A file of 60 MiB takes 1.2 GiB, or time without end.
#[test]
fn a_file_that_takes_too_much_to_read_is_not_judged() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    fs::write(home.join("wide.pdf"), overlapping()).unwrap();
    let wide = answer(home, &["verify", "wide.pdf"]);
    assert_eq!(wide.status.code(), Some(2), "{}", said(&wide));
    let wanted = "wide.pdf: needs more than 1 GiB of memory, which no paper does";
    assert!(said(&wide).contains(wanted), "{}", said(&wide));
    assert!(said(&wide).contains("NOT JUDGED  "), "{}", said(&wide));
    let line = answer(home, &["verify", "wide.pdf", "--json"]);
    let line: Value = serde_json::from_slice(&line.stdout).unwrap();
    assert!(line["error"].as_str().unwrap().starts_with("needs more than 1 GiB"), "{line}");

    let array =
        [b"%PDF-1.7\n1 0 obj\n[".as_slice(), &b"0 ".repeat(20 << 20), b"]\nendobj\n"].concat();
    let xref = array.len();
    let end = format!(
        "xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<</Size 2/Root 1 0 R>>\nstartxref\n{xref}\n%%EOF\n"
    );
    fs::write(home.join("long.pdf"), [array.as_slice(), end.as_bytes()].concat()).unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -St 1; exec \"$0\" verify long.pdf", env!("CARGO_BIN_EXE_brunt")]);
    let long = limited.current_dir(home).env("NO_COLOR", "1").output().unwrap();
    assert_eq!(long.status.code(), Some(2), "{}", said(&long));
    let wanted = "long.pdf: needs more than 1.0 s of processor time, which no paper does";
    assert!(said(&long).contains(wanted), "{}", said(&long));
}
