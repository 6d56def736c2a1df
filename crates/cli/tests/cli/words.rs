//! The program's words, as a user meets them: every case in `cmd/` is a command and what it says.
//! When words change on purpose: `TRYCMD=overwrite cargo test -p brunt-cli --test cli words`, and
//! look at the difference.

#[test]
fn the_program_says_what_the_cases_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
