//! Writes settings as a scenario.

use std::fmt::Write;

use crate::settings::{Fate, Settings, quoted};

/// The tables, in the order of a scenario.
const TABLES: [&str; 6] = ["test", "mailboxes", "throughput", "profile", "limits", "records"];

impl Settings {
    /// The scenario, with everything that did not become a key as comments. `origin` says where it
    /// comes from.
    pub fn to_toml(&self, origin: &str) -> String {
        let mut text = String::new();
        self.write(&mut text, origin).expect("a string takes all");
        text
    }

    fn write(&self, out: &mut String, origin: &str) -> std::fmt::Result {
        writeln!(out, "# From {}.\n", one_line(origin))?;
        for (key, value) in self.keys.get("").into_iter().flatten() {
            writeln!(out, "{key} = {value}")?;
        }
        for table in TABLES {
            let Some(keys) = self.keys.get(table) else {
                continue;
            };
            writeln!(out, "\n[{table}]")?;
            for (key, value) in keys {
                writeln!(out, "{key} = {value}")?;
            }
        }
        for (at, instance) in (1..).zip(&self.instances) {
            let databases = (1..).zip(&instance.databases);
            let databases: Vec<String> = databases
                .map(|(own, folder)| quoted(&format!("{folder}/Jetstress{at:03}{own:03}.edb")))
                .collect();
            writeln!(out, "\n[[instance]]\nlog = {}", quoted(&instance.log))?;
            writeln!(out, "databases = [{}]", databases.join(", "))?;
        }
        self.comments(out, "What brunt always does, or does not need:", |fate| match fate {
            Fate::Comment(why) => Some(why),
            _ => None,
        })?;
        self.comments(out, "Not supported:", |fate| match fate {
            Fate::NotSupported(why) => Some(why),
            _ => None,
        })
    }

    fn comments(
        &self,
        out: &mut String,
        title: &str,
        why: impl Fn(&Fate) -> Option<&String>,
    ) -> std::fmt::Result {
        let noted = self.noted.iter();
        let mut found = noted.filter_map(|noted| Some((noted, why(&noted.fate)?))).peekable();
        if found.peek().is_some() {
            writeln!(out, "\n# {title}")?;
        }
        for (noted, why) in found {
            let (name, value) = (&noted.name, one_line(&noted.value));
            writeln!(out, "#   {name} = {value}: {why}")?;
        }
        Ok(())
    }
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
