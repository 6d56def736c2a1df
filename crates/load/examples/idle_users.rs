//! What users who are logged on and do nothing cost in memory, over TLS.
//!
//! ```text
//! ulimit -n 20000
//! cargo run --release -p brunt-load --example idle_users -- 10000
//! ```
//!
//! The users are those of `brunt load`. Their server is this program a second time: it speaks enough of
//! IMAP over TLS to show empty mailboxes, and its memory does not count. 20,000 open files of one
//! process are the limit of many systems, so the two sides are two processes.

#![expect(clippy::print_stdout, reason = "the result is what this program is for")]

mod tls;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;

use brunt_load::{
    Account, Accounts, Anchor, Course, Disturbance, Drain, Endpoint, Keep, KeepError, Patience,
    Protocol, Reading, Secret, Sending, Stop, TlsUse, Trust, Users, run,
};
use brunt_mail::{Mailing, MailingOptions, Routing, Terms};
use brunt_units::Span;
use brunt_users::{Day, Dispatch, Profile};
use brunt_world::{SocketId, World};
use brunt_world_real::{Options, RealWorld};
use rustls::{ServerConfig, ServerConnection};

const TODAY: u64 = 1_795_751_190;
const RESPONDER: &str = "responder";
/// Folders that users would make.
const FOLDERS: [&str; 6] = ["INBOX", "Archive", "Calendar", "Contacts", "Junk", "Sent"];
const PROFILE: &str = r#"
title = "idle"
about = "Users who look for mail once."
day = { value = "8h", certainty = "assumed" }
[[task]]
kind = "keepalive"
per_day = { value = 1, certainty = "assumed" }
[[message]]
text = "1 KiB"
weight = { value = 1, certainty = "assumed" }
[recipients]
mean = { value = 1, certainty = "assumed" }
[[client]]
kind = "thunderbird"
percent = { value = 100, certainty = "assumed" }
"#;

fn main() {
    let mut arguments = env::args().skip(1);
    match arguments.next().as_deref() {
        Some(RESPONDER) => respond(),
        users => measure(users.map_or(10_000, |users| users.parse().expect("a number of users"))),
    }
}

/// Nobody reads this ledger.
struct Nothing;

impl Keep for Nothing {
    fn append(&self, _: &[u8]) -> Result<(), KeepError> {
        Ok(())
    }
}

fn measure(users: u32) {
    let (mut child, at) = start();
    let account = |number: u32| Account {
        address: format!("u{number:05}@test.invalid"),
        user: format!("u{number:05}"),
        secret: Secret::new("hunter2"),
    };
    let accounts = Accounts::new((0..users).map(account).collect()).expect("accounts");
    let mailing = MailingOptions::new(7, 1, TODAY, accounts.addresses());
    let mailing = Mailing::new(MailingOptions { routing: Routing::ByTurn, ..mailing });
    let endpoint = Endpoint::new(at, Protocol::Imap).with_tls(TlsUse::Implicit, "localhost");
    // Each logs on within the ramp; at two thirds of the run all of them are there.
    let length = Span::seconds(u64::from(users.div_euclid(200)) + 15);
    let run_for = Span(length.0 * 3);
    let day = Day { length: run_for, ramp: length, run: run_for };
    let mut real = RealWorld::new(&Options { slab_bytes: 1 << 20, ..Options::default() });
    let real = real.as_mut().expect("a world");
    let world = real.world.clone();
    let course = Course {
        mailing: Rc::new(mailing.expect("messages")),
        accounts: Rc::new(accounts),
        trust: Some(Trust::new(&Anchor::Anybody, TODAY).expect("anybody")),
        patience: Patience::default(),
        sending: Sending {
            messages: None,
            time: Some(run_for),
            ..Sending::new(Endpoint::new(at, Protocol::Smtp), 0)
        },
        users: Some(Users {
            profile: Rc::new(Profile::read("idle", PROFILE).expect("a profile")),
            day,
            dispatch: Dispatch::WhenDue,
            until: None,
            fill: 0,
            mailboxes: endpoint.clone(),
        }),
        disturbance: Some(look(&world, Span(length.0 * 2))),
        drain: Drain::Nothing,
        reading: Reading::new(endpoint),
        terms: Terms::default(),
        keep: Rc::new(Nothing),
    };
    let finished =
        real.executor.block_on(async move { run(&world, course, &Stop::default()).await });
    let finished = finished.expect("a run");
    let tally = finished.tally.expect("users");
    let done: u64 = tally.tasks().map(|(_, task)| task.done).sum();
    println!("errors: {}; tasks done in the middle half: {done}", finished.errors.iter().count());
    println!("most memory of the whole run: {}", status("VmHWM:"));
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

/// Says what is used at this time of the run.
fn look(world: &World, after: Span) -> Disturbance {
    let world = world.clone();
    let before = status("VmRSS:");
    Box::new(move |progress| {
        Box::pin(async move {
            progress.beginning().await;
            world.sleep(after).await;
            let sockets = fs::read_dir("/proc/self/fd").expect("this is Linux").flatten();
            let sockets = sockets.filter(|file| {
                fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().contains("socket"))
            });
            println!(
                "{} connections; memory {}, before {before}",
                sockets.count(),
                status("VmRSS:")
            );
        })
    })
}

/// A line of what the system says about this process.
fn status(key: &str) -> String {
    let table = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = table.lines().find_map(|line| line.strip_prefix(key)).expect("it has this line");
    line.trim().to_owned()
}

fn start() -> (Child, SocketAddr) {
    let own = env::current_exe().expect("this program");
    let mut child = Command::new(own)
        .arg(RESPONDER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let said = child.stdout.take().expect("it is piped");
    BufReader::new(said).read_line(&mut line).expect("it says where it is");
    (child, line.trim().parse().expect("an address"))
}

/// The server, until it is killed.
fn respond() {
    let config = tls::config();
    let mut real = RealWorld::new(&Options { slab_bytes: 1 << 20, ..Options::default() });
    let real = real.as_mut().expect("a world");
    let world = real.world.clone();
    real.executor.block_on(async move {
        let at = "127.0.0.1:0".parse().expect("an address");
        let (listener, at) = world.net.listen(at).await.expect("a listener");
        println!("{at}");
        while let Ok((client, _)) = world.net.accept(listener).await {
            let (own, config) = (world.clone(), Arc::clone(&config));
            drop(world.spawner.spawn(async move {
                let _ = serve(&own, client, config).await;
                own.net.close(client);
            }));
        }
    });
}

/// One session; `None` when it has ended.
async fn serve(world: &World, client: SocketId, config: Arc<ServerConfig>) -> Option<()> {
    let mut tls = ServerConnection::new(config).ok()?;
    tls.writer().write_all(b"* OK [CAPABILITY IMAP4rev1] idle\r\n").ok()?;
    let mut lines = Vec::new();
    loop {
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out).ok()?;
        }
        if !out.is_empty() {
            world.net.write(client, out).await.ok()?;
        }
        let bytes = world.net.read(client, 4096).await.ok().filter(|bytes| !bytes.is_empty())?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            tls.read_tls(&mut rest).ok()?;
            tls.process_new_packets().ok()?;
        }
        let mut plain = [0; 4096];
        while let Ok(length @ 1..) = tls.reader().read(&mut plain) {
            lines.extend_from_slice(&plain[..length]);
        }
        while let Some(end) = lines.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = lines.drain(..=end).collect();
            let answer = answer(&String::from_utf8_lossy(&line));
            tls.writer().write_all(answer.as_bytes()).ok()?;
        }
    }
}

/// Mailboxes are empty, and everything can be done.
fn answer(line: &str) -> String {
    let mut words = line.split_whitespace();
    let (tag, command) = (words.next().unwrap_or("*"), words.next().unwrap_or_default());
    let data = match command.to_ascii_uppercase().as_str() {
        "CAPABILITY" => "* CAPABILITY IMAP4rev1\r\n".to_owned(),
        "LIST" => FOLDERS.map(|name| format!("* LIST () \"/\" {name}\r\n")).concat(),
        "SELECT" | "EXAMINE" => {
            "* 0 EXISTS\r\n* 0 RECENT\r\n* FLAGS (\\Seen)\r\n* OK [UIDVALIDITY 1] .\r\n* OK [UIDNEXT 1] .\r\n"
                .to_owned()
        }
        _ => String::new(),
    };
    format!("{data}{tag} OK done\r\n")
}
