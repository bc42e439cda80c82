//! A small HTTP server on this machine's loopback, outside of every sandbox,
//! that records its connections.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Longer than any client takes to send its request.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Response to a path; `None` is "not found".
type Answer = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

pub(super) struct HostServer {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl HostServer {
    /// Answers every request with one word.
    pub(super) fn start() -> Self {
        Self::answering(|_| Some(b"reached the host".to_vec()))
    }

    /// Serves the files below a directory.
    pub(super) fn for_files(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self::answering(move |path| {
            let is_plain = !path.contains("..");
            is_plain.then(|| std::fs::read(directory.join(path.trim_start_matches('/'))).ok())?
        })
    }

    pub(super) fn answering(
        answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, requests): (Arc<Answer>, _) = (Arc::new(answer), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
                std::thread::spawn(move || serve(stream, &*answer, &requests));
            }
        });
        Self { port, seen }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The first line of each connection, empty for one without a request.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }

    #[track_caller]
    pub(super) fn assert_untouched(&self) {
        // A connection is recorded when it sends something.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(self.seen(), Vec::<String>::new(), "a connection got through");
    }
}

/// One request per connection.
fn serve(mut stream: TcpStream, answer: &Answer, seen: &Mutex<Vec<String>>) {
    stream.set_read_timeout(Some(READ_TIMEOUT)).expect("a timeout");
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match reader.by_ref().take(8192).read_line(&mut line) {
            Ok(count) if count > 0 && !line.trim().is_empty() => lines.push(line),
            _ => break,
        }
    }
    let first = lines.first().map_or("", |line| line.trim()).to_owned();
    seen.lock().push(first.clone());
    let path = first.split(' ').nth(1).unwrap_or("/");
    let (head, body) = match answer(path) {
        // A complete status line: `302 Found\r\nLocation: …`
        Some(body) if body.starts_with(b"30") => {
            (String::from_utf8_lossy(&body).into_owned(), vec![])
        }
        Some(body) => ("200 OK".to_owned(), body),
        None => ("404 Not Found".to_owned(), vec![]),
    };
    let head =
        format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let is_head = first.starts_with("HEAD ");
    let body = if is_head { &[][..] } else { &body };
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}
