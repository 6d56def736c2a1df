//! `brunt site --stdio`: one site of a drill, as a process. It does what it is asked on stdin, and
//! tells on stdout ([`brunt_drill::sites::site`]).
//!
//! It listens on loopback alone, or in a network of its own (`--address`) that nothing but the
//! drill reaches. It ends when its stdin does, when the process that started it dies, and when it
//! learns that it is fenced.
//!
//! * `channel`: commands and answers.

mod channel;
mod error;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use brunt_drill::sites::messages::{Answer, Command, Speaker, line};
use brunt_drill::sites::site::{Inbox, Site, SiteOptions, Voice};
use brunt_scenario::{Document, Place, Placed};
use brunt_world::World;
use brunt_world::messages::Token;
use brunt_world_real::{Options, RealWorld};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::folders::SiteFolder;
use crate::consent::Consent;
use crate::folders::{self, Prepared};
use crate::{distance, handles, plan};
use channel::{Channel, read};
pub use error::SiteError;

/// Serves as a site until stdin ends: with `address` in a network of its own, otherwise on
/// loopback.
///
/// # Errors
/// [`SiteError`] when it could not begin.
pub fn serve(address: Option<Ipv4Addr>, commit: Option<&'static str>) -> Result<(), SiteError> {
    if let Some(address) = address {
        distance::leave(address, io::stdin())?;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let channel = Channel::new()?;
    let mut input = BufReader::new(io::stdin());
    let mut first = read(&mut input);
    let mut taken = None;
    if let Some(Command::Take { folder, replace, drill }) = &first {
        let own = Speaker::own(commit);
        if !own.is(drill) {
            // It says who it is, and has taken nothing.
            channel.say(&line(&Answer::Taken { log_segment: 0, site: own }));
            return Err(SiteError::OtherProgram(drill.clone()));
        }
        let (folder, log_segment) = answered(take(folder, *replace), &channel)?;
        taken = Some(folder);
        // It ends with its stdin, and not with the connection: first its folder is emptied.
        set_parent_process_death_signal(None).map_err(io::Error::from)?;
        channel.is_outlived();
        channel.say(&line(&Answer::Taken { log_segment, site: own }));
        first = read(&mut input);
    }
    let Some(begin) = first else {
        return Err(SiteError::NotOfDrill);
    };
    let inbox = Inbox::default();
    let begun = self::begin(begin, address, &channel, &inbox);
    let (mut real, site, _prepared) = answered(begun, &channel)?;
    channel.say(&line(&Answer::Done));
    let hearing = thread::Builder::new().name("stdin".to_owned());
    hearing.spawn(move || {
        while let Some(command) = read(&mut input) {
            inbox.put(command);
        }
        // The drill is over, or gone: nothing is left to be done in order, but for a folder that
        // nobody else empties.
        if let Some(folder) = taken {
            folder.empty_at_last();
        }
        process::exit(0);
    })?;
    real.executor.block_on(site.run());
    // It is fenced: nothing more is written.
    process::exit(0)
}

/// `result`, and its error said as the answer to a command.
fn answered<T>(result: Result<T, SiteError>, channel: &Channel) -> Result<T, SiteError> {
    result.inspect_err(|error| channel.say(&line(&Answer::Failed { why: error.to_string() })))
}

/// Takes `folder` on a host where the drill does not run.
fn take(folder: &Path, replace: bool) -> Result<(SiteFolder, usize), SiteError> {
    let placed =
        Placed { value: folder.to_owned(), place: Place::file(&folder.display().to_string()) };
    let folder = SiteFolder::take(&placed, Consent { replace })?;
    let log_segment = plan::log_segment([folder.path()].into_iter());
    Ok((folder, log_segment))
}

/// Begins to work below the folder that the drill names.
fn begin(
    command: Command,
    address: Option<Ipv4Addr>,
    channel: &Channel,
    inbox: &Inbox,
) -> Result<(RealWorld, Site, Prepared), SiteError> {
    let Command::Begin { scenario, folder, log_segment } = command else {
        return Err(SiteError::NotBegun);
    };
    let document = Document::new("the drill's scenario", &scenario, Path::new("/"))?;
    let drill = document.real_drill(&[])?;
    let scenario = drill.at(&folder);
    // As the drill has done where it runs.
    handles::provide(&scenario)?;
    let prepared = folders::prepare(&scenario)?;
    let real = RealWorld::new(&Options {
        backend: scenario.backend,
        seed: scenario.test.seed,
        roots: prepared.roots.clone(),
        ..Options::default()
    })?;
    let mut plan = plan::plan(&scenario, Consent::default(), SystemTime::now());
    plan.engine.log_segment = log_segment;
    let site = Site::new(SiteOptions {
        world: real.world.clone(),
        plan,
        drill,
        folder,
        address: address.unwrap_or(Ipv4Addr::LOCALHOST).into(),
        voice: Arc::new(channel.clone()),
        inbox: inbox.clone(),
        secret,
    });
    Ok((real, site, prepared))
}

/// A secret that the other site learns from the conductor, so that no other process is taken for
/// it.
fn secret(_: &World) -> io::Result<Token> {
    let mut secret = Token([0; 16]);
    File::open("/dev/urandom")?.read_exact(&mut secret.0)?;
    Ok(secret)
}
