//! `brunt run` on real files, killed with SIGKILL at random moments, and what it leaves checked
//! against a journal that another process has kept: this one.
//!
//! ```text
//!    brunt run  --- a line for each commit asked for and acknowledged --->  pipe ---> this test
//!       | SIGKILL, sometimes again while the next one recovers
//!       v
//!    files  ---> opened here: recovery ---> every record read ---> compared with what was before and with the journal
//! ```
//!
//! Every other process works in two shards.
//!
//! A killed process leaves the caches of kernel and device full, so this does not try the storage:
//! it tries that the program hands everything to the kernel before it acknowledges, and recovers
//! what it finds. What must be durable is tried in `crates/testkit/tests/testkit/real_world.rs`.
//!
//! The other test (`phases`) aims its kills at each phase of a test: creation, work, growth,
//! backup, restore, clean-up, recovery.
//!
//! The long forms: `BRUNT_LONG=1 cargo test --release -p brunt-cli --test real -- --nocapture
//! phases`, and `BRUNT_CRASHES=300 cargo test --release -p brunt-cli --test real -- --nocapture
//! crash`.

mod journal;
pub(crate) mod look;
mod phases;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use brunt_world::random::{Stream, Streams};
use brunt_world_real::{Options, RealWorld};
use journal::{Tally, commits, compare};
use look::{SCENARIO, look};
use tempfile::TempDir;

/// Crashes of the short form.
const CRASHES: u64 = 6;
/// A process that has begun to commit lives for so long at most.
const LIFE_MAX_MS: u64 = 400;
/// A process that recovers lives for so long at most.
const RECOVERY_MAX_MS: u64 = 80;

fn brunt(folder: &Path, scenario: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command
        .args(["run", scenario, "--quiet"])
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Lets sessions work for a while, kills the program, and returns what it has told.
fn live_and_die(folder: &Path, shards: u64, draw: &mut Stream) -> String {
    let seed = draw.below(1 << 40).to_string();
    let shards = format!("--set=engine.shards={shards}");
    let mut child: Child = brunt(folder, "crash.toml", &["--seed", &seed, &shards])
        .env("BRUNT_WITNESS", "/dev/stdout")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut first = [0];
    pipe.read_exact(&mut first).expect("a first commit");
    let rest = thread::spawn(move || {
        let mut told = Vec::new();
        pipe.read_to_end(&mut told).unwrap();
        told
    });
    thread::sleep(Duration::from_micros(draw.below(LIFE_MAX_MS * 1_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    let told = [first.to_vec(), rest.join().unwrap()].concat();
    String::from_utf8(told).unwrap()
}

/// Begins a program that recovers and then waits for its time to begin, and kills it meanwhile.
fn die_in_recovery(folder: &Path, draw: &mut Stream) {
    let mut child = brunt(folder, "crash.toml", &["--start-at", "2999-01-01T00:00:00Z"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_micros(draw.below(RECOVERY_MAX_MS * 1_000)));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let crashes = std::env::var("BRUNT_CRASHES").map_or(CRASHES, |text| text.parse().unwrap());
    let seed = std::env::var("BRUNT_SEED").map_or(1, |text| text.parse().unwrap());
    let mut draw = Streams::new(seed).named("crashes");
    // Not below /tmp, which may be a file system in memory.
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(home.path().join("crash.toml"), SCENARIO).unwrap();
    // The first process makes the databases; what is in them then is where the comparison begins.
    let mut before = None;
    let mut tally = Tally::default();
    let mut real = RealWorld::new(&Options::default()).unwrap();
    for crash in 0..crashes {
        // One shard and two in turn.
        let told = live_and_die(home.path(), 1 + crash.rem_euclid(2), &mut draw);
        for _ in 0..draw.below(3) {
            die_in_recovery(home.path(), &mut draw);
            tally.killed_again += 1;
        }
        let after =
            look(&mut real, home.path()).unwrap_or_else(|what| panic!("crash {crash}: {what}"));
        if let Some(before) = &before {
            let compared = compare(before, &after, &commits(&told));
            match compared {
                Ok(found) => tally.add(found),
                Err(what) => panic!("crash {crash} with BRUNT_SEED={seed}: {what}"),
            }
        }
        before = Some(after);
    }
    println!("{crashes} kills: {tally}");
    assert!(tally.hard > 0, "{tally}");
}
