//! What the relay of the user's own still holds, as a command of the user says.
//!
//! The last line with anything on it has to be a number. What fails, takes too long or says
//! something else is no answer: then the deadline decides.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use brunt_load::Queue;
use brunt_scenario::{Exec, Placed};
use brunt_units::Span;
use brunt_world::World;

use super::super::LoadListener;
use crate::drill::exec as drill_exec;
use crate::exec;

/// How long the command may take.
const TIMEOUT: Span = Span::seconds(20);

/// A relay that a command is asked about.
pub(super) struct AskedQueue {
    world: World,
    exec: Exec,
    listener: Rc<dyn LoadListener>,
    /// What was said of it last, so that it is said once.
    said: RefCell<String>,
}

impl AskedQueue {
    pub(super) fn new(
        world: &World,
        command: &Placed<Vec<String>>,
        listener: &Rc<dyn LoadListener>,
    ) -> Self {
        let exec =
            Exec { name: "queue_command".to_owned(), run: command.clone(), timeout: TIMEOUT };
        let (world, listener) = (world.clone(), Rc::clone(listener));
        Self { world, exec, listener, said: RefCell::default() }
    }

    fn say(&self, what: String) {
        if *self.said.borrow() != what {
            self.listener.step(&what);
            self.said.replace(what);
        }
    }
}

impl Queue for AskedQueue {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(async move {
            // ssh finds its keys by these.
            let own = ["HOME", "SSH_AUTH_SOCK"].into_iter();
            let own = own.filter_map(|name| Some((name, std::env::var_os(name)?)));
            let environment: Vec<_> = exec::usual_environment().into_iter().chain(own).collect();
            let output = drill_exec::run(&self.world, &self.exec, &environment, || Ok(())).await;
            match output.map(|text| number(&text)) {
                Ok(Ok(messages)) => {
                    self.say(format!("the relay holds {messages} messages"));
                    Some(messages)
                }
                Ok(Err(line)) => {
                    self.say(format!("queue_command says no number: {line}"));
                    None
                }
                Err(error) => {
                    self.say(error.to_string());
                    None
                }
            }
        })
    }
}

/// The number on the last line, or that line.
fn number(text: &str) -> Result<u64, String> {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing");
    let shown = || brunt_report::one_line(last).chars().take(80).collect();
    last.parse().map_err(|_| shown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_a_number_or_no_answer() {
        assert_eq!(number("  17\n\n"), Ok(17));
        assert_eq!(number("messages:\n0\n"), Ok(0));
        assert_eq!(number(""), Err("nothing".to_owned()));
        assert_eq!(number("Mail queue is empty\n"), Err("Mail queue is empty".to_owned()));
        assert_eq!(number("-1"), Err("-1".to_owned()));
    }
}
