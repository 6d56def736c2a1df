//! activation
