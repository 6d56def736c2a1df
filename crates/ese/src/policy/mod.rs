//! Decisions without side effects: each takes the time and its inputs, and writes commands into buffers of the caller.
