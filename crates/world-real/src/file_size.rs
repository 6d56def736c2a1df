//! Files that may not become larger: `ulimit -f`.
//!
//! A write beyond that limit ends a process by a signal, without a word. Ignored, the write fails
//! instead, as on a full volume.

#![expect(unsafe_code, reason = "ignores a signal; the block says why it is sound")]

/// From now on a write beyond the limit of a file's size fails with `EFBIG`.
pub(crate) fn survive_limit() {
    // SAFETY: both are numbers that the call knows; no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_is_ignored() {
        survive_limit();
        // SAFETY: as above; the answer is what was set before.
        let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        assert_eq!(before, libc::SIG_IGN);
    }
}
