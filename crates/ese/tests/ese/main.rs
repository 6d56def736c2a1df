//! External tests of the engine, built as one program: each file is a subject.

mod attachments;
mod backup;
mod common;
mod contradictions;
mod copy;
mod crash_corners;
mod deletes_on_bad_pages;
mod full_volume;
mod ghost;
mod growth;
mod insert_after_delete;
mod liveness;
mod log_full;
mod log_stream;
mod lost_logs;
mod maintenance;
mod messages;
mod readers;
mod redo;
mod safety;
mod small_cache;
