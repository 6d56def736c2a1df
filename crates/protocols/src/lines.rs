//! Lines of SMTP and LMTP replies: CRLF ends one, nothing else does, and none is longer than needed.

use crate::Kind;

/// Bytes of the longest line that is read. RFC 5321 section 4.5.3.1.5 allows 512; challenges of
/// authentication need more (RFC 4954 section 4: 12,288 on the client's side).
pub(crate) const LINE_MAX: usize = 4096;

/// Cuts bytes into lines. Holds at most one line that has not ended.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
}

impl Lines {
    /// Takes bytes from `input` up to the end of a line, and returns the line without its end.
    ///
    /// # Errors
    /// The kind of what is wrong, with the line as far as it came.
    pub(crate) fn take(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, (Kind, Vec<u8>)> {
        let end = input.iter().position(|byte| *byte == b'\n');
        let part = input.split_off(..end.map_or(input.len(), |at| at + 1)).unwrap_or_default();
        // What a line holds counts, not how it was cut: the rest of one that is too long is seen
        // with its end or without.
        let room = (LINE_MAX + 2).saturating_sub(self.held.len());
        self.held.extend_from_slice(part.get(..room).unwrap_or(part));
        let is_too_long = part.len() > room;
        if self.held.contains(&0) {
            return Err((Kind::Nul, self.take_until(|byte| byte == 0)));
        }
        if is_too_long {
            self.held.truncate(LINE_MAX);
            return Err((Kind::LineTooLong, std::mem::take(&mut self.held)));
        }
        if end.is_none() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.held);
        line.pop();
        match line.pop_if(|byte| *byte == b'\r') {
            Some(_) => Ok(Some(line)),
            None => Err((Kind::LoneLineFeed, line)),
        }
    }

    fn take_until(&mut self, is_end: impl Fn(u8) -> bool) -> Vec<u8> {
        let mut line = std::mem::take(&mut self.held);
        let end = line.iter().position(|byte| is_end(*byte));
        line.truncate(end.map_or(line.len(), |at| at + 1));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Result<Vec<u8>, (Kind, usize)>> {
        let (mut lines, mut taken) = (Lines::default(), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            while !input.is_empty() {
                match lines.take(&mut input) {
                    Ok(line) => taken.extend(line.map(Ok)),
                    Err((kind, line)) => {
                        taken.push(Err((kind, line.len())));
                        return taken;
                    }
                }
            }
        }
        taken
    }

    #[test]
    fn lines_end_in_crlf() {
        assert_eq!(
            all(&[b"a\r\nb", b"c\r", b"\n\r\n"]),
            [Ok(b"a".to_vec()), Ok(b"bc".to_vec()), Ok(vec![])]
        );
        assert_eq!(all(&[b"a\nb\r\n"]), [Err((Kind::LoneLineFeed, 1))]);
        assert_eq!(all(&[b"a\0b\r\n"]), [Err((Kind::Nul, 2))]);
        assert_eq!(all(&[b"a\rb\r\n"]), [Ok(b"a\rb".to_vec())]);
        let longest = [vec![b'x'; LINE_MAX], b"\r\n".to_vec()].concat();
        assert_eq!(all(&[&longest]), [Ok(vec![b'x'; LINE_MAX])]);
        let endless = vec![b'x'; LINE_MAX + 3];
        assert_eq!(all(&[&endless]), [Err((Kind::LineTooLong, LINE_MAX))]);
        let pieces: Vec<_> = endless.chunks(7).collect();
        assert_eq!(all(&pieces), [Err((Kind::LineTooLong, LINE_MAX))]);
    }
}
