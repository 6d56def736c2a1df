//! What a server offers in its reply to EHLO or LHLO.

use crate::sasl::Mechanism;

/// The extensions that the client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Several commands may be sent before the first reply (RFC 2920).
    pub pipelining: bool,
    /// Texts of 8 bit (RFC 6152).
    pub eight_bit: bool,
    /// Sizes may be declared (RFC 1870); the largest one, if there is a limit.
    pub size: Option<Option<u64>>,
    /// Texts by BDAT (RFC 3030).
    pub chunking: bool,
    /// TLS on this connection (RFC 3207).
    pub start_tls: bool,
    /// The mechanisms of AUTH that the client knows, in the server's order (RFC 4954).
    pub mechanisms: Vec<Mechanism>,
}

impl Offered {
    /// The largest text that the server takes, if it says so.
    pub fn largest(&self) -> Option<u64> {
        self.size.flatten()
    }

    /// Reads one line of the reply, without its code.
    pub(crate) fn read(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        let mut words = line.split([' ', '=']).filter(|word| !word.is_empty());
        let Some(keyword) = words.next() else {
            return;
        };
        match keyword.to_ascii_uppercase().as_str() {
            "PIPELINING" => self.pipelining = true,
            "8BITMIME" => self.eight_bit = true,
            "CHUNKING" => self.chunking = true,
            "STARTTLS" => self.start_tls = true,
            "SIZE" => {
                let limit = words.next().and_then(|limit| limit.parse().ok());
                self.size = Some(limit.filter(|limit| *limit > 0));
            }
            // `AUTH=` is how servers before the standard wrote it; some still send both.
            "AUTH" => {
                for mechanism in words.filter_map(Mechanism::named) {
                    if !self.mechanisms.contains(&mechanism) {
                        self.mechanisms.push(mechanism);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_read_whatever_their_case() {
        let mut offered = Offered::default();
        let lines = [
            "PIPELINING",
            "size 52428800",
            "ETRN",
            "STARTTLS",
            "AUTH PLAIN LOGIN",
            "AUTH=PLAIN CRAM-MD5 scram-sha-256",
            "8BITMIME",
            "CHUNKING",
            "",
        ];
        lines.iter().for_each(|line| offered.read(line.as_bytes()));
        offered.read(b"\xff\xfe");
        assert_eq!(
            offered,
            Offered {
                pipelining: true,
                eight_bit: true,
                size: Some(Some(52_428_800)),
                chunking: true,
                start_tls: true,
                mechanisms: vec![Mechanism::Plain, Mechanism::Login, Mechanism::ScramSha256],
            }
        );
        for no_limit in ["SIZE", "SIZE 0", "SIZE x", "SIZE 99999999999999999999999"] {
            let mut offered = Offered::default();
            offered.read(no_limit.as_bytes());
            assert_eq!((offered.size, offered.largest()), (Some(None), None), "{no_limit}");
        }
    }
}
