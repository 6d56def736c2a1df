//! Makes a mailbox for each account, over IMAP as the administrator.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::{Administrator, NAME};
use crate::accounts::Accounts;
use crate::error::ServerError;

const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// A line that is longer is not an answer to us.
const LINE_MAX: u64 = 8 << 10;

/// Makes the mailboxes of `accounts`.
///
/// # Errors
/// [`ServerError::NotStarted`] with the answer of the server: without mailboxes it is no store.
pub(super) fn make(
    port: u16,
    admin: &Administrator,
    accounts: &Accounts,
) -> Result<(), ServerError> {
    let failed = |why: String| ServerError::NotStarted { server: NAME, why };
    let system = |error: io::Error| failed(format!("no mailboxes: {error}"));
    let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(system)?;
    connection.set_read_timeout(Some(ANSWERS_WITHIN)).map_err(system)?;
    let mut session = BufReader::new(connection);
    line(&mut session).map_err(system)?;
    let log_in = format!("LOGIN {} {}", admin.name, admin.password.reveal());
    let create = accounts.iter().map(|account| format!("CREATE user/{}", account.name));
    let commands = std::iter::once(log_in).chain(create).chain(["LOGOUT".to_owned()]);
    for (number, command) in commands.enumerate() {
        let told = session.get_mut().write_all(format!("a{number} {command}\r\n").as_bytes());
        told.map_err(system)?;
        let answer = loop {
            let line = line(&mut session).map_err(system)?;
            if let Some(answer) = line.strip_prefix(&format!("a{number} ")) {
                break answer.to_owned();
            }
        };
        if !answer.starts_with("OK") {
            let verb = command.split(' ').next().unwrap_or_default();
            return Err(failed(format!("no mailboxes: {verb}: {}", answer.trim())));
        }
    }
    Ok(())
}

fn line(session: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = Vec::new();
    session.take(LINE_MAX).read_until(b'\n', &mut line)?;
    match line.ends_with(b"\n") {
        true => Ok(String::from_utf8_lossy(&line).into_owned()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
