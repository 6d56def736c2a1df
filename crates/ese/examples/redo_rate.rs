//! Measures log replay: `redo_rate DIRECTORY LOGS [written]` prints one line of JSON.
//!
//! Creates a small database in DIRECTORY, replaces its messages with lazy commits until LOGS log
//! files of 1 MiB are full, and drops the engine, like a crash. The checkpoint depth is so large
//! that the checkpoint has not moved, and the cache so large that redo reads each page once. With
//! `written`, all pages are written first, so redo only verifies that nothing is missing. Then
//! opens the database again in a new world. The clock runs until it is open.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result is what this program is for"
)]

mod mailbox;

use std::process::ExitCode;
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_ese::instance::Circular;
use brunt_units::ByteSize;
use brunt_world::World;
use brunt_world_real::facts::process_use;
use brunt_world_real::{Options, RealWorld};
use mailbox::Opening;

/// Size of the database; the whole database is changed.
const DATABASE_BYTES: u64 = 32 << 20;

/// Works until `logs` log files are full, and flushes the log.
async fn work(
    world: World,
    opening: Rc<Opening>,
    logs: u32,
    written: bool,
) -> Result<(), EngineError> {
    let instance = mailbox::fill_logs(&world, &opening, DATABASE_BYTES, logs).await?;
    if written {
        instance.cache().write_all(0).await?;
        instance.cache().sync(0).await?;
    }
    Ok(())
}

/// Opens the files left behind.
async fn recover(world: World, opening: Rc<Opening>) -> Result<serde_json::Value, EngineError> {
    let (begun, before) = (world.clock.now(), process_use().unwrap_or_default());
    let (instance, report) = opening.open(&world).await?;
    let seconds = (world.clock.now() - begun).as_seconds();
    let after = process_use().unwrap_or_default();
    let cpu = (after.user - before.user) + (after.system - before.system);
    let reads =
        instance.cache().meters().with(|meters| meters.databases[0].reads.close_interval().count);
    Ok(serde_json::json!({
        "logs": report.generations,
        "records": report.records,
        "changes": report.changes,
        "page_reads": reads,
        "seconds": seconds,
        "logs_per_second": f64::from(report.generations) / seconds,
        "cpu_seconds": cpu.as_seconds(),
    }))
}

fn run(opening: Opening, logs: u32, written: bool) -> Result<serde_json::Value, EngineError> {
    let opening = Rc::new(opening);
    let mut real = RealWorld::new(&Options::default()).expect("a real world");
    let task = work(real.world.clone(), Rc::clone(&opening), logs, written);
    real.executor.block_on(task)?;
    drop(real);
    let mut real = RealWorld::new(&Options::default()).expect("a real world");
    let task = recover(real.world.clone(), opening);
    real.executor.block_on(task)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (directory, logs, written) = match words.as_slice() {
        [directory, logs] => (directory, logs, false),
        [directory, logs, word] if word == "written" => (directory, logs, true),
        _ => {
            eprintln!("redo_rate DIRECTORY LOGS [written]");
            return ExitCode::from(2);
        }
    };
    let Ok(logs) = logs.parse() else {
        eprintln!("`{logs}` is no number of log files");
        return ExitCode::from(2);
    };
    let opening = Opening {
        directory: directory.into(),
        cache: ByteSize::mib(128),
        checkpoint_depth: ByteSize::gib(16),
        circular: Circular::Off,
    };
    match run(opening, logs, written) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
