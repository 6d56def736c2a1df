//! Pages at the active's side: for a copy whose page is bad, and from copies when its own is.
//!
//! A copy can have replayed no log that is not closed. So before a page is sent, the log file
//! that is being written is closed, if the page needs it: the copy then receives that log, and the
//! page belongs to a log that both have.

use std::rc::{Rc, Weak};

use brunt_ese::patch::{Answering, Copies, Offer, Wanted};
use brunt_world::Segment;
use brunt_world::messages::Sender;

use crate::asking::answer;
use crate::shipper::{Inner, Shipper};
use crate::wire::Want;

impl Shipper {
    /// Answers a copy's request for a page. An instance that was closed has none to give.
    pub(crate) async fn answer(self, line: Sender, want: Want, _open: Rc<()>) {
        let instance = &self.0.instance;
        let offer = match self.0.is_final.get() {
            true => None,
            false => {
                let offer = instance.offer_page(want.database, want.page).await;
                // A page that is bad here as well is no answer.
                offer.ok().flatten()
            }
        };
        let offer = offer.filter(|offer| offer.replayed >= want.replayed);
        answer(&line, want.number, offer).await;
    }
}

/// Copies of the databases of one server, for [`brunt_ese::cache::Cache::patch_from`]. One that is
/// not connected has no page.
///
/// It does not keep shippers alive.
#[derive(Default)]
pub struct PagesOfCopies(Vec<Source>);

/// The copies of one instance.
struct Source {
    shipper: Weak<Inner>,
    /// The numbers and names of those to ask, in this order.
    copies: Vec<(usize, String)>,
}

impl PagesOfCopies {
    /// Adds copies of the instance of `shipper`: their numbers there, and their names. Copies that
    /// replay late have not what is asked for.
    pub fn add(&mut self, shipper: &Shipper, copies: Vec<(usize, String)>) {
        let shipper = Rc::downgrade(&shipper.0);
        self.0.push(Source { shipper, copies });
    }

    fn source(&self, wanted: &Wanted) -> Option<(Rc<Inner>, &Source)> {
        self.0.iter().find_map(|source| {
            let inner = source.shipper.upgrade()?;
            inner.number_of(wanted).is_some().then_some((inner, source))
        })
    }
}

impl Copies for PagesOfCopies {
    fn names(&self, wanted: &Wanted) -> Vec<String> {
        let source = self.source(wanted);
        let copies = source.into_iter().flat_map(|(_, source)| &source.copies);
        copies.map(|(_, name)| name.clone()).collect()
    }

    fn ask(&self, copy: usize, wanted: &Wanted) -> Answering {
        let source = self.source(wanted);
        let asked = source.map(|(inner, source)| (inner, source.copies[copy].0));
        let wanted = wanted.clone();
        Box::pin(async move {
            let (inner, copy) = asked?;
            inner.ask(copy, &wanted).await
        })
    }
}

impl Inner {
    /// The number of a database in the instance.
    fn number_of(&self, wanted: &Wanted) -> Option<u8> {
        let paths = &self.instance.options().databases;
        let at = paths.iter().position(|path| *path == wanted.database)?;
        u8::try_from(at).ok()
    }

    async fn ask(&self, copy: usize, wanted: &Wanted) -> Option<Offer> {
        let database = self.number_of(wanted)?;
        let asking = &self.askings[copy];
        if !asking.is_connected() {
            return None;
        }
        self.instance.close_log_file(wanted.replayed).await.ok()?;
        let offer = asking.ask(database, wanted.page, wanted.replayed).await?;
        if offer.bytes.len() != self.instance.options().page_size.bytes() {
            return None;
        }
        let mut frame = self.world.frames.take(offer.bytes.len());
        frame.copy_from_slice(&offer.bytes);
        Some(Offer {
            signature: offer.signature,
            replayed: offer.replayed,
            page: Segment::Fill(frame),
        })
    }
}
