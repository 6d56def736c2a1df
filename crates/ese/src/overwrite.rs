//! Writing a good page over a bad one.
//!
//! A write that a crash has torn must not look like a torn write of the engine's own, whose missing
//! parts the log has: what this one leaves is bad. Recovery tells torn pages from rotten ones by
//! the version in the first sector (`instance/assay.rs`). So the first sector is spoiled first and
//! gets its content last, each time in a durable write that changes nothing else:
//!
//! ```text
//!   |bad |bad |bad |bad |     as found
//!   |XXXX|bad |bad |bad |     no version has this number: never torn, always bad
//!   |XXXX|good|good|good|
//!   |good|good|good|good|
//! ```
//!
//! After a crash in between the page is bad, as before, and can be replaced again.

use brunt_world::{Class, FileId, Io, IoError, Op, Segments, World};

use crate::content::{Bytes, Content};
use crate::small_file::read_at;

/// What storage writes whole.
const SECTOR: usize = 512;
/// The start of a page that is read and written.
pub(crate) const BLOCK: usize = 4096;

/// The contents to write at the start of a page that begins with `found`, one after the other,
/// until it is `page`.
pub(crate) fn stages(found: &[u8], page: &[u8]) -> [Vec<u8>; 3] {
    let spoiled = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[..SECTOR].fill(0xFF);
        bytes
    };
    [spoiled(found), spoiled(page), page[..BLOCK].to_vec()]
}

/// Writes `page` over the bad page at `offset`, durably. `tag` is that of its requests.
///
/// # Errors
/// When a write fails. The page is bad then.
pub(crate) async fn overwrite(
    world: &World,
    file: FileId,
    (offset, tag): (u64, u64),
    page: &[u8],
) -> Result<(), IoError> {
    let found = read_at(world, Class::Database, file, offset, BLOCK as u64).await;
    // What cannot be read is bad in any case.
    let found = found.unwrap_or_else(|_| vec![0xFF; BLOCK]);
    for bytes in stages(&found, page) {
        let segment = Bytes::outgoing(&world.frames, &bytes);
        let segments = Segments::from_buf([segment]);
        let io = Io::new(Class::Database, Op::WriteThrough, file, offset, segments);
        world.disk.submit(Io { tag, ..io }).await.result?;
    }
    Ok(())
}
