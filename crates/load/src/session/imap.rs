//! A session with a mailbox.

use brunt_mail::Message;
use brunt_protocols::Speaker;
use brunt_protocols::imap::{Capabilities, Client, Code, Command, Done, Event};
use brunt_protocols::sasl::{Exchange, Mechanism};
use brunt_units::{Span, Time};
use brunt_world::random::Stream;

use super::connection::Connection;
use super::post::nonce;
use super::{Ended, GLANCE, Setting};
use crate::accounts::Account;
use crate::endpoint::{Endpoint, Login, TlsUse};
use crate::errors::{Trouble, TroubleKind};

/// A session that is logged in.
pub(crate) struct ImapSession {
    setting: Setting,
    connection: Connection,
    client: Client,
    input: Vec<u8>,
    used: usize,
}

impl ImapSession {
    /// Connects, secures and logs in.
    pub(crate) async fn open(
        setting: &Setting,
        endpoint: &Endpoint,
        account: &Account,
        nonces: &mut Stream,
    ) -> Result<Self, Ended> {
        let connected = Connection::open(setting, endpoint).await;
        let connection = connected.map_err(|trouble| Ended { trouble, lines: Vec::new() })?;
        let setting = setting.clone();
        let client = Client::new();
        let mut session = Self { setting, connection, client, input: Vec::new(), used: 0 };
        match session.greet(endpoint, account, nonces).await {
            Ok(()) => Ok(session),
            Err(trouble) => Err(session.end(trouble)),
        }
    }

    /// The end of the session: why, and its last lines.
    pub(crate) fn end(mut self, trouble: Trouble) -> Ended {
        self.client.tape_mut().say(Speaker::Event, trouble.to_string().as_bytes());
        self.note_oddities();
        Ended { trouble, lines: self.client.tape().transcript() }
    }

    /// Counts what the machine passed over.
    fn note_oddities(&self) {
        let now = self.setting.world.clock.now();
        for (oddity, (count, line)) in self.client.oddities() {
            let kind = TroubleKind::PassedOver(*oddity);
            self.setting.errors.borrow_mut().note_many(now, kind, line, *count);
        }
    }

    async fn greet(
        &mut self,
        endpoint: &Endpoint,
        account: &Account,
        nonces: &mut Stream,
    ) -> Result<(), Trouble> {
        let deadline = self.connection.deadline(self.setting.patience.reply);
        let mut is_known = false;
        self.next(deadline, "greeting", |event| {
            is_known = matches!(event, Event::Greeted(true));
            Ok(())
        })
        .await?;
        if endpoint.tls == TlsUse::StartTls {
            self.secure(endpoint, deadline).await?;
        }
        if is_known || endpoint.login == Login::None {
            return Ok(());
        }
        if self.client.capabilities().is_none() {
            self.command(Command::Capability, |_| Ok(())).await?;
        }
        self.log_in(endpoint, account, nonces).await?;
        if self.client.capabilities().is_none() {
            self.command(Command::Capability, |_| Ok(())).await?;
        }
        Ok(())
    }

    async fn secure(&mut self, endpoint: &Endpoint, deadline: Time) -> Result<(), Trouble> {
        if self.client.capabilities().is_some_and(|able| !able.start_tls) {
            return Err(Trouble::new(TroubleKind::NoTls, "no STARTTLS among the capabilities"));
        }
        self.client.command(Command::StartTls);
        self.send(deadline, "STARTTLS").await?;
        let mut answer = None;
        while answer.is_none() {
            self.next(deadline, "STARTTLS", |event| {
                answer = match event {
                    Event::SecureNow => Some(Ok(())),
                    Event::Done(done) => Some(Err(Trouble::new(TroubleKind::NoTls, done.text))),
                    _ => None,
                };
                Ok(())
            })
            .await?;
        }
        answer.unwrap_or(Ok(()))?;
        let mut rest = self.input.get(self.used..).unwrap_or_default();
        self.client.receive(&mut rest)?;
        self.connection.secure(endpoint).await?;
        self.client.tls_has_started();
        Ok(())
    }

    async fn log_in(
        &mut self,
        endpoint: &Endpoint,
        account: &Account,
        nonces: &mut Stream,
    ) -> Result<(), Trouble> {
        if !self.connection.is_secure() && !endpoint.is_own_machine() {
            return Err(Trouble::new(TroubleKind::PlainPassword, endpoint.address.to_string()));
        }
        let able = self.client.capabilities().cloned().unwrap_or_default();
        let best = || Mechanism::best(&able.mechanisms);
        let mechanism = match endpoint.login {
            Login::None => return Ok(()),
            Login::By(mechanism) => Some(mechanism),
            Login::Best => best(),
        };
        match mechanism {
            Some(mechanism) => {
                let nonce = nonce(nonces);
                let exchange = Exchange::new(mechanism, &account.user, &account.secret, &nonce);
                self.client.authenticate(exchange);
            }
            None if able.login_disabled => {
                return Err(Trouble::new(TroubleKind::NoMechanism, "LOGINDISABLED"));
            }
            None => self.client.login(&account.user, &account.secret),
        }
        let done = self.answer("login", |_| Ok(())).await?;
        if done.is_ok() {
            return Ok(());
        }
        let kind = match done.code {
            Some(Code::Unavailable) => TroubleKind::LoginPutOff,
            _ => TroubleKind::LoginRefused,
        };
        Err(Trouble::new(kind, done.text))
    }

    /// What the server can do.
    pub(crate) fn able(&self) -> Capabilities {
        self.client.capabilities().cloned().unwrap_or_default()
    }

    /// Sends a command and lets `hear` have what the server says, up to the reply.
    pub(crate) async fn command(
        &mut self,
        command: Command<'_>,
        hear: impl FnMut(Event<'_>) -> Result<(), Trouble>,
    ) -> Result<Done, Trouble> {
        self.client.set_time(self.setting.world.clock.now());
        let doing = match command {
            Command::Fetch(..) => "FETCH",
            Command::List(_) => "LIST",
            Command::Examine(_) => "EXAMINE",
            _ => "command",
        };
        self.client.command(command);
        self.answer(doing, hear).await
    }

    /// The same, for a command that has to be done.
    pub(crate) async fn must(
        &mut self,
        command: Command<'_>,
        hear: impl FnMut(Event<'_>) -> Result<(), Trouble>,
    ) -> Result<Done, Trouble> {
        must(self.command(command, hear).await?)
    }

    /// Appends a message to a folder. The flag says whether the server had all of it when trouble
    /// came.
    pub(crate) async fn append(
        &mut self,
        (folder, flags): (&[u8], &str),
        message: &mut Message,
    ) -> (Result<Done, Trouble>, bool) {
        let mut has_ended = false;
        let done = self.appending((folder, flags), message, &mut has_ended).await;
        (done, has_ended)
    }

    async fn appending(
        &mut self,
        (folder, flags): (&[u8], &str),
        message: &mut Message,
        has_ended: &mut bool,
    ) -> Result<Done, Trouble> {
        self.client.set_time(self.setting.world.clock.now());
        self.client.command(Command::Append(folder, flags, message.bytes()));
        let patience = self.setting.patience;
        let whole = self.connection.deadline(patience.command);
        loop {
            let deadline = whole.min(self.connection.deadline(patience.reply));
            self.send(deadline, "APPEND").await?;
            let (mut goes_on, mut done) = (false, None);
            self.next(deadline, "APPEND", |event| {
                match event {
                    Event::GoOn => goes_on = true,
                    Event::Done(reply) => done = Some(reply),
                    _ => {}
                }
                Ok(())
            })
            .await?;
            if let Some(done) = done {
                return Ok(done);
            }
            while goes_on && self.client.is_appending() {
                let chunk = message.next_chunk();
                if chunk.is_empty() {
                    break;
                }
                self.client.text(chunk);
                // The write with the last bytes is the border: whether they arrive is not known.
                *has_ended = !self.client.is_appending();
                self.send(deadline, "text of APPEND").await?;
            }
        }
    }

    async fn answer(
        &mut self,
        doing: &str,
        mut hear: impl FnMut(Event<'_>) -> Result<(), Trouble>,
    ) -> Result<Done, Trouble> {
        let patience = self.setting.patience;
        let whole = self.connection.deadline(patience.command);
        let mut done = None;
        while done.is_none() {
            let deadline = whole.min(self.connection.deadline(patience.reply));
            self.send(deadline, doing).await?;
            self.next(deadline, doing, |event| match event {
                Event::Done(reply) => {
                    done = Some(reply);
                    Ok(())
                }
                event => hear(event),
            })
            .await?;
        }
        done.ok_or_else(|| Trouble::new(TroubleKind::Closed, doing))
    }

    /// Idles until `is_over`, and lets `hear` have what the server tells.
    pub(crate) async fn idle(
        &mut self,
        is_over: impl Fn() -> bool,
        mut hear: impl FnMut(Event<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.client.command(Command::Idle);
        let mut deadline = self.connection.deadline(self.setting.patience.reply);
        self.send(deadline, "IDLE").await?;
        let (mut idles, mut done, mut is_leaving) = (false, None, false);
        while done.is_none() {
            let glance = deadline.min(self.connection.deadline(GLANCE));
            let heard = self.next(glance, "IDLE", |event| match event {
                Event::GoOn => {
                    idles = true;
                    Ok(())
                }
                Event::Done(reply) => {
                    done = Some(reply);
                    Ok(())
                }
                event => hear(event),
            });
            let now = match heard.await {
                Err(trouble) if trouble.kind != TroubleKind::NoAnswer => return Err(trouble),
                Err(trouble) => {
                    let now = self.setting.world.clock.now();
                    if now >= deadline && (!idles || is_leaving) {
                        return Err(trouble);
                    }
                    now
                }
                Ok(()) => self.setting.world.clock.now(),
            };
            if idles && !is_leaving {
                // It may be silent for as long as nothing happens.
                deadline = now + self.setting.patience.reply;
                if is_over() {
                    is_leaving = true;
                    self.client.done();
                    self.send(deadline, "DONE").await?;
                }
            }
        }
        match done {
            Some(done) if !done.is_ok() => {
                Err(Trouble::new(TroubleKind::CommandRefused, done.text))
            }
            _ => Ok(()),
        }
    }

    /// Hears one event.
    async fn next(
        &mut self,
        deadline: Time,
        doing: &str,
        mut hear: impl FnMut(Event<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        loop {
            self.client.set_time(self.setting.world.clock.now());
            let mut rest = self.input.get(self.used..).unwrap_or_default();
            let before = rest.len();
            let event = self.client.receive(&mut rest);
            let used = before - rest.len();
            let heard = event?.map(&mut hear);
            self.used += used;
            if let Some(heard) = heard {
                return heard;
            }
            // The machine answers challenges and sends literals by itself.
            self.send(deadline, doing).await?;
            self.input = self.connection.read(deadline, doing).await?;
            self.used = 0;
        }
    }

    async fn send(&mut self, deadline: Time, doing: &str) -> Result<(), Trouble> {
        let bytes = self.client.outgoing();
        if bytes.is_empty() {
            return Ok(());
        }
        self.connection.write(&bytes, deadline, doing).await
    }

    /// Takes leave.
    pub(crate) async fn log_out(mut self) {
        self.note_oddities();
        if self.client.is_busy() {
            return;
        }
        self.client.command(Command::Logout);
        let deadline = self.connection.deadline(Span::seconds(1).min(self.setting.patience.reply));
        if self.send(deadline, "LOGOUT").await.is_err() {
            return;
        }
        let mut is_over = false;
        while !is_over {
            let hear = |event: Event<'_>| {
                is_over = matches!(event, Event::Done(_));
                Ok(())
            };
            if self.next(deadline, "LOGOUT", hear).await.is_err() {
                return;
            }
        }
        self.connection.finish().await;
    }
}

/// A reply other than OK is trouble.
pub(crate) fn must(done: Done) -> Result<Done, Trouble> {
    if done.is_ok() {
        return Ok(done);
    }
    Err(Trouble::new(TroubleKind::CommandRefused, format!("{:?}: {}", done.asked, done.text)))
}
