//! Shards: parts of one test, each on a thread of its own, judged as one.
//!
//! ```text
//!   plan --> split --> shard 1: decide | create, open | warm up | collect ... | close | verify --.
//!                      shard 2: decide | create, open | warm up | collect ... | close | verify --+-> joined --> result
//!                                      ^-- meeting ---^---------^             '- news, samples --'
//! ```
//!
//! A shard has whole log streams with their databases, its part of the cache and of the sessions,
//! and a world, an engine and an executor of its own. Nothing of the engine is shared, so nothing
//! of it is locked. Shards meet only where the test demands it: no file is changed unless all of
//! them can be used, all databases are ready before sessions begin, and all collect from the same
//! point in time on. What a shard has to say goes through a channel to the thread that [`joined`]
//! runs on, which tells it as that of one test.
//!
//! A shard whose collection ends early ends that of the others, which still close and verify their
//! databases. One that fails before there is a test, or whose thread panics, stops them
//! ([`Shard::fail`]).
//!
//! Where parts meet is a [`Meeting`]. Shards of one process have a [`LocalMeeting`]; together, or as
//! the only one, they may be a part of a test on many hosts, which meets beyond this process.
//!
//! Not taken: one cache and one pool of sessions for all shards. Sessions would have to wait for
//! other threads, and the cache for locks; the gain of a second core would be lost to them.

pub mod joined;
mod meeting;
mod news;
mod split;

pub use meeting::{Border, LocalMeeting, Meeting, Shard};
