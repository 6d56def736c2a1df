//! What is removed after a run, and what stays.

use brunt_load::{Patience, clean};
use brunt_mail::Message;
use brunt_testkit::liar::Folder;

use super::again::with;

#[test]
fn only_equal_messages_of_the_run_go() {
    with(6, Vec::new(), async |ran| {
        let letter = b"Subject: a letter\r\n\r\nX-Brunt: no\r\n";
        ran.liar.invent(3, letter);
        let mut changed: Vec<u8> = Message::new(&ran.mailing, 5).collect();
        let last = changed.len() - 3;
        changed[last] ^= 1;
        ran.liar.invent(4, &changed);
        let stored = |account| ran.liar.stored(account, Folder::Inbox).len() as u64;
        let before: u64 = (0..10).map(stored).sum();
        let what = (None, Patience::default());
        let (cleaned, errors, _) =
            clean(&ran.world, &ran.mailing, &ran.accounts, &ran.reading, what).await;
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!((cleaned.removed, cleaned.changed), (before - 2, 1));
        assert!(cleaned.unfinished.is_empty());
        let left: Vec<_> = (0..10).flat_map(|own| ran.liar.stored(own, Folder::Inbox)).collect();
        assert_eq!(left, [letter.to_vec(), changed]);
        // Once more, there is nothing to do.
        let (cleaned, ..) =
            clean(&ran.world, &ran.mailing, &ran.accounts, &ran.reading, what).await;
        assert_eq!((cleaned.removed, cleaned.changed), (0, 1));
    });
}
