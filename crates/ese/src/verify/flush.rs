//! Looking up flush types in the flush map beside a database, while its pages stream by.
//!
//! Only the map pages needed for the current chunk are in memory.

use brunt_units::PageNumber;
use brunt_world::{VolumeError, World};

use super::report::Note;
use super::source::Source;
use crate::format::flush_map::{
    FlushMapHeader, MAP_PAGE_BYTES, MapPlace, UNKNOWN, flush_type, map_page_offset, path_beside,
    sound_map_page,
};
use crate::format::header::{DatabaseHeader, DatabaseState};

/// A flush map that applies to a database, or none.
pub(super) struct FlushMap {
    source: Option<Source>,
    /// The map page in memory: its number, and its bytes if they are valid.
    current: Option<(u32, Option<Vec<u8>>)>,
}

impl FlushMap {
    /// Opens the map beside `database`, if it matches `header`.
    pub(super) async fn open(
        world: &World,
        database: &Source,
        header: &DatabaseHeader,
    ) -> (Self, Option<Note>) {
        let none = |note| {
            let map = Self { source: None, current: None };
            (map, note)
        };
        let ignored = |why| Some(Note::FlushMapIgnored(why));
        let path = path_beside(&database.path);
        let source = match Source::open(world, &path).await {
            Ok(source) => source,
            Err(VolumeError::NotFound) => return none(None),
            Err(_) => return none(ignored("it cannot be opened")),
        };
        let map = match source.readable >= MAP_PAGE_BYTES as u64 {
            true => source.read(0, MAP_PAGE_BYTES).await.ok(),
            false => None,
        };
        let map = map.and_then(|bytes| FlushMapHeader::read(&bytes));
        let why = match map {
            None => Some("it is not one of ours, or damaged"),
            Some(_) if header.state != DatabaseState::Clean => {
                Some("the database was not closed properly")
            }
            Some(map) if !map.belongs_to(&header.signature, &header.flush_map) => {
                Some("it belongs to another state of the database")
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let _ = world.volume.close(source.file).await;
            return none(ignored(why));
        }
        let map = Self { source: Some(source), current: None };
        (map, Some(Note::FlushMapUsed))
    }

    /// The flush type in the map for `page`.
    pub(super) async fn known(&mut self, page: PageNumber) -> u8 {
        let Some(source) = &self.source else {
            return UNKNOWN;
        };
        let place = MapPlace::of(page);
        if self.current.as_ref().map(|(index, _)| *index) != Some(place.map_page) {
            let bytes = read_map_page(source, place.map_page).await;
            self.current = Some((place.map_page, bytes));
        }
        match &self.current {
            Some((_, Some(bytes))) => flush_type(bytes, place.entry),
            _ => UNKNOWN,
        }
    }

    /// Whether there is a map; without one no page needs to be looked up.
    pub(super) fn is_there(&self) -> bool {
        self.source.is_some()
    }

    /// Closes the map.
    pub(super) async fn close(self) {
        if let Some(source) = self.source {
            let _ = source.world.volume.close(source.file).await;
        }
    }
}

async fn read_map_page(source: &Source, index: u32) -> Option<Vec<u8>> {
    let offset = map_page_offset(index);
    if offset + MAP_PAGE_BYTES as u64 > source.readable {
        return None;
    }
    let bytes = source.read(offset, MAP_PAGE_BYTES).await.ok()?;
    sound_map_page(&bytes, index)?;
    Some(bytes.to_vec())
}
