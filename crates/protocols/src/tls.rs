//! TLS 1.2 and 1.3 of the client, by rustls' unbuffered API: records in, plain bytes out.
//!
//! Whom to trust is always said: authorities from a file, one certificate that the server must
//! show, or, explicitly, anybody. No list of authorities is built in.
//!
//! The date is given once: certificates are judged by the day a run began. Handshakes draw from the
//! operating system's random numbers (`ring` has no other source), so the bytes of TLS differ from
//! run to run, and with them the times of a modelled link; what is said inside does not.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::{Failure, Kind};

/// Bytes that wait for the rest of a record or of a handshake. A record has at most 16 KiB and 256
/// bytes; chains of certificates are longer than one.
const HELD_MAX: usize = 40 << 10;

/// Whom to trust.
#[derive(Clone, Debug)]
pub enum Anchor {
    /// The authorities in this PEM text.
    Authorities(Vec<u8>),
    /// The server that shows exactly the first certificate in this PEM text, whatever its names and
    /// dates.
    Certificate(Vec<u8>),
    /// Anybody. Only where it was asked for by name.
    Anybody,
}

/// Why no certificate can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The PEM text cannot be read, or has no certificate.
    #[error("no certificate in PEM form")]
    NoCertificate,
    /// A certificate of the text cannot be an authority.
    #[error("a certificate that cannot be read")]
    BadCertificate,
}

/// How servers are judged. Clones share it.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Trusts `anchor`, on a day `unix_seconds` after 1970 began.
    ///
    /// # Errors
    /// When there is no readable certificate.
    ///
    /// # Panics
    /// Never: `ring` has all that both versions of TLS need.
    pub fn new(anchor: &Anchor, unix_seconds: u64) -> Result<Self, TrustError> {
        let provider = Arc::new(ring::default_provider());
        let day = Arc::new(Day(UnixTime::since_unix_epoch(Duration::from_secs(unix_seconds))));
        let builder = ClientConfig::builder_with_details(Arc::clone(&provider), day);
        let builder = builder.with_safe_default_protocol_versions().expect("ring has both");
        let shown = |certificate| Arc::new(Shown { certificate, provider });
        let mut config = match anchor {
            Anchor::Authorities(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem)? {
                    roots.add(certificate).map_err(|_| TrustError::BadCertificate)?;
                }
                builder.with_root_certificates(roots).with_no_client_auth()
            }
            Anchor::Certificate(pem) => {
                let first = certificates(pem)?.into_iter().next();
                let verifier = shown(first);
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
            Anchor::Anybody => {
                let verifier = shown(None);
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        // Each session pays for its own handshake, as those of users do; and no ticket is kept.
        config.resumption = Resumption::disabled();
        Ok(Self(Arc::new(config)))
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|_| TrustError::NoCertificate)?;
    if all.is_empty() { Err(TrustError::NoCertificate) } else { Ok(all) }
}

/// A day that does not pass.
#[derive(Debug)]
struct Day(UnixTime);

impl TimeProvider for Day {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// Trusts the server that shows a certificate and has its key.
#[derive(Debug)]
struct Shown {
    /// The one to be shown; `None` for any.
    certificate: Option<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Shown {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.certificate {
            Some(wanted) if wanted != shown => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// One connection's TLS.
pub struct Tls {
    connection: UnbufferedClientConnection,
    /// Bytes that are not whole records yet.
    held: Vec<u8>,
    /// Plain bytes that wait for the handshake.
    waiting: Vec<u8>,
    out: Vec<u8>,
    is_established: bool,
    has_ended: bool,
}

/// What [`Tls::turn`] did.
enum Turn {
    Again,
    NeedsMore,
    MayWrite,
}

impl Tls {
    /// A connection with a server that must be `name`: a host name or an address.
    ///
    /// # Errors
    /// When `name` is neither.
    pub fn new(trust: &Trust, name: &str) -> Result<Self, Failure> {
        let server = ServerName::try_from(name.to_owned());
        let server = server.map_err(|_| Failure::new(Kind::Certificate, name.as_bytes()))?;
        let connection = UnbufferedClientConnection::new(Arc::clone(&trust.0), server);
        Ok(Self {
            connection: connection.map_err(|error| failure(&error))?,
            held: Vec::new(),
            waiting: Vec::new(),
            out: Vec::new(),
            is_established: false,
            has_ended: false,
        })
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// Whether the server has said that nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes bytes of the connection, whose buffer it keeps only until its records are whole, and appends the plain ones to `plain`. May leave something to
    /// be sent, on success and on failure. The first call, with no bytes, begins the handshake.
    ///
    /// # Errors
    /// When the server is not trusted, or breaks the rules.
    pub fn receive(&mut self, bytes: Vec<u8>, plain: &mut Vec<u8>) -> Result<(), Failure> {
        match self.held.is_empty() {
            true => self.held = bytes,
            false => self.held.extend_from_slice(&bytes),
        }
        let result = self.turn_all(plain);
        if let Err(error) = &result {
            // What rustls has to say about it: one alert.
            let said = self.turn(plain);
            debug_assert!(said.is_ok() || self.held.is_empty() || !error.to_string().is_empty());
            self.held.clear();
        }
        if self.held.is_empty() {
            // Idle sessions have no buffers.
            self.held = Vec::new();
        }
        result.map_err(|error| failure(&error))?;
        if self.held.len() > HELD_MAX {
            return Err(Failure::new(Kind::Tls, b"a handshake without end"));
        }
        Ok(())
    }

    fn turn_all(&mut self, plain: &mut Vec<u8>) -> Result<(), Error> {
        loop {
            match self.turn(plain)? {
                Turn::Again => {}
                Turn::NeedsMore => return Ok(()),
                Turn::MayWrite => {
                    if !self.is_established {
                        self.is_established = true;
                        let waiting = std::mem::take(&mut self.waiting);
                        self.encrypt(&waiting)?;
                        continue;
                    }
                    return Ok(());
                }
            }
        }
    }

    fn turn(&mut self, plain: &mut Vec<u8>) -> Result<Turn, Error> {
        let UnbufferedStatus { mut discard, state, .. } =
            self.connection.process_tls_records(&mut self.held);
        let turn = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    plain.extend_from_slice(record.payload);
                }
                Turn::Again
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                append(&mut self.out, 512, |room| match data.encode(room) {
                    Err(EncodeError::InsufficientSize(needed)) => Err(Some(needed.required_size)),
                    other => other.map_err(|_| None),
                })?;
                Turn::Again
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                Turn::Again
            }
            Ok(ConnectionState::PeerClosed) => {
                self.has_ended = true;
                Turn::Again
            }
            Ok(ConnectionState::WriteTraffic(_)) => Turn::MayWrite,
            Ok(_) => Turn::NeedsMore,
            Err(error) => {
                self.held.drain(..discard.min(self.held.len()));
                return Err(error);
            }
        };
        self.held.drain(..discard.min(self.held.len()));
        Ok(turn)
    }

    /// Encrypts `plain`; before the end of the handshake it waits for that.
    ///
    /// # Errors
    /// When the keys are used up, which no mail session reaches.
    pub fn send(&mut self, plain: &[u8]) -> Result<(), Failure> {
        if !self.is_established {
            self.waiting.extend_from_slice(plain);
            return Ok(());
        }
        self.encrypt(plain).map_err(|error| failure(&error))
    }

    fn encrypt(&mut self, plain: &[u8]) -> Result<(), Error> {
        if plain.is_empty() {
            return Ok(());
        }
        // A record for each 16 KiB, with a header and a seal.
        let guess = plain.len() + (plain.len().div_ceil(16 << 10) * 64);
        let state = self.connection.process_tls_records(&mut []).state?;
        let ConnectionState::WriteTraffic(mut traffic) = state else {
            return Err(Error::HandshakeNotComplete);
        };
        append(&mut self.out, guess, |room| match traffic.encrypt(plain, room) {
            Err(EncryptError::InsufficientSize(needed)) => Err(Some(needed.required_size)),
            other => other.map_err(|_| None),
        })
    }

    /// Says that nothing more comes from us.
    pub fn finish(&mut self) {
        let state = self.connection.process_tls_records(&mut []).state;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            let _ = append(&mut self.out, 64, |room| match traffic.queue_close_notify(room) {
                Err(EncryptError::InsufficientSize(needed)) => Err(Some(needed.required_size)),
                other => other.map_err(|_| None),
            });
        }
    }

    /// Takes the bytes for the connection.
    pub fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// Appends what `write` puts into a room of `guess` bytes, or of the size that it asks for.
fn append(
    out: &mut Vec<u8>,
    guess: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), Error> {
    let begin = out.len();
    let mut room = guess;
    for _ in 0..2 {
        out.resize(begin + room, 0);
        match write(&mut out[begin..]) {
            Ok(written) => {
                out.truncate(begin + written);
                return Ok(());
            }
            Err(Some(needed)) => room = needed,
            Err(None) => break,
        }
    }
    out.truncate(begin);
    Err(Error::EncryptError)
}

fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Kind::Certificate,
        _ => Kind::Tls,
    };
    Failure::new(kind, error.to_string().as_bytes())
}
