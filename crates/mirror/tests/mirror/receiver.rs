//! What a receiver refuses: older epochs, second connections, names and sizes that no mirror sends,
//! and bytes that are no messages.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use brunt_mirror::{MirrorError, MirrorState, ReceiverError, mirrored};
use brunt_units::Span;
use brunt_world::messages::{PATIENCE, Token, messages};
use brunt_world::random::Streams;
use brunt_world::{Class, Io, OpenMode, World};
use brunt_world_virtual::Store;

use crate::sites::{HERE, Sites, THERE, connect, files_below, receive, receive_from};

async fn try_mirror(world: &World, at: SocketAddr, epoch: u64) -> Result<(), MirrorError> {
    let connection = world.net.connect(at).await.unwrap();
    let tried = mirrored(world, Path::new(HERE), connection, epoch).await;
    tried.map(drop)
}

#[test]
fn a_promoted_receiver_refuses_older_epochs_for_ever() {
    let mut sites = Sites::new(1, Store::new());
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    sites.made.executor.block_on(async move {
        let (world, mirror, receiver) = connect(&hosts, 3).await;
        let path = Path::new(HERE).join("file");
        let file = world.volume.open(&path, OpenMode::CreateNew).await.unwrap();
        let not_newer = ReceiverError::NotNewer { asked: 3, current: 3 };
        assert_eq!(receiver.promote(3).await, Err(not_newer));
        receiver.promote(4).await.unwrap();
        // The former side wakes up, and its write is never acknowledged.
        let frame = Rc::new(world.frames.zeroed(4096));
        let write = world.disk.submit(Io::write_through(Class::Log, file, 0, &frame));
        let write = world.spawner.spawn(write);
        outside.sleep(Span::seconds(5)).await;
        assert!(!write.is_done());
        assert_eq!(mirror.state(), MirrorState::Fenced { epoch: 4 });
        assert!(receiver.refused() > 0);
        // Nor after a restart of the receiver.
        hosts[1].kill();
        let again = hosts[1].restart();
        let (receiver, at) = receive(again.world(), again.address()).await;
        assert_eq!(receiver.epoch(), 4);
        let here = hosts[0].world();
        let fenced = Err(MirrorError::Fenced { epoch: 4 });
        assert_eq!(try_mirror(here, at, 3).await, fenced);
        // A newer one may come; it is the only one.
        assert_eq!(try_mirror(here, at, 5).await, Ok(()));
        assert_eq!(receiver.epoch(), 5);
        assert_eq!(try_mirror(here, at, 5).await, Err(MirrorError::Taken));
    });
    let store = sites.made.machine.store();
    let there = files_below(&store, THERE);
    assert_eq!(there, [("file".to_owned(), Vec::new())], "nothing was written");
}

#[test]
fn a_site_that_refuses_what_the_other_has_done_breaks_the_mirror() {
    let mut sites = Sites::new(1, Store::new());
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    sites.made.executor.block_on(async move {
        let (world, mirror, _) = connect(&hosts, 1).await;
        // Only the other site has it.
        let path = Path::new(THERE).join("file");
        let foreign = hosts[1].world().volume.open(&path, OpenMode::CreateNew).await;
        foreign.unwrap();
        let path = Path::new(HERE).join("file");
        let opening = world.volume.open(&path, OpenMode::CreateNew);
        let opening = world.spawner.spawn(opening);
        outside.sleep(Span::seconds(1)).await;
        assert!(!opening.is_done());
        let why = "/a/file at the other site: the file exists already".to_owned();
        assert_eq!(mirror.state(), MirrorState::Broken(why));
        let elsewhere = world.volume.open(Path::new("/etc/x"), OpenMode::CreateNew);
        drop(elsewhere);
    });
}

#[test]
fn changes_outside_of_the_folder_are_refused() {
    let mut sites = Sites::new(1, Store::new());
    let hosts = sites.hosts.clone();
    sites.made.executor.block_on(async move {
        let (world, mirror, _) = connect(&hosts, 1).await;
        for path in ["/etc/x", "/ab", "/a/../b/x", "relative"] {
            let path = Path::new(path);
            let opened = world.volume.open(path, OpenMode::CreateNew).await;
            assert_eq!(opened.unwrap_err().to_string(), "lies outside of /a");
            assert!(world.volume.remove(path).await.is_err());
        }
        assert_eq!(mirror.state(), MirrorState::InStep);
    });
}

#[test]
fn arbitrary_bytes_end_a_connection_and_nothing_else() {
    let mut sites = Sites::new(1, Store::new());
    let hosts = sites.hosts.clone();
    sites.made.executor.block_on(async move {
        let (receiver, at) = receive(hosts[1].world(), hosts[1].address()).await;
        let mut draw = Streams::new(1).named("bytes");
        let here = hosts[0].world();
        for turn in 0..200 {
            let connection = here.net.connect(at).await.unwrap();
            let mut bytes = vec![0; usize::try_from(1 + draw.below(200)).unwrap()];
            draw.fill(&mut bytes);
            if turn % 2 == 0 {
                here.net.write(connection, bytes).await.unwrap();
                here.net.finish(connection).await.unwrap();
            } else {
                let (sender, _) = messages(here, connection, 1 << 20);
                sender.send(&bytes).await.unwrap();
            }
            let (_, mut answers) = messages(here, connection, 1 << 20);
            assert!(!matches!(answers.receive().await, Ok(Some(_))), "turn {turn}");
            here.net.close(connection);
        }
        assert_eq!(receiver.epoch(), 0);
        // It takes a mirror all the same.
        assert_eq!(try_mirror(here, at, 1).await, Ok(()));
    });
}

#[test]
fn only_who_shows_the_token_is_heard_and_nobody_holds_a_place_in_silence() {
    let mut sites = Sites::new(1, Store::new());
    let hosts = sites.hosts.clone();
    sites.made.executor.block_on(async move {
        let (there, here) = (hosts[1].world(), hosts[0].world());
        let token = Token([7; 16]);
        let (_, at) = receive_from(there, hosts[1].address(), Some(token)).await;
        let lost = |tried| matches!(tried, Err(MirrorError::Connection(_)));
        assert!(lost(try_mirror(here, at, 1).await), "without a token");
        let shown = async |token: Token| {
            let connection = here.net.connect(at).await.unwrap();
            token.show(here, connection).await.unwrap();
            let tried = mirrored(here, Path::new(HERE), connection, 1).await;
            tried.map(drop)
        };
        assert!(lost(shown(Token([8; 16])).await), "with another one");
        // More than may wait. They are closed after a while, and the places are free again.
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(here.net.connect(at).await.unwrap());
        }
        here.sleep(PATIENCE + Span::seconds(1)).await;
        for connection in silent {
            let end = here.net.read(connection, 1).await;
            assert!(end.is_err() || end.unwrap().is_empty());
        }
        assert_eq!(shown(token).await, Ok(()));
    });
}
