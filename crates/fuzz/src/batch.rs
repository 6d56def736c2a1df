//! Plans of predictions and records of their points: they lie in folders that others write to.

use std::path::Path;

use brunt_lab::batch::{Plan, Record, Text, Work, sealed};
use brunt_lab::{Engine, Headline, Judged, Program, Tried};
use brunt_report::result::Verdict;
use brunt_scenario::{DEMO, Override, Place};

const POINT: &str = "test.sessions=4";

fn program() -> Program {
    Program { version: "1".to_owned(), ..Program::default() }
}

/// A plan or a record, as it is and with its digest made to fit.
pub fn run(bytes: &[u8]) {
    plan(&String::from_utf8_lossy(bytes));
    record(bytes);
    let body = bytes.len().saturating_sub(sealed(&[]).len());
    record(&sealed(&bytes[bytes.len() - body..]));
}

fn plan(text: &str) {
    let Ok(plan) = Plan::read(text, &program()) else {
        return;
    };
    assert_eq!(Plan::read(&plan.to_text(), &program()).as_ref(), Ok(&plan));
    let overrides = plan.overrides();
    if let (Ok(document), Ok(overrides)) = (plan.document(), overrides) {
        let _ = document.modelled_test(&overrides);
    }
}

fn record(bytes: &[u8]) {
    if let Ok(record) = Record::read(bytes, &[7; 32], POINT) {
        let again = Record::read(&record.to_bytes(), &[7; 32], POINT).unwrap();
        assert_eq!(again.digest(), record.digest());
        let _ = record.tried().passed();
    }
}

/// A plan of each kind, and a record of each.
pub fn seeds() -> Vec<Vec<u8>> {
    let plans = [Work::Sweep("test.sessions=1..4".to_owned()), Work::Seeds(2), Work::UntilFail];
    let plans = plans.into_iter().map(|work| {
        let text = Text { name: "demo.toml".to_owned(), text: DEMO.to_owned() };
        let set = [Override::of_set("test.seed=3").expect("a key and a value")];
        let plan = Plan::new(&program(), work, Engine::Twin, &set, text, Path::new("/home/me"));
        plan.to_text().into_bytes()
    });
    let judged = Judged {
        headline: Headline::default(),
        verdict: Verdict::Pass,
        sentence: "every limit holds".to_owned(),
        failed: Vec::new(),
        bottlenecks: Vec::new(),
    };
    let refused = Place::flag(POINT).refuse("does not fit").for_want_of_room();
    let all = [Tried::Simulated(Box::new(judged)), Tried::Refused(refused)];
    let from = ("job7-0", "n1");
    let records = all.iter().map(|tried| Record::new([7; 32], POINT, 0, from, tried).to_bytes());
    plans.chain(records).collect()
}
