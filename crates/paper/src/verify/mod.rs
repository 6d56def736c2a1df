//! Checks a paper: takes the evidence out of the PDF, makes the paper again, and compares the two.
//!
//! ```text
//!   PDF --[`read`]--> evidence --> paper --> PDF        within limits; nothing is written, nothing is executed
//!    |                                        |
//!    +--[`words`]----- texts ------ [`diff`] -+         each number that does not follow, with what is beside it
//!    +--[`graph`]----- objects ---------------+         everything else: drawings, fonts, tags, annotations
//! ```
//!
//! Objects are compared by what they are and not by their numbers or their compression, so a file that another program wrote anew
//! without changing it is still a whole paper. A paper by another version of brunt may be laid out in another way: then only the
//! words are compared, and a difference is no proof of anything.
//!
//! What it proves: that the pages follow from the attached evidence, and the results in it from their tables. It does not prove
//! where the evidence came from.

mod diff;
mod graph;
mod read;
mod words;

use crate::audit::Wrong;
use crate::evidence::Attachment;
use crate::paper::{Paper, PaperError};

pub use read::ReadError;

/// What became of a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The program that it says it was made by.
    pub program: String,
    /// Whether that is this program, so that pages must be equal in every respect.
    pub is_own: bool,
    /// Its verdict, as it follows from the evidence.
    pub headline: String,
    /// SHA-256 of the evidence.
    pub digest: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of pages that follow from the evidence.
    pub pages: usize,
    /// Numbers on these pages.
    pub numbers: usize,
    /// What does not follow; empty for a whole paper.
    pub differences: Vec<Difference>,
    /// Differences beyond the first ones.
    pub more: usize,
    /// The evidence, for those who want to keep it.
    pub attachments: Vec<Attachment>,
}

/// Something in a paper that does not follow from its evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// A word, mostly a number.
    Word {
        /// The page, from 1.
        page: usize,
        /// What stands in the same line before it.
        beside: String,
        /// As the paper has it; empty for a word that is missing.
        shown: String,
        /// As it follows; empty for a word that should not be there.
        follows: String,
    },
    /// A page with the right words but something else in its drawing, fonts or annotations.
    Drawing {
        /// The page, from 1.
        page: usize,
        /// Where in the page's objects.
        place: String,
    },
    /// Another number of pages.
    Pages {
        /// As the paper has it.
        shown: usize,
        /// As it follows.
        follows: usize,
    },
    /// Something besides the pages: tags, attachments, forms, scripts.
    Besides(String),
    /// A figure of a result that does not follow from its tables, parts or rules.
    Sum(Wrong),
}

/// More differences than these are only counted.
const SHOWN_MAX: usize = 200;

/// Why a paper cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The file cannot be read as a paper.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its evidence makes no paper.
    #[error("its evidence makes no paper: {0}")]
    Paper(#[from] PaperError),
}

impl VerifyError {
    /// Whether it means that the file was changed, rather than that it is something else.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Read(error) => error.is_damage(),
            Self::Paper(_) => false,
        }
    }
}

/// Checks the paper in `bytes`. `program` is this program, as [`crate::Evidence::program`] has it.
///
/// # Errors
/// [`VerifyError`] when there is nothing to compare.
pub fn verify(bytes: &[u8], program: &str) -> Result<Checked, VerifyError> {
    let shown = read::Pdf::open(bytes)?;
    let evidence = shown.evidence()?;
    let paper = Paper::new(&evidence)?;
    let made = paper.to_pdf()?;
    let follows = read::Pdf::open(&made)?;
    let is_own = evidence.program == program;
    let [shown_words, own_words] = [shown.words()?, follows.words()?];
    let mut differences: Vec<Difference> = Vec::new();
    if shown.pages() != follows.pages() {
        differences.push(Difference::Pages {
            shown: shown.pages(),
            follows: follows.pages(),
        });
    }
    differences.extend(diff::words(&shown_words, &own_words, is_own));
    if is_own && made != bytes {
        let changed = |page: usize| {
            differences.iter().any(|known| match known {
                Difference::Word { page: own, .. } => *own == page,
                _ => false,
            })
        };
        let found = graph::differences(&shown, &follows)?;
        // A page whose words differ is drawn differently, of course.
        let news = found.into_iter().filter(|one| match one {
            Difference::Drawing { page, .. } => !changed(*page),
            _ => true,
        });
        let news: Vec<Difference> = news.collect();
        differences.extend(news);
    }
    differences.extend(paper.audit.wrong.iter().cloned().map(Difference::Sum));
    let more = differences.len().saturating_sub(SHOWN_MAX);
    differences.truncate(SHOWN_MAX);
    Ok(Checked {
        program: evidence.program.clone(),
        is_own,
        headline: paper.headline.clone(),
        digest: paper.digest.clone(),
        runs: evidence.runs.len(),
        pages: follows.pages(),
        numbers: own_words.iter().filter(|word| word.is_number()).count(),
        differences,
        more,
        attachments: evidence.attachments(),
    })
}
