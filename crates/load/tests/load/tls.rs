//! Courses over TLS, from the first byte and by STARTTLS, against a proxy that ends TLS.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use brunt_load::{
    Anchor, CourseError, Endpoint, Finished, Kind, Protocol, Stop, TlsUse, TroubleKind, Trust, run,
};
use brunt_mail::Verdict;
use brunt_world::{SocketId, World};
use brunt_world_virtual::{VirtualOptions, VirtualWorld};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::course::course;
use super::server::{Bad, Server};

const TODAY: u64 = 1_795_751_190;

struct Certified {
    config: Arc<ServerConfig>,
    pem: Vec<u8>,
}

fn certified() -> Certified {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    Certified { config: Arc::new(config), pem: certificate.pem().into_bytes() }
}

/// How the proxy begins.
#[derive(Clone, Copy, PartialEq)]
enum Begins {
    WithTls,
    /// With the server's greeting and an offer of TLS.
    WithOffer,
    /// The same, and a line comes along with the answer to STARTTLS.
    WithInjection,
    /// Without an offer.
    WithoutOffer,
}

/// A proxy of `target`; returns its address.
async fn proxy(
    world: &World,
    target: SocketAddr,
    config: &Arc<ServerConfig>,
    begins: Begins,
) -> SocketAddr {
    let at: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (listener, address) = world.net.listen(at).await.unwrap();
    let (own, config) = (world.clone(), Arc::clone(config));
    drop(world.spawner.spawn(async move {
        while let Ok((outside, _)) = own.net.accept(listener).await {
            let (world, config) = (own.clone(), Arc::clone(&config));
            drop(own.spawner.spawn(async move {
                let inside = world.net.connect(target).await.unwrap();
                let _ = pass(&world, outside, inside, &config, begins).await;
                world.net.close(outside);
                world.net.close(inside);
            }));
        }
    }));
    address
}

/// Greets, and answers STARTTLS.
async fn begin(world: &World, outside: SocketId, inside: SocketId, begins: Begins) -> Option<()> {
    let net = &world.net;
    let says = async |line: &str| net.write(outside, line.as_bytes().to_vec()).await.ok();
    let greeting = net.read(inside, 4096).await.ok()?;
    let is_imap = greeting.starts_with(b"*");
    let has_offer = begins != Begins::WithoutOffer;
    match (is_imap, has_offer) {
        (true, true) => says("* OK [CAPABILITY IMAP4rev1 STARTTLS] hi\r\n").await?,
        (true, false) => says("* OK [CAPABILITY IMAP4rev1] hi\r\n").await?,
        (false, _) => says("220 hi\r\n").await?,
    }
    if !is_imap {
        net.read(outside, 4096).await.ok()?;
        says(if has_offer { "250-small\r\n250 STARTTLS\r\n" } else { "250 small\r\n" }).await?;
    }
    net.read(outside, 4096).await.ok().filter(|said| !said.is_empty())?;
    let mut go = if is_imap { "b1 OK go\r\n" } else { "220 go\r\n" }.to_owned();
    if begins == Begins::WithInjection {
        go.push_str(if is_imap { "* OK evil\r\n" } else { "250 evil\r\n" });
    }
    says(&go).await
}

async fn pass(
    world: &World,
    outside: SocketId,
    inside: SocketId,
    config: &Arc<ServerConfig>,
    begins: Begins,
) -> Option<()> {
    let net = &world.net;
    if begins != Begins::WithTls {
        begin(world, outside, inside, begins).await?;
    }
    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
    let shared = Rc::new(std::cell::RefCell::new(tls));
    let (own, back) = (world.clone(), Rc::clone(&shared));
    let returning = world.spawner.spawn(async move {
        while let Ok(bytes) = own.net.read(inside, 1 << 14).await {
            if bytes.is_empty() {
                break;
            }
            let mut out = Vec::new();
            back.borrow_mut().writer().write_all(&bytes).unwrap();
            while back.borrow().wants_write() {
                back.borrow_mut().write_tls(&mut out).unwrap();
            }
            if own.net.write(outside, out).await.is_err() {
                break;
            }
        }
        own.net.close(outside);
    });
    loop {
        let bytes = net.read(outside, 1 << 14).await.ok().filter(|bytes| !bytes.is_empty())?;
        let (mut rest, mut plain) = (bytes.as_slice(), Vec::new());
        while !rest.is_empty() {
            let mut tls = shared.borrow_mut();
            tls.read_tls(&mut rest).ok()?;
            tls.process_new_packets().ok()?;
            let mut some = vec![0; 1 << 15];
            while let Ok(length) = tls.reader().read(&mut some) {
                if length == 0 {
                    break;
                }
                plain.extend_from_slice(&some[..length]);
            }
        }
        let mut out = Vec::new();
        while shared.borrow().wants_write() {
            shared.borrow_mut().write_tls(&mut out).unwrap();
        }
        if !out.is_empty() && !returning.is_done() {
            net.write(outside, out).await.ok()?;
        }
        if !plain.is_empty() {
            net.write(inside, plain).await.ok()?;
        }
    }
}

fn play(begins: Begins, anchor: Option<Anchor>, is_lmtp: bool) -> Result<Finished, CourseError> {
    let certified = certified();
    let mut made = VirtualWorld::new(VirtualOptions::new(3));
    let world = made.world.clone();
    made.executor.block_on(async move {
        let server = Server::new(&world, Bad::default(), is_lmtp);
        let [post, imap] = server.start("127.0.0.1").await;
        let post = proxy(&world, post, &certified.config, begins).await;
        let imap = proxy(&world, imap, &certified.config, begins).await;
        let mut course = course(5, [post, imap], super::course::protocol(is_lmtp));
        let tls = if begins == Begins::WithTls { TlsUse::Implicit } else { TlsUse::StartTls };
        let sending = Endpoint::new(post, super::course::protocol(is_lmtp));
        course.sending.endpoint = sending.with_tls(tls, "localhost");
        course.reading.endpoint = Endpoint::new(imap, Protocol::Imap).with_tls(tls, "localhost");
        course.sending.messages = Some(60);
        let anchor = anchor.unwrap_or(Anchor::Certificate(certified.pem));
        course.trust = Some(Trust::new(&anchor, TODAY).unwrap());
        run(&world, course, &Stop::default()).await
    })
}

#[test]
fn a_course_over_tls_passes() {
    let finished = play(Begins::WithTls, None, true).unwrap();
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(finished.errors.is_empty(), "{:?}", finished.errors);
    assert_eq!(finished.sent.messages, 60);
}

/// Why a course did not begin.
fn closed(result: Result<Finished, CourseError>) -> TroubleKind {
    match result {
        Err(CourseError::Closed { trouble, .. }) => trouble.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tls_by_starttls_is_wanted_or_the_server_is_left() {
    let finished = play(Begins::WithOffer, None, false).unwrap();
    assert_eq!(finished.audited.verdict(), Verdict::Pass, "{:?}", finished.audited);
    assert!(finished.errors.is_empty(), "{:?}", finished.errors);
    assert_eq!(closed(play(Begins::WithoutOffer, None, false)), TroubleKind::NoTls);
}

#[test]
fn what_is_wrong_with_tls_is_named_before_anything_is_sent() {
    let other = Some(Anchor::Certificate(certified().pem));
    let kind = closed(play(Begins::WithTls, other, true));
    assert_eq!(kind, TroubleKind::Protocol(Kind::Certificate));
    let kind = closed(play(Begins::WithInjection, None, true));
    assert_eq!(kind, TroubleKind::Protocol(Kind::EarlyBytes));
}
