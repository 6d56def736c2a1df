//! Courses against small servers in a virtual world.

mod course;
mod safety;
mod server;
