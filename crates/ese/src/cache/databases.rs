//! The databases of a cache, by number.
//!
//! Databases come and go in any order. A number is stable as long as its database is present, and
//! is reused afterwards.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::path::PathBuf;
use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};
use brunt_world::FileId;

use super::flush_memory::FlushMemory;
use super::preread::Ahead;
use crate::error::PageFault;
use crate::format::stamp::Signature;
use crate::log::WriteAhead;

/// A database to add to a cache.
pub struct NewDatabase {
    /// Its path, for messages.
    pub path: PathBuf,
    pub file: FileId,
    /// Pages of the file.
    pub pages: u32,
    /// The instance it belongs to.
    pub instance: u8,
    /// The log that covers it.
    pub log: Rc<dyn WriteAhead>,
    /// Time of its latest change.
    pub time: DatabaseTime,
    /// Signature that it shares with its copies.
    pub signature: Signature,
    /// Its pages' flush types.
    pub flush: FlushMemory,
}

pub(super) struct CachedDatabase {
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    /// Pages of the file.
    pub(super) pages: u32,
    pub(super) instance: u8,
    pub(super) log: Rc<dyn WriteAhead>,
    pub(super) time: DatabaseTime,
    pub(super) signature: Signature,
    pub(super) flush: FlushMemory,
    /// Writes in flight, by id, with the log position that each releases once synced.
    pub(super) flying: BTreeMap<u64, LogPosition>,
    /// The oldest log position whose write has completed but is not synced.
    pub(super) unsynced: Option<LogPosition>,
    /// The oldest position that a sync in flight covers.
    pub(super) syncing: Option<LogPosition>,
    /// Pages that recovery found torn and will rebuild without trusting their content, with the
    /// fault that they had.
    pub(super) torn: BTreeMap<PageNumber, PageFault>,
    /// Prereads.
    pub(super) ahead: Ahead,
}

impl From<NewDatabase> for CachedDatabase {
    fn from(new: NewDatabase) -> Self {
        Self {
            path: new.path,
            file: new.file,
            pages: new.pages,
            instance: new.instance,
            log: new.log,
            time: new.time,
            signature: new.signature,
            flush: new.flush,
            flying: BTreeMap::new(),
            unsynced: None,
            syncing: None,
            torn: BTreeMap::new(),
            ahead: Ahead::new(),
        }
    }
}

/// The databases by their numbers.
#[derive(Default)]
pub(super) struct Databases(Vec<Option<CachedDatabase>>);

impl Databases {
    /// Adds a database under the lowest free number.
    pub(super) fn add(&mut self, new: NewDatabase) -> u8 {
        let number = self.0.iter().position(Option::is_none);
        let number = number.unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[number] = Some(new.into());
        u8::try_from(number).expect("fewer than 256 databases in a server")
    }

    pub(super) fn remove(&mut self, number: u8) {
        self.0[usize::from(number)] = None;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CachedDatabase> {
        self.0.iter().flatten()
    }
}

impl Index<usize> for Databases {
    type Output = CachedDatabase;

    fn index(&self, number: usize) -> &CachedDatabase {
        self.0[number].as_ref().expect("a database of the cache")
    }
}

impl IndexMut<usize> for Databases {
    fn index_mut(&mut self, number: usize) -> &mut CachedDatabase {
        self.0[number].as_mut().expect("a database of the cache")
    }
}
