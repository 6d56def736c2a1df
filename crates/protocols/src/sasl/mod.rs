//! Authentication (SASL, RFC 4422) as both protocols carry it: PLAIN (RFC 4616), LOGIN, XOAUTH2 and
//! SCRAM-SHA-256 (RFC 5802, 7677).
//!
//! Names and passwords are sent as they are; they are not normalised by SASLprep. For ASCII that is
//! the same.

mod scram;

use scram::Scram;

use crate::{Kind, Secret};

/// A way to show who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// Both sides prove that they know the password; it is not sent.
    ScramSha256,
    /// Name and password in one message.
    Plain,
    /// Name and password in two messages, as old servers want them.
    Login,
    /// A token of OAuth 2; the secret is the token.
    XOAuth2,
}

impl Mechanism {
    /// Its name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::Plain => "PLAIN",
            Self::Login => "LOGIN",
            Self::XOAuth2 => "XOAUTH2",
        }
    }

    /// The mechanism with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::ScramSha256, Self::Plain, Self::Login, Self::XOAuth2];
        all.into_iter().find(|mechanism| mechanism.name().eq_ignore_ascii_case(name))
    }

    /// The best one of `offered` that works with a password. XOAUTH2 needs a token, so it is never
    /// chosen.
    pub fn best(offered: &[Self]) -> Option<Self> {
        let best = [Self::ScramSha256, Self::Plain, Self::Login];
        best.into_iter().find(|mechanism| offered.contains(mechanism))
    }
}

/// One authentication. It has no `Debug`: most of it is secret.
pub struct Exchange {
    mechanism: Mechanism,
    user: String,
    secret: Secret,
    /// Challenges answered so far.
    answered: u32,
    /// The first message, where it could not be sent with the command.
    held: Option<Vec<u8>>,
    scram: Option<Scram>,
}

impl Exchange {
    /// Shows that we are `user`. `nonce` is printable ASCII without a comma, used once; only SCRAM
    /// needs it.
    ///
    /// # Panics
    /// When SCRAM gets another nonce.
    pub fn new(mechanism: Mechanism, user: &str, secret: &Secret, nonce: &str) -> Self {
        let scram = (mechanism == Mechanism::ScramSha256).then(|| Scram::new(user, nonce));
        Self {
            mechanism,
            user: user.to_owned(),
            secret: secret.clone(),
            answered: 0,
            held: None,
            scram,
        }
    }

    /// Its mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// What is sent with the command; `None` when the server speaks first.
    pub fn initial(&mut self) -> Option<Vec<u8>> {
        let (user, secret) = (&self.user, self.secret.reveal());
        match self.mechanism {
            Mechanism::Plain => Some(format!("\0{user}\0{secret}").into_bytes()),
            Mechanism::XOAuth2 => {
                Some(format!("user={user}\x01auth=Bearer {secret}\x01\x01").into_bytes())
            }
            Mechanism::ScramSha256 => self.scram.as_ref().map(Scram::first),
            Mechanism::Login => None,
        }
    }

    /// Keeps what [`Self::initial`] returned: it answers an empty challenge.
    pub(crate) fn hold(&mut self, first: Vec<u8>) {
        self.held = Some(first);
    }

    /// The answer to a challenge.
    ///
    /// # Errors
    /// When the challenge makes no sense, or shows that the server does not know the password.
    pub fn answer(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Kind> {
        if let Some(first) = self.held.take() {
            return if challenge.is_empty() { Ok(first) } else { Err(Kind::Challenge) };
        }
        self.answered += 1;
        match (self.mechanism, self.answered) {
            (Mechanism::Login, 1) => Ok(self.user.clone().into_bytes()),
            (Mechanism::Login, 2) => Ok(self.secret.reveal().to_owned().into_bytes()),
            // The challenge says in JSON why the token was refused; an empty answer lets the
            // server refuse the command.
            (Mechanism::XOAuth2, 1) => Ok(Vec::new()),
            (Mechanism::ScramSha256, 1..=2) => {
                let scram = self.scram.as_mut().ok_or(Kind::Challenge)?;
                scram.answer(challenge, self.secret.reveal())
            }
            _ => Err(Kind::Challenge),
        }
    }

    /// Whether success may be believed: with SCRAM only after the server's proof.
    pub fn is_proven(&self) -> bool {
        self.scram.as_ref().is_none_or(Scram::is_proven)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "pencil";

    fn exchange(mechanism: Mechanism) -> Exchange {
        Exchange::new(mechanism, "user", &Secret::new(SECRET), "rOprNGfwEbeRWgbNEkqO")
    }

    #[test]
    fn plain_login_and_tokens_are_a_line_or_two() {
        let mut plain = exchange(Mechanism::Plain);
        assert_eq!(plain.initial().as_deref(), Some(&b"\0user\0pencil"[..]));
        assert_eq!(plain.answer(b""), Err(Kind::Challenge));
        let mut login = exchange(Mechanism::Login);
        assert_eq!(login.initial(), None);
        assert_eq!(login.answer(b"Username:").as_deref(), Ok(&b"user"[..]));
        assert_eq!(login.answer(b"Password:").as_deref(), Ok(&b"pencil"[..]));
        assert_eq!(login.answer(b"Again:"), Err(Kind::Challenge));
        let mut token = exchange(Mechanism::XOAuth2);
        let first = &b"user=user\x01auth=Bearer pencil\x01\x01"[..];
        assert_eq!(token.initial().as_deref(), Some(first));
        assert_eq!(token.answer(b"{\"status\":\"401\"}").as_deref(), Ok(&b""[..]));
        assert!(plain.is_proven() && login.is_proven() && token.is_proven());
    }

    /// The example of RFC 7677 section 3.
    #[test]
    fn the_example_of_scram_holds() {
        let mut scram = exchange(Mechanism::ScramSha256);
        let first = scram.initial();
        assert_eq!(first.as_deref(), Some(&b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"[..]));
        let challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let answer = scram.answer(challenge).expect("a good challenge");
        let want = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(String::from_utf8_lossy(&answer), want);
        assert!(!scram.is_proven());
        let proof = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(scram.answer(proof).as_deref(), Ok(&b""[..]));
        assert!(scram.is_proven());
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_found() {
        let challenge = b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        for (wrong, kind) in [
            (&b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="[..], Kind::Unproven),
            (b"v=", Kind::Unproven),
            (b"e=invalid-proof", Kind::Unproven),
            (b"", Kind::Unproven),
        ] {
            let mut scram = exchange(Mechanism::ScramSha256);
            scram.answer(challenge).expect("a good challenge");
            assert_eq!(scram.answer(wrong), Err(kind));
            assert!(!scram.is_proven());
        }
        for wrong in [
            &b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"[..],
            b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=W22,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4294967295",
            b"m=ext,r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            b"\xff",
        ] {
            let mut scram = exchange(Mechanism::ScramSha256);
            assert_eq!(scram.answer(wrong), Err(Kind::Challenge), "{wrong:?}");
        }
    }

    #[test]
    fn a_password_prefers_proof_and_never_a_token() {
        use Mechanism::{Login, Plain, ScramSha256, XOAuth2};
        assert_eq!(Mechanism::best(&[XOAuth2, Login, Plain, ScramSha256]), Some(ScramSha256));
        assert_eq!(Mechanism::best(&[Login, Plain]), Some(Plain));
        assert_eq!(Mechanism::best(&[XOAuth2, Login]), Some(Login));
        assert_eq!(Mechanism::best(&[XOAuth2]), None);
        assert_eq!(Mechanism::named("scram-sha-256"), Some(ScramSha256));
        assert_eq!(Mechanism::named("CRAM-MD5"), None);
    }

    proptest! {
        #[test]
        fn any_challenge_is_answered_or_refused(challenges in proptest::collection::vec(any::<Vec<u8>>(), 0..4)) {
            for mechanism in ["SCRAM-SHA-256", "PLAIN", "LOGIN", "XOAUTH2"] {
                let mut exchange = exchange(Mechanism::named(mechanism).expect("known"));
                exchange.initial();
                for challenge in &challenges {
                    let _ = exchange.answer(challenge);
                }
            }
        }
    }
}
