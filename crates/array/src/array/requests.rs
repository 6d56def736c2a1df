//! Requests of hosts: split into jobs, finished when all of them are.

use brunt_units::Time;
use brunt_world::IoError;

use super::jobs::Owner;
use super::{Array, Finished, HostIo, Verb};
use crate::Extent;
use crate::breakdown::Breakdown;
use crate::slab::Key;

/// A request in flight.
pub(super) struct Request {
    io: HostIo,
    submitted_at: Time,
    jobs: u32,
    result: Result<(), IoError>,
    breakdown: Breakdown,
}

impl Array {
    /// Takes a request at `now`. What lies past the LUN's end fails with [`IoError::PastEnd`].
    ///
    /// # Panics
    /// When `now` has passed, or there is no such LUN.
    pub fn submit(&mut self, now: Time, io: HostIo) {
        self.advance(now);
        let lun = &self.luns[io.lun as usize];
        let (group, start, sectors) = (lun.group, lun.start, lun.sectors);
        let fits = io.extent.end() <= sectors;
        let request = self.requests.insert(Request {
            io,
            submitted_at: now,
            // One of its own, so that it cannot finish before all jobs have been made.
            jobs: 1,
            result: if fits { Ok(()) } else { Err(IoError::PastEnd) },
            breakdown: Breakdown::default(),
        });
        if fits {
            let extent = Extent::new(start + io.extent.start, io.extent.length);
            self.split(request, group, extent, io.verb);
        }
        self.part_ended(request, Ok(()), Breakdown::default());
    }

    fn split(&mut self, request: Key, group: u32, extent: Extent, verb: Verb) {
        // Stripes are found again from their numbers, so that the group is not borrowed while jobs start.
        let stripe_sectors = self.groups[group as usize].shape.data_sectors();
        for (number, part) in extent.split(stripe_sectors) {
            let at = self.groups[group as usize].stripe(number);
            self.requests[request].jobs += 1;
            self.start_job(
                Owner::Request(request),
                group,
                at,
                [part].into_iter().collect(),
                verb,
            );
        }
    }

    /// A part of `request` has ended; with the last one, so does the request.
    pub(super) fn part_ended(
        &mut self,
        request: Key,
        result: Result<(), IoError>,
        breakdown: Breakdown,
    ) {
        let entry = &mut self.requests[request];
        entry.jobs -= 1;
        entry.result = entry.result.and(result);
        if entry.submitted_at < self.now {
            entry.breakdown = breakdown;
        }
        if entry.jobs == 0 {
            let request = self.requests.remove(request).expect("it is in flight");
            self.finished.push(Finished {
                tag: request.io.tag,
                verb: request.io.verb,
                submitted_at: request.submitted_at,
                at: self.now,
                result: request.result,
                breakdown: request.breakdown,
            });
        }
    }
}
