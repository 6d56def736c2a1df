//! Compares two PDFs object by object, from their catalogs on.
//!
//! Numbers of objects and the compression of streams mean nothing here; what refers to what does.
//! So both graphs are walked together. A difference is named by its page, or by its place below
//! the catalog.

use std::collections::{BTreeMap, VecDeque};

use lopdf::{Dictionary, Object, ObjectId, Stream};

use super::Difference;
use super::read::{Pdf, ReadError, STREAM_MAX};

/// More differences than these say nothing more.
const DIFFERENCES_MAX: usize = 50;
/// What readers show of a document besides its pages; other entries are of the program that wrote
/// it last.
const INFO: [&[u8]; 4] = [b"Title", b"Author", b"Subject", b"Keywords"];
/// Entries that say how a stream is packed.
const PACKING: [&[u8]; 5] = [b"Length", b"Filter", b"DecodeParms", b"DL", b"Length1"];

/// Everything in `shown` that is not as in `follows`.
pub(super) fn differences(shown: &Pdf, follows: &Pdf) -> Result<Vec<Difference>, ReadError> {
    let catalog = |pdf: &Pdf| pdf.document.catalog().cloned();
    let (Ok(one), Ok(other)) = (catalog(shown), catalog(follows)) else {
        return Ok(vec![Difference::Besides("the catalog".to_owned())]);
    };
    let mut walk =
        Walk { shown, follows, pairs: BTreeMap::new(), queue: VecDeque::new(), found: Vec::new() };
    walk.info();
    walk.dictionaries(&one, &other, &Place::default(), &[]);
    while let Some((one, other, place)) = walk.queue.pop_front() {
        walk.resolved(one, other, &place)?;
        if walk.found.len() >= DIFFERENCES_MAX {
            break;
        }
    }
    Ok(walk.found)
}

/// Where an object is.
#[derive(Clone, Debug, Default)]
struct Place {
    page: Option<usize>,
    path: String,
}

impl Place {
    fn below(&self, key: &str) -> Self {
        /// Enough to find it; lists of objects lead one to the next without end.
        const PATH_MAX: usize = 120;
        let path = match self.path.len() > PATH_MAX {
            true => self.path.clone(),
            false => format!("{}/{key}", self.path),
        };
        Self { page: self.page, path }
    }
}

struct Walk<'a> {
    shown: &'a Pdf,
    follows: &'a Pdf,
    pairs: BTreeMap<ObjectId, ObjectId>,
    queue: VecDeque<(ObjectId, ObjectId, Place)>,
    found: Vec<Difference>,
}

impl Walk<'_> {
    /// Compares the title and its like.
    fn info(&mut self) {
        let text = |pdf: &Pdf, key| {
            let info = pdf.document.trailer.get_deref(b"Info", &pdf.document);
            let text = info.and_then(|info| info.as_dict()?.get_deref(key, &pdf.document));
            text.ok().and_then(|text| Some(text.as_str().ok()?.to_vec()))
        };
        for key in INFO {
            if text(self.shown, key) != text(self.follows, key) {
                let place = Place::default().below("Info");
                self.differs(&place.below(&String::from_utf8_lossy(key)));
            }
        }
    }

    fn differs(&mut self, place: &Place) {
        let difference = match place.page {
            Some(page) => Difference::Drawing { page, place: place.path.clone() },
            None => Difference::Besides(place.path.clone()),
        };
        // One difference of a page is enough.
        let is_known = self.found.iter().any(|known| match (known, &difference) {
            (Difference::Drawing { page: one, .. }, Difference::Drawing { page: other, .. }) => {
                one == other
            }
            (one, other) => one == other,
        });
        if !is_known {
            self.found.push(difference);
        }
    }

    /// Two objects that references lead to.
    fn resolved(&mut self, one: ObjectId, other: ObjectId, place: &Place) -> Result<(), ReadError> {
        self.shown.visit()?;
        let page = self.follows.page_of(other);
        let place = match page {
            Some(_) => Place { page, path: String::new() },
            None => place.clone(),
        };
        let objects =
            (self.shown.document.get_object(one), self.follows.document.get_object(other));
        match objects {
            (Ok(Object::Stream(one)), Ok(Object::Stream(other))) => {
                let (one, other) = (one.clone(), other.clone());
                self.streams(&one, &other, &place)
            }
            (Ok(one), Ok(other)) => {
                let (one, other) = (one.clone(), other.clone());
                self.objects(&one, &other, &place);
                Ok(())
            }
            (Err(_), Err(_)) => Ok(()),
            _ => {
                self.differs(&place);
                Ok(())
            }
        }
    }

    fn streams(&mut self, one: &Stream, other: &Stream, place: &Place) -> Result<(), ReadError> {
        self.dictionaries(&one.dict, &other.dict, place, &PACKING);
        let is_packed_alike = one.content == other.content
            && PACKING.iter().all(|key| one.dict.get(key).ok() == other.dict.get(key).ok());
        if is_packed_alike {
            return Ok(());
        }
        let wanted = self.follows.content(other, STREAM_MAX)?;
        if wanted.is_none() || self.shown.content(one, STREAM_MAX)? != wanted {
            self.differs(place);
        }
        Ok(())
    }

    fn dictionaries(&mut self, one: &Dictionary, other: &Dictionary, place: &Place, but: &[&[u8]]) {
        let keys = |dictionary: &Dictionary| -> Vec<Vec<u8>> {
            let keys = dictionary.iter().map(|(key, _)| key.clone());
            let mut keys: Vec<Vec<u8>> =
                keys.filter(|key| !but.contains(&key.as_slice())).collect();
            // Pages first: what they share with others belongs to them.
            keys.sort_by_key(|key| (key != b"Pages", key.clone()));
            keys
        };
        let mut all = keys(one);
        all.extend(keys(other).into_iter().filter(|key| !one.has(key)));
        for key in all {
            let place = place.below(&String::from_utf8_lossy(&key));
            match (one.get(&key), other.get(&key)) {
                (Ok(one), Ok(other)) => self.objects(one, other, &place),
                _ => self.differs(&place),
            }
        }
    }

    fn objects(&mut self, one: &Object, other: &Object, place: &Place) {
        match (one, other) {
            (Object::Reference(one), Object::Reference(other)) => match self.pairs.get(one) {
                None => {
                    self.pairs.insert(*one, *other);
                    self.queue.push_back((*one, *other, place.clone()));
                }
                Some(known) if known == other => {}
                Some(_) => self.differs(place),
            },
            // A number may be written in an object of its own.
            (Object::Reference(_), _) | (_, Object::Reference(_)) => {
                let one = self.shown.resolved(one).cloned();
                let other = self.follows.resolved(other).cloned();
                match (one, other) {
                    (Some(one), Some(other))
                        if !matches!(one, Object::Stream(_))
                            && !matches!(other, Object::Stream(_)) =>
                    {
                        self.objects(&one, &other, place);
                    }
                    _ => self.differs(place),
                }
            }
            (Object::Array(one), Object::Array(other)) if one.len() == other.len() => {
                for (at, (one, other)) in one.iter().zip(other).enumerate() {
                    self.objects(one, other, &place.below(&at.to_string()));
                }
            }
            (Object::Dictionary(one), Object::Dictionary(other)) => {
                self.dictionaries(one, other, place, &[]);
            }
            (Object::String(one, _), Object::String(other, _)) if one == other => {}
            (one, other) if is_equal(one, other) => {}
            _ => self.differs(place),
        }
    }
}

/// Numbers are equal whether they are written with a point or without.
fn is_equal(one: &Object, other: &Object) -> bool {
    match (one.as_float(), other.as_float()) {
        (Ok(one), Ok(other)) => (one - other).abs() < 1e-4,
        _ => one == other,
    }
}
