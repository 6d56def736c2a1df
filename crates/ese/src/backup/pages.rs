//! The pages of a backup: read in file order with read-ahead, each page verified.

use std::collections::VecDeque;

use brunt_units::PageNumber;
use brunt_world::{Class, IoError, Task};

use super::{Piece, Reads, Sink};
use crate::cache::{OnDisk, Reader};
use crate::content::Content;
use crate::error::{EngineError, PageFault};
use crate::instance::Instance;
use crate::policy::coalesce::Run;

const READER: Reader = Reader { class: Class::Backup, meter: |meters| &mut meters.backup };

/// The pages of a run; blank ones are `None`.
type Pages<C> = Vec<Option<<C as Content>::Page>>;

/// The first page of a read in flight, and the read's task.
type Coming<C> = (PageNumber, Task<Result<Pages<C>, EngineError>>);

/// Passes header and pages to the sink. Pages added meanwhile are not included; the log contains
/// them.
pub(super) async fn read<C: Content>(
    instance: &Instance<C>,
    database: u8,
    reads: Reads,
    sink: &mut impl Sink<C>,
) -> Result<(), EngineError> {
    let entry = instance.0.database(database);
    let (header, pages) = (entry.header.borrow().to_bytes(), entry.pages.get());
    sink.take(Piece::Header(&header)).await?;
    let mut runs = runs(instance.options().page_size.bytes_u64(), pages, reads);
    let mut coming: VecDeque<Coming<C>> = VecDeque::new();
    loop {
        while coming.len() < reads.outstanding.max(1) as usize
            && let Some(run) = runs.next()
        {
            let read = read_run(instance.clone(), database, run);
            coming.push_back((run.first, instance.0.world.spawner.spawn(read)));
        }
        let Some((first, task)) = coming.pop_front() else {
            return Ok(());
        };
        sink.take(Piece::Pages(first, &task.await?)).await?;
    }
}

/// Pages 1 to `pages`, in reads of the requested size.
fn runs(page_bytes: u64, pages: u32, reads: Reads) -> impl Iterator<Item = Run> {
    let most = u32::try_from(reads.bytes.div_euclid(page_bytes).max(1)).unwrap_or(u32::MAX);
    let mut next = 0;
    std::iter::from_fn(move || {
        let count = most.min(pages - next);
        let first = PageNumber(next).after(1);
        next += count;
        (count > 0).then_some(Run { first, count })
    })
}

async fn read_run<C: Content>(
    instance: Instance<C>,
    database: u8,
    run: Run,
) -> Result<Pages<C>, EngineError> {
    let number = instance.0.database(database).number;
    let mut pages = Vec::with_capacity(run.count as usize);
    match instance.cache().read_past(number, run, READER).await {
        Ok(found) => {
            for (page, found) in run.pages().zip(found) {
                pages.push(sound(&instance, database, page, found).await?);
            }
        }
        // Reading each page on its own shows which one failed.
        Err(_) if run.count > 1 => {
            for page in run.pages() {
                pages.push(sound(&instance, database, page, OnDisk::Disturbed).await?);
            }
        }
        Err(error) => return Err(device_error(&instance, database, run.first, error)),
    }
    Ok(pages)
}

/// The page as read, or read again until no write of it interferes.
async fn sound<C: Content>(
    instance: &Instance<C>,
    database: u8,
    page: PageNumber,
    mut found: OnDisk<C::Page>,
) -> Result<Option<C::Page>, EngineError> {
    let entry = instance.0.database(database);
    let run = Run { first: page, count: 1 };
    loop {
        match found {
            OnDisk::Sound(page) => return Ok(Some(page)),
            OnDisk::Blank => return Ok(None),
            OnDisk::Bad(fault) => return Err(instance.0.page_error(entry, page, fault)),
            OnDisk::Disturbed => {}
        }
        instance.cache().landed(entry.number, page).await;
        let mut again = instance
            .cache()
            .read_past(entry.number, run, READER)
            .await
            .map_err(|error| device_error(instance, database, page, error))?;
        found = again.pop().expect("one page was read");
    }
}

fn device_error<C: Content>(
    instance: &Instance<C>,
    database: u8,
    page: PageNumber,
    error: IoError,
) -> EngineError {
    instance.0.page_error(instance.0.database(database), page, PageFault::Device(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_every_page_once() {
        let reads = |bytes| Reads { outstanding: 1, bytes };
        let of = |pages, bytes| -> Vec<(u32, u32)> {
            runs(8192, pages, reads(bytes)).map(|run| (run.first.0, run.count)).collect()
        };
        assert_eq!(of(33, 128 << 10), [(1, 16), (17, 16), (33, 1)]);
        assert_eq!(of(2, 100), [(1, 1), (2, 1)]);
        assert_eq!(of(0, 128 << 10), []);
    }
}
