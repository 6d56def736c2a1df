//! A run for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_report::result::Rule;
use brunt_report::{Run, RunResult};
use brunt_run::Stream;

use crate::{Look, State};

const RESULT: &str = include_str!("../../report/tests/report/result_v2.json");

/// A run with these rules after so many samples.
pub(crate) fn look(name: &str, rules: Vec<Rule>, samples: u64, state: State) -> Look {
    let mut result = RunResult::from_json(RESULT).unwrap();
    result.rules = rules;
    let look = Look::of(name, Run::of_result(result), state);
    Look { run_id: format!("{name}-id"), samples, ..look }
}

/// The same with these streams.
pub(crate) fn with_streams(look: Look, streams: BTreeMap<String, Stream>) -> Look {
    Look { streams: Arc::new(streams), ..look }
}
