//! What is measured on a drive.

use brunt_units::{Span, Time};

use super::Service;
use crate::Extent;

/// Counts and times of one drive since measuring began. Sums; the means are methods.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriveStats {
    /// When measuring began.
    pub since: Time,
    /// Up to when the time-weighted sums have been brought.
    pub until: Time,
    /// Reads begun.
    pub reads: u64,
    /// Writes begun.
    pub writes: u64,
    /// Sectors read and written.
    pub sectors: u64,
    /// Requests ended.
    pub ended: u64,
    /// Time spent serving, as far as it lies before `until`.
    pub busy: Span,
    /// Time requests spent in the drive, those that ended.
    pub response: Span,
    /// Seek time.
    pub seek: Span,
    /// Rotation time.
    pub rotation: Span,
    /// Transfer time.
    pub transfer: Span,
    /// Requests in the drive, summed over nanoseconds.
    pub queue_ns: u128,
    serving_until: Time,
}

impl DriveStats {
    /// Measuring begins at `now`.
    pub(crate) fn from(now: Time, _outstanding: usize) -> Self {
        Self {
            since: now,
            until: now,
            serving_until: now,
            ..Self::default()
        }
    }

    /// Counts the time up to `now`, in which `outstanding` requests were there.
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

    /// It is busy from now until `finish`.
    pub(super) fn busy_until(&mut self, finish: Time) {
        self.serving_until = finish;
    }

    /// It has been given so much to do, spread over all that works in it; counted at once.
    pub(super) fn worked(&mut self, span: Span) {
        self.busy += span;
    }

    pub(super) fn responded(&mut self, response: Span) {
        self.ended += 1;
        self.response += response;
    }

    /// Time measured.
    pub fn elapsed(&self) -> Span {
        self.until - self.since
    }

    /// Share of the time that it was serving, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        ratio(self.busy.0 as f64, self.elapsed().0 as f64)
    }

    /// Requests ended per second.
    pub fn rate(&self) -> f64 {
        ratio(self.ended as f64, self.elapsed().as_seconds())
    }

    /// Requests in the drive, on average.
    pub fn queue(&self) -> f64 {
        ratio(self.queue_ns as f64, self.elapsed().0 as f64)
    }

    /// Mean time of a request in the drive, in milliseconds.
    pub fn response_ms(&self) -> f64 {
        ratio(self.response.as_millis(), self.ended as f64)
    }

    /// Mean time of a request's service, in milliseconds.
    pub fn service_ms(&self) -> f64 {
        ratio(self.busy.as_millis(), self.ended as f64)
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
