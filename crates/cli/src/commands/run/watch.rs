//! Watching a test: bars or lines on the screen, the test log, and the kernel's counters around the
//! collection.

mod screen;
mod words;

use std::cell::RefCell;
use std::time::Instant;

use brunt_host::recorder::{Recorder, Seen};
use brunt_host::schedule::moved;
use brunt_host::surroundings::{DeviceCounts, Used, devices};
use brunt_host::test_log;
use brunt_qualify::kinds::Work;
use brunt_qualify::plan::Plan;
use brunt_qualify::result::timestamp;
use brunt_report::NewsLine;
use brunt_report::result::{PhaseName, Trial, Verdict};
use brunt_report::{Event, FolderError, counted, decimals, grouped};
use brunt_run::{Listener, News, Recorded, Standing, Thinned};
use brunt_units::{ByteSize, Span, Time};
use brunt_world_real::facts::disk_counters;

use crate::clock::{now, time_of_day};
use crate::output::Output;
use crate::progress::{Progress, UNKNOWN, rough};
use screen::Screen;
use words::{seconds, share, trial_row};

/// Hears what a test tells.
pub(crate) struct Watch {
    output: Output,
    plan: Plan,
    devices: Vec<String>,
    recorder: RefCell<Option<Recorder>>,
    thinned: RefCell<Thinned>,
    state: RefCell<State>,
    screen: RefCell<Screen>,
    /// When it began to watch, in virtual time: how fast that goes by is shown.
    virtual_since: Option<Instant>,
    /// Whether news are of this moment.
    is_live: bool,
}

#[derive(Default)]
struct State {
    phase: Option<(Phase, Progress)>,
    before: DeviceCounts,
    counted: DeviceCounts,
    /// When the collection began.
    began: Time,
    /// When a backup began, while it goes on.
    backing_up: Option<Time>,
    /// Whether the collection has begun.
    is_begun: bool,
    /// The phase without samples that runs, and when the machine was last looked at in it.
    watched: Option<(PhaseName, Time)>,
    /// Whether a limit was exceeded.
    over: bool,
    /// Whether trials of sessions have a heading on the screen.
    tried: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Create,
    Survey,
    WarmUp,
    Settle,
    Tune,
    Test,
    Restore,
    Recover,
    Close,
    Records,
    Files,
}

impl Phase {
    fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Survey | Self::WarmUp | Self::Settle => "warm up",
            Self::Tune => "tune",
            Self::Test => "test",
            Self::Restore => "restore",
            Self::Recover => "recover",
            Self::Close => "close",
            Self::Records | Self::Files => "verify",
        }
    }
}

impl Watch {
    /// Watches a test of `plan`, and the devices of `places`; `recorder` gets what is to be kept.
    pub(super) fn new(output: &Output, plan: &Plan, places: &[Used], recorder: Recorder) -> Self {
        Self {
            devices: devices(places),
            recorder: RefCell::new(Some(recorder)),
            is_live: true,
            ..Self::of_another(output, plan)
        }
    }

    /// Watches a test of `plan` that another process carries out, by its journal.
    pub(crate) fn of_another(output: &Output, plan: &Plan) -> Self {
        Self {
            output: output.clone(),
            plan: plan.clone(),
            devices: Vec::new(),
            recorder: RefCell::default(),
            thinned: RefCell::new(Thinned::to(plan.sample_interval())),
            state: RefCell::default(),
            screen: RefCell::new(Screen::new(plan, output.is_unicode())),
            virtual_since: None,
            is_live: false,
        }
    }

    /// Watches a test of `plan` in virtual time.
    pub(crate) fn in_virtual_time(output: &Output, plan: &Plan, recorder: Recorder) -> Self {
        Self { virtual_since: Some(Instant::now()), ..Self::new(output, plan, &[], recorder) }
    }

    /// What is in place on the screen goes.
    pub(crate) fn clear(&self) {
        if let Some((_, mut progress)) = self.state.borrow_mut().phase.take() {
            progress.vanish();
        }
    }

    pub(crate) fn machine(&self) -> Seen {
        let recorder = self.recorder.borrow();
        recorder.as_ref().map_or_else(Seen::default, Recorder::machine)
    }

    /// The test ended at `at`, with what it knows of itself and this verdict.
    pub(crate) fn judged(&self, at: Time, standing: Standing, verdict: Verdict) {
        if let Some(recorder) = &*self.recorder.borrow() {
            recorder.ended(at, standing, verdict);
        }
    }

    /// The test has ended: nothing stays in place on the screen, and everything is in the tables.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written to them.
    pub(crate) fn end(&self) -> Result<(), FolderError> {
        self.clear();
        let recorder = self.recorder.take();
        recorder.map_or(Ok(()), Recorder::finish)
    }

    /// What the kernel counted of each device during the collection.
    pub(crate) fn device_counts(&self) -> DeviceCounts {
        self.state.borrow().counted.clone()
    }

    fn counters(&self) -> DeviceCounts {
        let devices = self.devices.iter();
        let counted =
            devices.filter_map(|device| Some((device.clone(), disk_counters(device).ok()??)));
        counted.collect()
    }

    fn show(&self, phase: Phase, share: f64, detail: impl FnOnce() -> String) {
        self.with_progress(phase, |progress| progress.show(share, detail));
    }

    /// Shows a step that goes on at about the same pace.
    fn show_bytes(&self, phase: Phase, done: ByteSize, total: ByteSize, what: &str) {
        let rate = |seconds: f64| {
            let mebibytes = done.get() as f64 / f64::from(1 << 20);
            format!("{} MiB/s", decimals(mebibytes / seconds))
        };
        let detail = || format!("{what}{done} of {total}");
        self.with_progress(phase, |progress| {
            progress.show_paced(share(done, total), detail, rate);
        });
    }

    fn with_progress(&self, phase: Phase, show: impl FnOnce(&mut Progress)) {
        let mut state = self.state.borrow_mut();
        let showing = state.phase.as_ref().is_some_and(|(shown, _)| *shown == phase);
        if !showing {
            let progress = self.output.progress(phase.label()).then(self.then(phase));
            state.phase = Some((phase, progress));
        }
        let (_, progress) = state.phase.as_mut().expect("the phase was just set");
        show(progress);
    }

    /// What comes after `phase`, which begins, and when all of it ends.
    fn then(&self, phase: Phase) -> String {
        if !self.plan.kind.has_limits() {
            return String::new();
        }
        let test = format!("{} of test, verification", rough(self.plan.duration.as_seconds()));
        match phase {
            Phase::Create => format!("then warm-up, {test}"),
            Phase::Survey | Phase::WarmUp | Phase::Settle | Phase::Tune => format!("then {test}"),
            Phase::Test if self.virtual_since.is_none() && self.is_live => {
                let sizes = self.plan.databases().map(|database| database.size.get());
                let verification = moved(ByteSize::bytes(sizes.sum()));
                let end = time_of_day(now(), self.plan.to_collect() + verification);
                format!("then verification, ends about {end}")
            }
            Phase::Test => "then verification".to_owned(),
            Phase::Restore | Phase::Recover | Phase::Close | Phase::Records | Phase::Files => {
                String::new()
            }
        }
    }

    fn finish(&self, phase: Phase, detail: &str) {
        let (_, progress) = self.phase(phase);
        progress.finish(detail);
    }

    /// Ends what is shown, which is `phase` if it was shown at all.
    fn phase(&self, phase: Phase) -> (Phase, Progress) {
        match self.state.borrow_mut().phase.take() {
            Some(shown) if shown.0 == phase => shown,
            _ => (phase, self.output.progress(phase.label())),
        }
    }

    fn log(&self, time: Time, text: String) {
        let at = timestamp(&self.plan, time);
        if let Some(recorder) = &*self.recorder.borrow() {
            recorder.event(time, Event { at, text });
        }
    }

    /// What stands in the stream of news and in the test log for `news`.
    fn log_news(&self, at: Time, news: &News) {
        if let (true, Some(recorder)) =
            (self.thinned.borrow_mut().keeps(at, news), &*self.recorder.borrow())
        {
            let line = NewsLine { at: timestamp(&self.plan, at), news: news.clone() };
            recorder.news(at, line);
        }
        if matches!(news, News::Dispatching) {
            self.log_all(at, test_log::dispatch(&self.plan));
        }
        let over = matches!(news, News::Testing(live) if live.over);
        if over && !std::mem::replace(&mut self.state.borrow_mut().over, true) {
            self.log_all(at, vec!["A limit is exceeded".to_owned()]);
        }
        self.log_all(at, test_log::news(news));
    }

    /// Lines of the test log.
    pub(crate) fn log_all(&self, at: Time, lines: Vec<String>) {
        for line in lines {
            self.log(at, line);
        }
    }
}

impl Listener for Watch {
    fn tell(&self, at: Time, news: &News) {
        self.log_news(at, news);
        self.watch_phase(at, news);
        match news {
            News::Note { text: note } => self.output.talk(&format!("{:13} {note}", "note")),
            News::Dispatching => {}
            News::Databases { open, create } => {
                let line = test_log::databases(open, create);
                self.output.talk(&format!("{:13} {line}\n", "databases"));
            }
            News::Creating { done, total } => {
                self.show_bytes(Phase::Create, *done, *total, "");
            }
            News::Created { total, took } => {
                let rate = total.get() as f64 / took.as_seconds().max(1e-9);
                let rate = decimals(rate / f64::from(1 << 20));
                let took = self.lasted(*took);
                self.finish(Phase::Create, &format!("{total}   {rate} MiB/s   done in {took}"));
            }
            News::Surveying { records } => {
                let detail = || {
                    let records = grouped(*records);
                    format!("looking through the databases: {records} records")
                };
                let rate = |seconds: f64| format!("{} /s", decimals(*records as f64 / seconds));
                self.with_progress(Phase::Survey, |progress| {
                    progress.show_paced(UNKNOWN, detail, rate);
                });
            }
            News::WarmingUp { filled, wanted } => {
                self.show_bytes(Phase::WarmUp, *filled, *wanted, "cache ");
            }
            News::Waiting { left } => self.show(Phase::WarmUp, UNKNOWN, || {
                format!("databases are ready; sessions begin in {}", seconds(*left))
            }),
            News::Settling { share, what, at_most } => {
                self.with_progress(Phase::Settle, |progress| match at_most {
                    Some(left) => {
                        progress.show(*share, || {
                            format!("{what}   at most {} left", rough(left.as_seconds()))
                        });
                    }
                    None => progress.show_paced(*share, || what.clone(), |_| String::new()),
                })
            }
            News::WarmedUp { filled, cache, took } => {
                let took = self.lasted(*took);
                self.finish(Phase::WarmUp, &format!("cache {filled} of {cache}   done in {took}"));
            }
            News::Tuning { trial, sessions } => self.tuning(*trial, *sessions),
            News::Tried(trial) => self.tried(trial),
            News::Tuned { .. } => {}
            News::CollectionStarted => {
                if let Some(recorder) = &*self.recorder.borrow() {
                    recorder.collection_begins();
                }
                let counters = self.counters();
                let mut state = self.state.borrow_mut();
                (state.before, state.began) = (counters, at);
            }
            News::Testing(live) => {
                let share = live.elapsed.as_seconds() / live.duration.as_seconds();
                let speed = screen::speed(self.virtual_since, at);
                self.screen.borrow_mut().note(live);
                self.with_progress(Phase::Test, |progress| {
                    progress.show_frame(
                        share,
                        || screen::testing(live, &speed),
                        |room| self.screen.borrow().rows(room),
                    );
                });
            }
            News::BackingUp { done, total } => {
                self.backup_goes_on(at);
                self.show_bytes(Phase::Test, *done, *total, "");
            }
            News::BackedUp { total, took } => {
                self.count_devices();
                self.backup_ended(at);
                let rate = total.get() as f64 / took.as_seconds().max(1e-9);
                let rate = decimals(rate / f64::from(1 << 20));
                let took = self.lasted(*took);
                self.finish(Phase::Test, &format!("{total}   {rate} MiB/s   done in {took}"));
            }
            News::Restoring { done, total } => {
                self.show_bytes(Phase::Restore, *done, *total, "");
            }
            News::GeneratingLogs { done, wanted } => {
                let share = f64::from(*done) / f64::from((*wanted).max(1));
                let (done, wanted) = (grouped((*done).into()), grouped((*wanted).into()));
                let detail = || format!("{done} of {wanted} log files of each instance");
                self.with_progress(Phase::Test, |progress| {
                    progress.show_paced(share, detail, |_| String::new());
                });
            }
            News::Recovering { done, logs } => {
                let share = f64::from(*done) / f64::from((*logs).max(1));
                let detail = || {
                    format!("{} of {} log files", grouped((*done).into()), grouped((*logs).into()))
                };
                let rate = |seconds: f64| format!("{} /s", decimals(f64::from(*done) / seconds));
                self.with_progress(Phase::Recover, |progress| {
                    progress.show_paced(share, detail, rate)
                });
            }
            News::CollectionEnded => self.collected(at),
            News::Closing { done, total } => {
                self.show_bytes(Phase::Close, *done, *total, "clean shutdown, ");
            }
            News::VerifyingRecords { done, total } => {
                let part = *done as f64 / (*total).max(1) as f64;
                let detail = || format!("{} of {} records", grouped(*done), grouped(*total));
                let rate = |seconds: f64| format!("{} /s", decimals(*done as f64 / seconds));
                self.with_progress(Phase::Records, |progress| {
                    progress.show_paced(part, detail, rate);
                });
            }
            News::VerifyingFiles { done, total } => {
                self.show_bytes(Phase::Files, *done, *total, "files ");
            }
            News::Verified { took, judged } => {
                let took = self.lasted(*took);
                self.finish(Phase::Files, &verified(took, *judged));
            }
            // Of other work than a test.
            _ => {}
        }
    }

    fn recorded(&self, recorded: &Recorded) {
        self.keep(recorded);
    }
}

impl Watch {
    /// The present trial, below the table of those that have ended. How many there will be is not
    /// known.
    fn tuning(&self, trial: usize, sessions: u32) {
        self.show(Phase::Tune, UNKNOWN, || {
            format!("trial {trial}, {}", counted(sessions.into(), "session"))
        });
    }

    /// A row of the table of trials.
    fn tried(&self, trial: &Trial) {
        self.clear();
        if !std::mem::replace(&mut self.state.borrow_mut().tried, true) {
            let head = ["sessions", "I/O /s", "read ms", "log ms"].map(str::to_owned);
            self.output.talk(&trial_row(Phase::Tune.label(), &head, ""));
        }
        let cells = [
            grouped(trial.sessions.into()),
            decimals(trial.io_per_s),
            decimals(trial.db_read_ms),
            decimals(trial.log_write_ms),
        ];
        self.output.talk(&trial_row("", &cells, &trial.outcome));
    }

    fn keep(&self, recorded: &Recorded) {
        if let Some(recorder) = &*self.recorder.borrow() {
            recorder.sample(recorded);
        }
    }

    /// Tells the recorder which phase without samples runs, from time to time.
    fn watch_phase(&self, at: Time, news: &News) {
        let mut state = self.state.borrow_mut();
        state.is_begun |= matches!(news, News::CollectionStarted);
        let phase = match news {
            News::Note { .. } => return,
            // Before, databases that were left open are recovered.
            News::Recovering { .. } if state.is_begun => Some(PhaseName::Replay),
            News::Restoring { .. } => Some(PhaseName::Restore),
            News::VerifyingFiles { .. } => Some(PhaseName::Checksum),
            _ => None,
        };
        let every = self.plan.sample_interval();
        let is_new = phase != state.watched.map(|(phase, _)| phase);
        if is_new || state.watched.is_some_and(|(_, since)| at >= since + every) {
            state.watched = phase.map(|phase| (phase, at));
            if let Some(recorder) = &*self.recorder.borrow() {
                recorder.phase(phase, at);
            }
        }
    }

    /// A backup collects no samples; its whole time is one for the machine.
    fn backup_goes_on(&self, at: Time) {
        let first = self.state.borrow().backing_up.is_none();
        if first {
            self.state.borrow_mut().backing_up = Some(at);
            if let Some(recorder) = &*self.recorder.borrow() {
                recorder.collection_begins();
            }
        }
    }

    fn backup_ended(&self, at: Time) {
        let begin = self.state.borrow_mut().backing_up.take();
        if let Some(begin) = begin.filter(|begin| at > *begin) {
            self.keep(&Recorded::of_machine(begin, at - begin));
        }
    }

    /// Takes the kernel's counters over the collection, and says when it began.
    fn count_devices(&self) -> Time {
        let after = self.counters();
        let mut state = self.state.borrow_mut();
        let before = std::mem::take(&mut state.before);
        let counted = after.into_iter().filter_map(|(device, after)| {
            let before = *before.get(&device)?;
            Some((device, after.since(before)))
        });
        state.counted = counted.collect();
        state.began
    }

    /// How long a phase took, and on which clock.
    fn lasted(&self, took: Span) -> String {
        match self.virtual_since {
            Some(_) => format!("{} of virtual time", seconds(took)),
            None => seconds(took),
        }
    }

    fn collected(&self, at: Time) {
        let began = self.count_devices();
        let (lasted, wanted) = (at - began, self.plan.to_collect());
        if self.plan.kind.work() == Work::Replay {
            // It ends when there are logs enough, and the time is only the most that it may take.
            self.finish(Phase::Test, &format!("logs written in {}", self.lasted(lasted)));
        } else {
            let (took, of) = (self.lasted(lasted), seconds(wanted));
            let how = match lasted >= wanted {
                true => format!("done in {took}"),
                false => format!("ended after {took} of {of}"),
            };
            let share = lasted.as_seconds() / wanted.as_seconds();
            let (_, progress) = self.phase(Phase::Test);
            progress.finish_frame(share, &how, |room| self.screen.borrow().rows(room));
        }
    }
}

/// How verification ended.
fn verified(took: String, judged: bool) -> String {
    match judged {
        true => format!("done in {took}"),
        false => format!("read in {took}; nothing to judge, a prediction has no content"),
    }
}
