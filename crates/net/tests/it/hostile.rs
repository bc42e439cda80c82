use std::time::Duration;

use hermes_core::{ConnectionKind, ConnectionVerdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{TestProxy, TestServer, allow_all, read_all};

/// Inputs that are no request, with the beginning of their answer.
fn hostile_inputs() -> Vec<(Vec<u8>, &'static str)> {
    let bad = "HTTP/1.1 400";
    let long = "HTTP/1.1 431";
    vec![
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), bad),
        (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00".to_vec(), bad),
        (vec![0; 100_000], bad),
        (vec![0xff; 100_000], bad),
        (b"\r\n\r\n\r\n".to_vec(), bad),
        (b"GET\r\n\r\n".to_vec(), bad),
        (b"GET / HTTP/1.1\n\n".to_vec(), bad),
        (b"GET http://exa\0mple.com/ HTTP/1.1\r\n\r\n".to_vec(), bad),
        (b"CONNECT a b:443 HTTP/1.1\r\n\r\n".to_vec(), bad),
        (b"CONNECT evil@example.com:443 HTTP/1.1\r\n\r\n".to_vec(), bad),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), bad),
        (vec![b'A'; 200_000], long),
        (
            [b"GET http://example.com/ HTTP/1.1\r\n".to_vec(), b"A: b\r\n".repeat(20_000)].concat(),
            long,
        ),
        (
            [
                b"GET http://example.com/ HTTP/1.1\r\n".to_vec(),
                b"A: b\r\n".repeat(200),
                b"\r\n".to_vec(),
            ]
            .concat(),
            long,
        ),
        (b"\x05\x01\x02".to_vec(), "\x05\u{fffd}"),
        (b"\x05\x01\x00\x05\x09\x00\x01".to_vec(), "\x05\x00\x05\x07"),
    ]
}

#[tokio::test]
async fn garbage_is_answered_and_recorded_once() {
    let mut proxy = TestProxy::start(allow_all).await;
    for (input, expected) in hostile_inputs() {
        let answer = proxy.exchange(&input).await;
        let beginning = String::from_utf8_lossy(&input[..input.len().min(40)]).into_owned();
        assert!(answer.starts_with(expected), "{beginning:?}: {answer:?}");
        let record = proxy.record().await;
        assert!(matches!(record.verdict, ConnectionVerdict::Refuse(_)), "{beginning:?}");
        assert_eq!(record.request.destination.host, "", "{beginning:?}");
    }
    assert_eq!(proxy.asked(), []);
    assert_eq!(proxy.stop().await, []);
}

#[tokio::test]
async fn a_client_that_is_silent_or_slow_is_cut_off() {
    let change = |context: &mut hermes_net::ProxyContext| {
        context.limits.head_timeout = Duration::from_millis(50);
    };
    let mut proxy = TestProxy::start_with(allow_all, change).await;
    // Each waits for the end of the connection, without closing it.
    assert_eq!(proxy.exchange("").await, "");
    let answer = proxy.exchange("GET http://example.com/ HT").await;
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Http(String::new()));
    assert_eq!(proxy.exchange("\x05\x01\x00").await, "\x05\x00");
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Socks);
    assert_eq!(proxy.stop().await, []);
}

#[tokio::test]
async fn clients_that_leave_early_leave_no_trace_but_a_record() {
    let mut proxy = TestProxy::start(allow_all).await;
    drop(TcpStream::connect(proxy.address).await.unwrap());
    for input in ["GET http://exam", "\x05", "\x05\x01\x00\x05\x01\x00\x03\x0bexam"] {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        stream.write_all(input.as_bytes()).await.unwrap();
        drop(stream);
        assert!(matches!(proxy.record().await.verdict, ConnectionVerdict::Refuse(_)));
    }
    assert_eq!(proxy.stop().await, []);
}

#[tokio::test]
async fn a_request_cannot_be_smuggled() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let url = server.url("/length");
    let hidden = format!("GET /hidden HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    for headers in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", hidden.len() + 5),
        format!("Content-Length: 0\r\nContent-Length: {}\r\n", hidden.len()),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Content-Length: +0\r\n".to_owned(),
    ] {
        let answer =
            proxy.exchange(format!("POST {url} HTTP/1.1\r\n{headers}\r\n0\r\n\r\n{hidden}")).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{headers}: {answer}");
        proxy.record().await;
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[tokio::test]
async fn a_malformed_body_ends_the_request() {
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let head = format!("POST {} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", server.url("/length"));
    let answer = proxy.exchange(format!("{head}\r\n3\r\nabcGET / HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    let record = proxy.record().await;
    assert!(record.error.unwrap().contains("malformed"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn further_clients_wait_for_a_place() {
    let server = TestServer::start().await;
    let mut proxy =
        TestProxy::start_with(allow_all, |context| context.limits.max_connections = 2).await;
    let mut idle = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        let tunnel = format!("CONNECT {} HTTP/1.1\r\n\r\n", server.address);
        stream.write_all(tunnel.as_bytes()).await.unwrap();
        stream.read_exact(&mut [0; 39]).await.unwrap();
        idle.push(stream);
    }
    let mut waiting = TcpStream::connect(proxy.address).await.unwrap();
    let request = format!("GET {} HTTP/1.1\r\n\r\n", server.url("/length"));
    waiting.write_all(request.as_bytes()).await.unwrap();
    drop(idle.pop());
    let answer = read_all(&mut waiting).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    // The place was free before the request was served.
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Tunnel);
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Http("GET".to_owned()));
}
