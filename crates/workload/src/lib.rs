//! Exchange version profiles, sessions and operation mixes.
