//! The resolved scenario as TOML.

use std::fmt::Write;
use std::path::Path;

use brunt_units::{ByteSize, Span};

use super::model::{BACKENDS, Scenario};
use super::profile::word;

impl Scenario {
    /// The scenario with every default written out and every path absolute. Reading it gives this scenario again.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes all");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "name = {}", quoted(&self.name))?;
        writeln!(out, "description = {}", quoted(&self.description))?;
        if let Some(scratch) = &self.scratch {
            writeln!(out, "scratch = {}", path(&scratch.value))?;
        }
        let test = &self.test;
        writeln!(out, "\n[test]\nkind = {}", quoted(test.kind.word()))?;
        writeln!(out, "duration = {}", span(test.duration))?;
        writeln!(out, "sessions = {}\nseed = {}", test.sessions, test.seed)?;
        if let Some(target) = test.target_io_per_s {
            writeln!(out, "target_io_per_s = {target:?}")?;
        }
        let profile = &self.profile;
        writeln!(
            out,
            "\n[profile]\nversion = {}",
            quoted(&word(profile.version))
        )?;
        let page = ByteSize::bytes(profile.page.bytes_u64());
        for (key, bytes) in [
            ("page", page),
            ("log_file", profile.log_file),
            ("log_buffer", profile.log_buffer),
            ("cache_min", profile.cache_min),
            ("cache_max", profile.cache_max),
            ("checkpoint_depth", profile.checkpoint_depth),
        ] {
            writeln!(out, "{key} = {}", size(bytes))?;
        }
        writeln!(out, "circular_logging = {}", profile.circular_logging)?;
        writeln!(
            out,
            "background_maintenance = {}",
            profile.background_maintenance
        )?;
        let backend = BACKENDS.iter().find(|(_, choice)| *choice == self.backend);
        let backend = backend.expect("every choice has a word").0;
        writeln!(out, "\n[engine]\nbackend = {}", quoted(backend))?;
        for instance in &self.instances {
            writeln!(out, "\n[[instance]]\nname = {}", quoted(&instance.name))?;
            writeln!(out, "log = {}", path(&instance.log.value))?;
            let paths: Vec<_> = instance
                .databases
                .iter()
                .map(|d| path(&d.path.value))
                .collect();
            writeln!(out, "databases = [{}]", paths.join(", "))?;
            writeln!(
                out,
                "database_size = {}",
                size(instance.databases[0].size.value)
            )?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A size that reads back exactly: what its usual form would round is written in bytes.
fn size(bytes: ByteSize) -> String {
    let usual = bytes.to_string();
    let exact = usual.parse() == Ok(bytes);
    quoted(&if exact {
        usual
    } else {
        format!("{} B", bytes.get())
    })
}

fn span(span: Span) -> String {
    let seconds = span.0.div_euclid(1_000_000_000);
    if Span::seconds(seconds) == span {
        format!("\"{seconds}s\"")
    } else {
        format!("\"{}ms\"", span.as_millis())
    }
}
