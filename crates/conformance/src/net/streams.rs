//! Bytes on their way.

use std::cell::Cell;
use std::rc::Rc;

use super::{Probe, random_bytes, read_all};
use brunt_world::NetError;

pub(super) async fn bytes_arrive_in_order_and_complete(probe: Probe) {
    const BYTES: usize = 3 << 20;
    let (server, client) = probe.pair().await;
    let sides =
        [(probe.server.clone(), server, "server"), (probe.client.clone(), client, "client")];
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

pub(super) async fn reads_take_no_more_than_was_asked_for(probe: Probe) {
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

pub(super) async fn empty_writes_are_answered(probe: Probe) {
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

pub(super) async fn writes_wait_for_the_reader(probe: Probe) {
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
    // Nothing is read, so the writer must stall before the end.
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

pub(super) async fn one_direction_ends_alone(probe: Probe) {
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

pub(super) async fn many_connections_are_kept_apart(probe: Probe) {
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
