//! Messages over real streams.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use brunt_fleet::{FIRST, Frames, frame};

/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// Reads the next content of a stream; an error says why there is none.
pub(crate) struct Reader<R> {
    from: R,
    frames: Frames,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, frames: Frames::default() }
    }

    /// Waits for the next content; `None` at the end of the stream.
    pub(crate) fn next_content(&mut self) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = vec![0; READ];
        loop {
            if let Some(content) = self.frames.next_content().map_err(|error| error.to_string())? {
                return Ok(Some(content));
            }
            match self.from.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(count) => self.frames.push(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// A thread that writes, so that a stream which takes nothing holds up nobody else.
pub(crate) struct Writer {
    bytes: Sender<Vec<u8>>,
    /// Ends after the last byte was taken, or the stream has broken.
    pub(crate) thread: JoinHandle<()>,
}

impl Writer {
    /// Writes to `to`.
    pub(crate) fn new(to: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (bytes, coming) = channel();
        let thread = thread::Builder::new().name("says".to_owned());
        Ok(Self { bytes, thread: thread.spawn(move || write_all(to, &coming))? })
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&self, bytes: Vec<u8>) {
        // A stream that has broken is noticed by who reads from it.
        let _ = self.bytes.send(bytes);
    }

    /// Sends the first content of the stream.
    pub(crate) fn send_first(&self, content: &[u8]) {
        self.send([FIRST, &frame(content)].concat());
    }

    pub(crate) fn send_content(&self, content: &[u8]) {
        self.send(frame(content));
    }

    /// Nothing more is sent; waits until everything was taken.
    pub(crate) fn finish(self) {
        drop(self.bytes);
        let _ = self.thread.join();
    }
}

fn write_all(mut to: impl Write, coming: &Receiver<Vec<u8>>) {
    for bytes in coming {
        if to.write_all(&bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
