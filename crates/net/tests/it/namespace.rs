//! Redirects by the kernel: the test runs itself again in a network namespace
//! with the rules that a session has.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use hermes_core::ConnectionKind;
use hermes_net::DnsStub;
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket};

use crate::support::{TestProxy, TestServer, allow_all, read_all, start_echo};

const INSIDE_TEST: &str = "namespace::inside_a_namespace";

#[test]
fn connections_and_queries_are_redirected_by_the_kernel() {
    let inside = |program: &str, arguments: &[&str]| {
        Command::new("unshare").args(["--map-root-user", "--net", program]).args(arguments).output()
    };
    if !inside("nft", &["list", "ruleset"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no network namespace with nftables here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", INSIDE_TEST, "--ignored", "--nocapture"];
    let output = inside(program.to_str().unwrap(), &arguments).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

/// Everything but loopback goes to the proxy, and port 53 to the stub.
fn set_up(proxy: SocketAddr, stub: SocketAddr) {
    let rules = format!(
        "table inet session {{ chain output {{
            type nat hook output priority -100; policy accept;
            oifname lo ip daddr 127.0.0.0/8 accept
            udp dport 53 redirect to :{}
            meta l4proto tcp redirect to :{}
        }}
        }}",
        stub.port(),
        proxy.port()
    );
    for (program, arguments) in [
        ("ip", &["link", "set", "lo", "up"][..]),
        // Without a route, packets never come to the rules.
        ("ip", &["route", "add", "default", "dev", "lo", "src", "127.0.0.1"]),
        ("nft", &[&rules]),
    ] {
        let status = Command::new(program).args(arguments).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    }
}

#[tokio::test]
#[ignore = "changes the network; runs in a namespace of its own"]
async fn inside_a_namespace() {
    let status = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(status.success());
    let (echo, _tasks) = start_echo().await;
    let server = TestServer::start().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    set_up(proxy.address, socket.local_addr().unwrap());
    let stub = DnsStub::new(Arc::clone(&proxy.names));
    let stub = tokio::spawn(async move { stub.serve_udp(socket).await });

    // A client that knows of no proxy, with a name.
    let placeholder = proxy.names.address("localhost");
    let mut stream = TcpStream::connect((placeholder, echo.port())).await.unwrap();
    let local = stream.local_addr().unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await, "hello");
    let record = proxy.record().await;
    assert_eq!(record.request.kind, ConnectionKind::Redirected);
    assert_eq!(record.request.destination.to_string(), format!("localhost:{}", echo.port()));
    assert_eq!((record.sent, record.received), (5, 5));
    let original = SocketAddr::from((placeholder, echo.port())).to_string();
    assert_eq!(record.request.client.unwrap().arguments, [local.to_string(), original]);

    // A client that knows of the proxy.
    let request = format!("GET {} HTTP/1.1\r\n\r\n", server.url("/length"));
    assert!(proxy.exchange(request).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(proxy.record().await.request.kind, ConnectionKind::Http("GET".to_owned()));

    // A query to any name server.
    let mut query = Message::new(4711, MessageType::Query, OpCode::Query);
    query.add_query(Query::query(Name::from_ascii("example.com.").unwrap(), RecordType::A));
    let client = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    client.connect("9.9.9.9:53").await.unwrap();
    client.send(&query.to_vec().unwrap()).await.unwrap();
    let mut answer = [0; 512];
    let length = client.recv(&mut answer).await.unwrap();
    let answer = Message::from_vec(&answer[..length]).unwrap();
    let RData::A(address) = &answer.answers[0].data else { panic!("{answer:?}") };
    assert_eq!(proxy.names.name(address.0.into()).as_deref(), Some("example.com"));
    stub.abort();
}
