//! Names of the streams of a whole server, in `counters.csv` and the latency log.
//!
//! They have no dot. The name of a stream of one file is the file's name, a dot, and the kind of
//! I/O: `DB1.read`.

/// Database reads for operations.
pub const DATABASE_READ: &str = "database-read";
pub const DATABASE_WRITE: &str = "database-write";
pub const LOG_WRITE: &str = "log-write";
/// Operations, from their intended start.
pub const OPERATION: &str = "operation-intended";
/// Operations, from their actual start.
pub const OPERATION_SERVICE: &str = "operation-service";
/// Operations that waited for a free frame of the cache.
pub const PAGE_FAULT_STALLS: &str = "page_fault_stalls";
/// Bytes of pages in memory.
pub const CACHE: &str = "cache";
/// Kind of a passive copy's stream: closed logs that it has not stored, at the end of the sample.
pub const COPY_QUEUE: &str = "copy-queue";
/// Likewise, stored logs that it has not replayed.
pub const REPLAY_QUEUE: &str = "replay-queue";
/// Prefix of the machine's streams; the name of a [`crate::result::HostCounter`] follows.
pub const HOST: &str = "host: ";
/// Prefix of those of modelled arrays' parts; [`crate::parts`] has what follows.
pub const ARRAY: &str = brunt_run::ARRAY;

/// The stream of `what` on a database or log called `name`. Names in latency logs have neither
/// spaces nor commas.
pub fn of(name: &str, what: &str) -> String {
    format!("{}.{what}", tag(name))
}

/// `name` in the form that latency logs accept.
pub fn tag(name: &str) -> String {
    let unwelcome = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    name.replace(unwelcome, "-")
}
