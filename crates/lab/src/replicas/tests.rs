//! Negative controls: a replica that lacks one write of its log is found out.

use std::path::Path;
use std::rc::Rc;

use brunt_report::result::Outcome;
use brunt_run::{Listener, Silence, Stop};
use brunt_scenario::{Document, Override};
use brunt_world_virtual::{Inode, Store};

use super::copies::CopyControl;
use crate::{Engine, Lab, Options, Program};

const EXAMPLE: &str = include_str!("../../../../examples/mail-replicated.toml");

/// Takes the newest answered write of a log out of a copy: its place has what was there before.
#[derive(Default)]
struct Sabotage {
    /// Writes in flight: slot, file, offset, length; the bytes before, once seen.
    in_flight: Vec<(usize, Before, u64)>,
    /// The oldest first.
    answered: Vec<Before>,
}

struct Before {
    file: Inode,
    offset: u64,
    bytes: Vec<u8>,
}

impl CopyControl for Sabotage {
    fn submitted(&mut self, slot: usize, file: Inode, offset: u64, length: u64) {
        let bytes = Vec::new();
        let before = Before { file, offset, bytes };
        self.in_flight.push((slot, before, length));
    }

    /// Sees what is in the place of new writes.
    fn look(&mut self, files: &Store) {
        for (_, before, length) in &mut self.in_flight {
            if before.bytes.is_empty() && files.length(before.file).is_some() {
                before.bytes = vec![0; usize::try_from(*length).unwrap()];
                files.read(before.file, before.offset, &mut before.bytes);
            }
        }
    }

    fn ended(&mut self, slot: usize) {
        if let Some(at) = self.in_flight.iter().position(|one| one.0 == slot) {
            self.answered.push(self.in_flight.swap_remove(at).1);
        }
    }

    fn strike(&self, files: &mut Store) {
        let mut newest_first = self.answered.iter().rev();
        let before = newest_first.find(|one| files.length(one.file).is_some());
        if let Some(before) = before {
            files.write(before.file, before.offset, &before.bytes);
        }
    }
}

#[test]
fn a_replica_that_lacks_one_write_of_its_log_is_found() {
    let document = Document::new("m.toml", EXAMPLE, Path::new("/")).unwrap();
    let small = [
        "test.min_warmup=1s",
        "test.duration=10s",
        "instance.0.database_size=4MiB",
        "instance.1.database_size=4MiB",
        "replicate.0.at=2s",
        "replicate.0.every=3s",
        "replicate.1.at=3s",
        "replicate.1.every=3s",
    ];
    let small = small.map(|set| Override::of_set(set).unwrap());
    let scenario = document.modelled_test(&small).unwrap();
    let options = Options {
        engine: Engine::Bytes,
        read_files: false,
        in_one_piece: false,
        program: Program { version: "0".to_owned(), commit: None, command: String::new() },
    };
    let lab = Lab::build(&scenario, options).unwrap();
    let replicas = lab.first.replicas.as_ref().unwrap();
    replicas.copies.borrow_mut().control = Some(Box::new(Sabotage::default()));
    let silence: Rc<dyn Listener> = Rc::new(Silence);
    let simulated = lab.run(vec![silence], &Stop::default()).unwrap();
    let recovered = simulated.model.arrays[0].replicas.iter();
    let wrong: Vec<String> =
        recovered.filter_map(|one| one.recovered.as_ref()?.wrong.clone()).collect();
    assert!(!wrong.is_empty());
    let rules = &simulated.servers[0].result.rules;
    let rule = rules.iter().find(|rule| rule.id == "replicas-recovered");
    let rule = rule.unwrap();
    assert_eq!(rule.outcome, Outcome::Failed, "{rule:?}");
}
