//! The design of two pools, one of which keeps replicas of the other's LUNs.

use brunt_units::{ByteSize, Span, Time};

use crate::paged::{PagedDesign, PagedError, PagedLunDesign, ReserveDesign, WhenFull};
use crate::pair::{PairLinkDesign, PairLinkError};

/// How the first replica gets to the other site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seed {
    /// Over the link, like all others.
    #[default]
    Link,
    /// On media, which take this long from site to site.
    Media(Span),
}

/// LUNs that are replicated together: each replica has them all, as they were at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaDesign {
    /// Its name in reports.
    pub name: String,
    /// The LUNs of the source.
    pub luns: Vec<u32>,
    /// When the first replication starts.
    pub first: Time,
    /// How often it starts. A start is left out while the one before goes on.
    pub every: Span,
    /// How many replicas are kept, the newest; at least one.
    pub keep: u32,
    /// How the first gets there.
    pub seed: Seed,
    /// What is set aside at the source for the start of a replication, in percent of the LUNs;
    /// without it, what is free.
    pub local_reserve: Option<u32>,
    /// Whether the start of the newest replica is kept at the source.
    pub failback: bool,
    /// What the replicas may have beyond the newest, in percent of it; without it, what is free.
    pub replica_reserve: Option<u32>,
}

/// Two pools: hosts use the LUNs of the source; the partner keeps replicas.
#[derive(Clone)]
pub struct SitesDesign {
    /// The pool of the hosts.
    pub source: PagedDesign,
    /// The pool at the other site. Its LUNs are those that replicas are made of.
    pub partner: PagedDesign,
    /// The link between them.
    pub link: PairLinkDesign,
    /// What is replicated.
    pub replicas: Vec<ReplicaDesign>,
    /// Blocks of each replication that are under way at a time.
    pub outstanding: u32,
    /// The most that a block has.
    pub block: ByteSize,
}

/// Why two pools cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SitesError {
    /// A pool cannot be built.
    #[error("{0}: {1}")]
    Pool(&'static str, PagedError),
    /// The link cannot be built.
    #[error("link: {0}")]
    Link(#[from] PairLinkError),
    /// A replication without LUNs, or with one that does not exist.
    #[error("replica \"{0}\" has no such LUN")]
    NoLun(String),
    /// A LUN has one partner and one schedule.
    #[error("replica \"{0}\": LUN \"{1}\" is replicated already")]
    Twice(String, String),
    /// A number that must not be zero.
    #[error("replica \"{0}\": {1}")]
    Zero(String, &'static str),
    /// The pools cut their LUNs into other grains.
    #[error(
        "grains of {source_grain} here and {partner_grain} at the partner: replicas need the same"
    )]
    Grains { source_grain: ByteSize, partner_grain: ByteSize },
}

impl SitesDesign {
    /// Two pools with the defaults: 8 blocks of at most 256 KiB under way (assumed). The partner is
    /// like `partner`, but has the LUNs of the replicas only.
    pub fn new(
        source: PagedDesign,
        mut partner: PagedDesign,
        link: PairLinkDesign,
        replicas: Vec<ReplicaDesign>,
    ) -> Self {
        let luns = replicas.iter().flat_map(|replica| {
            let luns = replica.luns.iter();
            luns.filter_map(|lun| source.luns.get(*lun as usize)).map(|lun| PagedLunDesign {
                name: lun.name.clone(),
                size: lun.size,
                is_thin: true,
                reserve: replica
                    .replica_reserve
                    .map(|percent| ReserveDesign { percent, when_full: WhenFull::KeepNewest }),
            })
        });
        partner.luns = luns.collect();
        Self { source, partner, link, replicas, outstanding: 8, block: ByteSize::kib(256) }
    }

    /// Names of the LUNs that hosts use, in order: those of the source, its clones, and clones at
    /// the partner.
    pub(crate) fn lun_names(&self) -> Vec<&str> {
        let luns = self.source.luns.iter().map(|lun| lun.name.as_str());
        let clones = self.source.clones.iter().chain(&self.partner.clones);
        luns.chain(clones.map(String::as_str)).collect()
    }

    pub(super) fn check(&self) -> Result<(), SitesError> {
        let mut taken = Vec::new();
        for replica in &self.replicas {
            let name = || replica.name.clone();
            if replica.luns.is_empty() {
                return Err(SitesError::NoLun(name()));
            }
            for lun in &replica.luns {
                let Some(design) = self.source.luns.get(*lun as usize) else {
                    return Err(SitesError::NoLun(name()));
                };
                if taken.contains(lun) {
                    return Err(SitesError::Twice(name(), design.name.clone()));
                }
                taken.push(*lun);
            }
            if replica.every == Span::ZERO {
                return Err(SitesError::Zero(name(), "starts again at once"));
            }
            if replica.keep == 0 {
                return Err(SitesError::Zero(name(), "keeps no replica"));
            }
        }
        if self.source.grain != self.partner.grain {
            return Err(SitesError::Grains {
                source_grain: self.source.grain,
                partner_grain: self.partner.grain,
            });
        }
        Ok(())
    }
}
