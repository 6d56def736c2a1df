//! Anything may arrive, in any pieces: the same events, no panic, little memory.

use brunt_protocols::smtp::{Dialect, Transfer};
use proptest::prelude::*;

use super::robot::{Seen, imap, smtp};

/// Fragments of replies, good and bad, and any bytes.
fn smtp_bytes() -> impl Strategy<Value = Vec<u8>> {
    let fragments = [
        "220 hello\r\n",
        "250-a\r\n",
        "250 a\r\n",
        "250-PIPELINING\r\n",
        "250-SIZE 99\r\n",
        "250 ok\r\n",
        "250 2.0.0 ok\r\n",
        "354 go\r\n",
        "550 no\r\n",
        "451 later\r\n",
        "421 bye\r\n",
        "250-STARTTLS\r\n",
        "250-AUTH PLAIN LOGIN SCRAM-SHA-256\r\n",
        "235 in\r\n",
        "334 \r\n",
        "334 VXNlcg==\r\n",
        "221 bye\r\n",
        "250",
        "\r",
        "\n",
        "-",
        "\0",
        "* OK\r\n",
        "\r\n",
    ];
    bytes_of(fragments.map(str::as_bytes).to_vec())
}

fn imap_bytes() -> impl Strategy<Value = Vec<u8>> {
    let fragments = [
        "* OK hi\r\n",
        "* PREAUTH [CAPABILITY LITERAL+] hi\r\n",
        "* BYE out\r\n",
        "+ go\r\n",
        "+ \r\n",
        "b1 OK in\r\n",
        "b2 OK [READ-WRITE] x\r\n",
        "b3 OK x\r\n",
        "b4 OK x\r\n",
        "b5 NO x\r\n",
        "b9 OK x\r\n",
        "* 3 EXISTS\r\n",
        "* 1 FETCH (UID 1 BODY[] {4}\r\nabcd)\r\n",
        "* 1 FETCH (UID 1 BODY[] {9}\r\nabcd",
        "* 2 FETCH (BODY[TEXT]<0> {0}\r\n)\r\n",
        "* LIST (\\A) \"/\" {3}\r\nabc\r\n",
        "* LIST (\\A) NIL \"x\r\n",
        "{5}\r\n",
        "{4294967296}\r\n",
        "* SEARCH 1 2 3\r\n",
        "* STATUS a (MESSAGES 1)\r\n",
        "(((",
        "\"",
        "\0",
        "\n",
        "\r\n",
        "* ",
        "* NAMESPACE ((\"\" \"/\")) NIL NIL\r\n",
        "* VANISHED (EARLIER) 1:3\r\n",
        "* 1 FETCH (",
        "[",
        "* ESEARCH (TAG \"b1\") UID ALL 1:3\r\n",
        "{3}\r\nabc",
        "X-A {2}\r\nab",
        ")\r\n",
    ];
    bytes_of(fragments.map(str::as_bytes).to_vec())
}

fn bytes_of(fragments: Vec<&'static [u8]>) -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        9 => proptest::sample::select(fragments).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(fragment, 0..20).prop_map(|parts| parts.concat())
}

/// The bytes cut at these places.
fn cut<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.len().min(*length));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1_usize..30, 1..8)
}

/// The same but for what a failure shows: of bytes before TLS only as many as had come.
fn same(one: &Seen, other: &Seen) -> bool {
    let kind = |seen: &Seen| seen.failure.as_ref().map(|failure| failure.kind);
    one.events == other.events && one.sent == other.sent && kind(one) == kind(other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn smtp_hears_the_same_in_any_pieces(bytes in smtp_bytes(), lengths in lengths()) {
        for dialect in [Dialect::Smtp, Dialect::Lmtp] {
            for transfer in [Transfer::Data, Transfer::Chunk] {
                let whole = smtp(dialect, transfer, &[&bytes]);
                let pieces = smtp(dialect, transfer, &cut(&bytes, &lengths));
                prop_assert!(same(&whole, &pieces), "{whole:?}\n{pieces:?}");
            }
        }
    }

    #[test]
    fn imap_hears_the_same_in_any_pieces(bytes in imap_bytes(), lengths in lengths()) {
        let begun = [b"* OK [CAPABILITY IMAP4rev1] hi\r\nb1 OK in\r\nb2 OK x\r\n", bytes.as_slice()];
        for bytes in [bytes.clone(), begun.concat()] {
            let whole = imap(&[&bytes]);
            let pieces = imap(&cut(&bytes, &lengths));
            prop_assert!(same(&whole, &pieces), "{whole:?}\n{pieces:?}");
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, lengths in lengths()) {
        smtp(Dialect::Smtp, Transfer::Data, &cut(&bytes, &lengths));
        let begun = [b"* OK hi\r\nb1 OK in\r\n", bytes.as_slice()].concat();
        imap(&cut(&begun, &lengths));
    }
}
