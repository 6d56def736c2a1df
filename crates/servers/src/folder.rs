//! Which folders a server can live in.
//!
//! Servers put sockets below their folder, whose names the kernel limits to 107 bytes; their
//! configuration has characters that mean something; and a server that runs as another user must be
//! able to enter every folder above its own.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::user::User;

/// The longest path of a folder for servers: 107 bytes less the longest name of a socket in it,
/// `/dovecot/run/replication-notify-fifo` or `/postfix/queue/private/proxywrite`.
pub const HOME_MAX: usize = 64;

/// Why a folder is not for servers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The path is too long.
    #[error("the path has {0} bytes; names of sockets below it leave room for {HOME_MAX}")]
    TooLong(usize),
    /// The path has a character that means something in the configuration of a server.
    #[error("the path has the character {0:?}, which has a meaning in configurations of servers")]
    Character(char),
    /// The path does not begin at the root.
    #[error("the path does not begin with /")]
    Relative,
    /// The user under whom the server runs cannot get there.
    #[error("{user}, who runs the server, cannot enter {}", at.display())]
    NotEntered {
        /// The user.
        user: String,
        /// The folder whose rights are in the way.
        at: PathBuf,
    },
}

/// Why servers of `user` cannot live in `home`, whose parents exist; nothing if they can.
pub fn unfit(home: &Path, user: &User) -> Option<Unfit> {
    let text = home.to_string_lossy();
    if !home.is_absolute() {
        return Some(Unfit::Relative);
    }
    if text.len() > HOME_MAX {
        return Some(Unfit::TooLong(text.len()));
    }
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    if let Some(char) = text.chars().find(|char| !is_plain(*char)) {
        return Some(Unfit::Character(char));
    }
    let closed = home.ancestors().skip(1).find(|folder| !enters(folder, user))?;
    Some(Unfit::NotEntered { user: user.name.clone(), at: closed.to_owned() })
}

/// Whether `user` may go through `folder`. One that does not exist will be made by us.
fn enters(folder: &Path, user: &User) -> bool {
    let Ok(status) = fs::metadata(folder) else {
        return true;
    };
    let bit = match () {
        () if user.uid == 0 => return true,
        () if status.uid() == user.uid => 0o100,
        () if status.gid() == user.gid => 0o010,
        () => 0o001,
    };
    status.mode() & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn stranger() -> User {
        User { name: "stranger".into(), group: "strangers".into(), uid: 54_321, gid: 54_321 }
    }

    #[test]
    fn paths_that_servers_misread_are_refused() {
        let user = stranger();
        assert_eq!(unfit(Path::new("/srv/mail-1.x"), &user), None);
        assert_eq!(unfit(Path::new("srv"), &user), Some(Unfit::Relative));
        assert_eq!(unfit(Path::new("/srv/a b"), &user), Some(Unfit::Character(' ')));
        assert_eq!(unfit(Path::new("/srv/%u"), &user), Some(Unfit::Character('%')));
        let long = format!("/{}", "x".repeat(HOME_MAX));
        assert_eq!(unfit(Path::new(&long), &user), Some(Unfit::TooLong(HOME_MAX + 1)));
    }

    #[test]
    fn a_closed_folder_is_named() {
        let home = tempfile::tempdir_in("/tmp").unwrap();
        let closed = home.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        let servers = closed.join("servers");
        let why = unfit(&servers, &stranger());
        assert_eq!(why, Some(Unfit::NotEntered { user: "stranger".into(), at: closed.clone() }));
        fs::set_permissions(&closed, Permissions::from_mode(0o711)).unwrap();
        assert_eq!(unfit(&servers, &stranger()), None);
    }
}
