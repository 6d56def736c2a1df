//! The link between the two sites of a pair: paths, and the crossings of one write.
//!
//! ```text
//!    source  --command-->             --data-->                   two round trips: a write of SCSI over Fibre Channel
//!            <--transfer ready--                 <--status--
//! ```
//!
//! Each path is two [`Link`]s, one per direction, each with a queue of its own. The crossings of
//! one write stay on one path. A path or link that is lost drops what is under way on it; the
//! sender begins again.
//!
//! Times by hand, source and simplifications: `docs/models/pair.md`.

use std::ops::Range;

use brunt_units::{Span, Time};
use brunt_world::random::Streams;
use brunt_world::{Link, LinkOptions};

use super::roles::Site;

/// Light in fibre, per kilometre and direction.
const PER_KILOMETRE: Span = Span::micros(5);

/// Properties of the link of a pair, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairLinkDesign {
    /// Both ways, without transfer and queue.
    pub round_trip: Span,
    /// The most that one crossing is late by; drawn uniformly.
    pub jitter: Span,
    /// Bandwidth of each path; zero for an infinite one.
    pub bytes_per_second: u64,
    /// Packets of a million that are lost.
    pub lost_per_million: u32,
    /// Round trips that one write takes.
    pub round_trips_per_write: u32,
    /// What gateways add to one write.
    pub gateway: Span,
    /// Number of paths, which writes use in turn.
    pub paths: usize,
    /// When nothing gets through.
    pub outages: Vec<Range<Time>>,
}

impl Default for PairLinkDesign {
    /// One path of infinite bandwidth without delay. A write takes two round trips, as that of an
    /// EVA does.
    fn default() -> Self {
        Self {
            round_trip: Span::ZERO,
            jitter: Span::ZERO,
            bytes_per_second: 0,
            lost_per_million: 0,
            round_trips_per_write: 2,
            gateway: Span::ZERO,
            paths: 1,
            outages: Vec::new(),
        }
    }
}

/// Why a link cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairLinkError {
    #[error("a link has at least one path")]
    NoPath,
    /// A write crosses in zero round trips.
    #[error("a write takes at least one round trip")]
    NoRoundTrip,
    /// More than all packets are lost, or all of them.
    #[error("{0} packets of a million cannot be lost: nothing would get through")]
    Loss(u32),
    /// An outage ends before it begins.
    #[error("an outage at {0} does not last")]
    Outage(Span),
}

impl PairLinkDesign {
    /// What a pair of FCIP gateways adds to one write. Source: HP, Continuous Access EVA5000, May
    /// 2005.
    pub const FCIP_GATEWAYS: Span = Span::micros(1125);

    /// The round trip over this many kilometres of fibre, the least that it can be: routers and
    /// detours add to it.
    pub fn round_trip_over(kilometres: f64) -> Span {
        Span::from_seconds(PER_KILOMETRE.as_seconds() * kilometres * 2.0)
    }

    /// The outages of a link that flaps during `within`: down first, then up, in turn.
    pub fn flapping(within: &Range<Time>, down: Span, up: Span) -> Vec<Range<Time>> {
        let period = (down + up).max(Span::nanos(1));
        let starts = std::iter::successors(Some(within.start), |start| Some(*start + period));
        let starts = starts.take_while(|start| *start < within.end);
        let outages = starts.map(|start| start..(start + down).min(within.end));
        outages.filter(|outage| !outage.is_empty()).collect()
    }

    /// Checks the properties.
    ///
    /// # Errors
    /// [`PairLinkError`] when nothing could ever get through.
    pub fn check(&self) -> Result<(), PairLinkError> {
        let early = self.outages.iter().find(|outage| outage.is_empty());
        match (self.paths, self.round_trips_per_write, early) {
            (0, ..) => Err(PairLinkError::NoPath),
            (_, 0, _) => Err(PairLinkError::NoRoundTrip),
            (.., Some(outage)) => Err(PairLinkError::Outage(outage.start.since(Time::ZERO))),
            _ if self.lost_per_million >= 1_000_000 => {
                Err(PairLinkError::Loss(self.lost_per_million))
            }
            _ => Ok(()),
        }
    }
}

struct Path {
    forth: Link,
    back: Link,
    is_up: bool,
}

impl Path {
    /// Loses what waits on it.
    fn clear(&mut self) {
        self.forth.clear();
        self.back.clear();
    }
}

/// What an arrival is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossed {
    /// A command, or the answer that asks for its data: the exchange goes on.
    Handshake,
    /// The data: the destination has the write.
    Data,
    /// The status: the source knows it.
    Status,
}

/// One write on its way: which path, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    path: usize,
    bytes: u64,
    /// The crossing under way; even ones go forth.
    crossing: u32,
    /// The crossing of the data.
    data: u32,
    /// Whether it is the destination that sends.
    is_reversed: bool,
}

impl Exchange {
    /// The path of all its crossings.
    pub fn path(&self) -> usize {
        self.path
    }

    /// What the crossing that has arrived brings.
    pub fn crossed(&self) -> Crossed {
        match self.crossing.cmp(&self.data) {
            std::cmp::Ordering::Less => Crossed::Handshake,
            std::cmp::Ordering::Equal => Crossed::Data,
            std::cmp::Ordering::Greater => Crossed::Status,
        }
    }
}

pub struct PairLink {
    design: PairLinkDesign,
    paths: Vec<Path>,
    is_cut: bool,
    turn: usize,
    sent: u64,
}

impl PairLink {
    /// An idle link; jitter and losses are drawn from `streams`.
    ///
    /// # Errors
    /// [`PairLinkError`] as [`PairLinkDesign::check`].
    pub fn new(design: PairLinkDesign, streams: &Streams) -> Result<Self, PairLinkError> {
        design.check()?;
        let back = Span(design.round_trip.0.div_euclid(2));
        let one = |delay, name: String| {
            let options = LinkOptions {
                delay,
                bytes_per_second: design.bytes_per_second,
                jitter: design.jitter,
                lost_per_million: design.lost_per_million,
                outages: Vec::new(),
            };
            Link::new(options, streams.named(&name))
        };
        let path = |number| Path {
            forth: one(design.round_trip - back, format!("path/{number}/forth")),
            back: one(back, format!("path/{number}/back")),
            is_up: true,
        };
        Ok(Self {
            paths: (0..design.paths).map(path).collect(),
            design,
            is_cut: false,
            turn: 0,
            sent: 0,
        })
    }

    /// Its properties.
    pub fn design(&self) -> &PairLinkDesign {
        &self.design
    }

    /// Whether anything gets through.
    pub fn is_up(&self) -> bool {
        !self.is_cut && self.paths.iter().any(|path| path.is_up)
    }

    /// Paths that are up; none while the link is lost.
    pub fn paths_up(&self) -> usize {
        let up = self.paths.iter().filter(|path| path.is_up).count();
        if self.is_cut { 0 } else { up }
    }

    /// Cuts or restores the link as a whole. What is under way is lost.
    pub fn set_cut(&mut self, is_cut: bool) {
        self.is_cut = is_cut;
        self.paths.iter_mut().for_each(Path::clear);
    }

    /// Cuts or restores one path. What is under way on it is lost.
    ///
    /// # Panics
    /// When there is no such path.
    pub fn set_path(&mut self, path: usize, is_up: bool) {
        self.paths[path].is_up = is_up;
        self.paths[path].clear();
    }

    /// Bytes of data sent to the other site, also in vain.
    pub fn bytes_sent(&self) -> u64 {
        self.sent
    }

    /// Sends the first crossing of a write at `now` on the next path that is up; `None` when there
    /// is none. Returns when it arrives.
    pub fn begin(&mut self, now: Time, from: Site, bytes: u64) -> Option<(Exchange, Time)> {
        let round_trips = self.design.round_trips_per_write;
        self.begin_with(now, from, bytes, round_trips)
    }

    /// The same for a question and its answer, one round trip without data.
    pub fn ask(&mut self, now: Time, from: Site) -> Option<(Exchange, Time)> {
        self.begin_with(now, from, 0, 1)
    }

    fn begin_with(
        &mut self,
        now: Time,
        from: Site,
        bytes: u64,
        round_trips: u32,
    ) -> Option<(Exchange, Time)> {
        if self.is_cut {
            return None;
        }
        let count = self.paths.len();
        let path = (0..count)
            .map(|more| (self.turn + more) % count)
            .find(|path| self.paths[*path].is_up)?;
        self.turn = (path + 1) % count;
        let exchange = Exchange {
            path,
            bytes,
            crossing: 0,
            data: 2 * (round_trips - 1),
            is_reversed: from == Site::Destination,
        };
        let at = self.cross(now, &exchange);
        Some((exchange, at))
    }

    /// Sends the next crossing at `now`; returns when it arrives.
    pub fn go_on(&mut self, now: Time, exchange: &mut Exchange) -> Time {
        exchange.crossing += 1;
        self.cross(now, exchange)
    }

    fn cross(&mut self, now: Time, exchange: &Exchange) -> Time {
        let path = &mut self.paths[exchange.path];
        let (forth, back) = match exchange.is_reversed {
            false => (&mut path.forth, &mut path.back),
            true => (&mut path.back, &mut path.forth),
        };
        if exchange.crossing % 2 == 1 {
            return back.send(now, 0).arrives;
        }
        if exchange.crossing < exchange.data || exchange.bytes == 0 {
            return forth.send(now, 0).arrives;
        }
        self.sent += exchange.bytes;
        forth.send(now, exchange.bytes).arrives + self.design.gateway
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::Line;
    use brunt_world::Schedule;

    use super::*;

    fn link(design: PairLinkDesign) -> PairLink {
        PairLink::new(design, &Streams::new(1)).unwrap()
    }

    /// When the source has the status of each of `count` writes that begin at once; the destination
    /// takes no time.
    fn statuses(link: &mut PairLink, count: usize, bytes: u64) -> Vec<Span> {
        let mut schedule = Schedule::default();
        for _ in 0..count {
            let (exchange, at) = link.begin(Time::ZERO, Site::Source, bytes).unwrap();
            schedule.set(at, exchange);
        }
        let mut statuses = Vec::new();
        while let Some(due) = schedule.pop(Time::MAX) {
            let mut exchange = due.event;
            if exchange.crossed() == Crossed::Status {
                statuses.push(due.at.since(Time::ZERO));
            } else {
                let at = link.go_on(due.at, &mut exchange);
                schedule.set(at, exchange);
            }
        }
        statuses
    }

    #[test]
    fn one_write_and_a_full_pipe_take_the_times_computed_by_hand() {
        // docs/models/pair.md has these numbers.
        let t3 = PairLinkDesign {
            round_trip: Span::millis(5),
            bytes_per_second: Line::T3.bytes_per_s,
            gateway: PairLinkDesign::FCIP_GATEWAYS,
            ..PairLinkDesign::default()
        };
        // 10 ms for two round trips, 4,096 bytes in 732,475 ns, gateways 1.125 ms.
        let alone = Span::nanos(11_857_475);
        assert_eq!(statuses(&mut link(t3.clone()), 1, 4096), [alone]);
        // Each after the one before it, every 732,475 ns.
        let full = statuses(&mut link(t3.clone()), 100, 4096);
        assert_eq!(full[1], alone + Span::nanos(732_475));
        assert_eq!(full[99], Span::nanos(84_372_500));
        // Two paths: every other write.
        let two = PairLinkDesign { paths: 2, ..t3 };
        let full = statuses(&mut link(two), 100, 4096);
        assert_eq!(full[..2], [alone; 2]);
        assert_eq!(full[99], Span::nanos(47_748_750));
        // 10 km of fibre without gateways: 0.1 ms, twice.
        let fibre = PairLinkDesign {
            round_trip: PairLinkDesign::round_trip_over(10.0),
            ..PairLinkDesign::default()
        };
        assert_eq!(statuses(&mut link(fibre), 1, 4096), [Span::micros(200)]);
        let oc3 = PairLinkDesign {
            bytes_per_second: Line::OC3.bytes_per_s,
            round_trips_per_write: 1,
            round_trip: Span::millis(1),
            ..PairLinkDesign::default()
        };
        // 1 MiB in 53,939,095 ns.
        let copied = statuses(&mut link(oc3), 1, 1 << 20);
        assert_eq!(copied, [Span::nanos(54_939_095)]);
    }

    #[test]
    fn data_going_forth_do_not_delay_what_comes_back() {
        let mut link = link(PairLinkDesign {
            bytes_per_second: 1_000,
            round_trips_per_write: 1,
            ..PairLinkDesign::default()
        });
        let (mut first, arrives) = link.begin(Time::ZERO, Site::Source, 1_000).unwrap();
        assert_eq!((first.crossed(), arrives), (Crossed::Data, Time(1_000_000_000)));
        let (_, next) = link.begin(Time::ZERO, Site::Source, 1_000).unwrap();
        assert_eq!(next, Time(2_000_000_000));
        assert_eq!(link.go_on(arrives, &mut first), arrives);
        assert_eq!(first.crossed(), Crossed::Status);
        assert_eq!(link.bytes_sent(), 2_000);
    }

    #[test]
    fn paths_take_turns_and_a_lost_one_is_left_out() {
        let mut link = link(PairLinkDesign { paths: 3, ..PairLinkDesign::default() });
        let used = |link: &mut PairLink| {
            let next =
                |_| link.begin(Time::ZERO, Site::Source, 1).map(|(exchange, _)| exchange.path());
            (0..4).map(next).collect::<Vec<_>>()
        };
        assert_eq!(used(&mut link), [0, 1, 2, 0].map(Some));
        link.set_path(1, false);
        assert_eq!(used(&mut link), [2, 0, 2, 0].map(Some));
        assert_eq!((link.is_up(), link.paths_up()), (true, 2));
        link.set_path(0, false);
        link.set_path(2, false);
        assert_eq!((used(&mut link), link.is_up()), (vec![None; 4], false));
        link.set_path(2, true);
        link.set_cut(true);
        assert_eq!((used(&mut link), link.paths_up()), (vec![None; 4], 0));
        link.set_cut(false);
        assert_eq!(used(&mut link), [2; 4].map(Some));
    }

    #[test]
    fn nothing_waits_for_what_a_cut_lost() {
        let mut link =
            link(PairLinkDesign { bytes_per_second: 1_000, ..PairLinkDesign::default() });
        let data = |link: &mut PairLink| {
            let (mut exchange, at) = link.begin(Time::ZERO, Site::Source, 10_000).unwrap();
            let answer = link.go_on(at, &mut exchange);
            link.go_on(answer, &mut exchange)
        };
        let first = data(&mut link);
        link.set_cut(true);
        link.set_cut(false);
        assert_eq!(data(&mut link), first);
        link.set_path(0, false);
        link.set_path(0, true);
        assert_eq!(data(&mut link), first);
    }

    #[test]
    fn jitter_and_loss_are_drawn_for_each_crossing() {
        let design = PairLinkDesign {
            round_trip: Span::millis(2),
            jitter: Span::micros(100),
            ..PairLinkDesign::default()
        };
        let spans = statuses(&mut link(design.clone()), 1_000, 4096);
        let mean = spans.iter().map(|span| span.0).sum::<u64>().div_euclid(1_000);
        // Four crossings, each 50 us late on average.
        assert!((4_190_000..4_210_000).contains(&mean), "{mean}");
        let lossy = PairLinkDesign { jitter: Span::ZERO, lost_per_million: 10_000, ..design };
        let spans = statuses(&mut link(lossy), 1_000, 4096);
        let late = spans.iter().filter(|span| **span > Span::millis(4)).count();
        // Data of three packets and three crossings of one: 1 - 0.99^6 = 5.9 %.
        assert!((40..80).contains(&late), "{late}");
    }

    #[test]
    fn a_link_flaps_and_what_could_not_carry_anything_is_refused() {
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        let flaps = PairLinkDesign::flapping(&(at(10)..at(21)), Span::seconds(2), Span::seconds(3));
        assert_eq!(flaps, [at(10)..at(12), at(15)..at(17), at(20)..at(21)]);
        let refuse = |change: &dyn Fn(&mut PairLinkDesign)| {
            let mut design = PairLinkDesign::default();
            change(&mut design);
            design.check().err()
        };
        assert_eq!(refuse(&|_| ()), None);
        assert_eq!(refuse(&|one| one.paths = 0), Some(PairLinkError::NoPath));
        assert_eq!(refuse(&|one| one.round_trips_per_write = 0), Some(PairLinkError::NoRoundTrip));
        assert_eq!(
            refuse(&|one| one.lost_per_million = 1_000_000),
            Some(PairLinkError::Loss(1_000_000))
        );
        assert_eq!(
            refuse(&|one| one.outages = vec![at(5)..at(5)]),
            Some(PairLinkError::Outage(Span::seconds(5)))
        );
    }
}
