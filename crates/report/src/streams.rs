//! Names of the streams of a whole server, in `counters.csv` and in the latency log.
//!
//! They have no point; the streams of one file are called after it, a point, and what was done: `DB1.read`.

/// Database reads for operations.
pub const DATABASE_READ: &str = "database-read";
/// Database writes.
pub const DATABASE_WRITE: &str = "database-write";
/// Log writes.
pub const LOG_WRITE: &str = "log-write";
/// Operations, from their intended start.
pub const OPERATION: &str = "operation-intended";
/// Operations, from their actual start.
pub const OPERATION_SERVICE: &str = "operation-service";
/// Operations that waited for room in the cache.
pub const PAGE_FAULT_STALLS: &str = "page_fault_stalls";
/// Bytes of pages in memory.
pub const CACHE: &str = "cache";
/// What streams of the machine begin with; the name of a [`crate::result::HostCounter`] follows.
pub const HOST: &str = "host: ";

/// The stream of `what` on a database or log called `name`. Latency logs take neither blanks nor commas in a name.
pub fn of(name: &str, what: &str) -> String {
    format!("{}.{what}", tag(name))
}

/// A name as latency logs take it.
pub fn tag(name: &str) -> String {
    let unwelcome = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    name.replace(unwelcome, "-")
}
