//! Activity of LUNs in pages, as numbers of a result.

use brunt_array::{GroupDesign, LunRoom, PageStats, SnapshotState, SystemDesign};
use brunt_report::result::{MemberNumbers, PagesNumbers, RoomNumbers, SnapshotNumbers};
use brunt_units::{ByteSize, Span};

/// The name of group number `member` of all arrays; it includes the array if there are several.
pub fn group_name(design: &SystemDesign, member: usize, group: &GroupDesign) -> String {
    if let SystemDesign::Pair(pair) = design {
        let at_source = pair.source.groups().len();
        return match member.checked_sub(at_source) {
            None => group_name(&pair.source, member, group),
            Some(member) => {
                let name = group_name(&pair.destination, member, group);
                format!("{name} at the destination")
            }
        };
    }
    if let SystemDesign::Sites(sites) = design {
        let at_source = sites.source.members.len();
        return match member.checked_sub(at_source) {
            None => format!("{} of member {member}", group.name),
            Some(member) => format!("{} of member {member} at the partner", group.name),
        };
    }
    match design.arrays().len() {
        1 => group.name.clone(),
        _ => format!("{} of member {member}", group.name),
    }
}

/// The activity of pages over `seconds` seconds, as numbers of a result. `snapshots` are those at
/// the end; `used` is the share in use of each member, before and after.
pub fn numbers(
    design: &SystemDesign,
    (stats, luns): &(PageStats, Vec<LunRoom>),
    snapshots: &[SnapshotState],
    used: (&[f64], &[f64]),
    seconds: f64,
) -> Option<PagesNumbers> {
    let paged = match design {
        SystemDesign::Paged(paged) => paged,
        SystemDesign::Sites(sites) => &sites.source,
        SystemDesign::One(_) | SystemDesign::Pair(_) => return None,
    };
    let members = used.0.iter().zip(used.1).zip(&stats.asked);
    let bytes = |sectors: u64| sectors * 512;
    Some(PagesNumbers {
        page_bytes: paged.page.get(),
        members: members
            .map(|((before, after), asked)| MemberNumbers {
                used_before: *before,
                used: *after,
                asked_per_s: *asked as f64 / seconds,
            })
            .collect(),
        luns: luns
            .iter()
            .map(|lun| RoomNumbers {
                name: lun.name.clone(),
                bytes: lun.size.get(),
                room_bytes: lun.has.get(),
                snapshot_bytes: lun.snapshots.0.get(),
                snapshot_reserve_bytes: lun.snapshots.1.map(ByteSize::get),
            })
            .collect(),
        zeros: stats.zeros,
        allocated: stats.allocated,
        first_writes: stats.first_writes,
        redirected: stats.redirected,
        around_bytes: bytes(stats.around_sectors),
        map_writes: stats.map_writes,
        refused: stats.refused,
        moved: stats.moved,
        made_whole: stats.made_whole,
        planned: stats.planned,
        copied_bytes: bytes(stats.copied_sectors),
        snapshots: snapshots
            .iter()
            .map(|set| SnapshotNumbers {
                name: set.name.clone(),
                at_s: Span(set.at.0).as_seconds(),
                luns: set.luns.clone(),
            })
            .collect(),
        snapshots_deleted: stats.snapshots_deleted,
    })
}
