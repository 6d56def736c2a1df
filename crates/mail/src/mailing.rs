//! All messages of a run: what each number means.
//!
//! [`MailingOptions`] is what a run must remember to make its messages again; the header of
//! `ledger.bin` holds it. [`Mailing`] is the checked form with what follows from it.

use brunt_world::random::{Stream, Streams};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::message::{HardCases, Pool};

/// Most recipients of one message.
pub const RECIPIENTS_MAX: u8 = 100;
/// The shortest message that has all of its headers.
pub const BYTES_MIN: u32 = 400;
/// The longest message: 1 GiB.
pub const BYTES_MAX: u32 = 1 << 30;

/// What the messages of a run follow from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailingOptions {
    /// Marks the messages of this run.
    pub run: u64,
    /// What messages contain, and who gets them.
    pub seed: u64,
    /// Unix time in seconds when the world's clock showed zero.
    pub began: u64,
    /// Addresses of the accounts, each `local@domain`. Messages go from one to others.
    pub accounts: Vec<String>,
    /// Lengths of messages.
    pub sizes: Sizes,
    /// Messages of these classes instead, if there are any.
    pub classes: Vec<SizeClass>,
    /// Who sends a message to whom.
    pub routing: Routing,
    /// Fewest and most recipients of a message, all equally likely, where they are drawn.
    pub recipients: (u8, u8),
    /// What messages carry.
    pub attachments: Attachments,
    /// Each occurs in 1 % of the messages.
    pub hard_cases: HardCases,
}

impl MailingOptions {
    /// Messages of 400 B to 64 KiB to one to five of the accounts, a fifth of them with
    /// attachments, with all hard cases.
    pub fn new(run: u64, seed: u64, began: u64, accounts: Vec<String>) -> Self {
        let most = u8::try_from(accounts.len()).unwrap_or(5).clamp(1, 5);
        Self {
            run,
            seed,
            began,
            accounts,
            sizes: Sizes { least: BYTES_MIN, most: 64 << 10 },
            classes: Vec::new(),
            routing: Routing::Drawn,
            recipients: (1, most),
            attachments: Attachments { percent: 20, compressible_percent: 30 },
            hard_cases: HardCases::ALL,
        }
    }
}

/// Lengths of messages as sent, with headers, without dot stuffing. Their logarithms are equally
/// distributed: half of the messages between 400 B and 40 KB have less than 4 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// From 400 B.
    pub least: u32,
    /// Up to 1 GiB; a server's SIZE is the usual limit. A message is longer only if its plainest
    /// headers alone are.
    pub most: u32,
}

/// Messages of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Length without the attachment, with headers; at least what these take.
    pub text: u32,
    /// Length of the attachment before it is encoded; 0 without one.
    pub attachment: u32,
    /// How often, among all classes.
    pub weight: u32,
}

/// Who sends a message to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Routing {
    /// Both follow from its number, and its headers name them.
    Drawn,
    /// Account *a* of *n* sends the numbers *a*, *a* + *n*, *a* + 2*n* and so on. Recipients are in
    /// the ledger alone: whom a user answers follows from what has arrived. The header names none.
    ByTurn,
}

/// Attachments in messages that are long enough for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachments {
    /// How many messages of a hundred have one.
    pub percent: u8,
    /// How many lines of a hundred repeat one line; all others are random, and base64 of random
    /// bytes compresses to three quarters.
    pub compressible_percent: u8,
}

/// The messages of a run.
pub struct Mailing {
    options: MailingOptions,
    streams: Streams,
    pool: Pool,
}

/// Who sends a message to whom, as indices into the accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The sender.
    pub from: u32,
    /// The recipients, each once.
    pub to: SmallVec<[u32; 8]>,
}

/// Why options make no messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailingError {
    /// There must be an account.
    #[error("a mailing needs accounts")]
    NoAccounts,
    /// An address that would not survive a command line of SMTP.
    #[error("`{0}` is not an address for a test account (plain ASCII, local@domain)")]
    Address(String),
    /// The lengths are out of range, or the wrong way round.
    #[error("messages have {BYTES_MIN} bytes to 1 GiB, not {0} to {1}")]
    Sizes(u32, u32),
    /// No recipients, more than accounts, or the wrong way round.
    #[error("messages cannot have {0} to {1} recipients of {2} accounts (at most 100)")]
    Recipients(u8, u8, usize),
    /// More than a hundred of a hundred.
    #[error("percentages of attachments end at 100")]
    Percent,
    /// Classes without a weight, or longer than a message may be.
    #[error("classes of messages need a weight, and have at most 512 MiB")]
    Classes,
}

impl Mailing {
    /// The messages that follow from `options`.
    ///
    /// # Errors
    /// [`MailingError`] when there are none.
    pub fn new(options: MailingOptions) -> Result<Self, MailingError> {
        let accounts = options.accounts.len();
        if accounts == 0 || u32::try_from(accounts).is_err() {
            return Err(MailingError::NoAccounts);
        }
        if let Some(wrong) = options.accounts.iter().find(|address| !is_address(address)) {
            return Err(MailingError::Address(wrong.clone()));
        }
        let Sizes { least, most } = options.sizes;
        if !(BYTES_MIN..=BYTES_MAX).contains(&least) || !(least..=BYTES_MAX).contains(&most) {
            return Err(MailingError::Sizes(least, most));
        }
        let (fewest, most) = options.recipients;
        if fewest == 0 || most < fewest || most > RECIPIENTS_MAX || usize::from(most) > accounts {
            return Err(MailingError::Recipients(fewest, most, accounts));
        }
        if options.attachments.percent > 100 || options.attachments.compressible_percent > 100 {
            return Err(MailingError::Percent);
        }
        let class_max = u64::from(BYTES_MAX).div_euclid(2);
        let bytes = |class: &SizeClass| u64::from(class.text) + u64::from(class.attachment);
        let weight: u64 = options.classes.iter().map(|class| u64::from(class.weight)).sum();
        let is_long = options.classes.iter().any(|class| bytes(class) > class_max);
        if !options.classes.is_empty() && (weight == 0 || is_long) {
            return Err(MailingError::Classes);
        }
        let streams = Streams::new(options.seed).part("mail");
        let pool = Pool::new(&mut streams.named("words"));
        Ok(Self { options, streams, pool })
    }

    /// What they follow from.
    pub fn options(&self) -> &MailingOptions {
        &self.options
    }

    /// Address of an account; `None` when there is no such account.
    pub fn address(&self, account: u32) -> Option<&str> {
        self.options.accounts.get(account as usize).map(String::as_str)
    }

    /// The account with this address, without regard to case; slow, for bounces and reports.
    pub fn account(&self, address: &str) -> Option<u32> {
        let mut accounts = (0_u32..).zip(&self.options.accounts);
        accounts.find(|(_, known)| known.eq_ignore_ascii_case(address)).map(|(account, _)| account)
    }

    /// Who sends message `number` to whom. By turn, the recipients are not known here.
    pub fn route(&self, number: u32) -> Route {
        if self.options.routing == Routing::ByTurn {
            return Route { from: self.sender(number), to: SmallVec::new() };
        }
        let mut stream = self.stream("route", number);
        let accounts = self.options.accounts.len() as u64;
        let mut below = |bound| u32::try_from(stream.below(bound)).expect("the bound is a u32");
        let from = below(accounts);
        let (fewest, most) = self.options.recipients;
        let count = u32::from(fewest) + below(u64::from(most - fewest) + 1);
        let mut to = SmallVec::new();
        while to.len() < count as usize {
            let next = below(accounts);
            if !to.contains(&next) {
                to.push(next);
            }
        }
        Route { from, to }
    }

    fn sender(&self, number: u32) -> u32 {
        let accounts = u32::try_from(self.options.accounts.len()).expect("it was checked");
        number % accounts
    }

    /// The number of message `turn` of an account, where messages go by turn; `None` beyond four
    /// billion.
    pub fn number(&self, account: u32, turn: u32) -> Option<u32> {
        let accounts = u32::try_from(self.options.accounts.len()).expect("it was checked");
        turn.checked_mul(accounts)?.checked_add(account).filter(|number| *number < u32::MAX)
    }

    /// Whether message `number` goes to `account`; `None` when only the ledger knows.
    pub(crate) fn is_addressed(&self, number: u32, account: u32) -> Option<bool> {
        (self.options.routing == Routing::Drawn).then(|| self.route(number).to.contains(&account))
    }

    pub(crate) fn stream(&self, part: &str, number: u32) -> Stream {
        self.streams.named(&format!("{part}/{number}"))
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}

/// Lengths between these ends, by logarithm.
pub(crate) fn draw_bytes(Sizes { least, most }: Sizes, stream: &mut Stream) -> u32 {
    let (from, to) = (libm::log(f64::from(least)), libm::log(f64::from(most) + 1.0));
    let drawn = libm::exp(from + (to - from) * stream.unit());
    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
    let drawn = drawn as u32;
    drawn.clamp(least, most)
}

/// One of these classes, by their weights.
pub(crate) fn draw_class(classes: &[SizeClass], stream: &mut Stream) -> SizeClass {
    let all = classes.iter().map(|class| u64::from(class.weight)).sum();
    let mut at = stream.below(all);
    for class in classes {
        match at.checked_sub(u64::from(class.weight)) {
            Some(rest) => at = rest,
            None => return *class,
        }
    }
    classes[classes.len() - 1]
}

fn is_address(address: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let domain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    address.split_once('@').is_some_and(|(local, host)| {
        (1..=64).contains(&local.len())
            && (1..=189).contains(&host.len())
            && local.chars().all(plain)
            && host.chars().all(domain)
    })
}
