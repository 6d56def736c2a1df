//! Test types, rules and verdict: drives a workload through the engine in a world.
