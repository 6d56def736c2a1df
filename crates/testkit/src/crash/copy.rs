//! A passive copy of a story: fed its closed log files in steps, cut off anywhere, reopened, fed
//! again, and activated.
//!
//! ```text
//!   story's record --> log files, each as it was when it was closed
//!                            | shipped
//!                            v
//!   copy's record:     feed, feed, checkpoint, restart, feed ...
//!                            | cut, and a sample of what may have survived
//!                            v
//!   opened as a copy, fed again, activated, read, walked, closed; sometimes cut off there, too
//! ```
//!
//! The copy has a machine of its own, which receives only closed files. After its activation it
//! must hold exactly the effect of the commits in the files that it was fed. The position of a
//! commit is known to within one file: the log's tail is recorded before each commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use brunt_ese::instance::Replayer;
use brunt_units::Span;
use brunt_world::random::{Stream, Streams};
use brunt_world::{Class, Frames, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::journal::{Action, NameChange};
use brunt_world_virtual::{Digest, Journal, Step, Store};

use super::proof::crash;
use super::recovery::{IOS_MAX, Trouble, panic_words, read_and_close, recover};
use super::search::hash;
use super::{Configuration, Coverage, Mistake, State, Story, pages};
use crate::shipping::{log_path, ship};
use crate::worlds::{bounded, without_syncs};

/// The mark of an activation's beginning.
const ACTIVATED: &str = "activated";

/// The trial of a story's copy.
pub(super) struct CopyTrial<'a> {
    story: &'a Story,
    configuration: Configuration,
    /// The closed log files, the first generation first.
    logs: Rc<Vec<Vec<u8>>>,
    /// Everything that reached the copy's disk.
    journal: Journal,
    frames: &'a Frames,
}

/// An activated copy.
struct Activated {
    state: State,
    /// The last generation that it was fed.
    fed: u32,
    journal: Journal,
}

impl<'a> CopyTrial<'a> {
    /// Runs the copy of a story that began with clean files; `None` when the story closed no log
    /// file.
    pub(super) fn run(story: &'a Story, frames: &'a Frames) -> Result<Option<Self>, String> {
        let configuration = story.configuration.copy();
        let directory = configuration.options().log_directory;
        let logs = Rc::new(closed_logs(&story.journal, &directory));
        if logs.is_empty() {
            return Ok(None);
        }
        let run = || {
            let mut made = configuration.world_of(story.journal.base().fork(), true, frames);
            let world = match story.configuration.mistake {
                Some(Mistake::SkipCopySyncs) => without_syncs(&made.world, Class::Database),
                _ => made.world.clone(),
            };
            let world = bounded(&world, IOS_MAX);
            made.machine.start_recording();
            let (kept, logs) = (configuration.clone(), Rc::clone(&logs));
            made.executor.block_on(async move {
                let mut draw = world.random.named("copy");
                let last = logs.len();
                follow(&world, &kept, &logs, last, &mut draw).await.map(drop)
            })?;
            Ok(made.machine.stop_recording().expect("it was started"))
        };
        let journal = caught(run).map_err(|trouble| in_words(trouble.words()))?;
        Ok(Some(Self { story, configuration, logs, journal, frames }))
    }

    /// One crash of the copy, drawn from `seed`; returns a hash of the state after its activation,
    /// and the crash.
    pub(super) fn step(
        &self,
        seed: u64,
        coverage: &mut Coverage,
    ) -> Result<Digest, (String, Step, Sample)> {
        let mut draw = Streams::new(seed).named("crash of a copy");
        let mut images = CrashImages::new(&self.journal);
        let cuts = images.cuts();
        let (cut, sample) = match draw.percent(10) {
            true => (cuts[0], Sample::Nothing),
            false => crash(&mut draw, &cuts),
        };
        let files = images.image(cut, sample);
        let tried = self.try_step(files, &mut draw);
        coverage.copies += 1;
        tried.map_err(|what| (in_words(what), cut, sample))
    }

    fn try_step(&self, files: Store, draw: &mut Stream) -> Result<Digest, String> {
        let some = draw.below(1 + self.logs.len() as u64);
        let some = usize::try_from(some).expect("few logs");
        let first = self.activate(files, some, draw)?;
        if draw.percent(25) {
            let mut images = CrashImages::new(&first.journal);
            let cuts = images.cuts();
            let (cut, sample) = crash(draw, &cuts);
            let files = images.image(cut, sample);
            let again = |what| format!("after another crash: {what}");
            if images.marks(cut).any(|mark| mark.what == ACTIVATED) {
                let found = recover(files, &self.configuration, true, None, self.frames);
                if found.map_err(|trouble| again(trouble.words()))?.state != first.state {
                    return Err("a crash in its activation led to another state".to_owned());
                }
            } else {
                self.activate(files, some, draw).map_err(again)?;
            }
        }
        let mut digest = hash(&first.state);
        digest.mix(first.fed.into());
        Ok(digest)
    }

    /// Opens files as a copy, feeds it the logs there and up to `some` closed log files, and
    /// activates it.
    fn activate(&self, files: Store, some: usize, draw: &mut Stream) -> Result<Activated, String> {
        let seed = draw.bits();
        let run = || {
            let mut made = self.configuration.world_of(files, false, self.frames);
            let world = bounded(&made.world, IOS_MAX);
            let (kept, logs) = (self.configuration.clone(), Rc::clone(&self.logs));
            let machine = made.machine.clone();
            machine.start_recording();
            let (fed, state) = made.executor.block_on(async move {
                let mut draw = Streams::new(seed).named("copy");
                let replayer = follow(&world, &kept, &logs, some, &mut draw).await?;
                let fed = replayer.next() - 1;
                machine.mark(ACTIVATED, fed.into());
                let (instance, _) = replayer.finish().await?;
                let state = read_and_close(instance, &kept, true).await?;
                Ok::<_, Trouble>((fed, state))
            })?;
            let state = match state {
                Some(state) => state,
                None => pages::read(&made.machine.store(), &self.configuration)?,
            };
            let journal = made.machine.stop_recording().expect("it was started");
            Ok(Activated { state, fed, journal })
        };
        let activated = caught(run).map_err(Trouble::words)?;
        self.judge(&activated)?;
        Ok(activated)
    }

    /// Checks that a copy holds what its log files say.
    fn judge(&self, activated: &Activated) -> Result<(), String> {
        let (history, logged) = self.story.logged();
        let fed = activated.fed;
        // The next commit begins after it, or this one begins in an earlier file and its records
        // extend to at most the next.
        let is_in = |number: usize| {
            logged[number] < fed || logged.get(number + 1).is_some_and(|next| *next <= fed)
        };
        let least = (0..history.len()).rev().find(|number| is_in(*number));
        let most = logged.iter().rposition(|generation| *generation <= fed);
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        if history[least..=most].contains(&activated.state) {
            return Ok(());
        }
        let found = history.iter().position(|known| *known == activated.state);
        Err(match found {
            Some(found) => format!(
                "it holds state {found}, and its logs up to generation {fed} say {least} to {most}"
            ),
            None => format!("it holds no state that ever was (logs up to generation {fed})"),
        })
    }
}

/// Opens a copy and feeds it: the logs in its log directory, and the first `last` of `logs`, a few
/// at a time. Checkpoints, pauses and restarts in between are drawn.
async fn follow(
    world: &World,
    configuration: &Configuration,
    logs: &[Vec<u8>],
    last: usize,
    draw: &mut Stream,
) -> Result<Replayer, Trouble> {
    let directory = configuration.options().log_directory;
    let shipped = async |number: usize| {
        let generation = u32::try_from(number).expect("few logs");
        ship(world, &directory, generation, &logs[number - 1]).await
    };
    let mut there = 0;
    for number in 1..=logs.len() {
        let path = log_path(&directory, u32::try_from(number).expect("few logs"));
        let names = world.volume.list(&directory).await;
        let names = names.map_err(|error| error.to_string())?;
        let name = path.file_name().expect("it was joined").to_string_lossy();
        if names.contains(&name.into_owned()) {
            there = number;
        }
    }
    if there == 0 {
        // This file identifies the stream.
        shipped(1).await?;
        there = 1;
    }
    let mut replayer = configuration.follow(world).await?;
    replayer.catch_up().await?;
    loop {
        let next = replayer.next();
        let number = usize::try_from(next).expect("few logs");
        if number > there {
            let some = last.min(there + 1 + usize::from(draw.percent(40)));
            for number in there + 1..=some {
                shipped(number).await?;
            }
            there = some.max(there);
        }
        if number > there {
            return Ok(replayer);
        }
        replayer.feed(next).await?;
        if draw.percent(40) {
            replayer.move_checkpoint().await?;
        }
        if draw.percent(20) {
            world.sleep(Span::millis(draw.below(700))).await;
        }
        if draw.percent(10) {
            replayer.close().await?;
            replayer = configuration.follow(world).await?;
            replayer.catch_up().await?;
        }
    }
}

/// The log files that a story closed, each as it was then.
fn closed_logs(journal: &Journal, directory: &Path) -> Vec<Vec<u8>> {
    let (current, mut images) = (directory.join("edb.log"), CrashImages::new(journal));
    let mut logs = Vec::new();
    for recorded in journal.actions() {
        let (Some(Action::Name(NameChange::Rename { from, to, .. })), Some(completed)) =
            (&recorded.action, recorded.completed)
        else {
            continue;
        };
        if *from == current {
            let generation = u32::try_from(logs.len() + 1).expect("few logs");
            assert_eq!(*to, log_path(directory, generation), "one after the other");
            let files = images.image(Step(completed.0 + 1), Sample::Everything);
            logs.push(files.get(to).expect("it was just renamed"));
        }
    }
    logs
}

fn caught<T>(run: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let ran = catch_unwind(AssertUnwindSafe(run));
    ran.unwrap_or_else(|panic| Err(Trouble::Wrong(panic_words(&*panic))))
}

fn in_words(what: String) -> String {
    format!("a passive copy: {what}")
}
