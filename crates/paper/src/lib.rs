//! The paper about a storage solution, in the order of an ESRP submission: made from run folders
//! that travel inside it, so that anybody can make it again and compare.
//!
//! ```text
//!   run folders -> Evidence -> Paper (blocks) -> PDF, with the evidence attached     [`Paper::to_pdf`]
//!                     ^                       -> HTML, for reading only              [`Paper::to_html`]
//!                     |
//!   PDF ------> attachments, within limits -> the same way again -> compared         [`verify`]
//! ```
//!
//! * [`evidence`]: the files of runs, their digests, what is shortened or redacted.
//! * [`audit`]: whether results follow from their tables, sums from their parts, and verdicts from
//!   their rules.
//! * `modelled`: the storage of a prediction, from its scenario; `claims`: whether `[solution]` and
//!   `[design]` can be true of what was tested; `margin`: what a search found.
//! * `handover`: which runs of a folder are handed over.
//! * `content`: what a paper says, one file for each section.
//! * `pdf`: layout and writing; `html`: the same blocks as a page.
//! * [`verify`]: reading a PDF that may come from anywhere.
//!
//! Invariants: nothing here reads a clock or a file, equal evidence gives equal bytes, and nothing
//! found in a PDF is executed.

pub mod audit;
mod block;
mod claims;
mod content;
pub mod evidence;
mod handover;
mod html;
mod margin;
mod modelled;
mod numbers;
mod paper;
mod pdf;
pub mod verify;

pub use content::{SignOff, SignedFigure, SignedTest};
pub use evidence::{Evidence, RunFiles};
pub use handover::Handover;
pub use paper::{Paper, PaperError};

/// Whether `bytes` are a PDF, by their first ones.
pub fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}

/// Whether `bytes` are a PDF that names brunt as its producer. It says nothing about the content.
pub fn is_paper(bytes: &[u8]) -> bool {
    let mark = pdf::PRODUCER.as_bytes();
    is_pdf(bytes) && bytes.windows(mark.len()).any(|window| window == mark)
}

/// Whether `bytes` are a page of brunt.
pub fn is_page(bytes: &[u8]) -> bool {
    let mark = br#"<meta name="generator" content="brunt">"#;
    let head = &bytes[..bytes.len().min(512)];
    head.windows(mark.len()).any(|window| window == mark)
}
