//! What is handed out: from a built program and the texts beside it to a tarball, a Debian package
//! and a container file.
//!
//! ```text
//!   program ──► needs        which machine, which libraries, how new a glibc
//!   manual ───► release: man pages, completions
//!   texts ────►          ───► archive (.tar.gz) ──► debian (.deb)
//! ```
//!
//! Bytes in, bytes out: callers read and write the files. Equal inputs give equal bytes:
//! entries are sorted, owners are root, and every time is the one that was handed in.
//!
//! Not taken: `dpkg-deb`, `cargo-deb` and `strip`. Each would have to be installed where a release
//! is made.

pub mod archive;
mod debian;
pub mod needs;
pub mod release;

pub use archive::Files;
pub use needs::{GlibcVersion, Needs, NeedsError};
pub use release::{Manual, Packed, Release, ReleaseError};
