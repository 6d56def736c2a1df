//! What this machine must have for the sessions of a test: open files, ports, and news of mailboxes.
//!
//! | | without enough of it |
//! | --- | --- |
//! | open files | the limit is raised; where it cannot be, nothing begins |
//! | room | mailboxes that are filled first need it; nothing begins |
//! | ports | each message of a user has a connection of its own, whose port rests for a minute |
//! | inotify instances | Dovecot uses one for each session that waits for news, and beyond the limit looks every 30 s |

use std::fs;
use std::path::Path;

use brunt_units::{ByteSize, Span};
use brunt_users::TaskKind;
use brunt_world_real::facts;

use super::{LoadError, Work, work};
use crate::handles;

/// Streams, the clock, the run folder, and files that are open for a moment.
const FIXED: u64 = 32;
/// Senders, readers, and mail from elsewhere.
const SESSIONS: u64 = 8 + 4 + 4;
/// Every twentieth mailbox is watched, by two sessions.
const WATCHED: u64 = 20;
/// How long a port rests after its connection: TCP's TIME_WAIT on Linux.
const RESTS: Span = Span::seconds(60);

/// What a test needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Needs {
    /// Sessions at the same time.
    sessions: u64,
    /// Of these, sessions that wait for news.
    idle: u64,
    /// Connections a second that are opened and closed.
    opened_per_s: f64,
}

impl Needs {
    fn of(users: u32, work: Option<&Work>) -> Self {
        let users = u64::from(users);
        let watched = users.div_ceil(WATCHED);
        let sessions = SESSIONS + 2 * watched;
        let Some(work) = work else {
            return Self { sessions, idle: watched, opened_per_s: 0.0 };
        };
        let waits = work.profile.tasks.iter().any(|task| task.kind == TaskKind::Idle);
        let per_day = work.profile.submissions_per_day().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "users are ten thousand at most")]
        let opened_per_s = users as f64 * per_day / work.day.length.as_seconds().max(1.0);
        let idle = watched + if waits { users } else { 0 };
        Self { sessions: sessions + 2 * users, idle, opened_per_s }
    }
}

/// What the kernel says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kernel {
    inotify: Option<u64>,
    ports: Option<u64>,
    /// Whether a port that rests can be used again at once.
    reuses: bool,
}

impl Kernel {
    fn now(is_here: bool) -> Self {
        let words = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>()
        };
        let ports = match words("net/ipv4/ip_local_port_range")[..] {
            [first, last] => Some(last.saturating_sub(first) + 1),
            _ => None,
        };
        // 1: everywhere, 2: on loopback alone.
        let reuses = match words("net/ipv4/tcp_tw_reuse").first() {
            Some(1) => true,
            Some(2) => is_here,
            _ => false,
        };
        let inotify = words("fs/inotify/max_user_instances").first().copied();
        Self { inotify, ports, reuses }
    }
}

/// Whether what fills the mailboxes has room in `folder`.
///
/// # Errors
/// [`LoadError::Room`] when it has not.
pub(super) fn room(users: u32, work: Option<&Work>, folder: &Path) -> Result<(), LoadError> {
    let Some(work) = work.filter(|work| work.fill > 0) else {
        return Ok(());
    };
    let needed = work::fill_bytes(work, users);
    match facts::room(folder) {
        Some(room) if room.free < needed => Err(LoadError::Room {
            folder: folder.to_owned(),
            needed: ByteSize::bytes(needed),
            free: ByteSize::bytes(room.free),
        }),
        _ => Ok(()),
    }
}

/// Raises the limit of open files to what a test needs, and says what else may run out, each with
/// the command that mends it. Servers `are_own` where brunt starts them, and `are_here` where they
/// are on this machine.
///
/// # Errors
/// [`LoadError`] when the system allows fewer open files.
pub(super) fn provide(
    users: u32,
    work: Option<&Work>,
    (are_own, are_here): (bool, bool),
) -> Result<Vec<String>, LoadError> {
    let needs = Needs::of(users, work);
    handles::at_least(FIXED + needs.sessions)?;
    Ok(doubts(&needs, &Kernel::now(are_here), are_own))
}

fn doubts(needs: &Needs, kernel: &Kernel, are_own: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(limit) = kernel.inotify.filter(|limit| are_own && *limit < needs.idle) {
        doubts.push(format!(
            "{} sessions wait for news, and this machine allows {limit}: beyond it Dovecot looks \
             every 30 s. sysctl -w fs.inotify.max_user_instances={}",
            needs.idle,
            2 * needs.idle
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive rate; the cast saturates"
    )]
    let resting = match kernel.reuses {
        true => 0,
        false => (needs.opened_per_s * RESTS.as_seconds()) as u64,
    };
    let wanted = needs.sessions + resting;
    if let Some(ports) = kernel.ports.filter(|ports| *ports < wanted) {
        doubts.push(format!(
            "connections may need {wanted} ports, and this machine has {ports}. sysctl -w \
             net.ipv4.ip_local_port_range=\"1024 65535\""
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use brunt_users::{Day, Dispatch, Profile};

    use super::*;

    #[test]
    fn what_may_run_out_is_said_with_what_mends_it() {
        let plenty = Kernel { inotify: Some(128), ports: Some(28_232), reuses: true };
        let few = Needs::of(50, None);
        assert_eq!(few, Needs { sessions: 22, idle: 3, opened_per_s: 0.0 });
        assert_eq!(doubts(&few, &plenty, true), [""; 0]);
        let many = Needs { idle: 300, ..few };
        let said = doubts(&many, &plenty, true);
        assert!(said[0].ends_with("sysctl -w fs.inotify.max_user_instances=600"), "{said:?}");
        // Those of servers elsewhere are not ours to know.
        assert_eq!(doubts(&many, &plenty, false), [""; 0]);
        let busy = Needs { opened_per_s: 700.0, ..few };
        assert_eq!(doubts(&busy, &plenty, true), [""; 0]);
        let said = doubts(&busy, &Kernel { reuses: false, ..plenty }, true);
        assert!(said[0].starts_with("connections may need 42022 ports"), "{said:?}");
    }

    #[test]
    fn users_at_work_have_two_sessions_each() {
        let length = Span::seconds(120);
        let day = Day { length, ramp: Span::ZERO, run: length };
        let profile = Rc::new(Profile::built_in("mmb3").unwrap());
        let dispatch = Dispatch::WhenDue;
        let work = Work { profile, day, dispatch, until: None, fill: 0 };
        let needs = Needs::of(1_000, Some(&work));
        assert_eq!(needs.sessions, 16 + 100 + 2_000);
        assert!((needs.opened_per_s - 708.0).abs() < 10.0, "{needs:?}");
        let here = Path::new("/tmp");
        assert!(room(50, Some(&work), here).is_ok());
        // Twenty-six terabytes.
        let full = Work { fill: 100_000, ..work };
        let error = room(9_999, Some(&full), here).unwrap_err().to_string();
        assert!(error.contains("mailboxes need"), "{error}");
    }
}
