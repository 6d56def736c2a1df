//! Sequential readers, and what is read ahead for them.
//!
//! A stream is known by where its next read would begin. From its third read on, the cache keeps a window ahead of it
//! full, and reads on when half of that is used.

use std::collections::VecDeque;

use crate::Extent;

/// Streams remembered for each LUN.
const STREAMS: usize = 16;
/// Reads in sequence before anything is read ahead.
const SURE_AFTER: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Stream {
    next: u64,
    reads: u32,
    /// Read ahead up to here.
    ahead: u64,
}

/// The streams of one LUN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(VecDeque<Stream>);

impl Streams {
    /// A host reads `extent`: what to read ahead, within `window` sectors and below `end`.
    pub(crate) fn read(&mut self, extent: Extent, window: u64, end: u64) -> Option<Extent> {
        if window == 0 {
            return None;
        }
        let known = self.0.iter().position(|stream| stream.next == extent.start);
        let Some(at) = known else {
            if self.0.len() == STREAMS {
                self.0.pop_front();
            }
            self.0.push_back(Stream {
                next: extent.end(),
                reads: 1,
                ahead: extent.end(),
            });
            return None;
        };
        let mut stream = self.0.remove(at).expect("it was found");
        stream.next = extent.end();
        stream.reads += 1;
        stream.ahead = stream.ahead.max(extent.end());
        let goal = (extent.end() + window).min(end);
        let left = stream.ahead - extent.end();
        let due = stream.reads > SURE_AFTER && left * 2 <= window && goal > stream.ahead;
        let found = due.then(|| Extent::new(stream.ahead, goal - stream.ahead));
        if due {
            stream.ahead = goal;
        }
        self.0.push_back(stream);
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
