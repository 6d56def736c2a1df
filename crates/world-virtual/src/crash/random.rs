//! Samples drawn from a seed.
//!
//! A sample first draws how much of each kind survives, then which parts. A fair coin for every
//! sector would never produce an image in which nearly everything, or nearly nothing, is lost.

use brunt_world::random::Stream;

use super::durable::Cursor;
use super::pending::{Change, PendingWrite, Sector, attempt};
use super::sample::{by_completion, lengthen, names_by_completion};
use crate::{Inode, Step, Store};

/// Survival probabilities in one random image, in percent.
pub(super) struct Odds {
    bytes: u32,
    in_flight: u32,
    torn: u32,
    lengths: u32,
    names: u32,
    shuffled: bool,
}

impl Odds {
    pub(super) fn draw(stream: &mut Stream) -> Self {
        let mut pick = |choices: [u32; 5]| {
            let choice = stream.below(choices.len() as u64);
            choices[usize::try_from(choice).expect("below five")]
        };
        Self {
            bytes: pick([3, 30, 50, 70, 97]),
            in_flight: pick([0, 30, 50, 70, 100]),
            torn: pick([0, 0, 10, 50, 100]),
            lengths: pick([0, 20, 50, 80, 100]),
            names: pick([0, 20, 50, 80, 100]),
            shuffled: pick([0, 0, 0, 1, 1]) == 1,
        }
    }

    /// Adds the surviving parts of the pending actions to the durable ones in `store`.
    pub(super) fn image(&self, cursor: &Cursor<'_>, store: &mut Store, stream: &mut Stream) {
        let mut changes = by_completion(&cursor.changes);
        let mut names = names_by_completion(&cursor.names);
        if self.shuffled {
            shuffle(&mut changes, stream);
            shuffle(&mut names, stream);
        }
        for change in changes {
            match &change.change {
                Change::Write(write) => {
                    if stream.percent(self.of(change.completed, self.bytes)) {
                        self.write(store, change.file, write, stream);
                    }
                    if stream.percent(self.of(change.completed, self.lengths)) {
                        lengthen(store, change.file, write);
                    }
                }
                Change::Length(length) => {
                    if stream.percent(self.of(change.completed, self.lengths)) {
                        length.apply(store, change.file);
                    }
                }
            }
        }
        for name in names {
            if stream.percent(self.of(name.completed, self.names)) {
                attempt(store, name.change);
            }
        }
    }

    fn write(&self, store: &mut Store, file: Inode, write: &PendingWrite<'_>, stream: &mut Stream) {
        let tear = Tear::draw(self, write.sectors.len(), stream);
        write.apply(store, file, |number, sector| {
            sector != Sector::Dead && tear.spares(number, stream)
        });
    }

    fn of(&self, completed: Option<Step>, percent: u32) -> u32 {
        match completed {
            Some(_) => percent,
            None => self.in_flight,
        }
    }
}

/// How a surviving write is torn.
enum Tear {
    Whole,
    /// Each sector independently.
    Everywhere,
    /// The sectors before this one.
    Before(usize),
    /// The sectors from this one on.
    From(usize),
}

impl Tear {
    fn draw(odds: &Odds, sectors: usize, stream: &mut Stream) -> Self {
        if !stream.percent(odds.torn) {
            return Self::Whole;
        }
        let place = stream.below(sectors as u64 + 1);
        let place = usize::try_from(place).expect("within the write");
        match stream.below(3) {
            0 => Self::Before(place),
            1 => Self::From(place),
            _ => Self::Everywhere,
        }
    }

    fn spares(&self, sector: usize, stream: &mut Stream) -> bool {
        match self {
            Self::Whole => true,
            Self::Everywhere => stream.percent(50),
            Self::Before(place) => sector < *place,
            Self::From(place) => sector >= *place,
        }
    }
}

fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        let other = stream.below(last as u64 + 1);
        items.swap(last, usize::try_from(other).expect("within the list"));
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn shuffling_keeps_everything() {
        let mut stream = Streams::new(1).named("shuffle");
        let mut items: Vec<_> = (0..50).collect();
        shuffle(&mut items, &mut stream);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
