//! The profiles that brunt has.

/// Names and texts.
pub(super) const ALL: [(&str, &str); 11] = [
    ("mmb3", include_str!("../../profiles/mmb3.toml")),
    ("mmb-1998", include_str!("../../profiles/mmb-1998.toml")),
    ("domino-r6mail", include_str!("../../profiles/domino-r6mail.toml")),
    ("domino-n8mail", include_str!("../../profiles/domino-n8mail.toml")),
    ("james-platform", include_str!("../../profiles/james-platform.toml")),
    ("loadsim-light", include_str!("../../profiles/loadsim-light.toml")),
    ("loadsim-medium", include_str!("../../profiles/loadsim-medium.toml")),
    ("loadsim-heavy", include_str!("../../profiles/loadsim-heavy.toml")),
    ("loadgen-heavy", include_str!("../../profiles/loadgen-heavy.toml")),
    ("imaptest-normal", include_str!("../../profiles/imaptest-normal.toml")),
    ("imaptest-aggressive", include_str!("../../profiles/imaptest-aggressive.toml")),
];
