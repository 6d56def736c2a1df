//! Opening what a crash left, in a world that keeps its word.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use brunt_ese::instance::recovery::RecoveryReport;
use brunt_world::Frames;
use brunt_world_virtual::{Journal, Store};

use super::{Configuration, State, Work, pages, records};
use crate::tiny::open;
use crate::worlds::bounded;

/// A recovery has some hundred I/Os; one with so many does not end.
const IOS_MAX: u64 = 100_000;

/// What a recovery came to.
pub struct Recovery {
    /// What the databases hold.
    pub state: State,
    /// What the engine says it did.
    pub report: RecoveryReport,
    /// Everything that recovering, reading and closing did to the files.
    pub journal: Journal,
}

/// Opens `image`, reads it, walks all its trees if `walk`, and closes it.
///
/// # Errors
/// In words, what stood in the way, a panic of the engine included.
pub fn recover(
    image: Store,
    configuration: &Configuration,
    walk: bool,
    frames: &Frames,
) -> Result<Recovery, String> {
    let recover = || try_recover(image, configuration, walk, frames);
    let recovered = catch_unwind(AssertUnwindSafe(recover));
    recovered.unwrap_or_else(|panic| Err(panic_words(&*panic)))
}

fn try_recover(
    image: Store,
    configuration: &Configuration,
    walk: bool,
    frames: &Frames,
) -> Result<Recovery, String> {
    let mut made = configuration.world_of(image, 1, frames);
    let world = bounded(&made.world, IOS_MAX);
    made.machine.start_recording();
    let kept = Rc::new(configuration.clone());
    let opened = made.executor.block_on(async move {
        let opened = open(&world, kept.frames, kept.options()).await;
        let (instance, report) = opened.map_err(|error| format!("recovery failed: {error}"))?;
        let state = match kept.work {
            Work::Pages => None,
            Work::Records => Some(records::read(&instance, &kept).await?),
        };
        if walk && kept.work == Work::Records {
            records::walk(&instance, &kept).await?;
        }
        let closed = instance.close().await;
        closed.map_err(|error| format!("closing after recovery failed: {error}"))?;
        Ok::<_, String>((state, report))
    });
    let (state, report) = opened?;
    let state = match state {
        Some(state) => state,
        None => pages::read(&made.machine.store(), configuration)?,
    };
    let journal = made.machine.stop_recording().expect("it was started");
    Ok(Recovery {
        state,
        report,
        journal,
    })
}

/// What a panic said.
pub(super) fn panic_words(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .map(|said| (*said).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", said.as_deref().unwrap_or("without a word"))
}
