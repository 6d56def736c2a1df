//! What `docs/keys.md` and `docs/scenario.schema.json` say, made from the declared keys.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use super::arrays;
use super::copies::COPY;
use super::drill::DRILL;
use super::engine::ENGINE;
use super::fleet::{FLEET, SERVER};
use super::instances::INSTANCE;
use super::keys::{AnyKey, Page};
use super::limits::LIMITS;
use super::mail;
use super::mailboxes::MAILBOXES;
use super::modelled::TWIN;
use super::org;
use super::pair_steps::STEP;
use super::profile::PROFILE;
use super::real_drill::REPLICATION;
use super::real_link::REAL_LINK;
use super::records::RECORDS;
use super::site::SITE;
use super::sites::{DESTINATION, SOURCE};
use super::storage::STORAGE;
use super::test::TEST;
use super::throughput::THROUGHPUT;

/// Tables of a test, in the order of a scenario.
static OF_TESTS: [&dyn Page; 20] = [
    &TEST,
    &MAILBOXES,
    &THROUGHPUT,
    &PROFILE,
    &LIMITS,
    &RECORDS,
    &STORAGE,
    &ENGINE,
    &SITE,
    &SOURCE,
    &DESTINATION,
    &INSTANCE,
    &COPY,
    &TWIN,
    &DRILL,
    &REPLICATION,
    &REAL_LINK,
    &STEP,
    &FLEET,
    &SERVER,
];

/// Every table whose keys are declared, by its title. What describes different things may have a
/// table of the same title: their keys are joined, and of two with one name the first is shown.
fn tables() -> Vec<(&'static str, Vec<&'static dyn AnyKey>)> {
    let mut all: Vec<(&str, Vec<&dyn AnyKey>)> = Vec::new();
    for table in OF_TESTS.iter().chain(&arrays::TABLES).chain(&org::TABLES).chain(&mail::TABLES) {
        let at = all.iter().position(|(title, _)| *title == table.title());
        let at = at.unwrap_or_else(|| {
            all.push((table.title(), Vec::new()));
            all.len() - 1
        });
        for key in table.all() {
            if all[at].1.iter().all(|own| own.name() != key.name()) {
                all[at].1.push(key);
            }
        }
    }
    all
}

/// What `--set` calls a table; of several, the first.
fn set_name(title: &str) -> String {
    let name = title.trim_matches(['[', ']']);
    match title.starts_with("[[") {
        true => format!("{name}.0"),
        false => name.to_owned(),
    }
}

/// Tables of keys, for `docs/keys.md`.
pub fn key_tables() -> String {
    let mut text = String::new();
    for (title, keys) in tables() {
        text += &format!(
            "\n## `{title}`\n\n| key | values | without it | meaning |\n| --- | --- | --- | --- |\n"
        );
        text.extend(keys.iter().map(|key| key.row()));
    }
    text
}

/// Stands for the name of a server in the title of a table.
const SERVER_TABLE: &str = "SERVER";

/// Tables that have other keys, too, in what describes something else.
const OPEN: [&str; 3] = ["mailboxes", "price", "replicate"];

/// A schema of scenarios for editors, for `docs/scenario.schema.json`: tables whose keys are
/// declared are closed, and anything goes in others.
pub fn json_schema() -> String {
    let mut top = Map::new();
    for (title, keys) in tables() {
        let keys: Map<String, Json> =
            keys.iter().map(|key| (key.name().to_owned(), key.schema())).collect();
        let name = title.trim_matches(['[', ']']);
        let is_open = OPEN.contains(&name);
        let mut own =
            json!({ "type": "object", "properties": keys, "additionalProperties": is_open });
        if name == "array" {
            // There may be several.
            own = json!({ "properties": keys });
        }
        if title.starts_with("[[") {
            own = json!({ "type": "array", "items": own });
        }
        match name.split_once('.') {
            None => drop(top.insert(name.to_owned(), own)),
            Some((outer, inner)) => {
                let open = top.entry(outer).or_insert_with(|| json!({ "properties": {} }));
                match inner == SERVER_TABLE {
                    true => open["additionalProperties"] = own,
                    false => open["properties"][inner] = own,
                }
            }
        }
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A brunt scenario",
        "type": "object",
        "properties": top,
    });
    serde_json::to_string_pretty(&schema).expect("texts and numbers can be written") + "\n"
}

/// What `--set` can begin with, and what it means: `test.duration=`, `instance.0.log=`.
pub fn set_keys() -> &'static [(String, &'static str)] {
    static ALL: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
        let mut all: Vec<(String, &str)> = Vec::new();
        for (title, keys) in tables() {
            let (name, keys) = (set_name(title), keys.into_iter());
            all.extend(keys.map(|key| (format!("{name}.{}=", key.name()), key.about())));
        }
        all.sort();
        all.dedup_by(|one, other| one.0 == other.0);
        all
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ARRAY_TEMPLATE, TEMPLATE};

    /// A line without what makes it a comment.
    fn bare(line: &str) -> &str {
        line.strip_prefix("# ").unwrap_or(line)
    }

    /// `template` with a comment for every key of these tables that it lacks, behind the last key of
    /// the first table of that name.
    fn completed(template: &str, tables: &[&'static dyn Page]) -> String {
        let mut lines: Vec<String> = template.lines().map(str::to_owned).collect();
        for table in tables {
            let is_head = |line: &String| bare(line).starts_with('[') && line.ends_with(']');
            let Some(head) = lines.iter().position(|line| bare(line) == table.title()) else {
                continue;
            };
            for key in table.all() {
                let start = format!("{} = ", key.name());
                let mut title = "";
                let is_there = lines.iter().any(|line| {
                    title = if is_head(line) { bare(line) } else { title };
                    title == table.title() && bare(line).starts_with(&start)
                });
                let own = lines[head + 1..].iter().take_while(|line| !is_head(line));
                let last = own.enumerate().filter(|(_, line)| bare(line).contains(" = ")).last();
                if !is_there {
                    let at = head + 1 + last.map_or(0, |(at, _)| at + 1);
                    lines.insert(at, commented(key));
                }
            }
        }
        lines.join("\n") + "\n"
    }

    /// `# key = value  # what it means`: its default or, where that is in words, some value.
    fn commented(key: &dyn AnyKey) -> String {
        let row = key.row().replace('`', "");
        let usual = row.split(" | ").nth(2).unwrap();
        let is_value = toml::from_str::<toml::Table>(&format!("key = {usual}")).is_ok();
        let schema = key.schema();
        let some = match (&schema["enum"], &schema["minimum"], &schema["type"]) {
            (Json::Array(words), ..) => words[0].to_string(),
            (_, Json::Number(least), _) => least.to_string(),
            (.., kind) if kind == "boolean" => "true".to_owned(),
            (.., kind) if kind == "number" => "1".to_owned(),
            (.., kind) if kind == "array" => "[]".to_owned(),
            _ if schema["pattern"].is_string() => "\"1s\"".to_owned(),
            _ if schema["anyOf"].is_array() => "\"1 MiB\"".to_owned(),
            _ => "\"\"".to_owned(),
        };
        let (value, note) = match is_value {
            true => (usual, String::new()),
            false => (some.as_str(), format!("not by default, which is {usual}: ")),
        };
        let about = key.about().trim_end_matches('.');
        let line = format!("# {} = {value}", key.name());
        format!("{line:35} # {note}{}{}", about[..1].to_lowercase(), &about[1..])
    }

    /// A key that is declared is also in what `brunt init` writes.
    #[test]
    fn templates_have_every_key() {
        let of_arrays: Vec<&dyn Page> =
            arrays::TABLES.iter().copied().chain([&TWIN as _]).collect();
        let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for (file, template, tables) in [
            ("scenario.toml", TEMPLATE, &OF_TESTS[..]),
            ("array.toml", ARRAY_TEMPLATE, &of_arrays[..]),
        ] {
            let whole = completed(template, tables);
            if std::env::var_os("BRUNT_BLESS").is_some() {
                std::fs::write(examples.join(file), whole).unwrap();
            } else {
                assert!(whole == template, "examples/{file} has to be\n{whole}");
            }
        }
    }

    #[test]
    fn a_flag_can_set_every_key() {
        let keys: Vec<&str> = set_keys().iter().map(|(key, _)| key.as_str()).collect();
        for key in ["test.duration=", "array.cache.write=", "instance.0.log=", "link.km="] {
            assert!(keys.contains(&key), "{key} is not among {keys:?}");
        }
    }

    #[test]
    fn documents_have_every_key() {
        let page = include_str!("../../../docs/keys.md");
        let tables = key_tables();
        let schema = json_schema();
        if std::env::var_os("BRUNT_BLESS").is_some() {
            let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
            let head = page.split("\n## `[").next().unwrap();
            std::fs::write(docs.join("keys.md"), format!("{head}{tables}")).unwrap();
            std::fs::write(docs.join("scenario.schema.json"), schema).unwrap();
            return;
        }
        assert!(page.ends_with(&tables), "docs/keys.md has to end with\n{tables}");
        let file = include_str!("../../../docs/scenario.schema.json");
        assert!(file == schema, "docs/scenario.schema.json has to be\n{schema}");
    }
}
