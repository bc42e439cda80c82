use std::net::SocketAddr;
use std::sync::Arc;

use hermes_core::{ConnectionKind, ConnectionVerdict};
use hermes_net::OriginalDestination;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{TestProxy, allow_all, read_all, refuse, start_echo};

/// What a kernel that redirects everything to the proxy would say.
struct FixedRedirect(SocketAddr);

impl OriginalDestination for FixedRedirect {
    fn original_destination(&self, _: &TcpStream) -> Option<SocketAddr> {
        Some(self.0)
    }
}

/// The first placeholder that a table gives out.
fn first_placeholder(port: u16) -> SocketAddr {
    SocketAddr::from(([198, 18, 0, 1], port))
}

#[tokio::test]
async fn a_placeholder_leads_to_its_name() {
    let (echo, _tasks) = start_echo().await;
    let original = first_placeholder(echo.port());
    let change = move |context: &mut hermes_net::ProxyContext| {
        context.redirects = Arc::new(FixedRedirect(original));
    };
    let mut proxy = TestProxy::start_with(allow_all, change).await;
    assert_eq!(proxy.names.address("localhost"), original.ip());
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream.write_all(b"\x05 not SOCKS").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await, "\x05 not SOCKS");
    let record = proxy.record().await;
    assert_eq!(record.request.kind, ConnectionKind::Redirected);
    assert_eq!(record.request.destination.host, "localhost");
    assert_eq!((record.sent, record.received), (11, 11));
    // The client's socket is connected to the original destination.
    assert_eq!(record.request.client.unwrap().arguments[1], original.to_string());
}

#[tokio::test]
async fn a_placeholder_without_a_name_is_refused() {
    let change = |context: &mut hermes_net::ProxyContext| {
        context.redirects = Arc::new(FixedRedirect(first_placeholder(443)));
    };
    let mut proxy = TestProxy::start_with(allow_all, change).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
    let record = proxy.record().await;
    let ConnectionVerdict::Refuse(refusal) = record.verdict else { panic!("{record:?}") };
    assert!(refusal.reason.contains("198.18.0.1 is a placeholder address"), "{refusal:?}");
    assert_eq!(proxy.asked(), []);
}

#[tokio::test]
async fn a_refused_connection_is_reset() {
    let change = |context: &mut hermes_net::ProxyContext| {
        let original = SocketAddr::from(([10, 1, 2, 3], 443));
        context.redirects = Arc::new(FixedRedirect(original));
    };
    let mut proxy = TestProxy::start_with(|_| refuse("denied"), change).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    let error = tokio::io::AsyncReadExt::read(&mut stream, &mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let record = proxy.record().await;
    assert_eq!(record.request.destination.to_string(), "10.1.2.3:443");
}

#[tokio::test]
async fn a_client_of_the_proxy_itself_is_not_redirected() {
    let mut proxy = TestProxy::start_with(allow_all, |_| {}).await;
    let answer = proxy.exchange("GET / HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Http(String::new()));
}
