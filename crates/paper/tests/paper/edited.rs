//! Only the bytes that follow from the evidence pass. Whatever else is changed in a paper is found,
//! or the paper is not judged.

use brunt_paper::Paper;
use brunt_paper::verify::{Answer, Checked, Difference, verify};
use brunt_report::result::{Group, Rule, RuleName, RunResult};
use lopdf::content::Content;
use lopdf::{Dictionary, Document, Object};

use crate::forger::{flip_a_digit, rewrite};
use crate::{PROGRAM, evidence, files, one, sample};

fn paper() -> Document {
    let pdf = Paper::new(&one()).unwrap().to_pdf().unwrap();
    Document::load_mem(&pdf).unwrap()
}

fn checked(document: &mut Document) -> Checked {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    verify(&bytes, PROGRAM).unwrap()
}

fn found(document: &mut Document) -> Vec<Difference> {
    let checked = checked(document);
    assert_eq!(checked.answer, Answer::Contradicted);
    checked.differences
}

#[test]
fn one_changed_digit_is_found_and_named() {
    let mut document = paper();
    let was = flip_a_digit(&mut document, 1);
    assert!(!was.is_empty(), "there is a number on the first page");
    let differences = found(&mut document);
    let [Difference::Word { page: 1, shown, follows, .. }] = &differences[..] else {
        panic!("one word: {differences:?}");
    };
    assert!(was.contains(follows.as_str()) && shown != follows, "{was}: {differences:?}");
}

#[test]
fn a_paper_that_was_written_anew_is_not_judged_and_the_whole_one_is_there() {
    let mut document = paper();
    document.decompress();
    document.renumber_objects();
    let checked = checked(&mut document);
    assert_eq!(checked.differences, []);
    assert_eq!(checked.answer, Answer::Rewritten);
    let own = verify(&checked.follows, PROGRAM).unwrap();
    assert_eq!(own.answer, Answer::Unproven);
}

/// The file with a second revision of page 1, which draws what page 2 does, and `end` after it.
fn revised(pdf: &[u8], end: &str) -> Vec<u8> {
    let document = Document::load_mem(pdf).unwrap();
    let pages = document.get_pages();
    let ((first, _), content) = (pages[&1], |page| {
        let dictionary = document.get_dictionary(pages[&page]).unwrap();
        let content = dictionary.get(b"Contents").unwrap();
        let (number, _) = content.as_reference().unwrap();
        format!("/Contents {number} 0 R")
    });
    let place = |text: &str| pdf.windows(text.len()).rposition(|window| window == text.as_bytes());
    let begin = place(&format!("\n{first} 0 obj")).unwrap() + 1;
    let length = pdf[begin..].windows(6).position(|window| window == b"endobj");
    let object = String::from_utf8_lossy(&pdf[begin..][..length.unwrap() + 7]).into_owned();
    let other = object.replace(&content(1), &content(2));
    assert_ne!(object, other);
    let before = &pdf[place("startxref").unwrap() + 9..];
    let before = String::from_utf8_lossy(before).split_whitespace().next().unwrap().to_owned();
    let (root, _) = document.trailer.get(b"Root").unwrap().as_reference().unwrap();
    let size = document.max_id + 1;
    let mut bytes = pdf.to_vec();
    let at = bytes.len();
    bytes.extend(other.as_bytes());
    let table = bytes.len();
    bytes.extend(
        format!(
            "xref\n{first} 1\n{at:010} 00000 n \ntrailer\n<</Size {size}/Root {root} 0 R/Prev {before}>>\nstartxref\n{table}\n{end}"
        )
        .as_bytes(),
    );
    bytes
}

/// Programs that show PDFs take the last `startxref`; the reader here wants an end behind it.
#[test]
fn a_second_revision_never_passes() {
    let pdf = Paper::new(&one()).unwrap().to_pdf().unwrap();
    let checked = verify(&revised(&pdf, "%%EOF\n"), PROGRAM).unwrap();
    assert_eq!(checked.answer, Answer::Contradicted);
    let hidden = verify(&revised(&pdf, ""), PROGRAM).unwrap();
    assert!(matches!(hidden.answer, Answer::Rewritten | Answer::Contradicted));
    assert!(hidden.follows == pdf);
    // Whatever follows the end, and whatever nothing refers to.
    for more in ["\n", "%", "9999 0 obj<</Title(PASS)>>endobj"] {
        let longer = [pdf.as_slice(), more.as_bytes()].concat();
        let checked = verify(&longer, PROGRAM).unwrap();
        assert_eq!((checked.answer, checked.differences), (Answer::Rewritten, vec![]), "{more}");
    }
}

#[test]
fn another_title_is_found() {
    let mut document = paper();
    let info = document.trailer.get(b"Info").unwrap().as_reference().unwrap();
    let info = document.get_object_mut(info).unwrap().as_dict_mut().unwrap();
    info.set("Title", Object::string_literal("small: PASS 9,999 IOPS"));
    assert_eq!(found(&mut document), [Difference::Besides("/Info/Title".to_owned())]);
}

/// What is changed in a paper by another version cannot be told from what that version does
/// otherwise.
#[test]
fn a_paper_of_another_version_is_never_judged() {
    let pdf = Paper::new(&one()).unwrap().to_pdf().unwrap();
    let answer = |bytes: &[u8]| {
        let checked = verify(bytes, "0.2.0").unwrap();
        assert_eq!(checked.differences, []);
        checked.answer
    };
    assert_eq!(answer(&pdf), Answer::OtherVersion);
    let mut document = Document::load_mem(&pdf).unwrap();
    rewrite(&mut document, 1, |_, content| {
        let white = "q 1 1 1 rg 50 500 200 40 re f Q";
        let white = Content::decode(white.as_bytes()).unwrap();
        content.operations.extend(white.operations);
    });
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert_eq!(answer(&bytes), Answer::OtherVersion);
}

#[test]
fn what_is_drawn_over_a_number_is_found() {
    let mut document = paper();
    rewrite(&mut document, 1, |_, content| {
        let white = "q 1 1 1 rg 50 500 200 40 re f Q";
        content.operations.extend(Content::decode(white.as_bytes()).unwrap().operations);
    });
    let differences = found(&mut document);
    assert!(matches!(differences[..], [Difference::Drawing { page: 1, .. }]), "{differences:?}");
}

#[test]
fn a_font_that_draws_other_digits_is_found() {
    let mut document = paper();
    let fonts: Vec<_> = document
        .objects
        .values()
        .filter_map(|object| {
            let font = object.as_dict().ok()?;
            let files = [&b"FontFile2"[..], b"FontFile3"];
            let file = files.iter().find_map(|key| font.get(key).ok())?;
            file.as_reference().ok()
        })
        .collect();
    assert!(!fonts.is_empty());
    for id in fonts {
        let stream = document.get_object_mut(id).unwrap().as_stream_mut().unwrap();
        let mut plain = stream.get_plain_content().unwrap();
        let middle = plain.len().div_euclid(2);
        plain[middle] ^= 1;
        stream.set_plain_content(plain);
    }
    let differences = found(&mut document);
    assert!(matches!(differences[0], Difference::Drawing { page: 1, .. }), "{differences:?}");
}

#[test]
fn a_note_and_a_script_are_found() {
    let mut document = paper();
    let mut note = Dictionary::new();
    note.set("Type", Object::Name(b"Annot".to_vec()));
    note.set("Subtype", Object::Name(b"FreeText".to_vec()));
    note.set("Contents", Object::string_literal("3,000"));
    let note = document.add_object(note);
    let page = document.get_pages()[&1];
    let page = document.get_object_mut(page).unwrap().as_dict_mut().unwrap();
    page.set("Annots", vec![Object::Reference(note)]);
    let differences = found(&mut document);
    assert!(
        matches!(&differences[..], [Difference::Drawing { page: 1, place }] if place == "/Annots"),
        "{differences:?}"
    );
    let mut document = paper();
    let mut script = Dictionary::new();
    script.set("S", Object::Name(b"JavaScript".to_vec()));
    script.set("JS", Object::string_literal("app.alert(1)"));
    document.catalog_mut().unwrap().set("OpenAction", script);
    let differences = found(&mut document);
    assert_eq!(differences, [Difference::Besides("/OpenAction".to_owned())]);
}

#[test]
fn a_page_that_is_missing_is_found() {
    let mut document = paper();
    let pages = document.get_pages().len();
    document.delete_pages(&[2]);
    let differences = found(&mut document);
    let wanted = Difference::Pages { shown: pages - 1, follows: pages };
    assert_eq!(differences[0], wanted);
}

#[test]
fn changed_evidence_is_refused_by_name() {
    let mut document = paper();
    let mut count = 0;
    for object in document.objects.values_mut() {
        let Ok(stream) = object.as_stream_mut() else {
            continue;
        };
        if !stream.dict.has_type(b"EmbeddedFile") {
            continue;
        }
        let plain = stream.get_plain_content().unwrap();
        let text = String::from_utf8_lossy(&plain);
        if text.contains("\"achieved_iops\"") {
            stream.set_plain_content(text.replacen('1', "2", 1).into_bytes());
            count += 1;
        }
    }
    assert_eq!(count, 1);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    let error = verify(&bytes, PROGRAM).unwrap_err();
    assert!(error.is_damage());
    assert!(error.to_string().starts_with("run1-result.json: was changed"), "{error}");
}

/// No table has the machine, its devices, I/O errors and what the kernel said.
#[test]
fn what_no_table_shows_is_held_against_the_test_log() {
    let mut run = sample::run(true);
    run.result.origin.version = "0.1.0".to_owned();
    run.result.origin.commit = Some("test".to_owned());
    let errors = RuleName { id: "io-errors", group: Group::Integrity, title: "I/O errors" };
    run.result.rules.push(Rule::at_most(errors, "", 0.0, Some(0.0)));
    let honest = files("runs/a", &run);
    let found = |change: &dyn Fn(&mut RunResult)| -> Vec<String> {
        let (mut result, mut files) = (run.result.clone(), honest.clone());
        change(&mut result);
        files.files[0].bytes = result.to_json().into_bytes();
        let wrong = Paper::new(&evidence(vec![files])).unwrap().audit.wrong.into_iter();
        let told = wrong.filter(|wrong| wrong.what.ends_with(", by the test log"));
        told.map(|wrong| wrong.what).collect()
    };
    assert_eq!(found(&|_| {}), [""; 0]);
    let memory = |result: &mut RunResult| {
        result.storage.servers[0].details.machine.memory_bytes = 1 << 30;
    };
    assert_eq!(found(&memory), ["Machine, by the test log"]);
    let device = |result: &mut RunResult| {
        let backend = &mut result.storage.servers[0].details.backend;
        backend.volumes[0].stack[0].model = Some("PM1733".to_owned());
    };
    assert_eq!(found(&device), ["Device sdb, by the test log"]);
    let remark = |result: &mut RunResult| {
        let mut rules = result.rules.iter_mut();
        rules.find(|rule| rule.id == "io-errors").unwrap().remark = "none".to_owned();
    };
    assert_eq!(found(&remark), ["I/O errors, by the test log"]);
    // Without its end nothing is known.
    let mut cut = honest.clone();
    cut.files[2].bytes.clear();
    let audit = Paper::new(&evidence(vec![cut])).unwrap().audit;
    assert!(audit.unproven.contains(&"run1 has no end of its test log".to_owned()));
}

/// Whoever changes the result and makes the paper anew contradicts its parts.
#[test]
fn a_sum_that_does_not_follow_is_named() {
    let mut run = sample::run(true);
    run.result.storage.achieved_iops = Some(60.0);
    let evidence = evidence(vec![files("runs/a", &run)]);
    let paper = Paper::new(&evidence).unwrap();
    let wrong: Vec<&str> = paper.audit.wrong.iter().map(|wrong| wrong.what.as_str()).collect();
    assert_eq!(wrong, ["achieved I/Os per second"]);
    let checked = verify(&paper.to_pdf().unwrap(), PROGRAM).unwrap();
    assert!(
        matches!(&checked.differences[..], [Difference::Sum(wrong)] if wrong.stated == "60.000")
    );
    assert_eq!(checked.answer, Answer::Contradicted);
}
