//! A proxy with a judge that tests can ask, a web server, and a raw client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::{
    BoxFuture, ClientProcess, ConnectionJudge, ConnectionRecord, ConnectionRefusal,
    ConnectionRequest, ConnectionVerdict,
};
use hermes_net::{ClientLookup, CurrentJudge, NameTable, ProxyContext, ProxyServer};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

type Decision = dyn Fn(&ConnectionRequest) -> ConnectionVerdict + Send + Sync;

/// A judge that decides by a function, and keeps the requests and records.
pub(crate) struct TestJudge {
    decide: Box<Decision>,
    asked: Mutex<Vec<ConnectionRequest>>,
    records: mpsc::UnboundedSender<ConnectionRecord>,
}

impl ConnectionJudge for TestJudge {
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        self.asked.lock().push(request.clone());
        let verdict = (self.decide)(request);
        Box::pin(async move { verdict })
    }

    fn record(&self, record: ConnectionRecord) {
        let _ = self.records.send(record);
    }
}

pub(crate) fn allow_all(_: &ConnectionRequest) -> ConnectionVerdict {
    ConnectionVerdict::Allow
}

/// Denies every address that the proxy asks about.
pub(crate) fn deny_addresses(request: &ConnectionRequest) -> ConnectionVerdict {
    match request.address {
        None => ConnectionVerdict::Allow,
        Some(address) => refuse(&format!("{address} is not public")),
    }
}

pub(crate) fn refuse(reason: &str) -> ConnectionVerdict {
    ConnectionVerdict::Refuse(refusal(reason))
}

pub(crate) fn refusal(reason: &str) -> ConnectionRefusal {
    ConnectionRefusal {
        reason: reason.to_owned(),
        rule: "test: rule".to_owned(),
        allow: "change the test".to_owned(),
        is_approvable: false,
    }
}

/// Every client is the same process; its arguments say who asked for what.
pub(crate) struct TestClients;

impl ClientLookup for TestClients {
    fn client(&self, peer: SocketAddr, local: SocketAddr) -> Option<ClientProcess> {
        Some(ClientProcess {
            pid: 42,
            executable: PathBuf::from("/usr/bin/client"),
            arguments: vec![peer.to_string(), local.to_string()],
            is_installed: true,
            has_generated_code: false,
            job: None,
            callers: Vec::new(),
        })
    }
}

/// A running proxy.
pub(crate) struct TestProxy {
    pub(crate) address: SocketAddr,
    pub(crate) server: ProxyServer,
    pub(crate) names: Arc<NameTable>,
    pub(crate) current: CurrentJudge,
    judge: Arc<TestJudge>,
    records: mpsc::UnboundedReceiver<ConnectionRecord>,
    tasks: JoinSet<()>,
}

impl TestProxy {
    pub(crate) async fn start(
        decide: impl Fn(&ConnectionRequest) -> ConnectionVerdict + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(decide, |_| {}).await
    }

    /// Starts a proxy whose context is changed first.
    pub(crate) async fn start_with(
        decide: impl Fn(&ConnectionRequest) -> ConnectionVerdict + Send + Sync + 'static,
        change: impl FnOnce(&mut ProxyContext),
    ) -> Self {
        let (sender, records) = mpsc::unbounded_channel();
        let judge = Arc::new(TestJudge {
            decide: Box::new(decide),
            asked: Mutex::default(),
            records: sender,
        });
        let current = CurrentJudge::new();
        current.set(judge.clone());
        let names = Arc::new(NameTable::new());
        let mut context =
            ProxyContext::new(current.clone(), Arc::new(TestClients), Arc::clone(&names));
        change(&mut context);
        let server = ProxyServer::new(context);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        let serving = server.clone();
        tasks.spawn(async move { serving.serve(listener).await });
        Self { address, server, names, current, judge, records, tasks }
    }

    /// The next record.
    pub(crate) async fn record(&mut self) -> ConnectionRecord {
        self.records.recv().await.unwrap()
    }

    /// Ends the proxy; what was recorded and not read yet.
    pub(crate) async fn stop(mut self) -> Vec<ConnectionRecord> {
        self.tasks.shutdown().await;
        self.current.clear();
        let Self { server, judge, mut records, .. } = self;
        drop((server, judge));
        let mut rest = Vec::new();
        // Closed when the last connection, which keeps the judge, is gone.
        while let Some(record) = records.recv().await {
            rest.push(record);
        }
        rest
    }

    /// What the judge was asked so far.
    pub(crate) fn asked(&self) -> Vec<ConnectionRequest> {
        self.judge.asked.lock().clone()
    }

    /// Sends all of this, and returns everything that comes back.
    pub(crate) async fn exchange(&self, input: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The proxy may answer and close before it has read everything.
        let _ = stream.write_all(input.as_ref()).await;
        read_all(&mut stream).await
    }
}

/// Everything up to the end or the reset of a connection.
pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A web server. `/length`, `/chunked` and `/close` answer with the body of the
/// request in that framing; `/stay` keeps the connection open; `/cut` promises
/// more than it sends; `/garbage` is not HTTP; `/hints` has interim responses.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    /// The heads and bodies of requests, as they came.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&requests);
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                clients.spawn(serve(stream, Arc::clone(&log)));
            }
        });
        Self { address, requests, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    let Some((head, body)) = read_request(&mut stream, &mut bytes).await else { return };
    log.lock().push(format!("{head}{body}"));
    let path = head.split(' ').nth(1).unwrap_or_default();
    let answer = match path {
        "/chunked" => format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        ),
        "/close" => format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
        "/cut" => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_owned(),
        "/garbage" => "SSH-2.0-server\r\n\r\n".to_owned(),
        "/hints" => format!(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
        _ => format!(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    };
    let _ = stream.write_all(answer.as_bytes()).await;
    if path == "/stay" {
        let _ = stream.read(&mut [0]).await;
    }
}

/// The head and the body; chunks stay as they are.
async fn read_request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, String)> {
    let find = |bytes: &[u8], text: &str| {
        bytes.windows(text.len()).position(|window| window == text.as_bytes())
    };
    loop {
        if let Some(end) = find(bytes, "\r\n\r\n") {
            let (head, body) = bytes.split_at(end + 4);
            let head = String::from_utf8_lossy(head).into_owned();
            let length = head.split("Content-Length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            let is_chunked = head.contains("Transfer-Encoding: chunked");
            let is_complete = match length {
                _ if is_chunked => find(body, "0\r\n\r\n").is_some(),
                Some(length) => body.len() >= length,
                None => true,
            };
            if is_complete {
                return Some((head, String::from_utf8_lossy(body).into_owned()));
            }
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A server that sends back what it gets, until the client is done.
pub(crate) async fn start_echo() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut clients = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            clients.spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    (address, tasks)
}

/// A port on which nothing listens.
pub(crate) async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}
