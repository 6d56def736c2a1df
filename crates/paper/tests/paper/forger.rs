//! Edits that a forger would make, as an editor of PDFs makes them: in the content of a page, which
//! is compressed again. The tests of the program share this file.

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Object};

/// Changes the content of a page.
pub(crate) fn rewrite(
    document: &mut Document,
    page: u32,
    change: impl Fn(&Document, &mut Content),
) {
    let id = document.get_pages()[&page];
    let mut content = Content::decode(&document.get_page_content(id)).unwrap();
    change(document, &mut content);
    let bytes = content.encode().unwrap();
    document.change_page_content(id, bytes).unwrap();
}

/// Swaps a digit of the first number of three digits or more on `page` for another; the text that
/// it was in.
pub(crate) fn flip_a_digit(document: &mut Document, page: u32) -> String {
    let id = document.get_pages()[&page];
    let fonts = document.get_page_fonts(id).unwrap();
    let fonts: Vec<(Vec<u8>, Dictionary)> =
        fonts.into_iter().map(|(n, f)| (n, f.clone())).collect();
    let changed = std::cell::RefCell::new(String::new());
    rewrite(document, page, |document, content| {
        let mut font = None;
        for operation in &mut content.operations {
            if operation.operator == "Tf" {
                let name = operation.operands[0].as_name().unwrap().to_vec();
                font = fonts.iter().find(|(own, _)| *own == name);
            }
            let Some((_, font)) = font else { continue };
            let encoding = font.get_font_encoding(document).unwrap();
            for text in texts(&mut operation.operands) {
                let decoded = Document::decode_text(&encoding, text).unwrap();
                let digits = decoded.chars().filter(char::is_ascii_digit).count();
                if !changed.borrow().is_empty() || digits < 3 || decoded.contains('-') {
                    continue;
                }
                let at = decoded.char_indices().position(|(_, c)| c.is_ascii_digit()).unwrap();
                let old = decoded.chars().nth(at).unwrap();
                let new = char::from_digit((old.to_digit(10).unwrap() + 1) % 10, 10).unwrap();
                // The code of the other digit, as far as the font of the page has it.
                let codes = (0_u16..600).find(|code| {
                    let bytes = code.to_be_bytes();
                    Document::decode_text(&encoding, &bytes).is_ok_and(|t| t == new.to_string())
                });
                let Some(code) = codes else { continue };
                text[2 * at..2 * at + 2].copy_from_slice(&code.to_be_bytes());
                *changed.borrow_mut() = decoded;
            }
        }
    });
    changed.into_inner()
}

/// The strings among operands, also within an array.
fn texts(operands: &mut [Object]) -> Vec<&mut Vec<u8>> {
    let mut all = Vec::new();
    for operand in operands {
        match operand {
            Object::String(text, _) => all.push(text),
            Object::Array(parts) => {
                for part in parts {
                    if let Object::String(text, _) = part {
                        all.push(text);
                    }
                }
            }
            _ => {}
        }
    }
    all
}
