//! What the device mapper says about a device, by its control device: only root may ask.
//!
//! ```text
//!   struct dm_ioctl, 312 bytes | struct dm_target_spec, 40 bytes | text | next one ...
//! ```
//!
//! Source: `include/uapi/linux/dm-ioctl.h` of Linux.

#![expect(unsafe_code, reason = "asks the kernel by a buffer; the block says why it is sound")]

use std::fs::File;
use std::os::fd::AsRawFd;

const CONTROL: &str = "/dev/mapper/control";
const HEAD: usize = 312;
const SPEC: usize = 40;
/// `_IOWR(0xfd, 12, struct dm_ioctl)`
const TABLE_STATUS: u32 = 3 << 30 | 312 << 16 | 0xfd << 8 | 12;
/// A device of a volume group with hundreds of segments needs less.
const ANSWER_MAX: usize = 64 << 10;

/// The status texts of those targets of the device `numbers` (`253:1`) that are called `wanted`;
/// none without privileges.
pub(super) fn status(numbers: &str, wanted: &str) -> Vec<String> {
    asked(numbers).map_or_else(Vec::new, |answer| targets(&answer, wanted))
}

fn asked(numbers: &str) -> Option<Vec<u8>> {
    let (major, minor) = numbers.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let control = File::options().read(true).write(true).open(CONTROL).ok()?;
    let mut answer = vec![0_u8; ANSWER_MAX];
    let mut put = |at: usize, bytes: &[u8]| answer[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &4_u32.to_ne_bytes());
    put(12, &u32::try_from(ANSWER_MAX).ok()?.to_ne_bytes());
    put(16, &u32::try_from(HEAD).ok()?.to_ne_bytes());
    put(40, &device.to_ne_bytes());
    // SAFETY: the buffer begins with a whole `dm_ioctl` that states its length, and the kernel
    // writes no further than that.
    let done = unsafe {
        libc::ioctl(control.as_raw_fd(), TABLE_STATUS as libc::Ioctl, answer.as_mut_ptr())
    };
    (done == 0).then_some(answer)
}

/// The texts of the targets in `answer` that are called `wanted`.
fn targets(answer: &[u8], wanted: &str) -> Vec<String> {
    let word = |at: usize| {
        let bytes = answer.get(at..at + 4)?;
        usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    };
    let text = |at: usize| {
        let bytes = answer.get(at..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    };
    let mut found = Vec::new();
    let (Some(start), Some(count)) = (word(16), word(20)) else {
        return found;
    };
    let mut at = start;
    for _ in 0..count {
        let (Some(next), Some(kind), Some(status)) = (
            word(at.saturating_add(20)),
            text(at.saturating_add(24)),
            text(at.saturating_add(SPEC)),
        ) else {
            break;
        };
        if kind == wanted {
            found.push(status);
        }
        at = start.saturating_add(next);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_an_answer_is_read() {
        let mut answer = vec![0_u8; HEAD];
        answer[16..20].copy_from_slice(&312_u32.to_ne_bytes());
        answer[20..24].copy_from_slice(&2_u32.to_ne_bytes());
        for (kind, status, next) in
            [("linear", "", 48_u32), ("raid", "raid1 2 AA 8/8 idle 0 0 -", 0)]
        {
            let mut spec = vec![0_u8; SPEC];
            spec[20..24].copy_from_slice(&next.to_ne_bytes());
            spec[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
            spec.extend(status.as_bytes());
            spec.resize(spec.len().next_multiple_of(8).max(48), 0);
            answer.extend(spec);
        }
        assert_eq!(targets(&answer, "raid"), ["raid1 2 AA 8/8 idle 0 0 -"]);
        assert_eq!(targets(&answer, "thin"), [""; 0]);
        assert_eq!(targets(&answer[..HEAD + 10], "raid"), [""; 0], "cut off");
        assert_eq!(status("0:0", "raid"), [""; 0]);
    }
}
