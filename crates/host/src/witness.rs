//! The journal of commits for another process: `BRUNT_WITNESS` names a pipe (or a file), which gets
//! a line for each ([`brunt_drill::sites::lines`]), in one write. For tests that kill the program
//! (`crates/cli/tests/real/crash`); it slows a run down.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;

use brunt_drill::sites::lines::{ACKNOWLEDGED, ASKED, line};
use brunt_qualify::truth::witness::{Change, Hearing, Witness};
use brunt_units::Time;

/// The variable that names the pipe.
const VARIABLE: &str = "BRUNT_WITNESS";

struct Pipe(File);

/// The witness that the environment asks for, if it does.
///
/// # Errors
/// When it cannot be opened.
pub fn hearing() -> io::Result<Hearing> {
    let Some(path) = env::var_os(VARIABLE) else {
        return Ok(Hearing::default());
    };
    let pipe = OpenOptions::new().append(true).open(path)?;
    Ok(Hearing::of(Arc::new(Pipe(pipe))))
}

impl Pipe {
    fn write(&self, mark: char, change: &Change) {
        // Nobody may be there to hear any more; the run is not about that.
        let _ = (&self.0).write_all(line(mark, change).as_bytes());
    }
}

impl Witness for Pipe {
    fn asked(&self, _: Time, change: &Change) {
        self.write(ASKED, change);
    }

    fn acknowledged(&self, _: Time, change: &Change) {
        self.write(ACKNOWLEDGED, change);
    }
}
