//! Configurations of Jetstress as scenarios of brunt.
//!
//! ```text
//!   JetstressConfig.xml --[`encoding`]--> text --[`config`]--> Settings --[`scenario`]--> TOML
//! ```
//!
//! Nothing is dropped in silence: each element becomes a key, a comment, or a note that it is not
//! supported ([`Fate`]). Names and defaults are those of a complete `JetstressConfig.xml` of
//! Jetstress 2013 (jacobklitzke/Jetstress-Test-Automation).

mod config;
mod encoding;
mod paths;
mod scenario;
mod settings;

pub use config::{ImportError, import};
pub use encoding::decoded;
pub use paths::PathMap;
pub use settings::{Fate, Noted, Settings};
