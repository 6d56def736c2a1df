//! Papers about models: nothing in them claims a test, and nothing in `[solution]` contradicts what
//! was modelled.

use brunt_paper::evidence::File;
use brunt_paper::verify::{Difference, verify};
use brunt_paper::{Evidence, Paper, RunFiles};
use brunt_report::result::{Outcome, Rule, StateIo, StateNumbers, Volume, World};
use brunt_report::{Run, Timestamp};
use brunt_scenario::Document as Scenario;
use lopdf::Document;

use crate::{PROGRAM, evidence, files, of_kind, sample, text_of};

const ARRAY: &str = "name = \"sample\"\n[test]\nheadroom_percent = 20\n\
    [array]\nspares = 2\n[[array.drives]]\nmodel = \"constellation2-1000-nlsas\"\ncount = 40\n\
    [[array.group]]\nname = \"databases {}\"\neach = [\"1\", \"2\"]\nlevel = \"raid10\"\ndrives = 18\n\
    [[array.group]]\nname = \"logs\"\nlevel = \"raid1\"\ndrives = 2\n\
    [[array.lun]]\nname = \"db {}\"\neach = [\"1\", \"2\"]\ngroup = \"databases {}\"\nsize = \"4 TiB\"\n\
    [[array.lun]]\nname = \"log\"\ngroup = \"logs\"\n\
    [array.controller]\ncount = 2\n[array.front]\ntransport = \"fc16\"\nports = 2\n[array.cache]\nwrite = \"1 GiB\"\n";

/// A run on the modelled array: virtual time begins with the year 2000, and nothing was verified.
fn model(mut run: Run) -> Run {
    let start = Timestamp { unix_seconds: 946_684_800 };
    let result = &mut run.result;
    result.world = World::Virtual;
    result.times.started = start;
    result.times.collection_started = Some(start.after(300));
    result.times.collection_ended = Some(start.after(1_500));
    result.times.ended = Some(start.after(1_520));
    result.storage.details.sentence = "This storage would hold every limit.".to_owned();
    let blind = |rule: &&mut Rule| {
        rule.id.ends_with("-verified")
            || ["device-agrees", "system-log"].contains(&rule.id.as_str())
    };
    for rule in result.rules.iter_mut().filter(blind) {
        rule.measured = None;
        rule.outcome = Outcome::NotMeasured;
        rule.remark = "a prediction's databases have no content".to_owned();
    }
    let server = &mut result.storage.servers[0];
    server.checksum.clear();
    server.details.machine.processors = 0;
    server.details.machine.kernel.clear();
    let on = |mount: &str, lun: &str| Volume {
        mount: mount.to_owned(),
        file_system: "1 MiB extents".to_owned(),
        device: format!("array, {lun}"),
        device_reads: None,
        engine_reads: 0,
        stack: Vec::new(),
        redundancy: Vec::new(),
    };
    let [one, other] = ["/data/db1", "/data/db2"];
    server.details.backend.volumes =
        vec![on(one, "db 1"), on(other, "db 2"), on("/data/log1", "log")];
    run.events.clear();
    run
}

/// A prediction whose scenario also has this `[solution]`.
fn claiming(solution: &str) -> Evidence {
    evidence(vec![run_of(&sample::run(true), &format!("{ARRAY}{solution}"))])
}

fn run_of(run: &Run, scenario: &str) -> RunFiles {
    let mut files = files("runs/a", &model(run.clone()));
    files.files[1] =
        File { name: "scenario.toml", bytes: scenario.as_bytes().to_vec(), whole: None };
    files
}

/// Its text with a blank between words.
fn words_of(pdf: &[u8]) -> String {
    let text = text_of(pdf);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refusal(solution: &str) -> String {
    match Paper::new(&claiming(solution)) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn nothing_in_a_prediction_claims_a_test() {
    let paper = Paper::new(&claiming("")).unwrap();
    assert_eq!(paper.audit.wrong, []);
    let pdf = paper.to_pdf().unwrap();
    let text = words_of(&pdf);
    for claim in [
        "2000-01-01",
        "Measured for",
        "Storage test",
        "Tested deployment",
        "Tested with",
        "tests saw",
        "was tested with this load",
        "not applicable",
        "have no content",
        "system event log",
        "Did verification",
    ] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
    for said in [
        "Prediction by a model of storage for",
        "no hardware was tested",
        "Virtual time",
        "Modelled deployment",
        "40 x Seagate Constellation.2, 1 TB, 2.5 inch, nearline SAS",
        "The model predicts that this design carries this load",
        "databases 1 and 1 alike",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    // The last row of the normalised results: 36 drives have the databases.
    assert!(text.contains("performance test I/Os per second 248 - 6.90"), "{text}");
    let document = Document::load_mem(&pdf).unwrap();
    let info = document.trailer.get(b"Info").and_then(|info| info.as_reference());
    if let Ok(info) = info {
        let info = document.get_dictionary(info).unwrap();
        let date = info.get(b"CreationDate").and_then(|date| date.as_str());
        assert!(date.unwrap().starts_with(b"D:1970"), "virtual time is no date");
    }
    assert_eq!(verify(&pdf, PROGRAM).unwrap().differences, []);
}

#[test]
fn a_test_on_hardware_keeps_its_dates_and_what_it_did_not_measure() {
    let pdf = Paper::new(&crate::one()).unwrap().to_pdf().unwrap();
    let text = words_of(&pdf);
    for said in
        ["2026-11-", "Measured for", "Storage test for", "not applicable", "Tested deployment"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// Each claim alone, with what the refusal names.
#[test]
fn a_solution_that_is_not_what_was_modelled_is_refused() {
    for (claim, wanted) in [
        (
            "[solution.database_disks]\ndisks = 20\n",
            "[solution.database_disks] disks is 20, but the test had 36 (Seagate Constellation.2",
        ),
        ("[solution.database_disks]\ntype = \"SAS, 10,000 rpm\"\n", "nearline SAS"),
        ("[solution.database_disks]\ntype = \"SAS\"\n", "[solution.database_disks] type is SAS"),
        ("[solution.database_disks]\ntype = \"SSD\"\n", "[solution.database_disks] type is SSD"),
        (
            "[solution.database_disks]\ndisk_size = \"600 GB\"\n",
            "disk_size is 600 GB, but the test had 931.5",
        ),
        (
            "[solution.database_disks]\nraid = \"RAID 5 (4+1)\"\n",
            "raid is RAID 5 (4+1), but the test had raid10",
        ),
        ("[solution.database_disks]\nluns = 4\n", "luns is 4, but the test had 2"),
        (
            "[solution.database_disks]\nlun_size = \"2 TiB\"\n",
            "lun_size is 2 TiB, but the test had 4 TiB",
        ),
        (
            "[solution.log_disks]\ndisks = 4\n",
            "[solution.log_disks] disks is 4, but the test had 2",
        ),
        (
            "[solution.hardware]\ncontrollers = 4\n",
            "[solution.hardware] controllers is 4, but the test had 2",
        ),
        (
            "[solution.hardware]\nports = 16\n",
            "[solution.hardware] ports is 16, but the test had 4",
        ),
        (
            "[solution.hardware]\ndisks_tested = 20\n",
            "[solution.hardware] disks_tested is 20, but the test had 40",
        ),
    ] {
        let told = refusal(claim);
        assert!(
            told.starts_with("[solution] contradicts the evidence:\n  ") && told.contains(wanted),
            "{claim}: {told}"
        );
    }
    let honest = "[solution]\nvendor = \"V\"\n[solution.hardware]\nmodel = \"M 1\"\ndisks_tested = 40\ncontrollers = 2\nports = 4\n\
        [solution.database_disks]\ndisks = 36\ntype = \"7.2K NL-SAS\"\ndisk_size = \"1 TB\"\nraid = \"RAID 1/0\"\nluns = 2\nlun_size = \"4 TB\"\n\
        [solution.log_disks]\ndisks = 2\nraid = \"RAID 1\"\n";
    let paper = Paper::new(&claiming(honest)).unwrap();
    let text = words_of(&paper.to_pdf().unwrap());
    assert!(text.contains("The product, as its vendor describes it"), "{text}");
    assert_eq!(refusal("[solution.hardware]\ndisks_tested = 38\n"), "", "without spares");
}

/// On real storage only room can contradict: an array shows a host no drives.
#[test]
fn a_solution_without_room_for_its_databases_is_refused() {
    let mut evidence = crate::one();
    let scenario = |disks: &str| {
        format!("[solution.database_disks]\ndisks = {disks}\ndisk_size = \"36 GB\"\n")
    };
    evidence.solution = Some(scenario("1"));
    let told = Paper::new(&evidence).unwrap_err().to_string();
    assert!(told.contains("room for 2 databases of 64 GiB"), "{told}");
    evidence.solution = Some(scenario("2"));
    Paper::new(&evidence).unwrap();
}

#[test]
fn runs_on_different_models_are_of_different_systems() {
    let other = ARRAY.replace("count = 40", "count = 42");
    let all = vec![run_of(&sample::run(true), ARRAY), run_of(&of_kind("stress", "b"), &other)];
    let told = Paper::new(&evidence(all)).unwrap_err().to_string();
    assert!(told.contains("their modelled arrays differ"), "{told}");
}

/// Evidence that was changed together with its digests still cannot claim other drives.
#[test]
fn a_claim_in_a_paper_is_found() {
    let honest = claiming("");
    let forged = claiming("[solution.database_disks]\ndisks = 20\ntype = \"SAS\"\n");
    let pdf = Paper::new(&honest).unwrap().to_pdf().unwrap();
    let mut document = Document::load_mem(&pdf).unwrap();
    let (was, now) = (honest.attachments(), forged.attachments());
    let mut count = 0;
    for object in document.objects.values_mut() {
        let Ok(stream) = object.as_stream_mut() else {
            continue;
        };
        if !stream.dict.has_type(b"EmbeddedFile") {
            continue;
        }
        let plain = stream.get_plain_content().unwrap();
        let at = was.iter().position(|file| file.bytes == plain).unwrap();
        count += u32::from(was[at] != now[at]);
        stream.set_plain_content(now[at].bytes.clone());
    }
    assert_eq!(count, 2, "the scenario and the manifest");
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    let found = verify(&bytes, PROGRAM).unwrap().differences;
    let sums: Vec<&str> = found
        .iter()
        .filter_map(|one| match one {
            Difference::Sum(wrong) => Some(wrong.what.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        sums,
        ["[solution.database_disks] disks", "[solution.database_disks] type"],
        "{found:?}"
    );
}

const ORG: &str = "name = \"Contoso\"\ndescription = \"one site\"\n[org]\nservers = 4\ncopies = 2\nfailures = 1\n\
    [mailboxes]\ncount = 4000\nquota = \"2 GiB\"\nmessages_per_day = 100\n\
    [storage]\ndrive = \"constellation2-1000-nlsas\"\nlevel = \"raid10\"\ngroup_drives = 8\nlog_level = \"raid1\"\nlog_drives = 2\n\
    [price]\ncurrency = \"EUR\"\narray = 1000\ndrives = { \"constellation2-1000-nlsas\" = 100 }\n";

/// The scenario of the design of [`ORG`], and a run of it that passed.
fn designed() -> (String, Run) {
    let org = Scenario::new("org.toml", ORG, "/".as_ref()).unwrap();
    let org = org.organisation(&[], &brunt_sizing::keys()).unwrap();
    let scenario = brunt_sizing::size(&org).scenario("org.toml").unwrap();
    let mut run = sample::run(true);
    run.result.storage.details.setup.mailboxes = Some(2_000);
    (scenario, run)
}

/// What `brunt simulate --until-fail` leaves.
fn search(scenario: &str) -> RunFiles {
    let points = br#"{ "schema": "brunt.points/1", "scenario": "a", "key": "mailboxes.count", "points": [],
        "found": { "verdict": "pass", "mailboxes_per_server": 2500, "servers": 1, "fails_from": 2520, "limit": "room" } }"#;
    let file = |name, bytes: &[u8]| File { name, bytes: bytes.to_vec(), whole: None };
    let files = vec![file("scenario.toml", scenario.as_bytes()), file("points.json", points)];
    RunFiles { label: "runs/search".to_owned(), files }
}

#[test]
fn a_design_is_shown_as_the_organisation_wants_it() {
    let (scenario, run) = designed();
    let evidence = evidence(vec![run_of(&run, &scenario)]);
    let pdf = Paper::new(&evidence).unwrap().to_pdf().unwrap();
    let words = words_of(&pdf);
    for said in [
        "Contoso: storage for 4,000 mailboxes Prediction for one of 4 servers with Exchange 2019, after a failure, with the load of 2,000 mailboxes",
        "mailboxes, 4 servers",
        "1 Design one site The design needs",
        "4, of which 1 may fail",
        "databases 2 groups of 8, RAID 10 16 64",
        "all 4 arrays, each for 1 server 20 84",
        "Price: 12,400 EUR.",
        "size of a database 2 TiB 1.07 TiB ok",
        "Not simulated for this paper: an hour in which a drive is rebuilt, and how many more mailboxes would pass.",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let checked = verify(&pdf, PROGRAM).unwrap();
    assert!(checked.differences.is_empty(), "{:?}", checked.differences);
}

/// The organisation is the first thing that tells whose system it is.
#[test]
fn a_redacted_design_names_no_organisation() {
    let (scenario, mut run) = designed();
    run.result.scenario = "Contoso-design".to_owned();
    let mut evidence = evidence(vec![run_of(&run, &scenario)]);
    let redacted = evidence.redact(&[]).unwrap();
    let replaced = ("Contoso".to_owned(), "organisation1".to_owned());
    assert!(redacted.replaced.contains(&replaced), "{:?}", redacted.replaced);
    let pdf = Paper::new(&evidence).unwrap().to_pdf().unwrap();
    let words = words_of(&pdf);
    assert!(words.contains("organisation1: storage for 4,000 mailboxes"), "{words}");
    let checked = verify(&pdf, PROGRAM).unwrap();
    assert_eq!(checked.differences, []);
    for file in &checked.attachments {
        let text = String::from_utf8_lossy(&file.bytes).to_lowercase();
        assert!(!text.contains("contoso"), "{}: {text}", file.name);
    }
}

#[test]
fn an_hour_with_a_rebuild_and_a_search_stand_beside_the_design() {
    let (scenario, run) = designed();
    let mut rebuilt = run.clone();
    rebuilt.result.origin.run_id = "rebuilt".to_owned();
    rebuilt.result.storage.states = vec![StateNumbers {
        state: "rebuilding".to_owned(),
        seconds: 1_200.0,
        samples: 4,
        database_reads: StateIo::default(),
        database_writes: StateIo::default(),
        log_writes: StateIo::default(),
    }];
    let mut other = run_of(&rebuilt, &scenario);
    other.label = "runs/b".to_owned();
    let runs = vec![run_of(&run, &scenario), other, search(&scenario)];
    let page = Paper::new(&evidence(runs)).unwrap().to_html();
    for said in [
        "the same, while a drive is rebuilt",
        "Rebuild performance test",
        "2,500, +25 % of 2,000",
        "room on the volumes",
        "Found by the search in run3.",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("Not simulated for this paper"));
    // The search has to be of the same storage, and there is one of it.
    let elsewhere = search(ARRAY);
    let error = Paper::new(&evidence(vec![run_of(&run, &scenario), elsewhere])).unwrap_err();
    assert!(error.to_string().contains("their modelled arrays differ"), "{error}");
    let twice = vec![run_of(&run, &scenario), search(&scenario), search(&scenario)];
    let error = Paper::new(&evidence(twice)).unwrap_err().to_string();
    assert!(error.contains("and a paper shows one"), "{error}");
    let alone = Paper::new(&evidence(vec![search(&scenario)])).unwrap_err().to_string();
    assert!(alone.starts_with("0 runs make no paper"), "{alone}");
}

#[test]
fn a_design_that_is_not_what_was_simulated_makes_no_paper() {
    let (scenario, mut run) = designed();
    run.result.storage.details.setup.mailboxes = Some(2_400);
    let error = Paper::new(&evidence(vec![run_of(&run, &scenario)])).unwrap_err().to_string();
    assert!(
        error.contains("[design] mailboxes of a server is 2,000, but the test had 2,400"),
        "{error}"
    );
    let (scenario, run) = designed();
    let fewer = scenario.replacen("count = 21", "count = 19", 1);
    assert_ne!(fewer, scenario);
    let error = Paper::new(&evidence(vec![run_of(&run, &fewer)])).unwrap_err().to_string();
    assert!(error.contains("[design] drives of an array is 21, but the test had 19"), "{error}");
}
