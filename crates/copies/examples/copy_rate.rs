//! Measures log shipping and replay on a copy: `copy_rate DIRECTORY LOGS` prints one line of JSON.
//!
//! ```text
//!   DIRECTORY/active   LOGS log files of 1 MiB are filled, the engine is dropped, and opened again: soft recovery
//!   DIRECTORY/copy     the closed logs are shipped over loopback and stored, then replayed
//! ```
//!
//! Both databases are created equally. Each of the three times begins when files are opened, and ends when all logs are there or
//! replayed. The cache holds the whole database.

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

fn run(directory: &Path, logs: u32) -> Result<serde_json::Value, Box<dyn Error>> {
    let [active, copy] = ["active", "copy"].map(|name| directory.join(name));
    let fresh = || RealWorld::new(&Options::default());
    let mut real = fresh()?;
    let task = prepare(real.world.clone(), opening(&active), opening(&copy), logs);
    real.executor.block_on(task)?;
    drop(real);
    let mut real = fresh()?;
    let task = ship(real.world.clone(), opening(&active), opening(&copy));
    let (recovery, shipping, stored) = real.executor.block_on(task)?;
    drop(real);
    let mut real = fresh()?;
    let task = replay(real.world.clone(), opening(&copy));
    let replaying = real.executor.block_on(task)?;
    Ok(serde_json::json!({
        "logs": stored,
        "recovery_s": recovery.as_seconds(),
        "shipping_s": shipping.as_seconds(),
        "replay_s": replaying.as_seconds(),
    }))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (directory, logs) = match words.as_slice() {
        [directory, logs] => (directory, logs.parse()),
        _ => {
            eprintln!("copy_rate DIRECTORY LOGS");
            return ExitCode::from(2);
        }
    };
    let Ok(logs) = logs else {
        eprintln!("LOGS is a number of log files");
        return ExitCode::from(2);
    };
    match run(Path::new(directory), logs) {
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
