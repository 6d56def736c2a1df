//! What `docs/keys.md` and `docs/scenario.schema.json` say, made from the declared keys.

use serde_json::{Map, Value as Json, json};

use super::arrays::TABLES;
use super::keys::Table;
use super::profile::PROFILE;

/// Every table whose keys are declared here.
fn tables() -> impl Iterator<Item = &'static Table> {
    std::iter::once(&PROFILE).chain(TABLES.iter().copied())
}

/// Tables of keys, for `docs/keys.md`.
pub fn key_tables() -> String {
    let mut text = String::new();
    for table in tables() {
        text += &format!(
            "\n## `{}`\n\n| key | values | without it | meaning |\n| --- | --- | --- | --- |\n",
            table.title
        );
        text.extend(table.keys.iter().map(|key| key.row()));
    }
    text
}

/// A schema of scenarios for editors, for `docs/scenario.schema.json`: tables whose keys are
/// declared are closed, and anything goes in others.
pub fn json_schema() -> String {
    let mut top = Map::new();
    for table in tables() {
        let keys: Map<String, Json> =
            table.keys.iter().map(|key| (key.name().to_owned(), key.schema())).collect();
        let own = json!({ "type": "object", "properties": keys, "additionalProperties": false });
        let path: Vec<&str> = table.title.trim_matches(['[', ']']).split('.').collect();
        match path.as_slice() {
            [inner] => top.insert((*inner).to_owned(), own),
            [outer, inner] => {
                let open = top.entry(*outer).or_insert_with(|| json!({ "properties": {} }));
                open["properties"][*inner] = own;
                continue;
            }
            _ => unreachable!("tables lie two deep"),
        };
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A brunt scenario",
        "type": "object",
        "properties": top,
    });
    serde_json::to_string_pretty(&schema).expect("texts and numbers can be written") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_every_key() {
        let page = include_str!("../../../docs/keys.md");
        let tables = key_tables();
        assert!(page.ends_with(&tables), "docs/keys.md has to end with\n{tables}");
        let schema = json_schema();
        let file = include_str!("../../../docs/scenario.schema.json");
        assert!(file == schema, "docs/scenario.schema.json has to be\n{schema}");
    }
}
