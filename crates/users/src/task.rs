//! The tasks of users.

use std::fmt;

use serde::Deserialize;

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    LogOn,
    CheckInbox,
    Read,
    ReadAttachment,
    Send,
    Reply,
    Forward,
    Move,
    Filter,
    Delete,
    AddMessage,
    Flag,
    SearchUnseen,
    SearchDeleted,
    ListFolders,
    FolderStatus,
    OpenFolder,
    CheckFolder,
    Expunge,
    Keepalive,
    Idle,
    Quota,
    Invite,
    AnswerInvitation,
    UpdateCalendar,
    UpdateContact,
    CloseFolder,
}

impl TaskKind {
    pub const ALL: [Self; 27] = [
        Self::LogOn,
        Self::CheckInbox,
        Self::Read,
        Self::ReadAttachment,
        Self::Send,
        Self::Reply,
        Self::Forward,
        Self::Move,
        Self::Filter,
        Self::Delete,
        Self::AddMessage,
        Self::Flag,
        Self::SearchUnseen,
        Self::SearchDeleted,
        Self::ListFolders,
        Self::FolderStatus,
        Self::OpenFolder,
        Self::CheckFolder,
        Self::Expunge,
        Self::Keepalive,
        Self::Idle,
        Self::Quota,
        Self::Invite,
        Self::AnswerInvitation,
        Self::UpdateCalendar,
        Self::UpdateContact,
        Self::CloseFolder,
    ];

    /// Its name in profiles and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::LogOn => "log-on",
            Self::CheckInbox => "check-inbox",
            Self::Read => "read",
            Self::ReadAttachment => "read-attachment",
            Self::Send => "send",
            Self::Reply => "reply",
            Self::Forward => "forward",
            Self::Move => "move",
            Self::Filter => "filter",
            Self::Delete => "delete",
            Self::AddMessage => "add-message",
            Self::Flag => "flag",
            Self::SearchUnseen => "search-unseen",
            Self::SearchDeleted => "search-deleted",
            Self::ListFolders => "list-folders",
            Self::FolderStatus => "folder-status",
            Self::OpenFolder => "open-folder",
            Self::CheckFolder => "check-folder",
            Self::Expunge => "expunge",
            Self::Keepalive => "keepalive",
            Self::Idle => "idle",
            Self::Quota => "quota",
            Self::Invite => "invite",
            Self::AnswerInvitation => "answer-invitation",
            Self::UpdateCalendar => "update-calendar",
            Self::UpdateContact => "update-contact",
            Self::CloseFolder => "close-folder",
        }
    }

    /// Whether it is about a message of the inbox.
    pub fn needs_message(self) -> bool {
        use TaskKind::{Delete, Filter, Flag, Move, Read, ReadAttachment};
        matches!(self, Read | ReadAttachment | Move | Filter | Delete | Flag)
    }

    /// Whether it submits a message.
    pub fn submits(self) -> bool {
        let of_smtp =
            [Self::Send, Self::Reply, Self::Forward, Self::Invite, Self::AnswerInvitation];
        of_smtp.contains(&self)
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_by_its_word() {
        #[derive(Deserialize)]
        struct One {
            kind: TaskKind,
        }
        for (at, kind) in TaskKind::ALL.into_iter().enumerate() {
            let one: One = toml::from_str(&format!("kind = \"{kind}\"")).unwrap();
            assert_eq!(one.kind, kind);
            assert_eq!(kind as usize, at);
        }
    }
}
