//! `[array.pages]`: LUNs in pages over several arrays that are all like `[array]`.

use std::collections::BTreeMap;

use brunt_array::{
    ArrayDesign, BalanceDesign, PagedArray, PagedDesign, PagedError, PagedLunDesign, ReserveDesign,
    SystemDesign, WhenFull,
};
use brunt_units::{ByteSize, Span};
use brunt_world::random::Streams;

use super::super::files::Files;
use super::super::keys::{ABOVE_ZERO, Maybe, SIZE, SWITCH, TEXT, TIME, Whole, Word, keys, sized};
use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::read_array;

/// Pages while they are read.
pub(crate) struct Pages {
    members: u64,
    later: u64,
    grain: ByteSize,
    page: ByteSize,
    every: Option<Span>,
    balance: BalanceDesign,
}

keys! {
    PAGES of Pages = "[array.pages]";
    /// Arrays like [array]; drives are counted on from one to the next.
    members: u64 = [members], Whole(1..=64), "1";
    /// Of those, the last ones take part from an event "member joins" on.
    later: u64 = [later], Whole(0..=64), "0";
    /// What is redirected.
    grain: ByteSize = [grain], SIZE, "`\"64 KiB\"`";
    /// What is allocated and moved.
    size: ByteSize = [page], SIZE, "`\"15 MiB\"`";
    /// How often members are compared.
    balance_every: Option<Span> = [every], Maybe(ABOVE_ZERO), "pages stay";
    /// Pages that are moved at a time.
    balance_pages: Option<u32> = [|pages| balanced(pages, pages.balance.pages), |pages, count| pages.balance.pages = count.unwrap_or_default()], Maybe(Whole(1..=10_000)), "by `balance_every`";
    /// What is copied at a time; a grain at least.
    balance_unit: Option<ByteSize> = [|pages| balanced(pages, pages.balance.unit), |pages, unit| pages.balance.unit = unit.unwrap_or_default()], Maybe(SIZE), "by `balance_every`";
    /// How much slower than the fastest a member has to be.
    balance_gap: Option<Span> = [|pages| balanced(pages, pages.balance.gap), |pages, gap| pages.balance.gap = gap.unwrap_or_default()], Maybe(TIME), "by `balance_every`";
}

/// `value` where members are compared.
fn balanced<T>(pages: &Pages, value: T) -> Option<T> {
    pages.every.map(|_| value)
}

keys! {
    LUN of PagedLunDesign = "[[array.lun]]";
    /// What it is called.
    name: String = [name], TEXT, "`\"lun 0\"` and so on";
    /// How large it is.
    size: ByteSize = [size], sized(read_size, "size above 0"), needs "size = \"500 GB\"";
    /// Whether pages are allocated when they are written.
    thin: bool = [is_thin], SWITCH, "`false`";
    /// Set aside for its snapshots, in percent of its pages.
    snapshot_reserve: Option<u32> = [|lun| lun.reserve.map(|reserve| reserve.percent), |lun, percent| lun.reserve = percent.map(reserve)], Maybe(Whole(0..=10_000)), "what is free";
    /// What happens when that is full.
    when_full: Option<WhenFull> = [|lun| lun.reserve.map(|reserve| reserve.when_full), |lun, word| set_when_full(lun, word)], Maybe(Word(&WHEN_FULL)), "`\"delete oldest\"`";
}

fn reserve(percent: u32) -> ReserveDesign {
    ReserveDesign { percent, when_full: WhenFull::default() }
}

fn set_when_full(lun: &mut PagedLunDesign, word: Option<WhenFull>) {
    if let (Some(reserve), Some(word)) = (&mut lun.reserve, word) {
        reserve.when_full = word;
    }
}

static WHEN_FULL: [(&str, WhenFull); 3] = [
    ("delete oldest", WhenFull::DeleteOldest),
    ("offline", WhenFull::Offline),
    ("borrow", WhenFull::Borrow),
];

/// One array, or several under one map.
pub(super) fn read(array: &mut Section, files: &Files) -> Result<SystemDesign, Refusal> {
    let Some(node) = array.take("pages") else {
        return Ok(read_array(array, files)?.into());
    };
    let own = node.place.clone();
    let luns = read_luns(array);
    let member = read_member(array, files, &own);
    let pages = read_pages(node, "[array.pages]");
    let (luns, places) = luns?;
    let design = pages?.with(member?, luns);
    match PagedArray::new(&design, Streams::new(1)) {
        Ok(_) => Ok(design.into()),
        Err(error) => {
            let blamed = match &error {
                PagedError::Lun { lun, .. }
                | PagedError::LunSize { lun, .. }
                | PagedError::Reserve { lun, .. } => places.get(lun),
                _ => None,
            };
            Err(blamed.unwrap_or(&own).refuse(error.to_string()))
        }
    }
}

/// A pool without LUNs; nothing without `pages`.
pub(super) fn read_pool(
    array: &mut Section,
    files: &Files,
) -> Result<Option<PagedDesign>, Refusal> {
    let Some(node) = array.take("pages") else {
        return Ok(None);
    };
    let own = node.place.clone();
    let member = read_member(array, files, &own);
    let pages = read_pages(node, "[partner.pages]")?;
    member.map(|member| Some(pages.with(member, Vec::new())))
}

fn read_member(array: &mut Section, files: &Files, pages: &Place) -> Result<ArrayDesign, Refusal> {
    let member = read_array(array, files)?;
    match member.groups.len() {
        1 => Ok(member),
        many => Err(pages.refuse(format!("lie on one group of a member, and there are {many}"))),
    }
}

fn read_pages(node: Node, title: &'static str) -> Result<Pages, Refusal> {
    let mut pages = Pages {
        members: 1,
        later: 0,
        grain: ByteSize::kib(64),
        page: ByteSize::mib(15),
        every: None,
        balance: BalanceDesign::default(),
    };
    let section = PAGES.titled(title).read(node, &mut pages);
    let refuse = |key: &str, what: String| Err(section.place_of(key).refuse(what));
    if pages.later >= pages.members {
        let what = format!("leaves none of {} members to begin with", pages.members);
        return refuse("later", what);
    }
    if let Some(every) = pages.every {
        pages.balance.every = every;
        if pages.members < 2 {
            let what = "compares members, and there is only one";
            return refuse("balance_every", what.to_owned());
        }
        if pages.balance.unit < pages.grain {
            let grain = pages.grain;
            let what = format!("is less than a grain of {grain}, and nothing smaller is copied");
            return refuse("balance_unit", what);
        }
    } else {
        let more = ["balance_gap", "balance_pages", "balance_unit"];
        if let Some(key) = more.into_iter().find(|key| section.written(key)) {
            return refuse(key, "is for balancing, which needs `balance_every`".to_owned());
        }
    }
    Ok(pages)
}

impl Pages {
    fn with(self, member: ArrayDesign, luns: Vec<PagedLunDesign>) -> PagedDesign {
        let number = |number| usize::try_from(number).expect("in range");
        let (count, later) = (number(self.members), number(self.later));
        PagedDesign {
            members: vec![member; count],
            later: (count - later..count).collect(),
            page: self.page,
            grain: self.grain,
            luns,
            clones: Vec::new(),
            balance: self.every.map(|_| self.balance),
        }
    }
}

type Luns = (Vec<PagedLunDesign>, BTreeMap<String, Place>);

fn read_luns(array: &mut Section) -> Result<Luns, Refusal> {
    let (mut luns, mut places) = (Vec::new(), BTreeMap::new());
    for node in array.tables("lun") {
        let Some((lun, place)) = array.sink().catch(read_lun(node, luns.len())) else { continue };
        if places.insert(lun.name.clone(), place.clone()).is_some() {
            return Err(place.refuse(format!("there are two LUNs called \"{}\"", lun.name)));
        }
        luns.push(lun);
    }
    if !array.written("lun") {
        return Err(array.lacks("lun", "[[array.lun]] with size = \"500 GB\""));
    }
    if luns.is_empty() {
        return Err(Refusal::echo());
    }
    Ok((luns, places))
}

fn read_lun(node: Node, index: usize) -> Result<(PagedLunDesign, Place), Refusal> {
    let mut lun = PagedLunDesign {
        name: format!("lun {index}"),
        size: ByteSize::bytes(0),
        is_thin: false,
        reserve: None,
    };
    let section = LUN.read(node, &mut lun);
    // Without it, snapshots have what is free.
    if section.written("when_full") && lun.reserve.is_none() {
        let refusal = section.place_of("when_full").refuse("is for a reserve");
        return Err(refusal.hint("for example: snapshot_reserve = 100"));
    }
    Ok((lun, section.place_of("size").clone()))
}

fn read_size(node: &Node) -> Result<ByteSize, Refusal> {
    match section::size(node)? {
        size if size.get() > 0 => Ok(size),
        _ => Err(node.place.refuse("is nothing")),
    }
}
