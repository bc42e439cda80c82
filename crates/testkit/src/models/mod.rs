//! A scripted model server: real HTTP and server-sent events on loopback, in the
//! formats of chat completions, responses, Anthropic's messages and Gemini. It
//! records its requests.
//!
//! ```
//! use hermes_testkit::models::{ModelServer, ScriptedReply};
//!
//! let read = ScriptedReply::calls("read_file", r#"{"path":"a"}"#);
//! let server = ModelServer::start(vec![ScriptedReply::says("Hello."), read]);
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! ```

mod encoder;
mod script;
mod wire;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub use script::{ReplyStep, ScriptedReply, ServerScript};

/// A received request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// `GET` or `POST`.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers, with lowercase names.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

impl RecordedRequest {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// State that the server and its owner share.
#[derive(Debug)]
pub(crate) struct ServerState {
    scenes: Mutex<Vec<ScriptedReply>>,
    pages: Mutex<BTreeMap<String, Value>>,
    requests: Mutex<Vec<RecordedRequest>>,
    log: Option<Mutex<File>>,
}

/// A scripted model server. It stops when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts it with a script, on a free port.
    ///
    /// # Panics
    ///
    /// If loopback has no port left.
    pub fn start(script: impl Into<ServerScript>) -> Self {
        Self::open(script.into(), 0, None).expect("a port on loopback")
    }

    /// Starts it on a port, 0 for any, and writes every request to a file, one
    /// per line.
    pub fn open(script: ServerScript, port: u16, log: Option<&Path>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let log = log.map(File::create).transpose()?.map(Mutex::new);
        let stage = Arc::new(ServerState {
            scenes: Mutex::new(script.scenes),
            pages: Mutex::new(script.pages),
            requests: Mutex::default(),
            log,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let own = Arc::clone(&stage);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                tokio::select! {
                    _ = stopped => {}
                    () = wire::serve(listener, own) => {}
                }
            });
        });
        Ok(Self { address, state: stage, stop: Some(stop), thread: Some(thread) })
    }

    /// The URL, without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL for clients, which ends in `/v1`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds a scene to the end of the script.
    pub fn add(&self, scene: ScriptedReply) {
        self.state.scenes.lock().push(scene);
    }

    /// The requests so far, including `GET`.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.requests.lock().clone()
    }

    /// The bodies of the model requests so far.
    pub fn model_requests(&self) -> Vec<Value> {
        let requests = self.state.requests.lock();
        requests.iter().filter(|one| one.method == "POST").map(RecordedRequest::json).collect()
    }

    /// Number of model requests so far.
    pub fn model_request_count(&self) -> usize {
        self.state.requests.lock().iter().filter(|one| one.method == "POST").count()
    }

    /// Number of unused scenes.
    pub fn remaining_replies(&self) -> usize {
        self.state.scenes.lock().iter().filter(|scene| !scene.again).count()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl ServerState {
    /// Records a request.
    fn record(&self, request: &RecordedRequest) {
        if let Some(log) = &self.log {
            let line = json!({
                "method": request.method,
                "path": request.path,
                "headers": request.headers,
                "body": serde_json::from_str::<Value>(&request.body)
                    .unwrap_or_else(|_| json!(request.body)),
            });
            let _ = io::Write::write_all(&mut *lock(log), format!("{line}\n").as_bytes());
        }
        self.requests.lock().push(request.clone());
    }

    /// The scene that answers a request.
    fn take_reply(&self, body: &str) -> Option<ScriptedReply> {
        let mut scenes = self.scenes.lock();
        let at = scenes.iter().position(|scene| scene.matches(body))?;
        if scenes[at].again { Some(scenes[at].clone()) } else { Some(scenes.remove(at)) }
    }

    fn fixed_response(&self, path: &str) -> Option<Value> {
        self.pages.lock().get(path).cloned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    mutex.lock()
}
