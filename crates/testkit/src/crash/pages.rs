//! Work without trees: every change takes the next number and writes it into one to three pages of
//! one database.
//!
//! Pages hold nothing else, so after recovery the state is read from the files themselves, without
//! the engine.

use brunt_ese::error::EngineError;
use brunt_ese::format::page::{ObjectId, Page, PageFlags};
use brunt_ese::log::{FlushReason, Role};
use brunt_ese::page::Pages;
use brunt_ese::tree::Step;
use brunt_units::{PageNumber, Span};
use brunt_world::random::Streams;
use brunt_world_virtual::Store;

use super::configuration::PAGES;
use super::story::{DURABLE, Setup};
use super::{Configuration, Mistake, State};
use crate::tiny::database_path;

/// Changes that a session makes.
const CHANGES: u32 = 60;

pub(super) async fn session(setup: Setup, number: u64) -> Result<(), EngineError> {
    let mut draw = setup.draw(number);
    let databases = u64::from(setup.configuration.databases);
    for _ in 0..CHANGES {
        let database = u8::try_from(draw.below(databases)).expect("few databases");
        let pages: Vec<u32> = (0..=draw.below(3))
            .map(|_| u32::try_from(1 + draw.below(u64::from(PAGES))).expect("few pages"))
            .collect();
        let number = change(&setup, database, &pages).await?;
        if draw.percent(40) {
            acknowledge(&setup, number).await?;
        }
        if draw.percent(20) {
            setup.world.sleep(Span::millis(draw.below(700))).await;
        }
    }
    Ok(())
}

async fn acknowledge(setup: &Setup, number: u64) -> Result<(), EngineError> {
    let log = setup.instance.log();
    let durable = log.flushed(log.tail(), FlushReason::Commit);
    if setup.configuration.mistake == Some(Mistake::AcknowledgeEarly) {
        setup.machine.mark(DURABLE, number);
    }
    durable.await?;
    setup.machine.mark(DURABLE, number);
    Ok(())
}

/// Writes the next number into `pages`; returns the number.
async fn change(setup: &Setup, database: u8, pages: &[u32]) -> Result<u64, EngineError> {
    let changed = setup.instance.change(database, 0, Role::System, |change| {
        let last = setup.history.borrow().last().cloned();
        let mut next = last.expect("there is a first");
        for &page in pages {
            if next.contains_key(&(database, page)) {
                change.page(PageNumber(page))?;
            } else {
                change.pages().claimed(PageNumber(page))?;
            }
        }
        let number = setup.configuration.generation << 28 | setup.history.borrow().len() as u64;
        let data = value(number);
        for &page in pages {
            if next.insert((database, page), number).is_some() {
                change.edit(PageNumber(page)).replace(0, b"key", &data);
            } else {
                let mut editor = change.fresh(PageNumber(page));
                let flags = PageFlags::ALWAYS.with(PageFlags::LEAF).with(PageFlags::ROOT);
                editor.format(ObjectId(9), flags);
                editor.insert(0, b"key", &data);
            }
        }
        Ok(Step::Done(setup.note(|state| *state = next)))
    });
    changed.await
}

/// The content of a page for a number: bytes of a length that depends on it.
fn value(number: u64) -> Vec<u8> {
    let mut draw = Streams::new(number).named("value");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(1500)).expect("a small number")];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// The state of the databases, read from their bytes.
///
/// # Errors
/// When a page holds data that was never written, in words.
pub(super) fn read(store: &Store, configuration: &Configuration) -> Result<State, String> {
    let size = configuration.page_size;
    let mut state = State::new();
    for database in 0..configuration.databases {
        let bytes = store.get(&database_path(database.into()));
        let bytes = bytes.ok_or_else(|| format!("database {database} is gone"))?;
        let pages = (1..).zip(bytes.chunks_exact(size.bytes()).skip(2));
        for (number, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
            let node = Page::new(page, size).node(0);
            let data = node.map_or(&[][..], |node| node.data);
            let version = data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            let version = version.filter(|version| data == value(*version));
            let version =
                version.ok_or_else(|| format!("page {number} of {database} is a mixture"))?;
            state.insert((database, number), version);
        }
    }
    Ok(state)
}
