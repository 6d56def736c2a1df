//! Ctrl-C: the first one asks to end in order, the second one ends at once.
//!
//! A run that is asked to stop closes its databases and writes what it has; its verdict is *interrupted* and its exit code
//! 130. SIGTERM asks in the same way.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody asked to stop. Cloning gives another handle.
#[derive(Clone, Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

/// The exit code of a program that Ctrl-C ended: 128 and the signal's number.
const EXIT_CODE: i32 = 130;

impl Interrupt {
    /// Listens from now on, for as long as the program lives.
    ///
    /// # Errors
    /// When the system refuses a signal handler.
    pub fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset, and sets it.
            flag::register_conditional_shutdown(signal, EXIT_CODE, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self { asked })
    }

    /// The switch that signals set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Whether somebody asked to stop.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set in the environment of the program that is to be interrupted.
    const VICTIM: &str = "BRUNT_TEST_INTERRUPT";

    #[test]
    fn the_first_asks_and_the_second_ends() {
        if std::env::var_os(VICTIM).is_some() {
            interrupt_myself();
        }
        let me = std::env::current_exe().unwrap();
        let status = Command::new(me)
            .args([
                "--exact",
                "interrupt::tests::the_first_asks_and_the_second_ends",
            ])
            .env(VICTIM, "1")
            .output()
            .unwrap()
            .status;
        assert_eq!(status.code(), Some(EXIT_CODE));
    }

    /// Exits with 130 if everything is right.
    fn interrupt_myself() -> ! {
        let interrupt = Interrupt::listen().unwrap();
        assert!(!interrupt.is_asked());
        signal_hook::low_level::raise(SIGINT).unwrap();
        assert!(interrupt.is_asked());
        signal_hook::low_level::raise(SIGINT).unwrap();
        unreachable!("the second one ends the program");
    }
}
