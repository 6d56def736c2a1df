//! What an address chooses to see: `?of=DB1&from=10:00&to=20:00`.

use std::path::Path;

use brunt_report::View;
use brunt_units::Span;
use serde::Deserialize;

use super::PageError;
use crate::part;

/// What is chosen; empty fields choose nothing.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Chosen {
    /// A database or log.
    pub(super) of: Option<String>,
    /// When the part of the collection begins that is shown.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
}

impl Chosen {
    pub(super) fn is_all(&self) -> bool {
        [&self.of, &self.from, &self.to].into_iter().all(|field| given(field).is_none())
    }

    /// The view of the run in `folder`.
    pub(super) fn view(&self, folder: &Path) -> Result<View, PageError> {
        let part = match given(&self.of) {
            Some(name) => match part::read(folder, name)? {
                Some(part) => Some(part),
                None => {
                    return Err(PageError::Chosen(format!(
                        "The journal has no I/O of a database or log called {name}."
                    )));
                }
            },
            None => None,
        };
        let from = given(&self.from).map(seconds).transpose()?;
        let to = given(&self.to).map(seconds).transpose()?;
        let window = match (from, to) {
            (None, None) => None,
            (from, to) => Some((from.unwrap_or(0.0), to.unwrap_or(f64::INFINITY))),
        };
        match window {
            Some((from, to)) if from >= to => {
                Err(PageError::Chosen("The time that was chosen ends before it begins.".to_owned()))
            }
            window => Ok(View { window, part }),
        }
    }
}

fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// Seconds of the collection: `90`, `1:30`, `1:00:00`, `90s`, `2h`.
fn seconds(text: &str) -> Result<f64, PageError> {
    let parts: Result<Vec<u32>, _> = text.split(':').map(str::parse).collect();
    if let Ok(parts) = parts
        && parts.len() <= 3
    {
        return Ok(parts.iter().fold(0.0, |all, part| 60.0 * all + f64::from(*part)));
    }
    text.parse::<Span>().map(Span::as_seconds).map_err(|_| {
        PageError::Chosen(format!(
            "{text:?} is no time of the collection: 90, 1:30 and 90s are all a minute and a half."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_any_of_its_ways() {
        for text in ["90", "1:30", "0:01:30", "90s", "1.5 min"] {
            assert_eq!(seconds(text).unwrap(), 90.0, "{text}");
        }
        for text in ["", "1:2:3:4", "-1", "soon", "NaN", "1:x"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
