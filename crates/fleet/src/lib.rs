//! One test on many hosts: all begin at one instant, and one verdict says what happened to whom.
//!
//! ```text
//!   coordinator                 a host
//!   Coordinator <-- frames --> Door (one for each connection) <-- frames --> Agent <--> the test
//!     |                          |                                            |
//!     | instants, fates          | begin | attach | serve: a run id begins    | goes on without
//!     v                          v begins at most once                        v a connection
//!   Report                     claim, on disk                                end, folder
//! ```
//!
//! The connection is any byte stream: a pipe to `ssh`, or a connection of a virtual world. Nothing
//! here reads a clock, opens a file or starts a thread: time and bytes are handed in, and what is to
//! be done is handed out.
//!
//! Both sides tell what *is*, not what has just happened: an agent repeats its whole [`Status`], and
//! the coordinator sends what that status lacks. So a connection may be lost after any byte, and a
//! coordinator may die at any step; the next one reads where the run stands and goes on.
//!
//! ```text
//!   check all -> prepare -> all ready -> one instant: warm up -> all warm -> one instant: collect
//!     -> close, verify -> fetch folders -> judge
//! ```
//!
//! [`Fate`] is the table of what decides, and silence is never in it: a host is *silent* when somebody
//! on that host says so, and *lost* when nobody can be asked.

mod agent;
mod checks;
mod clock;
mod coordinator;
mod door;
mod fate;
mod fetch;
mod frame;
mod message;

pub use agent::{Agent, Order, Progress};
pub use checks::{Device, Facts};
pub use clock::{Estimate, Offsets};
pub use coordinator::{AgentReport, Coordinator, Deed, HostPlan, Limits, Plan, Report, Row};
pub use door::{Claim, Listening, admit};
pub use fate::{Fate, whole};
pub use fetch::{FILES_MAX, Folder, is_plain_name};
pub use frame::{FIRST, FRAME_MAX, FrameError, Frames, frame};
pub use message::{
    Admission, End, FileEntry, FromAgent, Greeting, Hello, How, Phase, Program, Standstill, Status,
    Task, ToAgent,
};

use brunt_units::Span;

/// How often an agent says where it stands.
pub const BEAT: Span = Span::seconds(2);

/// A host that did nothing for this long during a test has not borne the load.
pub const SILENCE: Span = Span::seconds(5);
