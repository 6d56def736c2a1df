//! `brunt models`: the built-in drive models, and where each of their figures comes from.

use std::convert::Infallible;

use brunt_array::drive::{DriveModel, Provenance, library};
use brunt_report::{Cell, Column, Row, Table, grouped};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `models`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt models                          list all drive models
  brunt models nvme-ssd-1920            every figure of one, with its source
  brunt models --json | jq '.[].model'")]
pub struct ModelsArgs {
    /// The model whose figures are shown; without it, list all models
    #[arg(value_parser = models(), hide_possible_values = true)]
    pub model: Option<&'static str>,

    /// Print JSON, with every figure
    #[arg(long)]
    pub json: bool,
}

fn models() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(library::names()).map(|word| {
        let found = library::names().find(|name| **name == word);
        found.expect("one of the possible values")
    })
}

/// Lists the models, or shows the figures of one.
///
/// # Errors
/// None.
pub fn run(args: &ModelsArgs, output: &Output) -> Result<Exit, Infallible> {
    match (args.model, args.json) {
        (Some(name), false) => output.show(&figures(name, &model(name))),
        (None, false) => output.show(&list()),
        (Some(name), true) => output.data(&pretty(&in_json(name))),
        (None, true) => output.data(&pretty(&library::names().map(in_json).collect())),
    }
    Ok(Exit::Passed)
}

fn model(name: &str) -> DriveModel {
    library::find(name).expect("a name of the library")
}

/// One row for each model.
fn list() -> String {
    let columns = [
        Column::words("model"),
        Column::words("kind"),
        Column::numbers("GB"),
        Column::numbers("year"),
        Column::numbers("sourced"),
        Column::words("interface"),
    ];
    let rows = library::names().map(|name| {
        let model = model(name);
        let figures = model.figures();
        let sourced = figures.iter().filter(|figure| has_source(figure.2)).count();
        Row::new([
            name.into(),
            Cell::Text(match model.rpm() {
                Some(rpm) => format!("{} rpm", grouped(rpm)),
                None => "flash".to_owned(),
            }),
            Cell::Count(gigabytes(&model)),
            Cell::Text(model.year().map_or(String::new(), |year| year.to_string())),
            Cell::Text(format!("{} of {}", sourced, figures.len())),
            Cell::Text(interface(&model)),
        ])
    });
    let table = Table::new(columns, rows).to_text();
    format!(
        "{}\n\nsourced: figures from a data sheet, quoted from one by the trade press, measured, or derived from such; the rest is assumed\n\
         brunt models MODEL shows each figure with its source",
        table.trim_end()
    )
}

fn has_source(from: Provenance) -> bool {
    !matches!(from, Provenance::Assumed)
}

/// Every figure of a model.
fn figures(name: &str, model: &DriveModel) -> String {
    let columns = ["figure", "value", "source", "note"].map(Column::words);
    let rows = model
        .figures()
        .into_iter()
        .map(|(figure, value, from, note)| Row::new([figure, &value, from.word(), note]));
    let table = Table::new(columns, rows).to_text();
    format!("{name}: {}\n\n{}", model.title(), table.trim_end())
}

/// Decimal, as drives are sold.
fn gigabytes(model: &DriveModel) -> u64 {
    (model.sectors() * 512 + 500_000_000).div_euclid(1_000_000_000)
}

/// What the interface is called: the begin of its figure's note.
fn interface(model: &DriveModel) -> String {
    let figures = model.figures();
    let figure = figures.iter().find(|figure| figure.0 == "interface_mb_per_s");
    let note = figure.map_or("", |figure| figure.3);
    note.split(',').next().unwrap_or_default().to_owned()
}

fn in_json(name: &str) -> Value {
    let model = model(name);
    let figures = model.figures().into_iter().map(|(figure, value, from, note)| {
        let value = serde_json::from_str(&value.replace('(', "[").replace(')', "]"));
        let value: Value = value.unwrap_or_default();
        json!({ "figure": figure, "value": value, "source": from.word(), "note": note })
    });
    json!({
        "model": name,
        "title": model.title(),
        "kind": if model.is_solid_state() { "flash" } else { "disk" },
        "capacity_bytes": model.sectors() * 512,
        "rpm": model.rpm(),
        "year": model.year(),
        "interface": interface(&model),
        "figures": figures.collect::<Vec<_>>(),
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("numbers and texts can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_of_the_library_is_listed_with_all_its_figures() {
        let list = list();
        for name in library::names() {
            let model = model(name);
            assert!(list.contains(&format!("\n{name} ")), "{list}");
            let shown = figures(name, &model);
            let json = in_json(name);
            let in_json = json["figures"].as_array().unwrap();
            assert_eq!(in_json.len(), model.figures().len());
            for ((figure, value, from, note), json) in model.figures().into_iter().zip(in_json) {
                let row = shown.lines().find(|line| line.starts_with(&format!("{figure} ")));
                let row = row.expect(figure);
                for part in [value.as_str(), from.word(), note] {
                    assert!(row.contains(part), "{row}");
                }
                assert_eq!(json["figure"], figure);
                assert_eq!(json["source"], from.word());
                assert!(!json["value"].is_null(), "{name}: {figure} = {value}");
            }
            assert!(!interface(&model).is_empty(), "{name}");
        }
        assert_eq!(list.lines().count(), library::names().count() + 4);
    }

    #[test]
    fn what_the_trade_press_says_is_quoted() {
        for name in library::names() {
            for (figure, _, from, note) in model(name).figures() {
                let is_press = [".com", ".it ", "AnandTech", "review"];
                let is_press = is_press.into_iter().any(|sign| note.contains(sign));
                assert!(!is_press || from != Provenance::DataSheet, "{name}: {figure}: {note}");
            }
        }
    }

    #[test]
    fn a_disk_turns_and_flash_does_not() {
        assert_eq!(in_json("cheetah-15k5-146-fc")["rpm"], 15_000);
        assert_eq!(in_json("nvme-ssd-1920")["rpm"], Value::Null);
        assert_eq!(in_json("nvme-ssd-1920")["kind"], "flash");
    }
}
