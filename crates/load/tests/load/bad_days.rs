//! Servers that misbehave on the wire: each is named, by kind and with its first bad line, and none
//! holds a course up.

use std::net::{IpAddr, SocketAddr};

use brunt_load::{CourseError, Finished, Kind, Protocol, Stop, TroubleKind, run};
use brunt_mail::Verdict;
use brunt_units::Span;
use brunt_world::World;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

use super::course::course;
use super::server::{Bad, Server};

/// A server that says this to everybody, again and again if so, and then nothing.
async fn parrot(world: &World, says: &'static [u8], again: bool) -> SocketAddr {
    parrot_at(world, [127, 0, 0, 1].into(), says, again).await
}

/// The same at an address.
pub(crate) async fn parrot_at(
    world: &World,
    at: IpAddr,
    says: &'static [u8],
    again: bool,
) -> SocketAddr {
    let (listener, address) = world.net.listen(SocketAddr::new(at, 0)).await.unwrap();
    let own = world.clone();
    drop(world.spawner.spawn(async move {
        while let Ok((socket, _)) = own.net.accept(listener).await {
            let world = own.clone();
            drop(own.spawner.spawn(async move {
                loop {
                    if world.net.write(socket, says.to_vec()).await.is_err() {
                        break;
                    }
                    if !again {
                        std::future::pending::<()>().await;
                    }
                }
            }));
        }
    }));
    address
}

/// What a course makes of a mailbox server that says this, and how long it took.
fn read(says: &'static [u8], again: bool) -> (TroubleKind, String, Span) {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    made.executor.block_on(async move {
        let imap = parrot(&world, says, again).await;
        let mut course = course(5, [imap, imap], Protocol::Lmtp);
        course.reading.tries = 1;
        let error = run(&world, course, &Stop::default()).await.unwrap_err();
        let CourseError::Closed { trouble, .. } = error else { panic!("{error}") };
        let took = world.clock.now().since(brunt_units::Time::ZERO);
        (trouble.kind, trouble.line, took)
    })
}

#[test]
fn mailbox_servers_are_named_by_what_they_say() {
    let named = |says, again| {
        let (kind, line, took) = read(says, again);
        // Ten accounts, four at a time, each no longer than the patience.
        assert!(took <= Span::seconds(200), "{took:?}");
        (kind, line)
    };
    let protocol = TroubleKind::Protocol;
    assert_eq!(named(b"", false).0, TroubleKind::NoAnswer);
    let (kind, line) = named(b"220 mail ESMTP\r\n", false);
    assert_eq!((kind, line.as_str()), (protocol(Kind::Garbage), "220 mail ESMTP"));
    let (kind, line) = named(b"* BYE too many connections\r\n", false);
    assert_eq!((kind, line.as_str()), (protocol(Kind::Goodbye), "* BYE too many connections"));
    assert_eq!(named(b"* OK hi\n", false).0, protocol(Kind::LoneLineFeed));
    assert_eq!(named(b"* OK half a gree", false).0, TroubleKind::NoAnswer);
    assert_eq!(named(&[b'x'; 1 << 20], true).0, protocol(Kind::LineTooLong));
    // An answer to another command.
    assert_eq!(
        named(b"* OK [CAPABILITY IMAP4rev1] a\r\nb9 OK b\r\n", false).0,
        protocol(Kind::WrongTag)
    );
}

/// What a course makes of a server that says this to senders.
fn send(says: &'static [u8], again: bool) -> Finished {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    made.executor.block_on(async move {
        let server = Server::new(&world, Bad::default(), true);
        let [_, imap] = server.start("127.0.0.1").await;
        let post = parrot(&world, says, again).await;
        let mut course = course(5, [post, imap], Protocol::Lmtp);
        course.sending.give_up = Span::seconds(20);
        run(&world, course, &Stop::default()).await.unwrap()
    })
}

#[test]
fn servers_of_messages_are_named_and_given_up() {
    let endless: &[u8] = b"220-welcome\r\n".repeat(1 << 14).leak();
    for (says, again, kind) in [
        (&b""[..], false, TroubleKind::NoAnswer),
        (b"* OK IMAP\r\n", false, TroubleKind::Protocol(Kind::Garbage)),
        (endless, true, TroubleKind::Protocol(Kind::ReplyTooLong)),
        (b"220 a\0b\r\n", false, TroubleKind::Protocol(Kind::Nul)),
        (b"421 4.3.2 too busy\r\n", false, TroubleKind::GreetingRefused),
        (b"554 5.3.2 go away\r\n", false, TroubleKind::GreetingRefused),
        (b"220 a\r\n250 a\r\n452 4.3.1 full\r\n", false, TroubleKind::NoAnswer),
    ] {
        let finished = send(says, again);
        assert!(finished.errors.get(kind).is_some(), "{kind}: {:?}", finished.errors);
        // Nothing was promised, so there is nothing to judge.
        assert_eq!(finished.audited.verdict(), Verdict::CannotTell);
        assert_eq!(finished.sent.accepted, 0);
        let took = finished.sent.until.since(finished.sent.from);
        assert!(took < Span::seconds(400), "{kind}: {took:?}");
        assert!(finished.conversations.troubled().next().is_some());
    }
}

#[test]
fn a_wrong_password_is_not_tried_for_ever() {
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    let finished = made.executor.block_on(async move {
        let server = Server::new(&world, Bad::default(), true);
        let [_, imap] = server.start("127.0.0.1").await;
        let refuses = b"220 a\r\n250-a\r\n250 AUTH PLAIN\r\n535 5.7.8 wrong\r\n";
        let post = parrot(&world, refuses, false).await;
        let mut course = course(5, [post, imap], Protocol::Smtp);
        let endpoint = course.sending.endpoint.clone();
        course.sending.endpoint = endpoint.with_login(brunt_load::Login::Best);
        run(&world, course, &Stop::default()).await.unwrap()
    });
    let refused = finished.errors.get(TroubleKind::LoginRefused).expect("refused");
    assert_eq!((refused.count, refused.first_line.as_str()), (8, "535 5.7.8 wrong"));
    assert!(finished.sent.until.since(finished.sent.from) < Span::seconds(1));
}
