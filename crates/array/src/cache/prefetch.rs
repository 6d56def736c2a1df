//! Detection of sequential readers, and read-ahead for them.
//!
//! A stream is identified by where its next read would begin. From its third read on, the cache
//! keeps a window ahead of it full and refills it when half is used.

use crate::Extent;

/// Streams remembered per LUN.
const STREAMS: usize = 16;
/// Sequential reads required before read-ahead starts.
const SURE_AFTER: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    reads: u32,
    /// Data up to here has been read ahead.
    ahead: u64,
}

/// The streams of one LUN.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Where each stream's next read would begin; for most reads nothing else is examined.
    next: [u64; STREAMS],
    streams: [Stream; STREAMS],
    /// Indices of the streams, least recently read first.
    by_age: [u8; STREAMS],
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            next: [u64::MAX; STREAMS],
            streams: [Stream::default(); STREAMS],
            by_age: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        }
    }
}

impl Streams {
    /// Records a host's read of `extent`; returns what to read ahead, within `window` sectors and
    /// below `end`.
    pub(crate) fn read(&mut self, extent: Extent, window: u64, end: u64) -> Option<Extent> {
        if window == 0 {
            return None;
        }
        let Some(at) = self.next.iter().position(|next| *next == extent.start) else {
            // It may start a new stream, replacing the least recently read one.
            let at = usize::from(self.by_age[0]);
            self.by_age.rotate_left(1);
            self.next[at] = extent.end();
            self.streams[at] = Stream { reads: 1, ahead: extent.end() };
            return None;
        };
        let age = self.by_age.iter().position(|one| usize::from(*one) == at);
        self.by_age[age.expect("every place has an age")..].rotate_left(1);
        self.next[at] = extent.end();
        let stream = &mut self.streams[at];
        stream.reads += 1;
        stream.ahead = stream.ahead.max(extent.end());
        let goal = (extent.end() + window).min(end);
        let left = stream.ahead - extent.end();
        let due = stream.reads > SURE_AFTER && left * 2 <= window && goal > stream.ahead;
        let found = due.then(|| Extent::new(stream.ahead, goal - stream.ahead));
        if due {
            stream.ahead = goal;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_streams_are_read_ahead() {
        let mut streams = Streams::default();
        let mut read = |start| streams.read(Extent::new(start, 16), 64, 1000);
        assert_eq!(read(0), None);
        assert_eq!(read(500), None);
        assert_eq!(read(16), None);
        assert_eq!(read(32), Some(Extent::new(48, 64)));
        assert_eq!(read(48), None, "more than half of the window is left");
        assert_eq!(read(64), Some(Extent::new(112, 32)));
        assert_eq!(read(516), None);
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        let mut streams = Streams::default();
        let mut last = None;
        for start in (900..1000).step_by(10) {
            last = streams.read(Extent::new(start, 10), 64, 1000).or(last);
        }
        assert_eq!(last.unwrap().end(), 1000);
    }
}
