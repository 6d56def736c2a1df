//! What a course refuses before it sends anything.

use std::net::SocketAddr;

use brunt_load::{Anchor, Course};
use brunt_load::{
    CourseError, Endpoint, Login, Protocol, Secret, Stop, TlsUse, TroubleKind, Trust, run, unfit,
};
use brunt_mail::Mark;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

use super::course::course;
use super::server::{Bad, Server};

/// What a course against this server comes to, and how many messages the server got.
fn refused(
    bad: Bad,
    prepare: impl FnOnce(&Server) + 'static,
    change: impl FnOnce(&mut Course) + 'static,
) -> (CourseError, u32) {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    made.executor.block_on(async move {
        let server = Server::new(&world, bad, true);
        prepare(&server);
        let addresses = server.start("127.0.0.1").await;
        let mut course = course(5, addresses, Protocol::Lmtp);
        change(&mut course);
        let error = run(&world, course, &Stop::default()).await.unwrap_err();
        (error, server.messages.get())
    })
}

fn put(server: &Server, text: &[u8]) {
    let mut store = server.store.borrow_mut();
    store.entry("u3@test.invalid".to_owned()).or_default().push(text.to_vec());
}

#[test]
fn a_mailbox_with_other_mail_is_left_alone() {
    let foreign = |server: &Server| {
        let mark = Mark { run: 3, number: 1 };
        let earlier = format!("X-Brunt: {mark}\r\nSubject: an earlier run\r\n\r\nold\r\n");
        put(server, earlier.as_bytes());
        put(server, b"Subject: a letter\r\n\r\nX-Brunx: no\r\n");
        // Anybody can write the name of a header.
        put(server, b"X-Brunt: 0000000000000003-1-00000000\r\n\r\nnot ours\r\n");
    };
    let (error, messages) = refused(Bad::default(), foreign, |_| {});
    let account = "u3@test.invalid".to_owned();
    assert_eq!(error, CourseError::Foreign { account, messages: 2 });
    assert_eq!(messages, 0);
}

#[test]
fn an_account_without_login_is_found_before_anything_is_sent() {
    let bad = Bad { locked: Some("u7"), ..Bad::default() };
    let (error, messages) = refused(bad, |_| {}, |_| {});
    let CourseError::Closed { account, trouble, lines } = error else {
        panic!("{error}");
    };
    assert_eq!((account.as_str(), trouble.kind), ("u7@test.invalid", TroubleKind::LoginRefused));
    assert!(lines.iter().any(|line| line.contains("AUTHENTICATIONFAILED")), "{lines:?}");
    assert!(!lines.join("").contains("hunter2"), "{lines:?}");
    assert_eq!(messages, 0);
}

#[test]
fn passwords_leave_the_machine_only_over_tls() {
    let far: SocketAddr = "192.0.2.1:143".parse().unwrap();
    let near: SocketAddr = "127.0.0.1:143".parse().unwrap();
    let with = |change: &dyn Fn(&mut Course)| {
        let mut course = course(5, [near, near], Protocol::Lmtp);
        change(&mut course);
        unfit(&course)
    };
    assert_eq!(with(&|_| {}), None);
    let over_tls = "passwords go to 192.0.2.1:143 only over TLS";
    let imap = Endpoint::new(far, Protocol::Imap);
    let plain = with(&|course| course.reading.endpoint = imap.clone());
    assert_eq!(plain.as_deref(), Some(over_tls));
    let smtp = Endpoint::new(far, Protocol::Smtp);
    assert_eq!(with(&|course| course.sending.endpoint = smtp.clone()), None);
    let submission = smtp.clone().with_login(Login::Best);
    let plain = with(&|course| course.sending.endpoint = submission.clone());
    assert_eq!(plain.as_deref(), Some(over_tls));
    let secured = submission.with_tls(TlsUse::StartTls, "mx.invalid");
    let untrusted = with(&|course| course.sending.endpoint = secured.clone());
    assert_eq!(untrusted.as_deref(), Some("no certificate is trusted for 192.0.2.1:143"));
    let trust = Trust::new(&Anchor::Anybody, 1_795_751_190).unwrap();
    let trusted = with(&|course| {
        course.sending.endpoint = secured.clone();
        course.trust = Some(trust.clone());
    });
    assert_eq!(trusted, None);
}

#[test]
fn contradictions_are_named() {
    let near: SocketAddr = "127.0.0.1:143".parse().unwrap();
    let with = |change: &dyn Fn(&mut Course)| {
        let mut course = course(5, [near, near], Protocol::Lmtp);
        change(&mut course);
        unfit(&course).unwrap_or_default()
    };
    let imap = Endpoint::new(near, Protocol::Imap);
    assert_eq!(
        with(&|course| course.sending.endpoint = imap.clone()),
        "messages are sent by SMTP or LMTP"
    );
    let lmtp = Endpoint::new(near, Protocol::Lmtp);
    assert_eq!(
        with(&|course| course.reading.endpoint = lmtp.clone()),
        "mailboxes are read by IMAP"
    );
    assert_eq!(with(&|course| course.sending.sessions = 0), "there must be a session");
    assert!(with(&|course| course.sending.messages = None).starts_with("sending needs an end"));
    let fewer = super::course::accounts(3);
    assert!(with(&|course| course.accounts = fewer.clone()).contains("other accounts"));
    assert_eq!(Secret::new("a"), Secret::new("a"));
}
