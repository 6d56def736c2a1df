//! The machines against bytes: what servers say, what they must not say, and anything at all.

mod bad_days;
mod chunks;
mod imap;
mod robot;
mod servers;
mod smtp;
mod tls;
