//! Whatever is changed in a paper is found, and what is only written anew is not.

use brunt_paper::Paper;
use brunt_paper::verify::{Difference, verify};
use lopdf::content::Content;
use lopdf::{Dictionary, Document, Object};

use crate::forger::{flip_a_digit, rewrite};
use crate::{PROGRAM, evidence, files, one, sample};

fn paper() -> Document {
    let pdf = Paper::new(&one()).unwrap().to_pdf().unwrap();
    Document::load_mem(&pdf).unwrap()
}

fn found(document: &mut Document) -> Vec<Difference> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    verify(&bytes, PROGRAM).unwrap().differences
}

#[test]
fn one_changed_digit_is_found_and_named() {
    let mut document = paper();
    let was = flip_a_digit(&mut document, 1);
    assert!(!was.is_empty(), "there is a number on the first page");
    let differences = found(&mut document);
    let [
        Difference::Word {
            page: 1,
            shown,
            follows,
            ..
        },
    ] = &differences[..]
    else {
        panic!("one word: {differences:?}");
    };
    assert!(
        was.contains(follows.as_str()) && shown != follows,
        "{was}: {differences:?}"
    );
}

#[test]
fn a_paper_that_was_only_written_anew_still_follows() {
    let mut document = paper();
    document.decompress();
    document.renumber_objects();
    assert_eq!(found(&mut document), []);
}

#[test]
fn what_is_drawn_over_a_number_is_found() {
    let mut document = paper();
    rewrite(&mut document, 1, |_, content| {
        let white = "q 1 1 1 rg 50 500 200 40 re f Q";
        content
            .operations
            .extend(Content::decode(white.as_bytes()).unwrap().operations);
    });
    let differences = found(&mut document);
    assert!(
        matches!(differences[..], [Difference::Drawing { page: 1, .. }]),
        "{differences:?}"
    );
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
        let stream = document
            .get_object_mut(id)
            .unwrap()
            .as_stream_mut()
            .unwrap();
        let mut plain = stream.get_plain_content().unwrap();
        let middle = plain.len().div_euclid(2);
        plain[middle] ^= 1;
        stream.set_plain_content(plain);
    }
    let differences = found(&mut document);
    assert!(
        matches!(differences[0], Difference::Drawing { page: 1, .. }),
        "{differences:?}"
    );
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
    let page = document
        .get_object_mut(page)
        .unwrap()
        .as_dict_mut()
        .unwrap();
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
    let wanted = Difference::Pages {
        shown: pages - 1,
        follows: pages,
    };
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
    assert!(
        error
            .to_string()
            .starts_with("run1-result.json: was changed"),
        "{error}"
    );
}

/// Whoever changes the result and makes the paper anew contradicts its parts.
#[test]
fn a_sum_that_does_not_follow_is_named() {
    let mut run = sample::run(true);
    run.result.storage.achieved_iops = Some(60.0);
    let evidence = evidence(vec![files("runs/a", &run)]);
    let paper = Paper::new(&evidence).unwrap();
    let wrong: Vec<&str> = paper
        .audit
        .wrong
        .iter()
        .map(|wrong| wrong.what.as_str())
        .collect();
    assert_eq!(wrong, ["achieved I/Os per second"]);
    let checked = verify(&paper.to_pdf().unwrap(), PROGRAM).unwrap();
    assert!(
        matches!(&checked.differences[..], [Difference::Sum(wrong)] if wrong.stated == "60.000")
    );
}
