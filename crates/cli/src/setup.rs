//! What `brunt check` calls an error, asked at both ends of a run: such a test does not qualify.

use brunt_check::{Subject, What, words};
use brunt_host::configuration::configuration;
use brunt_scenario::Scenario;

/// What is wrong now with how this machine is set up for `scenario`, a line each.
pub fn errors(scenario: &Scenario) -> Vec<String> {
    let machine = configuration(scenario);
    words::errors(&Subject { what: What::Test(scenario), host: Some(&machine) })
}

/// What was wrong `before` a run, and what was not wrong until its end.
pub fn with_end(before: &[String], end: Vec<String>) -> Vec<String> {
    let new = end.into_iter().filter(|error| !before.contains(error));
    let new = new.map(|error| format!("at the end of the run: {error}"));
    before.iter().cloned().chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrong_before_is_said_once() {
        let [raid, path] = ["md0 is degraded", "sda is offline"].map(str::to_owned);
        let said = with_end(std::slice::from_ref(&raid), vec![raid.clone(), path]);
        assert_eq!(said, [raid.as_str(), "at the end of the run: sda is offline"]);
    }
}
