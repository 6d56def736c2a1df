//! The suite that every implementation of [`Net`](brunt_world::Net) must pass.
//!
//! A check gets the worlds of two hosts, which may be the same, and an address at which the second
//! reaches the first. It checks nothing about latencies.
//!
//! ```text
//!    for check in conformance::net::checks() { executor.block_on(check.start(&server, &client, address)) }
//! ```

mod closing;
mod messages;
mod opening;
mod streams;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

use crate::{Judge, Running};
use brunt_world::random::Stream;
use brunt_world::{NetError, SocketId, World};

/// One check of a network.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name, which is also a function name.
    pub name: &'static str,
    start: fn(Probe) -> Running,
}

impl Check {
    /// The check as a future, for the executor of both worlds. `client` reaches `server` at
    /// `address`.
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
            judge: Judge { check: self.name },
        })
    }
}

/// All checks, in the order in which they build on each other.
pub fn checks() -> Vec<Check> {
    macro_rules! checks {
        ($($part:ident: $($name:ident)*;)*) => {
            vec![$($(Check { name: stringify!($name), start: |probe| Box::pin($part::$name(probe)) },)*)*]
        };
    }
    checks! {
        streams: bytes_arrive_in_order_and_complete reads_take_no_more_than_was_asked_for
            empty_writes_are_answered writes_wait_for_the_reader one_direction_ends_alone
            many_connections_are_kept_apart;
        opening: ports_are_given_out_once nothing_that_listens_refuses connections_wait_to_be_accepted
            one_request_of_a_kind_at_a_time dropped_requests_make_room;
        closing: bytes_left_unread_reset writing_to_a_closed_side_is_reset
            closing_answers_what_is_in_flight closing_during_a_read_ends_the_stream
            closing_a_listener_resets_its_backlog;
        messages: messages_arrive_whole_and_in_order messages_of_several_tasks_are_not_mixed
            a_message_that_is_too_long_is_refused a_damaged_message_is_refused a_torn_message_is_refused;
    }
}

/// Two worlds under a check.
#[derive(Clone)]
struct Probe {
    server: World,
    client: World,
    address: IpAddr,
    judge: Judge,
}

impl Deref for Probe {
    type Target = Judge;

    fn deref(&self) -> &Judge {
        &self.judge
    }
}

impl Probe {
    fn stream(&self, name: &str) -> Stream {
        let streams = self.server.random.part("conformance").part(self.check);
        streams.named(name)
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

    async fn eventually(&self, what: &str, condition: impl AsyncFnMut() -> bool) {
        self.judge.eventually(&self.server, what, condition).await;
    }
}

/// Reads to the end, or to an error.
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
