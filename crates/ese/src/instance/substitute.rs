//! Replacing a bad page of a passive copy by the page of its active.
//!
//! ```text
//!   the copy's log    |C=====replayed=====|----stored----|L....        C  checkpoint
//!                                                         L  what the page of the active includes
//!   1. the headers name the log up to L, durably        the copy is not consistent before it has replayed that far
//!   2. the page is written, durably
//!   3. the copy is opened as after a crash: it replays from C to L
//! ```
//!
//! The page may be newer than everything replayed, like pages that a crash has left. So the files
//! are closed, and opening them again does what recovery does: changes that the page has are passed
//! over, and a page that is newer than the log is noticed.
//!
//! A crash during the second step leaves a bad page ([`crate::overwrite`]), which is replaced
//! again.

use brunt_units::{LogPosition, PageNumber};
use brunt_world::{FileId, World};

use super::InstanceOptions;
use super::database::{self, Found};
use super::flush_map;
use super::offer::PageOffer;
use super::open::read_checkpoint;
use crate::content::{Bytes, Content, Flips};
use crate::error::EngineError;
use crate::format::field::put_u32;
use crate::format::flush_map::next_flush_type;
use crate::format::header::DatabaseState;
use crate::format::page::{FLAGS_AT, Page};
use crate::format::{checksum, stamp::Stamp};
use crate::overwrite::overwrite;
use crate::policy::patch::{Ahead, Offered, Refusal, judge_ahead};
use crate::small_file::{file_error, name_error};

/// Replaces page `page` of database number `database` by `offer`, whose log is in the copy's folder
/// up to `logged`. The databases are not open. Whether it did, or why not; then nothing was
/// written.
///
/// # Errors
/// When a file cannot be read or written. The page is bad then, and the databases need the log that
/// the page needs.
pub async fn substitute(
    world: &World,
    options: &InstanceOptions,
    (database, page): (u8, PageNumber),
    offer: &PageOffer,
    logged: LogPosition,
) -> Result<Result<(), Refusal>, EngineError> {
    let path = &options.databases[usize::from(database)];
    let mut found = database::open(world, path, options.page_size).await?;
    let file = found.file;
    let mut map = None;
    let place = Place { world, options, database, page };
    let done = place.replace(&mut found, &mut map, offer, logged).await;
    for file in [Some(file), map].into_iter().flatten() {
        let closed = world.volume.close(file).await;
        closed.map_err(name_error(path))?;
    }
    done
}

struct Place<'a> {
    world: &'a World,
    options: &'a InstanceOptions,
    database: u8,
    page: PageNumber,
}

impl Place<'_> {
    async fn replace(
        &self,
        found: &mut Found,
        map: &mut Option<FileId>,
        offer: &PageOffer,
        logged: LogPosition,
    ) -> Result<Result<(), Refusal>, EngineError> {
        let (world, options) = (self.world, self.options);
        let path = &options.databases[usize::from(self.database)];
        let signature = Some(found.header.log_signature);
        let checkpoint = read_checkpoint(world, options, signature).await?;
        let ahead = Ahead {
            signature: found.header.signature,
            checkpoint: checkpoint.map_or(LogPosition::default(), |(found, _)| found.position),
            logged,
        };
        if let Err(refusal) = judge_ahead(&self.offered(found, offer), &ahead) {
            return Ok(Err(refusal));
        }
        if found.header.state != DatabaseState::Dirty {
            return Err(EngineError::Damaged {
                path: path.clone(),
                what: "it was closed, and a page of it cannot be replaced",
            });
        }
        let (file, memory) = flush_map::open::<Bytes>(world, path, found).await?;
        *map = Some(file);
        let newest = offer.replayed.generation;
        let header = &mut found.header;
        header.required.highest = header.required.highest.max(newest);
        header.committed = header.committed.max(newest);
        let now = world.clock.now().0.div_euclid(1_000_000);
        header.required_on = Stamp::from_unix_millis(options.epoch_ms + now);
        database::write_header(world, path, found.file, header).await?;
        let known = memory.flush_type(self.page);
        let page = self.as_written(&offer.bytes, known);
        let place = (self.page.offset(options.page_size), u64::from(self.page.0));
        let written = overwrite(world, found.file, place, &page).await;
        written.map_err(file_error(path))?;
        Ok(Ok(()))
    }

    fn offered(&self, found: &Found, offer: &PageOffer) -> Offered {
        let size = self.options.page_size;
        let page = match offer.bytes.len() == size.bytes() {
            false => Err(crate::error::PageFault::Structure),
            true => {
                let mut frame = self.world.frames.take(offer.bytes.len());
                frame.copy_from_slice(&offer.bytes);
                let mut page = std::rc::Rc::new(frame);
                Bytes::verify(&mut page, self.page, found.pages, size, Flips::Leave)
            }
        };
        Offered { signature: offer.signature, replayed: offer.replayed, page }
    }

    /// The page with the flush type that the map knows, so that it is not taken for a lost write.
    fn as_written(&self, bytes: &[u8], known: u8) -> Vec<u8> {
        let (mut page, size) = (bytes.to_vec(), self.options.page_size);
        let flush_type = match known {
            0 => next_flush_type(0),
            known => known,
        };
        let flags = Page::new(&page, size).flags().with_flush_type(flush_type);
        put_u32(&mut page, FLAGS_AT, flags.0);
        checksum::seal(&mut page, size, self.page);
        page
    }
}
