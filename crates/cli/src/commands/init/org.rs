//! The text of an organisation for `brunt size`: `examples/org.toml`, with the user's own mailboxes
//! in place of its two kinds of users.

use brunt_report::grouped;

const EXAMPLE: &str = include_str!("../../../../../examples/org.toml");

/// Where the users of the example begin, and what follows them.
const USERS: &str = "# Kinds of users.";
const STORAGE: &str = "# What a server's databases lie on.";

/// Its drives, and those of today.
const DRIVE: &str = "drive = \"constellation2-1000-nlsas\" # `brunt models` lists them";
const TODAY: &str =
    "drive = \"exos-7e10-8000-nlsas\"      # of 2021; `brunt models` lists others and their years";
const GROUP: &str = "group_drives = 8 ";
const SMALLER: &str = "group_drives = 4 ";

/// The organisation of `users`, who are a number of mailboxes and what each may hold; without them,
/// the example.
///
/// `file` is the name that the text gives itself.
pub(super) fn text(file: &str, users: Option<(u64, &str)>) -> String {
    let text = EXAMPLE.replace("examples/org.toml", file);
    let Some((mailboxes, quota)) = users else {
        return text;
    };
    let text = text.replace("4,000 mailboxes", &format!("{} mailboxes", grouped(mailboxes)));
    let (head, rest) = text.split_once(USERS).expect("the example has users");
    let (_, storage) = rest.split_once(STORAGE).expect("the example has storage");
    let quota = toml::Value::from(quota);
    let storage = storage.replacen(DRIVE, TODAY, 1).replacen(GROUP, SMALLER, 1);
    format!(
        "{head}# For several kinds of users, repeat this as [[tier]], each with a name.
[mailboxes]
count = {mailboxes}
quota = {quota}
messages_per_day = 100              # sent and received
# message_size = \"75 KiB\"           # default: that of the version
# io_per_s = 0.07                   # measured; not by default, when it follows from the messages

{STORAGE}{storage}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_stays_as_it_is_without_users() {
        assert_eq!(text("examples/org.toml", None), EXAMPLE);
        assert!(!text("mine.toml", None).contains("examples/"));
    }

    #[test]
    fn own_users_replace_those_of_the_example() {
        let text = text("org.toml", Some((12_000, "2GiB")));
        let read: toml::Table = text.parse().unwrap();
        let mailboxes = read["mailboxes"].as_table().unwrap();
        assert_eq!(mailboxes["count"].as_integer(), Some(12_000));
        assert_eq!(mailboxes["quota"].as_str(), Some("2GiB"));
        assert!(read.get("tier").is_none());
        assert!(!text.contains("4,000"), "{text}");
        let example: toml::Table = EXAMPLE.parse().unwrap();
        for same in ["profile", "org", "array", "figures"] {
            assert_eq!(read[same], example[same]);
        }
        let mut storage = example["storage"].as_table().unwrap().clone();
        storage.insert("drive".to_owned(), brunt_array::drive::library::OF_TODAY.into());
        storage.insert("group_drives".to_owned(), 4.into());
        assert_eq!(read["storage"].as_table(), Some(&storage));
    }
}
