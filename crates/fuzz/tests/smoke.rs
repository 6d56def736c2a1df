//! A short run of every target, with the same inputs every time.
//!
//! ```text
//!    BRUNT_FUZZ=N              N times as many inputs
//!    BRUNT_FUZZ_TARGET=NAME    that target alone
//!    BRUNT_FUZZ_INPUT=PATH     that input alone
//! ```
//!
//! Memory is measured from outside: a target that trusts a length field would ask for gigabytes.
//! Each input is saved before it runs, so that an input that kills the process can be run again.

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use brunt_fuzz::mutate::mutate;
use brunt_fuzz::targets::{ALL, CANARY, Target};
use brunt_world::random::{Stream, Streams};

/// Inputs per target, times `BRUNT_FUZZ`.
const INPUTS: u64 = 300;
/// Memory limit in bytes for all targets together.
const MEMORY_MAX: u64 = 1 << 30;

fn inputs() -> u64 {
    let times = env::var("BRUNT_FUZZ").map_or(1, |text| text.parse().unwrap());
    INPUTS * times
}

/// Where the current or last input of `target` is saved.
fn kept(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(target.name)
}

/// Runs mutated seeds until the target panics or takes too much memory, and reports that input.
fn attempt(target: &Target, inputs: u64) -> Result<(), String> {
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut draw = Streams::new(1).named(target.name);
    let pick = |draw: &mut Stream| {
        let at = draw.below(seeds.len() as u64);
        &seeds[usize::try_from(at).unwrap()]
    };
    for number in 0..inputs {
        let (seed, other) = (pick(&mut draw), pick(&mut draw));
        let input = match number {
            0 => seed.clone(),
            _ => mutate(&mut draw, seed, other),
        };
        attempt_one(target, &input)?;
    }
    Ok(())
}

fn attempt_one(target: &Target, input: &[u8]) -> Result<(), String> {
    fs::write(kept(target), input).unwrap();
    let tried = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    if let Err(panic) = tried {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        return Err(said.unwrap_or_default());
    }
    let peak = memory_peak();
    if peak > MEMORY_MAX {
        return Err(format!("{peak} bytes of memory"));
    }
    Ok(())
}

/// Peak memory of this process; `proc_pid_status(5)`.
fn memory_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kibibytes.trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn no_target_panics_and_none_takes_memory_without_end() {
    let wanted = env::var("BRUNT_FUZZ_TARGET").ok();
    let input = env::var("BRUNT_FUZZ_INPUT").ok();
    let is_wanted = |target: &&Target| wanted.as_deref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = ALL.iter().filter(is_wanted).collect();
    assert!(!targets.is_empty(), "no target is called {wanted:?}");
    for target in targets {
        let tried = match &input {
            Some(path) => attempt_one(target, &fs::read(path).unwrap()),
            None => attempt(target, inputs()),
        };
        if let Err(said) = tried {
            let kept = kept(target);
            panic!("{}: {said}\nthe input is in {}", target.name, kept.display());
        }
        println!("{}: {} MiB at most", target.name, memory_peak() >> 20);
    }
}

#[test]
fn the_canary_is_heard() {
    let found = attempt(&CANARY, 2_000);
    assert_eq!(found, Err("the canary is dead".to_owned()));
}

#[test]
fn cargo_fuzz_has_every_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut wanted = Vec::new();
    for target in ALL.iter().chain([&CANARY]) {
        let file = format!("fuzz_targets/{}.rs", target.name);
        assert!(manifest.contains(&file), "{file} is not in the manifest");
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        let call = match target.name {
            "instance" | "messages" => format!("{}::run(bytes)", target.name),
            name => format!("targets::{name}(bytes)"),
        };
        assert!(text.contains(&call), "{file}: {call}");
        wanted.push(file);
    }
    let files = fs::read_dir(folder.join("fuzz_targets")).unwrap().count();
    assert_eq!(files, wanted.len());
}
