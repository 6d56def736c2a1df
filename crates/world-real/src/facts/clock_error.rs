//! How far the machine's clock may be off, by what the kernel knows.

#![expect(
    unsafe_code,
    reason = "one system call without a safe form; the block says why it is sound"
)]

use brunt_units::Span;

/// The kernel's own estimate; `adjtimex(2)`. Whoever keeps the clock right (NTP, PTP) tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockError {
    /// Whether something keeps the clock right.
    pub synchronised: bool,
    pub estimated: Span,
    /// The most that it can be. It grows by 0.5 ms a second while nothing sets the clock right.
    pub max: Span,
}

/// The error of this machine's clock; `None` when the kernel does not answer.
pub fn clock_error() -> Option<ClockError> {
    let mut clock = std::mem::MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: the pointer refers to memory of the type that the call fills; without modes, all of
    // which are zero, it changes nothing.
    let state = unsafe { libc::adjtimex(clock.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid value of this type of plain numbers, even if the call filled in
    // nothing.
    let clock = unsafe { clock.assume_init() };
    let micros = |count: libc::c_long| Span::micros(count.unsigned_abs());
    (state >= 0).then(|| ClockError {
        synchronised: state != libc::TIME_ERROR && clock.status & libc::STA_UNSYNC == 0,
        estimated: micros(clock.esterror),
        max: micros(clock.maxerror),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_no_more_than_the_most() {
        // A sandbox may forbid the call.
        if let Some(error) = clock_error().filter(|error| error.synchronised) {
            assert!(error.max > Span::ZERO);
        }
    }
}
