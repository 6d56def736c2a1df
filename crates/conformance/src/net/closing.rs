//! Closing, and what the other side sees of it.

use brunt_units::Span;

use super::Probe;
use brunt_world::NetError;

pub(super) async fn bytes_left_unread_reset(probe: Probe) {
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

pub(super) async fn writing_to_a_closed_side_is_reset(probe: Probe) {
    let (server, client) = probe.pair().await;
    probe.server.net.close(server);
    let net = &probe.client.net;
    probe.equal(net.read(client, 10).await, Ok(Vec::new()), "end");
    // The first may be taken before the other side says no.
    let refused = async || net.write(client, vec![1]).await == Err(NetError::Reset);
    probe.eventually("a reset", refused).await;
    net.close(client);
}

pub(super) async fn closing_answers_what_is_in_flight(probe: Probe) {
    let (listener, _) = probe.listen().await;
    let (server, client) = probe.pair().await;
    let net = &probe.server.net;
    let accepting = net.accept(listener);
    let reading = net.read(server, 10);
    let mut writing = Box::pin(net.write(server, vec![0; 16 << 20]));
    // In flight, and unread by the other side.
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

pub(super) async fn closing_during_a_read_ends_the_stream(probe: Probe) {
    let (server, client) = probe.pair().await;
    let reading = probe.server.net.read(server, 10);
    // In flight.
    probe.server.sleep(Span::millis(1)).await;
    probe.server.net.close(server);
    let end = probe.client.net.read(client, 10).await;
    probe.equal(end, Ok(Vec::new()), "read of the other side");
    probe.equal(reading.await, Err(NetError::Closed), "read");
    probe.client.net.close(client);
}

pub(super) async fn closing_a_listener_resets_its_backlog(probe: Probe) {
    let (listener, at) = probe.listen().await;
    let client = probe.connect(at).await;
    probe.server.net.close(listener);
    let read = probe.client.net.read(client, 10).await;
    probe.equal(read, Err(NetError::Reset), "read");
    probe.client.net.close(client);
}
