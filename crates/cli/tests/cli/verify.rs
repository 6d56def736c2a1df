//! `brunt verify` on files of the real world: what is said about a sound database, a damaged one,
//! and a repairable one, and that looking changes nothing.

use std::fs;
use std::process::Output;

use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::page::{ObjectId, PageFlags};
use brunt_ese::format::page_builder::PageBuilder;
use brunt_ese::format::space::{Extent, SpaceHeader, SpaceKind};
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::program::answer;

const SIZE: PageSize = PageSize::KIB_8;
const PAGES: u32 = 16;

/// A closed database that owns its pages and holds no table: the root and its two space trees, and
/// blank pages.
fn database() -> Vec<u8> {
    let signature = Signature::ours(7, Stamp::from_unix_millis(1), RunId(5));
    let mut header = DatabaseHeader::new(SIZE, signature);
    header.state = DatabaseState::Clean;
    let header = header.to_bytes();
    let mut bytes = vec![0; (PAGES as usize + 2) * SIZE.bytes()];
    bytes[..header.len()].copy_from_slice(&header);
    bytes[SIZE.bytes()..][..header.len()].copy_from_slice(&header);

    let space = SpaceHeader {
        pages: 1,
        parent: PageNumber::NONE,
        non_unique: false,
        second_version: false,
        kind: SpaceKind::Multiple { owned_root: PageNumber(2) },
    };
    // The catalog, in which no table is written yet.
    let catalog =
        SpaceHeader { parent: PageNumber(1), kind: SpaceKind::Single { free: 0 }, ..space };
    let root = PageFlags::ALWAYS.with(PageFlags::ROOT).with(PageFlags::LEAF);
    let tree = root.with(PageFlags::SPACE_TREE);
    let extent = |first, pages| Extent::starting_at(PageNumber(first), pages);
    let pages: [(u32, PageFlags, Vec<u8>, Option<Extent>); 4] = [
        (1, root, space.to_bytes().to_vec(), None),
        (1, tree, vec![0; 16], Some(extent(1, PAGES))),
        (1, tree, vec![0; 16], Some(extent(5, PAGES - 4))),
        (2, root, catalog.to_bytes().to_vec(), None),
    ];
    for (number, (object, flags, header, extent)) in (1..).zip(pages) {
        let mut builder = PageBuilder::new(SIZE, ObjectId(object));
        builder.flags = flags;
        builder.header = header;
        builder.time = DatabaseTime(1);
        if let Some(extent) = extent {
            builder.push(&extent.key(), &extent.data());
        }
        put(&mut bytes, number, &builder.seal(PageNumber(number)));
    }
    bytes
}

fn offset(page: u32) -> usize {
    usize::try_from(PageNumber(page).offset(SIZE)).unwrap()
}

fn put(bytes: &mut [u8], page: u32, content: &[u8]) {
    bytes[offset(page)..][..content.len()].copy_from_slice(content);
}

/// Stdout with the last column, the speed, taken off.
fn said(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let is_row = |line: &str| line.contains(" KiB  ") || line.ends_with("MiB/s");
    let shown = text.lines().map(|line| match line.rsplit_once(' ') {
        Some((rest, _)) if is_row(line) => rest.trim_end(),
        _ => line,
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_sound_database_passes_and_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("good.edb");
    fs::write(&path, database()).unwrap();
    let output = answer(folder.path(), &["verify", "good.edb"]);
    assert_eq!(
        said(&output),
        "file      kind                                   pages  bad  correctable  wrong page number     size\n\
         good.edb  database, 8 KiB pages, clean shutdown     18    0            0                  0  144 KiB\n\
         good.edb: not known: pages that are whole but too old and agree with other pages\n\
         \n\
         PASS  1 file intact"
    );
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert_eq!(fs::read(&path).unwrap(), database());
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 1, "nothing was left beside it");
}

#[test]
fn damage_is_named_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = database();
    let third = bytes[offset(3)..][..SIZE.bytes()].to_vec();
    put(&mut bytes, 9, &third);
    bytes[offset(3) + 100] ^= 0xFF;
    fs::write(folder.path().join("bad.edb"), bytes).unwrap();
    fs::write(folder.path().join("good.edb"), database()).unwrap();
    let output = answer(folder.path(), &["verify", "bad.edb", "good.edb", "none.edb"]);
    let said = said(&output);
    assert!(
        said.contains(
            "\nbad.edb   database, 8 KiB pages, clean shutdown     18    2            0                  1  144 KiB\n"
        ),
        "{said}"
    );
    assert!(
        said.contains("\nbad.edb: page 3 (offset 32768): checksum mismatch (ESE -1018)\n"),
        "{said}"
    );
    assert!(
        said.contains(
            "\nbad.edb: page 9 (offset 81920): wrong page number: belongs at page 3 (ESE -1118)\n"
        ),
        "{said}"
    );
    assert!(said.ends_with("\n\nFAIL  1 of 3 files damaged"), "{said}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "error: none.edb: no such file or directory\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn json_has_a_line_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = database();
    bytes[offset(1) + 200] ^= 0x10;
    fs::write(folder.path().join("bit.edb"), bytes).unwrap();
    let output = answer(folder.path(), &["verify", "--json", "bit.edb", "none.edb"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [bit, none] = &lines[..] else {
        panic!("{text}");
    };
    assert_eq!(bit["schema_version"], 1);
    assert_eq!(bit["file"], "bit.edb");
    assert_eq!((&bit["kind"], &bit["page_bytes"]), (&"database".into(), &8192.into()));
    assert_eq!(bit["state"], "clean shutdown");
    assert_eq!(bit["judged"], true);
    assert_eq!((&bit["pages_seen"], &bit["pages_bad"]), (&18.into(), &0.into()));
    assert_eq!((&bit["pages_correctable"], &bit["pages_wrong_number"]), (&1.into(), &0.into()));
    assert_eq!(bit["bytes"], 18 * 8192);
    assert!(bit["seconds"].as_f64().unwrap() > 0.0);
    let finding = &bit["findings"][0];
    assert_eq!((&finding["page"], &finding["ese_error"]), (&1.into(), &(-1018).into()));
    assert_eq!(finding["offset_bytes"], 16384);
    assert_eq!(none["error"], "no such file or directory");
}

#[test]
fn a_file_that_is_no_database_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("letter.txt"), "Dear Sir,\n".repeat(1000)).unwrap();
    let output = answer(folder.path(), &["verify", "letter.txt", "."]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("error: letter.txt: not an ESE database"), "{stderr}");
    assert!(stderr.contains("error: .: "), "{stderr}");
}

/// The exit code and the JSON of a file of these bytes.
fn judged(name: &str, bytes: &[u8]) -> (i32, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let output = answer(folder.path(), &["verify", "--json", name]);
    let line = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code().unwrap(), line)
}

#[test]
fn a_database_that_is_cut_off_is_damaged() {
    for left in 1..PAGES as usize + 2 {
        let (code, line) = judged("cut.edb", &database()[..left * SIZE.bytes()]);
        assert_eq!(code, 1, "{left} pages are left: {line}");
        let findings = line["findings"].as_array().unwrap();
        let ends = findings.iter().filter(|found| found["ese_error"] == -4001);
        assert_eq!(ends.count(), 1, "{line}");
    }
}

#[test]
fn somebody_else_s_database_that_is_cut_off_before_its_owned_space_is_not_judged() {
    let mut bytes = database();
    let mut header = DatabaseHeader::find(&bytes).unwrap().header;
    header.signature = Signature::default();
    let header = header.to_bytes();
    for copy in [0, SIZE.bytes()] {
        bytes[copy..][..header.len()].copy_from_slice(&header);
    }
    let (code, line) = judged("foreign.edb", &bytes[..2 * SIZE.bytes()]);
    assert_eq!((code, &line["judged"]), (2, &false.into()), "{line}");
    let (code, _) = judged("foreign.edb", &bytes[..5 * SIZE.bytes()]);
    assert_eq!(code, 1, "its owned space can be read");
    let (code, _) = judged("foreign.edb", &bytes);
    assert_eq!(code, 0);
}

#[test]
fn a_log_that_is_being_made_is_intact() {
    for bytes in [&b""[..], &[0; 65536], &[0xDA; 65536]] {
        let (code, line) = judged("edbtmp.log", bytes);
        assert_eq!((code, &line["kind"]), (0, &"blank log".into()), "{line}");
    }
}
