//! Profiles by name or as files, and what they say.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use brunt_report::{Column, Row, Table};
use brunt_users::{Profile, ProfileError};
use brunt_workload::profile::Certainty;

/// A file of figures is not longer.
const FILE_MAX: u64 = 1 << 20;

/// Why there is no such profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileRefused {
    /// Neither a name nor a file.
    #[error("there is no profile \"{name}\", and no such file{}\n  profiles: {}", meant.as_ref().map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default(), Profile::names().collect::<Vec<_>>().join(", "))]
    Unknown { name: String, meant: Option<&'static str> },
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// It is no profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// The profile called `name`, or in the file with this path.
///
/// # Errors
/// [`ProfileRefused`] when there is none.
pub(super) fn read(name: &str) -> Result<Profile, ProfileRefused> {
    if let Some(profile) = Profile::built_in(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    if !path.exists() {
        let near = |known: &&str| strsim::jaro_winkler(known, name) > 0.85;
        let meant = Profile::names().find(near);
        return Err(ProfileRefused::Unknown { name: name.to_owned(), meant });
    }
    let text = text(path).map_err(|error| ProfileRefused::File { path: path.to_owned(), error })?;
    Ok(Profile::read(name, &text)?)
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Every figure of `profile`, how certain it is, and where it is from.
pub(super) fn explained(profile: &Profile) -> String {
    let rows = profile.explained().iter().map(|row| {
        let because = [row.why.as_str(), row.source.as_str()];
        let because: Vec<&str> = because.into_iter().filter(|text| !text.is_empty()).collect();
        Row::new([
            row.what.clone(),
            row.value.clone(),
            word(row.certainty).to_owned(),
            because.join("; "),
        ])
    });
    let columns = [
        Column::words("figure"),
        Column::numbers("value"),
        Column::words(""),
        Column::words("why, and source"),
    ];
    let table = Table::new(columns, rows).to_text();
    let follows = match (profile.submissions_per_day(), profile.deliveries_per_day()) {
        (Some(submitted), Some(delivered)) => format!(
            "It follows: {submitted:.1} messages submitted and {delivered:.1} delivered a day for each user."
        ),
        _ => String::new(),
    };
    let (title, about) = (&profile.title, &profile.about);
    format!("{title}\n{about}\n\n{}\n\n{follows}", table.trim_end())
}

fn word(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Found => "found",
        Certainty::Inferred => "inferred",
        Certainty::Fitted => "fitted",
        Certainty::Published => "published",
        Certainty::Assumed => "assumed",
    }
}
