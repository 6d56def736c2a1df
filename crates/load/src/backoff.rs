//! How long a session waits after trouble: longer each time, and never at the same time as others.

use brunt_units::Span;
use brunt_world::random::Stream;

const FIRST: Span = Span::millis(50);
const LONGEST: Span = Span::seconds(5);

/// Waits of one session.
#[derive(Debug)]
pub(crate) struct Backoff {
    stream: Stream,
    next: Span,
}

impl Backoff {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, next: FIRST }
    }

    /// The next wait: half of it is certain, half is drawn, and the one after it is twice as long.
    pub(crate) fn wait(&mut self) -> Span {
        let half = Span(self.next.0 >> 1);
        self.next = Span((self.next.0 << 1).min(LONGEST.0));
        half + Span(self.stream.below(half.0 + 1))
    }

    /// All is well again.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn waits_grow_to_their_limit_and_differ() {
        let mut one = Backoff::new(Streams::new(1).named("a"));
        let mut other = Backoff::new(Streams::new(1).named("b"));
        let mut most = FIRST;
        for round in 0..20 {
            let waits = [one.wait(), other.wait()];
            assert_ne!(waits[0], waits[1]);
            for wait in waits {
                assert!(wait >= Span(most.0 >> 1) && wait <= most, "{round}: {wait:?}");
            }
            most = Span((most.0 << 1).min(LONGEST.0));
        }
        one.reset();
        assert!(one.wait() <= FIRST);
    }
}
