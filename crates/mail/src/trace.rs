//! What servers wrote before our first header: when each hop received the message.
//!
//! Only `Received` is of interest, and of it only the date after its last semicolon (RFC 5321,
//! 4.4). Headers are unfolded in a buffer of bounded length, which keeps their end.

use crate::date;

/// More hops than any test has; later ones are not kept.
const HOPS_MAX: usize = 16;
/// The end of a header in which the date must stand.
const TAIL: usize = 256;

/// Collects times of `Received` headers, line by line.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    received: Vec<u64>,
    /// The end of the `Received` that is being read.
    open: Option<Vec<u8>>,
}

impl Trace {
    /// A line of the header, without its end.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let is_folded = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if !is_folded {
            self.close();
            let name = line.get(..9).unwrap_or_default();
            if name.eq_ignore_ascii_case(b"Received:") {
                self.open = Some(Vec::new());
            }
        }
        if let Some(open) = &mut self.open {
            open.extend_from_slice(&line[line.len().saturating_sub(TAIL)..]);
            open.drain(..open.len().saturating_sub(TAIL));
        }
    }

    /// No line follows: times of arrival in Unix seconds, that of the last hop first.
    pub(crate) fn times(&mut self) -> Vec<u64> {
        self.close();
        std::mem::take(&mut self.received)
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && let Some(semicolon) = open.iter().rposition(|byte| *byte == b';')
            && let Some(at) = date::read(&open[semicolon + 1..])
            && self.received.len() < HOPS_MAX
        {
            self.received.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Vec<u64> {
        let mut trace = Trace::default();
        text.lines().for_each(|line| trace.line(line.as_bytes()));
        trace.times()
    }

    #[test]
    fn each_hop_gives_its_time_the_last_one_first() {
        let text = "Return-Path: <u0001@test.invalid>\n\
            Delivered-To: u0002@test.invalid\n\
            Received: from relay.test.invalid ([127.0.0.1])\n\
            \tby mail.test.invalid with LMTP id abc; x\n \
            for <u0002@test.invalid>; Fri, 27 Nov 2026 03:46:37 +0000\n\
            RECEIVED: from client (localhost [127.0.0.1])\n\
            \tby relay.test.invalid (Postfix) with ESMTP id 4;\n\
            \tFri, 27 Nov 2026 03:46:35 +0000 (UTC)\n\
            X-Other: Received: no; Fri, 27 Nov 2026 03:46:39 +0000\n";
        assert_eq!(times(text), [1_795_751_197, 1_795_751_195]);
    }

    #[test]
    fn long_and_broken_ones_are_bounded() {
        let folded = format!("Received: {}\n {}\n", "x".repeat(9000), "; ".repeat(9000));
        assert!(times(&folded).is_empty());
        let many = "Received: a; Fri, 27 Nov 2026 03:46:35 +0000\n".repeat(1000);
        assert_eq!(times(&many).len(), HOPS_MAX);
        let late = format!("Received: {}; Fri, 27 Nov 2026 03:46:35 +0000", "y".repeat(9000));
        assert_eq!(times(&late).len(), 1);
    }
}
