//! The crash search: a copy is fed over a link, cut off anywhere, resumed and activated. It equals
//! the active at the last log that it has: never more, never another history.
//!
//! ```text
//!   story    sessions at work; the copy's host is killed, the shipper is killed, the link fails; all writes are recorded
//!   cut      the copy loses power at any write: its files are one of those that may have survived
//!            every log that it had acknowledged is there
//!   resume   the active is opened again and works on; the copy receives the rest, or some of it
//!   rot      in half of the stories the copy's storage loses a write or returns rot, or a page is spoiled at the cut:
//!            the active's page takes its place
//!   judge    activated at its last log, or at one before: compared with the active's commits; then it works itself
//! ```

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use brunt_copies::{CopyError, PassiveCopy, Shipper};
use brunt_ese::error::EngineError;
use brunt_ese::instance::Circular;
use brunt_ese::patch::Outcome;
use brunt_ese::verify::verify;
use brunt_testkit::tiny::SIZE;
use brunt_units::{PageNumber, Span, Time};
use brunt_world::fault::{Fault, FaultKind, faulty};
use brunt_world::random::{Stream, Streams};
use brunt_world::{Class, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Host, Journal, LinkOptions, Store};

use crate::stage::{
    Telling, Truth, accept, alarm, copy_options, files, instance, newest_log, open_active, read,
    receive, work, world,
};

const STORED: &str = "stored";

/// How a story is printed.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    segment: usize,
    circular: Circular,
    /// Whether the copy's storage loses a write or returns rot now and then.
    rots: bool,
    mistake: Option<Mistake>,
}

/// What a canary breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// The copy's syncs of log files do nothing.
    SkipLogSyncs,
    /// The oracle is asked about a log that the copy does not have.
    DropLog,
}

impl Plan {
    fn draw(self, what: &str) -> Stream {
        Streams::new(self.seed).named(what)
    }

    fn of(seed: u64) -> Self {
        let mut draw = Streams::new(seed).named("plan");
        Self {
            seed,
            segment: if draw.percent(50) { 512 } else { 4096 },
            circular: if draw.percent(50) { Circular::Off } else { Circular::Reuse },
            rots: draw.percent(50),
            mistake: None,
        }
    }

    /// What the storage of a copy does after its `number`-th start.
    fn faults(self, number: usize) -> Vec<Fault> {
        let mut draw = self.draw(&format!("faults/{number}"));
        let kinds =
            [FaultKind::Lost, FaultKind::TwoBitFlip, FaultKind::Zeroed, FaultKind::MediumError];
        let kind = kinds[usize::try_from(draw.below(4)).unwrap()];
        // Not the headers, whose second copy is the remedy.
        let pages = 2 * SIZE.bytes_u64()..1 << 40;
        vec![Fault {
            after: draw.below(60),
            times: 1,
            settles: Some(SIZE.bytes_u64()),
            ..Fault::new(kind, "/b/tiny.edb", pages)
        }]
    }

    fn link(self) -> LinkOptions {
        let mut draw = self.draw("link");
        let outages = match draw.percent(30) {
            true => {
                let from = Time::ZERO + Span::millis(draw.below(1_500));
                let until = from + Span::millis(100 + draw.below(2_000));
                std::iter::once(from..until).collect()
            }
            false => Vec::new(),
        };
        LinkOptions {
            delay: Span::micros(draw.below(8_000)),
            bytes_per_second: [0, 1_000_000, 20_000_000][usize::try_from(draw.below(3)).unwrap()],
            outages,
            ..LinkOptions::default()
        }
    }
}

/// What a search has seen: a search that sees nothing proves nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    cuts: u32,
    /// Cuts after which a log was arriving, or the copy lacked some.
    behind: u32,
    /// Activations with more than two logs.
    full: u32,
    /// Activations at a log before the last one.
    chosen: u32,
    /// Logs that were received after the cut.
    received: u32,
    /// Logs that were replayed by the activation itself.
    replayed: u32,
    /// Pages that scans judged during the stories and after the cuts.
    scanned: u64,
    /// Bad pages that were replaced by the active's, during the stories and after the cuts.
    patched: [u64; 2],
    /// Copies that could not be used because of a bad page that nobody had replaced.
    refused: u32,
}

/// What a story left.
struct Story {
    plan: Plan,
    journal: Journal,
    /// The files at the end.
    files: Store,
    telling: Telling,
    /// Pages that scans judged.
    scanned: u64,
    /// Bad pages that were replaced.
    patched: u64,
}

/// Bad pages of a copy that were replaced by the active's.
fn patched(copy: &PassiveCopy) -> u64 {
    let patches = copy.patches().into_iter();
    let done = patches.filter(|patch| matches!(patch.outcome, Outcome::Patched(_)));
    done.count() as u64
}

/// Pages that the scan of a copy has judged.
fn judged(copy: &PassiveCopy) -> u64 {
    copy.findings().iter().map(|found| found.judged).sum()
}

/// The world of a copy's host, broken on purpose if the plan says so.
fn copy_world(plan: Plan, host: &Host, number: usize) -> World {
    match plan.mistake {
        Some(Mistake::SkipLogSyncs) => {
            brunt_testkit::worlds::without_syncs(host.world(), Class::Log)
        }
        None if plan.rots => faulty(host.world(), plan.faults(number)).0,
        _ => host.world().clone(),
    }
}

/// Whether it names a bad page.
fn is_bad_page(error: &CopyError) -> bool {
    matches!(error, CopyError::Engine(EngineError::Page { .. }))
}

/// What came of `result`; `None` for a bad page, which a copy may have whose storage rots.
fn unless_bad<T>(plan: Plan, result: Result<T, impl Into<CopyError>>) -> Result<Option<T>, String> {
    match result.map_err(Into::into) {
        Ok(value) => Ok(Some(value)),
        Err(error) if plan.rots && is_bad_page(&error) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The copies of a story, one after each restart.
type All = Rc<RefCell<Vec<PassiveCopy>>>;

fn begin_copy(plan: Plan, host: &Host, all: &All) {
    let world = copy_world(plan, host, all.borrow().len());
    let options = copy_options(instance("/b", plan.segment, plan.circular));
    let all = Rc::clone(all);
    drop(host.world().spawner.spawn(async move {
        let copy = PassiveCopy::open(&world, options).await.unwrap();
        let following = copy.clone();
        all.borrow_mut().push(copy.clone());
        drop(world.spawner.spawn(async move {
            unless_bad(plan, following.follow().await).unwrap();
        }));
        receive(world, copy).await.unwrap();
    }));
}

impl Story {
    fn tell(plan: Plan) -> Self {
        let (mut made, [active, copy]) = world(plan.seed, files(&["/a", "/b"]), plan.link());
        let (outside, machine) = (made.world.clone(), made.machine.clone());
        let telling = Truth::begin();
        machine.start_recording();
        let (truth, marks) = (Rc::clone(&telling), machine.clone());
        let all = All::default();
        let copies = Rc::clone(&all);
        made.executor.block_on(async move {
            let inside = active.world().clone();
            let options = instance("/a", plan.segment, plan.circular);
            let (opened, shipper) = open_active(&inside, options).await.unwrap();
            let shipping = Rc::new(RefCell::new(shipper));
            let current = Rc::clone(&shipping);
            let acceptor = accept(inside.clone(), move || current.borrow().clone(), |_| {});
            drop(inside.spawner.spawn(acceptor));
            let is_over = Rc::new(Cell::new(false));
            let (over, working, worker) = (Rc::clone(&is_over), opened.clone(), inside.clone());
            drop(inside.spawner.spawn(async move {
                let mut draw = plan.draw("work");
                work(&worker, &working, &truth, 70, &mut draw).await.unwrap();
                over.set(true);
            }));
            begin_copy(plan, &copy, &copies);
            let (mut copy, mut draw) = (copy, plan.draw("chaos"));
            let mut stored = 0;
            while !is_over.get() || draw.percent(90) {
                for _ in 0..draw.below(30) {
                    outside.sleep(Span::millis(10)).await;
                    // What the active knows is what a copy must have.
                    let known = shipping.borrow().queues(0).stored;
                    if known > stored {
                        marks.mark(STORED, known.into());
                        stored = known;
                    }
                }
                match draw.below(4) {
                    0 => {
                        match draw.percent(50) {
                            true => copy.kill(),
                            false => copy.lose_power(),
                        }
                        outside.sleep(Span::millis(draw.below(300))).await;
                        copy = copy.restart();
                        begin_copy(plan, &copy, &copies);
                    }
                    1 => {
                        let limits = brunt_copies::truncation::Limits::default();
                        let fresh = Shipper::new(&inside, &opened, 1, limits);
                        // The new one knows what the copy had.
                        fresh.seeded(0, stored + 1);
                        shipping.replace(fresh).stop();
                    }
                    _ => {}
                }
            }
            active.kill();
            copy.kill();
            outside.sleep(Span::seconds(1)).await;
        });
        let all = all.borrow();
        if let Some(bad) = all.iter().find_map(alarm).filter(|_| !plan.rots) {
            panic!("the scan of a healthy copy: {bad}");
        }
        Self {
            plan,
            scanned: all.iter().map(judged).sum(),
            patched: all.iter().map(patched).sum(),
            journal: machine.stop_recording().expect("it was started"),
            files: machine.store(),
            telling,
        }
    }

    /// One loss of power of the copy.
    fn cut(&self, number: u64, seen: &mut Seen) -> Result<(), String> {
        let mut draw = self.plan.draw(&format!("cut/{number}"));
        let mut images = CrashImages::new(&self.journal);
        let cuts = images.cuts();
        let cut = cuts[usize::try_from(draw.below(cuts.len() as u64)).unwrap()];
        let sample = match draw.percent(40) {
            true => Sample::CORNERS[usize::try_from(draw.below(10)).unwrap()],
            false => Sample::Random(draw.bits()),
        };
        let is_copy = |path: &Path| path.starts_with("/b");
        let image = images.image(cut, sample).part(is_copy);
        let marks = images.marks(cut).filter(|mark| mark.what == STORED);
        let acknowledged = marks.map(|mark| mark.number).max().unwrap_or(0);
        let acknowledged = u32::try_from(acknowledged).unwrap();
        let there = newest_log(&image, "/b");
        if there < acknowledged {
            return Err(format!("log {acknowledged} was acknowledged, and {there} is the newest"));
        }
        let mut left = self.files.part(|path| !is_copy(path));
        for (path, inode) in image.names() {
            let adopted = left.adopt(&image, inode);
            left.link(path, adopted);
        }
        if self.plan.rots && draw.percent(40) {
            spoil(&mut left, &mut draw);
        }
        seen.cuts += 1;
        seen.behind += u32::from(there < newest_log(&left, "/a"));
        let Some(resumed) = self.resume(left, acknowledged, &mut draw)? else {
            seen.refused += 1;
            return Ok(());
        };
        seen.full += u32::from(resumed.last > 2);
        seen.chosen += u32::from(resumed.last < resumed.stored);
        seen.received += resumed.stored - there;
        seen.replayed += resumed.last - resumed.replayed.min(resumed.last);
        seen.scanned += resumed.scanned;
        seen.patched[1] += resumed.patched;
        Ok(())
    }

    /// Opens both again, ships the rest or some of it, activates the copy and judges it. `None`
    /// when a page is bad that nobody has replaced.
    fn resume(
        &self,
        left: Store,
        stored: u32,
        draw: &mut Stream,
    ) -> Result<Option<Resumed>, String> {
        let plan = self.plan;
        let link = LinkOptions::default();
        let (mut made, [active, copy]) = world(plan.seed ^ draw.bits(), left, link);
        let telling: Telling = Rc::new(RefCell::new(self.telling.borrow().clone()));
        let (truth, outside) = (Rc::clone(&telling), made.world.clone());
        let (meets, works_on, chosen) = (draw.percent(80), draw.percent(50), draw.percent(30));
        let mut draw = Streams::new(draw.bits()).named("resume");
        made.executor.block_on(async move {
            let words = |error: &dyn std::fmt::Display| error.to_string();
            let options = copy_options(instance("/b", plan.segment, plan.circular));
            let inside = copy.world().clone();
            let opened = PassiveCopy::open(&inside, options.clone()).await;
            let opened = opened.map_err(|error| words(&error))?;
            let mut task = None;
            let mut is_served = false;
            if meets {
                let world = active.world().clone();
                let options = instance("/a", plan.segment, plan.circular);
                let (instance, shipper) =
                    open_active(&world, options).await.map_err(|e| words(&e))?;
                shipper.seeded(0, stored + 1);
                let acceptor = accept(world.clone(), move || shipper.clone(), |_| {});
                drop(world.spawner.spawn(acceptor));
                let receiving = receive(inside.clone(), opened.clone());
                task = Some(inside.spawner.spawn(receiving));
                let follows = draw.percent(80);
                if follows {
                    let following = opened.clone();
                    drop(inside.spawner.spawn(async move {
                        unless_bad(plan, following.follow().await).unwrap();
                    }));
                }
                if works_on {
                    let worked = work(&world, &instance, &truth, 20, &mut draw).await;
                    worked.map_err(|error| words(&error))?;
                }
                // All of it, or what came in a moment.
                let patience = [1, 30, 5_000][usize::try_from(draw.below(3)).unwrap()];
                outside.sleep(Span::millis(patience)).await;
                let closed = instance.log().durable().generation - 1;
                let queues = opened.queues();
                if patience == 5_000 && (queues.copy() > 0 || queues.stored != closed) {
                    return Err(format!("{queues:?} after {patience} ms, and {closed} is closed"));
                }
                is_served = follows && patience == 5_000;
            }
            if task.as_ref().is_some_and(|task| task.is_done()) {
                let refused = task.take().expect("it is there").await;
                return Err(format!("the copy is refused: {refused:?}"));
            }
            if is_served && let Some(failure) = opened.failure() {
                return Err(format!("beside its active: {failure}"));
            }
            opened.stop();
            outside.sleep(Span::millis(200)).await;
            if let Some(bad) = alarm(&opened).filter(|_| !plan.rots || is_served) {
                return Err(format!("the scan of a copy: {bad}"));
            }
            let (queues, scanned) = (opened.queues(), judged(&opened));
            let (earliest, patched) = (opened.earliest(), patched(&opened));
            let more = queues.stored.saturating_sub(earliest);
            let last = earliest + u32::try_from(draw.below(1 + u64::from(more))).unwrap();
            let last = if chosen { last } else { queues.stored };
            let activated = opened.activate(chosen.then_some(last)).await;
            let activated = activated.inspect_err(|error| {
                assert!(is_bad_page(error), "activated at {last}: {error}");
            });
            let Some((instance, _)) = unless_bad(plan, activated)? else {
                return Ok(None);
            };
            let Some(state) = unless_bad(plan, read(&instance).await)? else {
                return Ok(None);
            };
            let claimed = match plan.mistake {
                Some(Mistake::DropLog) => last + 1,
                _ => last,
            };
            truth.borrow().judge(claimed, &state)?;
            // It is an active now.
            let own = Rc::new(RefCell::new(Truth { history: vec![state], logged: vec![(0, 0)] }));
            let worked = work(&inside, &instance, &own, 5, &mut draw).await;
            if unless_bad(plan, worked)?.is_none() {
                return Ok(None);
            }
            let state = read(&instance).await.map_err(|error| words(&error))?;
            if state != own.borrow().last() {
                return Err("the activated copy lost its own commits".to_owned());
            }
            instance.close().await.map_err(|error| words(&error))?;
            let report = verify(&inside, &options.instance.databases[0]).await;
            let report = report.map_err(|error| words(&error))?;
            match report.is_intact() {
                true => Ok(Some(Resumed {
                    last,
                    stored: queues.stored,
                    replayed: queues.replayed,
                    scanned,
                    patched,
                })),
                // It is found, and this is what `verify` is for.
                false if plan.rots && !is_served => Ok(None),
                false => Err(format!("its database is damaged: {report:?}")),
            }
        })
    }
}

/// Fills a page of the copy with what no write has left. One that was never used is left alone: the
/// active has none to give.
fn spoil(store: &mut Store, draw: &mut Stream) {
    let database = store.find(Path::new("/b/tiny.edb")).expect("it was made");
    let pages = store.length(database).expect("it is there").div_euclid(SIZE.bytes_u64()) - 2;
    let page = PageNumber(1 + u32::try_from(draw.below(pages)).unwrap());
    let mut bytes = vec![0; SIZE.bytes()];
    store.read(database, page.offset(SIZE), &mut bytes);
    if bytes.iter().any(|byte| *byte != 0) {
        store.write(database, page.offset(SIZE), &vec![0xFF; SIZE.bytes()]);
    }
}

/// A copy that was resumed and activated.
struct Resumed {
    last: u32,
    stored: u32,
    replayed: u32,
    scanned: u64,
    patched: u64,
}

/// Tells the story of each seed and cuts it; the first violation, with its seed.
fn search(plans: impl Iterator<Item = Plan>, cuts: u64) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for plan in plans {
        let told = catch_unwind(AssertUnwindSafe(|| {
            let story = Story::tell(plan);
            seen.scanned += story.scanned;
            seen.patched[0] += story.patched;
            for number in 0..cuts {
                story.cut(number, &mut seen).map_err(|what| format!("cut {number}: {what}"))?;
            }
            Ok(())
        }));
        let told = told.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            Err(said.unwrap_or_else(|| "a panic".to_owned()))
        });
        told.map_err(|what: String| format!("seed {}: {what}", plan.seed))?;
    }
    Ok(seen)
}

/// `BRUNT_COPIES=N` tells N times as many stories; `BRUNT_COPIES_SEED=N` that one alone.
#[test]
fn a_copy_equals_its_active_at_the_last_log_it_has() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("BRUNT_COPIES_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + 250 * number("BRUNT_COPIES").unwrap_or(1),
    };
    let is_all = seeds.clone().count() > 1;
    let seen = search(seeds.map(Plan::of), 2).unwrap_or_else(|what| panic!("{what}"));
    let most = seen.cuts.div_euclid(5);
    let enough = seen.behind > most
        && seen.full > most
        && seen.chosen > 5
        && seen.received > seen.cuts
        && seen.replayed > most
        && seen.scanned > 20 * u64::from(seen.cuts)
        && seen.patched.iter().all(|patched| *patched > 10)
        && seen.refused < most + 25;
    assert!(enough || !is_all, "{seen:?}");
}

#[test]
fn a_copy_that_does_not_sync_its_logs_is_found() {
    let broken = |seed| Plan { mistake: Some(Mistake::SkipLogSyncs), ..Plan::of(seed) };
    search((1..20).map(broken), 10).expect_err("an acknowledged log is missing or torn");
}

#[test]
fn a_log_that_was_dropped_is_found() {
    let broken = |seed| Plan { mistake: Some(Mistake::DropLog), ..Plan::of(seed) };
    let found = search((1..10).map(broken), 5).expect_err("its commits are missing");
    assert!(found.contains("says"), "{found}");
}
