use std::sync::Arc;

use hermes_core::{
    BoxFuture, ConnectionJudge, ConnectionKind, ConnectionRecord, ConnectionRequest,
    ConnectionVerdict,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

use crate::support::{
    TestProxy, TestServer, allow_all, deny_addresses, refusal, refuse, start_echo,
};

#[tokio::test]
async fn a_name_is_refused_before_it_is_looked_up() {
    let mut proxy = TestProxy::start(|_| refuse("example.com is denied")).await;
    let answer = proxy.exchange("CONNECT example.com:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(answer.contains("\r\nX-Hermes-Refused: example.com is denied\r\n"), "{answer}");
    for part in
        ["example.com:443", "reason: example.com is denied", "test: rule", "change the test"]
    {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let record = proxy.record().await;
    assert_eq!(record.verdict, ConnectionVerdict::Refuse(refusal("example.com is denied")));
    assert_eq!(record.request.address, None);
    assert_eq!((record.sent, record.received, record.error), (0, 0, None));
    assert_eq!(proxy.asked().len(), 1);
    assert_eq!(proxy.stop().await, []);
}

#[tokio::test]
async fn a_refused_upload_is_answered_without_a_reset() {
    let change = |context: &mut hermes_net::ProxyContext| {
        context.limits.drain_timeout = std::time::Duration::from_secs(60);
    };
    let proxy = TestProxy::start_with(|_| refuse("no uploads"), change).await;
    let body = "x".repeat(20_000_000);
    let request = format!(
        "POST http://example.com/ HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    // A reset cuts off neither the upload nor the response.
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(answer.ends_with("change the test\n"), "{answer}");
}

#[tokio::test]
async fn an_address_is_refused_after_the_lookup() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(deny_addresses).await;
    let target = format!("localhost:{}", echo.port());
    for request in [
        format!("CONNECT {target} HTTP/1.1\r\n\r\n"),
        format!("GET http://{target}/ HTTP/1.1\r\n\r\n"),
    ] {
        let answer = proxy.exchange(request).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
        assert!(answer.contains("is not public"), "{answer}");
        let record = proxy.record().await;
        assert!(matches!(record.verdict, ConnectionVerdict::Refuse(_)));
        assert!(record.request.address.unwrap().is_loopback());
    }
    let addresses: Vec<bool> = proxy.asked().iter().map(|it| it.address.is_some()).collect();
    assert_eq!(addresses, [false, true, false, true]);
}

#[tokio::test]
async fn metadata_services_are_refused_whatever_the_judge_says() {
    let mut proxy = TestProxy::start(allow_all).await;
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ] {
        let answer = proxy.exchange(format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{host}: {answer}");
        assert!(answer.contains("metadata service"), "{host}: {answer}");
        assert!(matches!(proxy.record().await.verdict, ConnectionVerdict::Refuse(_)), "{host}");
    }
    assert_eq!(proxy.asked(), []);
}

#[tokio::test]
async fn without_a_judge_everything_is_refused() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let judge = proxy.current.get().unwrap();
    proxy.current.clear();
    let request = format!("GET {} HTTP/1.1\r\n\r\n", server.url("/length"));
    let answer = proxy.exchange(&request).await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(answer.contains("this process serves no call of the session"), "{answer}");
    assert!(server.requests().is_empty());

    proxy.current.set(judge);
    let answer = proxy.exchange(&request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(proxy.record().await.verdict, ConnectionVerdict::Allow);
}

/// A judge that never decides, such as one that waits for the user.
struct WaitingJudge {
    asked: Notify,
    records: mpsc::UnboundedSender<ConnectionRecord>,
}

impl ConnectionJudge for WaitingJudge {
    fn judge<'a>(&'a self, _: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        self.asked.notify_one();
        Box::pin(std::future::pending())
    }

    fn record(&self, record: ConnectionRecord) {
        let _ = self.records.send(record);
    }
}

#[tokio::test]
async fn a_client_that_leaves_is_not_waited_for() {
    let proxy = TestProxy::start(allow_all).await;
    let (sender, mut records) = mpsc::unbounded_channel();
    let judge = Arc::new(WaitingJudge { asked: Notify::new(), records: sender });
    proxy.current.set(judge.clone());
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream.write_all(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n").await.unwrap();
    judge.asked.notified().await;
    drop(stream);
    let record = records.recv().await.unwrap();
    assert_eq!(record.request.kind, ConnectionKind::Tunnel);
    let ConnectionVerdict::Refuse(refusal) = record.verdict else { panic!() };
    assert!(refusal.reason.contains("before a decision was made"), "{refusal:?}");
}

#[tokio::test]
async fn connections_of_a_proxy_that_stops_are_recorded() {
    let (echo, _tasks) = start_echo().await;
    let proxy = TestProxy::start(allow_all).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream.write_all(format!("CONNECT {echo} HTTP/1.1\r\n\r\nx").as_bytes()).await.unwrap();
    let mut answer = vec![0; "HTTP/1.1 200 Connection established\r\n\r\nx".len()];
    stream.read_exact(&mut answer).await.unwrap();
    let records = proxy.stop().await;
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].sent, records[0].received), (1, 1));
    assert_eq!(records[0].verdict, ConnectionVerdict::Allow);
}
