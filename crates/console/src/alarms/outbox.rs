//! What still has to be delivered: order, back-off, bounds. Time is handed in.
//!
//! ```text
//!   push -> [ raised ] [ cleared ] ...      of one alarm in order: what is first holds up the rest
//!              |  failed: again after 5 s, 10 s, 20 s ... 10 min
//!              |  failed `tries` times: given up, and the next one's turn
//! ```
//!
//! Of different alarms, one that is due goes before one that waits, whichever came first.

use std::collections::VecDeque;

use brunt_units::{Span, Time};

use super::notice::Notice;

/// Notices that wait at most; what comes on top is given up at once.
const WAITING_MAX: usize = 1_000;

/// How often a notice is tried, and how long after a failure.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// After the first failure; then twice as long each time.
    pub first: Span,
    /// But no longer than this.
    pub longest: Span,
    /// Tries altogether, at least 1.
    pub tries: u32,
}

impl Default for Patience {
    /// Twenty tries take two hours and a half: a mail relay that is restarted, or a night's
    /// maintenance of it.
    fn default() -> Self {
        Self { first: Span::seconds(5), longest: Span::seconds(600), tries: 20 }
    }
}

impl Patience {
    /// How long to wait after the failure number `failed`, from 1; nothing when it was the last.
    pub(super) fn after(&self, failed: u32) -> Option<Span> {
        let doubled = self.first.0.saturating_mul(2_u64.saturating_pow(failed.saturating_sub(1)));
        (failed < self.tries).then_some(Span(doubled.min(self.longest.0)))
    }
}

/// What there is to do.
#[derive(Debug)]
pub(super) enum Next {
    /// Try to deliver this now; its number is for [`Outbox::delivered`] and [`Outbox::failed`].
    Deliver(u64, Box<Notice>),
    /// Nothing before then.
    Wait(Time),
    Nothing,
}

/// What became of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Again(Span),
    GivenUp,
}

#[derive(Debug)]
struct Letter {
    number: u64,
    notice: Notice,
    failed: u32,
    due: Time,
}

/// Everything that waits.
#[derive(Debug)]
pub(super) struct Outbox {
    patience: Patience,
    waiting: VecDeque<Letter>,
    pushed: u64,
}

impl Outbox {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, waiting: VecDeque::new(), pushed: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there was room for `notice`.
    pub(super) fn push(&mut self, notice: Notice) -> bool {
        if self.waiting.len() >= WAITING_MAX {
            return false;
        }
        let number = self.pushed;
        self.pushed += 1;
        self.waiting.push_back(Letter { number, notice, failed: 0, due: Time::ZERO });
        true
    }

    pub(super) fn next(&self, now: Time) -> Next {
        let mut firsts = Vec::<&Letter>::new();
        for letter in &self.waiting {
            if !firsts.iter().any(|first| first.notice.alarm == letter.notice.alarm) {
                firsts.push(letter);
            }
        }
        match firsts.into_iter().min_by_key(|letter| (letter.due, letter.number)) {
            None => Next::Nothing,
            Some(letter) if letter.due <= now => {
                Next::Deliver(letter.number, Box::new(letter.notice.clone()))
            }
            Some(letter) => Next::Wait(letter.due),
        }
    }

    pub(super) fn delivered(&mut self, number: u64) {
        self.waiting.retain(|letter| letter.number != number);
    }

    /// The try that ended at `now` failed.
    pub(super) fn failed(&mut self, number: u64, now: Time) -> Then {
        let letter = self.waiting.iter_mut().find(|letter| letter.number == number);
        let letter = letter.expect("what was tried still waits");
        letter.failed += 1;
        match self.patience.after(letter.failed) {
            Some(wait) => {
                letter.due = now + wait;
                Then::Again(wait)
            }
            None => {
                self.delivered(number);
                Then::GivenUp
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::Timestamp;
    use brunt_scenario::AlarmWhen;
    use proptest::prelude::*;

    use super::super::notice::About;
    use super::*;
    use crate::{State, sample};

    fn notice(alarm: usize) -> Notice {
        let look = sample::look("demo", Vec::new(), 1, State::GoesOn);
        let at = Timestamp::default();
        Notice::new((alarm, AlarmWhen::RunSilent), true, &look, About::Run, at)
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let patience = Patience { first: Span::seconds(5), longest: Span::seconds(30), tries: 6 };
        let waits: Vec<_> = (1..8).map(|failed| patience.after(failed)).collect();
        let seconds = |seconds| Some(Span::seconds(seconds));
        let wanted = [seconds(5), seconds(10), seconds(20), seconds(30), seconds(30), None, None];
        assert_eq!(waits, wanted);
        let all = (1..).map_while(|failed| Patience::default().after(failed));
        let hours = all.fold(Span::ZERO, |sum, wait| sum + wait).as_seconds() / 3_600.0;
        assert!((2.0..2.5).contains(&hours), "{hours}");
    }

    fn number_of(next: Next) -> Option<u64> {
        match next {
            Next::Deliver(number, _) => Some(number),
            Next::Wait(_) | Next::Nothing => None,
        }
    }

    #[test]
    fn an_alarm_that_cannot_be_delivered_holds_up_its_own_and_no_other() {
        let mut outbox = Outbox::new(Patience::default());
        [0, 0, 1].into_iter().for_each(|alarm| assert!(outbox.push(notice(alarm))));
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        assert_eq!(number_of(outbox.next(at(1))), Some(0));
        assert_eq!(outbox.failed(0, at(1)), Then::Again(Span::seconds(5)));
        assert_eq!(number_of(outbox.next(at(1))), Some(2), "that of the other alarm");
        outbox.delivered(2);
        assert!(matches!(outbox.next(at(5)), Next::Wait(due) if due == at(6)));
        assert_eq!(number_of(outbox.next(at(6))), Some(0));
        outbox.delivered(0);
        assert_eq!(number_of(outbox.next(at(6))), Some(1));
        outbox.delivered(1);
        assert!(matches!(outbox.next(at(7)), Next::Nothing));
    }

    #[test]
    fn there_is_an_end_to_what_waits() {
        let mut outbox = Outbox::new(Patience::default());
        let taken = (0..WAITING_MAX + 5).filter(|_| outbox.push(notice(0))).count();
        assert_eq!((taken, outbox.len()), (WAITING_MAX, WAITING_MAX));
    }

    proptest! {
        /// Each notice ends once, delivered or given up, and those of one alarm in their order.
        #[test]
        fn every_notice_ends_once_and_in_order(
            alarms in prop::collection::vec(0_usize..3, 1..12),
            fails in prop::collection::vec(any::<bool>(), 1..60),
        ) {
            let patience = Patience { tries: 3, ..Patience::default() };
            let mut outbox = Outbox::new(patience);
            alarms.iter().for_each(|alarm| assert!(outbox.push(notice(*alarm))));
            let (mut now, mut ended) = (Time::ZERO, Vec::new());
            let mut fails = fails.into_iter().cycle();
            loop {
                match outbox.next(now) {
                    Next::Nothing => break,
                    Next::Wait(due) => {
                        prop_assert!(due > now);
                        now = due;
                    }
                    Next::Deliver(number, notice) => {
                        let is_over = match fails.next() {
                            Some(true) => outbox.failed(number, now) == Then::GivenUp,
                            _ => { outbox.delivered(number); true }
                        };
                        if is_over {
                            ended.push((notice.alarm, number));
                        }
                    }
                }
            }
            prop_assert_eq!(ended.len(), alarms.len());
            for alarm in 0..3 {
                let own = ended.iter().filter(|(own, _)| *own == alarm);
                let own: Vec<_> = own.map(|(_, number)| *number).collect();
                prop_assert!(own.is_sorted());
            }
        }
    }
}
