use super::*;

#[test]
fn every_built_in_profile_is_read_and_explains_each_figure() {
    for name in Profile::names() {
        let profile = Profile::built_in(name).unwrap();
        assert!(profile.explained().len() > 5, "{name}");
        assert!(profile.tasks_per_day() > 0.0, "{name}");
        for row in profile.explained() {
            let needs = matches!(row.certainty, Certainty::Found | Certainty::Published);
            assert!(!needs || !row.source.is_empty(), "{name}: {row:?}");
        }
    }
    assert_eq!(Profile::built_in("mmb4"), None);
}

/// Rates that were published follow from the tasks, reactions and recipients of a profile.
#[test]
fn published_rates_come_out() {
    for name in Profile::names() {
        let profile = Profile::built_in(name).unwrap();
        let near = |published: Option<f64>, follows: f64| {
            let Some(published) = published else { return };
            let error = (follows / published - 1.0).abs();
            assert!(error < 0.01, "{name}: {published} published, {follows} follow");
        };
        near(profile.submitted_per_day, profile.submissions_per_day().unwrap());
        near(profile.delivered_per_day, profile.deliveries_per_day().unwrap());
    }
    let heavy = Profile::built_in("loadgen-heavy").unwrap();
    assert!((heavy.tasks_per_day() - 132.0).abs() < 1e-9);
    let james = Profile::built_in("james-platform").unwrap();
    assert!((james.tasks_per_day() - 360.0).abs() < 1e-9);
}

#[test]
fn mailboxes_hold_what_was_published() {
    let of = |name: &str| Profile::built_in(name).unwrap().mailbox_messages;
    assert_eq!(of("domino-n8mail"), Some(3_000));
    let loadsim = ["loadsim-light", "loadsim-medium", "loadsim-heavy"].map(of);
    assert_eq!(loadsim, [Some(1), Some(4), Some(9)]);
    assert_eq!(of("james-platform"), None);
    let mmb3 = Profile::built_in("mmb3").unwrap();
    let bytes = f64::from(mmb3.mailbox_messages.unwrap()) * mmb3.message_bytes();
    assert!((bytes / 100e6 - 1.0).abs() < 0.05, "{bytes}");
}

const SMALL: &str = r#"
title = "small"
about = "one task"
day = { value = "8h", certainty = "assumed" }
[[task]]
kind = "send"
per_day = { value = 10, certainty = "assumed" }
[[message]]
text = "1 KiB"
weight = { value = 1, certainty = "assumed" }
[recipients]
mean = { value = 2, certainty = "assumed" }
[[client]]
kind = "thunderbird"
percent = { value = 100, certainty = "assumed" }
"#;

fn refused(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    Profile::read("own", &SMALL.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_a_profile_is_named() {
    assert!(Profile::read("own", SMALL).is_ok());
    for (from, to, said) in [
        ("\"send\"", "\"sned\"", "unknown variant `sned`"),
        ("value = 10,", "value = -1,", "send a day: -1 is not between"),
        ("value = 10,", "value = nan,", "send a day: NaN is not between"),
        ("\"8h\"", "\"8 hours\"", "day: `8 hours` is not a length of time"),
        ("\"8h\"", "\"0s\"", "`day` takes no time"),
        (
            "certainty = \"assumed\" }\n[[message]]",
            "certainty = \"found\" }\n[[message]]",
            "needs its `source`",
        ),
        (
            "certainty = \"assumed\" }\n[[message]]",
            "certainty = \"found\", source = \"x\" }\n[[message]]",
            "[sources] has no \"x\"",
        ),
        ("value = 100,", "value = 90,", "the shares of clients make 90 %"),
        ("value = 1,", "value = 0,", "no message has a weight"),
        ("value = 2,", "value = 0.5,", "`recipients.mean` is below one"),
        ("title =", "titel =", "unknown field `titel`"),
    ] {
        let refused = refused(from, to);
        assert!(refused.starts_with("own: ") && refused.contains(said), "{refused}");
    }
    let endless = "kind = \"reply\"\npercent = { value = 50, certainty = \"assumed\" }\nafter = { value = \"1min\", certainty = \"assumed\" }";
    let endless = refused("[[message]]", &format!("[[reaction]]\n{endless}\n[[message]]"));
    assert!(endless.contains("mail would never end"), "{endless}");
}
