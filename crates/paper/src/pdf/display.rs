//! What lies where on which page, and what it is part of: the result of layout, before anything is
//! written.

use brunt_report::plot::Plot;

use super::fonts::Face;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const TEXT: Colour = [28, 32, 38];
pub(super) const FAINT: Colour = [96, 104, 116];
pub(super) const RULE: Colour = [206, 211, 218];
pub(super) const SHADE: Colour = [241, 243, 246];
pub(super) const GOOD: Colour = [22, 112, 60];
pub(super) const BAD: Colour = [180, 28, 32];
pub(super) const DOUBT: Colour = [146, 84, 0];
/// Those of curves.
pub(super) const CURVES: [Colour; 4] = [[31, 95, 168], [196, 92, 0], [34, 125, 60], [122, 62, 160]];

/// A node of the tree of tags.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Paragraph,
    Title,
    /// Level and text.
    Heading(u8, String),
    List,
    Item,
    Label,
    Body,
    /// Title, for those who do not see it.
    Table(String),
    Head,
    Rows,
    Row,
    /// A head of a column, or of a row.
    HeadCell {
        of_row: bool,
    },
    Cell,
    /// What it shows, and where it lies: page, left, top, right, bottom.
    Figure(String, usize, [f32; 4]),
    Code,
}

/// A node and those below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) role: Role,
    pub(super) children: Vec<usize>,
}

/// What a mark on a page is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The node of this number.
    Of(usize),
    /// Rules, shades, repeated heads.
    Decoration,
    /// The foot of the page.
    Foot,
}

/// A mark on a page. Places are in points from the top left; those of texts are of their baseline.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Text {
        face: Face,
        size: f32,
        colour: Colour,
        at: [f32; 2],
        text: String,
    },
    Rectangle {
        colour: Colour,
        /// Left, top, width, height.
        at: [f32; 4],
    },
    /// A picture, its left top, and its scale.
    Plot {
        plot: Box<Plot>,
        at: [f32; 2],
        scale: f32,
    },
    /// A key of a legend: the number of the curve, whether it is a ring, its left, its middle
    /// height.
    Key {
        number: usize,
        is_mark: bool,
        at: [f32; 2],
    },
}

/// A laid-out paper.
#[derive(Clone, Debug, Default)]
pub(super) struct Display {
    pub(super) pages: Vec<Vec<(Part, Mark)>>,
    pub(super) nodes: Vec<Node>,
    /// Nodes that are part of no other.
    pub(super) top: Vec<usize>,
    pub(super) headings: Vec<Landmark>,
}

/// A heading and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Landmark {
    pub(super) level: u8,
    pub(super) text: String,
    pub(super) page: usize,
    pub(super) top: f32,
}

impl Display {
    /// A node below `parent`, or on top.
    pub(super) fn node(&mut self, parent: Option<usize>, role: Role) -> usize {
        let number = self.nodes.len();
        let children = Vec::new();
        self.nodes.push(Node { role, children });
        match parent {
            Some(parent) => self.nodes[parent].children.push(number),
            None => self.top.push(number),
        }
        number
    }
}
