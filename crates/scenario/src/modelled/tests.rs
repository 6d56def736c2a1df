use std::path::PathBuf;

use brunt_array::{
    ArrayDesign, Incident, PagedDesign, PairDesign, SitesDesign, SystemDesign, VolumeIncident,
};
use brunt_units::{ByteSize, Span};
use brunt_workload::session::Scheduling;

use super::super::document::{Document, Subject};
use super::super::overrides::Override;
use super::*;

const EXAMPLE: &str = include_str!("../../../../examples/mail-on-array.toml");

const POOL: &str = include_str!("../../../../examples/mail-on-pool.toml");

fn parse(text: &str, set: &[&str]) -> Result<ModelledScenario, String> {
    let overrides = set.iter().map(|set| Override::of_set(set).unwrap());
    let overrides: Vec<_> = overrides.collect();
    Document::new("m.toml", text, Path::new("/models"))
        .and_then(|document| document.modelled_test(&overrides))
        .map_err(|refusal| refusal.to_string())
}

fn refused(text: &str) -> String {
    parse(text, &[]).err().expect("it is wrong")
}

#[test]
fn folders_find_their_luns() {
    let scenario = parse(EXAMPLE, &[]).unwrap();
    assert_eq!(scenario.servers, ["mail-on-array"]);
    let volume = |path: &str| {
        let mut volumes = scenario.volumes.iter();
        let volume = volumes.find(|v| v.path == Path::new(path)).unwrap();
        (volume.lun, volume.bytes)
    };
    assert_eq!(volume("/db2"), (1, ByteSize::gib(120)));
    assert_eq!(volume("/log1"), (2, ByteSize::gib(12)));
    let same = scenario.path_of(0, Path::new("/db1/mail.edb"));
    assert_eq!(same, PathBuf::from("/db1/mail.edb"));
}

#[test]
fn every_server_has_luns_and_folders_of_its_own() {
    let text = EXAMPLE
        .replacen("name =", "servers = [\"ANNA\", \"BERT\"]\nname =", 1)
        .replace("[\"1\", \"2\"]", "[\"ANNA\", \"BERT\"]")
        .replace("\"log 1\"", "\"log {server}\"")
        .replace("\"log 2\"", "\"log {server}\"");
    let scenario = parse(&text, &[]).unwrap();
    assert_eq!(scenario.volumes.len(), 8);
    let logs = scenario.volumes.iter();
    let logs = logs.filter(|volume| volume.path == Path::new("/log1"));
    let logs: Vec<_> = logs.map(|volume| (volume.server, volume.lun)).collect();
    assert_eq!(logs, [(0, 2), (1, 3)]);
    let path = scenario.path_of(1, Path::new("/db1/mail.edb"));
    assert_eq!(path, PathBuf::from("/BERT/db1/mail.edb"));
}

#[test]
fn what_the_twin_leaves_out_is_said_by_name() {
    let twin = |text: &str| parse(text, &[]).unwrap().twin;
    assert_eq!(twin(EXAMPLE), TwinPlan::default());
    let part = "\n[twin]\nbranch_pages = \"memory\"\nflush_maps = \"none\"\nlog_records = \"nodes\"\nlog_format = \"512 KiB\"\nchecksum_reads = 8\n[profile]";
    let both = EXAMPLE.replacen("\n[profile]", part, 1);
    let left_out = TwinPlan {
        branches_in_memory: true,
        no_flush_maps: true,
        log_records: LogRecords::Nodes,
        log_format: Some(ByteSize::kib(512)),
        checksum_reads: Some(8),
    };
    assert_eq!(twin(&both), left_out);
    let said = refused(&both.replace("512 KiB", "5 KiB"));
    assert!(said.contains("not a multiple of 4 KiB"), "{said}");
    let said = refused(&both.replace("flush_maps = \"none\"", "flush_maps = \"non\""));
    assert!(said.contains("`flush_maps = \"non\"`"), "{said}");
    assert!(said.contains("did you mean \"none\"?"), "{said}");
}

#[test]
fn the_resolved_text_is_the_same_scenario() {
    let one = parse(EXAMPLE, &["array.cache.write=64MiB"]).unwrap();
    let two = parse(&one.to_toml(), &[]).unwrap();
    assert_eq!(two.scenario, one.scenario);
    assert_eq!(two.volumes, one.volumes);
    assert_eq!(two.to_toml(), one.to_toml());
    assert_eq!(two.arrays[0].design.arrays()[0].cache.unwrap().write, ByteSize::mib(64));
    let thinking = parse(EXAMPLE, &["test.scheduling=think 12.3456ms"]).unwrap();
    let time = Span::nanos(12_345_600);
    assert_eq!(thinking.scenario.test.scheduling, Scheduling::Think { time });
    let again = parse(&thinking.to_toml(), &[]).unwrap();
    assert_eq!(again.scenario, thinking.scenario);
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let no_lun = EXAMPLE.replace("\"/db2\" = \"database 2\"", "\"/db2\" = \"database 3\"");
    assert_eq!(
        refused(&no_lun),
        "m.toml:85: `\"/db2\" = \"database 3\"`: there is no LUN called \"database 3\"\n  did you mean \"database 1\"?"
    );
    let nowhere = EXAMPLE.replace("\"/log1\" = \"log 1\"\n", "");
    let said = refused(&nowhere);
    assert!(said.contains("/log1 lies on no LUN"), "{said}");
    let large = EXAMPLE.replacen("\"40 GiB\"", "\"130 GiB\"", 1);
    let said = refused(&large);
    assert!(
        said.contains("`database_size = \"130 GiB\"`: databases of 130 GiB do not fit on LUN \"database 1\" of 120 GiB"),
        "{said}"
    );
    let unit = EXAMPLE.replacen("size = \"120 GiB\"", "size = \"120 G\"", 1);
    assert!(refused(&unit).contains("did you mean"), "{}", refused(&unit));
    let relative = EXAMPLE.replace("\"/db1\" =", "\"db1\" =");
    assert!(refused(&relative).contains("is not an absolute path"));
    let twice = format!("servers = [\"A\", \"A\"]\n{EXAMPLE}");
    assert!(refused(&twice).contains("\"A\" is there twice"));
    let both = EXAMPLE
        .replace("scheduling = \"none\"", "scheduling = \"station 0.5\"\ntarget_io_per_s = 100");
    assert!(refused(&both).contains("paced already"));
    let mailboxes =
        format!("{EXAMPLE}\n[mailboxes]\ncount = 10\nquota = \"1 GiB\"\nio_per_s = 1\n");
    let said = refused(&mailboxes);
    assert!(said.contains("the mailboxes make databases of 5 GiB"), "{said}");
    for unknown in ["fair", "think", "think 2min", "think 5"] {
        let text = EXAMPLE.replace("scheduling = \"none\"", &format!("scheduling = \"{unknown}\""));
        assert!(refused(&text).contains("is not a valid `scheduling`"));
    }
    let one_name = EXAMPLE.replace("name = \"log {}\"", "name = \"log\"");
    assert!(refused(&one_name).contains("need different names"));
}

#[test]
fn several_arrays_have_names_and_incidents_of_their_own() {
    let (head, rest) = EXAMPLE.split_once("\n[array]\n").unwrap();
    let (array, volumes) = rest.split_once("\n[volumes]\n").unwrap();
    let second =
        array.replace("\"database ", "\"other database ").replace("\"log {}\"", "\"other log {}\"");
    let incident = "[[event]]\narray = \"b\"\nat = \"1s\"\nwhat = \"drive fails\"\ndrive = 0\n";
    let text = format!(
        "{head}\n[[array]]\n{array}\n[[array]]\nname = \"b\"\n{second}\n{incident}\n[volumes]\n{volumes}"
    );
    let scenario = parse(&text, &[]).unwrap();
    let names: Vec<_> = scenario.arrays.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["array 1", "b"]);
    assert_eq!(scenario.arrays[1].incidents.len(), 1);
    let grows = text.replace("what = \"drive fails\"\ndrive = 0", "what = \"lun grows\"");
    assert!(refused(&grows).contains("the volumes of a test keep their size"));
    let same = text.replace("\"other database ", "\"database ");
    assert!(refused(&same).contains("is there twice, on \"array 1\" and on \"b\""));
}

#[test]
fn copies_need_room_where_they_are_written_and_where_they_are_restored() {
    let copying = |text: &str, folder: &str| {
        let kind = format!("kind = \"database-backup\"\ncopy_to = \"{folder}\"");
        text.replacen("kind = \"performance\"", &kind, 1)
    };
    let one = |folder| copying(&EXAMPLE.replacen("\"40 GiB\"", "\"20 GiB\"", 2), folder);
    parse(&one("/db2/copies"), &[]).unwrap();
    let large =
        EXAMPLE.replacen("\"40 GiB\"", "\"70 GiB\"", 1).replacen("\"40 GiB\"", "\"20 GiB\"", 1);
    let large = copying(&large, "/db2/copies");
    assert!(refused(&large).contains("of 140 GiB do not fit on LUN \"database 1\""));
    let written = large.replacen("copy_to", "restore = false\ncopy_to", 1);
    parse(&written, &[]).unwrap();
    let nothing = EXAMPLE.replacen("kind =", "restore = false\nkind =", 1);
    assert!(refused(&nothing).contains("there is no backup to restore"));
    let beside = refused(&copying(EXAMPLE, "/db1"));
    let words = "databases and their copies of 160 GiB do not fit on LUN \"database 1\" of 120 GiB";
    assert!(beside.contains(words), "{beside}");
    let on_logs = refused(&one("/log1"));
    let words = "databases and their copies of 20 GiB do not fit on LUN \"log 1\" of 12 GiB";
    assert!(on_logs.contains(words), "{on_logs}");
    let nowhere = refused(&one("/copies"));
    assert!(nowhere.contains("/copies lies on no LUN"), "{nowhere}");
    let thin = refused(&copying(POOL, "/log1").replacen("20 GiB", "40 GiB", 1));
    assert!(thin.contains("databases and their copies of 72 GiB lie on thin LUNs"), "{thin}");
}

#[test]
fn a_test_lies_on_pages_of_a_pool() {
    let scenario = parse(POOL, &[]).unwrap();
    let array = &scenario.arrays[0];
    assert_eq!(array.design.arrays().len(), 4);
    assert_eq!(array.incidents.len(), 5);
    let removed = array.incidents.last().map(|last| &last.incident);
    let snapshot = VolumeIncident::Remove("databases 1 before the backup".into());
    assert_eq!(removed, Some(&Incident::Volumes(snapshot)));
    let logs = scenario.volumes.iter().filter(|volume| volume.lun == 2);
    assert!(logs.clone().all(|volume| volume.bytes == ByteSize::gib(20)));
    assert_eq!(logs.count(), 2);
    let again = parse(&scenario.to_toml(), &[]).unwrap();
    assert_eq!(again.volumes, scenario.volumes);
    assert_eq!(again.arrays[0].incidents, array.incidents);
    let grows = "what = \"lun grows\"\nlun = \"logs\"\nsize = \"30 GiB\"";
    let grows = POOL.replace("what = \"member joins\"\nmember = 3", grows);
    let said = refused(&grows);
    assert!(said.contains("the volumes of a test keep their size"), "{said}");
    let large = POOL.replacen("\"12 GiB\"", "\"50 GiB\"", 1);
    let said = refused(&large);
    assert!(said.contains("do not fit on LUN \"databases 1\" of 40 GiB"), "{said}");
    let thick = POOL.replace("thin = true", "thin = false");
    let said = refused(&thick);
    assert!(said.contains("LUN \"databases 2\" of 40 GiB does not fit"), "{said}");
    let two = POOL.replace("name = \"raid10\"\n", "").replace("drives = 6", "drives = 4")
        + "
[[array.group]]\nlevel = \"raid1\"\ndrives = 2\n";
    assert!(refused(&two).contains("lie on one group of a member, and there are 2"));
}

#[test]
fn every_published_test_is_read_and_called_after_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.display().to_string();
        let read = |path: &Path| std::fs::read_to_string(path);
        let scenario = Document::open(&file, &text, path.parent().unwrap(), &read)
            .and_then(|document| document.modelled_test(&[]));
        let scenario = scenario.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(path.file_stem().unwrap().to_string_lossy(), scenario.scenario.name);
        let name = &scenario.scenario.name;
        let says =
            |command| text.contains(&format!("brunt {command} scenarios/papers/{name}.toml"));
        assert!(says("simulate") || says("drill"), "{name}");
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

/// Everything that decides how a system behaves, in words.
fn design(system: &SystemDesign) -> String {
    let array = |array: &ArrayDesign| {
        let drives = array.drives.iter().map(|drive| (drive.title(), drive.sectors()));
        let drives: Vec<_> = drives.collect();
        let ArrayDesign { policy, groups, spares, luns, front, controller, .. } = array;
        let more = (array.scan, array.cache, &array.tier);
        format!(
            "{drives:?} {policy:?} {groups:?} {spares:?} {luns:?} {front:?} {controller:?} {more:?}"
        )
    };
    let pages = |pool: &PagedDesign| {
        let PagedDesign { members, later, page, grain, luns, clones, balance } = pool;
        let members: Vec<String> = members.iter().map(array).collect();
        format!("{members:?} {later:?} {page:?} {grain:?} {luns:?} {clones:?} {balance:?}")
    };
    match system {
        SystemDesign::One(one) => array(one),
        SystemDesign::Paged(pool) => pages(pool),
        SystemDesign::Pair(pair) => {
            let PairDesign { link, groups, history, resume, outstanding, .. } = pair;
            let sites = [&pair.source, &pair.destination].map(|site| design(site));
            format!("{sites:?} {link:?} {groups:?} {history:?} {resume:?} {outstanding}")
        }
        SystemDesign::Sites(sites) => {
            let SitesDesign { link, replicas, outstanding, block, .. } = &**sites;
            let pools = [&sites.source, &sites.partner].map(pages);
            format!("{pools:?} {link:?} {replicas:?} {outstanding} {block:?}")
        }
    }
}

/// Every test on modelled arrays in the repository, and its file.
fn all() -> Vec<(PathBuf, ModelledScenario)> {
    let mut all = Vec::new();
    for folder in ["examples", "scenarios/papers"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let read = |path: &Path| std::fs::read_to_string(path);
            let name = path.display().to_string();
            let document = Document::open(&name, &read(&path).unwrap(), &folder, &read).unwrap();
            if document.subject() == Subject::ModelledTest {
                all.push((path, document.modelled_test(&[]).unwrap()));
            }
        }
    }
    assert!(all.len() > 35, "{}", all.len());
    all
}

/// Reading `text` gives `one` again.
fn check_same(one: &ModelledScenario, text: &str) {
    let two = parse(text, &[]).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    assert_eq!(two.scenario, one.scenario);
    assert_eq!((&two.servers, &two.twin), (&one.servers, &one.twin));
    assert_eq!((&two.drill, &two.volumes), (&one.drill, &one.volumes));
    let arrays = |of: &ModelledScenario| -> Vec<_> {
        let arrays = of.arrays.iter();
        arrays.map(|one| (one.name.clone(), design(&one.design), one.incidents.clone())).collect()
    };
    assert_eq!(arrays(&two), arrays(one));
    let own = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(own(&two.to_toml()), own(text));
}

/// A default that changes later does not change what was kept: it is written, and means the same.
#[test]
fn what_is_kept_has_every_default_and_is_the_same_plan() {
    fn tables<'t>(value: &'t toml::Value, path: &str) -> Vec<&'t toml::Table> {
        let step = path.split('.').next().unwrap();
        let rest = path.strip_prefix(step).unwrap().trim_start_matches('.');
        match value {
            toml::Value::Array(all) => all.iter().flat_map(|one| tables(one, path)).collect(),
            toml::Value::Table(table) if path.is_empty() => vec![table],
            toml::Value::Table(table) => {
                table.get(step).map_or(Vec::new(), |one| tables(one, rest))
            }
            _ => Vec::new(),
        }
    }
    let mut all_tables: Vec<(&str, Vec<&str>, &[&str])> = vec![
        ("twin", TWIN.names(), &["log_format", "checksum_reads"]),
        ("drill", crate::drill::DRILL.names(), &["recovery_point"]),
    ];
    all_tables.extend(crate::arrays::TABLES.iter().skip(1).map(|table| {
        let between: &[&str] = match table.title() {
            "[[array.drives]]" => &["model", "file"],
            "[[array.group]]" => {
                &["each", "sets", "drive_size", "mirror", "piece", "preserved", "critical_priority"]
            }
            "[array.tier]" => &["size"],
            "[array.pages]" => &["balance_every", "balance_gap", "balance_pages", "balance_unit"],
            "[[array.lun]]" => {
                &["each", "group", "size", "controller", "thin", "snapshot_reserve", "when_full"]
            }
            "[replication]" => &["resume", "resume_at", "log_lun"],
            "[[replication.group]]" => &["each"],
            "[link]" => &["rtt", "km", "bandwidth"],
            "[[replicate]]" => &["media_takes", "local_reserve", "replica_reserve"],
            _ => &["link_rate", "link_latency", "failover"],
        };
        let names = table.all().iter().map(|key| key.name()).collect();
        (table.title().trim_matches(['[', ']']), names, between)
    }));
    let mut seen = Vec::new();
    for (path, scenario) in all() {
        let text = scenario.to_toml();
        check_same(&scenario, &text);
        let kept: toml::Value = toml::from_str(&text).unwrap();
        for (name, keys, may_lack) in &all_tables {
            for table in tables(&kept, name) {
                let lacks = keys.iter().filter(|key| !table.contains_key(**key));
                let lacks: Vec<_> = lacks.filter(|key| !may_lack.contains(key)).collect();
                assert!(lacks.is_empty(), "{}: [{name}] lacks {lacks:?}", path.display());
                seen.push(*name);
            }
        }
    }
    let unseen: Vec<_> =
        all_tables.iter().map(|(name, ..)| *name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, ["array.scan", "array.tier", "load"], "no scenario has these");
}

#[test]
fn levels_and_tables_have_their_own_defaults() {
    let kept = |set: &[&str]| parse(EXAMPLE, set).unwrap().to_toml();
    let plain = kept(&[]);
    for line in
        ["strip = \"64 KiB\"", "queue = \"sptf\"", "wait_max = \"500ms\"", "mirrored = true"]
    {
        assert!(plain.contains(line), "{line}\n{plain}");
    }
    let one = kept(&["array.controller={ count = 1 }"]);
    assert!(one.contains("memory_rate") && !one.contains("link_rate"), "{one}");
    // Read with other values in between, nothing of them is left.
    let document = Document::new("m.toml", EXAMPLE, Path::new("/models")).unwrap();
    let set = |set: &str| document.modelled_test(&[Override::of_set(set).unwrap()]).unwrap();
    set("array.controller={ count = 1 }");
    assert_eq!(document.modelled_test(&[]).unwrap().to_toml(), plain);
}
