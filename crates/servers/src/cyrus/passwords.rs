//! Answers Cyrus when it asks whether a password is right, as `saslauthd` would.
//!
//! A question is four strings (user, password, service, realm), each after its length in two bytes
//! with the higher one first; so is the answer, `OK` or `NO`. Source: Cyrus SASL,
//! `saslauthd/saslauthd-main.c`.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Administrator;
use crate::accounts::Accounts;
use crate::error::ServerError;
use crate::files;

/// A client that asks says everything at once.
const ASKS_WITHIN: Duration = Duration::from_secs(5);

/// A thread that answers. It ends when this is dropped.
pub(super) struct Passwords {
    socket: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Passwords {
    /// Answers at `socket` for `accounts` and `admin`.
    pub(super) fn serve(
        socket: &Path,
        accounts: &Accounts,
        admin: &Administrator,
    ) -> Result<Self, ServerError> {
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket).map_err(files::at(socket))?;
        // Cyrus may run as another user. What it learns is whether a password is right.
        let anybody = Permissions::from_mode(0o666);
        fs::set_permissions(socket, anybody).map_err(files::at(socket))?;
        let all = accounts.iter().chain([admin]);
        let known: BTreeMap<String, String> =
            all.map(|one| (one.name.clone(), one.password.reveal().to_owned())).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("passwords".into()).spawn(move || {
            for question in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                // One that breaks off has its answer.
                let _ = question.and_then(|mut question| answer(&mut question, &known));
            }
        });
        let thread = thread.map_err(files::at(socket))?;
        Ok(Self { socket: socket.to_owned(), is_over, thread: Some(thread) })
    }
}

impl Drop for Passwords {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let is_awake = UnixStream::connect(&self.socket).is_ok();
        let _ = fs::remove_file(&self.socket);
        if let Some(thread) = self.thread.take().filter(|_| is_awake) {
            let _ = thread.join();
        }
    }
}

fn answer(question: &mut UnixStream, known: &BTreeMap<String, String>) -> io::Result<()> {
    question.set_read_timeout(Some(ASKS_WITHIN))?;
    let [user, password, _service, _realm] =
        [string(question)?, string(question)?, string(question)?, string(question)?];
    let is_right = known.get(&user).is_some_and(|known| *known == password);
    let word: &[u8] = if is_right { b"\0\x02OK" } else { b"\0\x02NO" };
    question.write_all(word)
}

fn string(from: &mut impl Read) -> io::Result<String> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    from.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(socket: &Path, words: [&str; 4]) -> String {
        let mut client = UnixStream::connect(socket).unwrap();
        for word in words {
            let length = u16::try_from(word.len()).unwrap();
            client.write_all(&length.to_be_bytes()).unwrap();
            client.write_all(word.as_bytes()).unwrap();
        }
        string(&mut client).unwrap()
    }

    #[test]
    fn only_the_right_password_is_right() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("mux");
        let (accounts, admin) = (Accounts::make(2).unwrap(), Accounts::administrator().unwrap());
        let passwords = Passwords::serve(&socket, &accounts, &admin).unwrap();
        let [one, other] = [0, 1].map(|at| accounts.iter().nth(at).unwrap().clone());
        let ask = |user: &str, password: &str| asked(&socket, [user, password, "imap", ""]);
        assert_eq!(ask(&one.name, one.password.reveal()), "OK");
        assert_eq!(ask(&one.name, other.password.reveal()), "NO");
        assert_eq!(ask("nobody", ""), "NO");
        assert_eq!(ask(&admin.name, admin.password.reveal()), "OK");
        // Half a question holds nobody up.
        drop(UnixStream::connect(&socket).unwrap());
        assert_eq!(ask(&one.name, one.password.reveal()), "OK");
        drop(passwords);
        assert!(!socket.exists());
    }
}
