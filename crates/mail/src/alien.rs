//! Messages without our mark: reports of failed delivery, and anything else.
//!
//! A report (RFC 3464) has a block for each recipient, with `Final-Recipient` and `Action`, and
//! somewhere below the headers of the message that failed. Only `Action: failed` counts: a report of
//! a delay promises another attempt.

use smallvec::SmallVec;

use crate::mailing::{Mailing, RECIPIENTS_MAX};
use crate::mark::Mark;

/// A line that is longer says nothing of interest.
const LINE: usize = 512;

/// What is known of a message while it is being read.
#[derive(Debug, Default)]
pub(crate) struct Alien {
    line: Vec<u8>,
    is_too_long: bool,
    number: Option<u32>,
    /// Of the block that is being read.
    recipient: Option<u32>,
    has_failed: bool,
    failed: SmallVec<[u32; 8]>,
}

impl Alien {
    /// The next bytes.
    pub(crate) fn feed(&mut self, mailing: &Mailing, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LINE {
                self.is_too_long = true;
            } else {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.is_too_long) {
                    self.line(mailing, line.trim_ascii());
                }
            }
        }
    }

    /// It has ended: the message of ours that it reports, and the recipients it did not reach.
    pub(crate) fn bounce(mut self, mailing: &Mailing) -> Option<(u32, SmallVec<[u32; 8]>)> {
        let line = std::mem::take(&mut self.line);
        self.line(mailing, line.trim_ascii());
        self.close_block();
        self.number.filter(|_| !self.failed.is_empty()).map(|number| (number, self.failed))
    }

    fn line(&mut self, mailing: &Mailing, line: &[u8]) {
        if line.is_empty() {
            self.close_block();
        } else if let Some(value) = value(line, b"Final-Recipient:") {
            let address = value.rsplit(|byte| *byte == b';').next().unwrap_or_default();
            let address = String::from_utf8_lossy(address.trim_ascii());
            self.recipient = mailing.account(address.trim_matches(['<', '>']));
        } else if let Some(action) = value(line, b"Action:") {
            self.has_failed = action.trim_ascii().eq_ignore_ascii_case(b"failed");
        } else if self.number.is_none() {
            let mark = Mark::in_header(line).or_else(|| Mark::in_message_id(line));
            let ours = mark.filter(|mark| mark.run == mailing.options().run);
            self.number = ours.map(|mark| mark.number);
        }
    }

    fn close_block(&mut self) {
        let failed = std::mem::take(&mut self.has_failed);
        if let Some(recipient) = self.recipient.take().filter(|_| failed)
            && self.failed.len() < usize::from(RECIPIENTS_MAX)
            && !self.failed.contains(&recipient)
        {
            self.failed.push(recipient);
        }
    }
}

fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then_some(value)
}
