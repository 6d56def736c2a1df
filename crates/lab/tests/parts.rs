//! What the parts of arrays do in each sample: it adds up to the whole collection, and shows who
//! works while a drive is rebuilt.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use brunt_lab::{DrillOptions, Engine, Lab, Options, Program, drill};
use brunt_report::parts::{Parts, What};
use brunt_report::result::{ArrayNumbers, Model};
use brunt_run::{Listener, News, Recorded, Sample, Stop, is_of_array};
use brunt_scenario::{Document, Override};
use brunt_units::Time;

const EXAMPLE: &str = include_str!("../../../examples/mail-on-array.toml");

#[derive(Default)]
struct Samples(RefCell<Vec<Arc<Sample>>>);

impl Listener for Samples {
    fn tell(&self, _: Time, _: &News) {}

    fn recorded(&self, recorded: &Recorded) {
        self.0.borrow_mut().push(Arc::clone(&recorded.sample));
    }
}

/// The samples of each server, and the numbers of the whole collection.
fn simulated(text: &str, sets: &[&str]) -> (Vec<Vec<Arc<Sample>>>, Model) {
    let document = Document::new("mail.toml", text, Path::new("/")).unwrap();
    let overrides: Vec<Override> = sets.iter().map(|set| Override::of_set(set).unwrap()).collect();
    let scenario = document.modelled_test(&overrides).unwrap();
    let options = Options {
        engine: Engine::Twin,
        read_files: false,
        in_one_piece: false,
        program: Program::default(),
    };
    let lab = Lab::build(&scenario, options).unwrap();
    let samples: Vec<Rc<Samples>> = lab.plans().map(|_| Rc::default()).collect();
    let listeners = samples.iter().cloned().map(|one| one as Rc<dyn Listener>).collect();
    let simulated = lab.run(listeners, &Stop::default()).unwrap();
    (samples.iter().map(|one| one.0.take()).collect(), simulated.model)
}

/// Means over all samples of each part of this kind.
fn means(parts: &Parts, what: What) -> Vec<(String, f64)> {
    let samples = parts.samples();
    let length: f64 = samples.iter().map(|(_, length)| length).sum();
    let mean = |values: &[(usize, f64)]| {
        values.iter().map(|(sample, value)| value * samples[*sample].1).sum::<f64>() / length
    };
    parts.series(what).map(|(part, values)| (part.name.clone(), mean(values))).collect()
}

fn adds_up(parts: &Parts, array: &ArrayNumbers) {
    let near = |what: What, name: &str, wanted: f64| {
        let means = means(parts, what);
        let found = means.iter().find(|(known, _)| known == name);
        let (_, mean) = found.unwrap_or_else(|| panic!("{what:?} {name} in {means:?}"));
        assert!((mean - wanted).abs() <= 0.002 * wanted + 1e-6, "{what:?} {name}: {mean} {wanted}");
    };
    for (number, busy) in array.controllers.iter().enumerate() {
        near(What::Controller, &number.to_string(), *busy);
    }
    for (number, busy) in array.ports.iter().enumerate() {
        near(What::Port, &number.to_string(), *busy);
    }
    near(What::Link, "", array.link_between);
    for group in &array.groups {
        near(What::Group, &group.name, group.utilisation);
        near(What::Queue, &group.name, group.queue);
    }
    let groups = |of: fn(&brunt_report::result::GroupNumbers) -> f64| {
        array.groups.iter().map(of).sum::<f64>()
    };
    near(What::BackReads, "", groups(|group| group.back_reads_per_s));
    near(What::BackWrites, "", groups(|group| group.back_writes_per_s));
    for lun in &array.luns {
        near(What::Lun, &lun.name, lun.reads_per_s + lun.writes_per_s);
    }
    near(What::FrontReads, "", array.luns.iter().map(|lun| lun.reads_per_s).sum());
    near(What::FrontWrites, "", array.luns.iter().map(|lun| lun.writes_per_s).sum());
}

#[test]
fn samples_add_up_to_the_whole_collection() {
    // The longer one is simulated in two halves, at a low rate that takes little time.
    let lengths = [
        ["test.duration=2min", "test.sessions=2"],
        ["test.duration=20min", "test.target_io_per_s=60"],
    ];
    for [duration, load] in lengths {
        let (samples, model) = simulated(EXAMPLE, &[duration, load, "test.min_warmup=5s"]);
        assert!(samples[0].windows(2).all(|two| two[0].begin < two[1].begin));
        let parts = Parts::of(samples[0].iter().map(AsRef::as_ref));
        assert_eq!(parts.samples().len(), samples[0].len(), "{duration}");
        adds_up(&parts, &model.arrays[0]);
        let dirty: Vec<f64> =
            parts.series(What::Dirty).flat_map(|(_, values)| values).map(|value| value.1).collect();
        assert!(dirty.iter().all(|share| (0.0..=1.0).contains(share)));
        assert!(dirty.iter().any(|share| *share > 0.0));
    }
}

#[test]
fn servers_that_share_an_array_tell_of_it_once() {
    let example = include_str!("../../../examples/two-servers.toml");
    let (text, _) = example.split_once("[[event]]").unwrap();
    let (samples, model) = simulated(text, &["test.duration=60s", "test.min_warmup=5s"]);
    let has_parts = |sample: &Arc<Sample>| sample.rows.iter().any(|row| is_of_array(&row.stream));
    // The measurement begins anew when the last server begins to collect.
    let without = samples[0].iter().filter(|sample| !has_parts(sample)).count();
    assert!(without <= 1 && samples[0].len() >= 10, "{without} of {}", samples[0].len());
    assert!(!samples[1].iter().any(has_parts));
    let parts = Parts::of(samples[0].iter().map(AsRef::as_ref));
    assert_eq!(means(&parts, What::Controller).len(), model.arrays[0].controllers.len());
}

/// Two groups with a database each do about the same, until a drive of one of them fails.
#[test]
fn the_group_that_rebuilds_works_more_than_the_others() {
    let text = EXAMPLE
        .replace("\"database 2\"\ngroup = \"databases\"", "\"database 2\"\ngroup = \"logs\"")
        .replace("count = 8\n", "count = 9\n")
        .replace("[array]\n", "[array]\nspares = 1\n");
    let text = format!("{text}\n[[event]]\nat = \"170s\"\nwhat = \"drive fails\"\ndrive = 2\n");
    let (samples, model) = simulated(&text, &["test.duration=3min", "test.min_warmup=5s"]);
    let rebuilding = model.states.iter().find(|state| state.state == "rebuilding").unwrap();
    let parts = Parts::of(samples[0].iter().map(AsRef::as_ref));
    let offset = samples[0][0].begin.since(Time::ZERO).as_seconds();
    let busy = |what: What, name: &str, in_rebuild: bool| {
        let (_, values) = parts.series(what).find(|(part, _)| part.name == name).unwrap();
        let is_wanted = |sample: usize| {
            let (begin, length) = parts.samples()[sample];
            match in_rebuild {
                true => begin + offset >= rebuilding.from_s,
                false => begin + length + offset <= rebuilding.from_s,
            }
        };
        let values = values.iter().filter(|(sample, _)| is_wanted(*sample));
        let values: Vec<f64> = values.map(|(_, value)| *value).collect();
        assert!(values.len() > 3, "{what:?} {name} {in_rebuild}: {values:?}");
        values.iter().sum::<f64>() / values.len() as f64
    };
    let of_groups =
        |in_rebuild| ["databases", "logs"].map(|name| busy(What::BusiestDrive, name, in_rebuild));
    let ([failing, other], [rebuilt, whole]) = (of_groups(false), of_groups(true));
    assert!((failing - other).abs() < 0.1, "{failing} {other}");
    assert!(rebuilt > whole + 0.2, "{rebuilt} {whole}");
    // The other half of the mirror is read for the rebuild.
    assert!(busy(What::Drive, "3", true) > whole + 0.2);
}

/// While the link is lost, the write history logs of both groups fill, and say when they are full.
#[test]
fn a_drill_tells_of_both_sites_and_of_history_logs() {
    let example = include_str!("../../../examples/two-sites.toml");
    let (before, _) = example.split_once("[[event]]").unwrap();
    let text = format!("{before}[[event]]\nat = \"3s\"\nwhat = \"link lost\"\n");
    let document = Document::new("two-sites.toml", &text, Path::new("/")).unwrap();
    let sets = [
        "test.min_warmup=1s",
        "test.duration=60s",
        "instance.0.database_size=4MiB",
        "instance.1.database_size=4MiB",
        "drill.sample=1s",
        "drill.after=3s",
        "replication.mode=asynchronous",
        "replication.failsafe=false",
    ];
    let overrides: Vec<Override> = sets.iter().map(|set| Override::of_set(set).unwrap()).collect();
    let scenario = document.modelled_test(&overrides).unwrap();
    let options =
        DrillOptions { engine: Some(Engine::Twin), controls: false, program: Program::default() };
    let samples = Rc::<Samples>::default();
    let listener: Rc<dyn Listener> = Rc::<Samples>::clone(&samples);
    drill(&scenario, &options, &listener, &Stop::default()).unwrap();
    let samples = samples.0.take();
    let parts = Parts::of(samples.iter().map(AsRef::as_ref));
    assert_eq!(parts.samples().len(), samples.len());
    let groups = means(&parts, What::Group);
    let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["mirrored", "mirrored at the destination"]);
    assert!(groups.iter().all(|(_, busy)| *busy > 0.0), "{groups:?}");
    for group in ["SG1", "SG2"] {
        let series = |what| {
            let found = parts.series(what).find(|(part, _)| part.name == group);
            found.map(|(_, values)| values.to_vec()).unwrap()
        };
        let fills = series(What::History);
        let (first, last) = (fills[0].1, fills[fills.len() - 1].1);
        assert!(first < last && last <= 1.0, "{fills:?}");
        assert!(series(What::FullIn).iter().all(|(_, seconds)| *seconds > 0.0));
    }
}
