//! The console as a web server: pages, events, figures. Nothing below knows HTTP.
//!
//! It answers requests with its [token](access), takes small ones only, and bounds connections. Pages are made on other threads, so events go on meanwhile.

mod access;
mod answers;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use self::access::{Access, Gate};
pub use self::access::{Token, TokenError};
pub(crate) use self::stream::version;
use crate::library::Shelf;

/// Connections at a time: a browser has six for each page.
const CONNECTIONS_MAX: usize = 128;
/// Bytes of a request's head.
const HEAD_MAX: usize = 16 << 10;
/// A request is there within this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// What was sent is taken within this, or the connection ends.
const SLOW: Duration = Duration::from_secs(30);

/// Nothing but our own files; pictures are part of the page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) shelf: watch::Receiver<Arc<Shelf>>,
    /// The run that others are compared with.
    pub(crate) reference: Option<String>,
    /// The program, as pages name it.
    pub(crate) program: &'static str,
    gate: Gate,
}

impl Site {
    pub(crate) fn new(
        shelf: watch::Receiver<Arc<Shelf>>,
        reference: Option<String>,
        program: &'static str,
        token: Token,
        at: SocketAddr,
    ) -> Self {
        Self { shelf, reference, program, gate: Gate::new(token, at) }
    }

    pub(crate) fn shelf(&self) -> Arc<Shelf> {
        Arc::clone(&self.shelf.borrow())
    }
}

/// Answers requests until the program ends.
pub(crate) async fn serve(listener: TcpListener, site: Site) {
    let router = Router::new()
        .route("/", get(answers::list))
        .route("/events", get(answers::list_events))
        .route("/runs/{name}", get(answers::run))
        .route("/runs/{name}/report.html", get(answers::saved))
        .route("/runs/{name}/events", get(answers::run_events))
        .route("/compare", get(answers::compare))
        .route("/history/{name}", get(answers::history))
        .route("/metrics", get(answers::metrics))
        .route("/style.css", get(answers::style))
        .route("/console.js", get(answers::script))
        .route("/favicon.ico", get(answers::no_icon))
        .fallback(answers::nothing)
        .layer(from_fn_with_state(site.clone(), guarded))
        .with_state(site);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Files have run out; some will be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            drop_slow_readers(&stream);
            let service = TowerToHyperService::new(router);
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(HEAD_MAX)
                .serve_connection(TokioIo::new(stream), service);
            // A reader that goes away is no fault.
            let _ = connection.await;
            drop(place);
        });
    }
}

/// The kernel ends a connection whose other side does not take what was sent.
fn drop_slow_readers(stream: &TcpStream) {
    let most = u32::try_from(SLOW.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, most);
}

/// Lets in who may read, and says what a browser may do with the answer.
async fn guarded(State(site): State<Site>, request: Request, next: Next) -> Response {
    let asked = site.gate.asks(request.method(), request.uri(), request.headers());
    let mut answer = match asked {
        Access::Granted => next.run(request).await,
        Access::Enters { to, cookie } => {
            let headers = [(LOCATION, to), (SET_COOKIE, cookie)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Access::Refused(status) => (status, answers::refusal(status)).into_response(),
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}
