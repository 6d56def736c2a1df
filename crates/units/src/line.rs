//! Lines of telephone companies, by name.

/// A line, by its rate: framing is included, so that data get a little less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is called.
    pub name: &'static str,
    /// Bytes per second, in each direction.
    pub bytes_per_s: u64,
}

impl Line {
    /// T3 (DS3): 44.736 Mbit/s. Source: ANSI T1.102.
    pub const T3: Self = Self { name: "T3", bytes_per_s: 5_592_000 };
    /// OC-3: 155.52 Mbit/s. Source: ANSI T1.105.
    pub const OC3: Self = Self { name: "OC3", bytes_per_s: 19_440_000 };
    /// All of them, the slowest first.
    pub const ALL: [Self; 2] = [Self::T3, Self::OC3];
}
