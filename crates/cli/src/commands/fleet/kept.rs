//! `fleet.json`: what a coordinator needs to go on with a run that another one began.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use brunt_agents::HostWay;
use brunt_ese::format::stamp::RunId;
use brunt_fleet::{HostPlan, Limits, Plan};
use brunt_host::shell::quoted;
use brunt_report::result::Prediction;
use brunt_report::{FolderError, RunFolder, Timestamp};
use brunt_scenario::FleetScenario;
use brunt_units::Span;
use serde::{Deserialize, Serialize};

use crate::commands::agent::program;

const NAME: &str = "fleet.json";
pub(super) const SCHEMA: &str = "brunt.fleet/1";
/// More has no scenario.
const BYTES_MAX: u64 = 64 << 20;

/// How long a host may take to answer for the first time: logins take seconds.
const REACH: Span = Span::seconds(60);
/// A day of forty databases has 60 MB of journal and 160 MB of tables.
const FOLDER_MAX: u64 = 4 << 30;

/// A run of a fleet, as its folder has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    schema: String,
    pub(super) name: String,
    pub(super) started: Timestamp,
    pub(super) run: String,
    replace: bool,
    limits: Limits,
    pub(super) hosts: Vec<HostPlan>,
    /// The command that reaches each host, without brunt; `None` for this machine.
    reach: Vec<Option<Vec<String>>>,
    /// brunt on those hosts.
    program: String,
    /// What a model predicted, before hosts began.
    pub(super) prediction: Option<Prediction>,
}

/// Why a run cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("{}: {error}\n  it is not a run of `brunt fleet run`", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {why}", path.display())]
    Content { path: PathBuf, why: String },
}

/// Whether `folder` is that of a fleet.
pub(crate) fn is_fleet(folder: &Path) -> bool {
    folder.join(NAME).is_file()
}

impl Kept {
    /// What `scenario` asks for, begun at `started`, as the run `id`.
    pub(super) fn new(
        scenario: &FleetScenario,
        replace: bool,
        started: Timestamp,
        id: RunId,
    ) -> Self {
        let run = format!("{}-{id}", started.for_folder());
        let servers = scenario.servers.iter();
        let longest = servers.clone().map(|server| server.scenario.test.duration).max();
        let host = |(number, server): (usize, &brunt_scenario::FleetServer)| HostPlan {
            name: server.name.clone(),
            run: format!("{run}-{number}"),
            scenario: server.scenario.to_toml(),
        };
        let reach: Vec<_> = servers.clone().map(|server| scenario.reach(server)).collect();
        Self {
            schema: SCHEMA.to_owned(),
            name: scenario.name.clone(),
            started,
            replace,
            limits: Limits {
                wait: scenario.wait,
                max_skew: scenario.max_skew,
                same_machine: scenario.same_machine || reach.iter().all(Option::is_none),
                reach: REACH,
                lasts: longest.unwrap_or(Span::ZERO),
                bytes_max: FOLDER_MAX,
            },
            hosts: (1..).zip(servers).map(host).collect(),
            reach,
            program: scenario.program.clone(),
            prediction: None,
            run,
        }
    }

    pub(super) fn write(&self, folder: &RunFolder) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(self).expect("it has no maps") + "\n";
        folder.write(NAME, text.as_bytes())
    }

    /// That of the run in `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self, KeptError> {
        let path = folder.join(NAME);
        let mut text = String::new();
        let read =
            File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
        read.map_err(|error| KeptError::File { path: path.clone(), error })?;
        let content = |why: String| KeptError::Content { path: path.clone(), why };
        let kept: Self = serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
        if kept.schema != SCHEMA {
            return Err(content(format!("is {}, and this brunt reads {SCHEMA}", kept.schema)));
        }
        if kept.reach.len() != kept.hosts.len() || kept.hosts.is_empty() {
            return Err(content("does not say how each host is reached".to_owned()));
        }
        let is_plain = |host: &HostPlan| RunFolder::is_name(&host.name);
        match kept.hosts.iter().find(|host| !is_plain(host)) {
            Some(host) => Err(content(format!("\"{}\" is not a valid server name", host.name))),
            None => Ok(kept),
        }
    }

    /// The plan for a coordinator with this number.
    pub(super) fn plan(&self, coordinator: u64) -> Plan {
        Plan {
            program: program(),
            coordinator,
            replace: self.replace,
            hosts: self.hosts.clone(),
            limits: self.limits.clone(),
        }
    }

    /// The commands that reach an agent on each host.
    pub(super) fn ways(&self) -> io::Result<Vec<HostWay>> {
        let own = env::current_exe()?;
        let way = |reach: &Option<Vec<String>>| {
            let agent = ["agent", "--stdio"].map(OsString::from);
            let command = match reach {
                None => std::iter::once(own.clone().into()).chain(agent).collect(),
                Some(words) => {
                    let is_ssh = words.first().is_some_and(|word| {
                        Path::new(word).file_name().is_some_and(|name| name == "ssh")
                    });
                    // ssh hands its words to a shell over there.
                    let program = match is_ssh {
                        true => quoted(&self.program),
                        false => self.program.clone(),
                    };
                    let words = words.iter().map(OsString::from);
                    words.chain([program.into()]).chain(agent).collect()
                }
            };
            HostWay { command }
        };
        Ok(self.reach.iter().map(way).collect())
    }
}
