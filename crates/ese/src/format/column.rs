//! Columns: types, ids, and the layout of fixed columns in a record.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/jethdr.w (`JET_coltyp`).

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// One byte, 0xFF or 0.
    Bit,
    /// 8 bits, unsigned.
    UnsignedByte,
    /// 16 bits.
    Short,
    /// 32 bits.
    Long,
    /// 64 bits.
    Currency,
    /// 32-bit floating point.
    Single,
    /// 64-bit floating point.
    Double,
    /// 64-bit floating point: days since 1899-12-30.
    DateTime,
    /// Up to 255 bytes.
    Binary,
    /// Up to 255 bytes of text.
    Text,
    /// Up to 2³¹ − 1 bytes.
    LongBinary,
    /// Up to 2³¹ − 1 bytes of text.
    LongText,
    /// 32 bits, unsigned.
    UnsignedLong,
    /// 64 bits.
    LongLong,
    /// 16 bytes.
    Guid,
    /// 16 bits, unsigned.
    UnsignedShort,
    /// 64 bits, unsigned.
    UnsignedLongLong,
}

/// Type, number in the catalog, bytes of a fixed column (0 = not fixed).
const TYPES: [(ColumnType, u32, usize); 17] = [
    (ColumnType::Bit, 1, 1),
    (ColumnType::UnsignedByte, 2, 1),
    (ColumnType::Short, 3, 2),
    (ColumnType::Long, 4, 4),
    (ColumnType::Currency, 5, 8),
    (ColumnType::Single, 6, 4),
    (ColumnType::Double, 7, 8),
    (ColumnType::DateTime, 8, 8),
    (ColumnType::Binary, 9, 0),
    (ColumnType::Text, 10, 0),
    (ColumnType::LongBinary, 11, 0),
    (ColumnType::LongText, 12, 0),
    (ColumnType::UnsignedLong, 14, 4),
    (ColumnType::LongLong, 15, 8),
    (ColumnType::Guid, 16, 16),
    (ColumnType::UnsignedShort, 17, 2),
    (ColumnType::UnsignedLongLong, 18, 8),
];

impl ColumnType {
    /// The type's number in the catalog.
    pub fn number(self) -> u32 {
        self.entry().1
    }

    /// The type with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        let entry = TYPES.iter().find(|entry| entry.1 == number)?;
        Some(entry.0)
    }

    /// Length of a value in bytes, for types of fixed length.
    pub fn fixed_bytes(self) -> Option<usize> {
        let bytes = self.entry().2;
        (bytes > 0).then_some(bytes)
    }

    /// Whether values may be stored outside their record.
    pub fn is_long(self) -> bool {
        matches!(self, Self::LongBinary | Self::LongText)
    }

    /// Whether values are text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::LongText)
    }

    fn entry(self) -> &'static (Self, u32, usize) {
        let entry = TYPES.iter().find(|entry| entry.0 == self);
        entry.expect("every type stands in the list")
    }
}

/// Identifies a column within its table; the number determines the part of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u16);

/// The parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Ids 1 to 127.
    Fixed,
    /// Ids 128 to 255.
    Variable,
    /// Ids from 256.
    Tagged,
}

impl ColumnId {
    /// The first fixed column.
    pub const FIRST_FIXED: Self = Self(1);
    /// The first variable column.
    pub const FIRST_VARIABLE: Self = Self(128);
    /// The first tagged column.
    pub const FIRST_TAGGED: Self = Self(256);

    /// The part of a record that stores the column; `None` for 0, which is not a column.
    pub fn part(self) -> Option<Part> {
        match self.0 {
            0 => None,
            1..=127 => Some(Part::Fixed),
            128..=255 => Some(Part::Variable),
            _ => Some(Part::Tagged),
        }
    }
}

/// Layout of fixed columns: in id order, from byte 4 of the record, without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedLayout {
    /// End of each, from the start of the record; column 1 first.
    ends: Vec<u16>,
}

impl FixedLayout {
    /// Where the first fixed column starts.
    pub const START: u16 = 4;

    /// The layout of columns with these sizes in bytes, column 1 first.
    ///
    /// # Panics
    /// When there are more than 127 columns, or the size of a column is 0 or above 255.
    pub fn new(sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut end = Self::START;
        let ends = sizes.into_iter().map(|size| {
            assert!((1..=255).contains(&size), "a fixed column of {size} bytes");
            end += u16::try_from(size).expect("at most 255");
            end
        });
        let ends: Vec<u16> = ends.collect();
        assert!(ends.len() <= 127, "at most 127 fixed columns");
        Self { ends }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The column's range of bytes in the record.
    pub fn place(&self, column: ColumnId) -> Option<std::ops::Range<usize>> {
        let index = usize::from(column.0).checked_sub(1)?;
        let end = *self.ends.get(index)?;
        let start = match index {
            0 => Self::START,
            _ => self.ends[index - 1],
        };
        Some(start.into()..end.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_types() {
        for (column_type, number, _) in TYPES {
            assert_eq!(ColumnType::from_number(number), Some(column_type));
            assert_eq!(column_type.number(), number);
        }
        assert_eq!(ColumnType::from_number(13), None);
        assert_eq!(ColumnType::Guid.fixed_bytes(), Some(16));
        assert_eq!(ColumnType::LongText.fixed_bytes(), None);
    }

    #[test]
    fn fixed_columns_follow_one_another() {
        let layout = FixedLayout::new([4, 4, 8, 16]);
        assert_eq!(layout.place(ColumnId(1)), Some(4..8));
        assert_eq!(layout.place(ColumnId(4)), Some(20..36));
        assert_eq!(layout.place(ColumnId(5)), None);
        assert_eq!(layout.place(ColumnId(0)), None);
    }
}
