//! What every implementation of the seam must pass: one suite for files, memory, crash images and arrays.
