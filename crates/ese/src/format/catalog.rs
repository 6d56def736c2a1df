//! The catalog: the tree that lists all trees.
//!
//! `MSysObjects`, rooted at page 4, has a row for each table, column, index and long-value tree.
//! Its primary key is (table's object id, kind, id), so the rows of one table are adjacent: table,
//! columns, indexes, long values. `MSysObjectsShadow`, rooted at page 24, holds a second copy of
//! the rows.
//!
//! ```text
//!    column                 table            column            index                long values
//!      1 ObjidTable         object id        table's           table's              table's
//!      2 Type               1                2                 3                    4
//!      3 Id                 object id        column id         object id (*)        object id
//!      4 ColtypOrPgnoFDP    root page        type              root page (*)        root page
//!      5 SpaceUsage         density %        longest value     density %            100
//!      6 Flags              of the table     of the column     of the index         0
//!      7 PagesOrLocale      first pages      code page         0                    1
//!      8 RootFlag           true
//!      9 RecordOffset                        fixed: its place
//!     10 LCMapFlags                                            0x30401
//!     11 KeyMost                                               if not 255
//!    128 Name
//!    131 DefaultValue                        if it has one
//!    132 KeyFldIDs                                             u8 flags, u8 0, u16 column for each segment
//!    261 LocaleName                                            "en-US" in UTF-16
//!    (*) a primary index is its table: the table's object id and root page
//! ```
//!
//! Two indexes: `Name` on (ObjidTable, Type, Name), `RootObjects` on (RootFlag, Name) for tables
//! only. [`CatalogRow`] is a row; [`schema`] turns rows into tables and back; [`system`] has the
//! rows that describe the catalog itself.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_cat.cxx and
//! dev/ese/src/inc/cat.hxx; the details of the values are those of genuine files of revision 20.

pub mod schema;
pub mod system;

use brunt_units::PageSize;

use super::column::{ColumnId, FixedLayout};
use super::field::u32_at;
use super::key::{KEY_BYTES_MAX, KeyBuilder};
use super::page::ObjectId;
use super::record::{Record, RecordError, Value, encode};

const TABLE: ColumnId = ColumnId(1);
const KIND: ColumnId = ColumnId(2);
const ID: ColumnId = ColumnId(3);
const TYPE_OR_ROOT: ColumnId = ColumnId(4);
const SPACE_USAGE: ColumnId = ColumnId(5);
const FLAGS: ColumnId = ColumnId(6);
const PAGES_OR_LOCALE: ColumnId = ColumnId(7);
const ROOT_FLAG: ColumnId = ColumnId(8);
const RECORD_OFFSET: ColumnId = ColumnId(9);
const MAP_FLAGS: ColumnId = ColumnId(10);
const KEY_MOST: ColumnId = ColumnId(11);
const NAME: ColumnId = ColumnId(128);
const DEFAULT_VALUE: ColumnId = ColumnId(131);
const KEY_COLUMNS: ColumnId = ColumnId(132);
const LOCALE_NAME: ColumnId = ColumnId(261);

/// Value that genuine engines write for an index's case folding; it only matters for Unicode text.
const MAP_FLAGS_VALUE: u32 = 0x3_0401;
/// "en-US", UTF-16.
const LOCALE: &[u8; 10] = b"e\0n\0-\0U\0S\0";
const BIT_TRUE: u8 = 0xFF;

/// What a catalog row describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    Table,
    Column,
    Index,
    /// The tree of a table's long values.
    LongValues,
    /// A callback; never written by us.
    Callback,
}

impl RowKind {
    fn number(self) -> u16 {
        match self {
            Self::Table => 1,
            Self::Column => 2,
            Self::Index => 3,
            Self::LongValues => 4,
            Self::Callback => 5,
        }
    }

    fn from_number(number: u16) -> Option<Self> {
        [Self::Table, Self::Column, Self::Index, Self::LongValues, Self::Callback]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}

/// A row of the catalog. The meaning of the numbers depends on the kind; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogRow {
    /// The table it belongs to.
    pub table: ObjectId,
    /// What it describes.
    pub kind: RowKind,
    /// Object id, or column id.
    pub id: u32,
    /// Root page, or column type.
    pub type_or_root: u32,
    /// Density in percent, or longest value.
    pub space_usage: u32,
    /// Flags of its kind.
    pub flags: u32,
    /// First pages of a table, or code page of a column.
    pub pages_or_locale: u32,
    /// Offset of a fixed column in the record.
    pub record_offset: Option<u16>,
    /// Maximum key length, if the index limits it.
    pub key_max: Option<u16>,
    pub name: String,
    /// A column's default value.
    pub default_value: Option<Vec<u8>>,
    /// An index's segments, four bytes each.
    pub key_columns: Vec<u8>,
}

/// Why a catalog cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A row is not a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A row lacks a column that every row has.
    #[error("a catalog row has no column {0}")]
    Missing(u16),
    /// A row of an unknown kind.
    #[error("a catalog row of kind {0}")]
    Kind(u16),
    /// Rows of a table before the table's own row.
    #[error("object {0} has no table row")]
    NoTable(u32),
    /// A column with an invalid type or id.
    #[error("column `{0}` makes no sense")]
    Column(String),
    /// The segments of an index are incomplete.
    #[error("index `{0}` makes no sense")]
    Index(String),
}

/// The fixed columns of the catalog. The last exists from revision 230 on and does not affect those
/// before it.
pub fn layout() -> FixedLayout {
    FixedLayout::new([4, 2, 4, 4, 4, 4, 4, 1, 2, 4, 2, 4, 8])
}

impl CatalogRow {
    /// The key in the catalog's own tree.
    pub fn key(&self) -> Vec<u8> {
        self.kind_key().signed_32(self.id.cast_signed()).build(KEY_BYTES_MAX)
    }

    /// The key in the index `Name`.
    pub fn name_key(&self) -> Vec<u8> {
        self.kind_key().text(&self.name_bytes()).build(KEY_BYTES_MAX)
    }

    /// The key in the index `RootObjects`, which contains tables only.
    pub fn root_objects_key(&self) -> Option<Vec<u8>> {
        let table = self.kind == RowKind::Table;
        table.then(|| {
            let key = KeyBuilder::new().bit(true).text(&self.name_bytes());
            key.build(KEY_BYTES_MAX)
        })
    }

    fn kind_key(&self) -> KeyBuilder {
        KeyBuilder::new()
            .signed_32(self.table.0.cast_signed())
            .signed_16(self.kind.number().cast_signed())
    }

    /// Names use code page 1252; we write only ASCII letters.
    fn name_bytes(&self) -> Vec<u8> {
        let letters = self.name.chars();
        letters.map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
    }

    /// Encodes the row as a record on a page of `size`.
    pub fn encode(&self, size: PageSize) -> Vec<u8> {
        let words = [
            self.table.0,
            self.id,
            self.type_or_root,
            self.space_usage,
            self.flags,
            self.pages_or_locale,
        ]
        .map(u32::to_le_bytes);
        let kind = self.kind.number().to_le_bytes();
        let offset = self.record_offset.map(u16::to_le_bytes);
        let key_max = self.key_max.map(u16::to_le_bytes);
        let map_flags = MAP_FLAGS_VALUE.to_le_bytes();
        let name = self.name_bytes();
        let mut columns = vec![
            (TABLE, Value::Bytes(&words[0])),
            (KIND, Value::Bytes(&kind)),
            (ID, Value::Bytes(&words[1])),
            (TYPE_OR_ROOT, Value::Bytes(&words[2])),
            (SPACE_USAGE, Value::Bytes(&words[3])),
            (FLAGS, Value::Bytes(&words[4])),
            (PAGES_OR_LOCALE, Value::Bytes(&words[5])),
        ];
        if self.kind == RowKind::Table {
            columns.push((ROOT_FLAG, Value::Bytes(&[BIT_TRUE])));
        }
        columns.extend(offset.iter().map(|bytes| (RECORD_OFFSET, Value::Bytes(bytes))));
        if self.kind == RowKind::Index {
            columns.push((MAP_FLAGS, Value::Bytes(&map_flags)));
        }
        columns.extend(key_max.iter().map(|bytes| (KEY_MOST, Value::Bytes(bytes))));
        columns.push((NAME, Value::Bytes(&name)));
        columns.extend(self.default_value.iter().map(|bytes| (DEFAULT_VALUE, Value::Bytes(bytes))));
        if self.kind == RowKind::Index {
            columns.push((KEY_COLUMNS, Value::Bytes(&self.key_columns)));
            columns.push((LOCALE_NAME, Value::Intrinsic(LOCALE)));
        }
        encode(&layout(), size, &columns)
    }

    /// Decodes a row from a page of `size`.
    ///
    /// # Errors
    /// [`CatalogError::Record`], [`CatalogError::Missing`], [`CatalogError::Kind`].
    pub fn decode(bytes: &[u8], size: PageSize) -> Result<Self, CatalogError> {
        let record = Record::new(bytes, size)?;
        let layout = layout();
        let fixed = |column| record.fixed(&layout, column);
        let word = |column: ColumnId| {
            let bytes = fixed(column)?.ok_or(CatalogError::Missing(column.0))?;
            Ok::<_, CatalogError>(u32_at(bytes, 0))
        };
        let short = |column| {
            let bytes = fixed(column)?;
            let value = bytes.and_then(|bytes| bytes.try_into().ok());
            Ok::<_, CatalogError>(value.map(u16::from_le_bytes))
        };
        let kind = short(KIND)?.ok_or(CatalogError::Missing(KIND.0))?;
        let name = record.variable(NAME)?.ok_or(CatalogError::Missing(NAME.0))?;
        Ok(Self {
            table: ObjectId(word(TABLE)?),
            kind: RowKind::from_number(kind).ok_or(CatalogError::Kind(kind))?,
            id: word(ID)?,
            type_or_root: word(TYPE_OR_ROOT)?,
            space_usage: word(SPACE_USAGE)?,
            flags: word(FLAGS)?,
            pages_or_locale: word(PAGES_OR_LOCALE)?,
            record_offset: short(RECORD_OFFSET)?,
            key_max: short(KEY_MOST)?,
            name: name.iter().map(|letter| char::from(*letter)).collect(),
            default_value: record.variable(DEFAULT_VALUE)?.map(<[u8]>::to_vec),
            key_columns: record.variable(KEY_COLUMNS)?.unwrap_or_default().to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    #[test]
    fn the_catalog_s_own_row_is_the_genuine_one() {
        let genuine = bytes(
            "08 80 2000 02000000 0100 02000000 04000000 50000000 000000c0 14000000 ff 00 0b00 \
             4d5379734f626a65637473",
        );
        let row = CatalogRow::decode(&genuine, PageSize::KIB_4).unwrap();
        assert_eq!((row.name.as_str(), row.kind), ("MSysObjects", RowKind::Table));
        assert_eq!(row.encode(PageSize::KIB_4), genuine);
        assert_eq!(row.key(), bytes("7f80000002 7f8001 7f80000002"));
    }

    #[test]
    fn an_index_row_is_the_genuine_one_on_both_kinds_of_page() {
        let head = "0a 84 2700 02000000 0300 04000000 07000000 50000000 11000100 00000000 2a 2a2a \
             01040300 80 fd 0400 0480 0480 0480 1000 4e616d65 00000100 00000200 00008000";
        let locale = "65006e002d0055005300";
        for (size, entry) in [(PageSize::KIB_32, "0501 0400 01"), (PageSize::KIB_4, "0501 0440 01")]
        {
            let genuine = bytes(&format!("{head} {entry} {locale}"));
            let row = CatalogRow::decode(&genuine, size).unwrap();
            assert_eq!(row.key_columns.len(), 12);
            assert_eq!(row.encode(size), genuine);
        }
    }

    #[test]
    fn rows_with_everything_come_back() {
        let row = CatalogRow {
            table: ObjectId(8),
            kind: RowKind::Column,
            id: 3,
            type_or_root: 4,
            space_usage: 4,
            flags: 1,
            pages_or_locale: 0,
            record_offset: Some(12),
            key_max: Some(510),
            name: "Column".into(),
            default_value: Some(vec![1, 0, 0, 0]),
            key_columns: Vec::new(),
        };
        for size in PageSize::ALL {
            assert_eq!(CatalogRow::decode(&row.encode(size), size), Ok(row.clone()));
        }
    }
}
