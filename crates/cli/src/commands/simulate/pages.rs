//! LUNs in pages: what is going to be simulated, and what became of them, for plain load and for tests alike.

use brunt_array::{GroupDesign, LunRoom, PageStats, PagedDesign, SystemDesign};
use brunt_report::result::{MemberNumbers, PagesNumbers, RoomNumbers};

/// How many arrays of a kind there are, in words before the words for one; nothing for a single one.
pub(super) fn times(design: &SystemDesign) -> String {
    match design.arrays().len() {
        1 => String::new(),
        count => format!("{count} times "),
    }
}

/// What the group of the `member`-th array is called: by the array as well where there are several.
pub(super) fn group_name(design: &SystemDesign, member: usize, group: &GroupDesign) -> String {
    match design.arrays().len() {
        1 => group.name.clone(),
        _ => format!("{} of member {member}", group.name),
    }
}

/// LUNs in pages: how large, which are thin, whether they are balanced. Nothing for LUNs that have their place.
pub(super) fn described(design: &SystemDesign) -> Option<String> {
    match design {
        SystemDesign::One(_) => None,
        SystemDesign::Paged(paged) => Some(words(paged)),
    }
}

fn words(paged: &PagedDesign) -> String {
    let luns = paged.luns.iter().map(|lun| {
        let thin = if lun.is_thin { ", thin" } else { "" };
        format!("\"{}\" {}{thin}", lun.name, lun.size)
    });
    let mut parts: Vec<String> = luns.collect();
    parts.push(format!("pages of {}", paged.page));
    if paged.members.len() > 1 {
        parts.push(match paged.balance {
            Some(balance) => format!("members compared every {}", balance.every),
            None => "pages stay where they are".to_owned(),
        });
    }
    parts.join("; ")
}

/// What was measured on pages in so many seconds, as numbers of a result. `used` is each member's share in use, before and
/// after.
pub(super) fn numbers(
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

/// The lines that tell of pages, each with what it is about before it.
pub(super) fn lines(pages: &PagesNumbers) -> String {
    let told = pages.told().into_iter();
    told.map(|(what, line)| format!("{what:14}{line}\n"))
        .collect()
}
