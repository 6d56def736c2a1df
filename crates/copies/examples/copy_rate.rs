//! Measures log shipping and replay on a copy, in three parts. Each prints one line of JSON.
//!
//! ```text
//!   copy_rate prepare DIRECTORY LOGS   DIRECTORY/active: LOGS log files of 1 MiB are filled, and the engine is dropped
//!                                      DIRECTORY/copy: an equal database
//!   copy_rate ship DIRECTORY           the active is opened: soft recovery; its closed logs are shipped over loopback and stored
//!   copy_rate replay DIRECTORY         the copy replays them
//! ```
//!
//! Each of the three times begins when files are opened, and ends when all logs are there or
//! replayed. The cache holds the whole database. Recovery and replay each have a process of their
//! own: the second one in a process gets its memory in smaller pages.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result is what this program is for"
)]

#[path = "../../ese/examples/mailbox/mod.rs"]
mod mailbox;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use brunt_copies::truncation::Limits;
use brunt_copies::{CopyOptions, PassiveCopy, Shipper};
use brunt_ese::instance::Circular;
use brunt_units::{ByteSize, Span};
use brunt_world::World;
use brunt_world_real::{Options, RealWorld};
use mailbox::{Mailbox, Opening};

/// Size of the database; the whole database is changed.
const DATABASE_BYTES: u64 = 32 << 20;
/// How often it looks whether a copy is there.
const LOOK: Span = Span::millis(1);

fn opening(directory: &Path) -> Opening {
    Opening {
        directory: directory.to_owned(),
        cache: ByteSize::mib(128),
        checkpoint_depth: ByteSize::gib(16),
        circular: Circular::Off,
    }
}

fn copy_of(opening: &Opening) -> CopyOptions {
    CopyOptions {
        instance: opening.instance_options(),
        cache: opening.cache_options(),
        lag: Span::ZERO,
        maintenance: None,
    }
}

/// Leaves an active that crashed, and a copy without logs.
async fn prepare(
    world: World,
    active: Opening,
    copy: Opening,
    logs: u32,
) -> Result<(), Box<dyn Error>> {
    let mailbox = Mailbox::new(DATABASE_BYTES);
    mailbox::create(&world, &copy.database(), &mailbox, DATABASE_BYTES).await?;
    mailbox::fill_logs(&world, &active, DATABASE_BYTES, logs).await?;
    Ok(())
}

/// Recovers the active, then ships its logs. Returns both times and the logs that were shipped.
async fn ship(
    world: World,
    active: Opening,
    copy: Opening,
) -> Result<(Span, Span, u32), Box<dyn Error>> {
    let begun = world.clock.now();
    let (instance, _) = active.open(&world).await?;
    let recovery = world.clock.now() - begun;
    let shipper = Shipper::new(&world, &instance, 1, Limits::default());
    let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let (listener, at) = world.net.listen(at).await?;
    let begun = world.clock.now();
    let passive = PassiveCopy::open(&world, copy_of(&copy)).await?;
    let near = world.net.connect(at).await?;
    let (far, _) = world.net.accept(listener).await?;
    let (serving, receiving) = (shipper.clone(), passive.clone());
    let spawner = &world.spawner;
    let serving = spawner.spawn(async move { serving.serve(0, far).await });
    let receiving = spawner.spawn(async move { receiving.receive(near).await });
    while passive.queues().stored < shipper.closed() {
        if let Some(error) = passive.failure() {
            return Err(error.into());
        }
        world.sleep(LOOK).await;
    }
    let shipping = world.clock.now() - begun;
    shipper.stop();
    serving.await?;
    receiving.await?;
    Ok((recovery, shipping, passive.queues().stored))
}

/// Replays what the copy has stored. Returns the time.
async fn replay(world: World, copy: Opening) -> Result<Span, Box<dyn Error>> {
    let begun = world.clock.now();
    let passive = PassiveCopy::open(&world, copy_of(&copy)).await?;
    let following = passive.clone();
    let spawner = &world.spawner;
    let following = spawner.spawn(async move { following.follow().await });
    while passive.queues().replayed < passive.queues().stored {
        if let Some(error) = passive.failure() {
            return Err(error.into());
        }
        world.sleep(LOOK).await;
    }
    let took = world.clock.now() - begun;
    passive.stop();
    following.await?;
    Ok(took)
}

/// One part of the measurement, in a world of its own.
fn run(part: &str, directory: &Path, logs: u32) -> Result<serde_json::Value, Box<dyn Error>> {
    let [active, copy] = ["active", "copy"].map(|name| opening(&directory.join(name)));
    let mut real = RealWorld::new(&Options::default())?;
    let world = real.world.clone();
    let executor = &mut real.executor;
    Ok(match part {
        "prepare" => {
            executor.block_on(prepare(world, active, copy, logs))?;
            serde_json::json!({})
        }
        "ship" => {
            let (recovery, shipping, stored) = executor.block_on(ship(world, active, copy))?;
            serde_json::json!({
                "logs": stored,
                "recovery_s": recovery.as_seconds(),
                "shipping_s": shipping.as_seconds(),
            })
        }
        _ => {
            let replaying = executor.block_on(replay(world, copy))?;
            serde_json::json!({ "replay_s": replaying.as_seconds() })
        }
    })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (part, directory, logs) = match words.as_slice() {
        [part @ "prepare", directory, logs] => (*part, directory, logs.parse()),
        [part @ ("ship" | "replay"), directory] => (*part, directory, Ok(0)),
        _ => {
            eprintln!(
                "copy_rate prepare DIRECTORY LOGS, then copy_rate ship DIRECTORY and copy_rate replay DIRECTORY"
            );
            return ExitCode::from(2);
        }
    };
    let Ok(logs) = logs else {
        eprintln!("LOGS is a number of log files");
        return ExitCode::from(2);
    };
    match run(part, Path::new(directory), logs) {
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
