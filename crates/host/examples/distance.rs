//! What an emulated link does to TCP: round trips of single bytes, and how full one connection
//! makes it.
//!
//! ```console
//! cargo run --release -p brunt-host --example distance 50ms 2000
//! ```
//!
//! Two processes of this program, each in a network of its own. First a byte goes to the other end
//! and back, as often as the last argument says, over a link with that round trip and nothing else;
//! then one connection sends for five seconds over the same round trip with 100 Mbit/s. Prints
//! JSON.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io};

use brunt_host::distance::{self, ENDS, Emulator, LinkConditions};
use brunt_units::Span;

type Failure = Box<dyn Error>;

const PORT: u16 = 7;
/// 100 Mbit/s.
const BYTES_PER_SECOND: u64 = 12_500_000;
const FILLS_FOR: Duration = Duration::from_secs(5);
const SETTLES: Duration = Duration::from_secs(1);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["answers"] => answer(),
        ["asks", times] => ask(times.parse()?),
        ["fills"] => fill(),
        ["takes"] => take(),
        [round_trip, times] => measure(round_trip.parse()?, times),
        _ => Err("two arguments: a round trip, and how often it is measured".into()),
    }
}

fn measure(round_trip: Span, times: &str) -> Result<(), Failure> {
    let quick = LinkConditions { round_trip, ..LinkConditions::default() };
    let mut trips: Vec<u64> = Vec::new();
    for word in run(quick, &["asks", times], "answers")?.split_whitespace() {
        trips.push(word.parse()?);
    }
    trips.sort_unstable();
    let at = |percent: usize| {
        let index = (trips.len() * percent).div_ceil(100).max(1) - 1;
        Span::nanos(trips[index]).as_millis()
    };
    let narrow = LinkConditions { bytes_per_second: BYTES_PER_SECOND, ..quick };
    let filled: f64 = run(narrow, &["fills"], "takes")?.trim().parse()?;
    let share = filled / BYTES_PER_SECOND as f64;
    let (p50, p99, worst) = (at(50), at(99), at(100));
    let line =
        format!("{{\"p50_ms\":{p50},\"p99_ms\":{p99},\"worst_ms\":{worst},\"filled\":{share}}}\n");
    io::stdout().write_all(line.as_bytes())?;
    Ok(())
}

/// Runs both ends over a link; returns what the first one prints.
fn run(conditions: LinkConditions, asking: &[&str], answering: &str) -> Result<String, Failure> {
    let (mut asks, asker) = start(asking)?;
    let (mut answers, answerer) = start(&[answering])?;
    let ends = [distance::receive(&asker)?, distance::receive(&answerer)?];
    let link = Emulator::start(ends, conditions, 1)?;
    let mut ready = [0];
    (&answerer).read_exact(&mut ready)?;
    (&asker).write_all(&ready)?;
    let mut said = String::new();
    let mut stdout = asks.stdout.take().ok_or("it is piped")?;
    stdout.read_to_string(&mut said)?;
    answers.kill()?;
    answers.wait()?;
    drop(link);
    match asks.wait()?.success() {
        true => Ok(said),
        false => Err("an end of the link failed".into()),
    }
}

fn start(arguments: &[&str]) -> Result<(Child, UnixStream), Failure> {
    let (own, theirs) = UnixStream::pair()?;
    let child = Command::new(env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .spawn()?;
    Ok((child, own))
}

/// Leaves the network; returns what connects this end with the program that measures.
fn begin(address: Ipv4Addr) -> Result<UnixStream, Failure> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    distance::leave(address, &stdin)?;
    Ok(stdin.into())
}

/// Waits for a connection from the other end.
fn accept() -> Result<TcpStream, Failure> {
    let mut told = begin(ENDS[1])?;
    let listener = TcpListener::bind((ENDS[1], PORT))?;
    told.write_all(b"r")?;
    let (connection, _) = listener.accept()?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// Returns every byte.
fn answer() -> Result<(), Failure> {
    let mut connection = accept()?;
    let mut byte = [0];
    while connection.read(&mut byte)? > 0 {
        connection.write_all(&byte)?;
    }
    Ok(())
}

/// Takes everything, and returns the bytes a second after TCP has found the bandwidth.
fn take() -> Result<(), Failure> {
    let mut connection = accept()?;
    let mut bytes = vec![0; 1 << 20];
    let (begun, mut taken, mut settled) = (Instant::now(), 0, None);
    loop {
        let length = connection.read(&mut bytes)?;
        taken += length;
        match settled {
            _ if length == 0 => break,
            None if begun.elapsed() >= SETTLES => settled = Some((Instant::now(), taken)),
            _ => {}
        }
    }
    let (since, before) = settled.ok_or("it ended too early")?;
    let rate = (taken - before) as f64 / since.elapsed().as_secs_f64();
    connection.write_all(rate.to_string().as_bytes())?;
    Ok(())
}

fn connect() -> Result<TcpStream, Failure> {
    let mut told = begin(ENDS[0])?;
    told.read_exact(&mut [0])?;
    let connection = TcpStream::connect((ENDS[1], PORT))?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// Prints how long each round trip took, in nanoseconds.
fn ask(times: u32) -> Result<(), Failure> {
    let mut connection = connect()?;
    for _ in 0..times {
        let begun = Instant::now();
        connection.write_all(b"x")?;
        connection.read_exact(&mut [0])?;
        let line = format!("{}\n", begun.elapsed().as_nanos());
        io::stdout().write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Sends for a while, and prints the bytes a second that the other end took.
fn fill() -> Result<(), Failure> {
    let mut connection = connect()?;
    let bytes = vec![0; 64 << 10];
    let begun = Instant::now();
    while begun.elapsed() < FILLS_FOR {
        connection.write_all(&bytes)?;
    }
    connection.shutdown(Shutdown::Write)?;
    let mut rate = String::new();
    connection.read_to_string(&mut rate)?;
    io::stdout().write_all(rate.as_bytes())?;
    Ok(())
}
