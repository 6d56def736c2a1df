//! The coordinates of a database: page size, page number, database time.

use std::fmt;

use crate::ByteSize;

/// The size of a database page: 4, 8, 16 or 32 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(u32);

/// A page size that the format does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a page size (4096, 8192, 16384 or 32768 bytes)")]
pub struct PageSizeError(pub u64);

impl PageSize {
    /// 4,096 bytes: Exchange 2003.
    pub const KIB_4: Self = Self(4096);
    /// 8,192 bytes: Exchange 2007.
    pub const KIB_8: Self = Self(8192);
    /// 16,384 bytes.
    pub const KIB_16: Self = Self(16384);
    /// 32,768 bytes: Exchange 2010 and later.
    pub const KIB_32: Self = Self(32768);
    /// Every page size, smallest first.
    pub const ALL: [Self; 4] = [Self::KIB_4, Self::KIB_8, Self::KIB_16, Self::KIB_32];

    /// The page size of `bytes`.
    ///
    /// # Errors
    /// [`PageSizeError`] unless `bytes` is one of the four sizes.
    pub fn new(bytes: u64) -> Result<Self, PageSizeError> {
        Self::ALL.into_iter().find(|size| u64::from(size.0) == bytes).ok_or(PageSizeError(bytes))
    }

    /// Bytes in a page.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Bytes in a page, as `u64` for computing offsets.
    pub const fn bytes_u64(self) -> u64 {
        self.0 as u64
    }

    /// Whether the format's large-page rules apply (16 and 32 KiB).
    pub const fn is_large(self) -> bool {
        self.0 > 8192
    }

    /// Whole pages that fit in `size`.
    pub const fn pages_in(self, size: ByteSize) -> u64 {
        size.get().div_euclid(self.0 as u64)
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize::bytes(self.bytes_u64()).fmt(f)
    }
}

/// A page's number within its database. The first page is 1; 0 means "none" on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u32);

impl PageNumber {
    /// No page: the link at the end of a level.
    pub const NONE: Self = Self(0);

    /// The page's offset in its file. Two header pages come first, so page 1 begins at two page
    /// sizes.
    pub const fn offset(self, size: PageSize) -> u64 {
        (self.0 as u64 + 1) * size.bytes_u64()
    }

    /// The page number `distance` further on.
    #[must_use]
    pub const fn after(self, distance: u32) -> Self {
        Self(self.0 + distance)
    }

    /// Whether this is a page, not [`Self::NONE`].
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A database's own clock: it ticks once for each change, and every page carries the tick of its
/// last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseTime(pub u64);

impl DatabaseTime {
    /// The tick after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_one_follows_the_two_headers() {
        assert_eq!(PageNumber(1).offset(PageSize::KIB_8), 16384);
        assert_eq!(PageNumber(4).offset(PageSize::KIB_4), 20480);
        assert_eq!(PageNumber(u32::MAX).offset(PageSize::KIB_32), (1_u64 << 32) * 32768);
    }

    #[test]
    fn only_four_sizes_exist() {
        assert!(PageSize::new(2048).is_err());
        assert!(PageSize::new(12288).is_err());
        assert_eq!(PageSize::new(32768), Ok(PageSize::KIB_32));
    }
}
