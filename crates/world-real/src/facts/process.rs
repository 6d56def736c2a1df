//! Resources used by this process.

#![expect(
    unsafe_code,
    reason = "one system call without a safe form; the block says why it is sound"
)]

use std::fs;

use brunt_units::{ByteSize, Span};

use super::{kib, value};

/// Time and memory used by all threads of this process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUse {
    /// Processor time in user mode.
    pub user: Span,
    /// Processor time in kernel mode.
    pub system: Span,
    /// Peak resident memory.
    pub peak_memory: ByteSize,
}

/// Resources used so far; `None` when the system does not report them.
pub fn process_use() -> Option<ProcessUse> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer refers to memory of the type that the call fills.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid value of this type of plain numbers, even if the call filled in
    // nothing.
    let usage = unsafe { usage.assume_init() };
    (answer == 0).then(|| ProcessUse {
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
        // Linux reports KiB here.
        peak_memory: ByteSize::kib(usage.ru_maxrss.unsigned_abs()),
    })
}

/// How much of this process's memory is in huge pages; `None` when the system does not report it.
pub fn huge_page_memory() -> Option<ByteSize> {
    // Linux 4.14 and later; `Documentation/ABI/testing/procfs-smaps_rollup`.
    let table = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    value(&table, "AnonHugePages").and_then(kib)
}

fn span(time: libc::timeval) -> Span {
    Span::seconds(time.tv_sec.unsigned_abs()) + Span::micros(time.tv_usec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_costs_time() {
        let before = process_use().unwrap();
        let mut turns = 0_u64;
        while process_use().unwrap().user + process_use().unwrap().system
            <= before.user + before.system
        {
            turns = std::hint::black_box(turns + 1);
        }
        assert!(process_use().unwrap().peak_memory > ByteSize::mib(1));
    }
}
