//! The way in: `init` writes a scenario for storage that is there, and `run --check` says what a
//! run of it would do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use super::program::answer;

fn said(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// Everything below `folder`.
fn listing(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let both = paths.flat_map(|path| match path.is_dir() {
        true => listing(&path).into_iter().chain([path]).collect(),
        false => BTreeSet::from([path]),
    });
    both.collect()
}

const SMALL: &str = "[test]\nduration = \"1s\"\nmin_warmup = \"0s\"\nsessions = 2\n\
    [profile]\ncache_min = \"1 MiB\"\ncache_max = \"4 MiB\"\ncheckpoint_depth = \"1 MiB\"\n\
    [[instance]]\nlog = \"log\"\ndatabases = [\"db/one.edb\", \"db/two.edb\"]\ndatabase_size = \"8 MiB\"\n";

#[test]
fn a_check_says_what_a_run_would_do_and_writes_nothing() {
    let home = TempDir::new().unwrap();
    for folder in ["log", "db"] {
        fs::create_dir(home.path().join(folder)).unwrap();
    }
    fs::write(home.path().join("t.toml"), SMALL).unwrap();
    let before = listing(home.path());
    let check = || answer(home.path(), &["run", "--check", "t.toml"]);
    let output = check();
    let plan = said(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{plan}{}", said(&output.stderr));
    assert_eq!(listing(home.path()), before);
    for wanted in [
        "databases     create DB1, 8 MiB   /",
        "\n              create DB2, 8 MiB   /",
        "\nroom          /",
        " needed, ",
        "\ntime          create 16 MiB: less than a minute at 200 MB/s (assumed)\n",
        "\n              test: 1 s\n",
        "\nqualifies     no: measured for 1 s, not for 2 hours: --duration 2h\n",
        "advice        databases and their logs share /",
        "the run folder is on the tested volume",
    ] {
        assert!(plan.contains(wanted), "{wanted}\n{plan}");
    }
    // What a run foresees is what the check foresees.
    let refused = answer(home.path(), &["run", "t.toml", "--require-qualified"]);
    let checked = answer(home.path(), &["run", "t.toml", "--check", "--require-qualified"]);
    let last = |output: &Output| said(&output.stderr).lines().last().unwrap().to_owned();
    assert_eq!((refused.status.code(), checked.status.code()), (Some(2), Some(2)));
    assert!(last(&refused).starts_with("error: the result will not qualify: measured for 1 s"));
    assert_eq!(last(&refused), last(&checked));
    // Then there are databases.
    let run = answer(home.path(), &["run", "t.toml", "--quiet"]);
    assert!(run.status.code().is_some_and(|code| code < 2), "{}", said(&run.stderr));
    let before = listing(home.path());
    let plan = said(&check().stdout);
    assert!(plan.contains("databases     open DB1, "), "{plan}");
    assert!(!plan.contains("create"), "{plan}");
    assert_eq!(listing(home.path()), before);
    // And one that is not ours.
    fs::write(home.path().join("db/one.edb"), "a letter").unwrap();
    let output = check();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output.stderr).contains("one.edb: this is not a file of brunt"),
        "{}",
        said(&output.stderr)
    );
}

#[test]
fn a_check_reports_every_mistake_with_its_line_and_a_way_out() {
    let home = TempDir::new().unwrap();
    let text = SMALL
        .replace("duration = \"1s\"", "duration = \"2 hours\"")
        .replace("sessions = 2\n", "sesions = 2\n")
        .replace("\"4 MiB\"", "4");
    fs::write(home.path().join("t.toml"), &text).unwrap();
    for check in [&["run", "--check", "t.toml"][..], &["run", "t.toml"]] {
        let output = answer(home.path(), check);
        let said = said(&output.stderr).replace(home.path().to_str().unwrap(), "DIR");
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert_eq!(
            said,
            "error: 5 mistakes\n\n\
             t.toml:2: `duration = \"2 hours\"`: not a length of time\n  did you mean \"2h\"?\n\n\
             t.toml:4: `sesions = 2`: unknown key `sesions` in [test]\n  did you mean `sessions`?\n\n\
             t.toml:7: `cache_max = 4`: a size has a unit\n  for example \"4 MiB\" or \"4 MB\"\n\n\
             t.toml:10: `log = \"log\"`: there is no folder DIR/log\n  if it is the right one: mkdir -p DIR/log\n\n\
             t.toml:11: `databases = [\"db/one.edb\", \"db/two.edb\"]`: there is no folder DIR/db\n  if it is the right one: mkdir -p DIR/db\n"
        );
    }
    assert_eq!(listing(home.path()).len(), 1);
}

#[test]
fn a_check_of_an_array_simulates_nothing() {
    let home = TempDir::new().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (example, wanted) in [
        ("mail-on-array.toml", "\nqualifies     no: a prediction"),
        ("arrays/raid5-rebuilding.toml", "raid5"),
    ] {
        let example = examples.join(example);
        let output = answer(home.path(), &["simulate", "--check", example.to_str().unwrap()]);
        let plan = said(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
        assert!(plan.contains(wanted), "{plan}");
        let output = answer(
            home.path(),
            &[
                "simulate",
                "--check",
                example.to_str().unwrap(),
                "--set",
                "array.quue=1",
                "--set",
                "array.spares=x",
            ],
        );
        assert_eq!(output.status.code(), Some(2));
        let said = said(&output.stderr);
        assert!(said.starts_with("error: 2 mistakes\n"), "{said}");
    }
    assert!(listing(home.path()).is_empty());
}

/// Three folders that stand for volumes.
fn volumes() -> TempDir {
    let home = TempDir::new().unwrap();
    for folder in ["a", "b", "c"] {
        fs::create_dir(home.path().join(folder)).unwrap();
    }
    home
}

const VOLUMES: [&str; 6] = ["--lun", "a", "--lun", "b", "--log", "c"];

fn init(home: &Path, file: &str, mailboxes: &str, quota: &str) -> Output {
    let sized = ["init", file, "--mailboxes", mailboxes, "--quota", quota];
    answer(home, &[&sized[..], &VOLUMES].concat())
}

/// The number behind the first `flag` in `text`.
fn number(text: &str, flag: &str) -> Option<u64> {
    let (_, rest) = text.split_once(flag)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn init_sizes_a_test_for_given_volumes() {
    let home = volumes();
    let output = init(home.path(), "mail.toml", "100", "1MiB");
    let text = said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let here = home.path().display();
    assert!(
        text.starts_with(&format!(
            "wrote mail.toml, and made {here}/a/db1, {here}/b/db2, {here}/c/log1, {here}/c/log2\n"
        )),
        "{text}"
    );
    // Too small, and the reasons are those of a run.
    let check = answer(home.path(), &["run", "mail.toml", "--check"]);
    let plan = said(&check.stdout);
    assert_eq!(check.status.code(), Some(0), "{}", said(&check.stderr));
    let reasons = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.starts_with("qualifies"));
        let lines =
            lines.take_while(|line| line.starts_with("qualifies") || line.starts_with("   "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(reasons(&text), reasons(&plan));
    assert!(reasons(&text).len() > 1, "{text}");
    // The number that is large enough is, unless this volume has no room for it.
    let enough = number(&text, "large enough  --mailboxes");
    // Nothing qualifies where no device is known.
    let Some(enough) = enough.filter(|_| !text.contains("no device is known")) else {
        return;
    };
    let output = init(home.path(), "large.toml", &enough.to_string(), "1MiB");
    let text = said(&output.stderr);
    assert!(text.contains("\nqualifies     if it passes"), "{text}");
    let check = answer(home.path(), &["run", "large.toml", "--check", "--require-qualified"]);
    assert_eq!(check.status.code(), Some(0), "{}", said(&check.stderr));
    let output = init(home.path(), "less.toml", &(enough - 1).to_string(), "1MiB");
    assert!(said(&output.stderr).contains("\nqualifies     no: "));
}

#[test]
fn init_says_how_many_mailboxes_fit() {
    let home = volumes();
    let output = init(home.path(), "mail.toml", "120000", "1GiB");
    let text = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.starts_with("error: 120,000 mailboxes of 1 GiB do not fit\n  /"), "{text}");
    // Nothing was made.
    assert_eq!(listing(home.path()).len(), 3);
    // Other tests take room meanwhile.
    let most = number(&text, "--mailboxes").unwrap().div_euclid(2);
    if most > 0 {
        let output = init(home.path(), "mail.toml", &most.to_string(), "1GiB");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    }
}

#[test]
fn init_refuses_what_it_cannot_do_and_makes_nothing() {
    let home = volumes();
    let before = listing(home.path());
    let refused = |arguments: &[&str], wanted: &str| {
        let output = answer(home.path(), arguments);
        let text = said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{wanted}\n{text}");
    };
    refused(
        &["init", "mail.toml", "--mailboxes", "5"],
        "a test of storage needs --quota, --lun\n  for example: brunt init mail.toml --mailboxes 4000",
    );
    refused(
        &["init", "mail.toml", "--mailboxes", "5", "--quota", "1GiB", "--lun", "d", "--log", "e"],
        "/d: there is no such folder\n  mount the volume first, or: mkdir -p ",
    );
    refused(
        &["init", "mail.toml", "--mailboxes", "5", "--quota", "1G", "--lun", "a"],
        "did you mean \"1 GiB\"",
    );
    refused(&["init", "mail.toml", "--log", "c"], "--mailboxes");
    let file = [
        "init",
        "x.toml",
        "--mailboxes",
        "5",
        "--quota",
        "1GiB",
        "--lun",
        env!("CARGO_BIN_EXE_brunt"),
    ];
    refused(&file, ": is not a folder");
    refused(
        &[
            "init",
            "mail.toml",
            "--mailboxes",
            "500",
            "--quota",
            "1MiB",
            "--lun",
            "a",
            "--profile",
            "2003",
        ],
        "--io-per-mailbox",
    );
    refused(&["init", "mail.toml", "--array", "--lun", "a"], "cannot be used with");
    assert_eq!(listing(home.path()), before);
    fs::write(home.path().join("mail.toml"), "mine").unwrap();
    refused(
        &["init", "mail.toml", "--mailboxes", "500", "--quota", "1MiB", "--lun", "a"],
        "is left alone",
    );
    assert_eq!(listing(home.path()).len(), before.len() + 1);
}

#[test]
fn init_writes_to_stdout_and_makes_nothing() {
    let home = volumes();
    let before = listing(home.path());
    let output = answer(
        home.path(),
        &[
            "init",
            "-",
            "--mailboxes",
            "500",
            "--quota",
            "1MiB",
            "--lun",
            "a",
            "--lun",
            "b",
            "--duration",
            "24h",
            "--io-per-mailbox",
            "0.2",
        ],
    );
    let text = said(&output.stdout);
    let here = home.path().display();
    for wanted in [
        "duration = \"24h\"\n",
        "count = 500\nquota = \"1MiB\"\n",
        "io_per_s = 0.2\n",
        // Each database logs to the other LUN.
        &format!("log = \"{here}/b/log1\"\ndatabases = [\"{here}/a/db1/db1.edb\"]\n"),
        &format!("log = \"{here}/a/log2\"\ndatabases = [\"{here}/b/db2/db2.edb\"]"),
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(said(&output.stderr).starts_with("it needs      mkdir "));
    assert_eq!(listing(home.path()), before);
}

#[test]
fn the_array_that_init_writes_simulates() {
    let home = TempDir::new().unwrap();
    let output = answer(home.path(), &["init", "--array", "array.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let small = ["--set", "test.min_warmup=0s", "--duration", "1min", "--quiet"];
    let output = answer(home.path(), &[&["simulate", "array.toml"][..], &small].concat());
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", said(&output.stderr));
}

const ORG: &str = "[profile]\nversion = \"exchange-2016\"\n[org]\nservers = 2\ncopies = 2\nfailures = 1\n\
    [mailboxes]\ncount = 400\nquota = \"200 MiB\"\nmessages_per_day = 100\n\
    [storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 4\n";

#[test]
fn a_sized_design_is_written_whole_and_once_and_is_simulated() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("org.toml"), ORG).unwrap();
    let size = |more: &[&str]| answer(home.path(), &[&["size", "org.toml"], more].concat());
    let written = size(&["--write", "design.toml"]);
    assert!(written.status.success(), "{written:?}");
    let talk = said(&written.stderr);
    assert!(talk.contains("brunt simulate design.toml --set 'event=[{"), "{talk}");
    let names = |home: &Path| listing(home).len();
    assert_eq!(names(home.path()), 2);
    let again = size(&["--write", "design.toml"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again.stderr).contains("is left alone"));
    assert!(size(&["--write", "design.toml", "--force"]).status.success());
    // A wrong organisation writes nothing.
    let wrong = size(&["--write", "other.toml", "--set", "mailboxes.count=0"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(names(home.path()), 2);
    let event = "event=[{ at = \"40s\", what = \"drive fails\", drive = 0 }]";
    let simulated = answer(
        home.path(),
        &[
            "simulate",
            "design.toml",
            "--duration",
            "20s",
            "--set",
            "test.min_warmup=30s",
            "--set",
            event,
        ],
    );
    let shown = said(&simulated.stdout);
    assert!(matches!(simulated.status.code(), Some(0 | 1)), "{shown}{}", said(&simulated.stderr));
    assert!(shown.contains("drive 0 of databases 1 fails") || shown.contains("rebuild"), "{shown}");
}

#[test]
fn what_a_search_finds_passes_a_simulation_and_is_written() {
    let home = TempDir::new().unwrap();
    let (org, _) = ORG.split_once("[storage]").unwrap();
    let text = format!(
        "{org}[search]\ndrives = [\"savvio-10k6-900-sas\"]\nlevels = [\"raid10\"]\ngroup_max = 4\n"
    );
    fs::write(home.path().join("org.toml"), text).unwrap();
    let output =
        answer(home.path(), &["size", "org.toml", "--search", "--write", "design.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let result: serde_json::Value = serde_json::from_str(&said(&output.stdout)).unwrap();
    let best = &result["search"]["candidates"][0];
    assert_eq!(best["simulated"]["passed"], true, "{best}");
    assert!(best["simulated"]["read_ms"].as_f64().unwrap() > 1.0, "{best}");
    assert_eq!(best["drives"], result["storage"]["drives"]);
    let design = fs::read_to_string(home.path().join("design.toml")).unwrap();
    assert!(design.contains("savvio-10k6-900-sas"));
}
