//! The recipes of docs/alarms.md, run as they stand there, with programs of those names that write
//! down what they get.

use std::fs;
use std::path::Path;

use brunt_console::State;
use brunt_console::alarms::{Alarms, Deliveries, Patience};
use serde_json::Value;

use crate::kit;

const PAGE: &str = include_str!("../../../../docs/alarms.md");

/// The blocks of code in the section `title` of the page, by language.
fn blocks(title: &str, language: &str) -> Vec<String> {
    let head = format!("\n## {title}\n");
    let (_, section) = PAGE.split_once(&head).unwrap_or_else(|| panic!("no section {title}"));
    let section = section.split("\n## ").next().unwrap();
    let begin = format!("```{language}\n");
    let blocks = section.split(&begin).skip(1).filter_map(|rest| rest.split_once("\n```"));
    blocks.map(|(block, _)| format!("{block}\n")).collect()
}

/// Runs the recipe of `section` with a `fake` program; returns its arguments, one a line, and what
/// it read.
fn run(section: &str, fake: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let own = at.join(fake);
    let place = at.display();
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {place}/arguments\ncat > {place}/stdin\n");
    kit::program(&own, &script);
    let mut alarm = blocks(section, "toml").concat();
    if let Some(script) = blocks(section, "sh").first() {
        // The script finds the program by its name, in a folder of its own.
        let script = script.replacen('\n', &format!("\nPATH={place}:$PATH\n"), 1);
        let name = named_script(&alarm);
        kit::program(&at.join(&name), &script);
        alarm = alarm.replace(&format!("/usr/local/bin/{name}"), &at.join(&name).to_string_lossy());
    } else {
        let whole = format!("\"{}\"", own.display());
        alarm = alarm.replacen(&format!("\"{fake}\""), &whole, 1);
    }
    let mut alarms = kit::alarms(at, &alarm);
    deliver(&mut alarms, &alarm);
    let arguments = fs::read_to_string(at.join("arguments")).unwrap();
    (arguments.lines().map(str::to_owned).collect(), read(at))
}

fn read(at: &Path) -> String {
    fs::read_to_string(at.join("stdin")).unwrap()
}

/// The name of the script that an alarm runs.
fn named_script(alarm: &str) -> String {
    let (_, rest) = alarm.split_once("/usr/local/bin/").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

fn deliver(alarms: &mut Alarms, text: &str) {
    let silent = text.contains("run silent");
    let state = if silent { State::Silent } else { State::Ended };
    let told = kit::observe(alarms, state);
    let tell = |words: &str| panic!("{words}");
    let deliveries = Deliveries::begin(alarms, Patience::default(), tell);
    let notice = told.into_iter().next().expect("it is raised");
    deliveries.deliver(notice);
    assert_eq!(deliveries.settle().delivered, 1);
}

fn object(line: &str) -> Value {
    let object: Value = serde_json::from_str(line).unwrap();
    assert_eq!(object["schema"], "brunt.alarm/1");
    object
}

#[test]
fn mail() {
    let (arguments, message) = run("Mail", "sendmail");
    assert_eq!(arguments, ["-t", "-i"]);
    let (head, body) = message.split_once("\n\n").unwrap();
    let wanted = "To: storage@example.com\nSubject: brunt: rule failed (raised)\nMIME-Version: 1.0\n\
                  Content-Type: text/plain; charset=utf-8";
    assert_eq!(head, wanted);
    let (text, line) = body.split_once("\n\n").unwrap();
    assert_eq!(text, "2026-demo: failed for good: I/O errors: 1 (limit 0)");
    assert_eq!(object(line)["rule"]["id"], "io-errors");
}

#[test]
fn syslog() {
    let (arguments, line) = run("Syslog", "logger");
    assert_eq!(arguments, ["-t", "brunt", "-p", "daemon.warning"]);
    assert_eq!(object(&line)["rule"]["subject"], "DB 1");
}

#[test]
fn snmp() {
    let (arguments, _) = run("SNMP", "snmptrap");
    let own = "1.3.6.1.4.1.8072.9999.9999";
    let oid = |end: &str| format!("{own}.{end}");
    let text = "2026-demo: silent: it was killed, its host died, or it hangs";
    let wanted = [
        "-v",
        "2c",
        "-c",
        "public",
        "traps.example.com",
        "",
        &oid("0.1"),
        &oid("1"),
        "s",
        "raised",
        &oid("2"),
        "s",
        "run silent",
        &oid("3"),
        "s",
        text,
    ];
    assert_eq!(arguments, wanted);
}

#[test]
fn webhook() {
    let (arguments, line) = run("Webhook", "curl");
    assert_eq!(arguments.last().unwrap(), "https://hooks.example.com/brunt");
    assert!(arguments.windows(2).any(|pair| pair == ["--data-binary", "@-"]));
    assert_eq!(object(&line)["state"], "ended");
}

/// The object that the page shows has exactly the fields of one that is sent.
#[test]
fn the_page_shows_an_object_with_all_its_fields() {
    let shown = object(&blocks("What a command gets", "json")[0]);
    let (_, line) = run("Syslog", "logger");
    let sent = object(&line);
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&shown), names(&sent));
    assert_eq!(names(&shown["rule"]), names(&sent["rule"]));
}
