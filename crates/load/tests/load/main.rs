//! Courses against small servers in a virtual world.

mod again;
mod bad_days;
mod cleaning;
mod course;
mod liar;
mod safety;
mod server;
mod tls;
mod users;
