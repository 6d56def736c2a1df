//! SCRAM-SHA-256 without channel binding (RFC 5802 section 3, RFC 7677).
//!
//! ```text
//!    client: n,,n=USER,r=NONCE
//!    server: r=NONCE+MORE,s=SALT,i=ROUNDS
//!    client: c=biws,r=NONCE+MORE,p=PROOF          biws is "n,,": no channel binding
//!    server: v=PROOF
//! ```

use std::num::NonZeroU32;

use ring::{digest, hmac, pbkdf2};

use crate::{Kind, base64};

/// Rounds that a server may ask for. Servers use 4,096 to 100,000; each 10,000 take about 5 ms of
/// processor time, which a hostile server must not decide.
const ROUNDS_MAX: u32 = 600_000;

const BYTES: usize = digest::SHA256_OUTPUT_LEN;

/// The client's side of one exchange.
pub(super) struct Scram {
    nonce: String,
    /// The first message without its header `n,,`.
    bare: String,
    /// What the server's proof must be, once the password was used.
    proof: Option<[u8; BYTES]>,
    is_proven: bool,
}

impl Scram {
    pub(super) fn new(user: &str, nonce: &str) -> Self {
        let is_printable = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        assert!(!nonce.is_empty() && nonce.bytes().all(is_printable), "a nonce is printable");
        let name = user.replace('=', "=3D").replace(',', "=2C");
        let bare = format!("n={name},r={nonce}");
        Self { nonce: nonce.to_owned(), bare, proof: None, is_proven: false }
    }

    pub(super) fn first(&self) -> Vec<u8> {
        format!("n,,{}", self.bare).into_bytes()
    }

    pub(super) fn is_proven(&self) -> bool {
        self.is_proven
    }

    pub(super) fn answer(&mut self, challenge: &[u8], secret: &str) -> Result<Vec<u8>, Kind> {
        match self.proof {
            None => self.prove(challenge, secret).ok_or(Kind::Challenge),
            Some(want) => {
                let shown = challenge.strip_prefix(b"v=").and_then(base64::decode);
                self.is_proven = shown.is_some_and(|shown| shown == want);
                if self.is_proven { Ok(Vec::new()) } else { Err(Kind::Unproven) }
            }
        }
    }

    /// Our proof, after the server's first message.
    fn prove(&mut self, challenge: &[u8], secret: &str) -> Option<Vec<u8>> {
        let challenge = std::str::from_utf8(challenge).ok()?;
        let mut parts = challenge.split(',');
        let nonce = parts.next()?.strip_prefix("r=")?;
        let salt = base64::decode(parts.next()?.strip_prefix("s=")?.as_bytes())?;
        let rounds: u32 = parts.next()?.strip_prefix("i=")?.parse().ok()?;
        let rounds = NonZeroU32::new(rounds).filter(|rounds| rounds.get() <= ROUNDS_MAX)?;
        let is_fresh = nonce.len() > self.nonce.len() && nonce.starts_with(&self.nonce);
        if !is_fresh {
            return None;
        }
        let mut salted = [0; BYTES];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, rounds, &salt, secret.as_bytes(), &mut salted);
        let ours = format!("c=biws,r={nonce}");
        let all = format!("{},{challenge},{ours}", self.bare);
        let client = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client);
        let signature = sign(stored.as_ref(), all.as_bytes());
        let proof: Vec<u8> = client.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        self.proof = Some(sign(&sign(&salted, b"Server Key"), all.as_bytes()));
        Some(format!("{ours},p={}", base64::encode(&proof)).into_bytes())
    }
}

fn sign(key: &[u8], message: &[u8]) -> [u8; BYTES] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    tag.as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes")
}
