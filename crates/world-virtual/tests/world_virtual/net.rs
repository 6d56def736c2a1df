//! The network of the virtual world: the conformance suite, and behaviour that only a modelled
//! network has.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_conformance as conformance;
use brunt_units::{Span, Time};
use brunt_world::{Net, NetError, Reply, SocketId, World};
use brunt_world_virtual::{Cores, Host, LinkOptions, VirtualLink, VirtualOptions, VirtualWorld};

fn address(number: u8) -> IpAddr {
    [10, 0, 0, number].into()
}

/// Two hosts, 1 and 2, with a link between them.
fn linked(seed: u64, options: LinkOptions) -> (VirtualWorld, [Rc<Host>; 2]) {
    let link = VirtualLink { ends: [address(1), address(2)], options };
    let made = VirtualWorld::new(VirtualOptions { links: vec![link], ..VirtualOptions::new(seed) });
    let hosts = [1, 2].map(|number| {
        let name = format!("host-{number}");
        let cores = Cores::Unlimited;
        Rc::new(Host::new(&made.machine, &made.world, &name, address(number), cores))
    });
    (made, hosts)
}

fn pass(options: &LinkOptions) {
    for check in conformance::net::checks() {
        let (mut made, [server, client]) = linked(1, options.clone());
        let future = check.start(server.world(), client.world(), server.address());
        made.executor.block_on(future);
    }
}

#[test]
fn a_host_that_talks_to_itself_conforms() {
    for address in [[127, 0, 0, 1].into(), "::1".parse().unwrap()] {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        for check in conformance::net::checks() {
            let future = check.start(&made.world, &made.world, address);
            made.executor.block_on(future);
        }
    }
}

#[test]
fn a_link_that_takes_no_time_conforms() {
    pass(&LinkOptions::default());
}

#[test]
fn a_long_link_conforms() {
    pass(&LinkOptions {
        delay: Span::millis(5),
        bytes_per_second: 1_250_000_000,
        ..LinkOptions::default()
    });
}

#[test]
fn a_link_that_trembles_and_loses_packets_conforms() {
    pass(&LinkOptions {
        delay: Span::micros(300),
        bytes_per_second: 125_000_000,
        jitter: Span::millis(2),
        lost_per_million: 200,
        ..LinkOptions::default()
    });
}

/// Runs `test` with the worlds of both hosts.
fn between<F: Future<Output = ()> + 'static>(
    options: LinkOptions,
    test: impl FnOnce([Rc<Host>; 2]) -> F,
) {
    let (mut made, hosts) = linked(1, options);
    made.executor.block_on(test(hosts));
}

/// A connection: the second host's end and the first's.
async fn connected(hosts: &[Rc<Host>; 2]) -> [(World, SocketId); 2] {
    let [one, two] = hosts.each_ref().map(|host| host.world().clone());
    let (listener, at) = two.net.listen(port(2, 25)).await.unwrap();
    let client = one.net.connect(at).await.unwrap();
    let (server, from) = two.net.accept(listener).await.unwrap();
    assert_eq!(from.ip(), address(1));
    [(two, server), (one, client)]
}

fn port(number: u8, port: u16) -> SocketAddr {
    SocketAddr::new(address(number), port)
}

fn seconds(count: u64) -> Time {
    Time::ZERO + Span::seconds(count)
}

#[test]
fn times_are_those_of_the_link() {
    let options = LinkOptions {
        delay: Span::millis(10),
        bytes_per_second: 1_000_000,
        ..LinkOptions::default()
    };
    between(options, |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        let millis = |count| Time::ZERO + Span::millis(count);
        assert_eq!(one.clock.now(), millis(20), "a round trip");
        one.net.write(client, vec![1; 1_000]).await.unwrap();
        one.net.write(client, vec![2; 1_000]).await.unwrap();
        assert_eq!(one.clock.now(), millis(20), "taken at once");
        assert_eq!(two.net.read(server, 9_999).await.unwrap().len(), 1_000);
        assert_eq!(two.clock.now(), millis(31), "1 ms of transfer, 10 ms of delay");
        assert_eq!(two.net.read(server, 9_999).await.unwrap().len(), 1_000);
        assert_eq!(two.clock.now(), millis(32));
    });
}

#[test]
fn a_long_link_carries_a_buffer_in_each_round_trip() {
    let options = LinkOptions { delay: Span::millis(50), ..LinkOptions::default() };
    between(options, |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        let start = one.clock.now();
        let reading = two.spawner.clone().spawn(async move {
            let mut count = 0;
            while count < 12 << 20 {
                count += two.net.read(server, 1 << 20).await.unwrap().len();
            }
        });
        one.net.write(client, vec![0; 12 << 20]).await.unwrap();
        reading.await;
        // The first 4 MiB take one way, and each further 4 MiB wait for a round trip.
        assert_eq!(one.clock.now() - start, Span::millis(250));
    });
}

#[test]
fn bytes_wait_for_the_end_of_an_outage() {
    let options = LinkOptions {
        delay: Span::millis(1),
        outages: vec![seconds(10)..seconds(100)],
        ..LinkOptions::default()
    };
    between(options, |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        one.sleep_until(seconds(20)).await;
        one.net.write(client, vec![1]).await.unwrap();
        one.net.finish(client).await.unwrap();
        assert_eq!(two.net.read(server, 9).await, Ok(vec![1]));
        assert_eq!(two.clock.now(), seconds(100) + Span::millis(1));
        assert_eq!(two.net.read(server, 9).await, Ok(Vec::new()));
    });
}

#[test]
fn a_long_outage_times_out_who_writes() {
    let options =
        LinkOptions { outages: vec![seconds(10)..seconds(10_000)], ..LinkOptions::default() };
    between(options, |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        let listening = port(2, 25);
        one.sleep_until(seconds(20)).await;
        let refused = one.net.connect(listening).await;
        assert_eq!(refused, Err(NetError::TimedOut));
        assert_eq!(one.clock.now(), seconds(20 + 127));
        one.net.write(client, vec![1]).await.unwrap();
        assert_eq!(one.net.read(client, 9).await, Err(NetError::TimedOut));
        assert_eq!(one.clock.now(), seconds(147) + Span::millis(924_600));
        let written = one.net.write(client, vec![2]).await;
        assert_eq!(written, Err(NetError::TimedOut));
        // The other side does not notice until it writes.
        two.sleep_until(seconds(10_000)).await;
        let reading = two.net.read(server, 9);
        two.net.write(server, vec![3]).await.unwrap();
        assert_eq!(reading.await, Err(NetError::Reset));
    });
}

#[test]
fn without_a_link_a_host_is_unreachable() {
    between(LinkOptions::default(), |hosts| async move {
        let net: &dyn Net = &*hosts[0].world().net;
        let refused = net.connect(port(3, 25)).await;
        assert_eq!(refused, Err(NetError::Unreachable));
        let foreign = net.listen(port(2, 25)).await;
        assert_eq!(foreign, Err(NetError::Invalid));
    });
}

#[test]
fn a_killed_host_ends_or_resets_its_connections_and_refuses_new_ones() {
    between(LinkOptions::default(), |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        two.net.write(server, vec![1]).await.unwrap();
        hosts[1].kill();
        assert_eq!(one.net.read(client, 9).await, Ok(vec![1]), "sent before");
        assert_eq!(one.net.read(client, 9).await, Ok(Vec::new()));
        let refused = one.net.connect(port(2, 25)).await;
        assert_eq!(refused, Err(NetError::Refused));
        one.net.write(client, vec![2]).await.unwrap();
        one.sleep(Span::seconds(1)).await;
        assert_eq!(one.net.write(client, vec![3]).await, Err(NetError::Reset));
        // Requests of a dead host have no effect.
        let dead = two.net.listen(port(2, 25));
        let again = hosts[1].restart();
        let listening = again.world().net.listen(port(2, 25)).await;
        let (listener, at) = listening.expect("a port that is free");
        one.net.connect(at).await.unwrap();
        again.world().net.accept(listener).await.unwrap();
        drop(dead);
    });
}

#[test]
fn a_host_without_power_is_silent_until_it_is_back() {
    let options = LinkOptions { delay: Span::millis(1), ..LinkOptions::default() };
    between(options, |hosts| async move {
        let [_, (one, client)] = connected(&hosts).await;
        hosts[1].lose_power();
        let start = one.clock.now();
        let reader = one.clone();
        let reading = one.spawner.spawn(async move {
            let read = reader.net.read(client, 9).await;
            (read, reader.clock.now())
        });
        let connecting = one.net.connect(port(2, 25)).await;
        assert_eq!(connecting, Err(NetError::TimedOut));
        assert_eq!(one.clock.now() - start, Span::seconds(127));
        assert!(!reading.is_done(), "a reader hears nothing");
        one.net.write(client, vec![1]).await.unwrap();
        let later = one.net.connect(port(2, 25));
        one.sleep(Span::seconds(10)).await;
        let again = hosts[1].restart();
        let (listener, _) = again.world().net.listen(port(2, 25)).await.unwrap();
        // Retransmitted after 1, 2, 4 and 8 s; the last one is answered.
        later.await.expect("it is back");
        again.world().net.accept(listener).await.unwrap();
        // Four times one way in vain, then there and back.
        assert_eq!(one.clock.now() - start, Span::seconds(142) + Span::millis(6));
        assert_eq!(reading.await.0, Err(NetError::Reset));
    });
}

#[test]
fn what_has_not_left_a_host_is_lost_with_its_power() {
    let options =
        LinkOptions { delay: Span::seconds(1), bytes_per_second: 65_536, ..LinkOptions::default() };
    between(options, |hosts| async move {
        let [(two, server), (one, client)] = connected(&hosts).await;
        one.net.write(client, vec![1; 4 * 65_536]).await.unwrap();
        two.sleep(Span::millis(2_500)).await;
        hosts[0].lose_power();
        let mut count = 0;
        let reader = two.clone();
        let reading = two.spawner.spawn(async move {
            loop {
                count += reader.net.read(server, 1 << 20).await.unwrap().len();
                if count == 2 * 65_536 {
                    return reader.net.read(server, 1 << 20).await;
                }
            }
        });
        two.sleep(Span::seconds(3_600)).await;
        assert!(!reading.is_done(), "the third message never left");
    });
}

#[test]
fn equal_seeds_give_equal_times() {
    let run = |seed| {
        let options = LinkOptions {
            jitter: Span::millis(1),
            lost_per_million: 10_000,
            ..LinkOptions::default()
        };
        let (mut made, hosts) = linked(seed, options);
        made.executor.block_on(async move {
            let [(two, server), (one, client)] = connected(&hosts).await;
            for _ in 0..50 {
                one.net.write(client, vec![1; 5_000]).await.unwrap();
                two.net.read(server, 5_000).await.unwrap();
            }
        });
        made.machine.digest()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// A network with a bug, to check that the suite detects it.
struct Wrong {
    inner: Rc<dyn Net>,
    /// Changes the bytes of a write.
    writes: fn(Vec<u8>) -> Vec<u8>,
    /// Changes the maximum number of bytes to read.
    reads: fn(usize) -> usize,
    closes: bool,
}

impl Net for Wrong {
    fn listen(&self, at: SocketAddr) -> Reply<(SocketId, SocketAddr)> {
        self.inner.listen(at)
    }

    fn accept(&self, listener: SocketId) -> Reply<(SocketId, SocketAddr)> {
        self.inner.accept(listener)
    }

    fn connect(&self, to: SocketAddr) -> Reply<SocketId> {
        self.inner.connect(to)
    }

    fn read(&self, connection: SocketId, at_most: usize) -> Reply<Vec<u8>> {
        self.inner.read(connection, (self.reads)(at_most))
    }

    fn write(&self, connection: SocketId, bytes: Vec<u8>) -> Reply<()> {
        self.inner.write(connection, (self.writes)(bytes))
    }

    fn finish(&self, connection: SocketId) -> Reply<()> {
        self.inner.finish(connection)
    }

    fn acknowledge_at_once(&self, connection: SocketId) -> bool {
        self.inner.acknowledge_at_once(connection)
    }

    fn close(&self, socket: SocketId) {
        if self.closes {
            self.inner.close(socket);
        }
    }
}

fn fail(check: &str, mistake: impl FnOnce(&mut Wrong)) {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let mut wrong = Wrong {
        inner: Rc::clone(&made.world.net),
        writes: |bytes| bytes,
        reads: |at_most| at_most,
        closes: true,
    };
    mistake(&mut wrong);
    let world = World { net: Rc::new(wrong), ..made.world.clone() };
    let checks = conformance::net::checks();
    let check = checks.iter().find(|one| one.name == check).unwrap();
    let future = check.start(&world, &world, [127, 0, 0, 1].into());
    made.executor.block_on(future);
}

#[test]
#[should_panic(expected = "bytes_arrive_in_order_and_complete: ")]
fn bytes_that_are_lost_are_seen() {
    fail("bytes_arrive_in_order_and_complete", |wrong| {
        wrong.writes = |mut bytes| {
            bytes.truncate(69_000);
            bytes
        };
    });
}

#[test]
#[should_panic(expected = "reads_take_no_more_than_was_asked_for: more than")]
fn a_read_of_too_much_is_seen() {
    fail("reads_take_no_more_than_was_asked_for", |wrong| {
        wrong.reads = |at_most| at_most + 1;
    });
}

#[test]
#[should_panic(expected = "writes_wait_for_the_reader: 16 MiB")]
fn a_buffer_without_bounds_is_seen() {
    fail("writes_wait_for_the_reader", |wrong| {
        wrong.writes = |_| Vec::new();
    });
}

#[test]
#[should_panic(expected = "nothing_that_listens_refuses: ")]
fn a_socket_that_stays_open_is_seen() {
    fail("nothing_that_listens_refuses", |wrong| wrong.closes = false);
}
