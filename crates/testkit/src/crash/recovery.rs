//! Recovers the remains of a crash, in a world without faults.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::patch::Copies;
use brunt_world::Frames;
use brunt_world_virtual::{Journal, Store};

use super::{Configuration, State, Work, messages, pages, records};
use crate::copies::{Manner, Shelf};
use crate::tiny::{INDEX, TABLE};
use crate::worlds::bounded;

/// A recovery has a few hundred I/Os; one with this many does not end.
pub(super) const IOS_MAX: u64 = 100_000;

/// The result of a recovery.
pub struct Recovery {
    /// The state of the databases.
    pub state: State,
    /// The engine's report.
    pub report: RecoveryReport,
    /// All changes to the files by recovering, reading and closing.
    pub journal: Journal,
}

/// Why a recovery failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The engine refused to continue, with its reason.
    Refused(String),
    /// The state is wrong, or the engine panicked.
    Wrong(String),
}

impl Trouble {
    /// The reason in words.
    pub fn words(self) -> String {
        match self {
            Self::Refused(what) | Self::Wrong(what) => what,
        }
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<&str> for Trouble {
    fn from(what: &str) -> Self {
        Self::Wrong(what.to_owned())
    }
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self::Wrong(what)
    }
}

/// Opens `image`, reads it, walks all its trees if `walk`, and closes it. Bad pages are taken from
/// `copies`.
///
/// # Errors
/// Why it failed.
pub fn recover(
    image: Store,
    configuration: &Configuration,
    walk: bool,
    copies: Option<Store>,
    frames: &Frames,
) -> Result<Recovery, Trouble> {
    let recover = || try_recover(image, configuration, walk, copies, frames);
    let recovered = catch_unwind(AssertUnwindSafe(recover));
    recovered.unwrap_or_else(|panic| Err(Trouble::Wrong(panic_words(&*panic))))
}

fn try_recover(
    image: Store,
    configuration: &Configuration,
    walk: bool,
    copies: Option<Store>,
    frames: &Frames,
) -> Result<Recovery, Trouble> {
    let mut made = configuration.world_of(image, false, frames);
    let world = bounded(&made.world, IOS_MAX);
    made.machine.start_recording();
    let kept = Rc::new(configuration.clone());
    let shelf = copies.map(|latest| -> Rc<dyn Copies> {
        let size = configuration.page_size;
        let latest = move || latest.fork();
        Shelf::new(frames, size, &[Manner::Faithful], Store::new(), latest)
    });
    let opened = made.executor.block_on(async move {
        let (instance, report) = kept.open(&world, shelf).await?;
        let state = read_and_close(instance, &kept, walk).await?;
        Ok::<_, Trouble>((state, report))
    });
    let (state, report) = opened?;
    let state = match state {
        Some(state) => state,
        None => pages::read(&made.machine.store(), configuration)?,
    };
    let journal = made.machine.stop_recording().expect("it was started");
    Ok(Recovery { state, report, journal })
}

/// Reads the state of an instance and closes it; pages without trees must be read from its files
/// instead.
pub(super) async fn read_and_close(
    instance: Instance<Bytes>,
    configuration: &Configuration,
    walk: bool,
) -> Result<Option<State>, Trouble> {
    let state = match configuration.work {
        Work::Pages => None,
        Work::Records => Some(records::read(&instance, configuration).await?),
        Work::Messages => Some(messages::read(&instance, configuration).await?),
    };
    if walk && configuration.work != Work::Pages {
        walk_all(&instance, configuration).await?;
    }
    instance.close().await?;
    Ok(state)
}

/// Walks every tree and all space of every database.
async fn walk_all(
    instance: &Instance<Bytes>,
    configuration: &Configuration,
) -> Result<(), Trouble> {
    for database in 0..configuration.databases {
        let trees = match configuration.work {
            Work::Messages => messages::trees(instance, database).await?,
            Work::Records | Work::Pages => vec![TABLE, INDEX],
        };
        records::walk(instance, database, &trees).await?;
    }
    Ok(())
}

/// The message of a panic.
pub(super) fn panic_words(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .map(|said| (*said).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", said.as_deref().unwrap_or("without a word"))
}
