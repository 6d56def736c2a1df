//! The system tables: the catalog's rows about itself, and the two small tables that genuine
//! engines create.
//!
//! | tree | object | root | pages |
//! | --- | --- | --- | --- |
//! | the database | 1 | 1 (owned extents 2, available 3) | all |
//! | `MSysObjects` | 2 | 4 (5, 6) | 4 to 23 |
//! | its index `Name` | 4 | 7 (8, 9) | 7 to 9 |
//! | its index `RootObjects` | 5 | 10 (11, 12) | 10 to 12 |
//! | `MSysObjectsShadow` | 3 | 24 (25, 26) | 24 to 28 |
//! | `MSysObjids` | 6 | 29 | 29 |
//! | `MSysLocales` | 7 | 30 | 30 |
//!
//! User tables start at object 8 and page 31. The indexes' first pages are among the catalog's
//! twenty.

use brunt_units::{PageNumber, PageSize};

use super::schema::{COLUMN_NOT_NULL, Column, DENSITY, Index, LATIN, PRIMARY_FLAGS, Table};
use super::{CatalogRow, RowKind};
use crate::format::column::{ColumnId, ColumnType, FixedLayout};
use crate::format::key::{KEY_BYTES_MAX, KeyBuilder};
use crate::format::page::ObjectId;
use crate::format::record::{Value, encode};

/// The database itself as a tree: its space is every page.
pub const DATABASE: ObjectId = ObjectId(1);
/// Root page of [`DATABASE`]; its space trees follow.
pub const DATABASE_ROOT: PageNumber = PageNumber(1);
pub const CATALOG: ObjectId = ObjectId(2);
/// Root page of [`CATALOG`].
pub const CATALOG_ROOT: PageNumber = PageNumber(4);
/// Pages of the catalog's first extent, from its root.
pub const CATALOG_PAGES: u32 = 20;
/// The second copy of the catalog.
pub const SHADOW: ObjectId = ObjectId(3);
/// Root page of [`SHADOW`].
pub const SHADOW_ROOT: PageNumber = PageNumber(24);
/// Pages of the second copy's first extent, from its root.
pub const SHADOW_PAGES: u32 = 5;
/// The catalog's index `Name`.
pub const NAME_INDEX: ObjectId = ObjectId(4);
/// Root page of [`NAME_INDEX`].
pub const NAME_INDEX_ROOT: PageNumber = PageNumber(7);
/// The catalog's index `RootObjects`.
pub const ROOT_OBJECTS_INDEX: ObjectId = ObjectId(5);
/// Root page of [`ROOT_OBJECTS_INDEX`].
pub const ROOT_OBJECTS_INDEX_ROOT: PageNumber = PageNumber(10);
/// Pages of the first extent of each of the two indexes, from its root.
pub const CATALOG_INDEX_PAGES: u32 = 3;
/// The table of object ids.
pub const OBJECT_IDS: ObjectId = ObjectId(6);
/// Root page of [`OBJECT_IDS`].
pub const OBJECT_IDS_ROOT: PageNumber = PageNumber(29);
/// The table of locales.
pub const LOCALES: ObjectId = ObjectId(7);
/// Root page of [`LOCALES`].
pub const LOCALES_ROOT: PageNumber = PageNumber(30);
/// The first object id for user tables.
pub const FIRST_USER_OBJECT: ObjectId = ObjectId(8);
/// The first page for user tables.
pub const FIRST_USER_PAGE: PageNumber = PageNumber(31);

const SYSTEM_TABLE: u32 = 0xC000_0000;
const OBJECT_IDS_FLAGS: u32 = 0xC800_0000;
const LOCALES_FLAGS: u32 = 0x8800_0000;
const OBJECT_IDS_DENSITY: u32 = 100;
const LOCALES_DENSITY: u32 = 92;
const LOCALES_PRIMARY_FLAGS: u32 = 0x1_402F;
/// Escrow, has a default.
const LOCALES_VALUE_FLAGS: u32 = 0x30;
/// The catalog's fixed columns have 4 here, whatever their offset.
const CATALOG_RECORD_OFFSET: u16 = 4;

/// Id, name and type of the catalog's columns; the first seven and the name are required.
const CATALOG_COLUMNS: [(u16, &str, ColumnType); 28] = [
    (1, "ObjidTable", ColumnType::Long),
    (2, "Type", ColumnType::Short),
    (3, "Id", ColumnType::Long),
    (4, "ColtypOrPgnoFDP", ColumnType::Long),
    (5, "SpaceUsage", ColumnType::Long),
    (6, "Flags", ColumnType::Long),
    (7, "PagesOrLocale", ColumnType::Long),
    (8, "RootFlag", ColumnType::Bit),
    (9, "RecordOffset", ColumnType::Short),
    (10, "LCMapFlags", ColumnType::Long),
    (11, "KeyMost", ColumnType::UnsignedShort),
    (12, "LVChunkMax", ColumnType::Long),
    (128, "Name", ColumnType::Text),
    (129, "Stats", ColumnType::Binary),
    (130, "TemplateTable", ColumnType::Text),
    (131, "DefaultValue", ColumnType::Binary),
    (132, "KeyFldIDs", ColumnType::Binary),
    (133, "VarSegMac", ColumnType::Binary),
    (134, "ConditionalColumns", ColumnType::Binary),
    (135, "TupleLimits", ColumnType::Binary),
    (136, "Version", ColumnType::Binary),
    (137, "SortID", ColumnType::Binary),
    (256, "CallbackData", ColumnType::LongBinary),
    (257, "CallbackDependencies", ColumnType::LongBinary),
    (258, "SeparateLV", ColumnType::LongBinary),
    (259, "SpaceHints", ColumnType::LongBinary),
    (260, "SpaceDeferredLVHints", ColumnType::LongBinary),
    (261, "LocaleName", ColumnType::LongBinary),
];

/// The catalog's rows for the system tables: 72, in key order.
pub fn rows() -> Vec<CatalogRow> {
    let mut rows = catalog_rows(CATALOG);
    rows.extend(catalog_rows(SHADOW));
    rows.extend(object_ids().rows());
    let mut locales = locales().rows();
    for row in &mut locales {
        if row.name == "iValue" {
            row.default_value = Some(vec![0; 4]);
        }
    }
    rows.extend(locales);
    rows
}

/// The rows for the catalog or its second copy.
fn catalog_rows(object: ObjectId) -> Vec<CatalogRow> {
    let mut rows = catalog(object).rows();
    for row in &mut rows {
        if row.kind == RowKind::Column {
            row.pages_or_locale = LATIN.into();
            row.record_offset = row.record_offset.map(|_| CATALOG_RECORD_OFFSET);
        }
    }
    rows
}

/// The catalog as a table, or its second copy.
fn catalog(object: ObjectId) -> Table {
    let index = |object, root, name: &str, flags, columns: &[u16]| Index {
        name: name.into(),
        object,
        root,
        density: DENSITY,
        flags,
        key_max: None,
        columns: columns.iter().map(|id| ColumnId(*id)).collect(),
    };
    let (name, root, pages) = match object {
        CATALOG => ("MSysObjects", CATALOG_ROOT, CATALOG_PAGES),
        _ => ("MSysObjectsShadow", SHADOW_ROOT, SHADOW_PAGES),
    };
    let mut indexes = vec![index(object, root, "Id", 0x1_0031, &[1, 2, 3])];
    if object == CATALOG {
        indexes.push(index(NAME_INDEX, NAME_INDEX_ROOT, "Name", 0x1_0011, &[1, 2, 128]));
        let root_objects = ROOT_OBJECTS_INDEX;
        let root = ROOT_OBJECTS_INDEX_ROOT;
        indexes.push(index(root_objects, root, "RootObjects", 0x1_0009, &[8, 128]));
    }
    let columns = CATALOG_COLUMNS.iter().map(|(id, name, column_type)| {
        let needed = *id <= 7 || *id == 128;
        column(*id, name, *column_type, if needed { COLUMN_NOT_NULL } else { 0 })
    });
    Table {
        flags: SYSTEM_TABLE,
        pages,
        columns: columns.collect(),
        indexes,
        ..table(name, object, root)
    }
}

/// The table that maps trees to their tables.
fn object_ids() -> Table {
    Table {
        density: OBJECT_IDS_DENSITY,
        flags: OBJECT_IDS_FLAGS,
        columns: vec![
            column(256, "objid", ColumnType::Long, 0),
            column(257, "objidTable", ColumnType::Long, 0),
            column(258, "type", ColumnType::Short, 0),
        ],
        indexes: vec![Index {
            name: "primary".into(),
            object: OBJECT_IDS,
            root: OBJECT_IDS_ROOT,
            density: OBJECT_IDS_DENSITY,
            flags: PRIMARY_FLAGS,
            key_max: None,
            columns: vec![ColumnId(256)],
        }],
        ..table("MSysObjids", OBJECT_IDS, OBJECT_IDS_ROOT)
    }
}

/// The table of schema versions.
fn locales() -> Table {
    Table {
        density: LOCALES_DENSITY,
        flags: LOCALES_FLAGS,
        columns: vec![
            column(1, "Type", ColumnType::UnsignedByte, COLUMN_NOT_NULL),
            column(2, "iValue", ColumnType::Long, LOCALES_VALUE_FLAGS),
            column(128, "Key", ColumnType::Binary, 0),
        ],
        indexes: vec![Index {
            name: "KeyPrimary".into(),
            object: LOCALES,
            root: LOCALES_ROOT,
            density: LOCALES_DENSITY,
            flags: LOCALES_PRIMARY_FLAGS,
            key_max: None,
            columns: vec![ColumnId(128)],
        }],
        ..table("MSysLocales", LOCALES, LOCALES_ROOT)
    }
}

fn table(name: &str, object: ObjectId, root: PageNumber) -> Table {
    Table {
        name: name.into(),
        object,
        root,
        density: DENSITY,
        flags: 0,
        pages: 0,
        columns: Vec::new(),
        indexes: Vec::new(),
        long_values: None,
    }
}

fn column(id: u16, name: &str, column_type: ColumnType, flags: u32) -> Column {
    let bytes_max = match column_type.fixed_bytes() {
        Some(bytes) => u32::try_from(bytes).expect("at most 16"),
        None if column_type.is_long() => 0,
        None => 255,
    };
    Column {
        id: ColumnId(id),
        name: name.into(),
        column_type,
        bytes_max,
        flags,
        code_page: 0,
        default_value: None,
    }
}

/// Key and record of a tree's row in `MSysObjids`.
///
/// `kind` is [`RowKind::Table`], [`RowKind::Index`] or [`RowKind::LongValues`].
pub fn object_id_row(
    object: ObjectId,
    table: ObjectId,
    kind: RowKind,
    size: PageSize,
) -> (Vec<u8>, Vec<u8>) {
    let (id, owner) = (object.0.to_le_bytes(), table.0.to_le_bytes());
    let kind = kind.number().to_le_bytes();
    let record = encode(
        &FixedLayout::default(),
        size,
        &[
            (ColumnId(256), Value::Bytes(&id)),
            (ColumnId(257), Value::Bytes(&owner)),
            (ColumnId(258), Value::Bytes(&kind)),
        ],
    );
    let key = KeyBuilder::new().signed_32(object.0.cast_signed());
    (key.build(KEY_BYTES_MAX), record)
}

/// Keys and records of `MSysObjids` for `tables` and the system tables, in key order.
pub fn object_id_rows(tables: &[Table], size: PageSize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut trees = vec![
        (CATALOG, CATALOG, RowKind::Table),
        (SHADOW, SHADOW, RowKind::Table),
        (NAME_INDEX, CATALOG, RowKind::Index),
        (ROOT_OBJECTS_INDEX, CATALOG, RowKind::Index),
        (OBJECT_IDS, OBJECT_IDS, RowKind::Table),
        (LOCALES, LOCALES, RowKind::Table),
    ];
    for table in tables {
        trees.push((table.object, table.object, RowKind::Table));
        let secondary = table.indexes.iter().filter(|index| !index.is_primary());
        trees.extend(secondary.map(|index| (index.object, table.object, RowKind::Index)));
        let long_values = table.long_values.iter();
        trees.extend(long_values.map(|tree| (tree.object, table.object, RowKind::LongValues)));
    }
    let rows = trees.into_iter();
    let mut rows: Vec<_> =
        rows.map(|(object, table, kind)| object_id_row(object, table, kind, size)).collect();
    rows.sort();
    rows
}

/// Keys and records of `MSysLocales`, in key order: the schema's versions and a completion mark.
pub fn locale_rows(size: PageSize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let layout = FixedLayout::new([1, 4]);
    let row = |kind: u8, name: String, value: u32| {
        let name: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        let value = value.to_le_bytes();
        let record = encode(
            &layout,
            size,
            &[
                (ColumnId(1), Value::Bytes(&[kind])),
                (ColumnId(2), Value::Bytes(&value)),
                (ColumnId(128), Value::Bytes(&name)),
            ],
        );
        (KeyBuilder::new().binary(&name).build(KEY_BYTES_MAX), record)
    };
    let mut rows = vec![row(2, "MSysLocalesConsistent".into(), 1)];
    for side in ["External", "Internal"] {
        for (part, value) in [("Major", 1), ("Minor", 0), ("Update", 0)] {
            rows.push(row(1, format!(".Schema\\{side}\\{part}"), value));
        }
    }
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_rows_as_in_genuine_files() {
        let rows = rows();
        let count = |object| rows.iter().filter(|row| row.table == object).count();
        assert_eq!([CATALOG, SHADOW, OBJECT_IDS, LOCALES].map(count), [32, 30, 5, 5]);
        assert!(rows.is_sorted_by(|a, b| a.key() < b.key()));
        assert_eq!(Table::from_rows(&rows).unwrap().len(), 4);
    }

    #[test]
    fn small_tables_are_in_key_order() {
        for size in PageSize::ALL {
            let ids = object_id_rows(&[], size);
            assert_eq!(ids.len(), 6);
            assert!(ids.is_sorted());
            let locales = locale_rows(size);
            assert_eq!(locales.len(), 7);
            assert!(locales.is_sorted());
        }
        let genuine = [127, b'.', 0, b'S', 0, b'c', 0, b'h', 0, 9];
        assert_eq!(locale_rows(PageSize::KIB_4)[0].0[..10], genuine);
    }
}
