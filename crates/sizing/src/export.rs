//! A size for programs: JSON and CSV. Values are plain numbers in the unit of their figure.

use serde_json::{Map, Value, json};

use brunt_report::{Cell, Column, Row, Table};

use crate::catalog::meaning;
use crate::constants::SOURCES;
use crate::explain::{certainty, entries, formula_text, input_value};
use crate::sheet::{Entry, Origin};
use crate::words::{decides, verdict, would_fit};
use crate::{Servers, Sizing};

/// The version of the JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything as JSON: verdict, limits, and every figure with its formula, inputs, source and
/// certainty.
pub fn json(sizing: &Sizing<'_>) -> Value {
    let (word, sentence) = verdict(sizing);
    let sheet = &sizing.sheet;
    let figures = entries(sizing).map(|(tier, entry)| figure(sizing, tier, entry));
    let limits = sizing.findings.iter().map(|finding| {
        json!({
            "id": finding.id,
            "limit": finding.limit,
            "value": finding.value,
            "holds": finding.holds,
            "remedy": finding.remedy,
        })
    });
    let mut json = json!({
        "schema_version": SCHEMA_VERSION,
        "name": sizing.org.name,
        "version": sizing.org.version.name(),
        "verdict": if sizing.holds() { "sized" } else { "does not fit" },
        "sentence": format!("{word}: {sentence}"),
    });
    let object = json.as_object_mut().expect("it is an object");
    if let Some(block) = &sizing.block {
        object.insert(
            "storage".to_owned(),
            json!({
                "drive": block.drive.value,
                "level": block.group.word(),
                "group_drives": block.group.drives,
                "drives": sheet.count("drives"),
                "decides": decides(sheet),
            }),
        );
    }
    object.insert("limits".to_owned(), limits.collect());
    if let Some(servers) = sizing.servers_that_fit() {
        let fewest = match &servers {
            Servers::Fit(number, _) => Some(number),
            Servers::None(_) => None,
        };
        let would_fit = json!({ "servers": fewest, "sentence": would_fit(&servers) });
        object.insert("would_fit".to_owned(), would_fit);
    }
    object.insert("figures".to_owned(), figures.collect());
    let sources = SOURCES.iter().map(|(name, what)| ((*name).to_owned(), (*what).into()));
    object.insert("sources".to_owned(), Value::Object(sources.collect()));
    json
}

fn figure(sizing: &Sizing<'_>, tier: Option<&str>, entry: &Entry) -> Value {
    let meaning = meaning(entry.name);
    let mut json = json!({
        "name": entry.name,
        "value": entry.value,
        "unit": meaning.unit.word(),
        "label": meaning.label,
    });
    let object = json.as_object_mut().expect("it is an object");
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    if let Some(tier) = tier {
        put("tier", tier.into());
    }
    put("from", origin(entry).into());
    match entry.origin {
        Origin::Known { source, .. } => {
            put("source", source.into());
        }
        Origin::Calculated { formula, inputs } => {
            put("formula", formula_text(formula).into());
            let inputs = inputs.iter().map(|name| {
                let value = input_value(sizing, tier, name);
                ((*name).to_owned(), value.into())
            });
            put("inputs", Value::Object(inputs.collect::<Map<_, _>>()));
            put("certainty", certainty(meaning.certainty).into());
            put("source", meaning.source.into());
        }
        Origin::Given { instead_of } => {
            put("instead_of", instead_of.into());
        }
        Origin::Written => {}
    }
    json
}

/// Where a value comes from: `written`, `calculated`, `given`, or how certain it is.
fn origin(entry: &Entry) -> &'static str {
    match entry.origin {
        Origin::Written => "written",
        Origin::Known { certainty: how, .. } => certainty(how),
        Origin::Calculated { .. } => "calculated",
        Origin::Given { .. } => "given",
    }
}

/// Every figure as CSV.
pub fn csv(sizing: &Sizing<'_>) -> String {
    let columns = [
        Column::words("figure"),
        Column::words("tier"),
        Column::numbers("value"),
        Column::words("unit"),
        Column::words("from"),
        Column::words("label"),
    ];
    let rows = entries(sizing).map(|(tier, entry)| {
        let meaning = meaning(entry.name);
        Row::new([
            Cell::from(entry.name),
            Cell::from(tier),
            Cell::Number(entry.value),
            Cell::from(meaning.unit.word()),
            Cell::from(origin(entry)),
            Cell::from(meaning.label),
        ])
    });
    Table::new(columns, rows).to_csv()
}
