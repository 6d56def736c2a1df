//! A pair of systems at two sites.

mod link;

pub use link::{Crossed, Exchange, PairLink, PairLinkDesign, PairLinkError};
