//! The log stream: appending, group commit, flushing, rolling.
//!
//! Appending is synchronous and never waits; it puts bytes into the [`LogBuffer`] and returns a
//! position. One task, the *flusher*, writes chunks to the file, one at a time, so the durable log
//! is always a prefix plus at most one torn write. Waiting for durability means waiting until the
//! durable position has passed. Commits that arrive during a flush share the next one.
//!
//! [`flush_reason`] decides when a flush begins.
//!
//! The first file of a stream may come late: [`Log::start`] touches nothing, and the first flush or
//! [`Log::begin`] rolls. So recovery can read the existing log, and refuse it, before a file is
//! renamed. [`Log::after_roll`] registers work to do after each roll, before anything is written to
//! the new file.
//!
//! Invariants: [`Log::durable`] never runs ahead of what [`Durability`] has made durable;
//! generation n+1 is written only when the rename that gave it its name is durable; a failed write
//! or sync stops the stream for good (ESE: -510), because its effect on the disk is unknown.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use brunt_units::{LogPosition, Span, Time};
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Class, Io, IoError, Op, Segment, World};
use smallvec::smallvec;

use super::LogShape;
use super::buffer::{Appended, Chunk, LogBuffer};
use super::files::{LogFiles, Rolled};
use crate::content::Content;
use crate::error::EngineError;
use crate::log::{Flushed, WriteAhead};
use crate::meter::MeterBoard;
use crate::policy::log_buffer::{FlushReason, LogState, Wanted, flush_reason, is_half_full};

/// How a flush becomes durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// One write that is durable on completion. The device does not report how much of the latency
    /// the durability costs.
    #[default]
    WriteThrough,
    /// A write, then a sync of the file: two requests for each flush, whose latencies are known
    /// separately.
    WriteThenSync,
}

/// Options of a log stream.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Sizes of files and segments.
    pub shape: LogShape,
    /// Bytes that may wait in the buffer before operations have to wait.
    pub buffer_bytes: usize,
    /// How long a lazy commit may wait to share a flush.
    pub lazy_wait: Span,
    /// How a flush becomes durable.
    pub durability: Durability,
}

/// Work to do after each roll.
type AfterRoll = Rc<dyn Fn(u32) -> Pin<Box<dyn Future<Output = Result<(), EngineError>>>>>;

struct State<C: Content> {
    buffer: LogBuffer<C>,
    /// The current file and its generation.
    current: Option<Rolled>,
    /// Whether the first file is needed before there is anything to flush.
    begin: bool,
    durable: LogPosition,
    wanted: Wanted,
    /// When the oldest lazy commit in the buffer is due.
    lazy_due: Option<Time>,
    in_flight: usize,
    closing: bool,
}

struct Inner<C: Content> {
    world: World,
    number: u8,
    options: LogOptions,
    files: LogFiles<C>,
    meter: Rc<MeterBoard>,
    state: RefCell<State<C>>,
    failure: RefCell<Option<EngineError>>,
    after_roll: RefCell<Option<AfterRoll>>,
    /// The flusher has something to check.
    work: Event,
    /// The durable position moved, the buffer has room, or the stream failed.
    progress: Event,
}

/// Work for the flusher.
enum Work<C: Content> {
    /// Make this generation's file current.
    Begin(u32),
    Flush(Chunk<C>),
}

/// A log stream. Cloning gives another handle.
pub struct Log<C: Content>(Rc<Inner<C>>);

impl<C: Content> Clone for Log<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Content> Log<C> {
    /// Starts `generation` of a stream that ended at `previous_end`, and its flusher. Touches no
    /// file yet.
    pub fn start(
        world: &World,
        number: u8,
        options: LogOptions,
        files: LogFiles<C>,
        meter: Rc<MeterBoard>,
        generation: u32,
        previous_end: LogPosition,
    ) -> Self {
        let tasks = world.spawner.tasks();
        let state = State {
            buffer: LogBuffer::new(options.shape, generation, previous_end),
            current: None,
            begin: false,
            durable: previous_end,
            wanted: Wanted::default(),
            lazy_due: None,
            in_flight: 0,
            closing: false,
        };
        let log = Self(Rc::new(Inner {
            world: world.clone(),
            number,
            options,
            files,
            meter,
            state: RefCell::new(state),
            failure: RefCell::new(None),
            after_roll: RefCell::new(None),
            work: Event::new(tasks),
            progress: Event::new(tasks),
        }));
        // The task ends when the stream is closed or fails; there is nothing to wait for.
        drop(world.spawner.spawn(log.clone().run_flusher()));
        log
    }

    /// Registers `work` to do for each generation that becomes current, before anything is written
    /// to its file.
    pub fn after_roll(
        &self,
        work: impl Fn(u32) -> Pin<Box<dyn Future<Output = Result<(), EngineError>>>> + 'static,
    ) {
        *self.0.after_roll.borrow_mut() = Some(Rc::new(work));
    }

    /// Waits for a current file and returns its generation.
    ///
    /// # Errors
    /// [`EngineError`] when the stream has failed.
    pub async fn begin(&self) -> Result<u32, EngineError> {
        self.0.state.borrow_mut().begin = true;
        self.0.work.notify();
        self.0
            .progress
            .wait(|| {
                let current = self.0.state.borrow().current;
                let begun = current.map(|current| Ok(current.generation));
                begun.or_else(|| self.failure().map(Err))
            })
            .await
    }

    /// Appends an encoded record and returns its position. The record is in memory only.
    pub fn append(&self, record: C::Record<'_>) -> Appended {
        let mut state = self.0.state.borrow_mut();
        let appended = state.buffer.append(record);
        let half_full = is_half_full(state.buffer.bytes(), self.0.options.buffer_bytes);
        if half_full || state.buffer.has_full_file() {
            self.0.work.notify();
        }
        appended
    }

    /// Waits until the buffer has room. Call it before appending.
    ///
    /// # Errors
    /// [`EngineError`] when the stream has failed.
    pub async fn room(&self) -> Result<(), EngineError> {
        self.0
            .progress
            .wait(|| {
                if let Some(error) = self.failure() {
                    return Some(Err(error));
                }
                let state = self.0.state.borrow();
                let waiting = state.buffer.bytes() + state.in_flight;
                (waiting < self.0.options.buffer_bytes).then_some(Ok(()))
            })
            .await
    }

    /// Waits until everything before `end` is durable: for a commit, a page, or to drain the
    /// stream.
    ///
    /// # Errors
    /// [`EngineError`] when the stream has failed. It is then unknown whether the record survived.
    pub async fn flushed(&self, end: LogPosition, reason: FlushReason) -> Result<(), EngineError> {
        self.want(end, reason);
        self.0
            .progress
            .wait(|| {
                if self.0.state.borrow().durable >= end {
                    return Some(Ok(()));
                }
                self.failure().map(Err)
            })
            .await
    }

    /// Closes the file of `position` when it is the newest: the next record goes to the next file.
    /// Everything so far is durable then, and log shipping can send the file.
    pub async fn close_file(&self, position: LogPosition) -> Result<(), EngineError> {
        let tail = {
            let mut state = self.0.state.borrow_mut();
            if !state.closing && state.buffer.tail().generation == position.generation {
                state.buffer.next_file();
            }
            state.buffer.tail()
        };
        self.flushed(tail, FlushReason::Drain).await
    }

    /// Requests that everything before `end` becomes durable, without waiting.
    pub fn want(&self, end: LogPosition, reason: FlushReason) {
        let mut state = self.0.state.borrow_mut();
        if state.durable < end {
            state.wanted.raise(end, reason);
            self.0.work.notify();
        }
    }

    /// Requests that the records so far become durable within the lazy wait.
    pub fn lazy(&self) {
        let mut state = self.0.state.borrow_mut();
        if state.lazy_due.is_none() {
            state.lazy_due = Some(self.0.world.clock.now() + self.0.options.lazy_wait);
            self.0.work.notify();
        }
    }

    /// Everything before this position is durable.
    pub fn durable(&self) -> LogPosition {
        self.0.state.borrow().durable
    }

    /// Where the next record starts, if it fits its file.
    pub fn tail(&self) -> LogPosition {
        self.0.state.borrow().buffer.tail()
    }

    /// The sizes of the stream.
    pub fn shape(&self) -> LogShape {
        self.0.options.shape
    }

    /// The files of the stream.
    pub fn files(&self) -> &LogFiles<C> {
        &self.0.files
    }

    /// The error that stopped the stream, if any.
    pub fn failure(&self) -> Option<EngineError> {
        self.0.failure.borrow().clone()
    }

    /// Flushes everything, waits for it, and ends the flusher.
    ///
    /// # Errors
    /// [`EngineError`] when the stream has failed.
    pub async fn close(&self) -> Result<(), EngineError> {
        let tail = {
            let mut state = self.0.state.borrow_mut();
            state.closing = true;
            state.buffer.tail()
        };
        let last = self.flushed(tail, FlushReason::Drain).await;
        self.0.work.notify();
        last
    }

    async fn run_flusher(self) {
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        while let Some(work) = self.next_work(&alarm).await {
            let done = match work {
                Work::Begin(generation) => self.roll(generation).await,
                Work::Flush(chunk) => self.flush(chunk).await,
            };
            if let Err(error) = done {
                *self.0.failure.borrow_mut() = Some(error);
                self.0.progress.notify();
                return;
            }
        }
    }

    /// Waits for a reason to flush; `None` when the stream is closed and empty.
    async fn next_work(&self, alarm: &Alarm) -> Option<Work<C>> {
        self.0
            .work
            .wait(|| {
                let mut state = self.0.state.borrow_mut();
                if state.buffer.is_empty() {
                    state.lazy_due = None;
                    return state.closing.then_some(None);
                }
                if state.begin && state.current.is_none() {
                    return Some(state.buffer.oldest().map(Work::Begin));
                }
                let now = self.0.world.clock.now();
                if let Some(due) = state.lazy_due.filter(|due| *due > now) {
                    alarm.set(now, due);
                }
                let reason = flush_reason(now, &self.look(&state))?;
                self.0.meter.flush(self.0.number, reason);
                let chunk = state.buffer.take();
                if state.buffer.is_empty() {
                    state.lazy_due = None;
                }
                let segments =
                    chunk.as_ref().map_or(0, |chunk| chunk.segments(self.0.options.shape));
                state.in_flight = segments * self.0.options.shape.segment_bytes();
                Some(chunk.map(Work::Flush))
            })
            .await
    }

    fn look(&self, state: &State<C>) -> LogState {
        LogState {
            capacity: self.0.options.buffer_bytes,
            ready: state.buffer.bytes(),
            file_full: state.buffer.has_full_file(),
            durable: state.durable,
            wanted: state.wanted,
            lazy_due: state.lazy_due,
        }
    }

    /// Makes the file of `generation` the current one.
    async fn roll(&self, generation: u32) -> Result<(), EngineError> {
        let is_first = self.0.state.borrow().current.is_none();
        let rolled = self.0.files.roll(generation).await?;
        if is_first {
            self.0.files.replenish().await?;
        }
        let work = self.0.after_roll.borrow().clone();
        if let Some(work) = work {
            work(generation).await?;
        }
        self.0.state.borrow_mut().current = Some(rolled);
        self.0.progress.notify();
        Ok(())
    }

    async fn flush(&self, chunk: Chunk<C>) -> Result<(), EngineError> {
        let shape = self.0.options.shape;
        let generation = chunk.start.generation;
        let current = self.0.state.borrow().current;
        if current.is_none_or(|current| current.generation != generation) {
            self.roll(generation).await?;
        }
        let (start, end) = (chunk.start, chunk.end);
        let written = self.0.files.stamp();
        let segment = C::seal_log(&self.0.world.frames, chunk, shape, written);
        let offset = shape.segment_offset(start) as u64;
        let until = shape.next_border(end);
        let written = self.write(offset, segment, until).await;
        written.map_err(|error| EngineError::LogFailed {
            path: self.0.files.current_path(),
            offset,
            error,
        })?;
        self.0.files.used(shape.segment_offset(until));
        let mut state = self.0.state.borrow_mut();
        state.durable = until;
        state.in_flight = 0;
        self.0.progress.notify();
        Ok(())
    }

    /// Makes `segment` durable at `offset` of the current file: the log up to `until`, which is the
    /// request's mark.
    async fn write(
        &self,
        offset: u64,
        segment: Segment,
        until: LogPosition,
    ) -> Result<(), IoError> {
        let disk = &self.0.world.disk;
        let file = self.0.state.borrow().current.expect("it was rolled").file;
        let (bytes, number) = (segment.length(), self.0.number);
        let op = match self.0.options.durability {
            Durability::WriteThrough => Op::WriteThrough,
            Durability::WriteThenSync => Op::Write,
        };
        let io = Io {
            tag: until.to_mark(),
            ..Io::new(Class::Log, op, file, offset, smallvec![segment])
        };
        let written = disk.submit(io).await;
        let (mut result, mut done_at) = (written.result, written.done_at);
        if result.is_ok() && op == Op::Write {
            let synced = disk.submit(Io::sync(Class::Log, file)).await;
            let latency = synced.latency();
            self.0.meter.log(number, |log| &mut log.syncs, 0, latency);
            (result, done_at) = (synced.result, synced.done_at);
        }
        let latency = done_at - written.submitted_at;
        self.0.meter.log(number, |log| &mut log.writes, bytes, latency);
        result
    }
}

impl<C: Content> WriteAhead for Log<C> {
    fn durable(&self) -> LogPosition {
        Self::durable(self)
    }

    fn flushed(&self, end: LogPosition) -> Flushed {
        let log = self.clone();
        Box::pin(async move { Self::flushed(&log, end, FlushReason::Page).await })
    }
}
