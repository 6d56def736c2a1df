//! Who may read: a token that is in the address once, and in a cookie from then on.
//!
//! ```text
//!   Host is not one of ours    421: a page elsewhere that gave its name our address reads nothing
//!   not GET or HEAD            405: there is nothing to change
//!   ?token= is right           303 to the same page without it, with a cookie
//!   cookie, or Authorization: Bearer    goes on
//!   otherwise                  401
//! ```

use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use brunt_host::own_file::{OwnFile, OwnFileError};

/// Bytes of a token that is made here.
const TOKEN_BYTES: usize = 24;
/// A shorter one is guessed.
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: usize = 256;
const COOKIE_NAME: &str = "brunt-console";

/// Gives access to a console.
#[derive(Clone)]
pub struct Token(String);

/// Why a file has no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: others may read or write it\n  to keep it: chmod 600 {}", .0.display(), .0.display())]
    Open(PathBuf),
    #[error("{}: has no token: {TOKEN_MIN} to {TOKEN_MAX} letters and digits in one line\n  to make one: head -c 24 /dev/urandom | base64 | tr -d '+/=' > {}", .0.display(), .0.display())]
    Form(PathBuf),
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// That there is no randomness.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The one in a file that only its owner may read and write.
    ///
    /// # Errors
    /// [`TokenError`] says what is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let file = OwnFile { refused: 0o077, follows_links: false, most: TOKEN_MAX as u64 + 2 };
        let text = file.read(path).map_err(|error| {
            let path = path.to_owned();
            match error {
                OwnFileError::Io(source) => TokenError::File { path, source },
                OwnFileError::Open | OwnFileError::Foreign => TokenError::Open(path),
                OwnFileError::NotAFile | OwnFileError::TooLong => TokenError::Form(path),
            }
        })?;
        let text = text.trim();
        let is_token = (TOKEN_MIN..=TOKEN_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match is_token {
            true => Ok(Self(text.to_owned())),
            false => Err(TokenError::Form(path.to_owned())),
        }
    }

    /// As it stands in an address.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same; how long that takes says nothing about how much of it is right.
    fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        let different =
            (0..own.len()).fold(0, |all, at| all | (own[at] ^ other.get(at).copied().unwrap_or(0)));
        std::hint::black_box(different) == 0 && own.len() == other.len()
    }
}

/// The answer to a request, before it is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Access {
    Granted,
    Refused(StatusCode),
    /// To this place, with this cookie.
    Enters {
        to: String,
        cookie: String,
    },
}

/// Decides on requests.
#[derive(Clone)]
pub(super) struct Gate {
    token: Token,
    /// Names that a request may call us, with the port.
    hosts: Vec<String>,
}

impl Gate {
    pub(super) fn new(token: Token, at: SocketAddr) -> Self {
        let port = at.port();
        let names = match at.ip().is_loopback() {
            true => vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()],
            false => Vec::new(),
        };
        let names = names.into_iter().map(|name| format!("{name}:{port}"));
        Self { token, hosts: names.chain([at.to_string()]).collect() }
    }

    pub(super) fn asks(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Access {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_ours = host.is_some_and(|host| self.hosts.iter().any(|own| own == host));
        if !is_ours || hosts.next().is_some() {
            return Access::Refused(StatusCode::MISDIRECTED_REQUEST);
        }
        if method != Method::GET && method != Method::HEAD {
            return Access::Refused(StatusCode::METHOD_NOT_ALLOWED);
        }
        let query = uri.query().unwrap_or_default();
        if let Some(token) = query.split('&').find_map(|pair| pair.strip_prefix("token=")) {
            return match self.token.is(token) {
                true => self.enters(uri),
                false => Access::Refused(StatusCode::UNAUTHORIZED),
            };
        }
        match self.knows(headers) {
            true => Access::Granted,
            false => Access::Refused(StatusCode::UNAUTHORIZED),
        }
    }

    fn enters(&self, uri: &Uri) -> Access {
        let query = uri.query().unwrap_or_default().split('&');
        let query: Vec<&str> = query.filter(|pair| !pair.starts_with("token=")).collect();
        // A path that begins with two slashes would be another host.
        let path = uri.path().trim_start_matches('/');
        let to = match query.is_empty() {
            true => format!("/{path}"),
            false => format!("/{path}?{}", query.join("&")),
        };
        let token = self.token.text();
        let cookie = format!("{COOKIE_NAME}={token}; HttpOnly; SameSite=Strict; Path=/");
        Access::Enters { to, cookie }
    }

    /// Whether `headers` have the token.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|all| all.split(';'));
        let mark = format!("{COOKIE_NAME}=");
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        cookies.any(|one| one.trim().strip_prefix(&mark).is_some_and(|token| self.token.is(token)))
            || bearer.is_some_and(|token| self.token.is(token))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn gate(at: &str) -> Gate {
        Gate::new(Token("0123456789abcdef".to_owned()), at.parse().unwrap())
    }

    fn asks(gate: &Gate, uri: &str, headers: &[(&str, &str)]) -> Access {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        gate.asks(&Method::GET, &uri.parse().unwrap(), &map)
    }

    const OURS: (&str, &str) = ("host", "127.0.0.1:8080");

    #[test]
    fn a_token_opens_once_and_a_cookie_from_then_on() {
        let gate = gate("127.0.0.1:8080");
        let refused = Access::Refused(StatusCode::UNAUTHORIZED);
        assert_eq!(asks(&gate, "/", &[OURS]), refused);
        assert_eq!(asks(&gate, "/?token=0123456789abcdee", &[OURS]), refused);
        assert_eq!(asks(&gate, "/?token=0123456789abcdef0", &[OURS]), refused);
        assert_eq!(asks(&gate, "/?token=", &[OURS]), refused);
        let entered = asks(&gate, "//evil.example/x?a=1&token=0123456789abcdef", &[OURS]);
        let Access::Enters { to, cookie } = entered else { panic!("{entered:?}") };
        assert_eq!(to, "/evil.example/x?a=1");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let cookie = cookie.split(';').next().unwrap();
        let mine = format!("other=1; {cookie}");
        assert_eq!(asks(&gate, "/", &[OURS, ("cookie", &mine)]), Access::Granted);
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(asks(&gate, "/metrics", &[OURS, bearer]), Access::Granted);
    }

    #[test]
    fn another_name_for_our_address_reads_nothing() {
        let gate = gate("127.0.0.1:8080");
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        for host in ["evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:80"] {
            let asked = asks(&gate, "/", &[("host", host), bearer]);
            assert_eq!(asked, Access::Refused(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        let twice = asks(&gate, "/", &[OURS, ("host", "evil.example"), bearer]);
        assert_eq!(twice, Access::Refused(StatusCode::MISDIRECTED_REQUEST));
        assert_eq!(asks(&gate, "/", &[("host", "localhost:8080"), bearer]), Access::Granted);
        let outside = self::gate("192.0.2.7:80");
        let asked = asks(&outside, "/", &[("host", "localhost:80"), bearer]);
        assert_eq!(asked, Access::Refused(StatusCode::MISDIRECTED_REQUEST));
    }

    #[test]
    fn nothing_is_changed() {
        let gate = gate("127.0.0.1:8080");
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "127.0.0.1:8080".parse().unwrap());
        let asked = gate.asks(&Method::POST, &"/".parse().unwrap(), &headers);
        assert_eq!(asked, Access::Refused(StatusCode::METHOD_NOT_ALLOWED));
    }

    #[test]
    fn a_file_that_others_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("token");
        fs::write(&path, "0123456789abcdef\n").unwrap();
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set(0o640);
        assert!(matches!(Token::read(&path), Err(TokenError::Open(_))));
        set(0o600);
        assert_eq!(Token::read(&path).unwrap().text(), "0123456789abcdef");
        for bad in ["", "short", "0123456789abcdef 0123456789abcdef"] {
            fs::write(&path, bad).unwrap();
            assert!(matches!(Token::read(&path), Err(TokenError::Form(_))), "{bad}");
        }
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(Token::read(&link), Err(TokenError::File { .. })));
    }
}
