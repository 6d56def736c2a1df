//! The accounts of throw-away servers: u0000, u0001 .., with random passwords.
//!
//! They are kept where the server reads them, in a file of its user: one `name:{PLAIN}password` a
//! line, as Dovecot's passwd-file has it.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::ServerError;
use crate::files;
use crate::user::User;

/// The domain of every account: a name that no DNS knows (RFC 2606).
pub const DOMAIN: &str = "test.invalid";
/// Who may make mailboxes in a store that has none by itself.
pub(crate) const ADMINISTRATOR: &str = "admin";
/// Bytes of chance in a password.
const PASSWORD_BYTES: usize = 15;

/// A password, which is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

/// A user with a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name for the log-in, which is also the part of the address before the `@`.
    pub name: String,
    /// The password.
    pub password: Password,
}

/// All accounts of a server, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts(Vec<Account>);

impl Password {
    /// The characters, for a login.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Account {
    /// The address.
    pub fn address(&self) -> String {
        format!("{}@{DOMAIN}", self.name)
    }
}

impl Accounts {
    /// `count` accounts with new passwords.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn make(count: u32) -> Result<Self, ServerError> {
        let mut chance = Chance::open()?;
        let account = |number| Ok(Account { name: name(number), password: chance.password()? });
        (0..count).map(account).collect::<Result<_, _>>().map(Self)
    }

    /// An administrator with a new password.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub(crate) fn administrator() -> Result<Account, ServerError> {
        Ok(Account { name: ADMINISTRATOR.to_owned(), password: Chance::open()?.password()? })
    }

    /// The accounts in the file `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self, ServerError> {
        Ok(Self::parse(&fs::read_to_string(path).map_err(files::at(path))?))
    }

    fn parse(text: &str) -> Self {
        let accounts = text.lines().filter_map(|line| {
            let (name, rest) = line.split_once(":{PLAIN}")?;
            let password = rest.split(':').next()?;
            Some(Account { name: name.to_owned(), password: Password(password.to_owned()) })
        });
        Self(accounts.collect())
    }

    /// Keeps them in `path`, for the eyes of `user` alone.
    pub(crate) fn keep(&self, path: &Path, user: &User) -> Result<(), ServerError> {
        files::write(path, 0o600, user, &self.to_text())
    }

    fn to_text(&self) -> String {
        let line = |account: &Account| {
            format!("{}:{{PLAIN}}{}::::::\n", account.name, account.password.reveal())
        };
        self.0.iter().map(line).collect()
    }

    /// Every account, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, Account> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Accounts {
    type Item = &'a Account;
    type IntoIter = std::slice::Iter<'a, Account>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Where the system's random bytes come from.
struct Chance(File);

impl Chance {
    const SOURCE: &str = "/dev/urandom";

    fn open() -> Result<Self, ServerError> {
        File::open(Self::SOURCE).map(Self).map_err(files::at(Path::new(Self::SOURCE)))
    }

    fn password(&mut self) -> Result<Password, ServerError> {
        let mut bytes = [0; PASSWORD_BYTES];
        self.0.read_exact(&mut bytes).map_err(files::at(Path::new(Self::SOURCE)))?;
        Ok(Password(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}

fn name(number: u32) -> String {
    format!("u{number:04}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_as_they_were_kept() {
        let accounts = Accounts::make(3).unwrap();
        assert_eq!(Accounts::parse(&accounts.to_text()), accounts);
        let names: Vec<String> = accounts.iter().map(Account::address).collect();
        assert_eq!(names, ["u0000@test.invalid", "u0001@test.invalid", "u0002@test.invalid"]);
        let passwords: Vec<&str> = accounts.iter().map(|one| one.password.reveal()).collect();
        assert!(passwords.iter().all(|one| one.len() == 2 * PASSWORD_BYTES));
        assert!(passwords[0] != passwords[1]);
    }

    #[test]
    fn a_password_is_not_printed() {
        let accounts = Accounts::make(1).unwrap();
        let said = format!("{accounts:?}");
        assert!(!said.contains(accounts.0[0].password.reveal()), "{said}");
    }
}
