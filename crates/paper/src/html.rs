//! Papers as a page for reading, with the style of reports.

use brunt_report::{escape, framed_html};

use crate::block::{Block, Tone};
use crate::paper::Paper;

/// The page.
pub(crate) fn write(paper: &Paper) -> String {
    let mut body = String::new();
    let (mut chapter, mut level) = (0, 1);
    for block in &paper.blocks {
        if let Block::Heading(below, _) = block {
            chapter += u32::from(*below == 1);
            level = below + 1;
        }
        body.push_str(&element(block, chapter, level, paper));
        body.push('\n');
    }
    framed_html(&format!("{}: {} (brunt)", paper.title, paper.headline), &paper.foot, &body)
}

/// `level` is that of the heading above.
fn element(block: &Block, chapter: u32, level: u8, paper: &Paper) -> String {
    match block {
        Block::Title(text) => format!("<h1>{}</h1>", escape(text)),
        Block::Subtitle(text) => format!("<p class=\"subtitle\">{}</p>", escape(text)),
        Block::Verdict(tone, word, sentence) => {
            let class = match tone {
                Tone::Good => "pass",
                Tone::Bad => "fail",
                Tone::Doubt => "doubt",
                Tone::Open => "open",
            };
            format!(
                "<header class=\"{class}\"><p><span class=\"verdict\">{}</span></p><p class=\"sentence\">{}</p></header>",
                escape(word),
                escape(sentence)
            )
        }
        Block::Figures(figures) => {
            let figures = figures.iter().map(|figure| {
                let [number, unit, label] =
                    [&figure.number, &figure.unit, &figure.label].map(|text| escape(text));
                format!("<li><b>{number}</b> {unit}<span>{label}</span></li>")
            });
            format!("<ul class=\"figures\">{}</ul>", figures.collect::<String>())
        }
        Block::Heading(1, text) => format!("<h2 id=\"c{chapter}\">{chapter} {}</h2>", escape(text)),
        Block::Heading(_, text) => format!("<h3>{}</h3>", escape(text)),
        Block::Text(text) => format!("<p>{}</p>", escape(text)),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>", escape(item)));
            format!("<ul>{}</ul>", items.collect::<String>())
        }
        Block::Table(table) => {
            let note = match table.note() {
                "" => String::new(),
                note => format!("<p class=\"note\">{}</p>", escape(note)),
            };
            let title = escape(table.title());
            let level = level + 1;
            format!("<h4 aria-level=\"{level}\">{title}</h4>{}{note}", table.to_html())
        }
        Block::Picture(plot) => {
            let title = escape(plot.title());
            format!("<figure><figcaption>{title}</figcaption>{}</figure>", plot.to_html())
        }
        Block::Code(text) => format!("<pre>{}</pre>", escape(text)),
        Block::Contents => {
            let headings = paper.blocks.iter().filter_map(|block| match block {
                Block::Heading(1, text) => Some(text),
                _ => None,
            });
            let entries = (1..).zip(headings).map(|(number, text)| {
                format!("<li><a href=\"#c{number}\">{}</a></li>", escape(text))
            });
            format!("<nav><ol>{}</ol></nav>", entries.collect::<String>())
        }
        Block::NewPage => "<hr class=\"leaf\">".to_owned(),
    }
}
