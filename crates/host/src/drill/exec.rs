//! The user's own commands of a drill: [`crate::exec`] with the drill's variables and words.

use std::ffi::OsString;

use brunt_drill::sites::CourseError;
use brunt_scenario::{Exec, RealDrill};
use brunt_world::World;

use crate::exec::{self, Command, ExecFailure};

/// Why a command of the user did not do what it is for.
#[derive(Debug, thiserror::Error)]
#[error("\"{name}\" {why}")]
struct ExecError {
    name: String,
    why: ExecFailure,
}

/// The variables of every command of `drill`.
pub(super) fn environment(drill: &RealDrill) -> Vec<(&'static str, OsString)> {
    let device = |side: usize| {
        let device: Option<_> = drill.devices[side].as_ref();
        device.map_or_else(OsString::new, |device| device.value.clone().into())
    };
    let mut all = exec::usual_environment();
    all.extend([
        ("BRUNT_SOURCE", drill.source.value.clone().into()),
        ("BRUNT_DESTINATION", drill.destination.value.clone().into()),
        ("BRUNT_SOURCE_DEVICE", device(0)),
        ("BRUNT_DESTINATION_DEVICE", device(1)),
    ]);
    all
}

/// Runs `exec` to its end, and returns the end of what it said; `heed` is asked meanwhile whether to
/// go on.
///
/// # Errors
/// [`CourseError`] when it failed, took too long or was stopped.
pub(crate) async fn run(
    world: &World,
    exec: &Exec,
    environment: &[(&'static str, OsString)],
    heed: impl FnMut() -> Result<(), CourseError>,
) -> Result<String, CourseError> {
    let command = Command {
        argv: exec.run.value.clone(),
        environment: environment.to_vec(),
        input: Vec::new(),
        timeout: exec.timeout,
    };
    let ended = exec::run(world, &command, heed).await?;
    ended.map_err(|why| CourseError::of(ExecError { name: exec.name.clone(), why }))
}
