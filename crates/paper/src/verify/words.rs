//! The words of a page, and where they stand.
//!
//! Only what shows text in the page's own content is interpreted: fonts, places and strings. Codes
//! become characters by the `ToUnicode` table of their font; whether that table tells the truth
//! about the drawn glyphs, and whatever else is on a page, is compared elsewhere
//! ([`super::graph`]).

use std::collections::BTreeMap;

use lopdf::content::Content;
use lopdf::{Document, Encoding, Object, ObjectId};

/// A word on a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// The page, from 1.
    pub(super) page: usize,
    /// The place of the text that it is part of, from the left bottom.
    pub(super) at: [f32; 2],
    pub(super) text: String,
}

impl Word {
    /// Whether there is a digit in it.
    pub(super) fn is_number(&self) -> bool {
        self.text.chars().any(|c| c.is_ascii_digit())
    }
}

/// A matrix of PDF: a, b, c, d, e, f.
type Matrix = [f32; 6];

const NONE: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// First `one`, then `other`.
fn then(one: Matrix, other: Matrix) -> Matrix {
    let [a, b, c, d, e, f] = one;
    let [g, h, i, j, k, l] = other;
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

/// A page of brunt has a font of each kind.
const FONTS_MAX: usize = 16;
/// The characters of a font.
const TABLE_MAX: usize = 256 << 10;

/// Adds the words in the `content` of a page to `all`.
pub(super) fn of_page(
    document: &Document,
    page: usize,
    id: ObjectId,
    content: &[u8],
    all: &mut Vec<Word>,
) -> lopdf::Result<()> {
    let content = Content::decode(content)?;
    let fonts = document.get_page_fonts(id)?;
    let mut encodings = BTreeMap::new();
    for (name, font) in fonts.iter().take(FONTS_MAX) {
        let encoding = font.get_font_encoding_with_limit(document, TABLE_MAX)?;
        encodings.insert(name.clone(), encoding);
    }
    let mut reader = Reader {
        page,
        encodings: &encodings,
        font: None,
        space: NONE,
        spaces: Vec::new(),
        text: NONE,
        line: NONE,
        all,
    };
    for operation in &content.operations {
        reader.operate(&operation.operator, &operation.operands);
    }
    Ok(())
}

/// The state of a page while its content is read.
struct Reader<'a, 'w> {
    page: usize,
    encodings: &'a BTreeMap<Vec<u8>, Encoding<'a>>,
    font: Option<&'a Encoding<'a>>,
    space: Matrix,
    spaces: Vec<Matrix>,
    text: Matrix,
    line: Matrix,
    all: &'w mut Vec<Word>,
}

/// Deeper states are not kept.
const SPACES_MAX: usize = 1_000;

impl Reader<'_, '_> {
    fn operate(&mut self, operator: &str, operands: &[Object]) {
        match operator {
            "q" if self.spaces.len() < SPACES_MAX => self.spaces.push(self.space),
            "Q" => self.space = self.spaces.pop().unwrap_or(NONE),
            "cm" => {
                if let Some(matrix) = matrix(operands) {
                    self.space = then(matrix, self.space);
                }
            }
            "BT" => (self.text, self.line) = (NONE, NONE),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.and_then(|name| self.encodings.get(name));
            }
            "Tm" => {
                if let Some(matrix) = matrix(operands) {
                    (self.text, self.line) = (matrix, matrix);
                }
            }
            "Td" | "TD" => {
                if let [x, y] = operands
                    && let (Ok(x), Ok(y)) = (x.as_float(), y.as_float())
                {
                    self.line = then([1.0, 0.0, 0.0, 1.0, x, y], self.line);
                    self.text = self.line;
                }
            }
            "Tj" | "'" | "\"" => {
                let text = operands.last().map(|text| self.decoded(text));
                self.show(&text.unwrap_or_default());
            }
            "TJ" => {
                let parts = operands.first().and_then(|parts| parts.as_array().ok());
                let parts = parts.into_iter().flatten().filter(|part| part.as_str().is_ok());
                let text: String = parts.map(|part| self.decoded(part)).collect();
                self.show(&text);
            }
            _ => {}
        }
    }

    fn decoded(&self, text: &Object) -> String {
        let bytes = text.as_str().unwrap_or_default();
        match self.font {
            Some(encoding) => Document::decode_text(encoding, bytes).unwrap_or_default(),
            None => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    fn show(&mut self, text: &str) {
        let [.., x, y] = then(self.text, self.space);
        let page = self.page;
        self.all.extend(text.split_whitespace().map(|word| Word {
            page,
            at: [x, y],
            text: word.to_owned(),
        }));
    }
}

fn matrix(operands: &[Object]) -> Option<Matrix> {
    let mut matrix = NONE;
    if operands.len() != matrix.len() {
        return None;
    }
    for (place, operand) in matrix.iter_mut().zip(operands) {
        *place = operand.as_float().ok()?;
    }
    Some(matrix)
}
