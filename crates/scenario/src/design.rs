//! `[design]`: the organisation that a test was sized for, with its tables as for `brunt size`. A
//! test does not use it; a paper calculates the size again and shows it.
//!
//! ```toml
//! [design]
//! name = "mail"
//! [design.org]                        servers, copies, failures
//! [[design.tier]]                     kinds of users
//! [design.storage]                    drives and how they are grouped
//! ```
//!
//! `[design.figures]` is read by those who know the figures; all else is read with the scenario.

use std::path::Path;

use super::base::Origin;
use super::document::Subject;
use super::kept;
use super::org::{FigureKey, Organisation};
use super::section::{self, Section};
use super::top::Top;
use super::tree::Node;

const TITLE: &str = "[design]";

/// The table as it was written, which is an organisation.
pub(super) fn take(top: &mut Section) -> Option<toml::Table> {
    let node = top.take("design")?;
    let table = kept::table(node.entries());
    let mut sections = Section::new(node, TITLE, &Subject::Organisation.keys());
    sections.take("figures");
    read_sections(sections, &[]);
    Some(table)
}

/// The organisation in `node`. `known` are the figures that it can give.
pub(super) fn read(node: Node, known: &[FigureKey]) -> Organisation {
    read_sections(Section::new(node, TITLE, &Subject::Organisation.keys()), known)
}

fn read_sections(mut sections: Section, known: &[FigureKey]) -> Organisation {
    let name = sections.read_or("name", "design".to_owned(), section::name).value;
    let description = sections.read_or("description", String::new(), section::text).value;
    let top = Top { name, description, origin: Origin::default(), sections };
    Organisation::read(top, Path::new("/"), known)
}

/// Writes the tables of an organisation as those of a design.
///
/// # Panics
/// Never: there are texts, numbers and tables only.
pub fn write_design(design: &toml::Table, out: &mut String) {
    let all = toml::Table::from_iter([("design".to_owned(), design.clone().into())]);
    *out += &format!("\n{}", toml::to_string(&all).expect("tables of texts and numbers"));
}

#[cfg(test)]
mod tests {
    use crate::{Document, FigureKey, Quantity};

    const ORG: &str = "name = \"mail\"\ndescription = \"ours\"\n[org]\nservers = 4\ncopies = 2\nfailures = 1\nrestore_within = \"6h\"\n\
         [[tier]]\nname = \"office\"\ncount = 3000\nquota = \"2 GiB\"\nmessages_per_day = 100\n\
         [[tier]]\nname = \"sales\"\ncount = 1000\nquota = \"5 GiB\"\nio_per_s = 0.14\nmessage_size = \"80 KiB\"\n\
         [storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\nlog_level = \"raid1\"\nlog_drives = 2\n\
         [figures]\nlog_days = 4\nrestore = \"100 MB\"\n[price]\ncurrency = \"EUR\"\ndrives = { \"savvio-10k6-900-sas\" = 300 }\n";
    const KNOWN: [FigureKey; 2] = [
        FigureKey { name: "log_days", quantity: Quantity::Days, is_divisor: false },
        FigureKey { name: "restore", quantity: Quantity::Rate, is_divisor: false },
    ];
    const TEST: &str = "[test]\nduration = \"2h\"\nsessions = 8\n[[instance]]\nlog = \"/log\"\ndatabases = [\"/db/db.edb\"]\ndatabase_size = \"512 MiB\"\n";

    #[test]
    fn a_scenario_keeps_the_organisation_that_it_is_for() {
        let org = Document::new("org.toml", ORG, "/".as_ref()).unwrap();
        let org = org.organisation(&[], &KNOWN).unwrap();
        let mut text = TEST.to_owned();
        super::write_design(&org.to_table(&KNOWN), &mut text);
        let scenario = Document::new("s.toml", &text, "/".as_ref()).unwrap().test(&[]).unwrap();
        // The kept scenario has it as well.
        let kept = Document::new("s.toml", &scenario.to_toml(), "/".as_ref()).unwrap();
        let again = kept.design(&KNOWN).unwrap().unwrap();
        assert_eq!(again.to_table(&KNOWN), org.to_table(&KNOWN));
        assert_eq!((again.name.as_str(), again.tiers.len()), ("mail", 2));
        assert_eq!(again.search.prices.unwrap().drives["savvio-10k6-900-sas"], 300.0);
        let figures: Vec<_> =
            again.figures.iter().map(|(name, figure)| (*name, figure.value)).collect();
        assert_eq!(figures, [("log_days", 4.0), ("restore", 1e8)]);
    }

    #[test]
    fn a_design_that_is_no_organisation_is_refused_where_it_stands() {
        for (design, wanted) in [
            ("[design.org]\nservers = 0", "servers"),
            ("[design]\nmoon = 1", "unknown key `moon`"),
            ("[design.org]\nservers = 1\n[design.test]\nkind = \"stress\"", "test"),
        ] {
            let text = format!("{TEST}{design}\n");
            let document = Document::new("s.toml", &text, "/".as_ref()).unwrap();
            let error = document.test(&[]).unwrap_err().to_string();
            assert!(error.starts_with("s.toml:") && error.contains(wanted), "{error}");
        }
    }
}
