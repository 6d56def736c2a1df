//! The journal and the tables that are made of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use brunt_report::streams::tag;
use brunt_report::{Counters, Event, FolderError, JOURNAL, RunFolder, Timestamp, journal_in};
use brunt_run::{FORMAT, Head, NEWS_SCHEMA, Record, Sample, Writer};
use brunt_stats::LatencyLog;
use brunt_units::Time;
use serde_json::json;

use super::{Heard, RecorderError};
use crate::interrupted::Interrupted;
use crate::runs;

const COUNTERS: &str = "counters.csv";
const LATENCIES: &str = "latency.hlog";

/// The journal, and what is made of it.
pub(super) struct Files {
    pub(super) writer: Writer,
    pub(super) tables: Tables,
    /// Lines of the latency log; `None` before there is a head.
    latency_log: Option<LatencyLog>,
    heard: Option<Heard>,
}

pub(super) struct Tables {
    pub(super) journal: Table,
    pub(super) counters: Table,
    latencies: Table,
    events: Table,
    news: Table,
}

impl Tables {
    pub(super) fn create(folder: &RunFolder) -> Result<Self, FolderError> {
        let mut tables = Self {
            counters: Table::create(folder, COUNTERS)?,
            latencies: Table::create(folder, LATENCIES)?,
            ..Self::of_work(folder)?
        };
        tables.counters.append(Counters::HEAD.as_bytes())?;
        Ok(tables)
    }

    pub(super) fn of_work(folder: &RunFolder) -> Result<Self, FolderError> {
        let late = |name, head| Table::new(folder.file(name), Place::Late(head));
        Ok(Self {
            journal: Table::create(folder, JOURNAL)?,
            counters: late(COUNTERS, Counters::HEAD),
            latencies: late(LATENCIES, ""),
            events: Table::create(folder, "events.log")?,
            news: Table::create(folder, "news.jsonl")?,
        })
    }

    /// Of work without a folder.
    pub(super) fn nowhere() -> Self {
        let none = || Table::new(PathBuf::new(), Place::Nowhere);
        Self { journal: none(), counters: none(), latencies: none(), events: none(), news: none() }
    }
}

impl Files {
    /// Files with their heads.
    pub(super) fn none(
        mut tables: Tables,
        run_id: &str,
        heard: Option<Heard>,
    ) -> Result<Self, FolderError> {
        tables.journal.append(FORMAT.as_bytes())?;
        tables.news.append(format!("{}\n", json!({ "schema": NEWS_SCHEMA })).as_bytes())?;
        Ok(Self { writer: Writer::new(run_id), tables, latency_log: None, heard })
    }

    /// With the head of the run.
    pub(super) fn of(mut self, head: Head) -> Result<Self, FolderError> {
        self.append(Time::ZERO, &Record::Head(Box::new(head)))?;
        Ok(self)
    }

    /// Appends what an interrupted run has recorded: samples up to the last that counts, and
    /// everything else.
    pub(super) fn append_earlier(&mut self, earlier: &Interrupted) -> Result<(), RecorderError> {
        let folder = earlier.folder();
        let Some(mut journal) = journal_in(folder)? else {
            return Ok(());
        };
        let mut part = 0;
        while let Some(entry) = journal.next_entry().map_err(runs::refused(folder))? {
            if entry.part > part {
                part = entry.part;
                self.writer.next_part();
            }
            match &entry.record {
                Record::Sample(_) if entry.seq >= earlier.records() => {}
                Record::Ended(_) => {}
                record => self.append(entry.at, record)?,
            }
        }
        Ok(())
    }

    /// Appends a record to the journal, and to the table of its kind.
    pub(super) fn append(&mut self, at: Time, record: &Record) -> Result<(), FolderError> {
        let entry = self.writer.place(at, record);
        self.tables.journal.append(&self.writer.bytes(at, record))?;
        if let Some(heard) = &mut self.heard {
            heard(&entry);
        }
        match record {
            Record::Head(head) => {
                self.latency_log.get_or_insert_with(|| LatencyLog::new(head.began_unix_s));
                Ok(())
            }
            Record::Sample(sample) => self.append_sample(sample),
            Record::Event(brunt_run::Event { unix_s, text }) => {
                let at = Timestamp { unix_seconds: *unix_s };
                let event = Event { at, text: text.clone() };
                self.tables.events.append(format!("{event}\n").as_bytes())
            }
            Record::News(json) => self.tables.news.append(format!("{json}\n").as_bytes()),
            Record::Standing(_) | Record::Ended(_) => Ok(()),
        }
    }

    fn append_sample(&mut self, sample: &Sample) -> Result<(), FolderError> {
        let mut rows = Counters::new();
        rows.add_sample(sample);
        self.tables.counters.append(rows.take().as_bytes())?;
        let log = self.latency_log.get_or_insert_with(|| LatencyLog::new(0));
        for one in &sample.histograms {
            // A journal that is carried on may come from anywhere.
            let stream = tag(&one.stream);
            log.add(&stream, one.begin, one.length, &one.latencies);
        }
        // Of work without histograms there is no log.
        let has_lines = match self.tables.latencies.place {
            Place::Open(_) => sample.has_load(),
            Place::Late(_) => !sample.histograms.is_empty(),
            Place::Nowhere => false,
        };
        let lines = if has_lines { log.take() } else { Vec::new() };
        self.tables.latencies.append(&lines)
    }

    pub(super) fn sync(&mut self) -> Result<(), FolderError> {
        let Tables { journal, counters, latencies, events, news } = &mut self.tables;
        let mut tables = [journal, counters, latencies, events, news];
        tables.iter_mut().try_for_each(|table| table.sync())
    }
}

/// A file that only grows.
pub(super) struct Table {
    pub(super) path: PathBuf,
    pub(super) place: Place,
    changed: bool,
}

pub(super) enum Place {
    Open(File),
    /// It is made when there is something for it, and begins with this.
    Late(&'static str),
    /// It is not kept.
    Nowhere,
}

impl Table {
    fn create(folder: &RunFolder, name: &str) -> Result<Self, FolderError> {
        let path = folder.file(name);
        Ok(Self::new(path.clone(), Place::Open(created(&path)?)))
    }

    fn new(path: PathBuf, place: Place) -> Self {
        Self { path, place, changed: false }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        match &mut self.place {
            _ if bytes.is_empty() => Ok(()),
            Place::Nowhere => Ok(()),
            Place::Late(head) => {
                let head = *head;
                self.place = Place::Open(created(&self.path)?);
                self.append(head.as_bytes())?;
                self.append(bytes)
            }
            Place::Open(file) => {
                self.changed = true;
                let written = file.write_all(bytes);
                written.map_err(|source| self.refused(source))
            }
        }
    }

    fn sync(&mut self) -> Result<(), FolderError> {
        match &self.place {
            Place::Open(file) if std::mem::take(&mut self.changed) => {
                let synced = file.sync_data();
                synced.map_err(|source| self.refused(source))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, source: io::Error) -> FolderError {
        FolderError { path: self.path.clone(), source }
    }
}

fn created(path: &Path) -> Result<File, FolderError> {
    let file = OpenOptions::new().append(true).create_new(true).open(path);
    file.map_err(|source| FolderError { path: path.to_owned(), source })
}
