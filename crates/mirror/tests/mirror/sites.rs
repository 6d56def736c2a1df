//! Two virtual hosts with a link between them: one serves through a mirror, the other one receives.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;

use brunt_mirror::{Mirror, Receiver, mirrored};
use brunt_units::Span;
use brunt_world::World;
use brunt_world::messages::Token;
use brunt_world_virtual::{
    Cores, Host, Inode, LinkOptions, Store, VirtualLink, VirtualOptions, VirtualWorld,
};

/// The folders of the two sites.
pub(crate) const HERE: &str = "/a";
pub(crate) const THERE: &str = "/b";
/// Where the receiver keeps its epoch.
pub(crate) const RECORD: &str = "/epoch-of-b";

/// Two sites, before they are connected.
pub(crate) struct Sites {
    pub(crate) made: VirtualWorld,
    /// The one that serves, and the other one.
    pub(crate) hosts: [Rc<Host>; 2],
}

fn address(number: u8) -> IpAddr {
    [10, 0, 0, number].into()
}

impl Sites {
    /// Two sites, 0.2 ms apart; `store` holds the files of both.
    pub(crate) fn new(seed: u64, store: Store) -> Self {
        let link = VirtualLink {
            ends: [address(1), address(2)],
            options: LinkOptions {
                delay: Span::micros(100),
                bytes_per_second: 1_250_000_000,
                jitter: Span::micros(50),
                ..LinkOptions::default()
            },
        };
        let made = VirtualWorld::new(VirtualOptions {
            links: vec![link],
            store,
            ..VirtualOptions::new(seed)
        });
        let hosts = [1, 2].map(|number| {
            let name = format!("site-{number}");
            let cores = Cores::Unlimited;
            let at = address(number);
            Rc::new(Host::new(&made.machine, &made.world, &name, at, cores))
        });
        Self { made, hosts }
    }
}

/// Lets the second host receive and the first one serve through a mirror.
pub(crate) async fn connect(hosts: &[Rc<Host>; 2], epoch: u64) -> (World, Mirror, Receiver) {
    let (receiver, at) = receive(hosts[1].world(), hosts[1].address()).await;
    let here = hosts[0].world();
    let connection = here.net.connect(at).await.unwrap();
    let (world, mirror) = mirrored(here, Path::new(HERE), connection, epoch).await.unwrap();
    (world, mirror, receiver)
}

/// A receiver of `world`, which listens at `address`.
pub(crate) async fn receive(world: &World, address: IpAddr) -> (Receiver, SocketAddr) {
    receive_from(world, address, None).await
}

/// The same, for who shows `token`.
pub(crate) async fn receive_from(
    world: &World,
    address: IpAddr,
    token: Option<Token>,
) -> (Receiver, SocketAddr) {
    let receiver = Receiver::open(world, Path::new(THERE), Path::new(RECORD)).await.unwrap();
    let (listener, at) = world.net.listen(SocketAddr::new(address, 0)).await.unwrap();
    let serving = receiver.clone();
    drop(world.spawner.spawn(async move {
        serving.serve(listener, token).await;
    }));
    (receiver, at)
}

/// The files below `folder`, with their content.
pub(crate) fn files_below(store: &Store, folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = store
        .names()
        .filter_map(|(path, file): (&Path, Inode)| {
            let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
            let length = usize::try_from(store.length(file)?).ok()?;
            let mut bytes = vec![0; length];
            store.read(file, 0, &mut bytes);
            Some((name, bytes))
        })
        .collect();
    files.sort();
    files
}
