//! Files that are no papers, or that mean harm: an error in words, soon, and nothing else.

use brunt_paper::Paper;
use brunt_paper::verify::{Answer, verify};
use lopdf::{Document, Object, Stream, dictionary};

use crate::{PROGRAM, one};

fn said(bytes: &[u8]) -> String {
    verify(bytes, PROGRAM).unwrap_err().to_string()
}

fn paper() -> Vec<u8> {
    Paper::new(&one()).unwrap().to_pdf().unwrap()
}

/// A PDF with one page and these attachments.
fn carrier(files: &[(&str, Stream)]) -> Vec<u8> {
    let mut document = Document::with_version("1.7");
    let pages = document.new_object_id();
    let page = document.add_object(dictionary! { "Type" => "Page", "Parent" => pages });
    let kids = dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 };
    document.objects.insert(pages, kids.into());
    let mut names = Vec::new();
    for (name, stream) in files {
        let stream = document.add_object(stream.clone());
        let file = document.add_object(dictionary! {
            "Type" => "Filespec", "F" => Object::string_literal(*name), "EF" => dictionary! { "F" => stream },
        });
        names.extend([Object::string_literal(*name), file.into()]);
    }
    let catalog = document.add_object(dictionary! {
        "Type" => "Catalog", "Pages" => pages,
        "Names" => dictionary! { "EmbeddedFiles" => dictionary! { "Names" => names } },
    });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn plain(text: &str) -> Stream {
    Stream::new(dictionary! {}, text.as_bytes().to_vec())
}

#[test]
fn what_is_no_paper_is_said() {
    assert_eq!(said(b""), "is not a PDF");
    assert_eq!(said(b"PK\x03\x04"), "is not a PDF");
    assert!(said(b"%PDF-1.7\n").starts_with("cannot be read as a PDF: "));
    assert_eq!(said(&carrier(&[])), "is not a paper of brunt: no paper.json is attached to it");
    let schema = said(&carrier(&[("paper.json", plain("{\"schema\":\"brunt.paper/9\"}"))]));
    assert_eq!(schema, "its paper.json is `brunt.paper/9`, and this program reads `brunt.paper/1`");
    let no_json = said(&carrier(&[("paper.json", plain("{"))]));
    assert!(no_json.starts_with("its paper.json cannot be read: "), "{no_json}");
}

#[test]
fn names_that_lead_elsewhere_are_no_evidence() {
    let manifest = |name: &str| {
        format!(
            "{{\"schema\":\"brunt.paper/1\",\"program\":\"x\",\"redacted\":false,\"files\":[{{\"name\":\"{name}\",\"bytes\":1,\"sha256\":\"\"}}]}}"
        )
    };
    for name in ["../../etc/passwd", "/etc/passwd", "run1-../x", "run1-report.html"] {
        let file = carrier(&[("paper.json", plain(&manifest(name))), (name, plain("x"))]);
        let said = said(&file);
        assert_eq!(said, format!("{name}: is listed as evidence, but no paper has such a file"));
    }
    let other = carrier(&[
        (
            "paper.json",
            plain(
                "{\"schema\":\"brunt.paper/1\",\"program\":\"x\",\"redacted\":false,\"files\":[]}",
            ),
        ),
        ("virus.exe", plain("MZ")),
    ]);
    assert_eq!(said(&other), "virus.exe: is attached, but the manifest does not list it");
}

#[test]
fn a_stream_that_unpacks_without_end_is_stopped() {
    let mut bomb = plain("");
    bomb.set_plain_content(vec![b' '; 80 << 20]);
    bomb.compress().unwrap();
    assert!(bomb.content.len() < 1 << 20);
    let said = said(&carrier(&[("paper.json", bomb)]));
    assert!(said.starts_with("paper.json: cannot be unpacked to at most 64 MiB"), "{said}");
}

#[test]
fn more_files_than_runs_have_are_refused() {
    let files: Vec<(String, Stream)> = (0..600).map(|at| (format!("f{at}"), plain("x"))).collect();
    let files: Vec<(&str, Stream)> =
        files.iter().map(|(name, file)| (name.as_str(), file.clone())).collect();
    assert_eq!(said(&carrier(&files)), "has more than 502 attachments");
}

/// A tree of names whose nodes are listed by many others: 30 levels of 30 have 30 to the power of
/// 30 ways.
#[test]
fn a_tree_of_names_is_walked_once() {
    let mut document = Document::load_mem(&carrier(&[])).unwrap();
    let mut node = document.add_object(dictionary! { "Names" => Object::Array(Vec::new()) });
    for _ in 0..30 {
        let kids = vec![Object::Reference(node); 30];
        node = document.add_object(dictionary! { "Kids" => kids });
    }
    let names = dictionary! { "EmbeddedFiles" => node };
    document.catalog_mut().unwrap().set("Names", names);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert_eq!(said(&bytes), "has attachments that are listed more than once");
}

/// One stream of a few KiB that all pages draw, and that unpacks to 8 MiB of words.
#[test]
fn pages_are_read_no_further_than_theirs_go() {
    let mut document = Document::load_mem(&paper()).unwrap();
    let mut words = plain("");
    words.set_plain_content(b"BT (9 ) Tj ET ".repeat(600_000));
    words.compress().unwrap();
    let words = document.add_object(words);
    let pages: Vec<_> = document.get_pages().into_values().collect();
    for page in &pages {
        let page = document.get_object_mut(*page).unwrap();
        page.as_dict_mut().unwrap().set("Contents", words);
    }
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    let checked = verify(&bytes, PROGRAM).unwrap();
    assert_eq!(checked.answer, Answer::Contradicted);
    assert!(checked.differences.len() >= pages.len());
}

/// Objects in a stream become many times larger in memory.
#[test]
fn packed_objects_are_refused() {
    let mut document = Document::load_mem(&paper()).unwrap();
    let mut bytes = Vec::new();
    document.save_modern(&mut bytes).unwrap();
    assert_eq!(
        said(&bytes),
        "packs its objects, which papers of brunt do not: another program wrote it anew"
    );
}

/// Wherever a paper is cut off or a byte of it is changed, there is an answer.
#[test]
fn a_damaged_paper_is_an_error_and_never_a_panic() {
    let whole = paper();
    let step = whole.len().div_euclid(12);
    for at in (0..whole.len()).step_by(step) {
        let _ = verify(&whole[..at], PROGRAM);
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        let _ = verify(&changed, PROGRAM);
    }
}
