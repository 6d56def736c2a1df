//! A test that writes and restores a backup is cut off at every change of a file, and restarted.
//!
//! ```text
//!   create ---- back up ---- copy beside ---- journal ---- rename ---- recover ---- verify
//!      |    |    |    |    |    |    |    |    |    |    |    |    |    |    |    |    |     a cut: the power fails
//!      v    v    v    v    v    v    v    v    v    v    v    v    v    v    v    v    v
//!   the next start finds every record, or creates the databases whose creation was cut off
//! ```

use std::path::Path;

use crate::small::{Left, Small, failed, plan};
use brunt_qualify::error::RunError;
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::{Limits, Plan};
use brunt_qualify::rules::Ending;
use brunt_qualify::truth::oracle::Findings;
use brunt_run::News;
use brunt_units::ByteSize;
use brunt_workload::profile::Version;
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::journal::{Action, NameChange};
use brunt_world_virtual::{Journal, Step, Store};

/// Two instances of one small database each, read from beginning to end.
fn reading() -> Plan {
    let kind = TestKind::DatabaseBackup;
    let mut plan =
        Plan { kind, limits: Limits::of(Version::Exchange2013.profile(), kind), ..plan() };
    for instance in &mut plan.instances {
        for database in &mut instance.databases {
            database.size = ByteSize::mib(1);
        }
    }
    plan
}

fn restoring() -> Plan {
    Plan { copy_to: Some("copies".into()), ..reading() }
}

/// The step at which the last matching change of a name was submitted.
fn last(journal: &Journal, wanted: impl Fn(&NameChange) -> bool) -> Step {
    let changes = journal.actions().iter().rev();
    let mut found = changes.filter(
        |recorded| matches!(&recorded.action, Some(Action::Name(change)) if wanted(change)),
    );
    found.next().expect("it happened").submitted
}

fn is_created(change: &NameChange, end: &str) -> bool {
    matches!(change, NameChange::Create { path, .. } if path.to_string_lossy().ends_with(end))
}

fn is_removed(change: &NameChange, end: &str) -> bool {
    matches!(change, NameChange::Remove { path, .. } if path.to_string_lossy().ends_with(end))
}

/// Starts on the files that a cut has left.
fn start(store: Store) -> Left {
    let mut small = Small::new(2);
    small.store = store;
    small.run(&reading())
}

fn was_created(left: &Left) -> bool {
    left.news.iter().any(|news| matches!(news, News::Created { .. }))
}

/// What is wrong with a start, in words.
fn trouble(left: &Left, records: u64) -> Option<String> {
    let run = match &left.run {
        Ok(run) => run,
        Err(error) => return Some(error.to_string()),
    };
    if run.ending != Ending::Complete {
        return Some(format!("{:?}", run.ending));
    }
    let found = run.records?;
    if (found.findings, found.checked) != (Findings::default(), records) {
        return Some(format!("{found:?} of {records} records"));
    }
    let failed = failed(&left.result(&reading()));
    if !failed.is_empty() {
        return Some(format!("{failed:?}"));
    }
    let unfinished = |path: &Path| {
        let path = path.to_string_lossy();
        path.contains("-restoring") || path.contains("journal") || path.ends_with("edb-making")
    };
    // The next backup removes unfinished files of an earlier one.
    let mut names = left.store.names().filter(|(path, _)| !path.starts_with("copies"));
    names.find(|(path, _)| unfinished(path)).map(|(path, _)| format!("{} is left", path.display()))
}

#[test]
fn a_database_that_lacks_its_end_is_called_that() {
    let test = Small::new(1).run(&reading());
    let path = Path::new("db/1.edb");
    let whole = test.store.get(path).unwrap();
    for share in [2, 100] {
        let mut store = test.store.fork();
        let left = whole.len() - whole.len().div_euclid(share);
        store.put(path, &whole[..left.next_multiple_of(4096)]);
        let said = start(store).run.err().expect("it is refused");
        assert!(matches!(&said, RunError::CutShort { path: of, .. } if of == path), "{said}");
    }
}

#[test]
fn no_cut_costs_a_record() {
    let mut small = Small::new(1);
    small.recording = true;
    let test = small.run(&restoring());
    assert_eq!(failed(&test.result(&restoring())), Vec::<String>::new());
    let records = test.run.as_ref().unwrap().records.unwrap().checked;
    let journal = test.journal.unwrap();
    let copying = journal.actions().iter().find_map(|recorded| match &recorded.action {
        Some(Action::Name(change)) if is_created(change, "-restoring") => Some(recorded.submitted),
        _ => None,
    });
    let copying = copying.expect("copies are made beside the files");
    let created = last(&journal, |change| is_created(change, ".jfm"));
    let restored = last(&journal, |change| is_removed(change, "brunt-restore.journal"));
    let mut images = CrashImages::new(&journal);
    let cuts = images.cuts();
    let (mut tried, mut finished) = (0, 0);
    for (number, cut) in cuts.into_iter().enumerate() {
        // Every cut of the restore, and some of those before and after it.
        let restores = (copying..=restored).contains(&cut);
        if !restores && number % 29 != 0 {
            continue;
        }
        for sample in [Sample::Nothing, Sample::nth(number as u64)] {
            let left = start(images.image(cut, sample));
            let what = trouble(&left, records);
            assert_eq!(what, None, "cut at {cut:?}, {sample:?}");
            assert!(
                cut <= created || !was_created(&left),
                "databases made anew after a cut at {cut:?}, {sample:?}"
            );
            let said =
                |note: &News| matches!(note, News::Note { text } if text.contains("finished now"));
            finished += u32::from(left.news.iter().any(said));
            tried += 1;
        }
    }
    println!("{tried} starts, {finished} of them finished a restore");
    assert!(finished > 10, "{finished} of {tried}");
}
