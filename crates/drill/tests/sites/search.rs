//! Timelines by seed: what the scenario asks for, and accidents that it does not know of.
//!
//! ```text
//!   seed -> replication, loss, failover, delays; then, in half of them, a kill, a freeze or a cut at any time
//!        -> the course -> verdict
//!        -> the databases of the destination, opened once more
//! ```
//!
//! After each: the course has ended; it does not pass while a promised commit is missing, unless
//! replication may lose it and the drill has counted it; without an accident it passes. A conductor
//! that believes the site that answers first is found.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use brunt_drill::sites::messages::{Answer, Command, line};
use brunt_drill::sites::{Link, Site, SitePair, Sites};
use brunt_drill::{Key, Objectives, Rehearsed};
use brunt_qualify::phases::serving::version_of;
use brunt_qualify::server::Server;
use brunt_report::result::Verdict;
use brunt_run::{Listener, Silence, Stop};
use brunt_scenario::{Document, RealDrill, SiteReplication};
use brunt_units::Span;
use brunt_workload::mix::{Commit, Kind};
use brunt_world::World;
use brunt_world::random::{Stream, Streams};

use crate::modelled::{ModelledLink, ModelledSite, ModelledStorage, Truth, course_of, world};

/// Timelines of the usual run, and of the long one.
const SEEDS: u64 = 150;
const SEEDS_LONG: u64 = 2_000;
/// A course that takes longer in virtual time hangs: sites may be silent for a quarter of an hour.
const HANGS: Span = Span::seconds(2 * 3600);

/// A timeline.
#[derive(Clone, Debug)]
struct Timeline {
    scenario: String,
    replication: SiteReplication,
    /// How late a line is at most.
    late: Span,
    round_trip: Span,
    accidents: Vec<(Span, Accident)>,
}

/// What happens that the scenario does not know of.
#[derive(Clone, Copy, Debug)]
enum Accident {
    Killed(usize),
    PowerLost(usize),
    Frozen(usize, Span),
    LinkCut(Span),
    /// The user ends the drill. None is drawn.
    Stopped,
}

impl Timeline {
    fn of(seed: u64) -> Self {
        let mut draw = Streams::new(seed).named("timeline");
        let between = |draw: &mut Stream, from: u64, to: u64| from + draw.below(to - from);
        let is_synchronous = draw.percent(70);
        let losses = ["source lost", "source frozen", "link lost", ""];
        let loss = losses[usize::try_from(draw.below(4)).unwrap()];
        let lost_at = between(&mut draw, 50, 1_500);
        let failover = match loss {
            "" if is_synchronous && draw.percent(50) => {
                format!("at = \"{lost_at}ms\"\nplanned = true")
            }
            // A witness hears a source that has lost its link alone.
            "source lost" | "source frozen" if draw.percent(50) => {
                format!("silence = \"{}ms\"", between(&mut draw, 1_000, 2_500))
            }
            _ => format!("at = \"{}ms\"", lost_at + between(&mut draw, 0, 1_500)),
        };
        let lost = match loss {
            "" => String::new(),
            loss => format!("[[event]]\nat = \"{lost_at}ms\"\nwhat = \"{loss}\"\n"),
        };
        let (mode, replication) = match is_synchronous {
            true => ("synchronous", SiteReplication::Synchronous),
            false => ("asynchronous", SiteReplication::Asynchronous),
        };
        let after = between(&mut draw, 0, 2_500);
        let scenario = format!(
            "[test]\nduration = \"20s\"\nseed = {seed}\nsessions = 3\ntarget_io_per_s = 150\nmin_warmup = \"200ms\"\n\
             [profile]\nversion = \"exchange-2003\"\ncache_max = \"4 MiB\"\ncache_min = \"4 MiB\"\n\
             [[instance]]\nlog = \"log1\"\ndatabases = [\"db1/1.edb\"]\ndatabase_size = \"8 MiB\"\n\
             [site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"b\"\n\
             [replication]\nmode = \"{mode}\"\n\
             [drill]\nsample = \"1s\"\nafter = \"{after}ms\"\nrecovery_point = \"{}\"\n\
             {lost}[[event]]\nwhat = \"failover\"\n{failover}\n",
            if is_synchronous { "0s" } else { "1h" },
        );
        // A source that is heard late enough is missed although it serves.
        let late = [0, 300, 20_000, 400_000][usize::try_from(draw.below(4)).unwrap()];
        let late = Span::micros(late);
        let round_trip = Span::micros(draw.below(20_000));
        // None in half of them.
        let accidents = (0..draw.below(4).saturating_sub(1)).map(|_| {
            let side = usize::try_from(draw.below(2)).unwrap();
            let lasts = Span::millis(between(&mut draw, 1, 4_000));
            let what = match draw.below(6) {
                0 => Accident::Killed(side),
                1 => Accident::PowerLost(side),
                2 | 3 => Accident::Frozen(side, lasts),
                _ => Accident::LinkCut(lasts),
            };
            (Span::millis(draw.below(4_000)), what)
        });
        let accidents = accidents.collect();
        Self { scenario, replication, late, round_trip, accidents }
    }

    fn drill(&self) -> RealDrill {
        let document = Document::new("drill", &self.scenario, Path::new("/"));
        let drill = document.and_then(|document| document.real_drill(&[]));
        drill.unwrap_or_else(|refusal| panic!("{refusal}\n{}", self.scenario))
    }
}

/// How a course ended.
#[derive(Debug)]
struct Ended {
    verdict: Verdict,
    why: String,
    /// Promised commits that the drill has found to be lost.
    counted: u64,
    /// How long users had had no service at the end.
    out_of_service: Option<Span>,
    /// Records whose last promised commit the destination lacks; looked for after a pass.
    missing: Vec<Key>,
}

/// What a search changes on the way between sites and conductor.
type Between = fn(Rc<dyn Site>, Rc<dyn Site>) -> [Rc<dyn Site>; 2];

/// Runs a timeline; nothing when it hangs.
fn run(seed: u64, timeline: &Timeline, between: Between) -> Option<Ended> {
    let (mut made, [source, destination, conductor]) = world(seed);
    let (drill, here) = (Rc::new(timeline.drill()), conductor.world().clone());
    let truth = Truth::default();
    let site = |name, host| {
        let draw = Streams::new(seed).named(name);
        Rc::new(ModelledSite::new(name, host, &here, &truth, timeline.late, draw))
    };
    let sites = [site("source", source), site("destination", destination)];
    let link =
        Rc::new(ModelledLink { round_trip: timeline.round_trip, relays: RefCell::default() });
    let [source, destination] = sites.clone();
    let with = Sites {
        sites: between(source, destination),
        link: Rc::<ModelledLink>::clone(&link),
        storage: Rc::new(ModelledStorage),
    };
    let plan = course_of(&drill);
    let listener: Rc<dyn Listener> = Rc::new(Silence);
    let stop = Stop::default();
    let pair = SitePair::new(&here, &drill, with, plan, &listener, &stop);
    let (accidents, below) = (timeline.accidents.clone(), made.world.clone());
    made.executor.block_on(async move {
        for (at, accident) in accidents {
            let (world, sites, link) = (below.clone(), sites.clone(), Rc::clone(&link));
            let stop = stop.clone();
            drop(below.spawner.spawn(async move {
                world.sleep(at).await;
                happen(&world, accident, &sites, &link, &stop).await;
            }));
        }
        let course = here.spawner.spawn(pair.rehearse());
        while !course.is_done() {
            if below.clock.now().0 > HANGS.0 {
                return None;
            }
            below.sleep(Span::millis(50)).await;
        }
        let mut ended = match course.await {
            Ok(rehearsed) => judged(&rehearsed, &drill),
            Err(error) => Ended {
                verdict: Verdict::Error,
                why: error.to_string(),
                counted: 0,
                out_of_service: None,
                missing: Vec::new(),
            },
        };
        if ended.verdict == Verdict::Pass {
            ended.missing = missing(&drill, &sites[1], &truth).await;
        }
        Some(ended)
    })
}

async fn happen(
    world: &World,
    accident: Accident,
    sites: &[Rc<ModelledSite>; 2],
    link: &ModelledLink,
    stop: &Stop,
) {
    match accident {
        Accident::Killed(side) => sites[side].kill(),
        Accident::PowerLost(side) => {
            sites[side].host().lose_power();
            sites[side].kill();
        }
        Accident::Frozen(side, lasts) => {
            sites[side].freeze();
            world.sleep(lasts).await;
            sites[side].thaw();
        }
        Accident::LinkCut(lasts) => {
            link.cut();
            world.sleep(lasts).await;
            link.mend();
        }
        Accident::Stopped => stop.ask(),
    }
}

fn judged(rehearsed: &Rehearsed, drill: &RealDrill) -> Ended {
    let is_synchronous = drill.replication == SiteReplication::Synchronous;
    let wanted = Objectives::of(&drill.drill, is_synchronous);
    let evidence = &rehearsed.evidence;
    let (verdict, why) = evidence.outcome(&evidence.rules(&wanted));
    let losses = evidence.survivals.iter().filter_map(|one| one.loss.as_ref().ok());
    let counted = losses.map(|loss| loss.transactions).sum();
    let out_of_service = evidence.out_of_service;
    Ended { verdict, why: why.join("; "), counted, out_of_service, missing: Vec::new() }
}

/// The records that are not at the destination as the last promised commit left them, or a later one
/// that was asked for.
async fn missing(drill: &RealDrill, destination: &ModelledSite, truth: &Truth) -> Vec<Key> {
    // Versions of each record that may be there: from the last promise on.
    let mut possible: BTreeMap<Key, Vec<Option<u32>>> = BTreeMap::new();
    let mut promised: BTreeSet<Key> = BTreeSet::new();
    for said in truth.lock().unwrap().iter() {
        let change = &said.change;
        let key = (change.instance, change.database, change.number);
        let after = (change.kind != Kind::Delete).then_some(change.version);
        let versions = possible.entry(key).or_default();
        match said.is_acknowledged {
            false => versions.push(after),
            true if change.commit == Commit::Hard => {
                let at = versions.iter().position(|version| *version == after);
                // Nothing new of one that both sites acknowledge.
                versions.drain(..at.unwrap_or(0));
                promised.insert(key);
            }
            true => {}
        }
    }
    let host = destination.restarted();
    let world = host.world().clone();
    let mut plan = drill.at(&drill.destination.value).plan();
    plan.engine.log_segment = 512;
    let opened = {
        let (world, plan) = (world.clone(), plan.clone());
        world.clone().spawner.spawn(async move {
            Server::open(&world, &plan, &Silence, None).await.expect("it was closed")
        })
    };
    let server = opened.await;
    let mut missing = Vec::new();
    for key in promised {
        let found = version_of(&server, key).await.unwrap();
        if !possible[&key].contains(&found) {
            missing.push(key);
        }
    }
    missing
}

/// Nothing is changed.
fn honest(source: Rc<dyn Site>, destination: Rc<dyn Site>) -> [Rc<dyn Site>; 2] {
    [source, destination]
}

/// A site between which and the conductor something goes wrong.
struct Credulous {
    site: Rc<dyn Site>,
    /// Whether the destination has said that it takes over.
    is_promoted: Rc<Cell<bool>>,
    /// What the conductor hears instead.
    instead: RefCell<Vec<Answer>>,
    is_source: bool,
}

/// What a conductor hears that believes the site that answers first: the destination takes over
/// without a word to the source, and the source is not listened to any more.
fn credulous(source: Rc<dyn Site>, destination: Rc<dyn Site>) -> [Rc<dyn Site>; 2] {
    let is_promoted = Rc::new(Cell::new(false));
    [(source, true), (destination, false)].map(|(site, is_source)| {
        let (is_promoted, instead) = (Rc::clone(&is_promoted), RefCell::default());
        Rc::new(Credulous { site, is_promoted, instead, is_source }) as Rc<dyn Site>
    })
}

impl Site for Credulous {
    fn name(&self) -> &'static str {
        self.site.name()
    }

    fn send(&self, line: &str) {
        if let Ok(Command::Promote { .. }) = serde_json::from_str(line) {
            self.is_promoted.set(true);
            self.instead.borrow_mut().push(Answer::Promoted { struck: false });
            return;
        }
        self.site.send(line);
    }

    fn new_lines(&self) -> Vec<String> {
        let mut lines = self.site.new_lines();
        if self.is_source && self.is_promoted.get() {
            lines.clear();
        }
        let instead = self.instead.take().into_iter();
        lines.extend(instead.map(|answer| line(&answer).trim_end().to_owned()));
        lines
    }

    fn has_ended(&self) -> bool {
        self.site.has_ended()
    }

    fn last_words(&self) -> String {
        self.site.last_words()
    }

    fn dismiss(&self) {
        self.site.dismiss();
    }

    fn kill(&self) {
        self.site.kill();
    }

    fn freeze(&self) {
        self.site.freeze();
    }

    fn thaw(&self) {
        self.site.thaw();
        self.instead.borrow_mut().push(Answer::Fenced { epoch: 2 });
    }
}

fn check(timeline: &Timeline, ended: Option<&Ended>) -> Result<(), String> {
    let Some(ended) = ended else {
        return Err("it hangs".to_owned());
    };
    let lost = ended.missing.len() as u64;
    let may_lose = match timeline.replication {
        SiteReplication::Synchronous => 0,
        _ => ended.counted,
    };
    if ended.verdict == Verdict::Pass && lost > may_lose {
        return Err(format!("it passes, and lacks {lost} records: {:?}", ended.missing));
    }
    if timeline.accidents.is_empty() && ended.verdict != Verdict::Pass {
        return Err(format!("nothing went wrong, and it is {:?}: {}", ended.verdict, ended.why));
    }
    Ok(())
}

#[test]
fn no_timeline_passes_with_a_lost_commit_or_hangs() {
    let seeds = match std::env::var_os("BRUNT_LONG") {
        Some(_) => SEEDS_LONG,
        None => SEEDS,
    };
    let mut verdicts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 1..=seeds {
        let timeline = Timeline::of(seed);
        let ended = run(seed, &timeline, honest);
        if let Err(what) = check(&timeline, ended.as_ref()) {
            panic!("seed {seed}: {what}\n{timeline:#?}\n{ended:#?}");
        }
        let verdict = ended.map(|ended| format!("{:?} {}", ended.verdict, ended.why));
        *verdicts.entry(verdict.unwrap_or_default()).or_default() += 1;
    }
    let has = |word: &str| verdicts.keys().any(|one| one.starts_with(word));
    assert!(has("Pass") && has("Error"), "{verdicts:#?}");
}

#[test]
fn a_conductor_that_believes_who_answers_first_is_found() {
    let found = (1..=SEEDS).find(|seed| {
        let timeline = Timeline::of(*seed);
        let ended = run(*seed, &timeline, credulous);
        let what = check(&timeline, ended.as_ref()).err();
        what.is_some_and(|what| what.starts_with("it passes"))
    });
    assert!(found.is_some(), "in none of {SEEDS} timelines");
}

/// Otherwise the result would say that service was never lost.
#[test]
fn a_drill_that_is_stopped_without_service_says_so() {
    let drawn = (1..).map(Timeline::of).find(|one| one.scenario.contains("source lost"));
    let accidents = vec![(Span::seconds(20), Accident::Stopped)];
    let mut timeline = Timeline { accidents, ..drawn.unwrap() };
    let (before, _) = timeline.scenario.split_once("[[event]]").unwrap();
    timeline.scenario = format!(
        "{before}[[event]]\nat = \"500ms\"\nwhat = \"source lost\"\n[[event]]\nat = \"1min\"\nwhat = \"failover\"\n"
    );
    let ended = run(1, &timeline, honest).unwrap();
    assert_eq!(
        (ended.verdict, ended.why.as_str()),
        (Verdict::Inconclusive, "stopped before its end")
    );
    let waited = ended.out_of_service.unwrap();
    assert!(waited > Span::seconds(10) && waited < Span::seconds(20), "{waited}");
}
