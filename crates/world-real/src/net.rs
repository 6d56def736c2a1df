//! Sockets of the operating system.
//!
//! ```text
//!    verb --> fresh --> turn: try the system call, which never blocks
//!                         done -> answer             would block -> watch --> turn: try again
//! ```
//!
//! The ring watches a socket until it is ready, and the call is made here. Lending the ring buffers
//! for `recv` and `send` instead would save a system call for each message. It would cost memory
//! that must outlive its connection, two more paths through every ring, and a race between closing
//! and arriving data. Connections carry protocols, not pages.
//!
//! Small writes are sent at once (`TCP_NODELAY`): a protocol's next line must not wait for the
//! answer to the last. Timeouts are the system's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use brunt_world::{Answering, Net, NetError, Reply, SocketId, Tasks, answer};
use rustix::buffer::spare_capacity;
use rustix::io::{self, Errno};
use rustix::net::{
    self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, ipproto, sockopt,
};

use crate::watches::Watches;

/// Bytes moved by one system call at most, so that none takes long.
const CALL_BYTES: usize = 256 << 10;

/// Connections that wait to be accepted. The system's own limit is `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// What is in flight on a socket.
enum Request {
    Accept(Answering<(SocketId, SocketAddr), NetError>),
    Connect(SocketAddr, Answering<SocketId, NetError>),
    Read(usize, Answering<Vec<u8>, NetError>),
    /// From which byte on.
    Write(usize, Vec<u8>, Answering<(), NetError>),
}

impl Request {
    fn fail(self, error: NetError) {
        match self {
            Self::Accept(answering) => answering.give(Err(error)),
            Self::Connect(_, answering) => answering.give(Err(error)),
            Self::Read(_, answering) => answering.give(Err(error)),
            Self::Write(_, _, answering) => answering.give(Err(error)),
        }
    }

    /// Whether it is to be done. What is written is written for the other side.
    fn is_wanted(&self) -> bool {
        match self {
            Self::Accept(answering) => answering.is_awaited(),
            Self::Connect(_, answering) => answering.is_awaited(),
            Self::Read(_, answering) => answering.is_awaited(),
            Self::Write(..) => true,
        }
    }
}

/// The two requests that a socket can have at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Accept and read.
    In,
    /// Connect and write.
    Out,
}

#[derive(Default)]
struct Lane {
    request: Option<Request>,
    watch: Option<u64>,
}

struct Socket {
    file: Rc<OwnedFd>,
    is_listener: bool,
    has_finished: bool,
    /// The system forgets this with every answer that it sends, so it is told again.
    acknowledges_at_once: bool,
    error: Option<NetError>,
    lanes: [Lane; 2],
}

#[derive(Default)]
struct Sockets {
    open: BTreeMap<SocketId, Socket>,
    made: u32,
    /// To be tried.
    fresh: Vec<(SocketId, Way)>,
    /// By the token of its watch.
    watched: BTreeMap<u64, (SocketId, Way)>,
    given_up: Vec<u64>,
}

/// [`Net`] of the real world.
pub(crate) struct RealNet {
    tasks: Tasks,
    sockets: RefCell<Sockets>,
}

impl RealNet {
    pub(crate) fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), sockets: RefCell::default() }
    }

    /// Tries what was asked for and what became possible.
    pub(crate) fn turn(&self, watches: &mut Watches) {
        let sockets = &mut *self.sockets.borrow_mut();
        let is_quiet = sockets.fresh.is_empty() && sockets.given_up.is_empty();
        if is_quiet && watches.is_quiet() {
            return;
        }
        let given_up = std::mem::take(&mut sockets.given_up);
        given_up.into_iter().for_each(|token| watches.give_up(token));
        for token in watches.take_ended() {
            if let Some((id, way)) = sockets.watched.remove(&token) {
                sockets.try_now(id, way, watches);
            }
        }
        for (id, way) in std::mem::take(&mut sockets.fresh) {
            sockets.try_now(id, way, watches);
        }
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut Sockets, Answering<T, NetError>)) -> Reply<T> {
        let (answering, answer) = answer(&self.tasks);
        ask(&mut self.sockets.borrow_mut(), answering);
        answer
    }
}

impl Sockets {
    fn add(&mut self, file: OwnedFd, is_listener: bool) -> SocketId {
        let id = SocketId(self.made);
        self.made = self.made.wrapping_add(1);
        let socket = Socket {
            file: Rc::new(file),
            is_listener,
            has_finished: false,
            acknowledges_at_once: false,
            error: None,
            lanes: Default::default(),
        };
        self.open.insert(id, socket);
        id
    }

    /// Takes a request, unless it is refused at once.
    fn request(&mut self, id: SocketId, way: Way, request: Request) {
        let is_accept = matches!(request, Request::Accept(_));
        let is_write = matches!(request, Request::Write(..));
        let Some(socket) = self.open.get_mut(&id) else {
            return request.fail(NetError::Closed);
        };
        let lane = &mut socket.lanes[way as usize];
        let is_taken = lane.request.as_ref().is_some_and(Request::is_wanted);
        match socket.error {
            _ if socket.is_listener != is_accept || is_taken => request.fail(NetError::Invalid),
            Some(error) if is_write => request.fail(error),
            _ if is_write && socket.has_finished => request.fail(NetError::Closed),
            _ => {
                lane.request = Some(request);
                // One that was dropped has left its watch.
                if lane.watch.is_none() {
                    self.fresh.push((id, way));
                }
            }
        }
    }

    /// Tries the request that waits, and watches the socket if it cannot be done now.
    fn try_now(&mut self, id: SocketId, way: Way, watches: &mut Watches) {
        let Some(socket) = self.open.get_mut(&id) else {
            return;
        };
        let lane = &mut socket.lanes[way as usize];
        lane.watch = None;
        let Some(request) = lane.request.take() else {
            return;
        };
        if !request.is_wanted() {
            // A connection that was not made has no owner.
            if matches!(request, Request::Connect(..)) {
                self.open.remove(&id);
            }
            return;
        }
        let file = Rc::clone(&socket.file);
        let (rest, error) = match request {
            Request::Read(at_most, answering) => {
                let tried = read(&file, at_most, answering, socket.error);
                if socket.acknowledges_at_once {
                    // A connection that broke says so by itself.
                    let _ = sockopt::set_tcp_quickack(&file, true);
                }
                tried
            }
            Request::Write(from, bytes, answering) => write(&file, from, bytes, answering),
            Request::Connect(to, answering) => {
                let (rest, error) = connect(&file, id, to, answering);
                if error.is_some() {
                    self.open.remove(&id);
                    return;
                }
                (rest, None)
            }
            Request::Accept(answering) => (self.accept(&file, answering), None),
        };
        let Some(socket) = self.open.get_mut(&id) else {
            return;
        };
        socket.error = socket.error.or(error);
        if let Some(request) = rest {
            let token = watches.begin(&file, way == Way::Out);
            socket.lanes[way as usize] = Lane { request: Some(request), watch: Some(token) };
            self.watched.insert(token, (id, way));
        }
    }

    fn accept(
        &mut self,
        file: &OwnedFd,
        answering: Answering<(SocketId, SocketAddr), NetError>,
    ) -> Option<Request> {
        let accepted = loop {
            match net::acceptfrom_with(file, FLAGS) {
                // CONNABORTED: the client has left again.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return Some(Request::Accept(answering)),
                other => break other,
            }
        };
        let accepted = accepted.and_then(|(file, from)| {
            sockopt::set_tcp_nodelay(&file, true)?;
            let from = from.ok_or(Errno::NOTCONN)?;
            Ok((self.add(file, false), SocketAddr::try_from(from)?))
        });
        answering.give(accepted.map_err(refusal));
        None
    }

    fn close(&mut self, id: SocketId) {
        let Some(socket) = self.open.remove(&id) else {
            return;
        };
        for lane in socket.lanes {
            if let Some(request) = lane.request {
                request.fail(NetError::Closed);
            }
            if let Some(token) = lane.watch {
                self.watched.remove(&token);
                self.given_up.push(token);
            }
        }
    }
}

/// What is left of a request, and the error that its socket has from now on.
type Tried = (Option<Request>, Option<NetError>);

fn connect(
    file: &OwnedFd,
    id: SocketId,
    to: SocketAddr,
    answering: Answering<SocketId, NetError>,
) -> Tried {
    // Asking again says how the first time ended.
    match net::connect(file, &to) {
        Ok(()) | Err(Errno::ISCONN) => {
            answering.give(Ok(id));
            (None, None)
        }
        Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => {
            (Some(Request::Connect(to, answering)), None)
        }
        Err(error) => {
            let error = refusal(error);
            answering.give(Err(error));
            (None, Some(error))
        }
    }
}

/// `error`: what the socket failed with before. The system says it once.
fn read(
    file: &OwnedFd,
    at_most: usize,
    answering: Answering<Vec<u8>, NetError>,
    error: Option<NetError>,
) -> Tried {
    let mut bytes = Vec::with_capacity(at_most.min(CALL_BYTES));
    let got = match retried(|| io::read(file, spare_capacity(&mut bytes))) {
        Err(Errno::AGAIN) => return (Some(Request::Read(at_most, answering)), None),
        Err(error) => Err(refusal(error)),
        Ok(0) => error.map_or(Ok(()), Err),
        Ok(_) => Ok(()),
    };
    answering.give(got.map(|()| bytes));
    (None, got.err())
}

fn write(file: &OwnedFd, from: usize, bytes: Vec<u8>, answering: Answering<(), NetError>) -> Tried {
    let piece = &bytes[from..bytes.len().min(from + CALL_BYTES)];
    match retried(|| net::send(file, piece, SendFlags::NOSIGNAL)) {
        Err(Errno::AGAIN) => (Some(Request::Write(from, bytes, answering)), None),
        Err(error) => {
            let error = refusal(error);
            answering.give(Err(error));
            (None, Some(error))
        }
        Ok(sent) if from + sent < bytes.len() => {
            (Some(Request::Write(from + sent, bytes, answering)), None)
        }
        Ok(_) => {
            answering.give(Ok(()));
            (None, None)
        }
    }
}

fn listen(at: SocketAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let file = socket(at)?;
    // A port whose last connections are still being forgotten by the system can be listened at.
    sockopt::set_socket_reuseaddr(&file, true)?;
    net::bind(&file, &at)?;
    net::listen(&file, BACKLOG)?;
    let at = SocketAddr::try_from(net::getsockname(&file)?)?;
    Ok((file, at))
}

/// A socket of the family of `address`.
fn socket(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let file = net::socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&file, true)?;
    Ok(file)
}

fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// The seam's name for `error`.
fn refusal(error: Errno) -> NetError {
    match error {
        Errno::CONNREFUSED => NetError::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::NOTCONN => NetError::Reset,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => {
            NetError::Unreachable
        }
        Errno::TIMEDOUT => NetError::TimedOut,
        Errno::ADDRINUSE => NetError::InUse,
        Errno::MFILE | Errno::NFILE => NetError::NoHandle,
        Errno::ADDRNOTAVAIL => NetError::NoPort,
        other => NetError::Other(other.raw_os_error()),
    }
}

impl Net for RealNet {
    fn listen(&self, at: SocketAddr) -> Reply<(SocketId, SocketAddr)> {
        self.ask(|sockets, answering| {
            let made = listen(at).map_err(|error| match error {
                Errno::ADDRNOTAVAIL => NetError::Invalid,
                error => refusal(error),
            });
            answering.give(made.map(|(file, at)| (sockets.add(file, true), at)));
        })
    }

    fn accept(&self, listener: SocketId) -> Reply<(SocketId, SocketAddr)> {
        self.ask(|sockets, answering| {
            sockets.request(listener, Way::In, Request::Accept(answering));
        })
    }

    fn connect(&self, to: SocketAddr) -> Reply<SocketId> {
        self.ask(|sockets, answering| match socket(to) {
            Err(error) => answering.give(Err(refusal(error))),
            Ok(file) => {
                let id = sockets.add(file, false);
                sockets.request(id, Way::Out, Request::Connect(to, answering));
            }
        })
    }

    fn read(&self, connection: SocketId, at_most: usize) -> Reply<Vec<u8>> {
        assert!(at_most > 0, "a read of nothing");
        self.ask(|sockets, answering| {
            sockets.request(connection, Way::In, Request::Read(at_most, answering));
        })
    }

    fn write(&self, connection: SocketId, bytes: Vec<u8>) -> Reply<()> {
        self.ask(|sockets, answering| {
            sockets.request(connection, Way::Out, Request::Write(0, bytes, answering));
        })
    }

    fn finish(&self, connection: SocketId) -> Reply<()> {
        self.ask(|sockets, answering| answering.give(sockets.finish(connection)))
    }

    fn acknowledge_at_once(&self, connection: SocketId) -> bool {
        let sockets = &mut *self.sockets.borrow_mut();
        let Some(socket) = sockets.open.get_mut(&connection) else {
            return false;
        };
        socket.acknowledges_at_once = true;
        sockopt::set_tcp_quickack(&socket.file, true).is_ok()
    }

    fn close(&self, socket: SocketId) {
        self.sockets.borrow_mut().close(socket);
    }
}

impl Sockets {
    fn finish(&mut self, id: SocketId) -> Result<(), NetError> {
        let socket = self.open.get_mut(&id).ok_or(NetError::Closed)?;
        let is_writing = socket.lanes[Way::Out as usize].request.is_some();
        match socket.error {
            _ if socket.is_listener || is_writing => return Err(NetError::Invalid),
            Some(error) => return Err(error),
            None if socket.has_finished => return Err(NetError::Closed),
            None => socket.has_finished = true,
        }
        net::shutdown(&socket.file, Shutdown::Write).map_err(refusal)
    }
}
