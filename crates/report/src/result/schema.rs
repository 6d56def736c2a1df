//! `docs/result.schema.json` is generated from the types of the result: names, doc comments, optional fields.
//!
//! After a change, rewrite it with `BRUNT_BLESS=1 cargo test -p brunt-report`, and read the diff.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::RunResult;

const KEPT: &str = include_str!("../../../../docs/result.schema.json");

/// Types with numbers that may be negative.
const SIGNED: [&str; 2] = ["HostCounter", "Rule"];

fn generated() -> String {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(simplify));
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<RunResult>();
    for name in SIGNED {
        let properties = schema.pointer_mut(&format!("/$defs/{name}/properties"));
        let properties = properties.and_then(Value::as_object_mut).expect(name);
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
fn the_schema_describes_the_types() {
    let schema = generated();
    if std::env::var_os("BRUNT_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/result.schema.json");
        std::fs::write(path, &schema).unwrap();
        return;
    }
    let mut lines = schema.lines().zip(KEPT.lines());
    assert_eq!(lines.find(|(new, kept)| new != kept), None);
    assert_eq!(schema.len(), KEPT.len());
}
