//! What a relay still holds.

use serde::Deserialize;

/// The queue of a relay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Messages in it.
    pub messages: u64,
    /// Deliveries that are still to be made: recipients of these messages.
    pub deliveries: u64,
    /// Deliveries that were tried and put off.
    pub deferred: u64,
    /// Why the first of these was put off.
    pub reason: Option<String>,
}

/// A line of `postqueue -j`. Source: postqueue(1), "JSON OBJECT FORMAT".
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    recipients: Vec<Recipient>,
}

#[derive(Deserialize)]
struct Recipient {
    delay_reason: Option<String>,
}

impl Queue {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// The queue that Exim prints: a message's own line begins with its age, those of its recipients
    /// are set in, and recipients that have it are marked with `D`. Source: the Exim specification,
    /// 5.2, `-bp`.
    pub(crate) fn of_exim(lines: &str) -> Self {
        let mut queue = Self::default();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["D", ..] => {}
                [_] => queue.deliveries += 1,
                _ => queue.messages += 1,
            }
        }
        queue
    }

    /// The queue that Postfix prints; a line that is no message is one all the same, because an
    /// empty queue is a promise.
    pub(crate) fn of_postfix(lines: &str) -> Self {
        let mut queue = Self::default();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            queue.messages += 1;
            let entry: Option<Entry> = serde_json::from_str(line).ok();
            let recipients = entry.map_or_else(Vec::new, |entry| entry.recipients);
            queue.deliveries += u64::try_from(recipients.len()).unwrap_or(u64::MAX);
            for reason in recipients.into_iter().filter_map(|one| one.delay_reason) {
                queue.deferred += 1;
                queue.reason.get_or_insert(reason);
            }
        }
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_that_have_a_message_are_not_waiting() {
        let lines = concat!(
            " 0m  2.9K 1pZ5C6-0000c8-00 <u0000@test.invalid>\n",
            "        D u0001@test.invalid\n",
            "          u0002@test.invalid\n\n",
            "25m  1.0K 1pZ5C7-0000c8-01 <> *** frozen ***\n",
            "          u0003@test.invalid\n",
        );
        let queue = Queue::of_exim(lines);
        assert_eq!((queue.messages, queue.deliveries), (2, 2));
        assert!(Queue::of_exim("").is_empty());
    }

    #[test]
    fn deliveries_are_counted_by_recipient() {
        let lines = concat!(
            r#"{"queue_name": "active", "queue_id": "A1", "arrival_time": 1, "message_size": 9, "forced_expire": false, "sender": "a@test.invalid", "recipients": [{"address": "b@test.invalid"}, {"address": "c@test.invalid"}]}"#,
            "\n",
            r#"{"queue_name": "deferred", "queue_id": "A2", "sender": "a", "recipients": [{"address": "d", "delay_reason": "connection refused"}]}"#,
            "\n\nnot JSON\n"
        );
        let queue = Queue::of_postfix(lines);
        assert_eq!((queue.messages, queue.deliveries, queue.deferred), (3, 3, 1));
        assert_eq!(queue.reason.as_deref(), Some("connection refused"));
        assert!(!queue.is_empty());
        assert!(Queue::of_postfix("\n").is_empty());
    }
}
