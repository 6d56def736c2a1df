//! Single pages that are intact but stale: how many of them does `verify` find?
//!
//! One test works on a database, and another continues with its files. Each page that the second
//! changed is put back alone, intact and with its own checksum, with the newer flush map and
//! without it. docs/detection.md states what goes unnoticed:
//!
//! ```text
//! cargo test -p brunt-qualify --test qualify stale -- --nocapture
//! ```

use std::fmt;
use std::path::Path;

use crate::small::{Small, instances, plan};
use brunt_ese::format::flush_map::path_beside;
use brunt_ese::format::page::{Page, PageFlags};
use brunt_ese::verify::{Fault, FileReport, verify};
use brunt_qualify::plan::Plan;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

const DATABASE: &str = "db/1.edb";

/// The files that a test of `plan` leaves.
fn worked(plan: &Plan, seed: u64, store: Store) -> Store {
    let left = Small { store, ..Small::new(seed) };
    let left = left.run(plan);
    assert!(left.run.is_ok(), "{:?}", left.run.err());
    left.store
}

fn verified(store: &Store) -> FileReport {
    let mut machine =
        VirtualWorld::new(VirtualOptions { store: store.fork(), ..VirtualOptions::new(1) });
    let world = machine.world.clone();
    let report = async move { verify(&world, Path::new(DATABASE)).await };
    machine.executor.block_on(report).unwrap()
}

/// How many stale pages were found, and by what.
#[derive(Default)]
struct Noticed {
    pages: u32,
    by_map: u32,
    by_neighbours: u32,
    otherwise: u32,
    missed: u32,
}

impl Noticed {
    fn count(&mut self, report: &FileReport) {
        self.pages += 1;
        let by = match report.findings.first().map(|found| found.fault) {
            Some(Fault::LostFlush { .. }) => &mut self.by_map,
            Some(Fault::Contradicted(_)) => &mut self.by_neighbours,
            Some(_) => &mut self.otherwise,
            None => &mut self.missed,
        };
        *by += 1;
    }

    fn missed_percent(&self) -> f64 {
        100.0 * f64::from(self.missed) / f64::from(self.pages)
    }
}

impl fmt::Display for Noticed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, by_map, by_neighbours, otherwise, missed } = self;
        write!(
            f,
            "{pages} stale pages: the flush map found {by_map}, neighbours {by_neighbours}, others {otherwise}; {missed} missed ({:.1} %)",
            self.missed_percent()
        )
    }
}

/// Whether a page is blank, or was released by its tree.
fn has_no_data(bytes: &[u8], size: PageSize) -> bool {
    bytes.iter().all(|byte| *byte == 0) || Page::new(bytes, size).flags().has(PageFlags::EMPTY)
}

/// With the flush map, and without it.
fn measure() -> [Noticed; 2] {
    let mut plan = Plan { instances: instances(1), duration: Span::seconds(10), ..plan() };
    plan.instances[0].databases[0].size = ByteSize::mib(1);
    let before = worked(&plan, 1, Store::new());
    let after = worked(&plan, 2, before.fork());
    assert!(verified(&after).is_intact());
    let [older, newer] = [&before, &after].map(|store| store.get(Path::new(DATABASE)).unwrap());
    let mut unmapped = after.fork();
    unmapped.unlink(&path_beside(Path::new(DATABASE)));
    let mut noticed = [Noticed::default(), Noticed::default()];
    let size = plan.engine.page;
    let pages = older.chunks(size.bytes()).zip(newer.chunks(size.bytes()));
    for (at, (old, new)) in (0..).step_by(size.bytes()).zip(pages).skip(2) {
        if old == new || [old, new].iter().all(|bytes| has_no_data(bytes, size)) {
            continue;
        }
        for (noticed, store) in noticed.iter_mut().zip([&after, &unmapped]) {
            let mut stale = store.fork();
            let file = stale.find(Path::new(DATABASE)).unwrap();
            stale.write(file, at, old);
            noticed.count(&verified(&stale));
        }
    }
    noticed
}

#[test]
fn most_pages_that_are_too_old_are_noticed() {
    let [mapped, unmapped] = measure();
    println!("with the flush map: {mapped}");
    println!("without: {unmapped}");
    assert!(mapped.pages > 100, "{mapped}");
    assert!(mapped.missed_percent() < 1.0, "{mapped}");
    assert!(unmapped.missed_percent() < 2.0, "{unmapped}");
    assert!(mapped.by_neighbours > 10, "{mapped}");
}

#[test]
fn recovered_databases_contradict_themselves_nowhere() {
    let plan = Plan { instances: instances(1), duration: Span::seconds(5), ..plan() };
    for seed in 1..=6 {
        let killed =
            Small { abandon_after: Some(Span::millis(4_000 + 600 * seed)), ..Small::new(seed) };
        let killed = killed.run(&plan);
        assert!(killed.run.is_err(), "it ended before");
        let report = verified(&worked(&plan, seed, killed.store));
        assert!(report.is_intact(), "seed {seed}: {:?}", report.findings);
    }
}
