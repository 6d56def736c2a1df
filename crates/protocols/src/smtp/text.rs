//! The text of a message on its way: dots doubled (RFC 5321 section 4.5.2), whatever its chunks.

/// Doubles dots at the beginnings of lines, and ends the text.
#[derive(Debug, Default)]
pub(crate) struct Stuffing {
    before: Before,
    sent: u64,
}

/// What stood before the next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// Nothing, or CRLF: a line begins.
    #[default]
    Line,
    Cr,
    Other,
}

impl Stuffing {
    /// Appends `chunk` to `out`.
    pub(crate) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        self.sent += chunk.len() as u64;
        let mut rest = chunk;
        while let Some(first) = rest.first() {
            if self.before == Before::Line && *first == b'.' {
                out.push(b'.');
            }
            // Whole runs up to the next LF; only there a line may begin.
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            let (run, after) = rest.split_at(end);
            self.before = match run {
                [.., b'\r', b'\n'] => Before::Line,
                [b'\n'] if self.before == Before::Cr => Before::Line,
                [.., b'\r'] => Before::Cr,
                _ => Before::Other,
            };
            out.extend_from_slice(run);
            rest = after;
        }
    }

    /// Appends the end of the text: a line with a dot, on a line of its own.
    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        if self.before != Before::Line {
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b".\r\n");
    }

    /// Bytes of the text so far, without doubled dots.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a server makes of the text, the obvious way.
    fn unstuffed(wire: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut rest = wire;
        loop {
            let end = rest.windows(2).position(|two| two == b"\r\n")? + 2;
            let (line, after) = rest.split_at(end);
            match line {
                b".\r\n" => return after.is_empty().then_some(text),
                [b'.', rest @ ..] => text.extend_from_slice(rest),
                line => text.extend_from_slice(line),
            }
            rest = after;
        }
    }

    fn letters() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b".\r\nab".to_vec()), 0..40)
    }

    #[test]
    fn only_dots_that_begin_lines_are_doubled() {
        let mut out = Vec::new();
        let mut text = Stuffing::default();
        for piece in [&b".a\r"[..], b"\n", b"..\r\nb.\n.c\r\r\n.", b"\r\n"] {
            text.push(piece, &mut out);
        }
        text.end(&mut out);
        assert_eq!(out, b"..a\r\n...\r\nb.\n.c\r\r\n..\r\n.\r\n");
        assert_eq!(text.sent(), 19);
    }

    proptest! {
        #[test]
        fn a_server_gets_the_text_back(text in letters(), cuts in proptest::collection::vec(1_usize..9, 1..9)) {
            let (mut out, mut stuffing) = (Vec::new(), Stuffing::default());
            let mut rest = text.as_slice();
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at(rest.len().min(*cut));
                stuffing.push(piece, &mut out);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            stuffing.end(&mut out);
            let is_whole = text.is_empty() || text.ends_with(b"\r\n");
            let want = [text.as_slice(), if is_whole { b"" } else { b"\r\n" }].concat();
            prop_assert_eq!(unstuffed(&out), Some(want));
        }
    }
}
