//! Words of command lines that are shown to be repeated, or that a shell reads.

/// `word` as one word of a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A whole command line on one line, quoted as for a shell.
pub fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    brunt_report::one_line(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_word_as_it_was_given() {
        let words = ["--set=a.b=1,2", "x=1 GiB", "it's", ""].map(quoted);
        assert_eq!(words, ["--set=a.b=1,2", "'x=1 GiB'", "'it'\\''s'", "''"]);
        assert_eq!(quoted("/opt/my brunt"), "'/opt/my brunt'");
        assert_eq!(quoted("brunt"), "brunt");
        assert_eq!(quoted("a'; rm -r b"), r"'a'\''; rm -r b'");
    }
}
