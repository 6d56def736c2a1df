//! Base 64 (RFC 4648 section 4): what SASL writes into lines. Forty lines, against a crate more.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` in base 64, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(three.get(at).copied().unwrap_or_default())
        });
        for place in 0..4 {
            let index = bits >> (18 - 6 * place) & 63;
            text.push(match place <= three.len() {
                true => char::from(ALPHABET[index as usize]),
                false => '=',
            });
        }
    }
    text
}

/// The bytes that `text` stands for; `None` when it is not base 64 with padding.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len().div_ceil(4) * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for digit in digits {
        let value = ALPHABET.iter().position(|known| known == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xFF).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        let examples = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, text) in examples {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(plain.as_bytes()));
        }
        for wrong in ["Zg=", "Zg", "Z===", "====", "Zh==", "Zm9v!m9v", "Zg==Zg=="] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(bytes: Vec<u8>) {
            prop_assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes));
        }

        #[test]
        fn anything_is_decoded_or_refused(text: Vec<u8>) {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes).into_bytes(), text);
            }
        }
    }
}
