//! Tests of the public interface, in one program: one file for each subject.

mod edited;
mod forger;
mod handed_over;
mod hostile;
mod made;
mod predicted;
mod refused;
#[path = "../../../report/tests/report/sample/mod.rs"]
mod sample;

use brunt_paper::evidence::File;
use brunt_paper::{Evidence, RunFiles};
use brunt_report::result::Tested;
use brunt_report::{Event, Run, Timestamp};

const PROGRAM: &str = "0.1.0 (test)";

/// The files of a made-up run, with a scenario that describes the solution.
fn files(label: &str, run: &Run) -> RunFiles {
    let ending = brunt_report::ending(&run.result).into_iter();
    let ending = ending.map(|text| Event { at: Timestamp { unix_seconds: 0 }, text });
    let events: String =
        run.events.iter().cloned().chain(ending).map(|event| format!("{event}\n")).collect();
    let scenario = "name = \"sample\"\n[test]\nheadroom_percent = 20\n[solution]\nvendor = \"Größe & Söhne\"\n\
                    product = \"ES-400 \u{4e2d}\"\nfeatures = [\"two controllers\"]\n[solution.database_disks]\ndisks = 12\ndisk_size = \"600 GB\"\n";
    let file = |name, text: String| File { name, bytes: text.into_bytes(), whole: None };
    RunFiles {
        label: label.to_owned(),
        files: vec![
            file("result.json", run.result.to_json()),
            file("scenario.toml", scenario.to_owned()),
            file("events.log", events),
        ],
    }
}

/// A run of another kind and with another id, on the same server.
fn of_kind(kind: &str, id: &str) -> Run {
    let mut run = sample::run(true);
    run.result.storage.test = Tested::try_from(kind.to_owned()).unwrap();
    run.result.origin.run_id = id.to_owned();
    run
}

fn evidence(runs: Vec<RunFiles>) -> Evidence {
    Evidence { program: PROGRAM.to_owned(), runs, ..Evidence::default() }
}

/// The evidence of one run that passed.
fn one() -> Evidence {
    evidence(vec![files("runs/a", &sample::run(true))])
}

/// Every text of a PDF, read by another way than the one that is tested.
fn text_of(pdf: &[u8]) -> String {
    let document = lopdf::Document::load_mem(pdf).unwrap();
    let pages: Vec<u32> = document.get_pages().into_keys().collect();
    document.extract_text(&pages).unwrap()
}
