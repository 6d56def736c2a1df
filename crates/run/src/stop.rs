//! The request to end a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end a run early, with a report. Any thread may ask, and signal handlers may set the
/// underlying flag. A clone is another handle.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    /// Another reason to stop.
    or: Option<Arc<AtomicBool>>,
}

impl Stop {
    /// Asks for a stop. Asking twice has no further effect.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_asked(&self) -> bool {
        let mut flags = std::iter::once(&self.asked).chain(&self.or);
        flags.any(|flag| flag.load(Ordering::Relaxed))
    }

    /// A stop that is asked for with this one, or by setting `flag`.
    #[must_use]
    pub fn or(&self, flag: &Arc<AtomicBool>) -> Self {
        Self { or: Some(Arc::clone(flag)), ..self.clone() }
    }
}

impl From<Arc<AtomicBool>> for Stop {
    /// Setting `flag` asks for a stop.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { asked: flag, or: None }
    }
}
