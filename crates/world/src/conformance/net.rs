//! What every implementation of [`Net`](crate::Net) must pass.
//!
//! A check is given the worlds of two hosts, which may be one, and an address at which the second reaches the first. It asks
//! nothing about how long things take.
//!
//! ```text
//!    for check in conformance::net::checks() { executor.block_on(check.start(&server, &client, address)) }
//! ```

use std::cell::Cell;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_units::Span;

use super::Running;
use crate::random::Stream;
use crate::{NetError, SocketId, World};

/// One thing that is asked of a network.
#[derive(Clone, Copy)]
pub struct Check {
    /// What is claimed, as a function name.
    pub name: &'static str,
    start: fn(Probe) -> Running,
}

impl Check {
    /// The check as a future, for the executor of both worlds. `client` reaches `server` at `address`.
    pub fn start(
        &self,
        server: &World,
        client: &World,
        address: IpAddr,
    ) -> impl Future<Output = ()> + 'static {
        (self.start)(Probe {
            server: server.clone(),
            client: client.clone(),
            address,
            check: self.name,
        })
    }
}

/// All checks, in the order in which they build on each other.
pub fn checks() -> Vec<Check> {
    macro_rules! checks {
        ($($name:ident)*) => {
            vec![$(Check { name: stringify!($name), start: |probe| Box::pin($name(probe)) },)*]
        };
    }
    checks! {
        bytes_arrive_in_order_and_complete reads_take_no_more_than_was_asked_for
            empty_writes_are_answered writes_wait_for_the_reader one_direction_ends_alone
            ports_are_given_out_once nothing_that_listens_refuses connections_wait_to_be_accepted
            many_connections_are_kept_apart bytes_left_unread_reset writing_to_a_closed_side_is_reset
            closing_answers_what_is_in_flight closing_a_listener_resets_who_waits
            one_request_of_a_kind_at_a_time dropped_requests_make_room
    }
}

/// Two worlds under a check.
#[derive(Clone)]
struct Probe {
    server: World,
    client: World,
    address: IpAddr,
    check: &'static str,
}

impl Probe {
    fn stream(&self, name: &str) -> Stream {
        let streams = self.server.random.part("conformance").part(self.check);
        streams.named(name)
    }

    #[track_caller]
    fn ensure(&self, condition: bool, what: &str) {
        assert!(condition, "{}: {what}", self.check);
    }

    #[track_caller]
    fn equal<T: PartialEq + std::fmt::Debug>(&self, got: T, expected: T, what: &str) {
        assert!(
            got == expected,
            "{}: {what}: got {got:?}, expected {expected:?}",
            self.check
        );
    }

    #[track_caller]
    fn good<T>(&self, result: Result<T, NetError>, what: &str) -> T {
        result.unwrap_or_else(|error| panic!("{}: {what} failed: {error}", self.check))
    }

    /// A listener of the server at a free port.
    async fn listen(&self) -> (SocketId, SocketAddr) {
        let at = SocketAddr::new(self.address, 0);
        self.good(self.server.net.listen(at).await, "listen")
    }

    async fn accept(&self, listener: SocketId) -> SocketId {
        let (connection, from) = self.good(self.server.net.accept(listener).await, "accept");
        self.ensure(from.port() != 0, "a client without a port");
        connection
    }

    async fn connect(&self, to: SocketAddr) -> SocketId {
        self.good(self.client.net.connect(to).await, "connect")
    }

    /// Both sides of a new connection, the server's first.
    async fn pair(&self) -> (SocketId, SocketId) {
        let (listener, at) = self.listen().await;
        let client = self.connect(at).await;
        let server = self.accept(listener).await;
        self.server.net.close(listener);
        (server, client)
    }

    /// Waits until `condition` holds, for sixteen seconds of the world's time at most.
    async fn eventually(&self, what: &str, mut condition: impl AsyncFnMut() -> bool) {
        for power in 0..14 {
            if condition().await {
                return;
            }
            self.server.sleep(Span::millis(1) * (1 << power)).await;
        }
        panic!("{}: {what} did not come", self.check);
    }
}

/// Reads up to the end, or the error.
async fn read_all(world: &World, connection: SocketId) -> Result<Vec<u8>, NetError> {
    let mut all = Vec::new();
    loop {
        let bytes = world.net.read(connection, 100_000).await?;
        if bytes.is_empty() {
            return Ok(all);
        }
        all.extend(bytes);
    }
}

fn random_bytes(count: usize, stream: &mut Stream) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.fill(&mut bytes);
    bytes
}

async fn bytes_arrive_in_order_and_complete(probe: Probe) {
    const BYTES: usize = 3 << 20;
    let (server, client) = probe.pair().await;
    let sides = [
        (probe.server.clone(), server, "server"),
        (probe.client.clone(), client, "client"),
    ];
    let mut sent = Vec::new();
    let mut received = Vec::new();
    for (world, connection, name) in sides {
        let mut stream = probe.stream(name);
        let bytes = random_bytes(BYTES, &mut stream);
        sent.push(bytes.clone());
        let (writer, reader, its) = (world.clone(), world.clone(), probe.clone());
        drop(world.spawner.spawn(async move {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let count = usize::try_from(stream.below(70_000)).unwrap_or(0) + 1;
                let (now, later) = rest.split_at(count.min(rest.len()));
                let written = writer.net.write(connection, now.to_vec()).await;
                its.good(written, "write");
                rest = later;
            }
            its.good(writer.net.finish(connection).await, "finish");
        }));
        let reading = async move { read_all(&reader, connection).await };
        received.push(world.spawner.spawn(reading));
    }
    sent.reverse();
    for (sent, received) in sent.into_iter().zip(received) {
        let received = probe.good(received.await, "read");
        probe.equal(received.len(), BYTES, "bytes received");
        probe.ensure(sent == received, "other bytes came than were sent");
    }
    probe.server.net.close(server);
    probe.client.net.close(client);
}

async fn reads_take_no_more_than_was_asked_for(probe: Probe) {
    let (server, client) = probe.pair().await;
    let written = probe.client.net.write(client, (0..100).collect()).await;
    probe.good(written, "write");
    probe.client.net.close(client);
    let mut all = Vec::new();
    loop {
        let bytes = probe.good(probe.server.net.read(server, 7).await, "read");
        probe.ensure(bytes.len() <= 7, "more than was asked for");
        if bytes.is_empty() {
            break;
        }
        all.extend(bytes);
    }
    probe.equal(all, (0..100).collect(), "bytes");
    let again = probe.server.net.read(server, 7).await;
    probe.equal(again, Ok(Vec::new()), "a read behind the end");
    probe.server.net.close(server);
}

async fn empty_writes_are_answered(probe: Probe) {
    let (server, client) = probe.pair().await;
    for bytes in [vec![], vec![1], vec![], vec![2], vec![]] {
        let written = probe.client.net.write(client, bytes).await;
        probe.good(written, "write");
    }
    probe.good(probe.client.net.finish(client).await, "finish");
    let all = read_all(&probe.server, server).await;
    probe.equal(all, Ok(vec![1, 2]), "bytes");
    probe.server.net.close(server);
    probe.client.net.close(client);
}

async fn writes_wait_for_the_reader(probe: Probe) {
    const WRITES: usize = 16;
    let (server, client) = probe.pair().await;
    let taken = Rc::new(Cell::new(0));
    let (writer, its, count) = (probe.client.clone(), probe.clone(), Rc::clone(&taken));
    drop(probe.client.spawner.spawn(async move {
        for number in 0..WRITES {
            let bytes = vec![u8::try_from(number).unwrap_or(0); 1 << 20];
            its.good(writer.net.write(client, bytes).await, "write");
            count.set(count.get() + 1);
        }
        writer.net.close(client);
    }));
    // It stands still before all is taken, with nobody who reads.
    let before = Cell::new(usize::MAX);
    let stands = async || before.replace(taken.get()) == taken.get();
    probe.eventually("a full buffer", stands).await;
    probe.ensure(taken.get() < WRITES, "16 MiB were taken unread");
    let all = probe.good(read_all(&probe.server, server).await, "read");
    probe.equal(all.len(), WRITES << 20, "bytes");
    let right = |(number, bytes): (usize, &[u8])| bytes.iter().all(|b| usize::from(*b) == number);
    let right = all.chunks(1 << 20).enumerate().all(right);
    probe.ensure(right, "other bytes came than were sent");
    probe.server.net.close(server);
}

async fn one_direction_ends_alone(probe: Probe) {
    let (server, client) = probe.pair().await;
    let net = &probe.client.net;
    probe.good(net.write(client, b"question".to_vec()).await, "write");
    probe.good(net.finish(client).await, "finish");
    let late = net.write(client, b"late".to_vec()).await;
    probe.equal(late, Err(NetError::Closed), "a write after finish");
    let again = net.finish(client).await;
    probe.equal(again, Err(NetError::Closed), "finishing again");
    let asked = read_all(&probe.server, server).await;
    probe.equal(asked, Ok(b"question".to_vec()), "question");
    let answered = probe.server.net.write(server, b"answer".to_vec()).await;
    probe.good(answered, "write of the other direction");
    probe.server.net.close(server);
    let answer = read_all(&probe.client, client).await;
    probe.equal(answer, Ok(b"answer".to_vec()), "answer");
    net.close(client);
}

async fn ports_are_given_out_once(probe: Probe) {
    let (first, at) = probe.listen().await;
    let (second, other) = probe.listen().await;
    probe.equal(at.ip(), probe.address, "address");
    probe.ensure(
        at.port() != 0 && other.port() != 0,
        "a listener without a port",
    );
    probe.ensure(at != other, "two listeners with one address");
    let net = &probe.server.net;
    let taken = net.listen(at).await;
    probe.equal(taken, Err(NetError::InUse), "listening there twice");
    net.close(first);
    let (first, again) = probe.good(net.listen(at).await, "listening there again");
    probe.equal(again, at, "address");
    net.close(first);
    net.close(second);
}

async fn nothing_that_listens_refuses(probe: Probe) {
    let (listener, at) = probe.listen().await;
    probe.server.net.close(listener);
    let refused = probe.client.net.connect(at).await;
    probe.equal(refused, Err(NetError::Refused), "connect");
}

async fn connections_wait_to_be_accepted(probe: Probe) {
    let (listener, at) = probe.listen().await;
    let first = probe.connect(at).await;
    let written = probe.client.net.write(first, vec![1]).await;
    probe.good(written, "write before the accept");
    let second = probe.connect(at).await;
    probe.good(probe.client.net.write(second, vec![2]).await, "write");
    for expected in [1, 2] {
        let connection = probe.accept(listener).await;
        let read = probe.server.net.read(connection, 10).await;
        probe.equal(read, Ok(vec![expected]), "bytes");
        probe.server.net.close(connection);
    }
    // Accepting may also come first.
    let accepting = probe.server.net.accept(listener);
    let third = probe.connect(at).await;
    let (connection, _) = probe.good(accepting.await, "accept");
    for socket in [listener, connection] {
        probe.server.net.close(socket);
    }
    for socket in [first, second, third] {
        probe.client.net.close(socket);
    }
}

async fn many_connections_are_kept_apart(probe: Probe) {
    const CLIENTS: u64 = 100;
    let (listener, at) = probe.listen().await;
    let serving = probe.clone();
    drop(probe.server.spawner.spawn(async move {
        for _ in 0..CLIENTS {
            let connection = serving.accept(listener).await;
            let its = serving.clone();
            drop(serving.server.spawner.spawn(async move {
                loop {
                    let bytes = its.good(its.server.net.read(connection, 999).await, "read");
                    if bytes.is_empty() {
                        return its.server.net.close(connection);
                    }
                    its.good(its.server.net.write(connection, bytes).await, "write");
                }
            }));
        }
        serving.server.net.close(listener);
    }));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let its = probe.clone();
            probe.client.spawner.spawn(async move {
                let mut stream = its.stream(&format!("client/{number}"));
                let connection = its.connect(at).await;
                for _ in 0..5 {
                    let bytes = random_bytes(2_000, &mut stream);
                    let written = its.client.net.write(connection, bytes.clone()).await;
                    its.good(written, "write");
                    let mut echo = Vec::new();
                    while echo.len() < bytes.len() {
                        let read = its.client.net.read(connection, 700).await;
                        let read = its.good(read, "read");
                        its.ensure(!read.is_empty(), "an end in the middle");
                        echo.extend(read);
                    }
                    its.ensure(echo == bytes, "bytes of another connection");
                }
                its.good(its.client.net.finish(connection).await, "finish");
                let end = its.client.net.read(connection, 1).await;
                its.equal(end, Ok(Vec::new()), "end");
                its.client.net.close(connection);
            })
        })
        .collect();
    for client in clients {
        client.await;
    }
}

async fn bytes_left_unread_reset(probe: Probe) {
    let (server, client) = probe.pair().await;
    let net = &probe.client.net;
    probe.good(net.write(client, vec![1, 2]).await, "write");
    let first = probe.server.net.read(server, 1).await;
    probe.equal(first, Ok(vec![1]), "first byte");
    probe.server.net.close(server);
    let reset = Err(NetError::Reset);
    probe.equal(net.read(client, 10).await, reset.clone(), "read");
    probe.equal(net.read(client, 10).await, reset, "read again");
    let written = net.write(client, vec![3]).await;
    probe.equal(written, Err(NetError::Reset), "write");
    net.close(client);
}

async fn writing_to_a_closed_side_is_reset(probe: Probe) {
    let (server, client) = probe.pair().await;
    probe.server.net.close(server);
    let net = &probe.client.net;
    probe.equal(net.read(client, 10).await, Ok(Vec::new()), "end");
    // The first may be taken before the other side says no.
    let refused = async || net.write(client, vec![1]).await == Err(NetError::Reset);
    probe.eventually("a reset", refused).await;
    net.close(client);
}

async fn closing_answers_what_is_in_flight(probe: Probe) {
    let (listener, _) = probe.listen().await;
    let (server, client) = probe.pair().await;
    let net = &probe.server.net;
    let accepting = net.accept(listener);
    let reading = net.read(server, 10);
    let mut writing = Box::pin(net.write(server, vec![0; 16 << 20]));
    // Under way, and nobody reads it.
    probe.server.sleep(Span::millis(1)).await;
    net.close(listener);
    net.close(server);
    probe.equal(accepting.await, Err(NetError::Closed), "accept");
    probe.equal(reading.await, Err(NetError::Closed), "read");
    probe.equal((&mut writing).await, Err(NetError::Closed), "write");
    net.close(server);
    let accepted = net.accept(listener).await;
    probe.equal(accepted, Err(NetError::Closed), "accept when closed");
    let read = net.read(server, 10).await;
    probe.equal(read, Err(NetError::Closed), "read when closed");
    let written = net.write(server, vec![1]).await;
    probe.equal(written, Err(NetError::Closed), "write when closed");
    let finished = net.finish(server).await;
    probe.equal(finished, Err(NetError::Closed), "finish when closed");
    probe.client.net.close(client);
}

async fn closing_a_listener_resets_who_waits(probe: Probe) {
    let (listener, at) = probe.listen().await;
    let client = probe.connect(at).await;
    probe.server.net.close(listener);
    let read = probe.client.net.read(client, 10).await;
    probe.equal(read, Err(NetError::Reset), "read");
    probe.client.net.close(client);
}

async fn one_request_of_a_kind_at_a_time(probe: Probe) {
    let (listener, _) = probe.listen().await;
    let (server, client) = probe.pair().await;
    let net = &probe.server.net;
    let accepting = net.accept(listener);
    let accepted = net.accept(listener).await;
    probe.equal(accepted, Err(NetError::Invalid), "a second accept");
    let reading = net.read(server, 10);
    let read = net.read(server, 10).await;
    probe.equal(read, Err(NetError::Invalid), "a second read");
    let writing = net.write(server, vec![7; 16 << 20]);
    let written = net.write(server, vec![8]).await;
    probe.equal(written, Err(NetError::Invalid), "a second write");
    let finished = net.finish(server).await;
    probe.equal(finished, Err(NetError::Invalid), "finish during a write");
    // A listener is no connection, and the other way round.
    let accepted = net.accept(server).await;
    probe.ensure(accepted.is_err(), "accept of a connection");
    let read = net.read(listener, 10).await;
    probe.ensure(read.is_err(), "read of a listener");
    // The first ones are not disturbed.
    let world = probe.client.clone();
    let draining = async move {
        let mut count = 0;
        while count < 16 << 20 {
            let bytes = world.net.read(client, 1 << 20).await?;
            count += bytes.len();
        }
        world.net.write(client, vec![9]).await
    };
    let drained = probe.client.spawner.spawn(draining).await;
    probe.good(drained, "the other side");
    probe.good(writing.await, "first write");
    probe.equal(reading.await, Ok(vec![9]), "first read");
    net.close(listener);
    probe.equal(accepting.await, Err(NetError::Closed), "first accept");
    net.close(server);
    probe.client.net.close(client);
}

async fn dropped_requests_make_room(probe: Probe) {
    let (listener, at) = probe.listen().await;
    drop(probe.server.net.accept(listener));
    let client = probe.connect(at).await;
    let server = probe.accept(listener).await;
    drop(probe.server.net.read(server, 10));
    let reading = probe.server.net.read(server, 10);
    probe.good(probe.client.net.write(client, vec![1]).await, "write");
    probe.equal(reading.await, Ok(vec![1]), "read");
    drop(probe.client.net.write(client, vec![2; 1 << 20]));
    probe.client.net.close(probe.connect(at).await);
    drop(probe.client.net.connect(at));
    let mut count = 0;
    while count < 1 << 20 {
        let read = probe.good(probe.server.net.read(server, 1 << 20).await, "read");
        probe.ensure(read.iter().all(|byte| *byte == 2), "other bytes");
        count += read.len();
    }
    for socket in [listener, server] {
        probe.server.net.close(socket);
    }
    probe.client.net.close(client);
}
