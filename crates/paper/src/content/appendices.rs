//! Appendices: rules, all tables, how each run was made, the evidence, sums and means, characters
//! that are not shown.

use brunt_report::result::{Outcome, RuleGroup, World};
use brunt_report::{Cell, Column, ReportTables, Row, Run, Table, counted, grouped};

use super::{below, called, heading, text};
use crate::block::Block;
use crate::evidence::{MANIFEST, attached_name, sha256};
use crate::paper::{Kind, Subject};

/// Longer scenarios are cut; the whole one is attached.
const SCENARIO_LINES: usize = 400;
/// Rows of a table that is printed in full.
const ROWS_MAX: usize = 400;

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for kind in &subject.kinds {
        blocks.extend(of_kind(kind));
    }
    blocks.push(heading("Appendix: how the runs were made"));
    for kind in &subject.kinds {
        for (at, (number, run)) in kind.each.iter().enumerate() {
            blocks.push(below(&format!("run{number}: {}", called(kind).to_lowercase())));
            blocks.push(Block::Table(ReportTables::of(&run.result).origin));
            match at {
                0 => blocks.extend(scenario(*number, run)),
                // Servers of one test differ in their paths at most.
                _ => blocks.push(text(format!(
                    "Its scenario is attached: {}.",
                    attached_name(*number, "scenario.toml")
                ))),
            }
        }
    }
    blocks.extend(sums(subject));
    blocks.extend(evidence(subject));
    blocks
}

fn of_kind(kind: &Kind) -> Vec<Block> {
    let tables = ReportTables::of(&kind.run.result);
    let name = called(kind).to_lowercase();
    let mut blocks = vec![heading(&format!("Appendix: {name} test in full")), below("Rules")];
    let groups = RuleGroup::all(&kind.run.result.rules);
    for (group, (summary, table)) in groups.iter().zip(tables.rules) {
        if measurable(kind, group) {
            // What a model cannot measure is neither shown nor counted.
            let title = match kind.run.result.world {
                World::Real => format!("Rules, {summary}"),
                World::Virtual => format!("Rules, {}", group.group),
            };
            blocks.push(Block::Table(possible(kind, table.titled(&title))));
        }
    }
    blocks.push(below("Results"));
    let all = tables.jetstress.into_iter().chain(tables.further);
    let all = all.map(|table| possible(kind, table));
    for table in all.filter(|table| !table.is_empty()) {
        let rows = table.for_people().count();
        match rows > ROWS_MAX {
            false => blocks.push(Block::Table(table)),
            true => blocks.push(text(format!(
                "{}: {} rows, which result.json has.",
                table.title(),
                grouped(rows as u64)
            ))),
        }
    }
    blocks
}

/// Whether a model can have measured any rule of `group`; tests on hardware show what they did not
/// measure.
pub(super) fn measurable(kind: &Kind, group: &RuleGroup<'_>) -> bool {
    let mut rules = group.rules.iter();
    kind.run.result.world == World::Real || rules.any(|rule| rule.outcome != Outcome::NotMeasured)
}

/// `table` without what a model cannot have: rows in which nothing was measured, and dates.
pub(super) fn possible(kind: &Kind, table: Table) -> Table {
    const NOTHING: [&str; 5] = ["", "-", "not measured", "not applicable", "not reported"];
    match kind.run.result.world {
        World::Real => table,
        World::Virtual => table.with_rows(|cells, class| {
            let is_date = |cell: &Cell| matches!(cell, Cell::Time(_));
            let is_nothing = |cell: &Cell| NOTHING.contains(&cell.to_string().as_str());
            let values = cells.get(1..).unwrap_or_default();
            let is_unmeasured = class == "unmeasured"
                && values.iter().any(|cell| cell.to_string() == "not measured");
            !is_unmeasured && !values.iter().any(is_date) && !values.iter().all(is_nothing)
        }),
    }
}

fn scenario(number: usize, run: &Run) -> Vec<Block> {
    let lines: Vec<&str> = run.scenario.lines().collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let shown = lines[..lines.len().min(SCENARIO_LINES)].join("\n");
    let mut blocks = vec![
        text(format!(
            "The scenario of run{number}, with every default filled in; it repeats the run:"
        )),
        Block::Code(shown),
    ];
    if lines.len() > SCENARIO_LINES {
        let more = grouped((lines.len() - SCENARIO_LINES) as u64);
        let name = attached_name(number, "scenario.toml");
        blocks.push(text(format!("{more} more lines are in {name}.")));
    }
    blocks
}

fn sums(subject: &Subject<'_>) -> Vec<Block> {
    let audit = &subject.audit;
    let mut blocks = vec![heading("Appendix: sums and means")];
    let compared = grouped(audit.compared);
    if audit.wrong.is_empty() {
        blocks.push(text(format!(
            "{compared} figures of the results were compared with the tables that they come from, with their parts, and with their rules. All follow."
        )));
        return blocks;
    }
    blocks.push(text(format!(
        "{compared} figures were compared with the tables that they come from, with their parts, and with their rules. {} do not follow:",
        counted(audit.wrong.len() as u64, "figure")
    )));
    let rows = audit.wrong.iter().map(|wrong| {
        Row::classed(
            [
                format!("run{}", wrong.run),
                wrong.what.clone(),
                wrong.stated.clone(),
                wrong.follows.clone(),
            ],
            "failed",
        )
    });
    let columns = Column::of(&["Run", "Figure"], &["Stated", "Follows"]);
    blocks.push(Block::Table(Table::new(columns, rows).titled("Figures that do not follow")));
    blocks
}

fn evidence(subject: &Subject<'_>) -> Vec<Block> {
    let redacted = match subject.evidence.redacted {
        true => {
            " Names of hosts and serial numbers were replaced; equal ones have equal replacements."
        }
        false => "",
    };
    let mut wholes = Vec::new();
    for (number, run) in (1..).zip(&subject.evidence.runs) {
        for file in &run.files {
            let name = attached_name(number, file.name);
            wholes.extend(file.whole.as_ref().map(|whole| (name, whole)));
        }
    }
    let rows = subject.attachments.iter().map(|file| {
        Row::new([
            Cell::from(file.name.as_str()),
            (file.bytes.len() as u64).into(),
            sha256(&file.bytes).into(),
        ])
    });
    let columns = [Column::words("File"), Column::numbers("Bytes"), Column::words("SHA-256")];
    let table = Table::new(columns, rows).titled("Attached files").noted(&format!(
        "The digest of the evidence is that of {MANIFEST}, which has the digests of all others."
    ));
    let mut blocks = vec![
        heading("Appendix: evidence"),
        text(format!(
            "These files are attached to the PDF; its pages were made from them and nothing else.{redacted}"
        )),
        Block::Table(table),
    ];
    if !wholes.is_empty() {
        let rows = wholes.into_iter().map(|(name, whole)| {
            Row::new([Cell::from(name), whole.bytes.into(), whole.sha256.as_str().into()])
        });
        let columns = [
            Column::words("Shortened file"),
            Column::numbers("Bytes of the whole file"),
            Column::words("SHA-256 of the whole file"),
        ];
        blocks.push(Block::Table(Table::new(columns, rows).titled("Shortened files").noted(
            "In long tests the rows of single files are merged, an hour at a time; counts, bytes, means and maxima stay exact. The whole \
             files stay with those who tested.",
        )));
    }
    blocks
}

/// Characters that no font of the paper has.
pub(super) fn unshown(characters: &[char]) -> Vec<Block> {
    if characters.is_empty() {
        return Vec::new();
    }
    let listed: Vec<String> =
        characters.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect();
    vec![
        heading("Appendix: characters that are not shown"),
        text(format!(
            "The fonts of this paper lack these characters, which are shown by their numbers in Unicode: {}. The evidence has them.",
            listed.join(", ")
        )),
    ]
}
