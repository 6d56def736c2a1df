//! An ESE-like storage engine: pages, trees, log, cache, checkpoint, recovery, verification.
