//! LUNs in pages: what is going to be simulated, and what became of them, for raw load and for
//! tests alike.

use brunt_array::{PagedDesign, SystemDesign};
use brunt_report::result::PagesNumbers;

/// How many arrays of a kind there are, in words before the words for one; nothing for a single
/// one.
pub fn times(design: &SystemDesign) -> String {
    let arrays = match design {
        SystemDesign::Pair(pair) => pair.source.arrays(),
        SystemDesign::Sites(sites) => sites.source.members.iter().collect(),
        design => design.arrays(),
    };
    match arrays.len() {
        1 => String::new(),
        count => format!("{count} times "),
    }
}

/// LUNs in pages: how large, which are thin, whether they are balanced. Nothing for LUNs that have
/// their place.
pub fn described(design: &SystemDesign) -> Option<String> {
    match design {
        SystemDesign::One(_) => None,
        SystemDesign::Paged(paged) => Some(words(paged)),
        SystemDesign::Pair(pair) => described(&pair.source),
        SystemDesign::Sites(sites) => Some(words(&sites.source)),
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

/// The lines that tell of pages, each with what it is about before it.
pub fn lines(pages: &PagesNumbers) -> String {
    let told = pages.told().into_iter();
    told.map(|(what, line)| format!("{what:14}{line}\n")).collect()
}
