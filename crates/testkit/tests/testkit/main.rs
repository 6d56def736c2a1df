//! Tests of the test tools, in one program: the crash search, its canaries, page patching, the real
//! world.

mod canaries;
mod crash;
mod patching;
mod real_world;
