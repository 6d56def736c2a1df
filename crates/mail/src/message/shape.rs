//! The form of a message: its headers, parts and lengths.

use std::fmt::Write as _;

use super::Hard;
use super::lines::{BASE64, Kind};
use crate::date;
use crate::mailing::{BYTES_MAX, Mailing, Routing, draw_bytes, draw_class};
use crate::mark::{DOMAIN, HEADER, Mark};

/// A piece of a message.
#[derive(Debug)]
pub(super) enum Segment {
    Bytes(Vec<u8>),
    Lines(Kind, u64),
}

impl Segment {
    fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Lines(_, bytes) => *bytes,
        }
    }
}

/// What a message consists of.
pub(super) struct Shape {
    pub(super) bytes: u64,
    pub(super) hard: Option<Hard>,
    pub(super) segments: Vec<Segment>,
}

/// Levels of the deepest message.
const DEPTH: usize = 30;
/// The header that is too long.
const LONG_HEADER: u64 = 60_000;
/// An attachment has at least this many lines.
const LINES_MIN: u64 = 4;

/// Body of a message before its lengths are known.
enum Form {
    Plain(Kind),
    Empty,
    /// Encoded bytes.
    Attachment(u64),
    Deep,
    LongHeader,
}

/// The form of message `number`. A form that does not fit becomes plain text.
pub(super) fn of(mailing: &Mailing, number: u32) -> Shape {
    let options = mailing.options();
    let mut stream = mailing.stream("shape", number);
    let class = (!options.classes.is_empty()).then(|| draw_class(&options.classes, &mut stream));
    let sized = match class {
        Some(class) => u64::from(class.text),
        None => u64::from(draw_bytes(options.sizes, &mut stream)),
    };
    let hundredth = stream.below(100);
    let encoded = match class {
        // Four characters for three bytes.
        Some(class) => (u64::from(class.attachment) * 4).div_ceil(3),
        None if stream.percent(u32::from(options.attachments.percent)) => {
            sized.saturating_mul(3).div_euclid(4)
        }
        None => 0,
    };
    let drawn = if class.is_some() { sized + encoded } else { sized };
    let attachment = (encoded > 0).then_some(encoded);
    let hard = usize::try_from(hundredth).ok().and_then(|case| Hard::ALL.get(case).copied());
    let hard = hard.filter(|hard| options.hard_cases.has(*hard));
    let form = match hard {
        Some(Hard::LeadingDots) => Form::Plain(Kind::Dots),
        Some(Hard::EmptyBody) => Form::Empty,
        Some(Hard::LongLines) => Form::Plain(Kind::Long),
        Some(Hard::TrailingBlanks) => Form::Plain(Kind::Blanks),
        Some(Hard::EightBit) => Form::Plain(Kind::EightBit),
        Some(Hard::FromLines) => Form::Plain(Kind::From),
        Some(Hard::DeepMime) => Form::Deep,
        Some(Hard::LongHeader) => Form::LongHeader,
        None => attachment.map_or(Form::Plain(Kind::Text), Form::Attachment),
    };
    let most = match options.classes.is_empty() {
        true => u64::from(options.sizes.most),
        false => u64::from(BYTES_MAX),
    };
    let fits = |segments: &[Segment]| segments.iter().map(Segment::bytes).sum::<u64>() <= most;
    let segments = Some(segments(mailing, number, &form, drawn)).filter(|made| fits(made));
    let (hard, segments) = match segments {
        Some(segments) => (hard, segments),
        None => (None, self::segments(mailing, number, &Form::Plain(Kind::Text), drawn)),
    };
    Shape { bytes: segments.iter().map(Segment::bytes).sum(), hard, segments }
}

/// The segments of a message of `drawn` bytes, or of as many as the form needs.
fn segments(mailing: &Mailing, number: u32, form: &Form, drawn: u64) -> Vec<Segment> {
    let head = head(mailing, number);
    let fixed = |text: String| Segment::Bytes(text.into_bytes());
    // The text comes last, when all other lengths are known.
    let (before, kind, after) = match form {
        Form::Empty => return vec![fixed(head + &content("us-ascii", "7bit"))],
        Form::Plain(kind) => {
            let (charset, encoding) = match kind {
                Kind::EightBit => ("iso-8859-1", "8bit"),
                _ => ("us-ascii", "7bit"),
            };
            (vec![fixed(head + &content(charset, encoding))], *kind, Vec::new())
        }
        Form::LongHeader => {
            let name = fixed(head + "X-Brunt-Long: here begins a long header\r\n");
            let folded = Segment::Lines(Kind::Folded, LONG_HEADER);
            let end = fixed(content("us-ascii", "7bit"));
            (vec![name, folded, end], Kind::Text, Vec::new())
        }
        Form::Attachment(bytes) => return with_attachment(mailing, head, drawn, *bytes),
        Form::Deep => {
            let mut before = head;
            let mut after = String::new();
            for level in 0..DEPTH {
                before += &format!(
                    "Content-Type: multipart/mixed; boundary=\"level-{level}\"\r\n\r\n--level-{level}\r\n"
                );
                after = format!("--level-{level}--\r\n") + &after;
            }
            (vec![fixed(before + &content("us-ascii", "7bit"))], Kind::Text, vec![fixed(after)])
        }
    };
    filled(before, kind, after, drawn)
}

/// The segments with text between them, so that all have `drawn` bytes.
fn filled(before: Vec<Segment>, kind: Kind, after: Vec<Segment>, drawn: u64) -> Vec<Segment> {
    let fixed: u64 = before.iter().chain(&after).map(Segment::bytes).sum();
    let text = drawn.saturating_sub(fixed).max(2);
    let text = Segment::Lines(kind, text);
    before.into_iter().chain([text]).chain(after).collect()
}

/// Text and an attachment of this many encoded bytes.
fn with_attachment(mailing: &Mailing, head: String, drawn: u64, bytes: u64) -> Vec<Segment> {
    const BOUNDARY: &str = "part-of-brunt";
    let open =
        format!("Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\r\n\r\n--{BOUNDARY}\r\n");
    let attachment = format!(
        "--{BOUNDARY}\r\nContent-Type: application/octet-stream; name=\"data.bin\"\r\n\
         Content-Disposition: attachment; filename=\"data.bin\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n"
    );
    let line = BASE64 as u64 + 2;
    let lines = bytes.div_euclid(line).max(LINES_MIN);
    let compressible = mailing.options().attachments.compressible_percent;
    let before = Segment::Bytes((head + &open + &content("us-ascii", "7bit")).into_bytes());
    let after = vec![
        Segment::Bytes(attachment.into_bytes()),
        Segment::Lines(Kind::Base64(compressible), lines * line),
        Segment::Bytes(format!("--{BOUNDARY}--\r\n").into_bytes()),
    ];
    filled(vec![before], Kind::Text, after, drawn)
}

fn content(charset: &str, encoding: &str) -> String {
    format!(
        "Content-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    )
}

/// The headers that every message has, without those of its content.
fn head(mailing: &Mailing, number: u32) -> String {
    let options = mailing.options();
    let mark = Mark { run: options.run, number };
    let route = mailing.route(number);
    let address = |account: u32| mailing.address(account).unwrap_or_default();
    let mut head = format!("{HEADER}{mark}\r\nFrom: <{}>\r\nTo: ", address(route.from));
    if options.routing == Routing::ByTurn {
        // A group without members (RFC 5322, 3.4).
        head += "undisclosed-recipients:;";
    }
    for (index, to) in route.to.iter().enumerate() {
        let between = if index > 0 { ",\r\n " } else { "" };
        write!(head, "{between}<{}>", address(*to)).expect("text takes every write");
    }
    // A hundred messages a second, roughly as they are sent; the real time is not repeatable.
    let date = date::written(options.began.saturating_add(u64::from(number).div_euclid(100)));
    head + &format!(
        "\r\nDate: {date}\r\nMessage-ID: <{mark}{DOMAIN}>\r\nSubject: brunt {number}\r\n\
         MIME-Version: 1.0\r\n"
    )
}
