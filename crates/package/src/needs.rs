//! What a built program needs, as its dynamic section says: the machine, the libraries, and of each
//! the newest version of a symbol.
//!
//! A program runs where every symbol that it asks for is at least as old as the library. Which
//! glibc it was built against does not matter; which of its symbols it uses does. Source: ELF gABI
//! and LSB, `SHT_GNU_verneed`.

use std::collections::BTreeMap;
use std::fmt;

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader};

/// A version of glibc: 2.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GlibcVersion(pub u32, pub u32);

impl GlibcVersion {
    /// What Debian 12 has. Source: packages.debian.org/bookworm/libc6.
    pub const DEBIAN_12: Self = Self(2, 36);

    /// From a symbol's version, such as `GLIBC_2.34` or `GLIBC_2.2.5`; `None` for other names.
    fn of_symbol(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
        let mut next = || numbers.next()?.parse().ok();
        Some(Self(next()?, next()?))
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Processors that brunt is packed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Machine {
    /// As Rust and GNU name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian names it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

/// What a program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The processor.
    pub machine: Machine,
    /// Shared libraries, sorted; none when it is linked statically.
    pub libraries: Vec<String>,
    /// The oldest glibc that has every symbol; `None` when it uses none.
    pub glibc: Option<GlibcVersion>,
    /// The library that has symbols of each version.
    symbol_file: BTreeMap<GlibcVersion, String>,
}

/// Why a file is not a program that can be packed.
#[derive(Debug, thiserror::Error)]
pub enum NeedsError {
    /// It is not an ELF file of 64 bits, or is cut off.
    #[error("is not a Linux program: {0}")]
    Elf(#[from] object::read::Error),
    /// It is for another processor.
    #[error("is for a processor that has no package (ELF machine {0})")]
    Machine(u16),
    /// A symbol asks for a private version.
    #[error("uses `{0}` of {1}, which belongs to one build of glibc alone")]
    Private(String, String),
}

impl Needs {
    /// What the program in `bytes` needs.
    ///
    /// # Errors
    /// [`NeedsError`] when it is no 64-bit program, or one for an unknown processor.
    pub fn of(bytes: &[u8]) -> Result<Self, NeedsError> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let machine = match header.e_machine(endian) {
            elf::EM_X86_64 => Machine::X86_64,
            elf::EM_AARCH64 => Machine::Aarch64,
            other => return Err(NeedsError::Machine(other.0)),
        };
        let sections = header.sections(endian, bytes)?;
        let mut libraries = Vec::new();
        for section in sections.iter() {
            let Some((entries, link)) = section.dynamic(endian, bytes)? else {
                continue;
            };
            let strings = sections.strings(endian, bytes, link)?;
            for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
                libraries.push(text(entry.string(endian, strings)?));
            }
        }
        libraries.sort();
        let mut symbol_file = BTreeMap::new();
        if let Some((mut files, link)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            while let Some((file, mut versions)) = files.next()? {
                let library = text(file.file(endian, strings)?);
                while let Some(version) = versions.next()? {
                    let name = text(version.name(endian, strings)?);
                    if name == "GLIBC_PRIVATE" {
                        return Err(NeedsError::Private(name, library));
                    }
                    if let Some(version) = GlibcVersion::of_symbol(&name) {
                        symbol_file.insert(version, library.clone());
                    }
                }
            }
        }
        Ok(Self { machine, libraries, glibc: symbol_file.keys().next_back().copied(), symbol_file })
    }

    /// Made-up ones.
    #[cfg(test)]
    pub(crate) fn new(
        machine: Machine,
        libraries: Vec<String>,
        glibc: Option<GlibcVersion>,
    ) -> Self {
        Self { machine, libraries, glibc, symbol_file: BTreeMap::new() }
    }

    /// Whether it brings its own C library.
    pub fn is_static(&self) -> bool {
        self.libraries.is_empty()
    }

    /// The library whose symbol asks for the newest glibc.
    pub fn newest_of(&self) -> Option<&str> {
        let (_, library) = self.symbol_file.last_key_value()?;
        Some(library)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let of = GlibcVersion::of_symbol;
        assert!(of("GLIBC_2.2.5") < of("GLIBC_2.14"));
        assert!(of("GLIBC_2.9") < of("GLIBC_2.36"));
        assert_eq!(of("GLIBC_2.36"), Some(GlibcVersion::DEBIAN_12));
        assert_eq!((of("GCC_3.0"), of("GLIBC_"), of("GLIBC_2")), (None, None, None));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF"] {
            assert!(matches!(Needs::of(bytes), Err(NeedsError::Elf(_))));
        }
    }
}
