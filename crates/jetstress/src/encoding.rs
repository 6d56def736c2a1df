//! The text of an XML file. Jetstress writes UTF-8 or UTF-16, with or without a byte-order mark.

/// The text in `bytes`; `None` when it is neither UTF-8 nor UTF-16.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    let utf_16 = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok())?
    };
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes)?,
        [b'<', 0, ..] => utf_16(bytes, u16::from_le_bytes)?,
        [0, b'<', ..] => utf_16(bytes, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok()?,
        _ => String::from_utf8(bytes.to_vec()).ok()?,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_jetstress_writes_is_read() {
        const TEXT: &str = "<?xml version=\"1.0\"?><a>Größe</a>";
        let units = |of: fn(u16) -> [u8; 2]| TEXT.encode_utf16().flat_map(of).collect::<Vec<u8>>();
        let (little, big) = (units(u16::to_le_bytes), units(u16::to_be_bytes));
        let with = |mark: &[u8], rest: &[u8]| [mark, rest].concat();
        for bytes in [
            TEXT.as_bytes().to_vec(),
            with(&[0xef, 0xbb, 0xbf], TEXT.as_bytes()),
            with(&[0xff, 0xfe], &little),
            with(&[0xfe, 0xff], &big),
            little,
            big,
        ] {
            assert_eq!(decoded(&bytes).as_deref(), Some(TEXT));
        }
        for bytes in [&[0xff, 0xfe, b'<'][..], &[0xff, 0xfe, 0, 0xd8], &[b'<', 0xff]] {
            assert_eq!(decoded(bytes), None);
        }
    }
}
