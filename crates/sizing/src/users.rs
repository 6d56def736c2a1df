//! One tier of users: what a mailbox asks for, and what it takes.

use brunt_scenario::Tier;

use crate::constants::{self, Era};
use crate::sheet::{Sheet, figure, max};

/// The formula of figures that are read off a table of profiles.
const BETWEEN: &str = "between two rows of the version's profiles";

/// The figures of `tier`, on a sheet that begins with what is known.
pub(crate) fn sheet(tier: &Tier, era: Era, base: &Sheet) -> Sheet {
    let mut sheet = base.clone();
    sheet.write("count", number(tier.count.value));
    sheet.write("quota_bytes", number(tier.quota.value.get()));
    if let Some(size) = &tier.message_size {
        sheet.write("message_bytes", number(size.value.get()));
    }
    load(tier, era, &mut sheet);
    figure!(sheet, mail_bytes_per_day = messages_per_day * message_bytes; messages_per_day, message_bytes);
    figure!(sheet, log_factor = max(1.0, 1.0 + message_body_percent / 100.0 * (message_bytes / message_bytes_usual - 1.0));
        message_body_percent, message_bytes, message_bytes_usual);
    figure!(sheet, logs_per_mailbox = messages_per_day * logs_per_message * log_factor;
        messages_per_day, logs_per_message, log_factor);
    if sheet.give("on_disk_percent").is_some() {
        figure!(sheet, mailbox_bytes = quota_bytes * on_disk_percent / 100.0; quota_bytes, on_disk_percent);
        return sheet;
    }
    figure!(sheet, whitespace_bytes = mail_bytes_per_day * whitespace_days; mail_bytes_per_day, whitespace_days);
    figure!(sheet, recoverable_bytes = mail_bytes_per_day * deleted_item_days + quota_bytes * (recovery_percent + calendar_percent) / 100.0;
        mail_bytes_per_day, deleted_item_days, quota_bytes, recovery_percent, calendar_percent);
    figure!(sheet, mailbox_bytes = quota_bytes + whitespace_bytes + recoverable_bytes;
        quota_bytes, whitespace_bytes, recoverable_bytes);
    sheet
}

/// Messages from I/O, or I/O from messages; both where both are written.
fn load(tier: &Tier, era: Era, sheet: &mut Sheet) {
    if let Some(messages) = &tier.messages_per_day {
        sheet.write("messages_per_day", messages.value);
    }
    if let Some(io) = &tier.io_per_s {
        sheet.write("io_per_mailbox", io.value);
    }
    match (constants::profiles(era), &tier.messages_per_day, &tier.io_per_s) {
        (_, Some(_), Some(_)) | (_, None, None) => {}
        (None, Some(_), None) => {
            figure!(sheet, io_per_mailbox = messages_per_day * io_per_message; messages_per_day, io_per_message);
        }
        (None, None, Some(_)) => {
            figure!(sheet, messages_per_day = io_per_mailbox / io_per_message; io_per_mailbox, io_per_message);
        }
        (Some(profiles), Some(messages), None) => {
            let io = constants::io_between(profiles, messages.value);
            sheet.calculate("io_per_mailbox", io, BETWEEN, &["messages_per_day"]);
        }
        (Some(profiles), None, Some(io)) => {
            let messages = constants::messages_between(profiles, io.value);
            sheet.calculate("messages_per_day", messages, BETWEEN, &["io_per_mailbox"]);
        }
    }
}

/// A count for arithmetic.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}
