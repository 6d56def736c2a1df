//! Throw-away mail servers: real ones, found on this machine and started for a single test.
//!
//! ```text
//!   plan -> MailSystem::make    folder, accounts, certificate
//!              start            configuration for the version found, free ports, own children
//!              kill, freeze ..  what a test does to them
//!              stop             nothing is left running; the store stays for an audit
//!
//!   client --SMTP--> Postfix (queue) --LMTP--> Dovecot (store) --IMAP--> client
//!   client ------------LMTP, where no relay can be started---^
//!
//!   in the place of Postfix: Exim; in the place of Dovecot: Cyrus
//! ```
//!
//! * Everything lies in one folder and listens on 127.0.0.1 alone. Nothing else on the machine is
//!   written, and no mail leaves it: whatever is not for our accounts meets an `error:` transport.
//! * A server is ready when it greets us from a listener that belongs to one of *its* processes. An
//!   open port is not enough: a predecessor that is about to die still accepts connections, and
//!   Postfix shares its port with anybody else's (`SO_REUSEPORT`).
//! * Each server is a group of processes. A guard of its own kills the group when this program dies
//!   without a word, so the next run never meets a server of the last one.
//! * Servers run as the caller, or as `nobody` for root. Only Postfix needs root, and drops it as
//!   usual.
//!
//! Calls wait: a test that serves connections on the same thread makes them on another one.

mod accounts;
mod certificate;
mod cyrus;
mod dovecot;
mod error;
mod exim;
mod faults;
mod files;
mod folder;
mod group;
mod guard;
mod parts;
mod ports;
mod postfix;
mod processes;
mod programs;
mod queue;
mod ready;
mod system;
mod usage;
mod user;
mod volume;

pub use accounts::{Account, Accounts, DOMAIN, Password};
pub use brunt_mail::incident::{Part, Service};
pub use error::ServerError;
pub use faults::Cut;
pub use folder::{HOME_MAX, Unfit, unfit};
pub use programs::{Installed, Version};
pub use queue::Queue;
pub use system::{Addresses, MailSystem, Plan, Relay, Started, Store};
pub use usage::Usage;
pub use user::User;

pub use dovecot::{Format, MailFsync};
