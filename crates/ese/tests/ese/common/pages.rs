//! Work without trees: every change writes its sequence number into one to three pages, which
//! contain nothing else.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::format::page::{ObjectId, Page, PageFlags};
use brunt_ese::instance::Instance;
use brunt_ese::log::{FlushReason, Role};
use brunt_ese::page::Pages;
use brunt_ese::tree::Step;
use brunt_units::{PageNumber, Span};
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{Machine, Store};

use super::{SIZE, database_path};

/// Number of pages that are changed.
pub(crate) const PAGES: u32 = 60;

/// The number on each page.
pub(crate) type State = BTreeMap<u32, u64>;

/// The state after each change, starting with the initial one.
pub(crate) type History = Rc<RefCell<Vec<State>>>;

fn value(number: u64) -> Vec<u8> {
    let mut draw = Streams::new(number).named("value");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(1500)).unwrap()];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

pub(crate) async fn session(
    world: World,
    machine: Machine,
    instance: Instance<Bytes>,
    history: History,
    session: u64,
) {
    let mut draw = world.random.named(&format!("session/{session}"));
    for _ in 0..60 {
        let pages: Vec<u32> = (0..=draw.below(3))
            .map(|_| u32::try_from(1 + draw.below(u64::from(PAGES))).unwrap())
            .collect();
        let number = instance.change(0, 0, Role::System, |change| {
            let blank = |state: &State, page| !state.contains_key(&page);
            let last = history.borrow().last().unwrap().clone();
            for &page in &pages {
                if blank(&last, page) {
                    change.pages().claimed(PageNumber(page))?;
                } else {
                    change.page(PageNumber(page))?;
                }
            }
            let number = history.borrow().len() as u64;
            let mut next = last;
            for &page in &pages {
                let number_page = PageNumber(page);
                let data = value(number);
                if blank(&next, page) {
                    let mut editor = change.fresh(number_page);
                    editor.format(
                        ObjectId(9),
                        PageFlags::ALWAYS.with(PageFlags::LEAF).with(PageFlags::ROOT),
                    );
                    editor.insert(0, b"key", &data);
                } else {
                    change.edit(number_page).replace(0, b"key", &data);
                }
                next.insert(page, number);
            }
            history.borrow_mut().push(next);
            Ok(Step::Done(number))
        });
        let number = number.await.unwrap();
        if draw.percent(40) {
            instance.log().flushed(instance.log().tail(), FlushReason::Commit).await.unwrap();
            machine.mark("durable", number);
        }
        if draw.percent(20) {
            world.sleep(Span::millis(draw.below(700))).await;
        }
    }
}

/// The state of a database, read from its bytes.
pub(crate) fn read_state(store: &Store) -> State {
    let bytes = store.get(&database_path(0)).unwrap();
    let mut state = State::new();
    for (number, page) in (1..).zip(bytes.chunks_exact(SIZE.bytes()).skip(2)) {
        if page.iter().any(|byte| *byte != 0) {
            let node = Page::new(page, SIZE).node(0).unwrap();
            let version = u64::from_le_bytes(*node.data.first_chunk().unwrap());
            assert_eq!(node.data, value(version), "page {number} is a mixture");
            state.insert(number, version);
        }
    }
    state
}
