//! Normalised keys: column values as bytes that compare like the values do.
//!
//! ```text
//!    key       the segments of an index, one after another, truncated to the index's maximum key length
//!    segment   0x00                      NULL
//!              0x40                      no bytes (text and binary)
//!              0x7F | value              anything else
//!
//!    value     unsigned numbers          big-endian
//!              signed numbers            big-endian, sign bit flipped
//!              GUID                      its stored bytes in the order 10-15 8 9 6 7 4 5 0-3
//!              binary (not fixed)        groups of 8: each full one that has a successor is followed by 0x09, the
//!                                        last is padded with zeroes and followed by its length, 1 to 8
//!              text, single-byte         up to the first zero, a-z as A-Z, then a zero
//! ```
//!
//! Not supported: floating-point columns and descending segments, which we do not index, and
//! Unicode text, whose order follows Windows' tables; a binary column serves instead.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/fldnorm.cxx.

/// Default maximum length of an index's keys.
pub const KEY_BYTES_MAX: usize = 255;

const NULL: u8 = 0x00;
const EMPTY: u8 = 0x40;
const VALUE: u8 = 0x7F;
const GROUP: usize = 8;
const MORE: u8 = 9;
const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

/// A key under construction: segments are added in the index's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyBuilder {
    bytes: Vec<u8>,
}

impl KeyBuilder {
    /// A key without segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column without a value.
    #[must_use]
    pub fn null(self) -> Self {
        self.with(&[NULL])
    }

    /// Adds an `UnsignedByte`.
    #[must_use]
    pub fn unsigned_8(self, value: u8) -> Self {
        self.value(&[value])
    }

    /// Adds an `UnsignedLong`.
    #[must_use]
    pub fn unsigned_32(self, value: u32) -> Self {
        self.value(&value.to_be_bytes())
    }

    /// Adds an `UnsignedLongLong`.
    #[must_use]
    pub fn unsigned_64(self, value: u64) -> Self {
        self.value(&value.to_be_bytes())
    }

    /// Adds a `Bit`.
    #[must_use]
    pub fn bit(self, value: bool) -> Self {
        self.value(&[if value { 0xFF } else { 0 }])
    }

    /// Adds a `Short`.
    #[must_use]
    pub fn signed_16(self, value: i16) -> Self {
        self.value(&(value ^ i16::MIN).to_be_bytes())
    }

    /// Adds a `Long`.
    #[must_use]
    pub fn signed_32(self, value: i32) -> Self {
        self.value(&(value ^ i32::MIN).to_be_bytes())
    }

    /// Adds a `LongLong` or `Currency`.
    #[must_use]
    pub fn signed_64(self, value: i64) -> Self {
        self.value(&(value ^ i64::MIN).to_be_bytes())
    }

    /// Adds a `GUID`, in the bytes of the record.
    #[must_use]
    pub fn guid(self, guid: &[u8; 16]) -> Self {
        self.value(&GUID_ORDER.map(|at| guid[at]))
    }

    /// Adds a `Binary` or `LongBinary` of variable length.
    #[must_use]
    pub fn binary(mut self, value: &[u8]) -> Self {
        if value.is_empty() {
            return self.with(&[EMPTY]);
        }
        self.bytes.push(VALUE);
        let mut groups = value.chunks(GROUP).peekable();
        while let Some(group) = groups.next() {
            self.bytes.extend(group);
            if groups.peek().is_some() {
                self.bytes.push(MORE);
            } else {
                let padding = GROUP - group.len();
                self.bytes.resize(self.bytes.len() + padding, 0);
                self.bytes.push(u8::try_from(group.len()).expect("a group has 8 bytes"));
            }
        }
        self
    }

    /// Adds a `Text` with one byte per character.
    #[must_use]
    pub fn text(mut self, value: &[u8]) -> Self {
        if value.is_empty() {
            return self.with(&[EMPTY]);
        }
        self.bytes.push(VALUE);
        let letters = value.iter().take_while(|letter| **letter != 0);
        self.bytes.extend(letters.map(u8::to_ascii_uppercase));
        self.with(&[0])
    }

    /// The key, truncated to `longest` bytes.
    pub fn build(mut self, longest: usize) -> Vec<u8> {
        self.bytes.truncate(longest);
        self.bytes
    }

    fn value(mut self, bytes: &[u8]) -> Self {
        self.bytes.push(VALUE);
        self.with(bytes)
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }
}

/// The key of row `sequence`, from 1, of a table without a primary index.
pub fn sequence_key(sequence: u32) -> [u8; 4] {
    sequence.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(builder: KeyBuilder) -> Vec<u8> {
        builder.build(KEY_BYTES_MAX)
    }

    #[test]
    fn the_published_examples() {
        let new = KeyBuilder::new;
        assert_eq!(key(new().signed_32(8)), [0x7F, 0x80, 0, 0, 8]);
        assert_eq!(key(new().text(b"Id")), [0x7F, 0x49, 0x44, 0]);
        let ten: Vec<u8> = (0xB0..0xBA).collect();
        assert_eq!(
            key(new().binary(&ten)),
            [
                0x7F, 0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 9, 0xB8, 0xB9, 0, 0, 0, 0, 0,
                0, 2
            ]
        );
        assert_eq!(key(new().binary(&ten[..8])).len(), 10);
        assert_eq!(key(new().null().binary(b"").bit(true)), [0, 0x40, 0x7F, 0xFF]);
        assert_eq!(new().signed_64(-1).build(3), [0x7F, 0x7F, 0xFF]);
    }

    #[test]
    fn a_guid_orders_by_its_last_group_first() {
        let mut guid = [0; 16];
        guid[10] = 1;
        assert_eq!(key(KeyBuilder::new().guid(&guid))[1], 1);
        guid[3] = 2;
        assert_eq!(key(KeyBuilder::new().guid(&guid))[16], 2);
    }

    proptest! {
        #[test]
        fn keys_order_like_values(
            a in (any::<i64>(), any::<i32>(), any::<i16>(), any::<u64>()),
            b in (any::<i64>(), any::<i32>(), any::<i16>(), any::<u64>()),
        ) {
            let whole = |v: (i64, i32, i16, u64)| {
                key(KeyBuilder::new().signed_64(v.0).signed_32(v.1).signed_16(v.2).unsigned_64(v.3))
            };
            prop_assert_eq!(whole(a).cmp(&whole(b)), a.cmp(&b));
        }

        #[test]
        fn binary_keys_order_like_bytes_and_end_themselves(
            a in proptest::collection::vec(0_u8..4, 0..20),
            b in proptest::collection::vec(0_u8..4, 0..20),
            c in any::<i32>(),
            d in any::<i32>(),
        ) {
            // A later segment must not change the order of earlier ones.
            let whole = |v: &[u8], next| key(KeyBuilder::new().binary(v).signed_32(next));
            prop_assert_eq!(whole(&a, c).cmp(&whole(&b, d)), a.cmp(&b).then(c.cmp(&d)));
        }
    }
}
