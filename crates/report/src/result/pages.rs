//! LUNs in pages that are spread over several arrays: how full the arrays are, and the cost of
//! moving pages, thin LUNs and snapshots.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use crate::{decimals, grouped};

/// Activity of pages during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PagesNumbers {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The arrays that hold the pages.
    pub members: Vec<MemberNumbers>,
    /// The LUNs at the end, including snapshots.
    pub luns: Vec<RoomNumbers>,
    /// Host reads, by page, of data that was never written. They reach no drive.
    pub zeros: u64,
    /// Pages that were allocated for a host write.
    pub allocated: u64,
    /// Host writes, by page, to data that was never written before.
    pub first_writes: u64,
    /// Host writes, by page, that were redirected because a snapshot shares the page or the page
    /// was moving.
    pub redirected: u64,
    /// Bytes that both kinds of writes read around their data.
    pub around_bytes: u64,
    /// Writes of the page map.
    pub map_writes: u64,
    /// Host writes, by page, that failed for lack of space.
    pub refused: u64,
    /// Pages that moved to another array.
    pub moved: u64,
    /// Pages that were completed, because a LUN behind them was removed.
    pub made_whole: u64,
    /// Pages that were still to be moved or completed.
    #[serde(default)]
    pub planned: u64,
    /// Bytes copied for both.
    pub copied_bytes: u64,
    /// The snapshots at the end, from the oldest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotNumbers>,
    /// Snapshots that were deleted because a reserve was full.
    #[serde(default)]
    pub snapshots_deleted: u64,
}

/// Snapshots of one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotNumbers {
    /// Its name.
    pub name: String,
    /// Its instant, in seconds from the start of the simulation.
    pub at_s: f64,
    /// The LUNs that it is of.
    pub luns: Vec<String>,
}

/// One of the arrays that hold pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberNumbers {
    /// Share of its space in use when measuring began, 0 to 1.
    pub used_before: f64,
    /// Share of its space in use at the end, 0 to 1.
    pub used: f64,
    /// Requests for data per second, for any purpose.
    pub asked_per_s: f64,
}

/// One LUN in pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoomNumbers {
    /// Its name in the scenario.
    pub name: String,
    /// Its size for hosts.
    pub bytes: u64,
    /// Bytes of its allocated pages, its own and shared ones.
    pub room_bytes: u64,
    /// Bytes of pages that its snapshots keep beyond those.
    #[serde(default)]
    pub snapshot_bytes: u64,
    /// Bytes set aside for its snapshots; `None` without a reserve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_reserve_bytes: Option<u64>,
}

impl PagesNumbers {
    /// The activity as pairs of subject and text. What did not happen is left out.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        let mut told = vec![("room", self.room())];
        let luns = self.luns.iter().map(|lun| ("", lun.told()));
        told.extend(luns);
        let lines = [
            ("pages moved", self.moving()),
            ("snapshots", self.kept()),
            ("redirected", self.redirecting()),
            ("thin LUNs", self.thin()),
        ];
        let lines = lines.into_iter();
        told.extend(lines.filter_map(|(what, line)| Some((what, line?))));
        told
    }

    fn room(&self) -> String {
        let members = self.members.iter();
        let of = |(number, member): (usize, &MemberNumbers)| {
            let (before, after) = (percent(member.used_before), percent(member.used));
            let change = match before == after {
                true => after,
                false => format!("{before} to {after}"),
            };
            match self.members.len() {
                1 => change,
                _ => format!("member {number} {change}"),
            }
        };
        let members: Vec<String> = members.enumerate().map(of).collect();
        format!("in use: {}", members.join(", "))
    }

    fn moving(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.moved > 0 {
            parts.push(format!("{} to another member", grouped(self.moved)));
        }
        if self.made_whole > 0 {
            let many = grouped(self.made_whole);
            parts.push(format!("{many} made whole after a LUN was removed"));
        }
        if self.planned > 0 {
            parts.push(format!("{} still to go", grouped(self.planned)));
        }
        parts.push(format!("{} copied", bytes(self.copied_bytes)));
        (self.copied_bytes > 0 || self.planned > 0).then(|| parts.join("; "))
    }

    fn kept(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let (Some(oldest), Some(newest)) = (self.snapshots.first(), self.snapshots.last()) {
            let at = |one: &SnapshotNumbers| {
                format!("\"{}\" of {}", one.name, Span::from_seconds(one.at_s))
            };
            parts.push(match self.snapshots.len() {
                1 => at(oldest),
                many => format!("{many}, from {} to {}", at(oldest), at(newest)),
            });
        }
        if self.snapshots_deleted > 0 {
            let many = grouped(self.snapshots_deleted);
            parts.push(format!("{many} deleted for want of reserve"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn redirecting(&self) -> Option<String> {
        let many = grouped(self.redirected);
        (self.redirected > 0).then(|| {
            format!("{many} writes to pages that are shared or moving; {}", self.overhead())
        })
    }

    fn thin(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.first_writes > 0 {
            let many = grouped(self.first_writes);
            let mut first = format!("{many} writes to blocks that were never written");
            if self.redirected == 0 {
                first.push_str(&format!("; {}", self.overhead()));
            }
            parts.push(first);
        }
        for (count, what) in [
            (self.allocated, "pages got room"),
            (self.zeros, "reads of zeros"),
            (self.refused, "writes found no room"),
        ] {
            if count > 0 {
                parts.push(format!("{} {what}", grouped(count)));
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The combined cost of redirected writes and of first writes.
    fn overhead(&self) -> String {
        let around = match self.around_bytes {
            0 => "nothing".to_owned(),
            around => bytes(around),
        };
        let map = grouped(self.map_writes);
        format!("{around} read around such writes, {map} writes of the map")
    }
}

impl RoomNumbers {
    fn told(&self) -> String {
        let share = self.room_bytes as f64 / self.bytes.max(1) as f64;
        let mut told = format!(
            "\"{}\" has pages for {} of {} ({})",
            self.name,
            bytes(self.room_bytes),
            bytes(self.bytes),
            percent(share.min(1.0))
        );
        match self.snapshot_reserve_bytes {
            Some(reserve) => told.push_str(&format!(
                "; snapshots keep {} of their reserve of {}",
                bytes(self.snapshot_bytes),
                bytes(reserve)
            )),
            None if self.snapshot_bytes > 0 => {
                told.push_str(&format!("; snapshots keep {}", bytes(self.snapshot_bytes)));
            }
            None => {}
        }
        told
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A size in the largest unit that fits.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{} {}", decimals(size), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(used_before: f64, used: f64) -> MemberNumbers {
        MemberNumbers { used_before, used, asked_per_s: 100.0 }
    }

    fn quiet() -> PagesNumbers {
        PagesNumbers {
            page_bytes: 1 << 20,
            members: vec![member(0.5, 0.5)],
            luns: vec![RoomNumbers {
                name: "mail".into(),
                bytes: 40 << 30,
                room_bytes: 10 << 30,
                snapshot_bytes: 0,
                snapshot_reserve_bytes: None,
            }],
            zeros: 0,
            allocated: 0,
            first_writes: 0,
            redirected: 0,
            around_bytes: 0,
            map_writes: 0,
            refused: 0,
            moved: 0,
            made_whole: 0,
            planned: 0,
            copied_bytes: 0,
            snapshots: Vec::new(),
            snapshots_deleted: 0,
        }
    }

    #[test]
    fn what_did_not_happen_is_left_out() {
        let told = quiet().told();
        assert_eq!(told[0], ("room", "in use: 50 %".to_owned()));
        let lun = "\"mail\" has pages for 10.0 GiB of 40.0 GiB (25 %)";
        assert_eq!(told[1], ("", lun.to_owned()));
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn snapshots_and_their_reserve_are_told() {
        let mut pages = quiet();
        let snapshot = |number: u32| SnapshotNumbers {
            name: format!("hourly {number}"),
            at_s: 3600.0 * f64::from(number),
            luns: vec!["mail".into()],
        };
        pages.snapshots = vec![snapshot(2), snapshot(3)];
        pages.snapshots_deleted = 1;
        pages.luns[0].snapshot_bytes = 1 << 30;
        let of = |pages: &PagesNumbers, what| {
            let told = pages.told().into_iter();
            let mut told = told.filter(|(name, _)| *name == what);
            told.next().unwrap().1
        };
        assert_eq!(
            of(&pages, "snapshots"),
            "2, from \"hourly 2\" of 2 h 00 min to \"hourly 3\" of 3 h 00 min; 1 deleted for want of reserve"
        );
        assert!(of(&pages, "").ends_with("(25 %); snapshots keep 1.00 GiB"));
        pages.luns[0].snapshot_reserve_bytes = Some(10 << 30);
        let reserve = "; snapshots keep 1.00 GiB of their reserve of 10.0 GiB";
        assert!(of(&pages, "").ends_with(reserve));
    }

    #[test]
    fn every_cost_is_told_once() {
        let busy = PagesNumbers {
            members: vec![member(0.5, 0.6), member(0.0, 0.0)],
            redirected: 1200,
            first_writes: 7,
            around_bytes: 3 << 20,
            map_writes: 1207,
            refused: 2,
            moved: 3,
            planned: 1200,
            copied_bytes: 3 << 20,
            ..quiet()
        };
        let told = busy.told();
        let of = |what: &str| {
            let one = told.iter().find(|(name, _)| *name == what);
            one.map(|(_, line)| line.clone()).unwrap()
        };
        assert_eq!(of("room"), "in use: member 0 50 % to 60 %, member 1 0 %");
        assert_eq!(of("pages moved"), "3 to another member; 1,200 still to go; 3.00 MiB copied");
        assert_eq!(
            of("redirected"),
            "1,200 writes to pages that are shared or moving; 3.00 MiB read around such writes, 1,207 writes of the map"
        );
        assert_eq!(
            of("thin LUNs"),
            "7 writes to blocks that were never written; 2 writes found no room"
        );
    }
}
