//! `--set KEY=VALUE`: a text as it is, with every key of a scenario for shells to complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use brunt_scenario::set_keys;

/// Takes any text: the scenario's reader says what is wrong with a key.
#[derive(Clone, Copy, Debug)]
pub struct SetKeys;

impl TypedValueParser for SetKeys {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let keys = set_keys().iter();
        Some(Box::new(keys.map(|(key, about)| PossibleValue::new(key.as_str()).help(*about))))
    }
}
