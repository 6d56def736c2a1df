//! A TOML document as values that know where they were written.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::kept::Kept;
use super::mistakes::Sink;
use super::place::{Place, Refusal};

/// Tables that there may be several of.
pub(super) const LISTS: [&str; 8] =
    ["instance", "copy", "event", "load", "tier", "array.drives", "array.group", "array.lun"];

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Switch(bool),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
    /// A date or time, which no key of ours takes.
    Date,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
    /// What the reader of a table fills in.
    pub(super) kept: Kept,
    /// Where it says what is wrong.
    pub(super) sink: Sink,
}

impl Value {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Switch(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Date => "a date",
        }
    }
}

/// Reads the document `text` of `file`.
pub(super) fn parse(file: &str, text: &str) -> Result<Node, Refusal> {
    let source = Source::new(file, text);
    let table = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
    Ok(Node::new(source.table(table.get_ref())?, Place::file(file)))
}

/// Reads one value that was written on the command line; what is not TOML is a text.
pub(super) fn parse_flag(text: &str, place: &Place) -> Node {
    let source = Source::new("", text);
    let value = DeValue::parse(text).ok().and_then(|value| source.value(value.get_ref()).ok());
    let mut node = Node::new(value.unwrap_or_else(|| Value::Text(text.to_owned())), place.clone());
    node.set_place(place);
    node
}

impl Node {
    pub(super) fn new(value: Value, place: Place) -> Self {
        Self { value, place, kept: Kept::default(), sink: Sink::default() }
    }

    /// Forgets what readers filled in, which clones share, and lets them say in `sink` what is wrong.
    pub(super) fn begin(&mut self, sink: &Sink) {
        (self.kept, self.sink) = (Kept::default(), sink.clone());
        match &mut self.value {
            Value::List(nodes) => nodes.iter_mut().for_each(|node| node.begin(sink)),
            Value::Table(entries) => entries.iter_mut().for_each(|(_, node)| node.begin(sink)),
            _ => {}
        }
    }

    pub(super) fn set_place(&mut self, place: &Place) {
        self.place = place.clone();
        match &mut self.value {
            Value::List(nodes) => nodes.iter_mut().for_each(|node| node.set_place(place)),
            Value::Table(entries) => entries.iter_mut().for_each(|(_, node)| node.set_place(place)),
            _ => {}
        }
    }
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
    /// Where its line breaks are.
    breaks: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { file, text, breaks }
    }

    fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|line_break| *line_break < at) + 1
    }

    /// What stands in the line `number`, from 1, without blanks around it.
    fn written(&self, number: usize) -> &'a str {
        let end = self.breaks.get(number - 1).copied();
        let begin = match number {
            1 => 0,
            number => self.breaks[number - 2] + 1,
        };
        self.text[begin..end.unwrap_or(self.text.len())].trim()
    }

    fn syntax(&self, error: &toml::de::Error) -> Refusal {
        let at = error.span().map_or(0, |span| span.start.min(self.text.len()));
        let line = self.line(at);
        let written = self.written(line);
        let refusal = Place::line(self.file, line, written).refuse(error.message());
        let head = written.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        match head {
            Some((key, _)) if LISTS.contains(&key.trim()) => {
                refusal.hint(format!("write [[{0}]], with two brackets, for each", key.trim()))
            }
            _ => refusal,
        }
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place::line(self.file, self.line(span.start), self.text[span].trim())
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Value, Refusal> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let place = self.entry_place(key.span(), value);
            let value = self.value_at(value.get_ref(), &place)?;
            entries.push((key.get_ref().to_string(), Node::new(value, place)));
        }
        Ok(Value::Table(entries))
    }

    /// The place of `key = value`, or of a table's head.
    fn entry_place(&self, key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Place {
        let span = value.span();
        let is_inline = span.start > key.end && self.text[key.end..span.start].trim() == "=";
        if is_inline {
            return self.place(key.start..span.end);
        }
        let line = self.line(key.start);
        Place::line(self.file, line, self.written(line))
    }

    fn value(&self, value: &DeValue<'_>) -> Result<Value, Refusal> {
        self.value_at(value, &Place::flag(self.text))
    }

    fn value_at(&self, value: &DeValue<'_>, place: &Place) -> Result<Value, Refusal> {
        let out_of_range = || place.refuse("the number is out of range");
        Ok(match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(switch) => Value::Switch(*switch),
            DeValue::Integer(digits) => Value::Integer(
                i64::from_str_radix(digits.as_str(), digits.radix()).map_err(|_| out_of_range())?,
            ),
            DeValue::Float(digits) => {
                Value::Float(digits.as_str().parse().map_err(|_| out_of_range())?)
            }
            DeValue::Datetime(_) => Value::Date,
            DeValue::Table(table) => self.table(table)?,
            DeValue::Array(values) => {
                let mut nodes = Vec::new();
                for value in values.iter() {
                    // A table of `[[name]]` stands where its head is; an element of a list, where
                    // the list is.
                    let place = match value.get_ref() {
                        DeValue::Table(_) => self.head_place(value.span(), place),
                        _ => place.clone(),
                    };
                    let value = self.value_at(value.get_ref(), &place)?;
                    nodes.push(Node::new(value, place));
                }
                Value::List(nodes)
            }
        })
    }

    fn head_place(&self, span: Range<usize>, list: &Place) -> Place {
        let line = self.line(span.start);
        let head = self.written(line);
        if head.starts_with("[[") { Place::line(self.file, line, head) } else { list.clone() }
    }
}
