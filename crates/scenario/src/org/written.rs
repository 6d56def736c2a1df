//! An organisation as TOML.

use std::path::PathBuf;

use brunt_units::{ByteSize, Span};
use toml::{Table, Value};

use super::super::kept::Keep;
use super::super::place::Placed;
use super::{FigureKey, LogPlace, Organisation, Prices, Quantity, StoragePlan, Tier};

impl Organisation {
    /// It with everything that was decided: without an `[array]`, which a scenario has itself, and
    /// without `[search]`. `known` are the figures that can be given.
    pub fn to_table(&self, known: &[FigureKey]) -> Table {
        let mut figures = Table::new();
        for (name, figure) in &self.figures {
            let quantity = known.iter().find(|key| key.name == *name).map(|key| key.quantity);
            let value = match quantity.unwrap_or(Quantity::Number) {
                Quantity::Bytes | Quantity::Rate => bytes(figure.value).keep(),
                Quantity::Seconds => Span::from_seconds(figure.value).keep(),
                Quantity::Number
                | Quantity::Share
                | Quantity::Part
                | Quantity::Percent
                | Quantity::Days => figure.value.keep(),
            };
            figures.insert((*name).to_owned(), value);
        }
        let version = format!("exchange-{}", self.version.name());
        let org = table([
            ("servers", given(&self.servers)),
            ("copies", given(&self.copies)),
            ("failures", given(&self.failures)),
            ("databases", if_given(&self.databases)),
            ("restore_within", if_given(&self.restore_within)),
        ]);
        let tiers = self.tiers.iter().map(|tier| tier.to_table().into()).collect();
        table([
            ("name", Some(self.name.keep())),
            ("description", Some(self.description.keep())),
            ("profile", Some(table([("version", Some(version.keep()))]).into())),
            ("org", Some(org.into())),
            ("tier", Some(Value::Array(tiers))),
            ("storage", Some(self.storage.to_table().into())),
            ("figures", Some(figures.into())),
            ("price", self.search.prices.as_ref().map(|prices| prices.to_table().into())),
        ])
    }
}

/// What is there.
fn table<const N: usize>(entries: [(&str, Option<Value>); N]) -> Table {
    let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    there.collect()
}

fn given<T: Keep>(value: &Placed<T>) -> Option<Value> {
    Some(value.value.keep())
}

fn if_given<T: Keep>(value: &Option<Placed<T>>) -> Option<Value> {
    value.as_ref().and_then(given)
}

fn word(word: &str) -> Option<Value> {
    Some(word.into())
}

fn folders(folders: &[PathBuf]) -> Option<Value> {
    let all = folders.iter().map(|folder| folder.to_string_lossy().into_owned().into());
    (!folders.is_empty()).then(|| Value::Array(all.collect()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are read from whole bytes"
)]
fn bytes(number: f64) -> ByteSize {
    ByteSize::bytes(number as u64)
}

impl Tier {
    fn to_table(&self) -> Table {
        table([
            ("name", Some(self.name.keep())),
            ("count", given(&self.count)),
            ("quota", given(&self.quota)),
            ("messages_per_day", if_given(&self.messages_per_day)),
            ("io_per_s", if_given(&self.io_per_s)),
            ("message_size", if_given(&self.message_size)),
        ])
    }
}

impl StoragePlan {
    fn to_table(&self) -> Table {
        let block = self.block.as_ref();
        let (logs, own) = match block.map(|block| block.logs) {
            None => (None, None),
            Some(LogPlace::Beside) => (word("beside"), None),
            Some(LogPlace::Swapped) => (word("swapped"), None),
            Some(LogPlace::Own(group)) => (None, Some(group)),
        };
        table([
            ("drive", block.and_then(|block| word(block.drive.value))),
            ("drive_size", block.and_then(|block| if_given(&block.drive_size))),
            ("drive_io_per_s", block.and_then(|block| if_given(&block.drive_io_per_s))),
            ("level", block.and_then(|block| word(block.group.word()))),
            ("group_drives", block.map(|block| block.group.drives.keep())),
            ("logs", logs),
            ("log_level", own.and_then(|group| word(group.word()))),
            ("log_drives", own.map(|group| group.drives.keep())),
            ("backup_level", self.backup.and_then(|group| word(group.word()))),
            ("backup_drives", self.backup.map(|group| group.drives.keep())),
            ("spares", if_given(&self.spares)),
            ("servers", given(&self.servers)),
            ("luns", folders(&self.luns)),
            ("log_luns", folders(&self.log_luns)),
        ])
    }
}

impl Prices {
    fn to_table(&self) -> Table {
        let drives = self.drives.iter().map(|(name, price)| ((*name).to_owned(), price.keep()));
        table([
            ("currency", (!self.currency.is_empty()).then(|| self.currency.keep())),
            ("array", Some(self.array.keep())),
            ("shelf", Some(self.shelf.keep())),
            ("shelf_drives", Some(self.shelf_drives.keep())),
            ("drives", Some(Value::Table(drives.collect()))),
        ])
    }
}
