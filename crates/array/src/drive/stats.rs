//! Measurements of a drive.

use brunt_units::{Span, Time};

use super::Service;
use crate::Extent;

/// Counters and times of one drive since measurement began. The fields are sums; the means are
/// methods.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriveStats {
    /// When measurement began.
    pub since: Time,
    /// The time up to which the time-weighted sums are current.
    pub until: Time,
    /// Reads begun.
    pub reads: u64,
    /// Writes begun.
    pub writes: u64,
    /// Sectors read and written.
    pub sectors: u64,
    /// Requests ended.
    pub ended: u64,
    /// Time spent serving, up to `until`.
    pub busy: Span,
    /// Total time in the drive, of ended requests.
    pub response: Span,
    /// Seek time.
    pub seek: Span,
    /// Rotation time.
    pub rotation: Span,
    /// Transfer time.
    pub transfer: Span,
    /// Requests in the drive, integrated over nanoseconds.
    pub queue_ns: u128,
    serving_until: Time,
}

impl DriveStats {
    /// Starts measurement at `now`.
    pub(crate) fn from(now: Time, _outstanding: usize) -> Self {
        Self { since: now, until: now, serving_until: now, ..Self::default() }
    }

    /// Accounts for the time up to `now`, during which `outstanding` requests were in the drive.
    pub(super) fn settle(&mut self, now: Time, outstanding: usize) {
        let span = now - self.until;
        self.queue_ns += u128::from(span.0) * outstanding as u128;
        self.busy += now.min(self.serving_until) - self.until.min(self.serving_until);
        self.until = now;
    }

    pub(super) fn served(&mut self, write: bool, extent: Extent, service: &Service) {
        if write {
            self.writes += 1;
        } else {
            self.reads += 1;
        }
        self.sectors += extent.length;
        self.seek += service.seek;
        self.rotation += service.rotation;
        self.transfer += service.transfer;
    }

    /// Marks the drive as busy from now until `finish`.
    pub(super) fn busy_until(&mut self, finish: Time) {
        self.serving_until = finish;
    }

    /// Adds work averaged over all components of the drive; counted at once.
    pub(super) fn worked(&mut self, span: Span) {
        self.busy += span;
    }

    pub(super) fn responded(&mut self, response: Span) {
        self.ended += 1;
        self.response += response;
    }

    /// These measurements and then those of `next`, a drive of another world.
    pub fn followed_by(&self, next: &Self) -> Self {
        let until = self.until + next.elapsed();
        Self {
            since: self.since,
            until,
            reads: self.reads + next.reads,
            writes: self.writes + next.writes,
            sectors: self.sectors + next.sectors,
            ended: self.ended + next.ended,
            busy: self.busy + next.busy,
            response: self.response + next.response,
            seek: self.seek + next.seek,
            rotation: self.rotation + next.rotation,
            transfer: self.transfer + next.transfer,
            queue_ns: self.queue_ns + next.queue_ns,
            serving_until: until,
        }
    }

    /// Measured time.
    pub fn elapsed(&self) -> Span {
        self.until - self.since
    }

    /// Share of the time spent serving, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        ratio(self.busy.0 as f64, self.elapsed().0 as f64)
    }

    /// Requests ended per second.
    pub fn rate(&self) -> f64 {
        ratio(self.ended as f64, self.elapsed().as_seconds())
    }

    /// Mean number of requests in the drive.
    pub fn queue(&self) -> f64 {
        ratio(self.queue_ns as f64, self.elapsed().0 as f64)
    }

    /// Mean time of a request in the drive, in milliseconds.
    pub fn response_ms(&self) -> f64 {
        ratio(self.response.as_millis(), self.ended as f64)
    }

    /// Mean service time of a request, in milliseconds.
    pub fn service_ms(&self) -> f64 {
        ratio(self.busy.as_millis(), self.ended as f64)
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
