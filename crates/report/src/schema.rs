//! `docs/*.schema.json` are generated from the types of what is written: names, doc comments,
//! optional fields.
//!
//! After a change, rewrite them with `BRUNT_BLESS=1 cargo test -p brunt-report schema`, and read
//! the diff.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::RunResult;
use crate::compare::{Comparison, History};

/// Types with numbers that may be negative.
const SIGNED: [&str; 5] = ["HostCounter", "Rule", "ComparedFigure", "MailWork", "FleetAgent"];

fn generated<T: JsonSchema>() -> String {
    let settings =
        SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(simplify));
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    for name in SIGNED {
        let properties = schema.pointer_mut(&format!("/$defs/{name}/properties"));
        let Some(properties) = properties.and_then(Value::as_object_mut) else {
            continue;
        };
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove("minimum");
        }
    }
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

fn simplify(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    // Number formats and defaults matter only to programs in Rust.
    schema.remove("default");
    let format = schema.get("format").and_then(Value::as_str);
    match format.unwrap_or_default() {
        "double" => {
            schema.remove("format");
            schema.insert("minimum".to_owned(), 0.into());
        }
        "uint64" => drop(schema.remove("format")),
        _ => {}
    }
}

#[test]
fn the_schemas_describe_the_types() {
    let all = [
        ("result", generated::<RunResult>()),
        ("comparison", generated::<Comparison>()),
        ("history", generated::<History>()),
    ];
    for (name, schema) in all {
        let path = format!("{}/../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BRUNT_BLESS").is_some() {
            std::fs::write(&path, &schema).unwrap();
            continue;
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        let mut lines = schema.lines().zip(kept.lines());
        assert_eq!(lines.find(|(new, kept)| new != kept), None, "{path}");
        assert_eq!(schema.len(), kept.len(), "{path}");
    }
}
