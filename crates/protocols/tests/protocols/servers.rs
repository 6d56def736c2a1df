//! What Dovecot 2.3.19 and Cyrus IMAP 3.6.1 say, read whole.
//!
//! Each file begins with the server's greeting; then come answers to commands, each after a line
//! `== NAME`. `TAG` stands for the command's tag.

use std::collections::BTreeMap;

use brunt_protocols::imap::{Client, Command, Event, Oddity, Response};

struct Heard {
    /// How many events of each kind.
    kinds: BTreeMap<String, u32>,
    responses: Vec<Response>,
    oddities: Vec<(Oddity, u64, String)>,
    texts: Vec<usize>,
    endings: Vec<String>,
}

/// Reads the file, cut into pieces of `piece` bytes.
fn replay(file: &[u8], piece: usize) -> Heard {
    let mut heard = Heard {
        kinds: BTreeMap::new(),
        responses: Vec::new(),
        oddities: Vec::new(),
        texts: Vec::new(),
        endings: Vec::new(),
    };
    let mut client = Client::new();
    let crlf: Vec<u8> = file
        .split_inclusive(|byte| *byte == b'\n')
        .flat_map(|line| {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            [text, b"\r\n"].concat()
        })
        .collect();
    for (number, block) in split(&crlf, b"== ").into_iter().enumerate() {
        let mut bytes = block.to_vec();
        if number > 0 {
            // The answer to any command that is asked to go on is the same.
            let is_asked = block.windows(3).any(|part| part == b"\n+ ");
            let is_last = block.windows(6).any(|part| part == b"\n* BYE");
            client.command(match (is_asked, is_last) {
                (true, _) => Command::Idle,
                (_, true) => Command::Logout,
                _ => Command::Noop,
            });
            let tag = format!("b{number} ");
            let line = block.iter().position(|byte| *byte == b'\n').expect("a name") + 1;
            bytes = block[line..].to_vec();
            let at = bytes.windows(6).position(|part| part == b"\r\nTAG ").map(|at| at + 2);
            let at = at.unwrap_or_default();
            assert_eq!(&bytes[at..at + 4], b"TAG ");
            bytes.splice(at..at + 4, tag.into_bytes());
        }
        for piece in bytes.chunks(piece) {
            let mut input = piece;
            while let Some(event) = client.receive(&mut input).expect("a good server") {
                note(&mut heard, event);
            }
        }
        assert!(!client.is_busy(), "block {number} has ended");
    }
    let oddities = client.oddities().iter();
    heard.oddities = oddities.map(|(kind, (count, line))| (*kind, *count, line.clone())).collect();
    heard
}

fn note(heard: &mut Heard, event: Event<'_>) {
    let text = format!("{event:?}");
    let end = text.find(['(', ' ', '{']).unwrap_or(text.len());
    let kind = match &event {
        Event::Data(response) => {
            let text = format!("{response:?}");
            text[..text.find(['(', ' ', '{']).unwrap_or(text.len())].to_owned()
        }
        _ => text[..end].to_owned(),
    };
    match event {
        Event::Text(chunk) => {
            *heard.texts.last_mut().expect("a text has begun") += chunk.len();
            return;
        }
        Event::TextBegins { .. } => heard.texts.push(0),
        Event::Data(response) => heard.responses.push(response),
        Event::Done(done) => heard.endings.push(format!("{:?} {:?}", done.status, done.code)),
        _ => {}
    }
    *heard.kinds.entry(kind).or_default() += 1;
}

/// The parts of `bytes`, each but the first beginning with `mark` on a line of its own.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let begins =
        (1..bytes.len()).filter(|at| bytes[*at - 1] == b'\n' && bytes[*at..].starts_with(mark));
    let mut places: Vec<_> = [0].into_iter().chain(begins).collect();
    places.push(bytes.len());
    places.windows(2).map(|two| &bytes[two[0]..two[1]]).collect()
}

#[test]
fn everything_that_dovecot_says_is_read() {
    let file = include_bytes!("servers/dovecot.txt");
    let heard = replay(file, usize::MAX);
    let odd: Vec<_> = heard.oddities.iter().map(|(kind, count, _)| (*kind, *count)).collect();
    // SORT, which nobody here asks for.
    assert_eq!(odd, [(Oddity::Unknown, 1)], "{:?}", heard.oddities);
    assert_eq!(heard.texts[..4], [767, 140, 91, 10], "the first message's sections");
    assert!(heard.endings.iter().any(|ending| ending.contains("Modified")), "{:?}", heard.endings);
    let has = |wanted: fn(&Response) -> bool| heard.responses.iter().any(wanted);
    assert!(has(|response| matches!(response, Response::Vanished(set, false) if set.count() == 1)));
    assert!(has(|response| matches!(response, Response::Search(found) if found == &[1, 2, 3])));
    assert!(has(|response| matches!(response, Response::Extended(found)
        if found.is_uid && found.count == Some(3) && found.max == Some(3))));
    assert!(has(|response| matches!(response, Response::Namespace(namespace)
        if namespace.personal == [(Vec::new(), Some('/'))])));
    assert!(has(|response| matches!(response, Response::Fetch(fetch)
        if fetch.uid == Some(1) && fetch.modseq == Some(4) && fetch.size == Some(767)
            && fetch.internal_date.as_deref() == Some("26-Nov-2026 10:00:00 +0000"))));
    assert!(has(|response| matches!(response, Response::Capability(able)
        if able.moves && able.uid_plus && able.idle && able.namespace && able.literal_plus)));
    assert!(has(|response| matches!(response, Response::Counts(counts)
        if counts.name == b"INBOX" && counts.uid_next == Some(1)
            && counts.highest_modseq == Some(1))));
}

#[test]
fn everything_that_cyrus_says_is_read() {
    let heard = replay(include_bytes!("servers/cyrus.txt"), usize::MAX);
    let odd: Vec<_> = heard.oddities.iter().map(|(kind, count, _)| (*kind, *count)).collect();
    // QUOTAROOT.
    assert_eq!(odd, [(Oddity::Unknown, 1)], "{:?}", heard.oddities);
    assert_eq!(heard.texts[..4], [140, 767, 91, 10]);
    let has = |wanted: fn(&Response) -> bool| heard.responses.iter().any(wanted);
    assert!(has(|response| matches!(response, Response::Namespace(namespace)
        if namespace.foreign == [b"Other Users/".to_vec(), b"Shared Folders/".to_vec()])));
    assert!(has(|response| matches!(response, Response::Capability(able)
        if able.special_use && able.qresync)));
}

#[test]
fn how_reads_are_cut_changes_nothing() {
    for file in [&include_bytes!("servers/dovecot.txt")[..], include_bytes!("servers/cyrus.txt")] {
        let whole = replay(file, usize::MAX);
        for piece in [1, 2, 7, 100] {
            let cut = replay(file, piece);
            assert_eq!(cut.kinds, whole.kinds);
            assert_eq!(cut.responses, whole.responses);
            assert_eq!((cut.texts, cut.endings), (whole.texts.clone(), whole.endings.clone()));
        }
    }
}
