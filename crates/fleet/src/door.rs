//! What a host does with a run id, and who there says that an agent is silent.
//!
//! ```text
//!   claim on disk        agent's process     the door
//!   none                                     makes one exclusively, syncs it, begins an agent
//!   made, no end         alive               attaches to it
//!   made, no end         gone                serves what it left: killed, or the host restarted
//!   made, with its end                       serves its folder
//! ```

use brunt_units::{Span, Time};

use crate::SILENCE;
use crate::message::{Admission, End, Hello, How, Phase, Program, Status};

/// What a host knows of a run id.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Nothing: it may begin, once.
    Free,
    /// An agent has it.
    Held,
    /// Its agent is gone and has left no end.
    Orphaned {
        /// Whether the host was started since.
        restarted: bool,
        has_folder: bool,
        /// What is known of its death.
        why: String,
    },
    /// It has ended, and stood there then.
    Ended {
        status: Box<Status>,
        /// Whether the host was started since.
        restarted: bool,
    },
}

/// What is to be done with `hello` on a host that runs `own`, and what to serve.
pub fn admit(hello: &Hello, own: &Program, claim: &Claim) -> (Admission, Option<Status>) {
    if hello.program != *own {
        let why = format!("here is brunt {own}, there is {}", hello.program);
        return (Admission::Refused { why }, None);
    }
    match claim {
        Claim::Free => (Admission::Begun, None),
        Claim::Held => (Admission::Attached, None),
        Claim::Ended { status, restarted } => {
            let status = Status { is_of_another_boot: *restarted, ..Status::clone(status) };
            (Admission::Served, Some(status))
        }
        Claim::Orphaned { restarted, has_folder, why } => {
            let how = match restarted {
                true => How::Restarted,
                false => How::Killed { why: why.clone() },
            };
            let end = Some(End { how, at: None, has_folder: *has_folder });
            (Admission::Served, Some(Status { phase: Phase::Ended, end, ..Status::default() }))
        }
    }
}

/// What a door hears of its agent.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    heard: Time,
    told: Time,
}

impl Listening {
    pub fn begin(now: Time) -> Self {
        Self { heard: now, told: now }
    }

    /// The agent has said something.
    pub fn heard(&mut self, now: Time) {
        self.heard = now;
    }

    /// How long it has been silent, once a second when that is too long.
    pub fn silent(&mut self, now: Time) -> Option<Span> {
        let lasted = now.since(self.heard);
        let is_told = lasted >= SILENCE && now.since(self.told) >= Span::seconds(1);
        is_told.then(|| {
            self.told = now;
            lasted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_begins_once() {
        let program = Program { version: "0.1.0".to_owned(), commit: Some("a".to_owned()) };
        let hello = Hello { program: program.clone(), run: "r".to_owned(), coordinator: 1 };
        let says = |claim: &Claim| admit(&hello, &program, claim);
        assert_eq!(says(&Claim::Free), (Admission::Begun, None));
        assert_eq!(says(&Claim::Held), (Admission::Attached, None));
        let orphan =
            |restarted| Claim::Orphaned { restarted, has_folder: true, why: "signal 9".to_owned() };
        let how = |claim: &Claim| {
            let (admission, status) = says(claim);
            assert_eq!(admission, Admission::Served);
            status.and_then(|status| status.end).map(|end| end.how)
        };
        assert_eq!(how(&orphan(false)), Some(How::Killed { why: "signal 9".to_owned() }));
        assert_eq!(how(&orphan(true)), Some(How::Restarted));
    }

    #[test]
    fn another_commit_is_refused_whatever_is_claimed() {
        let own = Program { version: "0.1.0".to_owned(), commit: Some("b".to_owned()) };
        let program = Program { commit: Some("a".to_owned()), ..own.clone() };
        let hello = Hello { program, run: "r".to_owned(), coordinator: 1 };
        let (Admission::Refused { why }, None) = admit(&hello, &own, &Claim::Free) else {
            panic!("it is refused");
        };
        assert_eq!(why, "here is brunt 0.1.0 (b), there is 0.1.0 (a)");
    }

    #[test]
    fn silence_is_told_once_a_second() {
        let mut listening = Listening::begin(Time::ZERO);
        let at = |millis| Time::ZERO + Span::millis(millis);
        let told = (0..80).filter_map(|tenth| listening.silent(at(tenth * 100)));
        assert_eq!(told.count(), 3);
        listening.heard(at(8_000));
        assert_eq!(listening.silent(at(12_900)), None);
    }
}
