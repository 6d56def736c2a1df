//! Checks a paper: takes the evidence out of the PDF, makes the paper again, and compares the two.
//!
//! ```text
//!   PDF --[`read`]--> evidence --> paper --> PDF        within limits; nothing is written, nothing is executed
//!    |                                        |
//!    +---------------- bytes -----------------+         equal: the only pass
//!    +--[`words`]----- texts ------ [`diff`] -+         not equal: each number that does not follow, with what is beside it
//!    +--[`graph`]----- objects ---------------+         everything else: drawings, fonts, tags, annotations
//! ```
//!
//! Programs that show PDFs and the one that reads them here need not agree on what a file says: a
//! revision without an end, an object that nothing refers to, a damaged table. So no comparison of
//! what was read shows that a file is a whole paper; only equal bytes do. The comparison names what
//! contradicts the evidence. A file in which it finds nothing, and one by another version of brunt,
//! is not judged: [`Checked::follows`] is the paper to show instead.
//!
//! What it proves: that the pages follow from the attached evidence, and the results in it from
//! their tables. It does not prove where the evidence came from.

mod diff;
mod graph;
mod read;
mod words;

use crate::audit::Wrong;
use crate::evidence::Attachment;
use crate::paper::{Paper, PaperError};

pub use read::ReadError;
use words::Word;

/// What became of a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The program that it says it was made by.
    pub program: String,
    /// What is known of it.
    pub answer: Answer,
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
    /// What contradicts the evidence.
    pub differences: Vec<Difference>,
    /// What the evidence lacks to recompute everything, in words.
    pub unproven: Vec<String>,
    /// Differences beyond the first ones. The search ends soon after them.
    pub more: usize,
    /// The evidence, for those who want to keep it.
    pub attachments: Vec<Attachment>,
    /// The paper that follows from the evidence.
    pub follows: Vec<u8>,
}

/// What is known of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is byte for byte what its evidence makes.
    Follows,
    /// Something in it contradicts the evidence.
    Contradicted,
    /// Its evidence holds together, but another version of brunt made it.
    OtherVersion,
    /// Nothing was found that contradicts the evidence, but its bytes are not those that follow.
    Rewritten,
    /// It is what its evidence makes, but the evidence lacks something to recompute its figures
    /// from.
    Unproven,
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
    let paper = Paper::of(&evidence)?;
    let made = paper.to_pdf()?;
    let follows = read::Pdf::open(&made)?;
    let own_words = follows.words()?;
    let is_own = evidence.program == program;
    let drawn = match is_own && made != bytes {
        true => differences(&shown, &follows, &own_words)?,
        false => Vec::new(),
    };
    // What the evidence contradicts is more than how it is drawn. Another version had other rules.
    let wrong = paper.audit.wrong.iter();
    let wrong = wrong.filter(|wrong| is_own || !wrong.by_rules);
    let sums = wrong.cloned().map(Difference::Sum);
    let mut differences: Vec<Difference> = sums.chain(drawn).collect();
    let answer = match (differences.is_empty(), is_own) {
        (false, _) => Answer::Contradicted,
        (true, false) => Answer::OtherVersion,
        (true, true) if made != bytes => Answer::Rewritten,
        (true, true) if !paper.audit.unproven.is_empty() => Answer::Unproven,
        (true, true) => Answer::Follows,
    };
    let more = differences.len().saturating_sub(SHOWN_MAX);
    differences.truncate(SHOWN_MAX);
    Ok(Checked {
        program: evidence.program.clone(),
        answer,
        headline: paper.headline.clone(),
        digest: paper.digest.clone(),
        runs: evidence.runs.len(),
        pages: follows.pages(),
        numbers: own_words.iter().filter(|word| word.is_number()).count(),
        differences,
        unproven: paper.audit.unproven.clone(),
        more,
        attachments: evidence.attachments(),
        follows: made,
    })
}

/// What in `shown` is not as in `follows`, until it is enough.
fn differences(
    shown: &read::Pdf,
    follows: &read::Pdf,
    own_words: &[Word],
) -> Result<Vec<Difference>, read::ReadError> {
    let mut found = Vec::new();
    if shown.pages() != follows.pages() {
        found.push(Difference::Pages { shown: shown.pages(), follows: follows.pages() });
    }
    let mut own = own_words;
    for page in 1..=shown.pages().min(follows.pages()) {
        let end = own.partition_point(|word| word.page <= page);
        let of_page = own.split_off(..end).expect("it is within");
        let Some(words) = shown.words_unlike(page, follows)? else {
            continue;
        };
        found.extend(diff::words(&words, of_page, SHOWN_MAX));
        if found.len() > SHOWN_MAX {
            return Ok(found);
        }
    }
    // A page whose words differ is drawn differently, of course.
    let changed = |page: usize| {
        found.iter().any(|known| match known {
            Difference::Word { page: own, .. } => *own == page,
            _ => false,
        })
    };
    let others = graph::differences(shown, follows)?;
    let others = others.into_iter().filter(|one| match one {
        Difference::Drawing { page, .. } => !changed(*page),
        _ => true,
    });
    let others: Vec<Difference> = others.collect();
    found.extend(others);
    Ok(found)
}
