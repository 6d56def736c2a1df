//! Events of the volumes of a pool: snapshots, restoring, clones.

use std::collections::BTreeMap;

use brunt_array::{CloneOf, Incident, SnapshotPlan, SystemDesign, VolumeIncident};

use super::super::arrays::{find, read_luns};
use super::super::place::{Placed, Refusal};
use super::super::section;
use super::incidents::One;

/// What is there by name, at the time of an event.
#[derive(Default)]
pub(super) struct Names {
    /// LUNs that hosts use, with their numbers; those of the scenario come first.
    pub(super) luns: Vec<(String, u32)>,
    /// Snapshots, or schedules, each with the names of its LUNs.
    snapshots: BTreeMap<String, Vec<String>>,
    /// Replicas, each with the names of its LUNs.
    replicas: BTreeMap<String, Vec<String>>,
    /// Clones in the pool of the hosts, and in the one at the other site.
    pub(super) clones: (Vec<String>, Vec<String>),
    count: usize,
}

impl Names {
    pub(super) fn of(design: &SystemDesign) -> Self {
        let luns = design.lun_names().into_iter().map(str::to_owned).zip(0..);
        let mut names = Self { luns: luns.collect(), ..Self::default() };
        names.count = names.luns.len();
        if let SystemDesign::Sites(sites) = design {
            for replica in &sites.replicas {
                let luns = replica.luns.iter();
                let luns = luns.map(|lun| names.luns[*lun as usize].0.clone());
                names.replicas.insert(replica.name.clone(), luns.collect());
            }
        }
        names
    }

    fn is_taken(&self, name: &str) -> bool {
        let mut luns = self.luns.iter().map(|(lun, _)| lun);
        luns.any(|lun| lun == name)
            || self.snapshots.contains_key(name)
            || self.replicas.contains_key(name)
    }

    fn lun_names(&self) -> Vec<&str> {
        self.luns.iter().map(|(name, _)| name.as_str()).collect()
    }
}

impl One<'_> {
    /// Refuses what a LUN with replicas cannot do.
    pub(super) fn check_has_no_replicas(&self, lun: &str) -> Result<(), Refusal> {
        let mut all = self.names.replicas.iter();
        let replica = all.find(|(_, luns)| luns.iter().any(|one| one == lun));
        replica.map_or(Ok(()), |(replica, _)| {
            let refusal = format!("is not for \"{lun}\", which has replicas (\"{replica}\")");
            Err(self.what.refuse(refusal))
        })
    }

    /// The LUNs that are named; the first without a name.
    fn luns(&mut self) -> Result<Vec<(String, u32)>, Refusal> {
        let names = self.names.lun_names();
        let places = read_luns(&mut self.section, &names)?;
        let first = self.names.luns.first();
        let places = match (places, first) {
            (Some(places), _) => places,
            (None, Some((_, 0))) => vec![0],
            (None, Some((first, _))) => {
                return Err(self.section.lacks("lun", &format!("lun = \"{first}\"")));
            }
            (None, None) => return Err(self.section.place().refuse("no LUN is left then")),
        };
        let luns = places.into_iter();
        Ok(luns.map(|place| self.names.luns[place as usize].clone()).collect())
    }

    /// A name that nothing else has.
    fn new_name(&mut self, usual: Option<String>) -> Result<String, Refusal> {
        let name = self.section.read("name", section::text);
        match (name, usual) {
            (Some(name), _) if self.names.is_taken(&name.value) => {
                Err(name.place.refuse("is the name of something else"))
            }
            (Some(name), _) => Ok(name.value),
            (None, Some(usual)) => Ok(usual),
            (None, None) => Err(self.section.lacks("name", "name = \"test\"")),
        }
    }

    pub(super) fn snapshot(&mut self) -> Result<Incident, Refusal> {
        let luns = self.luns()?;
        self.names.count += 1;
        let names: Vec<String> = luns.iter().map(|(name, _)| name.clone()).collect();
        let usual = format!("{}@{}", names.join("+"), self.names.count - 1);
        let name = self.new_name(Some(usual))?;
        let every = self.section.read("every", section::some_time);
        let keep = self.section.read("keep", |node| section::integer(node, 1..=512));
        if let (None, Some(keep)) = (&every, &keep) {
            return Err(keep
                .place
                .refuse("is for a snapshot that is repeated")
                .hint("for example: every = \"1h\""));
        }
        self.names.snapshots.insert(name.clone(), names);
        Ok(Incident::Volumes(VolumeIncident::Take(SnapshotPlan {
            luns: luns.into_iter().map(|(_, number)| number).collect(),
            name,
            every: every.map(|every| every.value),
            keep: keep.map(|keep| u32::try_from(keep.value).expect("in range")),
        })))
    }

    /// The snapshot that is named.
    fn taken_before(&mut self) -> Result<Option<Placed<String>>, Refusal> {
        let names: Vec<&str> = self.names.snapshots.keys().map(String::as_str).collect();
        let snapshot = self.section.read_beside("snapshot", |node| {
            if names.is_empty() {
                return Err(node.place.refuse("no snapshot is taken before"));
            }
            find(node, &names, "snapshot then")?;
            section::text(node)
        });
        Ok(snapshot)
    }

    pub(super) fn restore(&mut self) -> Result<Incident, Refusal> {
        let snapshot = self.taken_before()?;
        let snapshot = snapshot
            .ok_or_else(|| self.section.lacks("snapshot", "snapshot = \"name of a snapshot\""))?;
        Ok(Incident::Volumes(VolumeIncident::Restore(snapshot.value)))
    }

    pub(super) fn clone_luns(&mut self) -> Result<Incident, Refusal> {
        let snapshot = self.taken_before()?;
        let replicas: Vec<&str> = self.names.replicas.keys().map(String::as_str).collect();
        let replica = self.section.read_beside("replica", |node| {
            if replicas.is_empty() {
                return Err(node
                    .place
                    .refuse("is for replicas of volumes: there is no [[replicate]]"));
            }
            find(node, &replicas, "replica")?;
            section::text(node)
        });
        let entries = self.section.entries().iter();
        let luns = entries.filter(|(key, _)| key == "lun" || key == "luns").count();
        if luns + usize::from(snapshot.is_some()) + usize::from(replica.is_some()) > 1 {
            return Err(self.what.refuse("is of LUNs, of a snapshot or of a replica: give one"));
        }
        let is_there = replica.is_some();
        let (of, volumes) = match (snapshot, replica) {
            (Some(snapshot), _) => {
                let luns = self.names.snapshots[&snapshot.value].clone();
                (CloneOf::Snapshot(snapshot.value), luns)
            }
            (_, Some(replica)) => {
                let luns = self.names.replicas[&replica.value].clone();
                (CloneOf::Replica(replica.value), luns)
            }
            (None, None) => {
                let (names, numbers) = self.luns()?.into_iter().unzip();
                (CloneOf::Luns(numbers), names)
            }
        };
        let name = self.new_name(None)?;
        let clones = match volumes.as_slice() {
            [_] => vec![name.clone()],
            _ => volumes.iter().map(|lun| format!("{name}: {lun}")).collect(),
        };
        if let Some(taken) = clones.iter().find(|clone| self.names.is_taken(clone)) {
            return Err(self.what.refuse(format!("there is a \"{taken}\" already")));
        }
        match is_there {
            true => self.names.clones.1.extend(clones),
            false => {
                let first =
                    self.first_clone + u32::try_from(self.names.clones.0.len()).expect("few");
                self.names.luns.extend(clones.iter().cloned().zip(first..));
                self.names.clones.0.extend(clones);
            }
        }
        Ok(Incident::Volumes(VolumeIncident::Clone { of, name }))
    }

    pub(super) fn lun_online(&mut self) -> Result<Incident, Refusal> {
        match self.luns()?.as_slice() {
            [(_, number)] => Ok(Incident::Volumes(VolumeIncident::Online(*number))),
            _ => unreachable!("it has no key for several"),
        }
    }

    /// A LUN of the scenario, a clone, or a snapshot.
    pub(super) fn remove_lun(&mut self) -> Result<Incident, Refusal> {
        let mut names = self.names.lun_names();
        names.extend(self.names.snapshots.keys().map(String::as_str));
        let name = self.section.read_beside("lun", |node| {
            find(node, &names, "LUN then")?;
            section::text(node)
        });
        let is_first = self.names.luns.first().is_some_and(|(_, number)| *number == 0);
        let name = match (name, names.first()) {
            (Some(name), _) => name.value,
            (None, Some(first)) if is_first => (*first).to_owned(),
            (None, Some(first)) => {
                return Err(self.section.lacks("lun", &format!("lun = \"{first}\"")));
            }
            (None, None) => return Err(self.section.place().refuse("no LUN is left then")),
        };
        self.check_has_no_replicas(&name)?;
        let lun = self.names.luns.iter().position(|(lun, _)| *lun == name);
        match lun {
            Some(place) => {
                let (_, number) = self.names.luns.remove(place);
                Ok(Incident::LunRemoved(number))
            }
            None => {
                self.names.snapshots.remove(&name);
                Ok(Incident::Volumes(VolumeIncident::Remove(name)))
            }
        }
    }
}
