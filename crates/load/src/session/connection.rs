//! A connection with patience: bytes of a protocol over `Net`, through TLS where that is wanted.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use brunt_protocols::Channel;
use brunt_units::{Span, Time};
use brunt_world::sync::Alarm;
use brunt_world::{Reply, SocketId};

use super::{GLANCE, Setting};
use crate::endpoint::{Endpoint, TlsUse};
use crate::errors::{Trouble, TroubleKind};
use crate::progress::Stopping;

/// Bytes of one read.
const READ: usize = 16 << 10;

/// A connection to a server. Belongs to the task that opened it.
pub(crate) struct Connection {
    setting: Setting,
    socket: SocketId,
    channel: Channel,
    alarm: Alarm,
    /// A read that was not waited for to its end: its bytes would be lost with it.
    reading: Option<Reply<Vec<u8>>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.setting.world.net.close(self.socket);
    }
}

/// What `work` comes to before `deadline`, or before a run that is to stop has waited long enough.
async fn patiently<T>(
    setting: &Setting,
    alarm: &Alarm,
    deadline: Time,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        let now = setting.world.clock.now();
        let stop = setting.stop.as_ref().and_then(Stopping::asked_at);
        let limit = stop.map_or(deadline, |at| deadline.min(at + setting.patience.stop));
        if now >= limit {
            return Poll::Ready(None);
        }
        alarm.set(now, limit.min(now + GLANCE));
        Poll::Pending
    })
    .await
}

impl Connection {
    /// Connects, and starts TLS where it begins with the first byte.
    pub(crate) async fn open(setting: &Setting, endpoint: &Endpoint) -> Result<Self, Trouble> {
        let alarm = Alarm::new(setting.world.spawner.tasks());
        let deadline = setting.world.clock.now() + setting.patience.connect;
        let connect = setting.world.net.connect(endpoint.address);
        let doing = format!("connect to {}", endpoint.address);
        let socket = match patiently(setting, &alarm, deadline, connect).await {
            Some(connected) => connected.map_err(|error| Trouble::net(error, &doing))?,
            None => return Err(Trouble::new(TroubleKind::ConnectTimeout, doing)),
        };
        if setting.acknowledges_at_once.get() {
            setting.world.net.acknowledge_at_once(socket);
        }
        let setting = setting.clone();
        let channel = Channel::plain();
        let mut connection = Self { setting, socket, channel, alarm, reading: None };
        if endpoint.tls == TlsUse::Implicit {
            connection.secure(endpoint).await?;
        }
        Ok(connection)
    }

    /// Starts TLS, and waits for the end of the handshake.
    pub(crate) async fn secure(&mut self, endpoint: &Endpoint) -> Result<(), Trouble> {
        let Some(trust) = self.setting.trust.clone() else {
            return Err(Trouble::new(TroubleKind::NoTls, "no certificate is trusted"));
        };
        let deadline = self.deadline(self.setting.patience.connect);
        self.channel.start_tls(&trust, &endpoint.name)?;
        loop {
            self.flush(deadline, "TLS handshake").await?;
            if !self.channel.is_shaking_hands() {
                return Ok(());
            }
            let early = self.read(deadline, "TLS handshake").await?;
            if !early.is_empty() && self.channel.is_shaking_hands() {
                return Err(Trouble::new(TroubleKind::Reset, "bytes before the handshake ended"));
            }
        }
    }

    /// Whether what is sent now is encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        self.channel.is_secure()
    }

    /// The time that is `patience` from now.
    pub(crate) fn deadline(&self, patience: Span) -> Time {
        self.setting.world.clock.now() + patience
    }

    /// The next bytes of the protocol; perhaps none, if TLS had something to say. After
    /// [`TroubleKind::NoAnswer`] it may be called again, and nothing is lost.
    pub(crate) async fn read(&mut self, deadline: Time, doing: &str) -> Result<Vec<u8>, Trouble> {
        let new = || self.setting.world.net.read(self.socket, READ);
        let mut read = self.reading.take().unwrap_or_else(new);
        let bytes = match patiently(&self.setting, &self.alarm, deadline, &mut read).await {
            Some(read) => read.map_err(|error| Trouble::net(error, doing))?,
            None => {
                self.reading = Some(read);
                return Err(Trouble::new(TroubleKind::NoAnswer, doing));
            }
        };
        if bytes.is_empty() {
            return Err(Trouble::new(TroubleKind::Closed, doing));
        }
        match self.channel.receive(bytes) {
            Ok(plain) => Ok(plain),
            Err(failure) => {
                // The alert that says why.
                let _ = self.flush(deadline, doing).await;
                Err(failure.into())
            }
        }
    }

    /// Sends bytes of the protocol.
    pub(crate) async fn write(
        &mut self,
        plain: &[u8],
        deadline: Time,
        doing: &str,
    ) -> Result<(), Trouble> {
        self.channel.send(plain)?;
        self.flush(deadline, doing).await
    }

    async fn flush(&mut self, deadline: Time, doing: &str) -> Result<(), Trouble> {
        let bytes = self.channel.outgoing();
        if bytes.is_empty() {
            return Ok(());
        }
        let write = self.setting.world.net.write(self.socket, bytes);
        match patiently(&self.setting, &self.alarm, deadline, write).await {
            Some(written) => written.map_err(|error| Trouble::net(error, doing)),
            None => Err(Trouble::new(TroubleKind::NoAnswer, doing)),
        }
    }

    /// Ends our direction of TLS. The connection closes when this is dropped.
    pub(crate) async fn finish(&mut self) {
        self.channel.finish();
        let deadline = self.deadline(Span::seconds(1));
        let _ = self.flush(deadline, "close").await;
    }
}
