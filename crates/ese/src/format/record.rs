//! A record: the data of a table's leaf node.
//!
//! ```text
//!    u8   last fixed column present (0 = none)
//!    u8   last variable column present (127 = none)
//!    u16  where the variable offsets begin
//!    fixed columns 1 .. last, one after another; those without a value keep their place
//!    a bit for each of them, lowest first, 1 = no value; the rest of the last byte is ones
//!    variable offsets: u16 for each of 128 .. last, the END of its bytes, 0x8000 = no value
//!    variable bytes
//!    tagged columns: (u16 id, u16 offset) each, ids ascending; then their bytes
//! ```
//!
//! Offsets of tagged columns count from the first entry, so the first offset also gives the number
//! of entries. An entry's bytes end where the next entry's begin. The form of an entry depends on
//! the page size:
//!
//! | | small pages | large pages |
//! | --- | --- | --- |
//! | offset | 13 bits | 15 bits |
//! | a byte of flags before the data | when 0x4000 is set | always |
//! | explicitly no value | 0x2000 | flag 0x20 |
//!
//! A long column's value is stored in the record (*intrinsic*) or in the long-value tree
//! (*separated*: four bytes of id). We write single, uncompressed values. Multi-values and
//! compressed values of other programs are returned raw, with their flags.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/rec.hxx and
//! dev/ese/src/inc/tagfld.hxx.

use brunt_units::PageSize;

use super::column::{ColumnId, FixedLayout, Part};
use super::field::{u16_in, u32_in};
use super::long_value::LongValueId;

/// Bytes before the first fixed column.
const HEADER_BYTES: usize = 4;
/// Filling of a fixed column without a value, as in genuine files.
const FILLER: u8 = 0x2A;
const NO_VARIABLE: u8 = 127;
const VARIABLE_NULL: u16 = 0x8000;
const VARIABLE_END_MASK: u16 = 0x7FFF;
const ENTRY_BYTES: usize = 4;

const SMALL_OFFSET_MASK: u16 = 0x1FFF;
const SMALL_HAS_FLAGS: u16 = 0x4000;
const SMALL_NULL: u16 = 0x2000;
const LARGE_OFFSET_MASK: u16 = 0x7FFF;

/// The byte of flags before a tagged column's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaggedFlags(pub u8);

impl TaggedFlags {
    /// A long column.
    pub const LONG: Self = Self(0x01);
    /// The bytes are compressed.
    pub const COMPRESSED: Self = Self(0x02);
    /// The bytes are an id in the long-value tree.
    pub const SEPARATED: Self = Self(0x04);
    /// An array of values.
    pub const MULTI_VALUES: Self = Self(0x08);
    /// Two values, with [`Self::MULTI_VALUES`].
    pub const TWO_VALUES: Self = Self(0x10);
    /// No value.
    pub const NULL: Self = Self(0x20);
    /// The bytes are encrypted.
    pub const ENCRYPTED: Self = Self(0x40);

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// A column's value to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A fixed, variable or short tagged column's bytes.
    Bytes(&'a [u8]),
    /// A long column's bytes, stored in the record.
    Intrinsic(&'a [u8]),
    /// A long column's bytes are in the long-value tree.
    Separated(LongValueId),
}

/// Encodes the columns that have a value, ids ascending.
///
/// # Panics
/// When ids do not ascend, a fixed column is not in `layout` or its value has another length, a
/// variable value is longer than 255 bytes, or the record is longer than a page. The caller must
/// check user input.
pub fn encode(layout: &FixedLayout, size: PageSize, columns: &[(ColumnId, Value<'_>)]) -> Vec<u8> {
    assert!(columns.is_sorted_by(|a, b| a.0 < b.0), "columns ascend by id");
    let part = |part| {
        let is_in = move |column: &&(ColumnId, Value<'_>)| column.0.part() == Some(part);
        columns.iter().filter(is_in)
    };
    let mut record = vec![0; HEADER_BYTES];
    record[0] = encode_fixed(&mut record, layout, part(Part::Fixed));
    let variable_at = word(record.len());
    record[2..4].copy_from_slice(&variable_at.to_le_bytes());
    record[1] = encode_variable(&mut record, part(Part::Variable));
    encode_tagged(&mut record, size, part(Part::Tagged));
    assert!(record.len() < size.bytes(), "a record fits on a page");
    record
}

fn word(value: usize) -> u16 {
    u16::try_from(value).expect("a record is shorter than a page")
}

/// Appends fixed columns and their null bits; returns the last id.
fn encode_fixed<'c>(
    record: &mut Vec<u8>,
    layout: &FixedLayout,
    columns: impl Iterator<Item = &'c (ColumnId, Value<'c>)> + Clone,
) -> u8 {
    let last = columns.clone().last().map_or(0, |(id, _)| id.0);
    let end = layout.place(ColumnId(last)).map_or(HEADER_BYTES, |place| place.end);
    assert!(last == 0 || end > HEADER_BYTES, "column {last} is in the layout");
    record.resize(end, FILLER);
    let mut nulls = vec![0xFF; usize::from(last).div_ceil(8)];
    for (id, value) in columns {
        let place = layout.place(*id).expect("ids ascend to the last");
        let Value::Bytes(bytes) = value else {
            panic!("column {} is fixed", id.0);
        };
        record[place].copy_from_slice(bytes);
        let bit = usize::from(id.0 - 1);
        nulls[bit >> 3] &= !(1 << (bit & 7));
    }
    record.extend(nulls);
    u8::try_from(last).expect("fixed ids are below 128")
}

/// Appends variable offsets and bytes; returns the last id.
fn encode_variable<'c>(
    record: &mut Vec<u8>,
    columns: impl Iterator<Item = &'c (ColumnId, Value<'c>)> + Clone,
) -> u8 {
    let mut data: Vec<u8> = Vec::new();
    let mut next = ColumnId::FIRST_VARIABLE.0;
    for (id, value) in columns {
        let Value::Bytes(bytes) = value else {
            panic!("column {} is variable", id.0);
        };
        assert!(bytes.len() <= 255, "a variable column of {} bytes", bytes.len());
        for _ in next..id.0 {
            record.extend((word(data.len()) | VARIABLE_NULL).to_le_bytes());
        }
        data.extend(*bytes);
        record.extend(word(data.len()).to_le_bytes());
        next = id.0 + 1;
    }
    record.extend(data);
    u8::try_from(next - 1).expect("variable ids are below 256")
}

/// Appends tagged columns.
fn encode_tagged<'c>(
    record: &mut Vec<u8>,
    size: PageSize,
    columns: impl Iterator<Item = &'c (ColumnId, Value<'c>)> + Clone,
) {
    let mut data = Vec::new();
    let entries = columns.clone().count() * ENTRY_BYTES;
    for (id, value) in columns {
        let id_bytes;
        let (flags, bytes): (u8, &[u8]) = match value {
            Value::Bytes(bytes) => (0, bytes),
            Value::Intrinsic(bytes) => (TaggedFlags::LONG.0, bytes),
            Value::Separated(value) => {
                id_bytes = value.to_bytes();
                (TaggedFlags::LONG.0 | TaggedFlags::SEPARATED.0, &id_bytes)
            }
        };
        let mut offset = word(entries + data.len());
        if size.is_large() {
            data.push(flags);
        } else if flags != 0 {
            offset |= SMALL_HAS_FLAGS;
            data.push(flags);
        }
        data.extend(bytes);
        record.extend(id.0.to_le_bytes());
        record.extend(offset.to_le_bytes());
    }
    record.extend(data);
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Too short for its own header.
    #[error("a record of {bytes} bytes")]
    Short {
        /// Its length.
        bytes: usize,
    },
    /// The variable offsets are not after the fixed columns, or outside the record.
    #[error("the variable part of the record lies outside it")]
    VariableOutside,
    /// A tagged column's entry or bytes are outside the record.
    #[error("tagged column {0} lies outside the record")]
    TaggedOutside(u16),
}

/// A tagged column, undecoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<'a> {
    pub id: ColumnId,
    /// The form of its bytes.
    pub flags: TaggedFlags,
    /// The bytes after the flags.
    pub bytes: &'a [u8],
}

impl Tagged<'_> {
    /// The id of a separated single value.
    pub fn separated(&self) -> Option<LongValueId> {
        let single = !self.flags.has(TaggedFlags::MULTI_VALUES);
        let bytes = self.bytes.try_into().ok()?;
        (single && self.flags.has(TaggedFlags::SEPARATED))
            .then_some(LongValueId(u32::from_le_bytes(bytes)))
    }
}

/// A record's bytes, read as a record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    bytes: &'a [u8],
    size: PageSize,
    last_fixed: u8,
    last_variable: u8,
    /// Where the variable offsets begin.
    offsets_at: usize,
    /// Where the tagged columns begin.
    tagged_at: usize,
}

impl<'a> Record<'a> {
    /// Reads `bytes`, from a page of `size`, as a record.
    ///
    /// # Errors
    /// [`RecordError`] when its parts are not inside it.
    pub fn new(bytes: &'a [u8], size: PageSize) -> Result<Self, RecordError> {
        let [last_fixed, last_variable, offset @ ..] = *bytes
            .first_chunk::<HEADER_BYTES>()
            .ok_or(RecordError::Short { bytes: bytes.len() })?;
        let offsets_at = usize::from(u16::from_le_bytes(offset));
        let nulls = usize::from(last_fixed).div_ceil(8);
        if offsets_at < HEADER_BYTES + nulls {
            return Err(RecordError::VariableOutside);
        }
        let count = last_variable.saturating_sub(NO_VARIABLE);
        let data_at = offsets_at + 2 * usize::from(count);
        let data_bytes = match count {
            0 => 0,
            _ => u16_in(bytes, data_at - 2).ok_or(RecordError::VariableOutside)?,
        };
        let tagged_at = data_at + usize::from(data_bytes & VARIABLE_END_MASK);
        if tagged_at > bytes.len() {
            return Err(RecordError::VariableOutside);
        }
        Ok(Self { bytes, size, last_fixed, last_variable, offsets_at, tagged_at })
    }

    /// A fixed column's bytes; `None` without a value.
    ///
    /// # Errors
    /// [`RecordError::VariableOutside`] when its place in `layout` belongs to another part.
    pub fn fixed(
        &self,
        layout: &FixedLayout,
        column: ColumnId,
    ) -> Result<Option<&'a [u8]>, RecordError> {
        let Some(place) = layout.place(column) else {
            return Ok(None);
        };
        if column.0 > self.last_fixed.into() {
            return Ok(None);
        }
        let nulls_at = self.offsets_at - usize::from(self.last_fixed).div_ceil(8);
        if place.end > nulls_at {
            return Err(RecordError::VariableOutside);
        }
        let bit = usize::from(column.0 - 1);
        let null = self.bytes[nulls_at + (bit >> 3)] >> (bit & 7) & 1 == 1;
        Ok((!null).then(|| &self.bytes[place]))
    }

    /// A variable column's bytes; `None` without a value.
    ///
    /// # Errors
    /// [`RecordError::VariableOutside`] when its offsets are invalid.
    pub fn variable(&self, column: ColumnId) -> Result<Option<&'a [u8]>, RecordError> {
        let first = ColumnId::FIRST_VARIABLE.0;
        if column.0 < first || column.0 > self.last_variable.into() {
            return Ok(None);
        }
        let index = usize::from(column.0 - first);
        let word = |index: usize| {
            let word = u16_in(self.bytes, self.offsets_at + 2 * index);
            word.ok_or(RecordError::VariableOutside)
        };
        let end = word(index)?;
        if end & VARIABLE_NULL != 0 {
            return Ok(None);
        }
        let start = match index {
            0 => 0,
            _ => word(index - 1)? & VARIABLE_END_MASK,
        };
        let count = usize::from(self.last_variable - NO_VARIABLE);
        let data = &self.bytes[self.offsets_at + 2 * count..self.tagged_at];
        let bytes = data.get(start.into()..end.into());
        bytes.map(Some).ok_or(RecordError::VariableOutside)
    }

    /// The tagged columns in id order.
    pub fn tagged(&self) -> impl Iterator<Item = Result<Tagged<'a>, RecordError>> + use<'a> {
        let (area, size) = (&self.bytes[self.tagged_at..], self.size);
        let first = u16_in(area, 2).map_or(0, |offset| offset & offset_mask(size));
        let count = usize::from(first).div_euclid(ENTRY_BYTES);
        (0..count).map(move |index| tagged_entry(area, size, index, count))
    }

    /// A tagged column; `None` when the record has none with this id.
    ///
    /// # Errors
    /// [`RecordError::TaggedOutside`].
    pub fn tagged_column(&self, column: ColumnId) -> Result<Option<Tagged<'a>>, RecordError> {
        for tagged in self.tagged() {
            let tagged = tagged?;
            if tagged.id == column {
                return Ok(Some(tagged));
            }
        }
        Ok(None)
    }
}

fn offset_mask(size: PageSize) -> u16 {
    if size.is_large() { LARGE_OFFSET_MASK } else { SMALL_OFFSET_MASK }
}

/// Entry `index` of `count` in a record's tagged area.
fn tagged_entry(
    area: &[u8],
    size: PageSize,
    index: usize,
    count: usize,
) -> Result<Tagged<'_>, RecordError> {
    let entry = u32_in(area, index * ENTRY_BYTES).ok_or(RecordError::TaggedOutside(0))?;
    let id = ColumnId(u16::from_le_bytes([entry.to_le_bytes()[0], entry.to_le_bytes()[1]]));
    let offset = u16::from_le_bytes([entry.to_le_bytes()[2], entry.to_le_bytes()[3]]);
    let outside = RecordError::TaggedOutside(id.0);
    let end = match index + 1 {
        next if next == count => area.len(),
        next => {
            let word = u16_in(area, next * ENTRY_BYTES + 2).ok_or(outside)?;
            usize::from(word & offset_mask(size))
        }
    };
    let start = usize::from(offset & offset_mask(size));
    let bytes = area.get(start..end).ok_or(outside)?;
    let has_flags = size.is_large() || offset & SMALL_HAS_FLAGS != 0;
    let (mut flags, bytes) = match has_flags {
        true => {
            let (flags, bytes) = bytes.split_first().ok_or(outside)?;
            (TaggedFlags(*flags), bytes)
        }
        false => (TaggedFlags::default(), bytes),
    };
    if !size.is_large() && offset & SMALL_NULL != 0 {
        flags = TaggedFlags(flags.0 | TaggedFlags::NULL.0);
    }
    Ok(Tagged { id, flags, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZES: [PageSize; 2] = [PageSize::KIB_8, PageSize::KIB_32];

    #[test]
    fn columns_come_back_on_small_and_large_pages() {
        let layout = FixedLayout::new([4, 8, 2]);
        for size in SIZES {
            let id = LongValueId(77);
            let bytes = encode(
                &layout,
                size,
                &[
                    (ColumnId(1), Value::Bytes(&[1, 2, 3, 4])),
                    (ColumnId(3), Value::Bytes(&[9, 9])),
                    (ColumnId(129), Value::Bytes(b"variable")),
                    (ColumnId(256), Value::Bytes(b"short")),
                    (ColumnId(257), Value::Intrinsic(b"long")),
                    (ColumnId(300), Value::Separated(id)),
                ],
            );
            let record = Record::new(&bytes, size).unwrap();
            let fixed = |id| record.fixed(&layout, ColumnId(id)).unwrap();
            assert_eq!(fixed(1), Some(&[1, 2, 3, 4][..]));
            assert_eq!((fixed(2), fixed(3)), (None, Some(&[9, 9][..])));
            assert_eq!(record.variable(ColumnId(128)).unwrap(), None);
            assert_eq!(record.variable(ColumnId(129)).unwrap(), Some(&b"variable"[..]));
            assert_eq!(record.variable(ColumnId(130)).unwrap(), None);
            let tagged = |id| record.tagged_column(ColumnId(id)).unwrap();
            assert_eq!(tagged(256).unwrap().bytes, b"short");
            assert_eq!(tagged(257).unwrap().bytes, b"long");
            assert_eq!(tagged(257).unwrap().flags, TaggedFlags::LONG);
            assert_eq!(tagged(300).unwrap().separated(), Some(id));
            assert_eq!(tagged(258), None);
        }
    }

    #[test]
    fn a_record_without_columns_is_four_bytes() {
        for size in SIZES {
            let bytes = encode(&FixedLayout::default(), size, &[]);
            assert_eq!(bytes, [0, 127, 4, 0]);
            let record = Record::new(&bytes, size).unwrap();
            assert_eq!(record.tagged().count(), 0);
        }
    }

    #[test]
    fn a_genuine_record_of_tagged_columns() {
        // MSysObjids on a large page: objid, objidTable, type.
        let number = 2_u32.to_le_bytes();
        let bytes = encode(
            &FixedLayout::default(),
            PageSize::KIB_32,
            &[
                (ColumnId(256), Value::Bytes(&number)),
                (ColumnId(257), Value::Bytes(&number)),
                (ColumnId(258), Value::Bytes(&[1, 0])),
            ],
        );
        let expected = [
            0, 0x7F, 4, 0, 0, 1, 0x0C, 0, 1, 1, 0x11, 0, 2, 1, 0x16, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0,
            0, 0, 1, 0,
        ];
        assert_eq!(bytes, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
            small in any::<bool>(),
        ) {
            let size = if small { PageSize::KIB_4 } else { PageSize::KIB_16 };
            // Get past the header more often than by chance.
            if let [_, variable, low, high, ..] = bytes.as_mut_slice() {
                *variable = 126 + *variable % 8;
                *low %= 40;
                *high = 0;
            }
            let layout = FixedLayout::new([4; 20]);
            if let Ok(record) = Record::new(&bytes, size) {
                for id in 0..140 {
                    let _ = record.fixed(&layout, ColumnId(id));
                    let _ = record.variable(ColumnId(id));
                }
                prop_assert!(record.tagged().count() <= 8192);
            }
        }
    }
}
