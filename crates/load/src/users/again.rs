//! Tasks whose times are those of TCP's timer of delayed acknowledgements, once more over connections
//! that acknowledge at once: what servers alone would take.
//!
//! This comes after the day, so it is in no figure of it. What it sends and changes is in the ledger as
//! everything else.

use std::rc::Rc;

use brunt_stats::Latencies;
use brunt_units::Span;
use brunt_users::{DELAYED_ACK, DELAYED_ACK_TIMES, TaskKind, delayed_ack_share};
use brunt_world::random::Stream;

use super::user::User;
use super::{Team, Waiting};
use crate::session::Post;

/// How often each is done.
const TIMES: usize = 20;

/// Does what is in question again, with the users whose day is over.
pub(super) async fn again(team: &Rc<Team>, users: &mut [Box<User>]) {
    let tasks: Vec<TaskKind> = {
        let tally = team.tally.borrow();
        let delayed = tally.tasks().filter(|(kind, task)| {
            // One that waits on purpose says nothing.
            *kind != TaskKind::Idle && is_delayed(&task.service)
        });
        delayed.map(|(kind, _)| kind).collect()
    };
    let opens = is_delayed(team.tally.borrow().sessions());
    let setting = &team.senders.setting;
    if users.is_empty() || (tasks.is_empty() && !opens) || setting.is_stopping() {
        return;
    }
    setting.acknowledges_at_once.set(true);
    // Those with the most mail can do the most.
    users.sort_by_key(|user| std::cmp::Reverse(user.messages()));
    for kind in tasks {
        let mut times = Latencies::new();
        for turn in 0..TIMES {
            let at = turn % users.len();
            if let Some(took) = users[at].time(kind).await {
                times.record(took);
            }
        }
        team.tally.borrow_mut().at_once(kind, times);
    }
    if opens {
        let times = open(team).await;
        team.tally.borrow_mut().opened_at_once(times);
    }
    for user in users {
        user.take_leave().await;
    }
    setting.acknowledges_at_once.set(false);
}

fn is_delayed(times: &Latencies) -> bool {
    times.count() >= DELAYED_ACK_TIMES
        && delayed_ack_share(times).is_some_and(|share| share >= DELAYED_ACK)
}

/// Opens sessions that send.
async fn open(team: &Rc<Team>) -> Latencies {
    let mut times = Latencies::new();
    let senders = &team.senders;
    let mut nonces: Stream = team.streams.named("again");
    for turn in 0..TIMES {
        let owner = senders.accounts.round(u32::try_from(turn).unwrap_or(0));
        let began = senders.now();
        let endpoint = &senders.sending.endpoint;
        match Post::open(&senders.setting, endpoint, owner, "again", &mut nonces).await {
            Ok(post) => {
                times.record(senders.now().since(began));
                post.quit().await;
            }
            Err(ended) => senders.setting.note(&ended.trouble),
        }
    }
    times
}

impl User {
    /// How long a task takes over a session that is open; `None` when it has no message to be about,
    /// or failed.
    async fn time(&mut self, kind: TaskKind) -> Option<Span> {
        let team = Rc::clone(&self.team);
        let setting = &team.senders.setting;
        let open = match kind {
            // Here opening is the task.
            TaskKind::LogOn => {
                self.take_leave().await;
                Ok(())
            }
            _ => self.inbox().await.map(drop),
        };
        if let Err(trouble) = open {
            setting.note(&trouble);
            return None;
        }
        if self.messages() == 0 && kind.needs_message() {
            return None;
        }
        let began = setting.world.clock.now();
        let waiting = Waiting { intended: began, kind, recipients: None, about: None };
        let is_done = self.once(&waiting).await;
        is_done.then(|| setting.world.clock.now().since(began))
    }
}
