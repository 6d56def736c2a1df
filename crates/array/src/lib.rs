//! Modelled storage arrays: drives, RAID, pools, caches, controllers and links in virtual time.
//!
//! An array is content-free: it models how long requests take and what is lost; the bytes live
//! elsewhere. Inside, everything is a state machine over one heap of events, in integer
//! nanoseconds; equal designs, seeds and requests give equal results.
//!
//! * [`drive`]: mechanisms, their queues, and the library of models with a source for every figure.
//! * [`ArrayDesign`]: the design of an array; [`Array`]: the array.
//! * [`Pair`]: two systems, one of which replicates LUNs to the other over a link.
//! * [`PagedArray`]: LUNs in pages over one or more arrays: storage pools, thin provisioning,
//!   snapshots, clones.
//! * [`Sites`]: two such pools, one of which keeps replicas of the other's LUNs.
//! * [`load`]: raw load on an array, and its results.
//! * [`Tally`]: requests by LUN and class.

mod array;
mod breakdown;
mod busy;
mod cache;
mod design;
pub mod drive;
mod extent;
mod group;
mod incident;
pub mod load;
mod numbers;
mod paged;
mod pair;
mod sites;
mod slab;
mod standing;
mod system;
mod tally;

pub use array::{Array, Finished, FrontWork, HostIo, Verb};
pub use breakdown::Breakdown;
pub use cache::{CacheStats, FlushPolicy, PAGE_SECTORS_MAX, TierStats, Watermarks};
pub use design::{
    ArrayDesign, CacheDesign, ControllerDesign, DesignError, FrontDesign, GroupDesign, Level,
    LunDesign, MirrorChoice, PathPolicy, RepairDesign, ScanDesign, TierDesign,
};
pub use extent::Extent;
pub use group::{POOL_DRIVES_MIN, Protection, StripeShape, WIDTH_MAX, preservation_drives};
pub use incident::{Incident, Misplaced, Note, NoteKind, Priority, Scheduled};
pub use paged::{
    BalanceDesign, CloneOf, LunRoom, PageStats, PagedArray, PagedDesign, PagedError,
    PagedLunDesign, ReserveDesign, SnapshotPlan, SnapshotState, VolumeIncident, VolumeNote,
    WhenFull,
};
pub use pair::{
    AtRisk, Control, Crossed, Exchange, Failover, GroupExtent, GroupNote, GroupState,
    HistoryDesign, LogFill, Loss, Mode, Obstacle, Pair, PairDesign, PairError, PairGroupDesign,
    PairIncident, PairLink, PairLinkDesign, PairLinkError, PairListener, PairMove, PairNote, Phase,
    Replication, ReplicationState, ResumePolicy, Site, WriteMeter, WriteRate, WriteRates,
};
pub use sites::{
    InReplica, ReplicaDesign, ReplicaListener, ReplicaMove, ReplicaNote, ReplicaState, Replicas,
    Seed, SiteNote, Sites, SitesDesign, SitesError,
};
pub use standing::{Standing, Standings, Unfinished};
pub use system::{Part, PartMut, Parts, System, SystemDesign, SystemError};
pub use tally::{Asked, Tally};
