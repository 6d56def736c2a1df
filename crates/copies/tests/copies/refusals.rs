//! What does not belong is refused by name, and nothing of it stays.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use brunt_copies::wire::{Held, Hello, LONGEST, Message, PIECE_BYTES, Welcome};
use brunt_copies::{CopyError, PassiveCopy, Refusal};
use brunt_ese::format::log_file::log_file_name;
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_ese::instance::Circular;
use brunt_ese::log::reader::Generation;
use brunt_units::Span;
use brunt_world::World;
use brunt_world::messages::messages;
use brunt_world::random::Streams;
use brunt_world_virtual::{LinkOptions, Store};

use crate::stage::{
    Truth, address, copy_options, files, instance, newest_log, open_active, receive, work, world,
};

/// The files below `/a` after an instance over `store` has made `commits` commits and was killed.
fn worked(seed: u64, store: Store, commits: u32) -> Store {
    let (mut made, [active, _]) = world(seed, store, LinkOptions::default());
    let (inside, outside) = (active.world().clone(), made.world.clone());
    made.executor.block_on(async move {
        let options = instance("/a", 512, Circular::Off);
        let (opened, _) = open_active(&inside, options).await.unwrap();
        let mut draw = Streams::new(seed).named("work");
        let truth = Truth::begin();
        let there = crate::stage::read(&opened).await.unwrap();
        truth.borrow_mut().history[0] = there;
        work(&inside, &opened, &truth, commits, &mut draw).await.unwrap();
        active.kill();
        outside.sleep(Span::seconds(1)).await;
    });
    made.machine.store()
}

fn log(store: &Store, generation: u32) -> Vec<u8> {
    let path = Path::new("/a/log").join(log_file_name("edb", generation));
    store.get(&path).expect("it is closed")
}

fn stream_of(bytes: &[u8]) -> Signature {
    Generation::read(bytes).unwrap().header.signature
}

/// The messages of a log.
fn sent(generation: u32, bytes: &[u8]) -> Vec<Message> {
    let length = u32::try_from(bytes.len()).unwrap();
    let pieces = (0_u32..).zip(bytes.chunks(PIECE_BYTES.min(30_000)));
    let piece = |(number, bytes): (u32, &[u8])| Message::Piece {
        at: number * 30_000,
        bytes: bytes.to_vec(),
    };
    [Message::Log { generation, length }].into_iter().chain(pieces.map(piece)).collect()
}

/// What a copy with the first logs of `given` says to an active that sends `messages` and finishes;
/// and the names in its log folder.
fn told(given: &[Vec<u8>], messages_sent: Vec<Message>) -> (Result<(), CopyError>, Vec<String>) {
    told_by(given, messages_sent, false)
}

/// The same; an active that is patient finishes when it is refused.
fn told_by(
    given: &[Vec<u8>],
    messages_sent: Vec<Message>,
    is_patient: bool,
) -> (Result<(), CopyError>, Vec<String>) {
    let mut store = files(&["/b"]);
    for (generation, bytes) in (1..).zip(given) {
        let path = Path::new("/b/log").join(log_file_name("edb", generation));
        store.put(&path, bytes);
    }
    let (mut made, [active, copy]) = world(1, store, LinkOptions::default());
    let machine = made.machine.clone();
    let result = made.executor.block_on(async move {
        let world = active.world().clone();
        let at = SocketAddr::new(address(1), 7);
        let (listener, at) = world.net.listen(at).await.unwrap();
        drop(active.world().spawner.spawn(async move {
            let (connection, _) = world.net.accept(listener).await.unwrap();
            let (sender, mut receiver) = messages(&world, connection, LONGEST);
            receiver.receive().await.unwrap();
            for message in messages_sent {
                if sender.send(&message.to_bytes()).await.is_err() {
                    break;
                }
            }
            let is_refusal = |said: &[u8]| matches!(Message::read(said), Ok(Message::Refused(_)));
            while is_patient
                && let Ok(Some(said)) = receiver.receive().await
                && !is_refusal(&said)
            {}
            let _ = sender.finish().await;
            while let Ok(Some(_)) = receiver.receive().await {}
            world.net.close(connection);
        }));
        let options = copy_options(instance("/b", 512, Circular::Off));
        let inside = copy.world().clone();
        let opened = PassiveCopy::open(&inside, options).await.unwrap();
        let connection = inside.net.connect(at).await.unwrap();
        opened.receive(connection).await
    });
    let store = machine.store();
    let names = store.list(Path::new("/b/log"));
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    (result, names.collect())
}

#[test]
fn a_log_is_refused_when_nothing_follows_it() {
    let one = worked(2, files(&["/a"]), 60);
    let (first, mut second) = (log(&one, 1), log(&one, 2));
    let welcome = Message::Welcome(Welcome { stream: stream_of(&first), closed: 2 });
    // All of it arrives before that is known.
    let middle = second.len().div_euclid(2);
    second[middle] ^= 1;
    let (found, names) = told_by(&[first], [vec![welcome], sent(2, &second)].concat(), true);
    assert_eq!(found, Err(CopyError::Refused(Refusal::Torn(2))));
    assert_eq!(names, [log_file_name("edb", 1)]);
}

#[test]
fn a_log_that_does_not_belong_is_refused_by_name_and_nothing_of_it_stays() {
    let common = worked(1, files(&["/a"]), 60);
    let last = newest_log(&common, "/a");
    let (one, other) = (worked(2, common.fork(), 60), worked(3, common.fork(), 60));
    let stranger = worked(4, files(&["/a"]), 60);
    assert!(newest_log(&one, "/a") > last + 2 && newest_log(&other, "/a") > last + 2);
    assert_ne!(log(&one, last + 2), log(&other, last + 2));
    let stream = stream_of(&log(&one, 1));
    let welcome = |stream| Message::Welcome(Welcome { stream, closed: 9 });
    let (first, second) = (log(&one, 1), log(&one, 2));
    let stored = |count: u32| (1..=count).map(|g| log(&one, g)).collect::<Vec<_>>();
    let check = |what: &str, given: &[Vec<u8>], logs: Vec<Message>, refusal: Refusal, kept: u32| {
        let (found, names) = told(given, [vec![welcome(stream)], logs].concat());
        assert_eq!(found, Err(CopyError::Refused(refusal)), "{what}");
        let expected: Vec<_> = (1..=kept).map(|number| log_file_name("edb", number)).collect();
        assert_eq!(names, expected, "{what}");
    };
    let good = || sent(1, &first);
    let both = [good(), sent(2, &second)].concat();
    let (found, names) = told(&[], [vec![welcome(stream)], both.clone()].concat());
    assert_eq!((found, names.len()), (Ok(()), 2), "the good ones");

    check("twice", &[], [both.clone(), sent(2, &second)].concat(), Refusal::Again(2), 2);
    let wanted = |generation, wanted| Refusal::OutOfOrder { generation, wanted };
    check("a gap", &[], sent(2, &second), wanted(2, 1), 0);
    check("a gap later", &stored(1), sent(3, &log(&one, 3)), wanted(3, 2), 1);

    let mut without_middle = good();
    without_middle.remove(2);
    check("a piece is missing", &[], without_middle, Refusal::Torn(1), 0);
    let mut again = good();
    again.insert(2, again[2].clone());
    check("a piece comes twice", &[], again, Refusal::Torn(1), 0);
    let cut = good().into_iter().take(2).collect::<Vec<_>>();
    check("it ends in the middle", &[], cut.clone(), Refusal::Torn(1), 0);
    check("another begins", &[], [cut, good()].concat(), Refusal::Torn(1), 0);
    let mut damaged = first.clone();
    damaged[10_000] ^= 1;
    check("a bit is flipped", &[], sent(1, &damaged), Refusal::Torn(1), 0);
    let mut headless = first.clone();
    headless[100] ^= 1;
    check("in its header", &[], sent(1, &headless), Refusal::Torn(1), 0);

    check("zeros", &[], sent(1, &vec![0; first.len()]), Refusal::NotThatLog(1), 0);
    check("another generation", &[], sent(1, &second), Refusal::NotThatLog(1), 0);
    let short = &first[..first.len() - 4096];
    check("too short", &[], sent(1, short), Refusal::NotThatLog(1), 0);
    let endless = vec![Message::Log { generation: 1, length: u32::MAX }];
    check("too long", &[], endless, Refusal::NotThatLog(1), 0);

    check("another stream", &[], sent(1, &log(&stranger, 1)), Refusal::OtherStream, 0);
    // Log `last + 1` was current when the histories parted, so both have it and begin with `last +
    // 2`.
    let parted = sent(last + 3, &log(&other, last + 3));
    let given = stored(last + 2);
    check("another history", &given, parted, Refusal::OtherHistory(last + 3), last + 2);

    check("a piece of nothing", &[], vec![good()[1].clone()], Refusal::OutOfPlace, 0);
    check("the copy's own word", &[], vec![Message::Stored(1)], Refusal::OutOfPlace, 0);
    let (found, _) = told(&stored(1), vec![welcome(stream_of(&log(&stranger, 1)))]);
    assert_eq!(found, Err(CopyError::Refused(Refusal::OtherStream)));
    let (found, _) = told(&[], vec![Message::Refused(Refusal::Truncated(1))]);
    assert_eq!(found, Err(CopyError::RefusedThere(Refusal::Truncated(1))));
}

/// The answer of an active with `store` to a hello.
fn answered(store: &Store, hello: Hello) -> Option<Message> {
    heard(store, vec![Message::Hello(hello)]).0
}

/// The first answer of an active with `store` to what a copy says, and how it ends the connection.
fn heard(store: &Store, said: Vec<Message>) -> (Option<Message>, Option<Result<(), CopyError>>) {
    let (mut made, [active, copy]) = world(1, store.fork(), LinkOptions::default());
    made.executor.block_on(async move {
        let world: World = active.world().clone();
        let options = instance("/a", 512, Circular::Off);
        let (_, shipper) = open_active(&world, options).await.unwrap();
        let ends = Rc::new(RefCell::new(Vec::new()));
        let note = Rc::clone(&ends);
        let acceptor = crate::stage::accept(
            world.clone(),
            move || shipper.clone(),
            move |end| note.borrow_mut().push(end),
        );
        drop(world.spawner.spawn(acceptor));
        let inside = copy.world().clone();
        inside.sleep(Span::seconds(1)).await;
        let at = SocketAddr::new(address(1), crate::stage::PORT);
        let connection = inside.net.connect(at).await.unwrap();
        let (sender, mut receiver) = messages(&inside, connection, LONGEST);
        for message in said {
            sender.send(&message.to_bytes()).await.unwrap();
        }
        let answer = receiver.receive().await.unwrap();
        let answer = answer.map(|answer| Message::read(&answer).unwrap());
        drop(
            inside
                .spawner
                .spawn(async move { while let Ok(Some(_)) = receiver.receive().await {} }),
        );
        inside.sleep(Span::seconds(10)).await;
        (answer, ends.take().pop())
    })
}

#[test]
fn an_active_refuses_copies_that_it_cannot_continue() {
    let common = worked(1, files(&["/a"]), 60);
    let last = newest_log(&common, "/a");
    let (one, other) = (worked(2, common.fork(), 60), worked(3, common.fork(), 60));
    let held = |generation, bytes: &[u8]| {
        let sum = crc32fast::hash(bytes);
        Some(Held { generation, sum })
    };
    let hello = |last: Option<Held>| Hello {
        stream: Some(stream_of(&log(&one, 1))),
        last,
        next: last.map_or(1, |last| last.generation + 1),
        replayed: 0,
        is_lagged: false,
    };
    let refused = |store: &Store, hello: Hello| match answered(store, hello) {
        Some(Message::Refused(refusal)) => Some(refusal),
        Some(Message::Welcome(_)) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&one, hello(None)), None);
    assert_eq!(refused(&one, hello(held(1, &log(&one, 1)))), None);
    let theirs = held(last + 2, &log(&other, last + 2));
    assert_eq!(refused(&one, hello(theirs)), Some(Refusal::Diverged(last + 2)));
    let ahead = held(99, &log(&one, 1));
    assert_eq!(refused(&one, hello(ahead)), Some(Refusal::Diverged(99)));
    let mut stranger = hello(None);
    stranger.stream =
        Some(Signature::ours(1, Stamp::from_unix_millis(7), brunt_testkit::tiny::RUN));
    assert_eq!(refused(&one, stranger), Some(Refusal::OtherStream));
    let mut truncated = one.fork();
    truncated.unlink(&Path::new("/a/log").join(log_file_name("edb", 1)));
    assert_eq!(refused(&truncated, hello(held(1, &log(&one, 1)))), Some(Refusal::Truncated(1)));
}

/// What a copy says is believed only as far as it can be true.
#[test]
fn a_copy_cannot_have_what_was_not_sent() {
    let store = worked(1, files(&["/a"]), 60);
    let hello =
        Message::Hello(Hello { stream: None, last: None, next: 1, replayed: 0, is_lagged: false });
    for (said, end) in [
        (Message::Stored(u32::MAX), Err(Refusal::OutOfPlace.into())),
        (Message::Closed(1), Err(Refusal::OutOfPlace.into())),
    ] {
        let (_, ended) = heard(&store, vec![hello.clone(), said]);
        assert_eq!(ended, Some(end));
    }
}

#[test]
fn a_foreign_file_under_the_name_of_an_arriving_log_is_left_alone() {
    for name in ["edbcopy0.log", "edbcopy1.log"] {
        let mut store = files(&["/a", "/b"]);
        let path = Path::new("/b/log").join(name);
        store.put(&path, &[7; 8192]);
        let (mut made, [_, copy]) = world(1, store, LinkOptions::default());
        let machine = made.machine.clone();
        let result = made.executor.block_on(async move {
            let options = copy_options(instance("/b", 512, Circular::Off));
            PassiveCopy::open(copy.world(), options).await.map(drop)
        });
        let error = result.expect_err("it is foreign").to_string();
        let why = "not a file of this tool; it will not be written to";
        assert_eq!(error, format!("/b/log/{name}: {why}"));
        assert_eq!(machine.store().get(&path).unwrap(), [7; 8192]);
    }
}

/// A copy that lacks what the active has removed is refused, and the active names it.
#[test]
fn a_copy_that_stays_away_for_too_long_must_be_reseeded() {
    let (mut made, [active, copy]) = world(1, files(&["/a", "/b"]), LinkOptions::default());
    let ended = made.executor.block_on(async move {
        let world = active.world().clone();
        let options = instance("/a", 512, Circular::Remove);
        let (opened, former) = open_active(&world, options).await.unwrap();
        let limits = brunt_copies::truncation::Limits {
            logs: 6,
            ..brunt_copies::truncation::Limits::default()
        };
        let shipper = brunt_copies::Shipper::new(&world, &opened, 1, limits);
        drop(former);
        let ends = Rc::new(RefCell::new(Vec::new()));
        let (serving, said) = (shipper.clone(), Rc::clone(&ends));
        let note = move |end| said.borrow_mut().push(end);
        drop(world.spawner.spawn(crate::stage::accept(
            world.clone(),
            move || serving.clone(),
            note,
        )));
        let mut draw = Streams::new(5).named("work");
        let truth = Truth::begin();
        work(&world, &opened, &truth, 60, &mut draw).await.unwrap();
        world.sleep(Span::seconds(5)).await;
        let kept = shipper.closed();
        assert_eq!(shipper.left_out(), [], "{kept} logs");
        assert_eq!(shipper.queues(0).copy(), kept);
        work(&world, &opened, &truth, 300, &mut draw).await.unwrap();
        world.sleep(Span::seconds(5)).await;
        let alarms = shipper.left_out();
        assert_eq!(alarms.len(), 1, "{alarms:?}");
        let inside = copy.world().clone();
        let options = copy_options(instance("/b", 512, Circular::Off));
        let behind = PassiveCopy::open(&inside, options).await.unwrap();
        let refused = receive(inside, behind.clone()).await;
        assert_eq!(refused, Err(CopyError::RefusedThere(Refusal::Truncated(1))));
        assert_eq!(behind.failure(), refused.err());
        world.sleep(Span::seconds(1)).await;
        ends.take()
    });
    assert_eq!(ended, [Err(CopyError::Refused(Refusal::Truncated(1)))]);
}
