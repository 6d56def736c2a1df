//! Checks of [`brunt_world::messages`] over a network.

use super::{Probe, random_bytes};
use brunt_world::messages::{MessageError, messages};

const LONGEST: usize = 1 << 20;

pub(super) async fn messages_arrive_whole_and_in_order(probe: Probe) {
    let (server, client) = probe.pair().await;
    let mut stream = probe.stream("sizes");
    let sizes = [0, 1, 7, 8, 9, 4096, 300_000, LONGEST, 0, 2];
    let sent = sizes.map(|size| random_bytes(size, &mut stream));
    let (sender, _) = messages(&probe.client, client, LONGEST);
    let (its, all) = (probe.clone(), sent.clone());
    drop(probe.client.spawner.spawn(async move {
        for content in all {
            its.good(sender.send(&content).await, "send");
        }
        its.good(sender.finish().await, "finish");
    }));
    let (_, mut receiver) = messages(&probe.server, server, LONGEST);
    for content in sent {
        probe.equal(receiver.receive().await, Ok(Some(content)), "message");
    }
    probe.equal(receiver.receive().await, Ok(None), "the end");
    probe.equal(receiver.receive().await, Ok(None), "the end again");
}

pub(super) async fn messages_of_several_tasks_are_not_mixed(probe: Probe) {
    const TASKS: u8 = 8;
    let (server, client) = probe.pair().await;
    let (sender, _) = messages(&probe.client, client, LONGEST);
    for task in 0..TASKS {
        let (its, sender) = (probe.clone(), sender.clone());
        drop(probe.client.spawner.spawn(async move {
            for _ in 0..4 {
                its.good(sender.send(&vec![task; 200_000]).await, "send");
            }
        }));
    }
    let (_, mut receiver) = messages(&probe.server, server, LONGEST);
    let mut counts = [0; TASKS as usize];
    for _ in 0..counts.len() * 4 {
        let content = probe.good(receiver.receive().await, "receive");
        let content = content.unwrap_or_default();
        let first = content.first().copied().unwrap_or(TASKS);
        probe.equal(content, vec![first; 200_000], "message");
        counts[usize::from(first)] += 1;
    }
    probe.equal(counts, [4; TASKS as usize], "messages of each task");
}

pub(super) async fn a_message_that_is_too_long_is_refused(probe: Probe) {
    let (server, client) = probe.pair().await;
    let (sender, _) = messages(&probe.client, client, LONGEST);
    probe.good(sender.send(&[1; 101]).await, "send");
    let (_, mut receiver) = messages(&probe.server, server, 100);
    let refused = MessageError::TooLong { length: 101, longest: 100 };
    probe.equal(receiver.receive().await, Err(refused), "receive");
}

pub(super) async fn a_damaged_message_is_refused(probe: Probe) {
    let (server, client) = probe.pair().await;
    let sum = crc32fast::hash(b"sent").to_le_bytes();
    let bytes = [&4_u32.to_le_bytes()[..], &sum, b"sEnt"].concat();
    probe.good(probe.client.net.write(client, bytes).await, "write");
    let (_, mut receiver) = messages(&probe.server, server, LONGEST);
    let received = receiver.receive().await;
    probe.equal(received, Err(MessageError::Damaged), "receive");
}

pub(super) async fn a_torn_message_is_refused(probe: Probe) {
    for length in [1, 8, 11] {
        let (server, client) = probe.pair().await;
        let sum = crc32fast::hash(b"sent").to_le_bytes();
        let whole = [&4_u32.to_le_bytes()[..], &sum, b"sent"].concat();
        let part = whole[..length].to_vec();
        probe.good(probe.client.net.write(client, part).await, "write");
        probe.good(probe.client.net.finish(client).await, "finish");
        let (_, mut receiver) = messages(&probe.server, server, LONGEST);
        let received = receiver.receive().await;
        probe.equal(received, Err(MessageError::Torn), "receive");
    }
}
