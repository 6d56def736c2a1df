//! What Python's `jsonschema` says of the schemas and of what is written by them. That they
//! describe the types is tested beside these (`schema.rs` of the crate); that they are sound, and
//! refuse what is wrong, an independent reader has to say. `BRUNT_READERS_PYTHON` names the Python
//! interpreter that has it; `./test` provides one.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Reads a schema and values; writes the faults of each value.
const SCRIPT: &str = "import json, sys; from jsonschema import Draft202012Validator as V; \
    schema, values = json.load(sys.stdin); V.check_schema(schema); \
    json.dump([[e.message for e in V(schema).iter_errors(v)] for v in values], sys.stdout)";

/// The faults of each of `values` by this schema, which has to be one; `None` without Python.
pub(crate) fn faults(schema: &str, values: &[Value]) -> Option<Vec<Vec<String>>> {
    let Some(python) = env::var_os("BRUNT_READERS_PYTHON") else {
        if let Some(list) = env::var_os("BRUNT_SKIPPED") {
            let list = OpenOptions::new().create(true).append(true).open(list);
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            writeln!(list.unwrap(), "{name}: no Python with jsonschema").unwrap();
        }
        return None;
    };
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let input = json!([schema, values]).to_string();
    running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
