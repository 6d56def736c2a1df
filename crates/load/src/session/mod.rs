//! Sessions: a protocol's machine over a connection.

mod connection;
mod imap;
mod post;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_mail::Folders;
use brunt_protocols::tls::Trust;
use brunt_units::Span;
use brunt_world::World;

pub(crate) use imap::{ImapSession, must};
pub(crate) use post::{Fate, Post};

use crate::conversations::{Conversation, Conversations};
use crate::endpoint::Patience;
use crate::errors::{Errors, Trouble};
use crate::progress::Stopping;

/// How often a task that waits looks whether the run is to stop.
pub(crate) const GLANCE: Span = Span::millis(500);

/// What sessions share.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) trust: Option<Trust>,
    pub(crate) patience: Patience,
    /// Whether new connections acknowledge at once what arrives.
    pub(crate) acknowledges_at_once: Rc<Cell<bool>>,
    /// What ends sessions early; an audit is not ended.
    pub(crate) stop: Option<Stopping>,
    /// What servers say of inboxes, from one look to the next.
    pub(crate) folders: Rc<RefCell<Folders>>,
    pub(crate) errors: Rc<RefCell<Errors>>,
    pub(crate) conversations: Rc<RefCell<Conversations>>,
}

impl Setting {
    pub(crate) fn note(&self, trouble: &Trouble) {
        self.errors.borrow_mut().note(self.world.clock.now(), trouble);
    }

    pub(crate) fn keep_trouble(&self, conversation: Conversation) {
        self.conversations.borrow_mut().trouble(conversation);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.as_ref().is_some_and(Stopping::is_asked)
    }
}

/// A session that could not begin, or ended: why, and its last lines.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) trouble: Trouble,
    pub(crate) lines: Vec<String>,
}
