//! How many servers would fit, where those that are asked for do not.
//!
//! Every number of servers up to the most is sized anew, on the same drives, and held against every
//! limit; the first that keeps to all of them is the answer. Servers with more cores or memory than
//! the version supports are sized with what it does support.

use brunt_scenario::{Organisation, Place, Placed, SERVERS_MAX};

use crate::{Demand, Finding, Sizing};

/// Limits that more servers may keep to.
const MENDED: [&str; 5] =
    ["databases-on-server", "processor", "memory", "cores-supported", "memory-supported"];
/// What each server has, and the most that the version supports.
const EQUIPMENT: [(&str, &str); 2] =
    [("server_cores", "cores_max"), ("server_memory_bytes", "memory_bytes_max")];

/// What would fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Servers {
    /// The smallest number of servers that keeps to every limit, and what each then has of what was
    /// reduced to what the version supports: the figure and its value.
    Fit(u64, Vec<(&'static str, f64)>),
    /// No number does; the limit that the last one breaks.
    None(Finding),
}

impl Sizing<'_> {
    /// How many servers would fit; `None` where these do, or where servers are not what is short.
    pub fn servers_that_fit(&self) -> Option<Servers> {
        let mut broken = self.findings.iter().filter(|finding| !finding.holds);
        if !broken.any(|finding| MENDED.contains(&finding.id)) {
            return None;
        }
        let (mut org, reduced) = self.supported();
        let mut last = None;
        for servers in self.org.servers.value..=SERVERS_MAX {
            org.servers.value = servers;
            let sizing = Demand::new(&org).on(self.block.as_ref());
            match sizing.findings.into_iter().find(|finding| !finding.holds) {
                None => return Some(Servers::Fit(servers, reduced)),
                broken => last = broken,
            }
        }
        last.map(Servers::None)
    }

    /// The organisation with servers that the version supports, and what is less in them.
    fn supported(&self) -> (Organisation, Vec<(&'static str, f64)>) {
        let mut org = self.org.clone();
        let mut reduced = Vec::new();
        for (name, most) in EQUIPMENT {
            let given = org.figures.iter_mut().find(|(own, _)| *own == name);
            if let (Some((_, given)), Some(most)) = (given, self.sheet.find(most))
                && given.value > most
            {
                *given = Placed { value: most, place: Place::flag("servers") };
                reduced.push((name, most));
            }
        }
        (org, reduced)
    }
}
