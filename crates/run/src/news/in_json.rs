//! The JSON form of sizes and spans in news: bytes as integers, spans as seconds or milliseconds,
//! exact to the nanosecond up to a hundred days.

use brunt_units::{ByteSize, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What earlier programs left out.
pub(crate) fn yes() -> bool {
    true
}

macro_rules! written {
    ($name:ident: $type:ty as $plain:ty, $to:expr, $from:expr) => {
        pub(crate) mod $name {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(
                value: &$type,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                let plain: fn(&$type) -> $plain = $to;
                plain(value).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$type, D::Error> {
                <$plain>::deserialize(from).map($from)
            }
        }
    };
}

written!(bytes: ByteSize as u64, |size| size.get(), ByteSize::bytes);
written!(sizes: Vec<ByteSize> as Vec<u64>,
    |sizes| sizes.iter().map(|size| size.get()).collect(),
    |sizes| sizes.into_iter().map(ByteSize::bytes).collect());
written!(seconds: Span as f64, |span| span.as_seconds(), Span::from_seconds);
written!(maybe_seconds: Option<Span> as Option<f64>,
    |span| span.map(Span::as_seconds),
    |seconds| seconds.map(Span::from_seconds));
written!(maybe_millis: Option<Span> as Option<f64>,
    |span| span.map(Span::as_millis),
    |millis| millis.map(|millis| Span::from_seconds(millis / 1e3)));
