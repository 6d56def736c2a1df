//! The table's definition in the catalog.

use brunt_units::PageNumber;

use super::message::{BODY, FOLDER, ID, RECEIVED, SUBJECT, SUBJECT_BYTES_MAX, VERSION};
use crate::format::catalog::schema::{
    COLUMN_NOT_NULL, Column, DENSITY, Index, LongValues, NON_UNIQUE_FLAGS, PRIMARY_FLAGS, Table,
};
use crate::format::catalog::{CatalogError, CatalogRow, system};
use crate::format::column::{ColumnId, ColumnType};
use crate::format::long_value::{LongValueId, LongValueKey};
use crate::format::page::ObjectId;
use crate::page::{Need, Pages};
use crate::tree::{Cursor, TreeId};

/// The table's name.
const NAME: &str = "Messages";
const PRIMARY_INDEX: &str = "PrimaryKey";
const RECEIVED_INDEX: &str = "FolderReceived";
const INDEX_ID: u32 = 2;
const LONG_VALUES_ID: u32 = 1;

/// The trees of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The records, by primary key.
    pub records: TreeId,
    /// The index `FolderReceived`.
    pub by_received: TreeId,
    /// The long values: bodies.
    pub bodies: TreeId,
}

/// Why the trees could not be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogRead {
    /// A need must be satisfied first; then call again.
    #[error("needed: {0:?}")]
    Need(Need),
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The catalog does not have our table.
    #[error("no table `Messages` with its index and long values")]
    NoMessages,
}

impl From<Need> for CatalogRead {
    fn from(need: Need) -> Self {
        Self::Need(need)
    }
}

/// The tables of a database, as its catalog has them.
///
/// # Errors
/// [`CatalogRead::Need`], [`CatalogRead::Catalog`].
pub fn read_catalog<P: Pages>(pages: &P) -> Result<Vec<Table>, CatalogRead> {
    let tree = TreeId { root: system::CATALOG_ROOT, object: system::CATALOG };
    let mut cursor = Cursor::before(tree, &[]);
    let mut rows = Vec::new();
    while let Some(entry) = cursor.next(pages)? {
        if !entry.deleted {
            rows.push(CatalogRow::decode(entry.data, pages.page_size())?);
        }
    }
    Ok(Table::from_rows(&rows)?)
}

impl Messages {
    /// The trees rooted at these pages, with the object ids of the first user table.
    pub(super) fn rooted_at(
        records: PageNumber,
        bodies: PageNumber,
        by_received: PageNumber,
    ) -> Self {
        let tree =
            |root, after| TreeId { root, object: ObjectId(system::FIRST_USER_OBJECT.0 + after) };
        Self {
            records: tree(records, 0),
            bodies: tree(bodies, LONG_VALUES_ID),
            by_received: tree(by_received, INDEX_ID),
        }
    }

    /// Finds the table in a database.
    ///
    /// # Errors
    /// [`CatalogRead`].
    pub fn find<P: Pages>(pages: &P) -> Result<Self, CatalogRead> {
        Self::among(&read_catalog(pages)?).ok_or(CatalogRead::NoMessages)
    }

    /// The trees of the table, if it is among `tables`.
    pub(crate) fn among(tables: &[Table]) -> Option<Self> {
        let table = tables.iter().find(|table| table.name == NAME)?;
        let index = table.index(RECEIVED_INDEX)?;
        let long_values = table.long_values?;
        Some(Self {
            records: TreeId { root: table.root, object: table.object },
            by_received: TreeId { root: index.root, object: index.object },
            bodies: TreeId { root: long_values.root, object: long_values.object },
        })
    }

    /// The table as the catalog describes it.
    pub fn table(&self) -> Table {
        let column = |id, name: &str, column_type: ColumnType, bytes_max: usize, flags| Column {
            id,
            name: name.into(),
            column_type,
            bytes_max: u32::try_from(column_type.fixed_bytes().unwrap_or(bytes_max))
                .expect("columns are small"),
            flags,
            code_page: 0,
            default_value: None,
        };
        let index = |tree: TreeId, name: &str, flags, columns: &[ColumnId]| Index {
            name: name.into(),
            object: tree.object,
            root: tree.root,
            density: DENSITY,
            flags,
            key_max: None,
            columns: columns.to_vec(),
        };
        Table {
            name: NAME.into(),
            object: self.records.object,
            root: self.records.root,
            density: DENSITY,
            flags: 0,
            pages: 1,
            columns: vec![
                column(ID, "Id", ColumnType::LongLong, 0, COLUMN_NOT_NULL),
                column(FOLDER, "Folder", ColumnType::Long, 0, COLUMN_NOT_NULL),
                column(RECEIVED, "Received", ColumnType::LongLong, 0, COLUMN_NOT_NULL),
                column(VERSION, "Version", ColumnType::Long, 0, COLUMN_NOT_NULL),
                column(SUBJECT, "Subject", ColumnType::Binary, SUBJECT_BYTES_MAX, 0),
                column(BODY, "Body", ColumnType::LongBinary, 0, 0),
            ],
            indexes: vec![
                index(self.records, PRIMARY_INDEX, PRIMARY_FLAGS, &[ID]),
                index(self.by_received, RECEIVED_INDEX, NON_UNIQUE_FLAGS, &[FOLDER, RECEIVED]),
            ],
            long_values: Some(LongValues { object: self.bodies.object, root: self.bodies.root }),
        }
    }

    /// The highest id that a body has had, including deleted ones; `None` when there is none. New
    /// ids count up from it.
    ///
    /// # Errors
    /// [`Need::Page`]; [`Need::Repair`] when the last node does not belong in a long-value tree.
    pub fn last_body<P: Pages>(&self, pages: &P) -> Result<Option<LongValueId>, Need> {
        let mut cursor = Cursor::at_end(self.bodies);
        let Some(entry) = cursor.previous(pages)? else {
            return Ok(None);
        };
        match LongValueKey::from_key(entry.key) {
            Some(LongValueKey::Root(id) | LongValueKey::Chunk(id, _))
                if id <= LongValueId::LAST =>
            {
                Ok(Some(id))
            }
            _ => Err(Need::Repair(entry.page)),
        }
    }
}
