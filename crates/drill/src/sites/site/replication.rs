//! What goes from the source to the destination: every change through the mirror, or closed logs to
//! passive copies.

use std::net::SocketAddr;
use std::rc::Rc;

use brunt_copies::truncation::Limits;
use brunt_copies::{CopyOptions, PassiveCopy, Shipper};
use brunt_mirror::{Receiver, mirrored};
use brunt_qualify::server::Server;
use brunt_run::Silence;
use brunt_scenario::RealDrill;
use brunt_units::Span;
use brunt_world::messages::Token;

use super::super::messages::Answer;
use super::{EPOCH, Site, SiteError};

impl Site {
    pub(super) async fn receive(&mut self) -> Result<Answer, SiteError> {
        let (files, record) = (RealDrill::files(&self.folder), self.folder.join(EPOCH));
        let receiver = Receiver::open(&self.world, &files, &record).await?;
        let at = SocketAddr::new(self.address, 0);
        let (listener, at) = self.world.net.listen(at).await?;
        let (serving, token) = (receiver.clone(), (self.secret)(&self.world)?);
        drop(self.world.spawner.spawn(async move { serving.serve(listener, Some(token)).await }));
        self.receiver = Some(receiver);
        let token = token.0;
        Ok(Answer::Listening { at, token })
    }

    pub(super) async fn send_to(
        &mut self,
        to: SocketAddr,
        token: Token,
        epoch: u64,
    ) -> Result<(), SiteError> {
        let connection = self.world.net.connect(to).await?;
        token.show(&self.world, connection).await?;
        let files = RealDrill::files(&self.folder);
        let mirrored = mirrored(&self.world, &files, connection, epoch).await;
        let (engine, mirror) = mirrored?;
        (self.engine, self.mirror) = (engine, Some(mirror));
        Ok(())
    }

    /// Becomes a passive copy of each log stream.
    pub(super) async fn copy(&mut self) -> Result<Answer, SiteError> {
        self.receiver = None;
        let token = (self.secret)(&self.world)?;
        let mut all = Vec::new();
        for stream in 0..self.plan.instances.len() {
            let options = CopyOptions {
                instance: self.plan.instance_options(stream),
                cache: self.plan.cache_options(),
                lag: Span::ZERO,
                maintenance: None,
            };
            let copy = PassiveCopy::open(&self.world, options).await?;
            let at = SocketAddr::new(self.address, 0);
            let (listener, at) = self.world.net.listen(at).await?;
            all.push(at);
            let (following, receiving) = (copy.clone(), copy.clone());
            // Why a copy ended is said by its activation.
            drop(self.world.spawner.spawn(async move { following.follow().await }));
            let world = self.world.clone();
            drop(self.world.spawner.spawn(async move {
                while let Ok((connection, _)) = world.net.accept(listener).await {
                    if token.is_shown(&world, connection).await {
                        let _ = receiving.receive(connection).await;
                    }
                }
            }));
            self.copies.push(copy);
        }
        let token = token.0;
        Ok(Answer::Copying { at: all, token })
    }

    /// Opens the databases without the mirror, and ships the logs that are closed from now on.
    pub(super) async fn ship(
        &mut self,
        to: Vec<SocketAddr>,
        token: Token,
    ) -> Result<(), SiteError> {
        self.mirror = None;
        self.engine = self.world.clone();
        let opened = Server::open(&self.world, &self.plan, &Silence, None).await;
        let server = opened?;
        for (instance, to) in server.instances().iter().zip(to) {
            let shipper = Shipper::new(&self.world, instance, 1, Limits::default());
            let connection = self.world.net.connect(to).await?;
            token.show(&self.world, connection).await?;
            // A copy that cannot be reached lacks logs, which the failover shows.
            drop(self.world.spawner.spawn(async move { shipper.serve(0, connection).await }));
        }
        self.ships = true;
        self.opened = Some((Rc::new(server), Vec::new()));
        Ok(())
    }
}
