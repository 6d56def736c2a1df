//! Activity of LUNs in pages, as numbers of a result.

use brunt_array::{GroupDesign, LunRoom, PageStats, SystemDesign};
use brunt_report::result::{MemberNumbers, PagesNumbers, RoomNumbers};

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
    match design.arrays().len() {
        1 => group.name.clone(),
        _ => format!("{} of member {member}", group.name),
    }
}

/// The activity of pages over `seconds` seconds, as numbers of a result. `used` is the share in use of each member, before and
/// after.
pub fn numbers(
    design: &SystemDesign,
    (stats, luns): &(PageStats, Vec<LunRoom>),
    used: (&[f64], &[f64]),
    seconds: f64,
) -> Option<PagesNumbers> {
    let SystemDesign::Paged(paged) = design else {
        return None;
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
    })
}
