//! Hostile mailbox servers over real sockets: each is named, none holds a run up, and none makes it
//! take memory. A program of its own, because the memory of the whole process is looked at.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;
use std::{fs, thread};

use brunt_load::{
    Account, Accounts, Course, CourseError, Drain, Endpoint, Keep, KeepError, Kind, Patience,
    Protocol, Reading, Secret, Sending, Stop, Trouble, TroubleKind, run,
};
use brunt_mail::{Mailing, MailingOptions, Terms};
use brunt_units::Span;
use brunt_world_real::{Options, RealWorld};

/// What a server says instead of a list of folders.
type Misdeed = fn(&mut TcpStream, &str) -> std::io::Result<()>;

/// Bytes that a misdeed sends: many times what a session may keep.
const FLOOD: usize = 48 << 20;

/// What the whole process may grow by: four sessions, their sockets, and what the allocator keeps.
const GROWTH_KIB_MAX: u64 = 16 << 10;

fn listen(misdeed: Misdeed) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a server beside the run")]
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || drop(serve(stream, misdeed)));
        }
    });
    address
}

fn serve(mut stream: TcpStream, misdeed: Misdeed) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    stream.write_all(b"* OK [CAPABILITY IMAP4rev1 LITERAL+] ready\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        let (tag, command) = line.split_once(' ').unwrap_or((&line, ""));
        match command.starts_with("LIST") {
            true => misdeed(&mut stream, tag)?,
            false => stream.write_all(format!("{tag} OK done\r\n").as_bytes())?,
        }
    }
    Ok(())
}

fn flood(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    for _ in 0..FLOOD.div_euclid(piece.len()) {
        stream.write_all(piece)?;
    }
    Ok(())
}

/// Why a run does not begin, and how long that took.
fn refused(misdeed: Misdeed, stop_after: Option<Duration>) -> (Trouble, Span) {
    let address = listen(misdeed);
    let account = |number: u32| Account {
        address: format!("u{number}@test.invalid"),
        user: format!("u{number}"),
        secret: Secret::new("hunter2"),
    };
    let accounts = Rc::new(Accounts::new((0..4).map(account).collect()).unwrap());
    let options = MailingOptions::new(7, 5, 1_795_751_190, accounts.addresses());
    let course = Course {
        mailing: Rc::new(Mailing::new(options).unwrap()),
        accounts,
        trust: None,
        patience: Patience {
            reply: Span::seconds(2),
            command: Span::seconds(20),
            ..Patience::default()
        },
        sending: Sending::new(Endpoint::new(address, Protocol::Lmtp), 10),
        users: None,
        disturbance: None,
        drain: Drain::Nothing,
        reading: Reading { tries: 1, ..Reading::new(Endpoint::new(address, Protocol::Imap)) },
        terms: Terms::default(),
        keep: Rc::new(Nowhere),
    };
    let stop = Stop::default();
    if let Some(after) = stop_after {
        let stop = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "somebody beside the run")]
        thread::spawn(move || {
            thread::sleep(after);
            stop.ask();
        });
    }
    let options = Options { slab_bytes: 1 << 20, ..Options::default() };
    let mut real = RealWorld::new(&options).unwrap();
    let world = real.world.clone();
    real.executor.block_on(async move {
        let began = world.clock.now();
        let error = run(&world, course, &stop).await.unwrap_err();
        let CourseError::Closed { trouble, .. } = error else { panic!("{error}") };
        (trouble, world.clock.now().since(began))
    })
}

struct Nowhere;

impl Keep for Nowhere {
    fn append(&self, _: &[u8]) -> Result<(), KeepError> {
        panic!("nothing is sent to a server whose mailboxes cannot be read");
    }
}

/// The most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn hostile_servers_are_named_and_take_neither_time_nor_memory() {
    let garbage = |kind| TroubleKind::Protocol(kind);
    let cases: [(&str, Misdeed, TroubleKind); 6] = [
        ("closes", |stream, _| stream.shutdown(std::net::Shutdown::Both), TroubleKind::Closed),
        ("says goodbye", |stream, _| stream.write_all(b"* BYE killed\r\n"), garbage(Kind::Goodbye)),
        (
            "stalls in a line",
            |stream, _| stream.write_all(b"* LIST (\\HasNo"),
            TroubleKind::NoAnswer,
        ),
        (
            "says an endless line",
            |stream, _| flood(stream, &[b'x'; 1 << 16]),
            garbage(Kind::LineTooLong),
        ),
        (
            "announces four gigabytes, sends some and closes",
            |stream, _| {
                stream.write_all(b"* LIST () \"/\" {4294967295}\r\n")?;
                flood(stream, &[b'y'; 1 << 16])?;
                stream.shutdown(std::net::Shutdown::Both)
            },
            TroubleKind::Closed,
        ),
        (
            "says a million untagged lines and no more",
            |stream, _| {
                let lines = b"* 17 EXISTS\r\n".repeat(1_000);
                (0..1_000).try_for_each(|_| stream.write_all(&lines))
            },
            TroubleKind::NoAnswer,
        ),
    ];
    // Everything that is made once is made by the first.
    let before = {
        refused(cases[0].1, None);
        peak_kib()
    };
    for (what, misdeed, kind) in cases {
        let (trouble, took) = refused(misdeed, None);
        assert_eq!(trouble.kind, kind, "{what}: {trouble}");
        assert!(took < Span::seconds(120), "{what}: {took}");
        let growth = peak_kib() - before;
        assert!(growth <= GROWTH_KIB_MAX, "{what}: {growth} KiB");
    }
    // Nor does it hold up whoever stops it: what a session waits for is bounded.
    let (trouble, took) = refused(|_, _| Ok(()), Some(Duration::from_millis(300)));
    assert_eq!(trouble.kind, TroubleKind::NoAnswer);
    assert!(took < Span::seconds(60), "{took}");
}
