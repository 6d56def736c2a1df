//! What a rule means, in words: the sections of `docs/reading-a-verdict.md`, so that page and
//! program say the same.

use super::RuleId;

const PAGE: &str = include_str!("../../../../docs/reading-a-verdict.md");

impl RuleId {
    /// What the rule measures, why its limit is what it is, what usually breaks it and what to try:
    /// a few lines of Markdown.
    ///
    /// # Panics
    /// When the page has no section for the rule; a test asks for every rule.
    pub fn explanation(self) -> &'static str {
        let head = self.heading();
        let (_, section) = PAGE.split_once(&head).expect("the page explains each rule");
        let end = section.find("\n#").unwrap_or(section.len());
        section[..end].trim()
    }

    fn heading(self) -> String {
        let name = self.name();
        format!("\n### `{}`: {}\n", name.id, name.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_explains_each_rule_once_in_order_and_no_other() {
        let wanted: String = RuleId::ALL.iter().map(|rule| rule.heading()).collect();
        let headings = PAGE.lines().filter(|line| line.starts_with("### "));
        let found: String = headings.map(|line| format!("\n{line}\n")).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn each_explanation_has_the_four_parts() {
        for rule in RuleId::ALL {
            let text = rule.explanation();
            let items = text.lines().filter(|line| line.starts_with("* "));
            let parts: Vec<_> = items.map(|line| line.split(":**").next().unwrap()).collect();
            let wanted = ["* **Measures", "* **Limit", "* **Usually broken by", "* **Try"];
            assert_eq!(parts, wanted, "{}", rule.name().id);
            // It is read alone, in a terminal.
            assert!(!text.contains("as for "), "{text}");
            // The program shows no other markup than this and code.
            let rest = text.replace("* **", "").replace(":**", "");
            assert!(!rest.contains(['*', '[']), "{rest}");
        }
    }
}
