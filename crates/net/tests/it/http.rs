use hermes_core::{ConnectionKind, ConnectionVerdict, NetworkDestination};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{TestProxy, TestServer, allow_all, free_port, read_all, start_echo};

/// Opens a tunnel, and reads the response of the proxy.
async fn tunnel(proxy: &TestProxy, target: &str, early: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n{early}");
    stream.write_all(head.as_bytes()).await.unwrap();
    let expected = b"HTTP/1.1 200 Connection established\r\n\r\n";
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, expected);
    stream
}

#[tokio::test]
async fn a_tunnel_carries_both_directions_and_is_recorded() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let mut stream = tunnel(&proxy, &echo.to_string(), "early ").await;
    stream.write_all(b"and late").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await, "early and late");

    let record = proxy.record().await;
    assert_eq!(record.verdict, ConnectionVerdict::Allow);
    assert_eq!(record.error, None);
    assert_eq!((record.sent, record.received), (14, 14));
    assert_eq!(record.request.destination, NetworkDestination::new("127.0.0.1", echo.port()));
    assert_eq!(record.request.address, Some(echo.ip()));
    assert_eq!(record.request.kind, ConnectionKind::Tunnel);
    let client = record.request.client.unwrap();
    let local = stream.local_addr().unwrap().to_string();
    assert_eq!(client.arguments, [local, proxy.address.to_string()]);
    drop(stream);
    assert_eq!(proxy.stop().await, []);
}

#[tokio::test]
async fn a_tunnel_is_found_by_name() {
    let (echo, _tasks) = start_echo().await;
    let proxy = TestProxy::start(allow_all).await;
    let mut stream = tunnel(&proxy, &format!("LOCALHOST:{}", echo.port()), "").await;
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await, "hello");
    let asked = proxy.asked();
    assert_eq!(asked[0].destination.host, "localhost");
    assert_eq!(asked[0].address, None);
    assert!(asked[1..].iter().all(|request| request.address.unwrap().is_loopback()));
}

#[tokio::test]
async fn a_get_is_passed_on_in_origin_form() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let answer = proxy
        .exchange(format!(
            "GET {} HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nA: b\r\n\r\n",
            server.url("/length?q")
        ))
        .await;
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let sent = format!(
        "GET /length?q HTTP/1.1\r\nHost: {}\r\nA: b\r\nConnection: close\r\n\r\n",
        server.address
    );
    assert_eq!(server.requests(), [sent.as_str()]);
    let record = proxy.record().await;
    assert_eq!(record.request.kind, ConnectionKind::Http("GET".to_owned()));
    assert_eq!(record.sent, sent.len() as u64);
    assert_eq!(record.error, None);
}

#[tokio::test]
async fn bodies_are_passed_on_in_every_framing() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let body = "x".repeat(300_000);
    for (path, expected) in [
        ("/length", body.clone()),
        ("/chunked", format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())),
        ("/close", body.clone()),
        ("/stay", body.clone()),
        ("/hints", body.clone()),
    ] {
        let request = format!(
            "POST {} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
            server.url(path),
            body.len()
        );
        let answer = proxy.exchange(request).await;
        let (head, answered) = answer.split_once("\r\n\r\n").unwrap();
        let (head, answered) = match path {
            "/hints" => {
                assert!(head.starts_with("HTTP/1.1 103 Early Hints\r\nLink: x"), "{head}");
                answered.split_once("\r\n\r\n").unwrap()
            }
            _ => (head, answered),
        };
        assert!(head.contains("Connection: close"), "{path}: {head}");
        assert!(answered == expected, "{path}: {} bytes", answered.len());
        let record = proxy.record().await;
        assert_eq!(record.error, None, "{path}");
        assert_eq!(record.sent, server.requests().last().unwrap().len() as u64, "{path}");
        assert!(record.received > body.len() as u64, "{path}");
    }
}

#[tokio::test]
async fn a_chunked_request_is_passed_on() {
    let server = TestServer::start().await;
    let proxy = TestProxy::start(allow_all).await;
    let answer = proxy
        .exchange(format!(
            "POST {} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
            server.url("/length")
        ))
        .await;
    assert!(answer.ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_has_sent_everything_gets_its_answer() {
    let server = TestServer::start().await;
    let proxy = TestProxy::start(allow_all).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    let request = format!("GET {} HTTP/1.0\r\n\r\n", server.url("/length"));
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn only_the_judged_request_is_passed_on() {
    let server = TestServer::start().await;
    let proxy = TestProxy::start(allow_all).await;
    let url = server.url("/length");
    let answer = proxy
        .exchange(format!(
            "GET {url} HTTP/1.1\r\n\r\nDELETE {url} HTTP/1.1\r\nHost: {}\r\n\r\n",
            server.address
        ))
        .await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "{answer}");
    assert_eq!(server.requests().len(), 1);
    assert!(!server.requests()[0].contains("DELETE"), "{:?}", server.requests());
}

#[tokio::test]
async fn a_destination_that_does_not_answer_is_a_bad_gateway() {
    let port = free_port().await;
    let mut proxy = TestProxy::start(allow_all).await;
    for request in [
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
        format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"),
    ] {
        let answer = proxy.exchange(request).await;
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        assert!(answer.contains(&format!("127.0.0.1:{port}")), "{answer}");
        let record = proxy.record().await;
        assert_eq!(record.verdict, ConnectionVerdict::Allow);
        assert!(record.error.unwrap().contains("refused"));
        assert_eq!((record.sent, record.received), (0, 0));
    }
}

#[tokio::test]
async fn bad_answers_of_the_destination_are_told_apart() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let answer = proxy.exchange(format!("GET {} HTTP/1.1\r\n\r\n", server.url("/garbage"))).await;
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
    assert!(proxy.record().await.error.unwrap().contains("malformed"));
    let answer = proxy.exchange(format!("GET {} HTTP/1.1\r\n\r\n", server.url("/cut"))).await;
    assert!(answer.ends_with("\r\n\r\nhalf"), "{answer}");
    let record = proxy.record().await;
    assert!(record.error.unwrap().contains("cannot read the body"));
    assert_eq!(record.verdict, ConnectionVerdict::Allow);
}

#[tokio::test]
async fn a_destination_that_fails_after_an_interim_response_is_a_bad_gateway() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n").await.unwrap();
    });
    let mut proxy = TestProxy::start(allow_all).await;
    let answer = proxy.exchange(format!("GET http://{address}/ HTTP/1.1\r\n\r\n")).await;
    server.await.unwrap();
    let (interim, last) = answer.split_once("\r\n\r\n").unwrap();
    assert!(interim.starts_with("HTTP/1.1 103 "), "{answer}");
    assert!(last.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
    assert!(proxy.record().await.error.is_some());
}
