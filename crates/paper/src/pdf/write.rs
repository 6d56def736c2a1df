//! Writes a laid-out paper with krilla: pages, tags, outline, attachments.
//!
//! Nothing in the file comes from a clock or from chance: its dates are those of the tests (PDF/A
//! wants one: 1970 stands for none), and its identifiers are hashes.

use std::num::NonZeroU16;

use krilla::color::rgb;
use krilla::configure::{Accessibility, Archival, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::geom::{Path, PathBuilder, Point, Rect};
use krilla::metadata::{DateTime, Metadata};
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::{Fill, Paint};
use krilla::surface::Surface;
use krilla::tagging::{
    Artifact, ArtifactType, BBox, ContentTag, Identifier, ListNumbering, TableHeaderScope, Tag,
    TagGroup, TagKind, TagTree,
};
use krilla::text::{Font, GlyphId, KrillaGlyph};
use krilla::{Document, SerializeSettings};

use super::display::{Colour, Display, FAINT, Mark, Part, Role};
use super::flow::{self, HEIGHT, MARGIN, ROOM, WIDTH};
use super::fonts::{Face, letter, shown, width};
use super::plot;
use crate::evidence::{Attachment, MANIFEST};
use crate::paper::{Paper, PaperError};
use brunt_report::Timestamp;

/// What the file names as its producer.
pub(crate) const PRODUCER: &str = "brunt paper";

/// The fonts of a document.
pub(super) struct Fonts([Font; 3]);

/// The file.
pub(crate) fn write(paper: &Paper) -> Result<Vec<u8>, PaperError> {
    let display = flow::lay_out(&paper.blocks);
    let configuration = ConfigurationBuilder::new()
        .with_archival_validator(Archival::A3_A)
        .with_accessibility_validator(Accessibility::UA1)
        .finish()
        .map_err(|error| PaperError::Pdf(format!("{error:?}")))?;
    let mut document =
        Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
    let font = |face: Face| {
        let font = Font::new(face.bytes().into(), 0);
        font.expect("the fonts are part of the program")
    };
    let fonts = Fonts(Face::ALL.map(font));
    let mut parts: Vec<Vec<Identifier>> = vec![Vec::new(); display.nodes.len()];
    for number in 0..display.pages.len() {
        page(&mut document, paper, &display, &fonts, number, &mut parts);
    }
    document.set_tag_tree(tree(&display, &mut parts));
    document.set_outline(outline(&display));
    document.set_metadata(metadata(paper));
    for file in &paper.attachments {
        attach(&mut document, file, paper.date);
    }
    let written = document.finish();
    let mut written = written.map_err(|error| PaperError::Pdf(format!("{error:?}")))?;
    leave_out_suspects(&mut written);
    Ok(written)
}

/// Blanks `/Suspects false`, which is the default: poppler 22.12 calls it an error on stderr each
/// time that it opens the file. Nothing moves, so the table of objects holds.
fn leave_out_suspects(pdf: &mut [u8]) {
    const MARKED: &[u8] = b"/MarkInfo<</Marked true";
    const SUSPECTS: &[u8] = b"/Suspects false";
    let both = [MARKED, SUSPECTS].concat();
    if let Some(at) = pdf.windows(both.len()).position(|bytes| bytes == both) {
        pdf[at + MARKED.len()..][..SUSPECTS.len()].fill(b' ');
    }
}

fn page(
    document: &mut Document,
    paper: &Paper,
    display: &Display,
    fonts: &Fonts,
    number: usize,
    parts: &mut [Vec<Identifier>],
) {
    let settings = PageSettings::from_wh(WIDTH, HEIGHT).expect("A4 has a size");
    let mut page = document.start_page_with(settings);
    let mut surface = page.surface();
    let mut open: Option<Part> = None;
    for (part, mark) in &display.pages[number] {
        if open != Some(*part) {
            if open.is_some() {
                surface.end_tagged();
            }
            begin(&mut surface, *part, parts);
            open = Some(*part);
        }
        draw(&mut surface, fonts, mark);
    }
    if open.is_some() {
        surface.end_tagged();
    }
    foot(&mut surface, paper, fonts, number, display.pages.len());
    surface.finish();
    page.finish();
}

fn begin(surface: &mut Surface<'_>, part: Part, parts: &mut [Vec<Identifier>]) {
    let artifact = |kind| ContentTag::Artifact(Artifact::with_kind(kind));
    match part {
        Part::Of(node) => {
            let identifier = surface.start_tagged(ContentTag::Other);
            parts[node].push(identifier);
        }
        Part::Decoration => {
            surface.start_tagged(artifact(ArtifactType::Layout));
        }
        Part::Foot => {
            surface.start_tagged(artifact(ArtifactType::Footer));
        }
    }
}

fn foot(surface: &mut Surface<'_>, paper: &Paper, fonts: &Fonts, number: usize, pages: usize) {
    const SIZE: f32 = 7.5;
    let y = HEIGHT - 34.0;
    begin(surface, Part::Foot, &mut []);
    let page = format!("{} of {pages}", number + 1);
    let own = width(Face::Plain, SIZE, &page);
    let mut words = shown(&paper.foot).into_owned();
    // A long name must not run into the number of the page.
    while width(Face::Plain, SIZE, &words) > ROOM - own - 20.0 && !words.is_empty() {
        words.remove(0);
    }
    let mut line = |at, words: &str| text(surface, fonts, Face::Plain, SIZE, FAINT, at, words);
    line([MARGIN, y], &format!("{words} "));
    line([MARGIN + ROOM - own, y], &page);
    surface.end_tagged();
}

fn draw(surface: &mut Surface<'_>, fonts: &Fonts, mark: &Mark) {
    match mark {
        Mark::Text { face, size, colour, at, text: words } => {
            text(surface, fonts, *face, *size, *colour, *at, words)
        }
        Mark::Rectangle { colour, at: [x, y, width, height] } => {
            surface.set_stroke(None);
            surface.set_fill(Some(filled(*colour)));
            if let Some(path) = rectangle(*x, *y, *width, *height) {
                surface.draw_path(&path);
            }
        }
        Mark::Plot { plot, at, scale } => {
            plot::draw(surface, fonts, &plot.shapes(), *at, *scale);
        }
        Mark::Key { number, is_mark, at } => plot::key(surface, *number, *is_mark, *at),
    }
}

fn rectangle(x: f32, y: f32, width: f32, height: f32) -> Option<Path> {
    let mut path = PathBuilder::new();
    path.push_rect(Rect::from_xywh(x, y, width, height)?);
    path.finish()
}

/// A line of text, one glyph for each character.
pub(super) fn text(
    surface: &mut Surface<'_>,
    fonts: &Fonts,
    face: Face,
    size: f32,
    colour: Colour,
    [x, y]: [f32; 2],
    words: &str,
) {
    let glyphs: Vec<KrillaGlyph> = words
        .char_indices()
        .map(|(at, c)| {
            let letter = letter(face, c);
            KrillaGlyph {
                glyph_id: GlyphId::new(letter.glyph),
                text_range: at..at + c.len_utf8(),
                x_advance: letter.width,
                x_offset: 0.0,
                y_offset: 0.0,
                y_advance: 0.0,
                location: None,
            }
        })
        .collect();
    surface.set_stroke(None);
    surface.set_fill(Some(filled(colour)));
    let font = fonts.0[face.number()].clone();
    surface.draw_glyphs(Point::from_xy(x, y), &glyphs, font, words, size, false);
}

pub(super) fn paint([red, green, blue]: Colour) -> Paint {
    rgb::Color::new(red, green, blue).into()
}

fn filled(colour: Colour) -> Fill {
    Fill { paint: paint(colour), ..Fill::default() }
}

/// The tree of tags. Nodes without any mark are left out.
fn tree(display: &Display, parts: &mut [Vec<Identifier>]) -> TagTree {
    let mut tree = TagTree::new().with_lang(Some("en".to_owned()));
    for node in &display.top {
        if let Some(group) = group(display, *node, parts) {
            tree.push(group);
        }
    }
    tree
}

fn group(display: &Display, number: usize, parts: &mut [Vec<Identifier>]) -> Option<TagGroup> {
    let node = &display.nodes[number];
    let kind: TagKind = match &node.role {
        Role::Paragraph => Tag::P.into(),
        Role::Title => Tag::P.into(),
        Role::Heading(level, text) => {
            let level = NonZeroU16::new(u16::from(*level)).expect("levels begin with 1");
            Tag::Hn(level, Some(text.clone())).into()
        }
        Role::List => Tag::L(ListNumbering::Disc).into(),
        Role::Item => Tag::LI.into(),
        Role::Label => Tag::Lbl.into(),
        Role::Body => Tag::LBody.into(),
        Role::Table(title) => Tag::Table.with_summary(Some(title.clone())).into(),
        Role::Head => Tag::THead.into(),
        Role::Rows => Tag::TBody.into(),
        Role::Row => Tag::TR.into(),
        Role::HeadCell { of_row: true } => Tag::TH(TableHeaderScope::Row).into(),
        Role::HeadCell { of_row: false } => Tag::TH(TableHeaderScope::Column).into(),
        Role::Cell => Tag::TD.into(),
        Role::Figure(words, page, [left, top, right, bottom]) => {
            let place = Rect::from_ltrb(*left, *top, *right, *bottom);
            let place = place.map(|rect| BBox::new(*page, rect));
            Tag::Figure(Some(words.clone())).with_bbox(place).into()
        }
        Role::Code => Tag::Code.into(),
    };
    let mut group = TagGroup::new(kind);
    let mut is_empty = true;
    for identifier in std::mem::take(&mut parts[number]) {
        group.push(identifier);
        is_empty = false;
    }
    for child in &node.children {
        if let Some(child) = self::group(display, *child, parts) {
            group.push(child);
            is_empty = false;
        }
    }
    // An empty cell keeps its place in the row.
    let keeps_place = matches!(node.role, Role::Cell | Role::HeadCell { .. });
    (!is_empty || keeps_place).then_some(group)
}

fn outline(display: &Display) -> Outline {
    let mut outline = Outline::new();
    let mut open: Option<OutlineNode> = None;
    for heading in &display.headings {
        let place = Point::from_xy(MARGIN, heading.top);
        let place = XyzDestination::new(heading.page, place);
        let node = OutlineNode::new(shown(&heading.text).into_owned(), place);
        match (heading.level, &mut open) {
            (1, _) | (_, None) => {
                if let Some(done) = open.replace(node) {
                    outline.push_child(done);
                }
            }
            (_, Some(parent)) => parent.push_child(node),
        }
    }
    if let Some(done) = open {
        outline.push_child(done);
    }
    outline
}

fn metadata(paper: &Paper) -> Metadata {
    Metadata::new()
        .title(format!("{}: {}", paper.title, paper.headline))
        .description(paper.sentence.clone())
        .creator("brunt".to_owned())
        .producer(PRODUCER.to_owned())
        .language("en".to_owned())
        .creation_date(date(paper.date))
        .document_id(paper.digest.clone())
}

/// A date as PDF has it. Timestamps print as `2026-11-21T18:15:03Z`.
fn date(time: Timestamp) -> DateTime {
    let text = time.to_string();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let small = |from, to| part(from, to).parse::<u8>().unwrap_or(0);
    DateTime::new(part(0, 4).parse().unwrap_or(1970))
        .month(small(5, 7))
        .day(small(8, 10))
        .hour(small(11, 13))
        .minute(small(14, 16))
        .second(small(17, 19))
        .utc_offset_hour(0)
        .utc_offset_minute(0)
}

fn attach(document: &mut Document, file: &Attachment, date: Timestamp) {
    let (kind, description) = match file.name.rsplit_once('.') {
        Some((_, "json")) if file.name == MANIFEST => {
            ("application/json", "what is attached, with digests")
        }
        Some((_, "json")) => ("application/json", "the result of a test"),
        Some((_, "toml")) => ("application/toml", "what was tested"),
        Some((_, "csv")) => ("text/csv", "every stream of I/O over time"),
        Some((_, "hlog")) => ("text/plain", "histograms of latencies"),
        _ => ("text/plain", "the log of a test"),
    };
    let attached = EmbeddedFile {
        path: file.name.clone(),
        mime_type: MimeType::new(kind),
        description: Some(format!("Evidence: {description}")),
        association_kind: AssociationKind::Source,
        data: file.bytes.clone().into(),
        modification_date: Some(self::date(date)),
        compress: Some(true),
        location: None,
    };
    // Names are made of numbers, so none is there twice.
    document.embed_file(attached).expect("each name is used once");
}
