use std::net::SocketAddr;

use hermes_core::{ConnectionKind, ConnectionVerdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{
    TestProxy, allow_all, deny_addresses, free_port, read_all, refuse, start_echo,
};

/// Asks for a destination by name, and returns the reply code.
async fn connect(proxy: &TestProxy, host: &str, port: u16) -> (TcpStream, u8) {
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut method = [0; 2];
    stream.read_exact(&mut method).await.unwrap();
    assert_eq!(method, [5, 0]);
    let mut request = vec![5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
    request.extend_from_slice(host.as_bytes());
    request.extend_from_slice(&port.to_be_bytes());
    stream.write_all(&request).await.unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!((reply[0], reply[2..].to_vec()), (5, vec![0, 1, 0, 0, 0, 0, 0, 0]));
    (stream, reply[1])
}

async fn check_echo(proxy: &mut TestProxy, host: &str, echo: SocketAddr) {
    let (mut stream, reply) = connect(proxy, host, echo.port()).await;
    assert_eq!(reply, 0);
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await, "hello");
    let record = proxy.record().await;
    assert_eq!(record.request.kind, ConnectionKind::Socks);
    assert_eq!(record.verdict, ConnectionVerdict::Allow);
    assert_eq!((record.sent, record.received), (5, 5));
}

#[tokio::test]
async fn names_and_addresses_are_reached() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(allow_all).await;
    check_echo(&mut proxy, "localhost", echo).await;
    check_echo(&mut proxy, "127.0.0.1", echo).await;
    // A client that looked up the name itself has a placeholder.
    let placeholder = proxy.names.address("localhost").to_string();
    check_echo(&mut proxy, &placeholder, echo).await;
    assert_eq!(proxy.asked().last().unwrap().destination.host, "localhost");
}

#[tokio::test]
async fn refusals_and_failures_have_their_codes() {
    let (echo, _tasks) = start_echo().await;
    let mut denied = TestProxy::start(|_| refuse("denied")).await;
    assert_eq!(connect(&denied, "example.com", 443).await.1, 2);
    assert!(matches!(denied.record().await.verdict, ConnectionVerdict::Refuse(_)));

    let private = TestProxy::start(deny_addresses).await;
    assert_eq!(connect(&private, "localhost", echo.port()).await.1, 2);

    let mut allowed = TestProxy::start(allow_all).await;
    assert_eq!(connect(&allowed, "169.254.169.254", 80).await.1, 2);
    assert!(matches!(allowed.record().await.verdict, ConnectionVerdict::Refuse(_)));
    assert_eq!(connect(&allowed, "127.0.0.1", free_port().await).await.1, 4);
    assert!(allowed.record().await.error.is_some());
}
