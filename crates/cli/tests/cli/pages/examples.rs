//! Every example runs to its end, and what its own text promises is looked for.
//!
//! Models run as they are, or with shorter times that keep the promise. What another test goes
//! through more closely is named by that test. An example without a line here fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{brunt, root};

/// How an example is looked at.
enum Look {
    /// Each command with its exit code, and what it must say; the example stands where `{}` does.
    Run(&'static [Line]),
    /// On a real folder, for a moment: nothing that is there may be wrong. How fast it was depends
    /// on the machine.
    Real(&'static str),
    /// By a test: its file below `crates`, and its name.
    By(&'static str, &'static str),
}
use Look::{By, Real, Run};

type Line = (&'static str, i32, &'static [&'static str]);

const PREDICTED: &[&str] = &["PREDICTED PASS"];
const DONE: &[&str] = &["DONE", "no data lost"];

/// Every example, and what it promises.
const EXAMPLES: &[(&str, Look)] = &[
    ("array.toml", Run(&[("simulate {} --duration=2min", 0, PREDICTED)])),
    (
        "copies.toml",
        By("cli/tests/cli/copies.rs", "both_copies_of_the_example_follow_and_equal_their_active"),
    ),
    ("demo.toml", Real("run {}")),
    (
        "distance.toml",
        Run(&[(
            "simulate {} --sweep link.rtt=1ms..2ms/2 --duration=1min",
            0,
            &["Every limit holds up to a round trip of", "With one path lost"],
        )]),
    ),
    ("fleet.toml", By("cli/tests/real/fleet/mod.rs", "the_demo_is_three_servers_of_this_machine")),
    ("loop-pair.toml", By("cli/tests/real/drill/pair.rs", "the_example_of_two_loop_devices")),
    (
        "lying-disk.toml",
        By("cli/tests/cli/lying_disk.rs", "every_lie_is_named_and_nothing_qualifies"),
    ),
    (
        "mail-events.toml",
        By("cli/tests/real/load/faults.rs", "the_example_with_events_keeps_its_word"),
    ),
    ("mail-on-array.toml", Run(&[("simulate {}", 0, PREDICTED)])),
    ("mail-on-pool.toml", By("cli/tests/cli/simulated_pool.rs", "fn small() -> String")),
    (
        "mail-replicated.toml",
        Run(&[(
            "simulate {} --engine bytes --duration=3min --set=test.min_warmup=30s --set=instance.0.database_size=16MiB --set=instance.1.database_size=16MiB --set=profile.cache_min=1MiB --set=profile.cache_max=2MiB",
            0,
            &["PREDICTED PASS", "pages verified"],
        )]),
    ),
    ("mail.toml", By("cli/tests/real/load/mod.rs", "a_scenario_describes_a_run_and_repeats_it")),
    ("org-search.toml", Run(&[("size {} --search --no-simulation", 0, &["drives"])])),
    (
        "org.toml",
        Run(&[
            ("size {}", 0, &["SIZED"]),
            ("size {} --write design.toml --quiet", 0, &[]),
            ("simulate design.toml --check", 0, &[]),
        ]),
    ),
    (
        "own-server.toml",
        By("cli/tests/real/load/foreign.rs", "the_example_of_own_servers_runs_to_its_end"),
    ),
    ("scenario.toml", Real("run {}")),
    (
        "two-folders.toml",
        Real(
            "drill {} --set=event.0.at=1s --set=event.1.at=1s --set=drill.after=1s --set=drill.sample=1s",
        ),
    ),
    ("two-servers.toml", Run(&[("simulate {}", 0, &["PREDICTED PASS", "MAIL2"])])),
    (
        "two-sites.toml",
        Run(&[
            (
                "drill {} --set=test.min_warmup=5s --set=drill.after=10s --set=event.0.at=5s --set=event.1.at=10s --set=event.2.at=20s",
                0,
                &[
                    "PREDICTED PASS",
                    "nothing that was acknowledged is lost",
                    "every record was read at the survivor",
                    "4 of 4 deliberately broken replicas were detected",
                ],
            ),
            (
                "drill {} --asynchronous --no-controls --set=test.min_warmup=5s --set=drill.after=10s --set=event.0.at=5s --set=event.1.at=10s --set=event.2.at=20s",
                2,
                &["NO LIMIT SET", "acknowledged commits lost", "set drill.recovery_point"],
            ),
        ]),
    ),
    ("arrays/flash-tier.toml", Run(&[("simulate {}", 0, &["DONE", "flash tier", "drive"])])),
    ("arrays/pool-degraded.toml", Run(&[("simulate {}", 0, DONE)])),
    ("arrays/pool-healthy.toml", Run(&[("simulate {}", 0, DONE)])),
    (
        "arrays/pool-rebuilding.toml",
        Run(&[(
            "simulate {} --duration=6min --set=event.1.at=4min",
            0,
            &["DONE", "no data lost", "rebuilding drive 2 onto all others", "drive 2 is back"],
        )]),
    ),
    ("arrays/raid10-degraded.toml", Run(&[("simulate {}", 0, DONE)])),
    ("arrays/raid10-healthy.toml", Run(&[("simulate {}", 0, DONE)])),
    (
        "arrays/raid10-rebuilding.toml",
        Run(&[(
            "simulate {} --duration=6min --set=event.1.at=4min",
            0,
            &["DONE", "no data lost", "rebuilding drive 2 onto drive 8", "drive 2 is back"],
        )]),
    ),
    (
        "arrays/raid5-degraded.toml",
        By("cli/tests/cli/simulated_load.rs", "a_simulation_of_load_leaves_a_page_and_its_numbers"),
    ),
    ("arrays/raid5-healthy.toml", Run(&[("simulate {}", 0, DONE)])),
    (
        "arrays/raid5-lost.toml",
        Run(&[("simulate {}", 1, &["LOST", "second failure during rebuild"])]),
    ),
    (
        "arrays/raid5-rebuilding.toml",
        Run(&[(
            "simulate {} --duration=6min",
            0,
            &["DONE", "no data lost", "rebuilding drive 2 onto drive 5"],
        )]),
    ),
    (
        "arrays/replicated-volumes.toml",
        Run(&[(
            "simulate {} --duration=20min --set=event.1.at=11min --set=event.2.at=14min --set=event.3.at=16min",
            0,
            &["DONE", "mail: ", "kept, the newest", "is a clone of \"mail replica"],
        )]),
    ),
    (
        "arrays/storage-pool.toml",
        Run(&[(
            "simulate {} --duration=7min --set=event.2.at=5min",
            0,
            &["DONE", "no data lost", "has joined"],
        )]),
    ),
    (
        "arrays/thin-snapshots.toml",
        Run(&[(
            "simulate {} --duration=40min",
            0,
            &["DONE", "writes that need a new page fail", "removed"],
        )]),
    ),
    (
        "arrays/two-sites.toml",
        Run(&[("simulate {}", 0, &["DONE", "largest write history log", "after the return"])]),
    ),
];

/// Makes a run on a real folder small.
const SMALL: &str = "--json --set=profile.cache_min=1MiB --set=profile.cache_max=4MiB --set=instance.0.database_size=16MiB --set=instance.1.database_size=16MiB";

/// Runs `line` in `home`, which has the examples: exit code, stdout, and both streams.
fn run(home: &Path, line: &str) -> (Option<i32>, String, String) {
    let output = brunt(home).args(line.split_whitespace()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (data, talk) = (text(&output.stdout), text(&output.stderr));
    let both = format!("{data}{talk}");
    (output.status.code(), data, both)
}

/// Goes through one example: what is wrong with it.
fn go_through((name, look): &(&str, Look)) -> Vec<String> {
    // Not below /tmp, which may be in memory, where direct I/O is refused.
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut wrong = Vec::new();
    let file = Path::new(name).file_name().unwrap();
    fs::copy(root().join("examples").join(name), home.path().join(file)).unwrap();
    let file = file.to_str().unwrap();
    match look {
        Run(lines) => {
            for (line, code, says) in *lines {
                let line = line.replace("{}", file);
                let (ended, _, said) = run(home.path(), &line);
                let missing = says.iter().find(|words| !said.contains(**words));
                if ended != Some(*code) || missing.is_some() {
                    wrong.push(format!("brunt {line}: {ended:?}, lacks {missing:?}\n{said}"));
                }
            }
        }
        Real(line) => {
            let line = format!("{} {SMALL}", line.replace("{}", file));
            let (ended, data, said) = run(home.path(), &line);
            let result: Value = serde_json::from_str(&data).unwrap_or_default();
            let rules = result["rules"].as_array().cloned().unwrap_or_default();
            let is_broken =
                |rule: &&Value| rule["group"] == "integrity" && rule["outcome"] == "failed";
            let broken: Vec<&Value> = rules.iter().filter(is_broken).collect();
            let lost = result["drill"]["rpo"]["transactions"].as_u64();
            let is_whole = !rules.is_empty() && broken.is_empty() && lost.unwrap_or(0) == 0;
            if !is_whole || result["verdict"] == "error" {
                wrong.push(format!("brunt {line}: {ended:?}, {broken:?}, {lost:?}\n{said}"));
            }
        }
        By(path, test) => {
            let text = fs::read_to_string(root().join("crates").join(path)).unwrap();
            if !text.contains(test) || !text.contains(file) {
                wrong.push(format!("{name}: {path} has no {test} of it"));
            }
        }
    }
    wrong
}

/// Examples under way at a time.
const AT_ONCE: usize = 2;

/// Goes through those for which `choose` is true.
fn keep_their_promise(choose: fn(&str, &Look) -> bool) {
    let chosen = EXAMPLES.iter().filter(|(name, look)| choose(name, look));
    let (left, wrong) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(example) = { left.lock().unwrap().next() } {
                    let of_it = go_through(example);
                    wrong.lock().unwrap().extend(of_it);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn is_raw_load(name: &str) -> bool {
    name.starts_with("arrays/")
}

#[test]
fn examples_of_raw_load_keep_their_promise() {
    keep_their_promise(|name, _| is_raw_load(name));
}

#[test]
fn examples_of_models_keep_their_promise() {
    keep_their_promise(|name, look| !is_raw_load(name) && !matches!(look, Real(_)));
}

#[test]
fn examples_on_real_folders_keep_their_promise() {
    keep_their_promise(|_, look| matches!(look, Real(_)));
}

#[test]
fn every_example_has_a_line_here() {
    let in_folder = |folder: &str| {
        let entries = fs::read_dir(root().join("examples").join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.ends_with(".toml"));
        names.map(|name| format!("{folder}{name}")).collect::<BTreeSet<_>>()
    };
    let there: BTreeSet<String> = in_folder("").into_iter().chain(in_folder("arrays/")).collect();
    let here: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, here);
}
