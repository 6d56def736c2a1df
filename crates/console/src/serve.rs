//! A console at work: one thread looks at folders, others answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::alarms::Change;
use crate::follow::Seen;
use crate::http::{self, Site, Token};
use crate::library::{Library, Shelf};
use crate::look::State;
use crate::series;

/// How often folders are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Looking for runs takes at most one part of this many.
const SHARE: u32 = 100;

/// What a console is asked to do.
pub struct Console {
    pub folders: Vec<PathBuf>,
    /// The name of the run that others are compared with.
    pub reference: Option<String>,
    /// The program, as pages name it.
    pub program: &'static str,
    /// Whether runs that have ended are held against those before them.
    pub finds_changes: bool,
}

/// What a console has noticed.
#[derive(Debug)]
pub enum Noticed<'a> {
    /// A run has changed, with what differs from runs before it.
    Changed(&'a Seen, &'a [Change]),
    /// The run of this name is not there any more.
    Gone(&'a str),
}

/// Where a console is served.
pub struct Address {
    listener: std::net::TcpListener,
    pub at: SocketAddr,
}

impl Address {
    /// Takes `at`; port 0 is any that is free.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take(at: SocketAddr) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        Ok(Self { listener, at })
    }
}

impl Console {
    /// Looks at the folders until `stop`, and tells `each` what it notices, on this thread. Pages are served at `address`, if there is one.
    ///
    /// # Errors
    /// Those of the system, before anything is served.
    pub fn run(
        self,
        address: Option<(Address, Token)>,
        stop: impl Fn() -> bool,
        mut each: impl FnMut(Noticed<'_>),
    ) -> std::io::Result<()> {
        let mut library = Library::new(self.folders.clone());
        library.find();
        let (publish, shelf) = watch::channel(Arc::new(library.shelf()));
        if let Some((address, token)) = address {
            let site = Site::new(shelf, self.reference.clone(), self.program, token, address.at);
            answer(address, site)?;
        }
        let mut find_at = Instant::now();
        while !stop() {
            let now = Instant::now();
            if now >= find_at {
                library.find().iter().for_each(|name| each(Noticed::Gone(name)));
                find_at = now + LOOK.max(SHARE * now.elapsed());
            }
            let changed = library.look(now);
            publish_if_new(&publish, &library);
            for seen in changed {
                let changes = match seen.state() {
                    State::Ended if self.finds_changes => {
                        series::changes(seen.name(), &library.shelf())
                    }
                    _ => Vec::new(),
                };
                each(Noticed::Changed(&seen, &changes));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

fn publish_if_new(publish: &watch::Sender<Arc<Shelf>>, library: &Library) {
    let is_new = publish.borrow().version != library.version();
    if is_new {
        publish.send_replace(Arc::new(library.shelf()));
    }
}

/// Answers on threads of its own, which end with the program.
fn answer(address: Address, site: Site) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        TcpListener::from_std(address.listener)?
    };
    thread::Builder::new().name("answers".to_owned()).spawn(move || {
        runtime.block_on(http::serve(listener, site));
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use brunt_report::{JOURNAL, report_html};
    use tempfile::TempDir;

    use super::*;
    use crate::made;

    /// A console of `home`/runs.
    struct Served {
        home: TempDir,
        at: SocketAddr,
        token: String,
        stop: Arc<AtomicBool>,
        thread: Option<thread::JoinHandle<()>>,
    }

    impl Served {
        fn new(fill: impl FnOnce(&Path)) -> Self {
            let home = tempfile::tempdir().unwrap();
            let runs = home.path().join("runs");
            fs::create_dir(&runs).unwrap();
            fill(&runs);
            let address = Address::take("127.0.0.1:0".parse().unwrap()).unwrap();
            let (at, stop) = (address.at, Arc::new(AtomicBool::new(false)));
            let token = Token::random().unwrap();
            let text = token.text().to_owned();
            let console = Console {
                folders: vec![runs],
                reference: None,
                program: "brunt",
                finds_changes: false,
            };
            let stopped = Arc::clone(&stop);
            let thread = thread::spawn(move || {
                let is_stopped = || stopped.load(Ordering::Relaxed);
                console.run(Some((address, token)), is_stopped, |_| {}).unwrap();
            });
            Self { home, at, token: text, stop, thread: Some(thread) }
        }

        fn runs(&self) -> std::path::PathBuf {
            self.home.path().join("runs")
        }

        /// The answer to a GET of `path`, with more `headers`.
        fn open(&self, path: &str, headers: &str) -> BufReader<TcpStream> {
            let mut stream = TcpStream::connect(self.at).unwrap();
            let (host, token) = (self.at, &self.token);
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}Connection: close\r\n\r\n"
            )
            .unwrap();
            BufReader::new(stream)
        }

        /// Status line and headers, and the body.
        fn get(&self, path: &str) -> (String, String) {
            let mut bytes = Vec::new();
            self.open(path, "").read_to_end(&mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            (head.to_owned(), body.to_owned())
        }

        /// Waits until the page of `path` has `what`.
        fn wait_for(&self, path: &str, what: &str) -> String {
            for _ in 0..600 {
                let (_, body) = self.get(path);
                if body.contains(what) {
                    return body;
                }
                thread::sleep(Duration::from_millis(100));
            }
            panic!("{path} never has {what:?}: {}", self.get(path).1);
        }
    }

    impl Drop for Served {
        fn drop(&mut self) {
            self.stop.store(true, Ordering::Relaxed);
            let _ = self.thread.take().unwrap().join();
        }
    }

    #[test]
    fn a_run_is_seen_and_its_saved_report_is_the_report() {
        let served = Served::new(|runs| {
            made::folder(runs, "growing", &made::journal(&made::records(3)[..10]));
        });
        let list = served.wait_for("/", "running");
        assert!(list.contains("<a href=\"/runs/growing\">growing</a>"));
        let page = served.wait_for("/runs/growing", "2 samples");
        assert!(page.contains("RUNNING") && page.contains("test, 66 %"), "{page}");
        assert!(!page.contains("<style") && !page.contains("<script>"), "policy refuses them");
        let (head, saved) = served.get("/runs/growing/report.html");
        assert!(head.contains("attachment") && head.contains("nosniff"));
        let run = brunt_host::runs::read(&served.runs().join("growing")).unwrap();
        assert_eq!(saved, report_html(&run));
    }

    #[test]
    fn who_was_away_hears_of_every_sample_since() {
        let records = made::records(4);
        let served = Served::new(|runs| {
            made::folder(runs, "growing", &made::journal(&records[..9]));
        });
        served.wait_for("/runs/growing", "2 samples");
        let heard = served.open("/runs/growing/events", "Last-Event-ID: 0\r\n");
        let mut ids = heard.lines().filter_map(|line| {
            let line = line.unwrap();
            Some(line.strip_prefix("id: ")?.parse::<u64>().unwrap())
        });
        assert_eq!([ids.next(), ids.next()], [Some(1), Some(2)]);
        fs::write(served.runs().join("growing").join(JOURNAL), made::journal(&records)).unwrap();
        assert_eq!([ids.next(), ids.next()], [Some(3), Some(4)]);
        let heard = served.open("/runs/growing/events", "Last-Event-ID: 3\r\n");
        let first = heard.lines().map(Result::unwrap).find(|line| line.starts_with("id: "));
        assert_eq!(first.as_deref(), Some("id: 4"));
    }

    #[test]
    fn a_folder_that_lies_is_shown_or_named_and_never_followed() {
        let served = Served::new(|runs| {
            let whole = made::journal(&made::records(3));
            made::folder(runs, "<b onload=x>&\u{1b}[2J", &whole);
            let outside = runs.parent().unwrap().join("outside");
            made::folder(&outside, "secret", &whole);
            symlink(outside.join("secret"), runs.join("link")).unwrap();
            // A link in the place of the journal, a pipe, a result that is none, a record of 4 GiB.
            let linked = made::folder(runs, "linked", &whole);
            fs::remove_file(linked.join(JOURNAL)).unwrap();
            symlink(outside.join("secret").join(JOURNAL), linked.join(JOURNAL)).unwrap();
            let pipe = made::folder(runs, "pipe", &whole);
            fs::remove_file(pipe.join(JOURNAL)).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                pipe.join(JOURNAL),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            let torn = made::folder(runs, "torn", &whole);
            fs::write(torn.join("result.json"), "{\"schema\": NaN").unwrap();
            let huge = [whole.as_slice(), &u32::MAX.to_le_bytes(), &[7; 4096]].concat();
            made::folder(runs, "huge", &huge);
            made::folder(runs, "foreign", b"not a journal\n");
        });
        let list = served.wait_for("/", "foreign");
        for name in ["linked", "pipe", "torn", "huge"] {
            served.wait_for("/", name);
            let (head, _) = served.get(&format!("/runs/{name}"));
            assert!(!head.contains(" 500 "), "{name}: {head}");
        }
        assert!(list.contains("&lt;b onload=x&gt;&amp;") && !list.contains("<b onload"));
        assert!(!list.contains('\u{1b}') && !list.contains("/runs/link\""));
        for path in ["/runs/link", "/runs/..", "/runs/..%2Foutside%2Fsecret", "/runs/outside"] {
            let (head, _) = served.get(path);
            assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
        }
        let (_, linked) = served.get("/runs/linked");
        assert!(!linked.contains("2 samples") && !linked.contains("3 samples"));
    }

    #[test]
    fn a_run_that_is_removed_is_gone() {
        let served = Served::new(|runs| {
            made::folder(runs, "old", &made::journal(&made::records(1)));
        });
        served.wait_for("/", "old");
        fs::remove_dir_all(served.runs().join("old")).unwrap();
        served.wait_for("/", "There is none yet");
        assert!(served.get("/runs/old").0.starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn what_is_chosen_is_drawn_and_what_cannot_be_is_said() {
        let served = Served::new(|runs| {
            made::folder(runs, "a", &made::journal(&made::records(3)));
        });
        served.wait_for("/runs/a", "3 samples");
        let (_, one) = served.get("/runs/a?of=DB1&from=0:10&to=30s");
        assert!(
            one.contains("Shown: DB1, 10.0 s to 30.0 s") && one.contains("worst 10 s, DB1:"),
            "{one}"
        );
        let (head, none) = served.get("/runs/a?of=DB9");
        assert!(head.starts_with("HTTP/1.1 422") && none.contains("DB9"));
        let (head, _) = served.get("/runs/a?from=soon");
        assert!(head.starts_with("HTTP/1.1 422"));
    }
}
