//! A guard in real time: work that goes round without asking the disk for anything never ends by
//! itself.
//!
//! The search bounds the I/O of every story and every recovery, so a loop with I/O is a failure
//! like any other. A loop without any lets no virtual time pass and gives nobody else a turn; only
//! a thread outside sees it. It ends the program, with the command that repeats it.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A step takes about a millisecond and a story some hundred; nothing that ends takes so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How often the guard looks.
const LOOK: Duration = Duration::from_millis(100);

/// Watches until it is dropped.
pub(super) struct Guard {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    steps: AtomicU64,
    is_over: AtomicBool,
}

impl Guard {
    /// When no step has been noted for `patience`, `give_up` is called with how many there were.
    pub(super) fn watch(patience: Duration, give_up: impl FnOnce(u64) + Send + 'static) -> Self {
        Self::over(Arc::default(), patience, give_up)
    }

    fn over(
        shared: Arc<Shared>,
        patience: Duration,
        give_up: impl FnOnce(u64) + Send + 'static,
    ) -> Self {
        let watched = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let (mut seen, mut since) = (0, Duration::ZERO);
            while !watched.is_over.load(Ordering::Relaxed) {
                let steps = watched.steps.load(Ordering::Relaxed);
                if steps != seen {
                    (seen, since) = (steps, Duration::ZERO);
                }
                if since >= patience {
                    return give_up(seen);
                }
                thread::sleep(LOOK.min(patience));
                since += LOOK.min(patience);
            }
        });
        Self { shared, thread: Some(thread) }
    }

    /// So many steps are done.
    pub(super) fn note(&self, steps: u64) {
        self.shared.steps.store(steps, Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only waits and looks.
            let _ = thread.join();
        }
    }
}

/// Ends the program as one that found something.
pub(super) fn end(words: &str) {
    eprintln!("{words}");
    process::exit(1);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn who_stands_still_is_noticed_and_who_goes_on_is_not() {
        let (tell, told) = mpsc::channel();
        // Noted before it watches: on a busy host a later note could come when patience is over.
        let shared = Arc::<Shared>::default();
        shared.steps.store(7, Ordering::Relaxed);
        let guard = Guard::over(shared, Duration::from_millis(50), move |steps| {
            tell.send(steps).unwrap();
        });
        assert_eq!(told.recv(), Ok(7));
        drop(guard);
        let (tell, told) = mpsc::channel::<u64>();
        drop(Guard::watch(Duration::from_secs(60), move |steps| {
            tell.send(steps).unwrap();
        }));
        assert!(told.recv().is_err(), "it ended without a word");
    }
}
