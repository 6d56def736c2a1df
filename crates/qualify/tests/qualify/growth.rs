//! Databases that are worked on for many times their own size stay within their reserve, or the
//! test ends and says so.
//!
//! Regression: they grew by a third although inserts and deletes were in balance. When a database
//! is created, bodies get their ids in the order of message ids, which are scattered. Deleting the
//! oldest messages thins every page of the bodies without freeing one, while new bodies take new
//! pages at the end. And where only chance balances, the number of records drifts. So holding the
//! number of records is not enough; the file size must be held.

use std::path::Path;

use crate::small::{Small, failed, outcome, plan};
use brunt_ese::format::catalog::system::FIRST_USER_OBJECT;
use brunt_ese::format::page::{Page, PageFlags, header_bytes, tag_at};
use brunt_qualify::plan::{LoadPlan, Plan};
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::result::Verdict;
use brunt_run::News;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::mix::Kind;

/// A closed loop on storage so fast that every record is replaced by others several times.
pub(crate) fn busy(page: PageSize, size: ByteSize, sessions: u32) -> Plan {
    let base = plan();
    let mut plan = Plan {
        sessions,
        duration: Span::seconds(5),
        load: LoadPlan { cost: Span::micros(500), ..base.load },
        ..base
    };
    plan.engine.page = page;
    plan.engine.cache_min = ByteSize::bytes(64 * page.bytes_u64());
    plan.engine.cache_max = ByteSize::bytes(256 * page.bytes_u64());
    let databases = plan.instances.iter_mut().flat_map(|i| &mut i.databases);
    databases.for_each(|database| database.size = size);
    plan
}

/// The largest growth factor of a database over the test.
fn growth(initial: &[ByteSize], last: &[ByteSize]) -> f64 {
    let shares = initial.iter().zip(last);
    let shares = shares.map(|(initial, last)| last.get() as f64 / initial.get() as f64);
    shares.fold(0.0, f64::max)
}

/// How many leaves of users' tables have zeros in their free space, as an engine leaves none.
fn zeros(file: &[u8], size: PageSize) -> usize {
    let pages = file.chunks_exact(size.bytes()).skip(2).map(|bytes| Page::new(bytes, size));
    let leaves = pages.filter(|page| {
        let flags = page.flags();
        page.object() >= FIRST_USER_OBJECT
            && flags.has(PageFlags::LEAF)
            && !flags.has(PageFlags::ROOT)
    });
    let has_zeros = |page: &Page<'_>| {
        let end = tag_at(size, page.tag_count() - 1);
        let free = &page.bytes()[header_bytes(size) + page.first_free()..end];
        free.windows(64).any(|bytes| bytes == [0; 64])
    };
    leaves.filter(has_zeros).count()
}

#[test]
fn databases_that_are_made_over_and_over_stay_within_their_reserve() {
    for (page, size, sessions) in [
        (PageSize::KIB_4, ByteSize::mib(4), 4),
        (PageSize::KIB_32, ByteSize::mib(32), 4),
        (PageSize::KIB_32, ByteSize::mib(32), 48),
    ] {
        let mut plan = busy(page, size, sessions);
        plan.duration = Span::seconds(12);
        let test = Small::new(1).run(&plan);
        let run = test.run.as_ref().unwrap();
        assert_eq!(run.ending, Ending::Complete);
        let inserted = run.operations[Kind::Insert as usize];
        let records = run.records.unwrap().expected;
        assert!(inserted > records, "{inserted} inserted, {records} there");
        // Files this small grow by several percent at a time, and every session may fill a page of
        // its own.
        let growth = growth(&run.initial, &run.last);
        let file = test.store.get(Path::new("db/1.edb")).unwrap();
        assert_eq!(zeros(&file, page), 0, "of pages that were split");
        assert!(growth <= 1.25, "{growth} with pages of {page}, {sessions} sessions");
        let held = |news: &News| matches!(news, News::Note { text: note } if note.contains("from now on it keeps its size"));
        assert!(test.news.iter().any(held), "{:?}", test.news);
        assert_eq!(failed(&test.result(&plan)), Vec::<String>::new());
    }
}

#[test]
fn a_database_that_passes_its_reserve_ends_the_test() {
    let mut plan = busy(PageSize::KIB_4, ByteSize::mib(4), 4);
    plan.limits.reserve_percent = 0;
    plan.load.shape.large_max = plan.load.shape.large_min;
    plan.engine.extension_pages = 1;
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    match &run.ending {
        Ending::Broken(why) => assert!(why.contains("past its reserve of 0 %"), "{why}"),
        other => panic!("{other:?}, {:?} became {:?}", run.initial, run.last),
    }
    let result = test.result(&plan);
    assert_eq!(result.verdict, Verdict::Error);
    // The storage is not at fault, and nothing is lost.
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(outcome(&result, RuleId::PagesVerified), brunt_report::result::Outcome::Ok);

    let again = Small { store: test.store.fork(), ..Small::new(2) };
    plan.limits.reserve_percent = 25;
    let again = again.run(&plan);
    let records = again.run.as_ref().unwrap().records.unwrap();
    assert_eq!(records.findings.total(), 0, "{records:?}");
}
