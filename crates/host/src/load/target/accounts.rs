//! The accounts file of servers that brunt did not start.
//!
//! ```text
//!   # address                user       password, to the end of the line
//!   u1@mail.example.org      u1         correct horse
//!   u2@mail.example.org      u2                            the password of `password_file`, or of the terminal
//!   u3@mail.example.org                                    the user is the address
//! ```
//!
//! A file with passwords that others may read is refused. No message shows a password.

use std::io;
use std::path::{Path, PathBuf};

use brunt_load::{Account, Accounts, AccountsError, Secret};
use brunt_scenario::Target;

use crate::own_file::{OwnFile, OwnFileError};

/// Ten thousand accounts take less than a tenth.
const FILE_MAX: u64 = 8 << 20;
/// RFC 5321, 4.5.3.1.3, without the angle brackets.
const ADDRESS_MAX: usize = 254;

/// Why there are no accounts.
#[derive(Debug, thiserror::Error)]
pub enum AccountsFileError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Others may read passwords.
    #[error("{}: holds passwords, and not only its owner may read it\n  chmod 600 {}", .0.display(), .0.display())]
    Open(PathBuf),
    /// It belongs to another user.
    #[error("{}: holds passwords, and belongs neither to you nor to root", .0.display())]
    OfAnother(PathBuf),
    /// A line is wrong.
    #[error("{}:{line}: {why}\n  a line is an address, a user and a password, with blanks between them", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An account has no password.
    #[error("{address} has no password in {}\n  write it there, name a `password_file`, or start brunt on a terminal", path.display())]
    NoPassword {
        /// The file of accounts.
        path: PathBuf,
        /// The first account without one.
        address: String,
    },
    /// More users are asked for.
    #[error("{}: has {there} accounts, and {wanted} users are asked for", path.display())]
    TooFew {
        /// The file.
        path: PathBuf,
        /// Accounts in it.
        there: usize,
        /// Users of the test.
        wanted: u32,
    },
    /// They cannot be used together.
    #[error("{}: {error}", path.display())]
    Accounts {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: AccountsError,
    },
}

/// Asks for a password on the terminal; `None` where there is none.
pub type AskPassword<'a> = &'a dyn Fn(&str) -> io::Result<Option<Secret>>;

/// The first `users` accounts of the file that `target` names, or all.
///
/// # Errors
/// [`AccountsFileError`] when the file is not as it must be.
pub(super) fn read(
    target: &Target,
    users: Option<u32>,
    ask: AskPassword<'_>,
) -> Result<Accounts, AccountsFileError> {
    let path = &target.accounts.value;
    let text = secret_text(path)?;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let wrong = |why| AccountsFileError::Line { path: path.clone(), line: number, why };
            lines.push(account(line).map_err(wrong)?);
        }
    }
    if let Some(wanted) = users {
        let few = || AccountsFileError::TooFew { path: path.clone(), there: lines.len(), wanted };
        let count = usize::try_from(wanted).ok().filter(|wanted| *wanted <= lines.len());
        lines.truncate(count.ok_or_else(few)?);
    }
    let mut common = None;
    let mut accounts = Vec::new();
    for (address, user, own) in lines {
        let secret = match own {
            Some(own) => own,
            None => {
                if common.is_none() {
                    common = common_password(target, ask)?;
                }
                let lacks = || AccountsFileError::NoPassword {
                    path: path.clone(),
                    address: address.clone(),
                };
                common.clone().ok_or_else(lacks)?
            }
        };
        accounts.push(Account { address, user, secret });
    }
    let wrong = |error| AccountsFileError::Accounts { path: path.clone(), error };
    Accounts::new(accounts).map_err(wrong)
}

/// Address, user, and the password if there is one.
fn account(line: &str) -> Result<(String, String, Option<Secret>), &'static str> {
    let cut = |text: &str| -> (String, String) {
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        (first.to_owned(), rest.trim().to_owned())
    };
    let (address, rest) = cut(line);
    let (user, password) = cut(&rest);
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"\\,;:()[]".contains(c);
    let parts = address.split_once('@');
    let is_address = parts.is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@')
    });
    if !is_address || address.len() > ADDRESS_MAX || !address.chars().all(is_plain) {
        return Err("does not begin with a mail address");
    }
    if user.chars().chain(password.chars()).any(char::is_control) {
        return Err("has a control character");
    }
    let user = if user.is_empty() { address.clone() } else { user };
    Ok((address, user, Some(password).filter(|own| !own.is_empty()).map(Secret::new)))
}

/// The password of accounts that have none of their own.
fn common_password(
    target: &Target,
    ask: AskPassword<'_>,
) -> Result<Option<Secret>, AccountsFileError> {
    match &target.password_file {
        Some(path) => {
            let text = secret_text(&path.value)?;
            let first = text.lines().next().unwrap_or_default();
            Ok(Some(first).filter(|line| !line.is_empty()).map(Secret::new))
        }
        None => {
            let path = &target.accounts.value;
            let question = format!("password of the accounts in {}:", path.display());
            ask(&question)
                .map_err(|error| AccountsFileError::File { path: "the terminal".into(), error })
        }
    }
}

/// The text of a file that holds passwords.
fn secret_text(path: &Path) -> Result<String, AccountsFileError> {
    let file = OwnFile { refused: 0o077, follows_links: true, most: FILE_MAX };
    file.read(path).map_err(|error| {
        let failed = |error| AccountsFileError::File { path: path.to_owned(), error };
        match error {
            OwnFileError::Io(error) => failed(error),
            OwnFileError::NotAFile => failed(io::Error::other("is not a file")),
            OwnFileError::TooLong => failed(io::Error::other("is longer than 8 MiB")),
            OwnFileError::Open => AccountsFileError::Open(path.to_owned()),
            OwnFileError::Foreign => AccountsFileError::OfAnother(path.to_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use brunt_scenario::Document;

    use super::*;

    fn target(folder: &Path, more: &str) -> Target {
        let text = format!(
            "[target]\nsend = \"a:1\"\nread = \"a:2\"\naccounts = \"accounts.txt\"\n{more}"
        );
        let document = Document::new("t.toml", &text, folder).unwrap();
        document.mail(&[]).unwrap().target.unwrap()
    }

    fn put(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    }

    fn nobody(_: &str) -> io::Result<Option<Secret>> {
        Ok(None)
    }

    #[test]
    fn a_line_is_an_address_a_user_and_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let text = "# people\n\nu1@a.invalid u1 correct horse \nu2@a.invalid\tu2\nu3@a.invalid\n";
        put(folder.path(), "accounts.txt", text);
        let target = target(folder.path(), "");
        let asked = |_: &str| Ok(Some(Secret::new("asked")));
        let accounts = read(&target, None, &asked).unwrap();
        let all: Vec<_> = accounts
            .iter()
            .map(|one| (one.address.as_str(), one.user.as_str(), one.secret.reveal()))
            .collect();
        let expected = [
            ("u1@a.invalid", "u1", "correct horse"),
            ("u2@a.invalid", "u2", "asked"),
            ("u3@a.invalid", "u3@a.invalid", "asked"),
        ];
        assert_eq!(all, expected);
        assert_eq!(read(&target, Some(1), &nobody).unwrap().count(), 1);
        let lacks = read(&target, None, &nobody).unwrap_err().to_string();
        assert!(lacks.starts_with("u2@a.invalid has no password in /"), "{lacks}");
        let few = read(&target, Some(4), &nobody).unwrap_err().to_string();
        assert!(few.contains("has 3 accounts, and 4 users are asked for"), "{few}");
    }

    #[test]
    fn one_password_may_be_for_all() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "accounts.txt", "u1@a.invalid\nu2@a.invalid u2 own\n");
        put(folder.path(), "secret", "of all\n");
        let target = target(folder.path(), "password_file = \"secret\"\n");
        let accounts = read(&target, None, &nobody).unwrap();
        let all: Vec<_> = accounts.iter().map(|one| one.secret.reveal()).collect();
        assert_eq!(all, ["of all", "own"]);
        fs::set_permissions(folder.path().join("secret"), Permissions::from_mode(0o604)).unwrap();
        let open = read(&target, None, &nobody).unwrap_err().to_string();
        assert!(open.contains("secret: holds passwords") && open.contains("chmod 600"), "{open}");
    }

    #[test]
    fn what_is_wrong_is_named_without_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path(), "");
        let refused = |text: &str, said: &str| {
            put(folder.path(), "accounts.txt", text);
            let whole = read(&target, None, &nobody).unwrap_err().to_string();
            assert!(whole.contains(said) && !whole.contains("hunter2"), "{whole}");
        };
        refused("u1@a.invalid u1 hunter2\nu1 u1 hunter2\n", "accounts.txt:2: does not begin with");
        refused("u1@a@b u hunter2\n", "does not begin with a mail address");
        refused("u1@a.invalid> u hunter2\n", "does not begin with a mail address");
        refused("u@a.invalid u hunter2\nU@a.invalid v hunter2\n", "have the address");
        refused("u@a.invalid u\u{7} hunter2\n", "has a control character");
        refused("# nobody\n", "no accounts");
        let path = folder.path().join("accounts.txt");
        for mode in [0o640, 0o604, 0o622] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let open = read(&target, None, &nobody).unwrap_err();
            assert!(matches!(open, AccountsFileError::Open(_)), "{open}");
        }
        fs::remove_file(&path).unwrap();
        let missing = read(&target, None, &nobody).unwrap_err().to_string();
        assert!(missing.contains("No such file"), "{missing}");
        fs::create_dir(&path).unwrap();
        let no_file = read(&target, None, &nobody).unwrap_err().to_string();
        assert!(no_file.contains("is not a file"), "{no_file}");
    }
}
