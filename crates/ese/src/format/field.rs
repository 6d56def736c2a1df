//! Little-endian numbers at fixed places.
//!
//! There are two families. `u32_at` and its kin are for headers whose length the caller has
//! checked: an offset out of range is a bug and panics. `u32_in` and its kin are for offsets that
//! were themselves read from disk: an offset out of range gives `None`. The `put_` family writes,
//! and panics like the first.

/// The `N` bytes at `at`.
///
/// # Panics
/// When they extend past the end of `bytes`.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    array_in(bytes, at).expect("the field lies inside its header")
}

/// The `u16` at `at`; panics like [`array_at`].
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// The `u32` at `at`; panics like [`array_at`].
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// The `u64` at `at`; panics like [`array_at`].
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// The `N` bytes at `at`, if in range.
pub fn array_in<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The `u16` at `at`, if in range.
pub fn u16_in(bytes: &[u8], at: usize) -> Option<u16> {
    array_in(bytes, at).map(u16::from_le_bytes)
}

/// The `u32` at `at`, if in range.
pub fn u32_in(bytes: &[u8], at: usize) -> Option<u32> {
    array_in(bytes, at).map(u32::from_le_bytes)
}

/// Writes a `u16`; panics like [`array_at`].
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_le_bytes());
}

/// Writes a `u32`; panics like [`array_at`].
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, &value.to_le_bytes());
}

/// Writes a `u64`; panics like [`array_at`].
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    put(bytes, at, &value.to_le_bytes());
}

/// Writes `value` at `at`; panics like [`array_at`].
pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_at_any_alignment() {
        let mut bytes = [0xEE; 16];
        put_u64(&mut bytes, 3, 0x0102_0304_0506_0708);
        assert_eq!(u64_at(&bytes, 3), 0x0102_0304_0506_0708);
        assert_eq!(u32_at(&bytes, 3), 0x0506_0708);
        assert_eq!(u16_at(&bytes, 3), 0x0708);
        assert_eq!((bytes[2], bytes[3], bytes[11]), (0xEE, 8, 0xEE));
    }

    #[test]
    fn a_place_outside_is_none() {
        let bytes = [0; 5];
        assert_eq!(u32_in(&bytes, 1), Some(0));
        assert_eq!(u32_in(&bytes, 2), None);
        assert_eq!(u16_in(&bytes, usize::MAX), None);
    }
}
