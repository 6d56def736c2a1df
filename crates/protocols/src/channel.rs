//! What lies between a protocol's bytes and a connection's: nothing, or TLS.

use crate::Failure;
use crate::tls::{Tls, Trust};

/// Bytes of a protocol in, bytes of a connection out, and back.
#[derive(Default)]
pub struct Channel {
    tls: Option<Box<Tls>>,
    out: Vec<u8>,
}

impl Channel {
    /// A channel that passes bytes on as they are.
    pub fn plain() -> Self {
        Self::default()
    }

    /// Starts TLS with a server that must be `name`. What is sent from now on waits for the
    /// handshake.
    ///
    /// # Errors
    /// When `name` is neither a host name nor an address.
    ///
    /// # Panics
    /// When TLS was started before.
    pub fn start_tls(&mut self, trust: &Trust, name: &str) -> Result<(), Failure> {
        assert!(self.tls.is_none(), "TLS starts once");
        let mut tls = Box::new(Tls::new(trust, name)?);
        tls.receive(Vec::new(), &mut Vec::new())?;
        self.tls = Some(tls);
        Ok(())
    }

    /// Whether what is sent now is encrypted, by a server that is known.
    pub fn is_secure(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_established())
    }

    /// Whether TLS was started and its handshake has not ended.
    pub fn is_shaking_hands(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| !tls.is_established())
    }

    /// The protocol's bytes in what a connection brought, which should be at most 16 KiB. May leave
    /// something to be sent.
    ///
    /// # Errors
    /// When TLS fails. What is to be sent then is the alert that says so.
    pub fn receive(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match &mut self.tls {
            None => Ok(bytes),
            Some(tls) => {
                let mut plain = Vec::new();
                tls.receive(bytes, &mut plain)?;
                Ok(plain)
            }
        }
    }

    /// Sends the protocol's bytes.
    ///
    /// # Errors
    /// When TLS fails.
    pub fn send(&mut self, plain: &[u8]) -> Result<(), Failure> {
        match &mut self.tls {
            None => self.out.extend_from_slice(plain),
            Some(tls) => tls.send(plain)?,
        }
        Ok(())
    }

    /// Says to the other side that nothing more comes, where TLS has a word for it.
    pub fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.finish();
        }
    }

    /// Takes the bytes for the connection.
    pub fn outgoing(&mut self) -> Vec<u8> {
        match &mut self.tls {
            None => std::mem::take(&mut self.out),
            // Plain bytes from before TLS go first.
            Some(tls) => {
                let (mut out, mut sealed) = (std::mem::take(&mut self.out), tls.outgoing());
                match out.is_empty() {
                    true => sealed,
                    false => {
                        out.append(&mut sealed);
                        out
                    }
                }
            }
        }
    }
}
