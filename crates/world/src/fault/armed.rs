//! When a fault strikes: counting the requests that touch its place.
//!
//! ```text
//!    touches:   1  2  3  4  5  6  7 ...
//!    after = 3          |strikes, `times` times|  passes again
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::{Fault, FaultKind};
use crate::{Class, FileId, Io, Op};

/// A fault and how often it was met.
pub(super) struct Armed {
    pub(super) fault: Fault,
    met: u64,
    pub(super) struck: u64,
    /// What stood at the place before the last write that touched it, by file.
    pub(super) former: BTreeMap<FileId, Vec<u8>>,
}

impl Armed {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            fault,
            met: 0,
            struck: 0,
            former: BTreeMap::new(),
        }
    }

    /// Counts a request to the file at `path` if it touches the place; whether the fault strikes it.
    pub(super) fn meet(&mut self, io: &Io, path: &Path) -> bool {
        if !self.fault.strikes(io.op) || !self.fault.is_in(path) {
            return false;
        }
        let Some(touched) = touched(io, &self.fault.bytes) else {
            return false;
        };
        if let Some(width) = self.fault.settles {
            return self.settle(io, path, touched.start, width);
        }
        if self.fault.kind == FaultKind::Stale {
            let has_former = !self.former.is_empty();
            match io.op {
                Op::Read if has_former => {}
                Op::Read => return false,
                // Watched until the lie begins, which then stays the same.
                _ => return self.struck == 0,
            }
        }
        self.met += 1;
        let strikes = self.met > self.fault.after && self.struck < self.fault.times;
        self.struck += u64::from(strikes);
        strikes
    }

    /// Lies in wait, and settles when its time has come.
    fn settle(&mut self, io: &Io, path: &Path, start: u64, width: u64) -> bool {
        // What is made ready for later, and what nobody may ever read again, is not worth waiting for.
        let carries_data = !matches!(io.class, Class::Create | Class::LogFormat);
        // A stale read needs a write before it.
        let is_too_early = self.fault.kind == FaultKind::Stale && io.op == Op::Read;
        if is_too_early || !carries_data {
            return false;
        }
        self.met += 1;
        if self.met <= self.fault.after || self.fault.times == 0 {
            return false;
        }
        self.met = 0;
        self.fault = Fault {
            file: path.to_owned(),
            bytes: start..start.saturating_add(width),
            after: 0,
            settles: None,
            ..self.fault.clone()
        };
        self.meet(io, path)
    }
}

/// What a request touches of `bytes`; a sync touches them all.
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
