//! Measures database creation: `create_rate FILE BYTES` creates FILE, of about BYTES bytes, and
//! prints one line of JSON.
//!
//! The clock runs from before the messages are sorted until the clean header is durable.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result is what this program is for"
)]

mod mailbox;

use std::path::PathBuf;
use std::process::ExitCode;

use brunt_ese::error::EngineError;
use brunt_world::World;
use brunt_world_real::facts::process_use;
use brunt_world_real::{Options, RealWorld};

async fn measure(
    world: World,
    path: PathBuf,
    bytes: u64,
) -> Result<serde_json::Value, EngineError> {
    let begun = world.clock.now();
    let mailbox = mailbox::Mailbox::new(bytes);
    let created = mailbox::create(&world, &path, &mailbox, bytes).await?;
    let seconds = (world.clock.now() - begun).as_seconds();
    let used = process_use().unwrap_or_default();
    Ok(serde_json::json!({
        "bytes": created.bytes,
        "messages": created.messages,
        "pages_used": created.used,
        "seconds": seconds,
        "bytes_per_second": created.bytes as f64 / seconds,
        "cpu_seconds": (used.user + used.system).as_seconds(),
    }))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, bytes] = words.as_slice() else {
        eprintln!("create_rate FILE BYTES");
        return ExitCode::from(2);
    };
    let Ok(bytes) = bytes.parse() else {
        eprintln!("`{bytes}` is no number of bytes");
        return ExitCode::from(2);
    };
    let mut real = RealWorld::new(&Options::default()).expect("a real world");
    let task = measure(real.world.clone(), path.into(), bytes);
    match real.executor.block_on(task) {
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
