//! The way to a site on another host: one connection, carried by ssh.
//!
//! ```text
//!   source --> loopback port of the drill --> ssh -W --> sshd there --> loopback port of the destination
//! ```
//!
//! Nothing listens beyond loopback on either host, and ssh decides who may log in there. It is cut
//! in this process: bytes wait, as behind a relay.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use brunt_scenario::RemoteHost;

/// Bytes of one read.
const READ: usize = 256 << 10;
/// Never a question, and an end when the other host is gone for a minute.
const OPTIONS: [&str; 12] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=20",
    // Each connection is the drill's own, and ends with it.
    "-o",
    "ControlMaster=no",
    "-o",
    "ControlPath=none",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
];

/// `ssh` with the options of a drill, to which a command or `-W` is added.
pub(super) fn ssh() -> Command {
    let mut command = Command::new("ssh");
    command.args(OPTIONS);
    command
}

/// A tunnel for one connection. It ends with that, or when this is dropped.
pub(super) struct Tunnel {
    at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes that have gone to the destination.
    sent: AtomicU64,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    is_over: bool,
}

impl Tunnel {
    /// A tunnel to `to` at `host`.
    ///
    /// # Errors
    /// When it cannot listen. Why ssh fails is for its stderr, and ends the connection.
    pub(super) fn open(host: &RemoteHost, to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (at, shared) = (listener.local_addr()?, Arc::new(Shared::default()));
        let (host, own) = (host.host.clone(), Arc::clone(&shared));
        let thread = thread::Builder::new().name("tunnel".to_owned());
        // When ssh cannot be started, the connection ends, which the source reports.
        thread.spawn(move || drop(carry(&listener, &host, to, &own)))?;
        Ok(Self { at, shared })
    }

    /// Where the source connects.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// Bytes that have gone to the destination.
    pub(super) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// Lets nothing through from now on, or everything again.
    pub(super) fn cut(&self, is_cut: bool) {
        self.shared.change(|state| state.is_cut = is_cut);
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_over = true);
        // Lets go of a thread that still waits for the connection.
        let _ = TcpStream::connect(self.at);
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until it is not cut; `false` when it is over.
    fn may_pass(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut State| state.is_cut && !state.is_over;
        let state = self.changed.wait_while(state, waits);
        !state.unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Copies until the end of `from`, or of the tunnel.
    fn copy(&self, from: &mut impl Read, to: &mut impl Write, counted: Option<&AtomicU64>) {
        let mut bytes = vec![0; READ];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            let passed = self.may_pass() && to.write_all(&bytes[..length]).is_ok();
            if !passed || to.flush().is_err() {
                return;
            }
            if let Some(counted) = counted {
                counted.fetch_add(length as u64, Ordering::Relaxed);
            }
        }
    }
}

fn carry(listener: &TcpListener, host: &str, to: SocketAddr, shared: &Shared) -> io::Result<()> {
    let (mut near, _) = listener.accept()?;
    if !shared.may_pass() {
        return Ok(());
    }
    near.set_nodelay(true)?;
    let mut process = ssh()
        .args(["-W", &to.to_string(), "--", host])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Ctrl-C is for the drill.
        .process_group(0)
        .spawn()?;
    let (mut there, mut back) = (process.stdin.take(), process.stdout.take());
    let mut returning = near.try_clone()?;
    thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(back) = &mut back {
                shared.copy(back, &mut returning, None);
            }
            let _ = returning.shutdown(Shutdown::Both);
        });
        if let Some(there) = &mut there {
            shared.copy(&mut near, there, Some(&shared.sent));
        }
        there = None;
        let _ = process.kill();
    });
    process.wait().map(drop)
}
