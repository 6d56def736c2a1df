//! Verifying a database: header copies, then every owned page in file order.

use brunt_units::{DatabaseTime, PageNumber, PageSize, Span};
use brunt_world::IoError;

use super::flush::FlushMap;
use super::neighbours::{Inquiry, Neighbours};
use super::owned::{Unknown, owned};
use super::page_set::PageSet;
use super::reach::{Seen, blank_and_reached};
use super::report::{Fault, FileKind, FileReport, Finding, Note, Place};
use super::source::Source;
use super::tree::Trees;
use crate::format::catalog::system::DATABASE_ROOT;
use crate::format::checksum::{Diagnosis, diagnose};
use crate::format::flush_map::UNKNOWN;
use crate::format::header::{DatabaseHeader, DatabaseState, HeaderCopy, HeaderFound};
use crate::format::page::{Page, PageFlags};
use crate::format::space::Extent;

/// CPU time to check a chunk: 256 KiB at 25 GB/s, the rate of page checksums on one core, rounded
/// up.
pub const CPU_PER_CHUNK: Span = Span::micros(11);

/// Verifies the database in `source`.
pub(super) async fn verify(source: &Source, found: HeaderFound) -> FileReport {
    let header = &found.header;
    let size = header.page_size;
    let kind = FileKind::Database {
        page_size: size,
        revision: header.revision,
        state: header.state,
        ours: header.is_ours(),
    };
    let mut report = FileReport::new(source.path.clone(), source.length, kind);
    judge_headers(&mut report, &found, size);
    let trees = Trees { source, size, pages: pages_in_file(source.readable, size) };
    let (extents, unknown) = owned_or_all(&mut report, &trees).await;
    let (flush_map, note) = FlushMap::open(&source.world, source, header).await;
    report.notes.extend(note);
    let is_clean = header.state == DatabaseState::Clean;
    let is_complete = is_clean && header.is_ours();
    report
        .notes
        .push(Note::StalePages { flush_map: flush_map.is_there(), neighbours: is_complete });
    let neighbours = match is_complete {
        true => Some(Neighbours::of(&trees).await),
        false => None,
    };
    let mut judge = Judge {
        trees,
        report,
        seen: Seen {
            blank: PageSet::new(pages_in_file(source.readable, size)),
            children: PageSet::new(pages_in_file(source.readable, size)),
        },
        flush_map,
        clean: is_clean,
        is_ours: header.is_ours(),
        time_max: is_complete.then_some(header.time),
        neighbours,
        unknown: unknown.filter(|unknown| is_damage(unknown, header)),
    };
    for extent in &extents {
        judge.extent(*extent).await;
    }
    judge.finish(source.length, &extents).await
}

/// The end of the owned space.
pub(super) async fn claimed_length(source: &Source, size: PageSize) -> Option<u64> {
    let trees = Trees { source, size, pages: pages_in_file(source.readable, size) };
    let extents = owned(&trees).await.ok()?;
    let last = extents.last()?.last;
    Some(last.offset(size) + size.bytes_u64())
}

/// Number of pages, from 1, that are completely within a file of `bytes`.
fn pages_in_file(bytes: u64, size: PageSize) -> u32 {
    let pages = bytes.div_euclid(size.bytes_u64()).saturating_sub(2);
    u32::try_from(pages).unwrap_or(u32::MAX - 1)
}

fn judge_headers(report: &mut FileReport, found: &HeaderFound, size: PageSize) {
    report.pages_seen += 2;
    match (&found.other, found.copy) {
        (Some(other), _) if **other != found.header => report.notes.push(Note::CopiesDiffer),
        (Some(_), _) => {}
        (None, HeaderCopy::Primary) => {
            report.find(Place::Shadow, size.bytes_u64(), Fault::Checksum);
        }
        (None, HeaderCopy::Shadow) => report.find(Place::Header, 0, Fault::Checksum),
    }
    if found.header.state != DatabaseState::Clean {
        report.notes.push(Note::NotClean {
            required: found.header.required,
            committed: found.header.committed,
        });
    }
}

/// Whether a database with unknown owned space is damaged. A foreign database may store it in an
/// unknown form, and recovery may still have to write the missing part, but not the root, which
/// exists from creation on.
fn is_damage(unknown: &Unknown, header: &DatabaseHeader) -> bool {
    header.is_ours()
        && match header.state {
            DatabaseState::Clean => true,
            DatabaseState::Dirty => unknown.is_past_end || unknown.page == DATABASE_ROOT,
            DatabaseState::JustCreated | DatabaseState::Other(_) => unknown.is_past_end,
        }
}

/// The pages to verify: the owned space, or every page of the file if that is unknown.
async fn owned_or_all(
    report: &mut FileReport,
    trees: &Trees<'_>,
) -> (Vec<Extent>, Option<Unknown>) {
    match owned(trees).await {
        Ok(extents) => {
            let in_file = extents.iter().map(|extent| {
                let last = extent.last.0.min(trees.pages);
                u64::from((last + 1).saturating_sub(extent.first().0))
            });
            let not_owned = u64::from(trees.pages) - in_file.sum::<u64>();
            if not_owned > 0 {
                report.notes.push(Note::NotOwned(not_owned));
            }
            (extents, None)
        }
        Err(unknown) => {
            let note = Note::OwnedSpaceUnreadable(unknown.why.clone());
            report.notes.push(note);
            let all = match trees.pages {
                0 => Vec::new(),
                pages => vec![Extent::starting_at(PageNumber(1), pages)],
            };
            (all, Some(unknown))
        }
    }
}

/// The pass over a database's pages.
struct Judge<'s> {
    trees: Trees<'s>,
    report: FileReport,
    seen: Seen,
    flush_map: FlushMap,
    /// Whether the database was closed properly, so that every page must be present.
    clean: bool,
    is_ours: bool,
    /// Upper bound of page times, in a properly closed database of ours.
    time_max: Option<DatabaseTime>,
    /// Cross-references between pages, in such a database.
    neighbours: Option<Neighbours>,
    /// Why the owned space is unknown, if that is damage.
    unknown: Option<Unknown>,
}

impl Judge<'_> {
    async fn extent(&mut self, extent: Extent) {
        let (size, source) = (self.trees.size, self.trees.source);
        let last = PageNumber(extent.last.0.min(self.trees.pages));
        let first = extent.first();
        if first <= last {
            let end = last.offset(size) + size.bytes_u64();
            let mut stream = source.stream(first.offset(size)..end, size.bytes());
            while let Some((offset, bytes)) = stream.next().await {
                match bytes {
                    Ok(bytes) => self.pages(offset, &bytes).await,
                    Err(error) => self.unreadable(offset, error),
                }
                source.world.clock.spend(CPU_PER_CHUNK).await;
            }
        }
        if extent.last > last {
            let missing = PageNumber(first.0.max(last.0 + 1));
            let count = u64::from(extent.last.0 - missing.0) + 1;
            let offset = missing.offset(size);
            self.report.pages_seen += count;
            self.report.find_run(missing, offset, count, Fault::PastEnd);
        }
    }

    /// Records a page that cannot be read.
    fn unreadable(&mut self, offset: u64, error: IoError) {
        self.report.pages_seen += 1;
        let place = Place::Page(self.number(offset));
        self.report.find(place, offset, Fault::Device(error));
    }

    /// The page at `offset`, which is after the headers.
    fn number(&self, offset: u64) -> PageNumber {
        let index = offset.div_euclid(self.trees.size.bytes_u64()) - 1;
        PageNumber(u32::try_from(index).expect("the file's pages have 32-bit numbers"))
    }

    /// Verifies whole pages starting at `offset`.
    async fn pages(&mut self, offset: u64, bytes: &[u8]) {
        let size = self.trees.size;
        let places = (offset..).step_by(size.bytes());
        for (page, offset) in bytes.chunks_exact(size.bytes()).zip(places) {
            let number = self.number(offset);
            let map = match self.flush_map.is_there() {
                true => self.flush_map.known(number).await,
                false => UNKNOWN,
            };
            self.report.pages_seen += 1;
            if let Some(fault) = self.fault(page, number, map) {
                self.report.find(Place::Page(number), offset, fault);
            }
        }
    }

    /// The fault of a page. Records what a good page says about others.
    fn fault(&mut self, bytes: &[u8], number: PageNumber, map: u8) -> Option<Fault> {
        match diagnose(bytes, self.trees.size, number) {
            Diagnosis::Sound => {
                let page = Page::new(bytes, self.trees.size);
                self.note_children(page);
                if let Some(neighbours) = &mut self.neighbours {
                    neighbours.visit(page, number);
                }
                let is_too_new = self.time_max.is_some_and(|max| page.database_time() > max);
                let lost = lost_flush(page.flags().flush_type(), map);
                lost.or(is_too_new.then_some(Fault::TooNew))
            }
            Diagnosis::Uninitialised => {
                self.report.pages_uninitialised += 1;
                if map != UNKNOWN {
                    return Some(Fault::LostFlush { page: UNKNOWN, map });
                }
                self.seen.blank.insert(number);
                None
            }
            Diagnosis::Correctable(flips) => Some(Fault::Correctable { bits: flips.bits().len() }),
            Diagnosis::OtherNumber(belongs_at) => {
                let own = Page::new(bytes, self.trees.size).number();
                let possible = belongs_at.0 <= self.trees.pages || own == Some(belongs_at);
                Some(match possible {
                    true => Fault::WrongNumber { belongs_at },
                    false => Fault::Checksum,
                })
            }
            Diagnosis::Damaged => Some(Fault::Checksum),
        }
    }

    fn note_children(&mut self, page: Page<'_>) {
        let flags = page.flags();
        if flags.has(PageFlags::LEAF) || flags.has(PageFlags::EMPTY) {
            return;
        }
        for child in page.nodes().flatten().filter_map(|node| node.child()) {
            self.seen.children.insert(child);
        }
    }

    /// Runs the remaining checks and returns the report.
    async fn finish(mut self, length: u64, extents: &[Extent]) -> FileReport {
        let size = self.trees.size;
        let odd = length % size.bytes_u64();
        if odd > 0 {
            self.report.notes.push(Note::OddEnd(odd));
        }
        let (reached, trouble) = blank_and_reached(&self.trees, &self.seen).await;
        match self.clean {
            true => {
                for page in reached {
                    let offset = page.offset(size);
                    self.report.find(Place::Page(page), offset, Fault::Uninitialised);
                }
                self.report.notes.extend(trouble.map(Note::TreesUnreadable));
            }
            false => {
                // Half of a split may be missing, so that trees cannot be followed to their ends. A
                // pointer is enough then.
                let named = match trouble {
                    Some(_) => self.seen.blank.common(&self.seen.children),
                    None => Vec::new(),
                };
                let mut blank = [reached, named].concat();
                blank.sort_unstable();
                blank.dedup();
                if !blank.is_empty() {
                    self.report.notes.push(Note::BlankNamed(blank));
                }
                let is_torn = |finding: &Finding| finding.fault == Fault::Checksum;
                if self.is_ours && self.report.findings.iter().any(is_torn) {
                    self.report.notes.push(Note::PerhapsTorn);
                }
            }
        }
        self.judge_unknown();
        if self.report.is_intact()
            && let Some(inquiry) = self.neighbours.take().and_then(Neighbours::inquiry)
        {
            self.inquire(inquiry, extents).await;
        }
        self.flush_map.close().await;
        self.report
    }

    /// Reads the file again to find out which pages contradict each other.
    async fn inquire(&mut self, mut inquiry: Inquiry, extents: &[Extent]) {
        let (size, source) = (self.trees.size, self.trees.source);
        for extent in extents {
            let start = extent.first().offset(size);
            let mut stream = source.stream(start..extent.last.after(1).offset(size), size.bytes());
            while let Some((offset, bytes)) = stream.next().await {
                let Ok(bytes) = bytes else { continue };
                let places = (offset..).step_by(size.bytes());
                for (page, offset) in bytes.chunks_exact(size.bytes()).zip(places) {
                    let number = self.number(offset);
                    if diagnose(page, size, number) == Diagnosis::Sound {
                        inquiry.visit(Page::new(page, size), number);
                    }
                }
                source.world.clock.spend(CPU_PER_CHUNK).await;
            }
        }
        for (page, what) in inquiry.contradicted() {
            let fault = Fault::Contradicted(what);
            self.report.find(Place::Page(page), page.offset(size), fault);
        }
    }

    /// Reports why the owned space is unknown, unless that page already has a finding.
    fn judge_unknown(&mut self) {
        let Some(unknown) = self.unknown.take() else {
            return;
        };
        let place = Place::Page(unknown.page);
        let fault = match unknown.is_past_end {
            true => Fault::PastEnd,
            false => Fault::OwnedSpace,
        };
        if unknown.is_past_end || self.report.pages_bad == 0 {
            let offset = unknown.page.offset(self.trees.size);
            self.report.find(place, offset, fault);
        }
    }
}

/// Compares flush types: if both are known and differ, the page is older than the map.
fn lost_flush(page: u8, map: u8) -> Option<Fault> {
    let known = map != UNKNOWN && page != UNKNOWN;
    (known && map != page).then_some(Fault::LostFlush { page, map })
}
