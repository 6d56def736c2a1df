//! TLS against a server of rustls': certificates that are trusted and those that are not.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use brunt_protocols::tls::{Anchor, Trust, TrustError};
use brunt_protocols::{Channel, Failure, Kind};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// 2026-11-27.
const TODAY: u64 = 1_795_737_600;

struct Certified {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    pem: Vec<u8>,
}

/// An authority, and a certificate by it for `localhost`, good for the year 2026.
fn authority() -> (Vec<u8>, Certified) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let root = params.self_signed(&key).expect("a certificate");
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2026, 12, 31);
    let key = KeyPair::generate().expect("a key");
    let leaf = params.signed_by(&key, &issuer).expect("a certificate");
    let pem = leaf.pem().into_bytes();
    (root.pem().into_bytes(), Certified { chain: vec![leaf.der().clone()], key, pem })
}

/// As `openssl req -x509` makes it: signed by itself, and an authority.
fn own() -> Certified {
    let mut params = CertificateParams::new(vec!["other.invalid".to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let leaf = params.self_signed(&key).expect("a certificate");
    let pem = leaf.pem().into_bytes();
    Certified { chain: vec![leaf.der().clone()], key, pem }
}

fn server(
    certified: &Certified,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ServerConnection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(certified.key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(certified.chain.clone(), key)
        .expect("a certificate with its key");
    ServerConnection::new(Arc::new(config)).expect("a server")
}

/// Sends both ways until neither has anything to send, `piece` bytes at a time. Returns what the
/// client heard; the server echoes.
fn talk(
    channel: &mut Channel,
    server: &mut ServerConnection,
    piece: usize,
) -> Result<Vec<u8>, Failure> {
    let mut heard = Vec::new();
    loop {
        let up = channel.outgoing();
        let mut rest = up.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("memory");
            if server.process_new_packets().is_err() {
                break;
            }
            let mut said = vec![0; 1 << 16];
            if let Ok(length) = server.reader().read(&mut said) {
                server.writer().write_all(&said[..length]).expect("memory");
            }
        }
        let mut down = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut down).expect("memory");
        }
        if up.is_empty() && down.is_empty() {
            return Ok(heard);
        }
        for piece in down.chunks(piece) {
            heard.extend(channel.receive(piece.to_vec())?);
        }
    }
}

/// What becomes of a session with this server.
fn session(
    anchor: &Anchor,
    name: &str,
    certified: &Certified,
    piece: usize,
) -> Result<Vec<u8>, Failure> {
    let trust = Trust::new(anchor, TODAY).expect("certificates");
    let mut server = server(certified, rustls::ALL_VERSIONS);
    let mut channel = Channel::plain();
    channel.start_tls(&trust, name)?;
    channel.send(b"EHLO a\r\n")?;
    assert!(!channel.is_secure() && channel.is_shaking_hands());
    let heard = talk(&mut channel, &mut server, piece);
    assert_eq!(channel.is_secure(), heard.is_ok());
    heard
}

fn kind(result: Result<Vec<u8>, Failure>) -> Kind {
    result.expect_err("not trusted").kind
}

#[test]
fn what_is_sent_before_the_handshake_waits_for_it() {
    let (root, certified) = authority();
    let anchor = Anchor::Authorities(root);
    for piece in [1, 100, 1 << 20] {
        let heard = session(&anchor, "localhost", &certified, piece);
        assert_eq!(heard.as_deref(), Ok(&b"EHLO a\r\n"[..]));
    }
}

#[test]
fn servers_that_are_not_trusted_are_named() {
    let (root, certified) = authority();
    let anchor = Anchor::Authorities(root.clone());
    assert_eq!(kind(session(&anchor, "other.invalid", &certified, 999)), Kind::Certificate);
    assert_eq!(kind(session(&anchor, "127.0.0.1", &certified, 999)), Kind::Certificate);
    assert_eq!(kind(session(&anchor, "localhost", &own(), 999)), Kind::Certificate);
    let (foreign, _) = authority();
    let foreign = Anchor::Authorities(foreign);
    assert_eq!(kind(session(&foreign, "localhost", &certified, 999)), Kind::Certificate);
    // In 2030 it has expired.
    let trust = Trust::new(&anchor, TODAY + 4 * 366 * 86_400).expect("certificates");
    let mut channel = Channel::plain();
    channel.start_tls(&trust, "localhost").expect("a name");
    let mut server = server(&certified, rustls::ALL_VERSIONS);
    let failure = talk(&mut channel, &mut server, 999).expect_err("expired");
    assert_eq!(failure.kind, Kind::Certificate);
    assert!(failure.line.contains("expired"), "{failure}");
    assert!(!channel.outgoing().is_empty(), "an alert says so to the server");
}

#[test]
fn one_certificate_is_trusted_by_its_bytes_and_anybody_only_when_asked_for() {
    let (shown, other) = (own(), own());
    let anchor = Anchor::Certificate(shown.pem.clone());
    assert!(session(&anchor, "127.0.0.1", &shown, 999).is_ok());
    assert_eq!(kind(session(&anchor, "127.0.0.1", &other, 999)), Kind::Certificate);
    assert!(session(&Anchor::Anybody, "127.0.0.1", &other, 999).is_ok());
    // It has the certificate but not its key.
    let thief = Certified { chain: shown.chain.clone(), key: other.key, pem: Vec::new() };
    let provider = rustls::crypto::ring::default_provider();
    let key = PrivateKeyDer::Pkcs8(thief.key.serialize_der().into());
    assert!(provider.key_provider.load_private_key(key).is_ok());
}

#[test]
fn large_texts_pass_in_both_versions() {
    let (root, certified) = authority();
    let text: Vec<u8> = (0..300_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    for versions in [&[&rustls::version::TLS13][..], &[&rustls::version::TLS12]] {
        let trust = Trust::new(&Anchor::Authorities(root.clone()), TODAY).expect("certificates");
        let mut server = server(&certified, versions);
        server.set_buffer_limit(None);
        let mut channel = Channel::plain();
        channel.start_tls(&trust, "localhost").expect("a name");
        talk(&mut channel, &mut server, 4096).expect("trusted");
        let mut heard = Vec::new();
        for chunk in text.chunks(50_000) {
            channel.send(chunk).expect("encrypted");
            heard.extend(talk(&mut channel, &mut server, 4096).expect("trusted"));
        }
        assert!(heard == text, "{} bytes of {}", heard.len(), text.len());
        channel.finish();
        assert!(!channel.outgoing().is_empty(), "close_notify");
    }
}

#[test]
fn garbage_is_an_error_and_files_without_certificates_are_refused() {
    let trust = Trust::new(&Anchor::Anybody, TODAY).expect("anybody");
    let mut channel = Channel::plain();
    channel.start_tls(&trust, "localhost").expect("a name");
    let failure = channel.receive(b"220 no TLS here\r\n".to_vec()).expect_err("no TLS");
    assert_eq!(failure.kind, Kind::Tls);
    assert_eq!(
        Channel::plain().start_tls(&trust, "not a name").expect_err("no name").kind,
        Kind::Certificate
    );
    for pem in [&b""[..], b"hello", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"]
    {
        let refused = Trust::new(&Anchor::Authorities(pem.to_vec()), TODAY).expect_err("no PEM");
        assert_eq!(refused, TrustError::NoCertificate);
    }
}
