//! Storage that rots while the power is off: one page is damaged after a crash, before the files
//! are opened.
//!
//! The durability contract does not allow this, so recovery need not succeed; but it should not
//! produce a wrong state. A damaged page looks like one whose last write was torn, which recovery
//! would rebuild from the log. The engine tells most of them apart (`brunt_ese`,
//! instance/assay.rs), and all of them with another copy of the database.

use std::fmt;

use brunt_ese::format::checksum::is_sound;
use brunt_units::{PageNumber, PageSize};
use brunt_world::random::Stream;
use brunt_world_virtual::Store;

use crate::copies::read_page;
use crate::tiny::database_path;

/// The kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// Two bits are flipped, anywhere in the page.
    Bits,
    /// One sector holds garbage.
    Sector,
    /// The page is all zeros.
    Zeros,
    /// The page holds another page.
    Other,
}

/// A damaged page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rot {
    pub database: u8,
    pub page: PageNumber,
    /// The damage.
    pub decay: Decay,
}

impl Rot {
    /// Whether `copies` hold the undamaged page: an earlier crash may have torn it there, and it
    /// may not be rebuilt yet.
    pub(super) fn can_be_mended(&self, copies: &Store, size: PageSize) -> bool {
        let path = database_path(self.database.into());
        let page = read_page(copies, &path, self.page, size);
        page.is_some_and(|page| is_sound(&page, size, self.page))
    }
}

impl fmt::Display for Rot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, page, decay } = self;
        write!(f, "page {page} of database {database} spoiled ({decay:?})")
    }
}

/// Damages a page of `store`; `None`, without damage, when the drawn page is blank.
pub(super) fn spoil(
    store: &mut Store,
    databases: u8,
    size: PageSize,
    draw: &mut Stream,
) -> Option<Rot> {
    let below = |draw: &mut Stream, bound: usize| {
        usize::try_from(draw.below(bound as u64)).expect("below a length")
    };
    let database = u8::try_from(draw.below(databases.into())).expect("few databases");
    let file = store.find(&database_path(database.into()))?;
    let slots = store.length(file)?.div_euclid(size.bytes_u64());
    let pages = u32::try_from(slots.checked_sub(2).filter(|pages| *pages > 1)?).ok()?;
    let mut pick = || PageNumber(1 + u32::try_from(draw.below(pages.into())).expect("few pages"));
    let (page, other) = (pick(), pick());
    let mut bytes = vec![0; size.bytes()];
    store.read(file, page.offset(size), &mut bytes);
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let decay = [Decay::Bits, Decay::Bits, Decay::Sector, Decay::Zeros, Decay::Other];
    let decay = decay[below(draw, decay.len())];
    match decay {
        Decay::Bits => {
            let bits = bytes.len() * 8;
            let one = below(draw, bits);
            let two = (one + 1 + below(draw, bits - 1)) % bits;
            for bit in [one, two] {
                bytes[bit.div_euclid(8)] ^= 1 << (bit % 8);
            }
        }
        Decay::Sector => {
            let start = 512 * below(draw, bytes.len().div_euclid(512));
            draw.fill(&mut bytes[start..start + 512]);
        }
        Decay::Zeros => bytes.fill(0),
        Decay::Other => {
            let former = bytes.clone();
            store.read(file, other.offset(size), &mut bytes);
            if former == bytes {
                return None;
            }
        }
    }
    store.write(file, page.offset(size), &bytes);
    Some(Rot { database, page, decay })
}

#[cfg(test)]
mod tests {
    use brunt_ese::format::checksum::seal;

    use super::*;
    use crate::tiny::SIZE;

    #[test]
    fn what_is_torn_in_a_copy_cannot_be_mended_with_it() {
        let rot = Rot { database: 0, page: PageNumber(1), decay: Decay::Sector };
        let mut page = vec![7; SIZE.bytes()];
        seal(&mut page, SIZE, rot.page);
        let mut copies = Store::new();
        let file = copies.new_file();
        copies.link(&database_path(0), file);
        copies.write(file, rot.page.offset(SIZE), &page);
        assert!(rot.can_be_mended(&copies, SIZE));
        copies.write(file, rot.page.offset(SIZE) + 512, &[8; 5]);
        assert!(!rot.can_be_mended(&copies, SIZE));
    }
}
