//! Under whom servers run: the caller, or `nobody` where the caller is root.
//!
//! Mail servers ask the system for the name of their user, so one without an entry in `/etc/passwd`
//! is of no use to them. The file is read directly: asking a directory service would need the C
//! library.

use std::fs;
use std::path::Path;

use rustix::process::{getegid, geteuid};

use crate::error::ServerError;
use crate::files;

/// The user whom servers run as when the caller is root.
const UNPRIVILEGED: &str = "nobody";

/// A user of this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The name of the group.
    pub group: String,
    /// Number of the user.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
}

impl User {
    /// The user under whom a store runs that this caller starts.
    ///
    /// # Errors
    /// [`ServerError::NoUser`] when the system has no name for it.
    pub fn of_servers() -> Result<Self, ServerError> {
        match is_root() {
            true => Self::named(UNPRIVILEGED),
            false => Self::found(&read("/etc/passwd")?, &read("/etc/group")?, |_, uid| {
                uid == geteuid().as_raw()
            })
            .ok_or_else(|| ServerError::NoUser(format!("uid {}", geteuid().as_raw()))),
        }
    }

    /// The user called `name`.
    ///
    /// # Errors
    /// [`ServerError::NoUser`] when there is none.
    pub fn named(name: &str) -> Result<Self, ServerError> {
        Self::found(&read("/etc/passwd")?, &read("/etc/group")?, |known, _| known == name)
            .ok_or_else(|| ServerError::NoUser(name.to_owned()))
    }

    /// The caller, whose name does not matter.
    pub(crate) fn caller() -> Self {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Self { name: uid.to_string(), group: gid.to_string(), uid, gid }
    }

    /// Whether files that the caller makes are this user's already.
    pub(crate) fn is_caller(&self) -> bool {
        self.uid == geteuid().as_raw()
    }

    fn found(passwd: &str, groups: &str, is_it: impl Fn(&str, u32) -> bool) -> Option<Self> {
        let user = passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
            let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
            is_it(name, uid).then(|| (name.to_owned(), uid, gid))
        });
        let (name, uid, gid): (String, u32, u32) = user?;
        let group = groups.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, number) = (fields.next()?, fields.nth(1)?);
            (number.parse() == Ok(gid)).then(|| name.to_owned())
        });
        Some(Self { name, group: group.unwrap_or_else(|| gid.to_string()), uid, gid })
    }
}

/// Whether the caller is root.
pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

fn read(path: &str) -> Result<String, ServerError> {
    fs::read_to_string(path).map_err(files::at(Path::new(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n+\nbad:x:one:1\nmail:x:8:12::/var/mail:";
    const GROUPS: &str = "root:x:0:\nmail:x:12:postfix,dovecot\n";

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let mail = User { name: "mail".into(), group: "mail".into(), uid: 8, gid: 12 };
        assert_eq!(User::found(PASSWD, GROUPS, |name, _| name == "mail"), Some(mail.clone()));
        assert_eq!(User::found(PASSWD, GROUPS, |_, uid| uid == 8), Some(mail));
        assert_eq!(User::found(PASSWD, GROUPS, |name, _| name == "bad"), None);
        let without = User::found(PASSWD, "", |name, _| name == "root").unwrap();
        assert_eq!(without.group, "0");
    }
}
