//! Tables, columns and indexes, assembled from the catalog's rows.
//!
//! Source of the flags: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/cat.hxx and
//! dev/ese/src/inc/idb.hxx.

use brunt_units::PageNumber;

use super::{CatalogError, CatalogRow, RowKind};
use crate::format::column::{ColumnId, ColumnType, FixedLayout, Part};
use crate::format::field::u16_at;
use crate::format::page::ObjectId;

/// Fill of a table's or index's pages by a bulk load, in percent.
pub const DENSITY: u32 = 80;
/// Code page of UTF-16 text.
pub const UNICODE: u16 = 1200;
/// Code page of text with one byte per character.
pub const LATIN: u16 = 1252;

/// Column flag: a value is required.
pub const COLUMN_NOT_NULL: u32 = 0x0001;
/// Column flag: the engine increments it.
pub const COLUMN_AUTOINCREMENT: u32 = 0x0004;
/// Column flag: may have several values.
pub const COLUMN_MULTI_VALUED: u32 = 0x0008;

/// Index flag: keys are unique.
pub const INDEX_UNIQUE: u32 = 0x0001;
/// Index flag: the table's own order.
pub const INDEX_PRIMARY: u32 = 0x0020;
/// Flags of a primary index: unique, as genuine catalogs have them.
pub const PRIMARY_FLAGS: u32 = 0x1_002F;
/// Flags of a secondary index with unique keys.
pub const UNIQUE_FLAGS: u32 = 0x1_000F;
/// Flags of a secondary index with non-unique keys.
pub const NON_UNIQUE_FLAGS: u32 = 0x1_000E;

const LONG_VALUES_DENSITY: u32 = 100;
const SEGMENT_BYTES: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub id: ColumnId,
    pub name: String,
    pub column_type: ColumnType,
    /// Maximum length of a value in bytes; 0 for a long column without a limit.
    pub bytes_max: u32,
    pub flags: u32,
    /// Code page of text, [`UNICODE`] or [`LATIN`]; 0 for everything else.
    pub code_page: u16,
    /// Value of records that have none, as stored in the column.
    pub default_value: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    /// Object id of its tree; for a primary index, the table's.
    pub object: ObjectId,
    /// Root page of its tree; for a primary index, the table's.
    pub root: PageNumber,
    /// Fill of its pages by a bulk load, in percent.
    pub density: u32,
    pub flags: u32,
    /// Maximum key length, if not 255.
    pub key_max: Option<u16>,
    /// The columns, in order; all ascending.
    pub columns: Vec<ColumnId>,
}

/// A tree of long values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongValues {
    pub object: ObjectId,
    pub root: PageNumber,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub object: ObjectId,
    pub root: PageNumber,
    /// Fill of its pages by a bulk load, in percent.
    pub density: u32,
    pub flags: u32,
    /// Initial number of pages.
    pub pages: u32,
    /// Its columns, by id.
    pub columns: Vec<Column>,
    /// Its indexes, by object id; the primary one is first.
    pub indexes: Vec<Index>,
    /// The tree of its long values, if it has one.
    pub long_values: Option<LongValues>,
}

impl Index {
    /// Whether the index is the table's primary one.
    pub fn is_primary(&self) -> bool {
        self.flags & INDEX_PRIMARY != 0
    }

    /// Whether keys are unique.
    pub fn is_unique(&self) -> bool {
        self.flags & INDEX_UNIQUE != 0
    }
}

impl Table {
    /// Layout of the fixed columns in a record.
    pub fn layout(&self) -> FixedLayout {
        FixedLayout::new(self.fixed_columns().map(|column| column.bytes_max as usize))
    }

    fn fixed_columns(&self) -> impl Iterator<Item = &Column> {
        let fixed = |column: &&Column| column.id.part() == Some(Part::Fixed);
        self.columns.iter().filter(fixed)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The catalog's rows for this table, in key order.
    ///
    /// # Panics
    /// When columns or indexes do not ascend by id, fixed ids have gaps (readers derive offsets
    /// from sizes), or a fixed column's size does not match its type.
    pub fn rows(&self) -> Vec<CatalogRow> {
        assert!(self.columns.is_sorted_by(|a, b| a.id < b.id), "columns ascend");
        assert!(self.indexes.is_sorted_by(|a, b| a.object < b.object), "indexes ascend");
        for (column, expected) in self.fixed_columns().zip(1..) {
            assert_eq!(column.id.0, expected, "fixed columns have no gaps");
        }
        let mut rows = vec![CatalogRow {
            pages_or_locale: self.pages,
            flags: self.flags,
            ..self.row(RowKind::Table, self.object.0, self.root.0, self.density, &self.name)
        }];
        let layout = self.layout();
        rows.extend(self.columns.iter().map(|column| self.column_row(column, &layout)));
        rows.extend(self.indexes.iter().map(|index| self.index_row(index)));
        rows.extend(self.long_values.iter().map(|tree| CatalogRow {
            pages_or_locale: 1,
            ..self.row(RowKind::LongValues, tree.object.0, tree.root.0, LONG_VALUES_DENSITY, "LV")
        }));
        rows
    }

    fn row(&self, kind: RowKind, id: u32, root: u32, usage: u32, name: &str) -> CatalogRow {
        CatalogRow {
            table: self.object,
            kind,
            id,
            type_or_root: root,
            space_usage: usage,
            flags: 0,
            pages_or_locale: 0,
            record_offset: None,
            key_max: None,
            name: name.into(),
            default_value: None,
            key_columns: Vec::new(),
        }
    }

    fn column_row(&self, column: &Column, layout: &FixedLayout) -> CatalogRow {
        let place = layout.place(column.id);
        let number = column.column_type.number();
        if let Some(bytes) = column.column_type.fixed_bytes() {
            assert_eq!(column.bytes_max as usize, bytes, "column {}", column.name);
        }
        CatalogRow {
            flags: column.flags,
            pages_or_locale: column.code_page.into(),
            record_offset: place.and_then(|place| u16::try_from(place.start).ok()),
            default_value: column.default_value.clone(),
            ..self.row(RowKind::Column, column.id.0.into(), number, column.bytes_max, &column.name)
        }
    }

    fn index_row(&self, index: &Index) -> CatalogRow {
        let segment = |column: &ColumnId| {
            let [low, high] = column.0.to_le_bytes();
            [0, 0, low, high]
        };
        CatalogRow {
            flags: index.flags,
            key_max: index.key_max,
            key_columns: index.columns.iter().flat_map(segment).collect(),
            ..self.row(RowKind::Index, index.object.0, index.root.0, index.density, &index.name)
        }
    }

    /// Assembles the tables from `rows`, which are in key order.
    ///
    /// # Errors
    /// [`CatalogError::NoTable`], [`CatalogError::Column`], [`CatalogError::Index`].
    pub fn from_rows(rows: &[CatalogRow]) -> Result<Vec<Self>, CatalogError> {
        let mut tables: Vec<Self> = Vec::new();
        for row in rows {
            if row.kind == RowKind::Table {
                tables.push(Self::from_table_row(row));
                continue;
            }
            let table = tables.last_mut().filter(|table| table.object == row.table);
            let table = table.ok_or(CatalogError::NoTable(row.table.0))?;
            match row.kind {
                RowKind::Column => table.columns.push(read_column(row)?),
                RowKind::Index => table.indexes.push(read_index(row)?),
                RowKind::LongValues => {
                    table.long_values = Some(LongValues {
                        object: ObjectId(row.id),
                        root: PageNumber(row.type_or_root),
                    });
                }
                RowKind::Table | RowKind::Callback => {}
            }
        }
        Ok(tables)
    }

    fn from_table_row(row: &CatalogRow) -> Self {
        Self {
            name: row.name.clone(),
            object: row.table,
            root: PageNumber(row.type_or_root),
            density: row.space_usage,
            flags: row.flags,
            pages: row.pages_or_locale,
            columns: Vec::new(),
            indexes: Vec::new(),
            long_values: None,
        }
    }
}

fn read_column(row: &CatalogRow) -> Result<Column, CatalogError> {
    let refuse = || CatalogError::Column(row.name.clone());
    let column_type = ColumnType::from_number(row.type_or_root).ok_or_else(refuse)?;
    let id = u16::try_from(row.id).map_err(|_| refuse())?;
    let id = ColumnId(id);
    let part = id.part().ok_or_else(refuse)?;
    // A layout is built from these sizes, so they must be valid.
    if part == Part::Fixed && !(1..=255).contains(&row.space_usage) {
        return Err(refuse());
    }
    Ok(Column {
        id,
        name: row.name.clone(),
        column_type,
        bytes_max: row.space_usage,
        flags: row.flags,
        code_page: u16::try_from(row.pages_or_locale).map_err(|_| refuse())?,
        default_value: row.default_value.clone(),
    })
}

fn read_index(row: &CatalogRow) -> Result<Index, CatalogError> {
    let segments = row.key_columns.chunks_exact(SEGMENT_BYTES);
    if !segments.remainder().is_empty() {
        return Err(CatalogError::Index(row.name.clone()));
    }
    Ok(Index {
        name: row.name.clone(),
        object: ObjectId(row.id),
        root: PageNumber(row.type_or_root),
        density: row.space_usage,
        flags: row.flags,
        key_max: row.key_max,
        columns: segments.map(|segment| ColumnId(u16_at(segment, 2))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns and indexes of the format's worked example.
    fn messages() -> Table {
        let column = |id, name: &str, column_type, bytes_max, flags, code_page| Column {
            id: ColumnId(id),
            name: name.into(),
            column_type,
            bytes_max,
            flags,
            code_page,
            default_value: None,
        };
        let index = |object, root, name: &str, flags, columns: &[u16]| Index {
            name: name.into(),
            object: ObjectId(object),
            root: PageNumber(root),
            density: DENSITY,
            flags,
            key_max: None,
            columns: columns.iter().map(|id| ColumnId(*id)).collect(),
        };
        Table {
            name: "Messages".into(),
            object: ObjectId(8),
            root: PageNumber(31),
            density: DENSITY,
            flags: 0,
            pages: 1,
            columns: vec![
                column(1, "Id", ColumnType::Long, 4, COLUMN_NOT_NULL | COLUMN_AUTOINCREMENT, 0),
                column(2, "Folder", ColumnType::Long, 4, 0, 0),
                column(3, "Received", ColumnType::LongLong, 8, 0, 0),
                column(4, "Guid", ColumnType::Guid, 16, 0, 0),
                column(128, "Digest", ColumnType::Binary, 255, 0, 0),
                column(256, "Body", ColumnType::LongBinary, 0, 0, 0),
                column(257, "Subject", ColumnType::LongText, 0, 0, UNICODE),
            ],
            indexes: vec![
                index(8, 31, "PrimaryKey", PRIMARY_FLAGS, &[1]),
                index(10, 50, "FolderReceived", NON_UNIQUE_FLAGS, &[2, 3]),
                index(11, 60, "ByDigest", UNIQUE_FLAGS, &[128]),
            ],
            long_values: Some(LongValues { object: ObjectId(9), root: PageNumber(70) }),
        }
    }

    #[test]
    fn a_table_comes_back_from_its_rows() {
        let table = messages();
        let rows = table.rows();
        assert_eq!(rows.len(), 1 + 7 + 3 + 1);
        assert!(rows.is_sorted_by(|a, b| a.key() < b.key()));
        assert_eq!(rows[4].record_offset, Some(20), "Guid");
        assert_eq!(rows[9].key_columns, [0, 0, 2, 0, 0, 0, 3, 0]);
        assert_eq!(Table::from_rows(&rows).unwrap(), [table]);
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        let rows = messages().rows();
        assert_eq!(Table::from_rows(&rows[1..]), Err(CatalogError::NoTable(8)));
        let with = |index: usize, change: fn(&mut CatalogRow)| {
            let mut rows = rows.clone();
            change(&mut rows[index]);
            Table::from_rows(&rows).unwrap_err()
        };
        let column = CatalogError::Column("Id".into());
        assert_eq!(with(1, |row| row.type_or_root = 13), column);
        assert_eq!(with(1, |row| row.id = 0), column);
        assert_eq!(with(1, |row| row.space_usage = 0), column);
        let index = CatalogError::Index("PrimaryKey".into());
        assert_eq!(with(8, |row| row.key_columns.truncate(3)), index);
    }
}
