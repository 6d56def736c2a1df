//! The real world: io_uring, thread pool, operating-system clock and files.
