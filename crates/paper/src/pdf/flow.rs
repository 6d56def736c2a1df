//! Sets blocks one below the other, on as many pages as it takes.
//!
//! A heading stays with what follows it. Tables go on over pages with their heads repeated; see
//! [`super::table`].

use std::collections::BTreeSet;

use super::display::{
    BAD, Colour, DOUBT, Display, FAINT, GOOD, Landmark, Mark, Part, Role, SHADE, TEXT,
};
use super::fonts::{Face, shown, width};
use super::lines::broken;
use crate::block::{Block, Figure, Tone};
use crate::numbers::count;
use brunt_report::plot::{self, Plot};

/// A4, in points.
pub(super) const WIDTH: f32 = 595.0;
/// See [`WIDTH`].
pub(super) const HEIGHT: f32 = 842.0;
/// Left and right margin.
pub(super) const MARGIN: f32 = 50.0;
/// The room between the margins.
pub(super) const ROOM: f32 = WIDTH - 2.0 * MARGIN;
const TOP: f32 = 54.0;
/// Where the text of a page ends.
pub(super) const BOTTOM: f32 = HEIGHT - 62.0;
/// The size of running text.
const SIZE: f32 = 9.5;
/// From one line to the next, as a share of the size.
pub(super) const LEADING: f32 = 1.36;
/// Room below a block.
const GAP: f32 = 8.0;

/// A layout in progress.
pub(super) struct Flow<'b> {
    pub(super) display: Display,
    /// Where the next block begins.
    pub(super) y: f32,
    /// The headings of level 1 so far.
    chapters: usize,
    /// The headings with their pages, once they are known.
    contents: &'b [Landmark],
}

/// Lays `blocks` out.
pub(super) fn lay_out(blocks: &[Block]) -> Display {
    let mut breaks = BTreeSet::new();
    let first = loop {
        let (display, alone) = pass(blocks, &[], &breaks);
        if alone.is_empty() {
            break display;
        }
        // What follows a page break moves, so the first one is mended, and the rest looked at again.
        breaks.extend(alone.first());
    };
    // The contents have a line for each chapter, with pages or without.
    pass(blocks, &first.headings, &breaks).0
}

/// The pages, and the headings that stand alone at the foot of one, by the places of their blocks.
/// `breaks` are blocks that begin a page.
fn pass(
    blocks: &[Block],
    contents: &[Landmark],
    breaks: &BTreeSet<usize>,
) -> (Display, Vec<usize>) {
    let mut flow = Flow { display: Display::default(), y: TOP, chapters: 0, contents };
    flow.new_page();
    let mut alone = Vec::new();
    // The headings in a row before this block, and their page.
    let mut heading: Option<(usize, usize)> = None;
    for (at, block) in blocks.iter().enumerate() {
        if breaks.contains(&at) && flow.y > TOP {
            flow.new_page();
        }
        let (page, marks) = (flow.page(), flow.display.pages[flow.page()].len());
        flow.block(block);
        let begins = page + usize::from(flow.display.pages[page].len() == marks);
        match (block, heading) {
            (Block::Heading(..), None) => heading = Some((at, begins)),
            (_, Some((above, its))) if begins > its => {
                alone.push(above);
                heading = None;
            }
            (Block::Heading(..), Some(_)) => {}
            _ => heading = None,
        }
    }
    (flow.display, alone)
}

/// How a text looks.
#[derive(Clone, Copy)]
struct Style {
    face: Face,
    size: f32,
    colour: Colour,
}

const PLAIN: Style = Style { face: Face::Plain, size: SIZE, colour: TEXT };

impl Flow<'_> {
    pub(super) fn new_page(&mut self) {
        self.display.pages.push(Vec::new());
        self.y = TOP;
    }

    /// The number of this page, from zero.
    pub(super) fn page(&self) -> usize {
        self.display.pages.len() - 1
    }

    /// Begins a page unless there are `height` points left on this one.
    pub(super) fn need(&mut self, height: f32) {
        if self.y + height > BOTTOM && self.y > TOP {
            self.new_page();
        }
    }

    pub(super) fn mark(&mut self, part: Part, mark: Mark) {
        let page = self.display.pages.last_mut().expect("there is a page");
        page.push((part, mark));
    }

    pub(super) fn text(
        &mut self,
        part: Part,
        face: Face,
        size: f32,
        colour: Colour,
        at: [f32; 2],
        text: &str,
    ) {
        if !text.is_empty() {
            let text = text.to_owned();
            self.mark(part, Mark::Text { face, size, colour, at, text });
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(text) => {
                self.y += 26.0;
                let style = Style { face: Face::Bold, size: 25.0, colour: TEXT };
                self.paragraph(Role::Title, style, text, MARGIN, ROOM);
                self.y += 2.0;
            }
            Block::Subtitle(text) => {
                let style = Style { size: 12.5, colour: FAINT, ..PLAIN };
                self.paragraph(Role::Paragraph, style, text, MARGIN, ROOM);
                self.y += 16.0;
            }
            Block::Verdict(tone, word, sentence) => self.verdict(*tone, word, sentence),
            Block::Figures(figures) => self.figures(figures),
            Block::Heading(level, text) => self.heading(*level, text),
            Block::Text(text) => {
                self.paragraph(Role::Paragraph, PLAIN, text, MARGIN, ROOM);
                self.y += GAP;
            }
            Block::List(items) => self.list(items),
            Block::Table(table) => self.table(table),
            Block::Picture(plot) => self.picture(plot),
            Block::Code(text) => self.code(text),
            Block::Contents => self.contents(),
            Block::NewPage => self.new_page(),
        }
    }

    /// Lines of one text as one node; they may go on over pages.
    fn paragraph(&mut self, role: Role, style: Style, text: &str, left: f32, room: f32) -> usize {
        let node = self.display.node(None, role);
        self.lines_of(node, style, text, left, room);
        node
    }

    fn lines_of(&mut self, node: usize, style: Style, text: &str, left: f32, room: f32) {
        let Style { face, size, colour } = style;
        let text = shown(text);
        let lines = broken(face, size, &text, room);
        let last = lines.len() - 1;
        for (at, line) in lines.iter().enumerate() {
            self.need(size * LEADING);
            // Whoever copies the text or hears it needs the blank between two lines.
            let line = match at == last {
                true => line.clone(),
                false => format!("{line} "),
            };
            let place = [left, self.y + size];
            self.text(Part::Of(node), face, size, colour, place, &line);
            self.y += size * LEADING;
        }
    }

    fn heading(&mut self, level: u8, text: &str) {
        let (size, before, after) = match level {
            1 => (15.0, 20.0, 7.0),
            _ => (11.0, 10.0, 4.0),
        };
        let text = match level {
            1 => {
                self.chapters += 1;
                format!("{} {text}", self.chapters)
            }
            _ => text.to_owned(),
        };
        // Room for the heading, a table's title and a few rows.
        self.need(before + size + 96.0);
        if self.y > TOP {
            self.y += before;
        }
        self.display.headings.push(Landmark {
            level,
            text: text.clone(),
            page: self.page(),
            top: self.y,
        });
        let style = Style { face: Face::Bold, size, colour: TEXT };
        let role = Role::Heading(level, text.clone());
        self.paragraph(role, style, &text, MARGIN, ROOM);
        self.y += after;
    }

    fn verdict(&mut self, tone: Tone, word: &str, sentence: &str) {
        const PADDING: f32 = 12.0;
        let colour = match tone {
            Tone::Good => GOOD,
            Tone::Bad => BAD,
            Tone::Doubt => DOUBT,
            Tone::Open => FAINT,
        };
        let (big, small) = (20.0, 10.5);
        let room = ROOM - 2.0 * PADDING - 6.0;
        let lines = [
            broken(Face::Bold, big, &shown(word), room).len(),
            broken(Face::Plain, small, &shown(sentence), room).len(),
        ];
        let height =
            2.0 * PADDING + count(lines[0]) * big * LEADING + count(lines[1]) * small * LEADING;
        self.need(height);
        let top = self.y;
        let whole = [MARGIN, top, ROOM, height];
        self.mark(Part::Decoration, Mark::Rectangle { colour: SHADE, at: whole });
        let bar = [MARGIN, top, 5.0, height];
        self.mark(Part::Decoration, Mark::Rectangle { colour, at: bar });
        self.y += PADDING;
        let left = MARGIN + PADDING + 6.0;
        let style = Style { face: Face::Bold, size: big, colour };
        self.paragraph(Role::Paragraph, style, word, left, room);
        let style = Style { size: small, ..PLAIN };
        self.paragraph(Role::Paragraph, style, sentence, left, room);
        self.y = top + height + 16.0;
    }

    fn figures(&mut self, figures: &[Figure]) {
        if figures.is_empty() {
            return;
        }
        self.need(46.0);
        let each = ROOM / count(figures.len());
        for (at, figure) in figures.iter().enumerate() {
            let left = MARGIN + count(at) * each;
            let part = Part::Of(self.display.node(None, Role::Paragraph));
            let number = format!("{} ", shown(&figure.number));
            self.text(part, Face::Bold, 19.0, TEXT, [left, self.y + 17.0], &number);
            let right = left + width(Face::Bold, 19.0, &number);
            let unit = format!("{} ", shown(&figure.unit));
            self.text(part, Face::Plain, 10.0, FAINT, [right, self.y + 17.0], &unit);
            let label = shown(&figure.label);
            self.text(part, Face::Plain, 8.5, FAINT, [left, self.y + 31.0], &label);
        }
        self.y += 50.0;
    }

    fn list(&mut self, items: &[String]) {
        let list = self.display.node(None, Role::List);
        for item in items {
            self.need(SIZE * LEADING);
            let entry = self.display.node(Some(list), Role::Item);
            let label = self.display.node(Some(entry), Role::Label);
            let at = [MARGIN + 4.0, self.y + SIZE];
            self.text(Part::Of(label), Face::Plain, SIZE, FAINT, at, "\u{2022} ");
            let body = self.display.node(Some(entry), Role::Body);
            self.lines_of(body, PLAIN, item, MARGIN + 16.0, ROOM - 16.0);
            self.y += 2.0;
        }
        self.y += GAP - 2.0;
    }

    fn code(&mut self, text: &str) {
        const OWN: f32 = 7.0;
        let node = self.display.node(None, Role::Code);
        let style = Style { face: Face::Mono, size: OWN, colour: TEXT };
        self.lines_of(node, style, text, MARGIN + 6.0, ROOM - 6.0);
        self.y += GAP;
    }

    fn contents(&mut self) {
        let style = Style { face: Face::Bold, size: 15.0, colour: TEXT };
        let role = Role::Heading(1, "Contents".to_owned());
        self.paragraph(role, style, "Contents", MARGIN, ROOM);
        self.y += 6.0;
        let chapters = self.contents.iter().filter(|heading| heading.level == 1);
        for heading in chapters.cloned().collect::<Vec<_>>() {
            self.need(SIZE * LEADING);
            let part = Part::Of(self.display.node(None, Role::Paragraph));
            let at = [MARGIN, self.y + SIZE];
            let name = format!("{} ", shown(&heading.text));
            self.text(part, Face::Plain, SIZE, TEXT, at, &name);
            let page = (heading.page + 1).to_string();
            let right = MARGIN + ROOM - width(Face::Plain, SIZE, &page);
            self.text(part, Face::Plain, SIZE, TEXT, [right, at[1]], &page);
            self.y += SIZE * LEADING + 1.5;
        }
        self.y += GAP;
        self.new_page();
    }

    fn picture(&mut self, plot: &Plot) {
        const SCALE: f32 = 0.78;
        const KEY: f32 = 8.0;
        let [wide, high] =
            [plot::WIDTH, plot::HEIGHT].map(|side| SCALE * crate::numbers::place(side));
        let left = MARGIN + (ROOM - wide) / 2.0;
        let rows = legend(plot, wide);
        let height = 16.0 + count(rows.len()) * 12.0 + high;
        self.need(height);
        let top = self.y;
        let place = [left, top, left + wide, top + height];
        let role = Role::Figure(plot.in_words(), self.page(), place);
        let node = Part::Of(self.display.node(None, role));
        let at = [left, top + 10.0];
        self.text(node, Face::Bold, 9.5, TEXT, at, &shown(plot.title()));
        self.y += 16.0;
        for row in rows {
            for (x, number, is_mark, name) in row {
                let at = [left + x, self.y + 6.0];
                self.mark(node, Mark::Key { number, is_mark, at });
                let at = [left + x + 26.0, self.y + 9.0];
                self.text(node, Face::Plain, KEY, FAINT, at, &name);
            }
            self.y += 12.0;
        }
        let at = [left, self.y];
        let plot = Box::new(plot.clone());
        self.mark(node, Mark::Plot { plot, at, scale: SCALE });
        self.y += high + 16.0;
    }
}

/// The keys of a legend in rows: left, number of the curve, whether it is a ring, name.
fn legend(plot: &Plot, room: f32) -> Vec<Vec<(f32, usize, bool, String)>> {
    let mut rows = vec![Vec::new()];
    let mut x = 0.0;
    for key in plot.legend() {
        let name = shown(&key.name).into_owned();
        let own = 26.0 + width(Face::Plain, 8.0, &name) + 14.0;
        if x + own > room && x > 0.0 {
            rows.push(Vec::new());
            x = 0.0;
        }
        let row = rows.last_mut().expect("there is a row");
        row.push((x, key.number, key.is_mark, name));
        x += own;
    }
    rows
}
