//! Built-in drive models, by name.

use super::model::DriveModel;

/// Name and TOML text of every model.
const MODELS: [(&str, &str); 17] = [
    ("cheetah-15k5-146-fc", include_str!("models/cheetah-15k5-146-fc.toml")),
    ("cheetah-15k6-450-sas", include_str!("models/cheetah-15k6-450-sas.toml")),
    ("cheetah-10k7-72-fc", include_str!("models/cheetah-10k7-72-fc.toml")),
    ("10k-600-fc", include_str!("models/10k-600-fc.toml")),
    ("savvio-10k6-900-sas", include_str!("models/savvio-10k6-900-sas.toml")),
    ("constellation2-1000-nlsas", include_str!("models/constellation2-1000-nlsas.toml")),
    ("sata-ssd-480", include_str!("models/sata-ssd-480.toml")),
    ("nvme-ssd-1920", include_str!("models/nvme-ssd-1920.toml")),
    ("exos-10e2400-2400-sas", include_str!("models/exos-10e2400-2400-sas.toml")),
    ("exos-7e10-8000-nlsas", include_str!("models/exos-7e10-8000-nlsas.toml")),
    ("exos-7e10-8000-sata", include_str!("models/exos-7e10-8000-sata.toml")),
    ("exos-x24-16000-nlsas", include_str!("models/exos-x24-16000-nlsas.toml")),
    ("exos-x24-16000-sata", include_str!("models/exos-x24-16000-sata.toml")),
    ("exos-x24-24000-nlsas", include_str!("models/exos-x24-24000-nlsas.toml")),
    ("exos-x24-24000-sata", include_str!("models/exos-x24-24000-sata.toml")),
    ("nvme-tlc-7680", include_str!("models/nvme-tlc-7680.toml")),
    ("nvme-qlc-30720", include_str!("models/nvme-qlc-30720.toml")),
];

/// The drive that large mailboxes are put on today.
pub const OF_TODAY: &str = "exos-7e10-8000-nlsas";

/// The names of all models.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|(name, _)| *name)
}

/// The model with this name, if it exists.
///
/// # Panics
/// Never: a test parses all of them.
pub fn find(name: &str) -> Option<DriveModel> {
    let (_, text) = MODELS.iter().find(|(known, _)| *known == name)?;
    Some(DriveModel::from_toml(text).expect("every model of the library is valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_valid_and_says_where_its_figures_come_from() {
        for name in names() {
            let model = find(name).unwrap();
            assert!(model.year().is_some(), "{name} has no year");
            for (figure, value, _, note) in model.figures() {
                assert!(!note.is_empty(), "{name}: {figure} = {value} has no note");
            }
        }
        assert!(find("no-such-drive").is_none());
        assert!(find(OF_TODAY).unwrap().year() > Some(2020));
    }
}
