//! The text of a scenario for given volumes: what a user may want to change, each with why it is as
//! it is.

use std::path::Path;

use brunt_report::{counted, grouped};

use super::design::Wish;

/// Database I/Os per second of one mailbox.
pub(super) struct IoRate {
    pub(super) per_s: f64,
    /// Where the figure is from.
    pub(super) source: String,
}

/// The least that qualifies.
const DURATION: &str = "2h";

/// The scenario of `wish` for `mailboxes`.
///
/// # Errors
/// Which path cannot be written in a scenario.
pub(super) fn scenario(
    wish: &Wish,
    mailboxes: u64,
    io: &IoRate,
    sessions: u64,
) -> Result<String, String> {
    let duration = wish.duration.as_ref();
    let duration = quoted(duration.map_or(DURATION, |duration| duration.text.as_str()));
    let what = format!(
        "{} mailboxes of {} on {}",
        grouped(mailboxes),
        wish.quota.value,
        counted(wish.luns.len() as u64, "LUN")
    );
    let version = format!("exchange-{}", wish.version.name());
    let mut text = format!(
        "# A test of {what}. Keys that are not here have their defaults; `brunt init -` prints all of them.
name = {}
description = {}

[test]
kind = \"performance\"
duration = {duration}
# Enough to ask for the target with its headroom even when every I/O takes as long as its limit allows.
# `brunt run --tune` finds the fewest that are needed.
sessions = {sessions}

[mailboxes]
count = {mailboxes}
quota = {}
# Database reads and writes per second of one mailbox in the busiest hours, without headroom. Measure it on the old server.
# Here: {}.
io_per_s = {:?}

[profile]
version = {}
",
        quoted(&wish.name),
        quoted(&what),
        quoted(&wish.quota.text),
        io.source,
        io.per_s,
        quoted(&version),
    );
    for (at, lun) in wish.luns.iter().enumerate() {
        let number = at + 1;
        let logs = match wish.logs.as_slice() {
            [] => &wish.luns[number.rem_euclid(wish.luns.len())],
            logs => &logs[at.rem_euclid(logs.len())],
        };
        let log = path(&logs.join(format!("log{number}")))?;
        let database = path(&lun.join(format!("db{number}/db{number}.edb")))?;
        text += &format!("\n[[instance]]\nlog = {log}\ndatabases = [{database}]\n");
    }
    Ok(text)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn path(path: &Path) -> Result<String, String> {
    let text = path.to_str();
    let text = text.ok_or_else(|| format!("{}: the path is not UTF-8", path.display()))?;
    Ok(quoted(text))
}
