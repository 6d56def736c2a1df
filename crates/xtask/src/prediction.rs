//! The simulated figures of a test.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use brunt_lab::{DrillOptions, Engine, Options, Program, drill, predict_to_an_answer};
use brunt_report::RunResult;
use brunt_report::result::{Instance, IoNumbers, Server};
use brunt_run::{Listener, Silence, Stop};
use brunt_scenario::{Document, ModelledScenario, Override};

use crate::TaskError;
use crate::figures::{Figure, Figures};
use crate::predictions::Request;
use crate::published::{Counters, Published, Row, scenarios};

/// A simulated test.
pub(crate) struct Prediction {
    pub(crate) result: RunResult,
}

/// Simulates what `request` asks for.
///
/// # Errors
/// [`TaskError`] when it cannot be simulated.
pub(crate) fn simulate(request: &Request) -> Result<Prediction, TaskError> {
    let failed = |why| TaskError::Simulate { scenario: request.scenario.clone(), why };
    let scenario = scenario(&request.scenario, &request.set).map_err(failed)?;
    let (engine, stop) = (Engine::Twin, Stop::default());
    let program = Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: None,
        command: String::new(),
    };
    let result = if request.is_drill {
        let options = DrillOptions { engine: Some(engine), controls: false, program };
        let listener: Rc<dyn Listener> = Rc::new(Silence);
        drill(&scenario, &options, &listener, &stop).map_err(|error| error.to_string())
    } else {
        let options =
            Options { engine, read_files: request.checksum, in_one_piece: false, program };
        predict_to_an_answer(scenario, &options, &stop).map_err(|error| error.to_string())
    };
    Ok(Prediction { result: result.map_err(failed)? })
}

/// The scenario called `name`, with `set` replaced.
///
/// # Errors
/// When it cannot be read or is refused.
pub(crate) fn scenario(name: &str, set: &[String]) -> Result<ModelledScenario, String> {
    let path = scenarios().join(format!("{name}.toml"));
    let text = fs::read_to_string(&path);
    let text = text.map_err(|error| format!("cannot be read: {error}"))?;
    let folder = path.parent().expect("a file lies in a folder");
    let scenario = Override::all(set, &[]).and_then(|overrides| {
        let read = |path: &Path| fs::read_to_string(path);
        Document::open(&path.display().to_string(), &text, folder, &read)?.modelled_test(&overrides)
    });
    scenario.map_err(|refusal| refusal.to_string())
}

impl Prediction {
    /// The figures that `row` of `published` prints.
    pub(crate) fn of(&self, published: &Published, row: &Row) -> Figures {
        self.figures(published.counters, row)
    }

    /// All figures of the whole test, with the engine's counters.
    pub(crate) fn whole(&self) -> Figures {
        self.figures(Counters::Engine, &Row::everything())
    }

    /// MiB per second of a backup, over all databases.
    pub(crate) fn backup(&self) -> Option<f64> {
        let servers = self.result.storage.servers.iter();
        let backups: Vec<f64> =
            servers.flat_map(|server| &server.backup).map(|backup| backup.rate.0).collect();
        (!backups.is_empty()).then(|| backups.iter().sum())
    }

    fn figures(&self, counters: Counters, row: &Row) -> Figures {
        let servers = self.result.storage.servers.iter();
        let servers: Vec<&Server> = servers
            .filter(|server| row.server.as_ref().is_none_or(|name| *name == server.name))
            .collect();
        let wanted = |at: usize| {
            let numbers = row.instances.as_ref();
            numbers.is_none_or(|numbers| numbers.contains(&(at + 1)))
        };
        let instances = servers.iter().flat_map(|server| {
            let instances = server.instances.iter().enumerate();
            instances.filter(|(at, _)| wanted(*at)).map(|(_, instance)| instance)
        });
        let instances: Vec<&Instance> = instances.collect();
        let load = load(&instances, counters);
        match row.instances.is_none() && row.server.is_none() {
            true => Figures {
                checksum_mib_per_s: self.checksum(),
                recovery_s_per_log: self.recovery(),
                recovery_reads_per_s: self.recovery_reads(),
                ..load
            },
            false => load,
        }
    }

    /// Utilisation of the busiest group of drives, 0 to 1.
    pub(crate) fn utilisation(&self) -> Option<f64> {
        let model = self.result.storage.details.model.as_ref()?;
        model.busiest(|array| array.groups.iter().map(|group| group.utilisation).collect())
    }

    /// Half of the 95 % interval of `figure`, if the simulation was long enough for one.
    pub(crate) fn half(&self, figure: &Figure) -> Option<f64> {
        let precision = self.result.storage.precision.as_ref()?;
        let mut all = precision.figures.iter();
        let known = all.find(|known| known.figure == figure.interval)?;
        Some(known.interval.high - known.predicted)
    }

    /// How sessions were held back.
    pub(crate) fn scheduling(&self) -> &str {
        let model = self.result.storage.details.model.as_ref();
        model.map_or("", |model| &model.scheduling)
    }

    /// Files are read in parallel, so the slowest determines the time.
    fn checksum(&self) -> Option<f64> {
        let files = || self.result.storage.servers.iter().flat_map(|server| &server.checksum);
        let databases = || files().filter(|file| file.file.ends_with(".edb"));
        let bytes = databases().map(|file| file.bytes_read.unwrap_or(file.bytes));
        let bytes: u64 = bytes.sum();
        let seconds = databases().map(|file| file.seconds).fold(0.0, f64::max);
        (seconds > 0.0).then(|| bytes as f64 / f64::from(1 << 20) / seconds)
    }

    fn recovery(&self) -> Option<f64> {
        let recovered = || self.result.storage.servers.iter().flat_map(|server| &server.recovery);
        let logs: u64 = recovered().map(|one| one.logs).sum();
        let seconds: f64 = recovered().map(|one| one.seconds).sum();
        (logs > 0).then(|| seconds / logs as f64)
    }

    fn recovery_reads(&self) -> Option<f64> {
        self.recovery()?;
        let model = self.result.storage.details.model.as_ref()?;
        let reads = ["database read", "recovery read"].map(|what| model.asked(what));
        let reads = reads.into_iter().flatten().map(|asked| asked.per_s);
        Some(reads.sum())
    }
}

/// The I/O of a set of instances.
fn load(instances: &[&Instance], counters: Counters) -> Figures {
    let [reads, writes, written] = Instance::primary_io(instances.iter().copied());
    let all = instances.iter().map(|instance| &instance.details.log);
    let all = all.flat_map(|log| [&log.writes, &log.format_writes]);
    let logs = match counters {
        Counters::Volumes => IoNumbers::together(all),
        Counters::Engine => written,
    };
    Figures {
        io_per_s: Some(reads.per_s + writes.per_s),
        reads_per_s: Some(reads.per_s),
        writes_per_s: Some(writes.per_s),
        read_ms: reads.latency_ms_mean,
        write_ms: writes.latency_ms_mean,
        log_writes_per_s: Some(logs.per_s),
        log_write_ms: logs.latency_ms_mean,
        log_write_bytes: logs.bytes_mean(),
        ..Figures::default()
    }
}
