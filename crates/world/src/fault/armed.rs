//! When a fault strikes: counts the requests that touch its place.
//!
//! ```text
//!    touches:   1  2  3  4  5  6  7 ...
//!    after = 3          |strikes, `times` times|  passes again
//! ```
//!
//! A fault without a place lies in wait. Timing decides which request comes next, and a fault in
//! blank bytes shows as another error or not at all. So it settles only where there is data: its
//! effect follows from the plan alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Fault, FaultKind};
use crate::{Class, FileId, Io, Op};

/// The effect of a fault on a request.
pub(super) enum Meeting {
    /// None.
    Passes,
    /// The fault strikes it.
    Strikes,
    /// The fault settles on this place and strikes, if there is data.
    Settles(Range<u64>),
}

/// A fault and its counters.
pub(super) struct Armed {
    pub(super) fault: Fault,
    met: u64,
    pub(super) struck: u64,
    /// Content of the place before the last write that touched it, by file.
    pub(super) former: BTreeMap<FileId, Vec<u8>>,
}

impl Armed {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, met: 0, struck: 0, former: BTreeMap::new() }
    }

    /// Counts a request to the file at `path` if it touches the place.
    pub(super) fn meet(&mut self, io: &Io, path: &Path) -> Meeting {
        if !self.fault.strikes(io.op) || !self.fault.is_in(path) {
            return Meeting::Passes;
        }
        let Some(touched) = touched(io, &self.fault.bytes) else {
            return Meeting::Passes;
        };
        if let Some(width) = self.fault.settles {
            return self.lie_in_wait(io, path, touched.start, width);
        }
        if self.fault.kind == FaultKind::Stale {
            let has_former = !self.former.is_empty();
            match io.op {
                Op::Read if has_former => {}
                Op::Read => return Meeting::Passes,
                // Watched until the first stale read, which fixes the content.
                _ if self.struck == 0 => return Meeting::Strikes,
                _ => return Meeting::Passes,
            }
        }
        self.met += 1;
        if self.met <= self.fault.after || self.struck == self.fault.times {
            return Meeting::Passes;
        }
        self.struck += 1;
        Meeting::Strikes
    }

    fn lie_in_wait(&mut self, io: &Io, path: &Path, start: u64, width: u64) -> Meeting {
        // A header has a second copy.
        let is_header = io.class == Class::Metadata && path.extension() == Some("edb".as_ref());
        // Bytes written to grow or format a file may never be read.
        let carries_data = !is_header && !matches!(io.class, Class::Create | Class::LogFormat);
        // A stale read needs a write before it.
        let is_too_early = self.fault.kind == FaultKind::Stale && io.op == Op::Read;
        if is_too_early || !carries_data {
            return Meeting::Passes;
        }
        self.met += 1;
        if self.met <= self.fault.after || self.fault.times == 0 {
            return Meeting::Passes;
        }
        Meeting::Settles(start..start.saturating_add(width))
    }

    /// Settles on `bytes` of the file at `path`, unless another request came first.
    pub(super) fn settle(&mut self, path: PathBuf, bytes: Range<u64>) {
        if self.fault.settles.take().is_none() {
            return;
        }
        self.met = 0;
        self.fault.after = 0;
        self.fault.file = path;
        self.fault.bytes = bytes;
    }
}

/// The part of `bytes` that a request touches; a sync touches all of them.
fn touched(io: &Io, bytes: &Range<u64>) -> Option<Range<u64>> {
    match io.op {
        Op::Sync => Some(bytes.clone()),
        _ => overlap(io, bytes),
    }
}

/// The part of `bytes` that a request covers.
pub(super) fn overlap(io: &Io, bytes: &Range<u64>) -> Option<Range<u64>> {
    let end = io.offset + io.length();
    let common = io.offset.max(bytes.start)..end.min(bytes.end);
    (common.start < common.end).then_some(common)
}
