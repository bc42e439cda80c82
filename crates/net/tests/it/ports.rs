use hermes_core::{ConnectionKind, ConnectionVerdict, NetworkDestination};
use hermes_net::publish_port;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{TestProxy, allow_all, free_port, read_all, refuse, start_echo};

async fn listen() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn hello(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(b"hello").await;
    let _ = stream.shutdown().await;
    read_all(&mut stream).await
}

#[tokio::test]
async fn a_port_of_the_host_is_forwarded_and_judged() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let (listener, address) = listen().await;
    let server = proxy.server.clone();
    let forward = tokio::spawn(async move { server.forward_port(listener, echo).await });
    assert_eq!(hello(address).await, "hello");
    let record = proxy.record().await;
    assert_eq!(record.request.kind, ConnectionKind::HostPort);
    assert_eq!(record.request.destination, NetworkDestination::new("127.0.0.1", echo.port()));
    assert_eq!(record.request.address, Some(echo.ip()));
    assert_eq!((record.sent, record.received), (5, 5));
    assert_eq!(record.request.client.unwrap().pid, 42);
    forward.abort();
}

#[tokio::test]
async fn a_forward_that_is_refused_is_closed() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(|_| refuse("denied")).await;
    let (listener, address) = listen().await;
    let server = proxy.server.clone();
    let forward = tokio::spawn(async move { server.forward_port(listener, echo).await });
    assert_eq!(hello(address).await, "");
    assert!(matches!(proxy.record().await.verdict, ConnectionVerdict::Refuse(_)));
    forward.abort();
}

#[tokio::test]
async fn a_port_of_the_session_is_published() {
    let (echo, _tasks) = start_echo().await;
    let (listener, address) = listen().await;
    let publish = tokio::spawn(publish_port(listener, move || TcpStream::connect(echo)));
    assert_eq!(hello(address).await, "hello");
    assert_eq!(hello(address).await, "hello");
    publish.abort();

    let (listener, address) = listen().await;
    let port = free_port().await;
    let publish =
        tokio::spawn(publish_port(listener, move || TcpStream::connect(("127.0.0.1", port))));
    assert_eq!(hello(address).await, "");
    publish.abort();
}
