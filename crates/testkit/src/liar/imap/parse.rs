//! Commands, as words, texts and brackets.

use super::super::wire::Wire;

const LITERAL_MAX: usize = 64 << 20;

/// A piece of a command's arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// Quoted, or a literal.
    Text(Vec<u8>),
    Open,
    Close,
}

impl Token {
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(its) if its.eq_ignore_ascii_case(word))
    }

    /// The word, when it is a set of numbers.
    pub(super) fn as_set(&self) -> Option<&str> {
        match self {
            Self::Word(word) if word.starts_with(|c: char| c.is_ascii_digit() || c == '*') => {
                Some(word)
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) tag: String,
    /// In capitals, without `UID`.
    pub(super) name: String,
    pub(super) is_uid: bool,
    pub(super) tokens: Vec<Token>,
}

impl Command {
    /// Argument `index`, when it is a word.
    pub(super) fn word(&self, index: usize) -> Option<&str> {
        match self.tokens.get(index)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Argument `index`, quoted or not.
    pub(super) fn text(&self, index: usize) -> Option<&[u8]> {
        match self.tokens.get(index)? {
            Token::Word(word) => Some(word.as_bytes()),
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// All words that are flags.
    pub(super) fn flags(&self) -> Vec<String> {
        let words = self.tokens.iter().skip(1).filter_map(|token| match token {
            Token::Word(word) if word.starts_with(['\\', '$']) => Some(word.clone()),
            _ => None,
        });
        words.collect()
    }
}

/// The next command with its literals; `None` when the connection ends.
pub(super) async fn read_command(wire: &mut Wire) -> Option<Command> {
    let mut tokens = Vec::new();
    loop {
        let line = wire.line().await?;
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        let literal = literal_at_end(&line);
        let text = literal.map_or(&line[..], |(_, _, before)| before);
        tokenize(text, &mut tokens);
        let Some((count, is_sync, _)) = literal else { break };
        if count > LITERAL_MAX {
            return None;
        }
        if is_sync {
            wire.write(b"+ go on\r\n".to_vec()).await?;
        }
        tokens.push(Token::Text(wire.bytes(count).await?));
    }
    let mut tokens = tokens.into_iter();
    let mut word = || match tokens.next() {
        Some(Token::Word(word)) => word,
        _ => String::new(),
    };
    let tag = word();
    let mut name = word().to_ascii_uppercase();
    let is_uid = name == "UID";
    if is_uid {
        name = word().to_ascii_uppercase();
    }
    Some(Command { tag, name, is_uid, tokens: tokens.collect() })
}

/// Length of the literal that a line announces, whether the client waits, and what stands before.
fn literal_at_end(line: &str) -> Option<(usize, bool, &str)> {
    let (before, number) = line.strip_suffix('}')?.rsplit_once('{')?;
    let plain = number.strip_suffix('+');
    let count = plain.unwrap_or(number).parse().ok()?;
    Some((count, plain.is_none(), before))
}

fn tokenize(text: &str, tokens: &mut Vec<Token>) {
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            ' ' => {}
            '(' => tokens.push(Token::Open),
            ')' => tokens.push(Token::Close),
            '"' => {
                let mut quoted = String::new();
                while let Some(next) = rest.next() {
                    match next {
                        '"' => break,
                        '\\' => quoted.extend(rest.next()),
                        other => quoted.push(other),
                    }
                }
                tokens.push(Token::Text(quoted.into_bytes()));
            }
            first => {
                // Blanks and brackets within [...] belong to the word.
                let mut word = String::from(first);
                let mut depth = i32::from(first == '[');
                while let Some(next) = rest.peek() {
                    match next {
                        '[' => depth += 1,
                        ']' => depth -= 1,
                        ' ' | '(' | ')' if depth <= 0 => break,
                        _ => {}
                    }
                    word.extend(rest.next());
                }
                tokens.push(Token::Word(word));
            }
        }
    }
}

/// Whether `number` is in a set like `1:4,7,9:*`, where `*` is `last`.
pub(super) fn is_in(set: &str, number: u32, last: u32) -> bool {
    let end = |text: &str| if text == "*" { Some(last) } else { text.parse().ok() };
    set.split(',').any(|range| {
        let (from, to) = range.split_once(':').unwrap_or((range, range));
        match (end(from), end(to)) {
            (Some(from), Some(to)) => (from.min(to)..=from.max(to)).contains(&number),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_apart() {
        let mut tokens = Vec::new();
        tokenize("1:* (FLAGS BODY.PEEK[HEADER.FIELDS (A B)]<0.5>) \"a \\\"b\"", &mut tokens);
        let word = |word: &str| Token::Word(word.into());
        let expected = [
            word("1:*"),
            Token::Open,
            word("FLAGS"),
            word("BODY.PEEK[HEADER.FIELDS (A B)]<0.5>"),
            Token::Close,
            Token::Text(b"a \"b".to_vec()),
        ];
        assert_eq!(tokens, expected);
        assert_eq!(literal_at_end("a LOGIN {5+}"), Some((5, false, "a LOGIN ")));
        assert!(is_in("2:4,9:*", 11, 12) && is_in("*", 12, 12) && !is_in("2:4", 5, 9));
    }
}
