//! When a server is ready: it greets us, from a listener that belongs to it alone.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::files;
use crate::group::Group;
use crate::processes::{Listener, listener};

/// What a server has until it greets. On a busy machine that takes seconds; a service that Dovecot
/// throttles comes back after eight.
const READY_WITHIN: Duration = Duration::from_secs(45);
/// What it has for the greeting once it has accepted the connection.
const GREETS_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// A port and what is said there first: nothing where TLS comes before words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greeting {
    pub(crate) port: u16,
    pub(crate) begins: &'static str,
}

/// Waits until `group` greets at every port.
///
/// # Errors
/// [`ServerError::NotStarted`], with the last words of the first of `logs` that has any.
pub(crate) fn wait(
    server: &'static str,
    group: &mut Group,
    greetings: &[Greeting],
    logs: &[PathBuf],
) -> Result<(), ServerError> {
    let until = Instant::now() + READY_WITHIN;
    let mut left = greetings.to_vec();
    let failed = |why: String| {
        let words = logs.iter().map(|log| files::last_words(log)).find(|words| !words.is_empty());
        let words = words.unwrap_or_default();
        let why = if words.is_empty() { why } else { format!("{why}: {words}") };
        Err(ServerError::NotStarted { server, why })
    };
    loop {
        let members = group.members();
        let mut foreign = None;
        left.retain(|greeting| match listener(greeting.port, &members) {
            Listener::Ours => !greets(greeting),
            Listener::Foreign => {
                foreign = Some(greeting.port);
                true
            }
            Listener::None => true,
        });
        if left.is_empty() {
            return Ok(());
        }
        if !group.is_alive() {
            let how = group.reap().map_or_else(String::new, |status| format!(" ({status})"));
            return failed(format!("it has ended{how}"));
        }
        if Instant::now() >= until {
            let port = left[0].port;
            return failed(match foreign {
                Some(port) => format!("another process listens at port {port}"),
                None => {
                    format!("no greeting at port {port} within {} s", READY_WITHIN.as_secs())
                }
            });
        }
        thread::sleep(LOOK);
    }
}

fn greets(greeting: &Greeting) -> bool {
    if greeting.begins.is_empty() {
        return true;
    }
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, greeting.port));
    let heard = || {
        let mut connection = TcpStream::connect_timeout(&at, GREETS_WITHIN).ok()?;
        connection.set_read_timeout(Some(GREETS_WITHIN)).ok()?;
        let mut words = vec![0; greeting.begins.len()];
        connection.read_exact(&mut words).ok()?;
        Some(words)
    };
    heard().is_some_and(|words| words == greeting.begins.as_bytes())
}
