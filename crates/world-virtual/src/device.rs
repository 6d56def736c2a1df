//! Timing: content-free device models below the front.
//!
//! A [`Device`] receives requests without content and decides when each completes. It may know at
//! once ([`Agenda::finish_at`]), or ask to be called again ([`Agenda::call_at`]) and decide then.
//! Nothing here is a future: a device is a state machine.

use brunt_units::{Span, Time};
use brunt_world::random::Stream;
use brunt_world::{Class, IoError, Op};

use crate::Inode;
use crate::events::{Event, Events};

/// Identifies a request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub(crate) u32);

impl RequestId {
    /// The request's slot: a small number, reused once the request has finished.
    pub fn slot(self) -> usize {
        self.0 as usize
    }
}

/// An I/O without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// The volume, by its number in [`crate::VirtualOptions::volumes`].
    pub volume: u32,
    pub file: Inode,
    /// The first byte in the file, a multiple of 512.
    pub offset: u64,
    /// Number of bytes, a multiple of 512; zero for a sync.
    pub length: u64,
    /// The purpose.
    pub class: Class,
    /// The submitter's mark.
    pub tag: u64,
}

/// The interface through which a device schedules its events.
pub struct Agenda<'a> {
    events: &'a Events,
    device: u32,
}

impl<'a> Agenda<'a> {
    pub(crate) fn new(events: &'a Events, device: u32) -> Self {
        Self { events, device }
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Calls [`Device::on_event`] at `time`, which must not have passed, instead of at the time of
    /// an earlier request; never when `None`.
    pub fn call_at(&mut self, time: Option<Time>) {
        self.events.call(self.device, time);
    }

    /// Finishes the request at `time`, which must not have passed, with `result`.
    ///
    /// A request finishes once.
    pub fn finish_at(&mut self, time: Time, request: RequestId, result: Result<(), IoError>) {
        self.events.set(time, Event::Finish(request, result));
    }
}

/// A model that takes requests and finishes them later.
pub trait Device {
    /// Takes a request.
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>);

    /// Handles what is due now, at a time that it asked for.
    fn on_event(&mut self, agenda: &mut Agenda<'_>);

    /// `file` was resized to `bytes` by name, not by a write. For devices that place files; others
    /// do nothing.
    fn resized(&mut self, _volume: u32, _file: Inode, _bytes: u64) {}

    /// `file` can no longer be reached. For devices that place files; others do nothing.
    fn removed(&mut self, _volume: u32, _file: Inode) {}
}

/// A device that knows a request's latency at submission, and serves any number at once.
pub struct Delay<F>(pub F);

impl<F: FnMut(Time, &Request) -> Span> Device for Delay<F> {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        let span = (self.0)(agenda.now(), request);
        agenda.finish_at(agenda.now() + span, request.id, Ok(()));
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {
        unreachable!("a delay asks for no events");
    }
}

/// A device that serves any number of requests at once, each in `latency + length /
/// bytes_per_second`, times a factor drawn uniformly from 1 to `1 + jitter_percent / 100`.
///
/// With jitter, completions are out of order. Not a realistic model; a disk for tests.
#[derive(Clone, Debug)]
pub struct MemoryDevice {
    /// Latency of an empty request.
    pub latency: Span,
    /// Transfer rate; zero for an infinite one.
    pub bytes_per_second: u64,
    /// Maximum additional latency, in percent.
    pub jitter_percent: u32,
    /// Source of the jitter.
    pub stream: Stream,
}

impl MemoryDevice {
    /// 100 µs and 1 GB/s; `jitter_percent` from `stream`.
    pub fn new(stream: Stream, jitter_percent: u32) -> Self {
        Self { latency: Span::micros(100), bytes_per_second: 1_000_000_000, jitter_percent, stream }
    }

    /// Service time of a request of `length` bytes, rounded down to nanoseconds.
    fn service(&mut self, length: u64) -> Span {
        let transfer = (u128::from(length) * 1_000_000_000)
            .checked_div(u128::from(self.bytes_per_second))
            .unwrap_or(0);
        let transfer = u64::try_from(transfer).unwrap_or(u64::MAX);
        let whole = self.latency + Span::nanos(transfer);
        let hundredth = whole.0.div_euclid(100);
        let most = hundredth.saturating_mul(u64::from(self.jitter_percent));
        whole + Span::nanos(self.stream.below(most.saturating_add(1)))
    }
}

impl Device for MemoryDevice {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        let end = agenda.now() + self.service(request.length);
        agenda.finish_at(end, request.id, Ok(()));
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {
        unreachable!("a memory device asks for no events");
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn service_time_is_latency_plus_transfer_plus_jitter() {
        let mut device = MemoryDevice::new(Streams::new(1).named("device"), 0);
        assert_eq!(device.service(0), Span::micros(100));
        assert_eq!(device.service(32_768), Span::nanos(132_768));
        device.bytes_per_second = 0;
        assert_eq!(device.service(1 << 40), Span::micros(100));
        device.jitter_percent = 50;
        let spans: Vec<_> = (0..1000).map(|_| device.service(0)).collect();
        assert!(spans.iter().all(|span| *span >= Span::micros(100)));
        assert!(spans.iter().all(|span| *span <= Span::micros(150)));
        assert!(spans.iter().any(|span| *span > Span::micros(140)));
    }
}
