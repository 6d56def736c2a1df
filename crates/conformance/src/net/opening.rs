//! Listening, connecting, accepting.

use super::Probe;
use brunt_world::NetError;

pub(super) async fn ports_are_given_out_once(probe: Probe) {
    let (first, at) = probe.listen().await;
    let (second, other) = probe.listen().await;
    probe.equal(at.ip(), probe.address, "address");
    probe.ensure(at.port() != 0 && other.port() != 0, "a listener without a port");
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

pub(super) async fn nothing_that_listens_refuses(probe: Probe) {
    let (listener, at) = probe.listen().await;
    probe.server.net.close(listener);
    let refused = probe.client.net.connect(at).await;
    probe.equal(refused, Err(NetError::Refused), "connect");
}

pub(super) async fn connections_wait_to_be_accepted(probe: Probe) {
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

pub(super) async fn dropped_requests_make_room(probe: Probe) {
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

pub(super) async fn one_request_of_a_kind_at_a_time(probe: Probe) {
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
