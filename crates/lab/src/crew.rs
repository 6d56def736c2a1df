//! Who computes points: the threads of this process, all points or those of its part.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use brunt_run::Stop;

use crate::batch::{Answer, Sharing};
use crate::{LabError, Tried};

/// Cores, and what is shared with other processes.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    pub cores: usize,
    /// `None`: every point is computed here, and none is kept.
    pub sharing: Option<&'a Sharing<'a>>,
}

impl Crew<'_> {
    /// All cores that this process may use, by its affinity and its control group.
    pub fn alone() -> Self {
        Self { cores: thread::available_parallelism().map_or(1, NonZero::get), sharing: None }
    }

    /// What comes of `points`, each on `threads` threads; `None` for a point that a stop interrupts
    /// or that another part computes. `told` receives each point that was computed here.
    ///
    /// # Errors
    /// [`LabError`] of a point that cannot be computed, asked for or kept.
    pub fn compute(
        &self,
        points: &[String],
        threads: usize,
        one: &(dyn Fn(usize) -> Result<Tried, LabError> + Sync),
        stop: &Stop,
        told: &(dyn Fn(usize, &Tried) + Sync),
    ) -> Result<Vec<Option<Tried>>, LabError> {
        let mut known = vec![None; points.len()];
        let mut mine = Vec::new();
        for (at, point) in points.iter().enumerate() {
            match self.sharing.map(|sharing| sharing.ask(point)).transpose()? {
                Some(Answer::Known(tried)) => known[at] = Some(tried),
                Some(Answer::Elsewhere) => {}
                Some(Answer::Mine) | None => mine.push(at),
            }
        }
        let workers = self.cores.div_ceil(threads).min(mine.len());
        let next = AtomicUsize::new(0);
        let has_failed = AtomicBool::new(false);
        let (results, failure) = (Mutex::new(known), Mutex::new(None));
        let compute = |at: usize| -> Result<(), LabError> {
            let tried = one(at)?;
            // An interrupted point shows nothing.
            if !stop.is_asked() {
                if let Some(sharing) = self.sharing {
                    sharing.keep(&points[at], &tried)?;
                }
                told(at, &tried);
                lock(&results)[at] = Some(tried);
            }
            Ok(())
        };
        let take = || {
            let at = mine.get(next.fetch_add(1, Ordering::Relaxed)).copied();
            at.filter(|_| !stop.is_asked() && !has_failed.load(Ordering::Relaxed))
        };
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(at) = take() {
                        if let Err(error) = compute(at) {
                            has_failed.store(true, Ordering::Relaxed);
                            *lock(&failure) = Some(error);
                        }
                    }
                });
            }
        });
        match failure.into_inner().expect("no thread panicked") {
            Some(error) => Err(error),
            None => Ok(results.into_inner().expect("no thread panicked")),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}
