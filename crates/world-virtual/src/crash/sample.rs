//! Selects the pending actions that survive: first a few corner cases ([`super::corner`]), then
//! random ones ([`super::random`]).

use brunt_world::random::Streams;

use super::corner::Corner;
use super::durable::Cursor;
use super::pending::{PendingChange, PendingName, PendingWrite, Sector};
use super::random::Odds;
use crate::{Inode, Store};

/// Which of the pending actions at a cut survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Nothing,
    /// Everything, in the order of completion, including I/Os in flight: the files as a killed
    /// process would leave them.
    Everything,
    /// Everything that has completed: a volatile cache that was saved at the last moment.
    Completed,
    /// Only actions in flight: a device that writes the newest first.
    InFlight,
    /// Only the action submitted last.
    Newest,
    /// Everything but the action submitted first.
    AllButOldest,
    /// Written bytes, but no names, and no lengths except those that come with the bytes.
    BytesOnly,
    /// Names and lengths, but no bytes: new files full of zeros.
    MetadataOnly,
    /// Names, lengths, and of each write the sectors 0, 2, 4, ...
    TornEven,
    /// Names, lengths, and of each write the sectors 1, 3, 5, ...
    TornOdd,
    /// Drawn from a seed.
    Random(u64),
}

impl Sample {
    /// The fixed samples.
    pub const CORNERS: [Self; 10] = [
        Self::Nothing,
        Self::Everything,
        Self::Completed,
        Self::InFlight,
        Self::Newest,
        Self::AllButOldest,
        Self::BytesOnly,
        Self::MetadataOnly,
        Self::TornEven,
        Self::TornOdd,
    ];

    /// The corner cases, then random samples, so that the first few samples of any search are the
    /// most important ones.
    pub fn nth(number: u64) -> Self {
        let corner = usize::try_from(number).ok();
        let corner = corner.and_then(|number| Self::CORNERS.get(number));
        corner.copied().unwrap_or(Self::Random(number))
    }
}

/// The files at the cursor, with the pending actions that `sample` selects.
pub(super) fn image(cursor: &Cursor<'_>, sample: Sample) -> Store {
    let mut store = cursor.durable.fork();
    match sample {
        Sample::Random(seed) => {
            let seed = seed ^ u64::from(cursor.step().0).rotate_left(40);
            let mut stream = Streams::new(seed).named("crash image");
            Odds::draw(&mut stream).image(cursor, &mut store, &mut stream);
        }
        corner => Corner::at(cursor, corner).image(cursor, &mut store),
    }
    store.drop_unnamed(&[]);
    store
}

/// The changes in the order of completion, then those in flight.
pub(super) fn by_completion<'a, 'j>(
    changes: &'a [PendingChange<'j>],
) -> Vec<&'a PendingChange<'j>> {
    let mut changes: Vec<_> = changes.iter().collect();
    changes.sort_by_key(|change| (change.completed.is_none(), change.completed, change.action));
    changes
}

/// The same for changes of names.
pub(super) fn names_by_completion<'a, 'j>(
    names: &'a [PendingName<'j>],
) -> Vec<&'a PendingName<'j>> {
    let mut names: Vec<_> = names.iter().collect();
    names.sort_by_key(|name| (name.completed.is_none(), name.completed, name.action));
    names
}

/// Applies the length that a write needs, which may survive without its bytes.
pub(super) fn lengthen(store: &mut Store, file: Inode, write: &PendingWrite<'_>) {
    let is_cut = write.sectors.last() == Some(&Sector::Dead);
    if !is_cut && store.length(file) < Some(write.end()) {
        store.set_length(file, write.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_corners_first() {
        assert_eq!(Sample::nth(0), Sample::Nothing);
        assert_eq!(Sample::nth(9), Sample::TornOdd);
        assert_eq!(Sample::nth(10), Sample::Random(10));
    }
}
