//! Host requests: in through the front, to the cache or to jobs, and out through the front when all
//! parts have ended.

use brunt_units::Time;
use brunt_world::IoError;
use smallvec::smallvec;

use super::front::Entry;
use super::jobs::Owner;
use super::observer::{Move, Observer};
use super::{Array, Event, Finished, HostIo, Verb};
use crate::Extent;
use crate::breakdown::Breakdown;
use crate::slab::Key;

/// A request in flight.
pub(super) struct Request {
    pub(super) io: HostIo,
    submitted_at: Time,
    entry: Entry,
    /// Its position in its group.
    group: u32,
    extent: Extent,
    /// When it reached the cache or the drives.
    began: Time,
    /// When the array had the answer.
    ready: Time,
    /// Parts still in flight.
    pub(super) jobs: u32,
    result: Result<(), IoError>,
    /// The breakdown of the last part to end.
    inside: Breakdown,
}

impl Request {
    pub(super) fn place(&self) -> (u32, Extent) {
        (self.group, self.extent)
    }
}

impl<O: Observer> Array<O> {
    /// Submits a request at `now`. A request past the LUN's end fails with [`IoError::PastEnd`],
    /// one that no path leads to with [`IoError::Device`].
    ///
    /// # Panics
    /// When `now` is in the past, or there is no such LUN.
    pub fn submit(&mut self, now: Time, io: HostIo) {
        self.advance(now);
        let lun = &self.luns[io.lun as usize];
        let mirrored = self.cache.as_ref().is_some_and(|cache| {
            cache.write_back && cache.design.mirrored && self.front.controllers() > 1
        });
        let fits = io.extent.end() <= lun.sectors;
        let (group, start) = (lun.group, lun.start);
        if let Some(cache) = &self.cache {
            cache.anticipate(group, start + io.extent.start);
        }
        let bytes = io.extent.bytes();
        let entry = if fits {
            self.front.enter(now, &lun.ownership, io.verb, bytes, mirrored)
        } else {
            None
        };
        let refusal = if fits { IoError::Device } else { IoError::PastEnd };
        let key = self.requests.insert(Request {
            io,
            submitted_at: now,
            entry: entry.unwrap_or_default(),
            group,
            extent: Extent::new(start + io.extent.start, io.extent.length),
            began: now,
            ready: now,
            // One for this function, so that the request cannot finish before all parts exist.
            jobs: 1,
            result: entry.map_or(Err(refusal), |_| Ok(())),
            inside: Breakdown::default(),
        });
        match entry {
            Some(entry) if entry.ready_at > now => {
                self.schedule.set(entry.ready_at, Event::Arrive(key));
            }
            Some(_) => self.arrive(key),
            None => self.part_ended(key, Ok(()), Breakdown::default()),
        }
    }

    /// A request has arrived at a controller.
    pub(super) fn arrive(&mut self, key: Key) {
        let now = self.now;
        let request = &mut self.requests[key];
        request.began = now;
        let (io, group, extent) = (request.io, request.group, request.extent);
        if self.front.working() == 0 {
            return self.part_ended(key, Err(IoError::Device), Breakdown::default());
        }
        if io.verb == Verb::Write && !self.groups[group as usize].has(extent) {
            // The cache accepts nothing that it could not write.
            return self.part_ended(key, Err(IoError::Device), Breakdown::default());
        }
        if self.cache.is_none() {
            self.split(key, group, extent, io.verb);
        } else {
            self.stir();
            match io.verb {
                Verb::Read => self.cached_read(key, io.lun, group, extent),
                Verb::Write => self.cached_write(key, group, extent),
            }
        }
        self.part_ended(key, Ok(()), Breakdown::default());
    }

    /// Fails every request because no controller is left: work in flight ends, but the host sees an
    /// error.
    pub(super) fn fail_requests(&mut self) {
        self.requests.for_each(|request| request.result = Err(IoError::Device));
    }

    fn split(&mut self, request: Key, group: u32, extent: Extent, verb: Verb) {
        // Derives stripes from their numbers, so that the group is not borrowed while jobs start.
        let stripe_sectors = self.groups[group as usize].shape.data_sectors();
        for (number, part) in extent.split(stripe_sectors) {
            let at = self.groups[group as usize].stripe(number);
            self.requests[request].jobs += 1;
            let owner = Owner::Request(request);
            self.start_job(owner, group, at, smallvec![part], verb);
        }
    }

    /// Ends one part of `key`; the last part sends the request out.
    pub(super) fn part_ended(
        &mut self,
        key: Key,
        result: Result<(), IoError>,
        breakdown: Breakdown,
    ) {
        let now = self.now;
        let request = &mut self.requests[key];
        request.jobs -= 1;
        request.result = request.result.and(result);
        let inside = now - request.began;
        request.inside = if breakdown.total() <= inside {
            let mut whole = breakdown;
            whole.wait += inside - breakdown.total();
            whole
        } else {
            // It waited for work that had begun before it.
            Breakdown { wait: inside, ..Breakdown::default() }
        };
        if request.jobs > 0 {
            return;
        }
        request.ready = now;
        let bytes = match (request.io.verb, request.result) {
            (Verb::Read, Ok(())) => request.io.extent.bytes(),
            _ => 0,
        };
        let port = request.entry.port;
        let out = if request.entry.is_in { self.front.leave(now, port, bytes) } else { now };
        if out > now {
            self.schedule.set(out, Event::Leave(key));
        } else {
            self.leave(key);
        }
    }

    /// Delivers the answer to the host.
    pub(super) fn leave(&mut self, key: Key) {
        if self.requests[key].result.is_ok() {
            self.observe(Move::Answered(key));
        }
        let request = &self.requests[key];
        let mut breakdown = request.inside;
        breakdown.wait += request.entry.wait;
        breakdown.link = request.entry.link + (self.now - request.ready);
        breakdown.controller = request.entry.controller;
        self.finished.push(Finished {
            tag: request.io.tag,
            verb: request.io.verb,
            submitted_at: request.submitted_at,
            at: self.now,
            result: request.result,
            breakdown,
        });
        self.requests.forget(key);
    }
}
