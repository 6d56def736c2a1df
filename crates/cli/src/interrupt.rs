//! Ctrl-C and its relatives: the first one asks to end in order, a later one ends at once.
//!
//! ```text
//!   SIGINT, SIGTERM   first             ask: databases are closed, there is a report, exit code 130
//!                     within a second   the same wish once more: `timeout` and some terminals send two at once
//!                     later             the program ends at once; the next run recovers the databases
//!   SIGHUP                              the terminal is gone, and the run goes on
//! ```
//!
//! A thread waits for signals, so a second Ctrl-C works also when the engine is stuck in the
//! kernel.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether a stop was requested. Cloning gives another handle.
#[derive(Clone, Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    farewell: Arc<Mutex<String>>,
}

/// The exit code of a program that Ctrl-C ended: 128 and the signal's number.
const EXIT_CODE: i32 = 130;

/// Signals so close together are one wish.
const ONE_WISH: Duration = Duration::from_secs(1);

impl Interrupt {
    /// Listens from now on, for as long as the program lives.
    ///
    /// # Errors
    /// When the system refuses a signal handler or a thread.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self { asked: Arc::default(), farewell: Arc::default() };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let listening = interrupt.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            let mut first = None;
            for signal in signals.forever() {
                if signal != SIGHUP {
                    listening.hear(&mut first, Instant::now());
                }
            }
        })?;
        Ok(interrupt)
    }

    fn hear(&self, first: &mut Option<Instant>, now: Instant) {
        self.asked.store(true, Ordering::Relaxed);
        let since = now - *first.get_or_insert(now);
        if since >= ONE_WISH {
            if let Ok(farewell) = self.farewell.lock() {
                // The terminal may be gone, and the program ends all the same.
                let _ = io::stderr().write_all(farewell.as_bytes());
            }
            signal_hook::low_level::exit(EXIT_CODE);
        }
    }

    /// The switch that signals set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// What is said on stderr when the program has to end at once.
    pub fn set_farewell(&self, text: String) {
        if let Ok(mut farewell) = self.farewell.lock() {
            *farewell = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set in the environment of the program that is to be interrupted.
    const VICTIM: &str = "BRUNT_TEST_INTERRUPT";

    #[test]
    fn the_first_asks_and_a_later_one_ends() {
        if std::env::var_os(VICTIM).is_some() {
            interrupt_myself();
        }
        let me = std::env::current_exe().unwrap();
        let output = Command::new(me)
            .args([
                "--exact",
                "--nocapture",
                "interrupt::tests::the_first_asks_and_a_later_one_ends",
            ])
            .env(VICTIM, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(EXIT_CODE), "{said}");
        assert!(said.contains("ended at once"), "{said}");
    }

    /// Exits with 130 if everything is right.
    fn interrupt_myself() -> ! {
        let interrupt = Interrupt::listen().unwrap();
        interrupt.set_farewell("ended at once\n".to_owned());
        let raise = |signal| signal_hook::low_level::raise(signal).unwrap();
        raise(SIGHUP);
        thread::sleep(Duration::from_millis(50));
        assert!(!interrupt.is_asked(), "a terminal that goes away stops nothing");
        raise(SIGTERM);
        raise(SIGTERM);
        while !interrupt.is_asked() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(ONE_WISH);
        raise(SIGINT);
        loop {
            thread::park();
        }
    }
}
