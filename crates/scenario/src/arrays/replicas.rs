//! `[[replicate]]`, `[link]` and `[partner]`: LUNs in pages, replicated to a pool at another site.

use brunt_array::{PagedDesign, ReplicaDesign, Seed, Sites, SitesDesign, SitesError, SystemDesign};
use brunt_units::{Span, Time};
use brunt_world::random::Streams;

use super::super::files::Files;
use super::super::keys::{ABOVE_ZERO, Maybe, SWITCH, TEXT, TIME, Whole, Word, keys};
use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::{find, pages, pair, titled_section};

keys! {
    /// A table as it is written.
    pub(crate) struct Said; REPLICATE = "[[replicate]]";
    /// What these replicas are called.
    name: String = String::new(), TEXT, "`\"replicas 0\"` and so on";
    /// The time from one start to the next.
    every: Span = Span::seconds(3600), ABOVE_ZERO, needs "every = \"1h\"";
    /// The first start.
    at: Span = Span::ZERO, TIME, "0";
    /// Replicas that are kept.
    keep: u32 = 1, Whole(1..=KEEP_MAX), "1";
    /// How the first one gets there.
    seed: bool = false, Word(&SEEDS), "`\"link\"`";
    /// How long media are on their way.
    media_takes: Option<Span> = None, Maybe(TIME), "has to be there for `\"media\"`";
    /// Set aside for changes during a replication, in percent of a LUN's pages.
    local_reserve: Option<u32> = None, Maybe(Whole(5..=200)), "what is free";
    /// Whether the snapshot of the last replica stays, for a failback of changes alone.
    failback: bool = false, SWITCH, "`false`";
    /// Set aside for replicas, in percent of a LUN's pages.
    replica_reserve: Option<u32> = None, Maybe(Whole(1..=10_000)), "what is free";
}

static SEEDS: [(&str, bool); 2] = [("link", false), ("media", true)];
const KEEP_MAX: u64 = 512;

/// Makes two pools of `source` if the scenario replicates its volumes.
pub(crate) fn read(
    top: &mut Section,
    source: SystemDesign,
    files: &Files,
) -> Result<SystemDesign, Refusal> {
    let partner = top.take("partner");
    let Some(node) = top.take("replicate") else {
        return match partner {
            Some(node) => {
                Err(node.place.refuse("is for replicas of volumes: there is no [[replicate]]"))
            }
            None => Ok(source),
        };
    };
    let place = node.place.clone();
    if let Some(node) = top.take("replication") {
        let refusal = node
            .place
            .refuse("replicates arrays write by write, and [[replicate]] volumes by snapshots");
        return Err(refusal.hint("keep one of them"));
    }
    let SystemDesign::Paged(source) = source else {
        let refusal = place.refuse("is for LUNs in pages: there is no [array.pages]");
        return Err(refusal.hint("[replication] replicates other arrays"));
    };
    let Some(link) = top.take("link") else {
        return Err(place.refuse("has no link").hint("for example: [link] with rtt = \"20ms\""));
    };
    let link_place = link.place.clone();
    let link = pair::read_link(link);
    let partner = match partner {
        None => source.clone(),
        Some(node) => read_partner(node, files)?,
    };
    let mut replicas = Vec::new();
    let mut places = Vec::new();
    for node in section::tables(node, "replicate") {
        let replica = read_replica(node, &source, replicas.len());
        let Some((replica, place)) = top.sink().catch(replica) else { continue };
        replicas.push(replica);
        places.push(place);
    }
    let design = SitesDesign::new(source, partner, link, replicas);
    match Sites::new(&design, Streams::new(1)) {
        Ok(_) => Ok(design.into()),
        Err(error) => {
            let blamed = match &error {
                SitesError::Link(_) => Some(&link_place),
                SitesError::NoLun(name)
                | SitesError::Twice(name, _)
                | SitesError::Zero(name, _) => {
                    // The later of two with one LUN.
                    let mut all = design.replicas.iter().zip(&places).rev();
                    all.find(|(one, _)| one.name == *name).map(|(_, place)| place)
                }
                _ => None,
            };
            Err(blamed.unwrap_or(&place).refuse(error.to_string()))
        }
    }
}

fn read_partner(node: Node, files: &Files) -> Result<PagedDesign, Refusal> {
    let place = node.place.clone();
    let mut section = titled_section(node, "[partner]", &["pages"]);
    if let Some(node) = section.take("lun") {
        let refusal = node.place.refuse("the partner has the LUNs of its replicas");
        return Err(refusal.hint("hosts there use clones: an event with what = \"clone\""));
    }
    let read = pages::read_pool(&mut section, files)?;
    read.ok_or_else(|| {
        place
            .refuse("keeps replicas in pages, and has no `pages`")
            .hint("[partner.pages], which may be empty")
    })
}

fn read_replica(
    node: Node,
    source: &PagedDesign,
    index: usize,
) -> Result<(ReplicaDesign, Place), Refusal> {
    let mut said = Said { name: format!("replicas {index}"), ..Said::default() };
    let names: Vec<&str> = source.luns.iter().map(|lun| lun.name.as_str()).collect();
    let mut section = REPLICATE.read_beside(node, &["lun", "luns"], &mut said);
    let luns = read_luns(&mut section, &names)?;
    let luns = luns.ok_or_else(|| section.lacks("luns", "luns = [\"data\", \"log\"]"))?;
    let seed = match (said.seed, said.media_takes) {
        (false, Some(_)) => {
            return Err(section.place_of("media_takes").refuse("is for seed = \"media\""));
        }
        (false, None) => Seed::Link,
        (true, None) => return Err(section.lacks("media_takes", "media_takes = \"12h\"")),
        (true, Some(takes)) => Seed::Media(takes),
    };
    let replica = ReplicaDesign {
        name: said.name,
        luns,
        first: Time::ZERO + said.at,
        every: said.every,
        keep: said.keep,
        seed,
        local_reserve: said.local_reserve,
        failback: said.failback,
        replica_reserve: said.replica_reserve,
    };
    Ok((replica, section.place().clone()))
}

/// The LUNs that `lun` or `luns` names; nothing without both.
pub(crate) fn read_luns(
    section: &mut Section,
    names: &[&str],
) -> Result<Option<Vec<u32>>, Refusal> {
    let number = |node: &Node| {
        let number = find(node, names, "LUN")?;
        Ok(u32::try_from(number).expect("few LUNs"))
    };
    let one = section.read_beside("lun", number);
    let several = section.read_beside("luns", |node| match &node.value {
        Value::List(nodes) if !nodes.is_empty() => {
            let mut luns = Vec::new();
            for node in nodes {
                let lun = number(node)?;
                if luns.contains(&lun) {
                    return Err(node.place.refuse("is there twice"));
                }
                luns.push(lun);
            }
            Ok(luns)
        }
        _ => {
            Err(node.place.refuse("is not a list of LUNs").hint("for example [\"data\", \"log\"]"))
        }
    });
    match (one, several) {
        (Some(_), Some(several)) => {
            Err(several.place.refuse("says which LUNs, and so does `lun`: give one"))
        }
        (Some(one), None) => Ok(Some(vec![one.value])),
        (None, several) => Ok(several.map(|several| several.value)),
    }
}
