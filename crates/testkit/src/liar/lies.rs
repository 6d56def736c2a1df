//! What the liar lies about, and what it has lied about.

use brunt_units::Span;
use brunt_world::random::Stream;

/// A way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lie {
    /// Accepts a message and drops the copy of one recipient.
    Drop,
    /// Files a copy twice.
    Double,
    /// Changes a bit of a byte.
    Alter,
    /// Keeps only the first part.
    Cut,
    /// Files it in Junk.
    Misfile,
    /// Files it with a user who was not addressed.
    OtherUser,
    /// Files it so much later.
    Hold(Span),
    /// LMTP: refuses one recipient, accepts the others, and gives each reply for the one before.
    ShiftReplies,
    /// Refuses after the dot, and delivers.
    RefuseAndDeliver,
    /// Delivers what it has of a message whose end never came.
    DeliverUnfinished,
    /// Makes a message up; see [`super::Liar::invent`].
    Invent,
    /// Says OK to a STORE, and forgets it.
    ForgetFlag,
    /// Says OK to an EXPUNGE, and brings the message back.
    Resurrect,
    /// Says OK to an APPEND, and drops the message.
    DropAppend,
    /// Gives a folder another UIDVALIDITY the next time it is selected.
    ChangeUidValidity,
    /// Does not tell a session of a message that has arrived.
    SkipExists,
}

/// Which messages are lied about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The deliveries of one message to all of its recipients.
    Message(u32),
    /// So many of a million deliveries or requests.
    PerMillion(u64),
    /// The first one.
    First,
}

/// A lie that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The lie.
    pub lie: Lie,
    /// The message, when it is one of brunt's.
    pub number: Option<u32>,
    /// The account that was lied about.
    pub account: u32,
}

pub(super) struct Lies {
    plan: Vec<(Lie, Which)>,
    stream: Stream,
    pub(super) told: Vec<Told>,
}

impl Lies {
    pub(super) fn new(plan: Vec<(Lie, Which)>, stream: Stream) -> Self {
        Self { plan, stream, told: Vec::new() }
    }

    /// The lie to tell, of those that `fits`; it counts as told about this message and account.
    pub(super) fn choose(
        &mut self,
        number: Option<u32>,
        account: u32,
        fits: impl Fn(Lie) -> bool,
    ) -> Option<Lie> {
        let lie = self.consider(number, fits)?;
        self.tell(lie, number, account);
        Some(lie)
    }

    /// The lie to tell, before it is known about whom.
    pub(super) fn consider(
        &mut self,
        number: Option<u32>,
        fits: impl Fn(Lie) -> bool,
    ) -> Option<Lie> {
        for index in 0..self.plan.len() {
            let (lie, which) = &self.plan[index];
            let (lie, is_chosen) = match which {
                _ if !fits(*lie) => continue,
                Which::Message(chosen) => (*lie, number == Some(*chosen)),
                Which::PerMillion(rate) => (*lie, self.stream.below(1_000_000) < *rate),
                Which::First => (*lie, !self.told.iter().any(|told| told.lie == *lie)),
            };
            if is_chosen {
                return Some(lie);
            }
        }
        None
    }

    pub(super) fn tell(&mut self, lie: Lie, number: Option<u32>, account: u32) {
        self.told.push(Told { lie, number, account });
    }

    pub(super) fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.stream.below(bound)).expect("lengths of messages")
    }
}

/// The number that a message of brunt has in its first header.
pub(super) fn number_of(message: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"X-Brunt: ";
    let at = message.windows(NAME.len()).position(|window| window == NAME)?;
    let line = message[at + NAME.len()..].split(|byte| *byte == b'\r').next()?;
    std::str::from_utf8(line).ok()?.split('-').nth(1)?.parse().ok()
}
