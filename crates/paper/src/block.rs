//! What a paper consists of, before anybody decides how it looks.

use brunt_report::Table;
use brunt_report::plot::Plot;

/// How good something is. Words say it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubt,
    /// There is no answer.
    Open,
}

/// A number that stands out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) number: String,
    pub(crate) unit: String,
    pub(crate) label: String,
}

/// A piece of a paper.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Vendor and product.
    Title(String),
    /// The line below it.
    Subtitle(String),
    /// The verdict, in a word and in a sentence.
    Verdict(Tone, String, String),
    Figures(Vec<Figure>),
    /// A heading of level 1 or 2; level 1 has a number.
    Heading(u8, String),
    Text(String),
    List(Vec<String>),
    Table(Table),
    Picture(Plot),
    /// Text as it is, in letters of equal width.
    Code(String),
    /// The headings of level 1 with their pages.
    Contents,
    /// What follows begins a page.
    NewPage,
}

impl Block {
    /// Every text in it, for the characters that fonts must have.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::Title(text) | Self::Subtitle(text) | Self::Heading(_, text) => vec![text.clone()],
            Self::Verdict(_, word, sentence) => vec![word.clone(), sentence.clone()],
            Self::Figures(figures) => figures
                .iter()
                .flat_map(|f| [f.number.clone(), f.unit.clone(), f.label.clone()])
                .collect(),
            Self::Text(text) | Self::Code(text) => vec![text.clone()],
            Self::List(items) => items.clone(),
            Self::Table(table) => {
                let mut texts = vec![table.title().to_owned(), table.note().to_owned()];
                texts.extend(table.columns().map(|(name, _)| name.to_owned()));
                texts.extend(table.for_people().flat_map(|(cells, _)| cells));
                texts
            }
            // Names in pictures are those of tables, too.
            Self::Picture(plot) => vec![plot.in_words()],
            Self::Contents | Self::NewPage => Vec::new(),
        }
    }
}
