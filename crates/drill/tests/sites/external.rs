//! Storage of the user's that replicates by itself, on modelled hosts: commands that copy files from
//! one folder to the other, at the moments that the scenario names.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use brunt_drill::sites::messages::Speaker;
use brunt_drill::sites::{CourseError, Doing, Heed, Link, Site, SitePair, Sites, Storage};
use brunt_drill::{Objectives, Rehearsed};
use brunt_report::result::Verdict;
use brunt_run::{Listener, Silence, Stop};
use brunt_scenario::{Document, Exec};
use brunt_units::Span;
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{Machine, Store};

use crate::modelled::{ModelledLink, ModelledSite, Truth, course_of, world};

/// Each command takes so long.
const COMMAND: Span = Span::seconds(3);

/// Folders `/a` and `/b`, and what commands do to them by their names.
struct CommandedStorage {
    machine: Machine,
    snapshot: RefCell<Store>,
    is_burnt: Cell<bool>,
    has_arrived: Cell<bool>,
}

impl Storage for CommandedStorage {
    fn speaker(&self) -> Speaker {
        Speaker::own(None)
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn may_replace(&self) -> bool {
        false
    }

    fn log_segment(&self) -> usize {
        512
    }

    fn release(&self) {}

    fn is_there(&self) -> bool {
        !self.is_burnt.get()
    }

    fn arrive(&self) -> Result<(), CourseError> {
        match self.has_arrived.get() {
            true => Ok(()),
            false => Err(CourseError::of(std::io::Error::other("nothing has arrived"))),
        }
    }

    fn exec<'a>(&'a self, world: &'a World, exec: &'a Exec, mut heed: Heed<'a>) -> Doing<'a, ()> {
        Box::pin(async move {
            let until = world.clock.now() + COMMAND;
            while world.clock.now() < until {
                world.sleep(Span::millis(10)).await;
                heed()?;
            }
            match exec.name.as_str() {
                "snapshot" => *self.snapshot.borrow_mut() = self.machine.store(),
                "burn" => self.is_burnt.set(true),
                "copy" | "restore" => {
                    let files = match exec.name.as_str() {
                        "copy" => self.machine.store(),
                        _ => self.snapshot.borrow().fork(),
                    };
                    self.machine.replace_files(Path::new("/b"), &files, Path::new("/a"));
                    self.has_arrived.set(true);
                }
                _ => {}
            }
            Ok(())
        })
    }
}

/// Rehearses with these steps `(when, name)` and events.
fn rehearsed(steps: &[(&str, &str)], events: &str) -> Result<Rehearsed, CourseError> {
    let steps = steps.iter().map(|(when, name)| {
        format!("[[step]]\nwhen = \"{when}\"\nname = \"{name}\"\nrun = [\"/bin/true\"]\n")
    });
    let scenario = format!(
        "[test]\nduration = \"20s\"\nsessions = 3\ntarget_io_per_s = 150\nmin_warmup = \"200ms\"\n\
         [profile]\nversion = \"exchange-2003\"\ncache_max = \"4 MiB\"\ncache_min = \"4 MiB\"\n\
         [[instance]]\nlog = \"log1\"\ndatabases = [\"db1/1.edb\"]\ndatabase_size = \"8 MiB\"\n\
         [site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"b\"\n\
         [replication]\nmode = \"external\"\n\
         [drill]\nsample = \"1s\"\nafter = \"2s\"\nrecovery_point = \"1ms\"\n\
         {}{events}",
        steps.collect::<String>()
    );
    let document = Document::new("drill", &scenario, Path::new("/"));
    let drill = document.and_then(|document| document.real_drill(&[]));
    let drill = Rc::new(drill.unwrap_or_else(|refusal| panic!("{refusal}\n{scenario}")));
    let (mut made, [source, destination, conductor]) = world(1);
    let here = conductor.world().clone();
    let truth = Truth::default();
    let site = |name, host| {
        let draw = Streams::new(1).named(name);
        Rc::new(ModelledSite::new(name, host, &here, &truth, Span::ZERO, draw)) as Rc<dyn Site>
    };
    let with = Sites {
        sites: [site("source", source), site("destination", destination)],
        link: Rc::new(ModelledLink { round_trip: Span::ZERO, relays: RefCell::default() })
            as Rc<dyn Link>,
        storage: Rc::new(CommandedStorage {
            machine: made.machine.clone(),
            snapshot: RefCell::default(),
            is_burnt: Cell::default(),
            has_arrived: Cell::default(),
        }),
    };
    let plan = course_of(&drill);
    let listener: Rc<dyn Listener> = Rc::new(Silence);
    let pair = SitePair::new(&here, &drill, with, plan, &listener, &Stop::default());
    let task = here.spawner.spawn(pair.rehearse());
    made.executor.block_on(task)
}

fn event(at: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nwhat = \"{what}\"\n")
}

fn loss_and_failover() -> String {
    event("500ms", "source lost") + &event("1s", "failover")
}

fn verdict(rehearsed: &Rehearsed) -> (Verdict, String) {
    let wanted = Objectives { recovery_point: Some(Span::millis(1)), ..Objectives::usual(false) };
    let (verdict, why) = rehearsed.evidence.outcome(&rehearsed.evidence.rules(&wanted));
    (verdict, why.join("; "))
}

/// Names of the steps of the failover; those in brackets are given.
fn steps(rehearsed: &Rehearsed) -> Vec<String> {
    let steps = rehearsed.failovers[0].steps.iter();
    let named = steps.map(|step| match step.given {
        true => format!("({})", step.name),
        false => step.name.clone(),
    });
    named.collect()
}

#[test]
fn a_copy_of_what_the_lost_server_has_left_is_a_survivor() {
    let done = rehearsed(&[("failover", "copy")], &loss_and_failover()).unwrap();
    let (verdict, why) = verdict(&done);
    assert_eq!(verdict, Verdict::Pass, "{why}");
    let expected = ["(decision)", "fencing", "copy", "log replay", "mount", "first operation"];
    assert_eq!(steps(&done), expected);
    assert_eq!(done.evidence.wrong_records, Some(0));
    assert!(done.evidence.checksum.is_some_and(|sum| sum.pages > 0 && sum.bad == 0));
    assert_eq!(done.evidence.survivals[0].reported, None, "the user's storage is asked nothing");
    assert!(done.failovers[0].took > COMMAND);
}

#[test]
fn a_cut_leaves_what_was_copied_before() {
    let events = format!(
        "[[event]]\nat = \"100ms\"\nwhat = \"exec\"\nname = \"snapshot\"\nrun = [\"/bin/true\"]\n{}{}",
        event("5s", "source lost"),
        event("6s", "failover")
    );
    let all = [("cut", "burn"), ("failover", "restore")];
    let done = rehearsed(&all, &events).unwrap();
    let expected =
        ["(decision)", "(burn)", "fencing", "restore", "log replay", "mount", "first operation"];
    assert_eq!(steps(&done), expected);
    let loss = done.evidence.survivals[0].loss.as_ref().unwrap();
    assert!(loss.transactions > 0 && loss.kept > 0, "{loss:?}");
    assert_eq!(verdict(&done).0, Verdict::Fail);
    let told: Vec<String> = done.course.events().into_iter().map(|event| event.what).collect();
    assert!(!told.iter().any(|what| what.starts_with("now, what was to be")), "{told:?}");
}

#[test]
fn an_event_that_waits_for_a_command_is_told_to_be_late() {
    let snapshot =
        "[[event]]\nat = \"0s\"\nwhat = \"exec\"\nname = \"snapshot\"\nrun = [\"/bin/true\"]\n";
    let events = format!("{snapshot}{}", loss_and_failover());
    let done = rehearsed(&[("failover", "copy")], &events).unwrap();
    let told = done.course.events();
    let is_late = |what: &str| what == "now, what was to be at 500.00 ms, during a command:";
    assert!(told.iter().any(|event| is_late(&event.what)), "{told:?}");
}

#[test]
fn a_cut_that_cuts_nothing_is_no_drill() {
    let all = [("cut", "nothing"), ("failover", "copy")];
    let error = rehearsed(&all, &loss_and_failover()).err().unwrap();
    assert!(matches!(error, CourseError::NotCut), "{error}");
}

#[test]
fn without_what_was_to_arrive_there_is_no_survivor() {
    let done = rehearsed(&[("failover", "nothing")], &loss_and_failover()).unwrap();
    let (verdict, why) = verdict(&done);
    assert_eq!(verdict, Verdict::Fail);
    assert!(why.contains("nothing has arrived"), "{why}");
    assert!(done.evidence.out_of_service.is_some_and(|waited| waited >= COMMAND));
    assert!(done.evidence.not_read.is_some() && done.evidence.kept_apart.is_some());
    assert!(done.failovers.is_empty());
}
