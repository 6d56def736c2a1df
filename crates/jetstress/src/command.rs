//! The options of `JetstressCmd.exe`.
//!
//! | option | meaning |
//! | --- | --- |
//! | `/c`, `/config FILE` | the configuration |
//! | `/g` | write a sample of it |
//! | `/timeout 2H0M0S` | how long to test |
//! | `/output FOLDER` | where results go |
//! | `/dbpath FOLDER`, `/log FOLDER` | one for each instance, in the same order |
//! | `/pctcapacity N`, `/throughput N` | percent of the volumes, percent of the highest rate |
//! | `/threads N` | sessions; 0 finds the number |
//! | `/new`, `/open` | databases are made, or those of an earlier test are used |
//!
//! Options may begin with `/` or `-` and are written in small or capital letters. Source:
//! Microsoft, ff459224, and command lines of published tests.

use crate::config::parts_of;
use crate::paths::PathMap;
use crate::settings::{Instance, Settings, quoted};

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The configuration.
    pub config: Option<String>,
    /// A sample configuration is wanted.
    pub sample: bool,
    /// Help is wanted.
    pub help: bool,
    /// How long to test, in seconds.
    pub seconds: Option<u64>,
    /// Where results go.
    pub output: Option<String>,
    databases: Vec<String>,
    logs: Vec<String>,
    capacity: Option<u64>,
    throughput: Option<u64>,
    threads: Option<u64>,
    /// Whether databases are to be made anew, where an option says so; else the configuration does.
    pub new: Option<bool>,
}

/// Reads the options.
///
/// # Errors
/// What is wrong with the first that is wrong.
pub fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix(['/', '-']).unwrap_or_default();
        let name = name.trim_start_matches('-').to_ascii_lowercase();
        let mut value = || {
            let value = words.next();
            value.cloned().ok_or_else(|| format!("{word}: a value is missing"))
        };
        let percent = |text: String| {
            let number = text.parse::<u64>().ok().filter(|n| (1..=100).contains(n));
            number.ok_or_else(|| format!("{word} {text}: a whole number from 1 to 100 is wanted"))
        };
        match name.as_str() {
            "?" | "h" | "help" => options.help = true,
            "c" | "config" => options.config = Some(value()?),
            "g" | "generate" => options.sample = true,
            "timeout" => {
                let text = value()?;
                let seconds = parts_of(&text, &[('H', 3_600), ('M', 60), ('S', 1)]);
                let seconds = seconds
                    .ok_or_else(|| format!("{word} {text}: a length of time looks like 2H0M0S"))?;
                options.seconds = Some(seconds);
            }
            "output" => options.output = Some(value()?),
            "dbpath" => options.databases.push(value()?),
            "log" | "logpath" => options.logs.push(value()?),
            "pctcapacity" => options.capacity = Some(percent(value()?)?),
            "throughput" => options.throughput = Some(percent(value()?)?),
            "threads" => {
                let text = value()?;
                let threads = text.parse::<u64>().ok();
                let threads =
                    threads.ok_or_else(|| format!("{word} {text}: a whole number is wanted"))?;
                options.threads = Some(threads);
            }
            "new" => options.new = Some(true),
            // What is there is used when it fits, without being told.
            "open" => options.new = Some(false),
            "report" => {
                return Err(format!(
                    "{word}: reads performance logs of Windows, which brunt does not have\n  brunt report RUN rebuilds a report"
                ));
            }
            _ => {
                return Err(format!(
                    "{word}: is not a JetstressCmd option that brunt knows\n  brunt jetstress /? lists them"
                ));
            }
        }
    }
    Ok(options)
}

impl Options {
    /// Puts the options over the settings of a configuration, or makes settings of them alone.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub fn settings(&self, config: Option<Settings>, map: &PathMap) -> Result<Settings, String> {
        let is_alone = config.is_none();
        let mut settings = config.unwrap_or_default();
        if is_alone {
            if self.databases.is_empty() {
                return Err("there is nothing to test\n  /c JetstressConfig.xml, or /dbpath FOLDER /log FOLDER for each instance".to_owned());
            }
            settings.set("test", "kind", quoted("performance"));
            settings.set("test", "headroom_percent", "0".to_owned());
            settings.set("profile", "version", quoted("exchange-2013"));
            let capacity = self.capacity.unwrap_or(100);
            settings.set("throughput", "capacity_percent", capacity.to_string());
        }
        self.instances(&mut settings, map)?;
        if let Some(percent) = self.capacity {
            settings.set("throughput", "capacity_percent", percent.to_string());
        }
        if let Some(percent) = self.throughput {
            settings.set("throughput", "throughput_percent", percent.to_string());
        }
        match self.threads {
            Some(0) => settings.find_sessions(),
            Some(threads) => {
                settings.set("test", "sessions", threads.to_string());
                settings.set("test", "tune", "false".to_owned());
            }
            None if is_alone => settings.find_sessions(),
            None => {}
        }
        match self.seconds {
            Some(0) => return Err("/timeout: a test of 0 s only makes databases\n  brunt makes them when a test begins".to_owned()),
            Some(seconds) => settings.set("test", "duration", quoted(&format!("{seconds}s"))),
            None if is_alone => settings.set("test", "duration", quoted("2h")),
            None => {}
        }
        Ok(settings)
    }

    fn instances(&self, settings: &mut Settings, map: &PathMap) -> Result<(), String> {
        if self.databases.is_empty() && self.logs.is_empty() {
            return Ok(());
        }
        if self.databases.len() != self.logs.len() {
            return Err(format!(
                "{} /dbpath and {} /log do not make instances\n  give one of each for every instance, in the same order",
                self.databases.len(),
                self.logs.len()
            ));
        }
        let mut here = |path: &String| {
            let found = map.here(path);
            let (here, is_mapped) =
                found.ok_or_else(|| format!("`{path}`: a path with `..` is not followed"))?;
            settings.paths.push(path.clone());
            if !is_mapped {
                settings.unmapped.push(path.clone());
            }
            Ok::<String, String>(here)
        };
        let mut instances = Vec::new();
        for (database, log) in self.databases.iter().zip(&self.logs) {
            instances.push(Instance { log: here(log)?, databases: vec![here(database)?] });
        }
        settings.instances = instances;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        options(&words)
    }

    #[test]
    fn options_of_a_published_command_line_are_read() {
        let options = read("/TimeOut 2H30M0S /output /tmp/x /dbpath /a /dbpath /b /log /c /log /d /threads 4 /open").unwrap();
        assert_eq!(options.seconds, Some(9_000));
        let settings = options.settings(None, &PathMap::default()).unwrap();
        let text = settings.to_toml("the command line");
        for wanted in [
            "duration = \"9000s\"",
            "sessions = 4",
            "capacity_percent = 100",
            "log = \"/c\"\ndatabases = [\"/a/Jetstress001001.edb\"]",
            "log = \"/d\"\ndatabases = [\"/b/Jetstress002001.edb\"]",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
    }

    #[test]
    fn sessions_are_found_where_no_number_is_named() {
        let tuned = |line: &str, config: Option<Settings>| {
            let settings = read(line).unwrap().settings(config, &PathMap::default());
            let settings = settings.unwrap();
            ["sessions", "tune"].map(|key| settings.get("test", key).unwrap().to_owned())
        };
        let of = |kind: &str| {
            let mut settings = Settings::default();
            settings.set("test", "kind", quoted(kind));
            settings.set("test", "tune", "true".to_owned());
            Some(settings)
        };
        assert_eq!(tuned("/dbpath /a /log /b", None), ["8", "true"]);
        assert_eq!(tuned("/dbpath /a /log /b /threads 0", None), ["8", "true"]);
        assert_eq!(tuned("/threads 4", of("stress")), ["4", "false"]);
        assert_eq!(tuned("/threads 0", of("stress")), ["8", "true"]);
        assert_eq!(tuned("/threads 0", of("soft-recovery")), ["8", "false"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, wanted) in [
            ("/timeout 2x", "/timeout 2x: a length of time"),
            ("/timeout", "/timeout: a value is missing"),
            ("/pctcapacity 0", "from 1 to 100"),
            ("/frobnicate", "/frobnicate: is not a JetstressCmd option"),
            ("x.xml", "x.xml: is not a JetstressCmd option"),
            ("/report a;b", "brunt report RUN"),
        ] {
            let said = read(line).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
        let lonely = read("/dbpath /a").unwrap().settings(None, &PathMap::default());
        assert!(lonely.unwrap_err().starts_with("1 /dbpath and 0 /log"));
    }
}
