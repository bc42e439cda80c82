use hermes_core::ConnectionVerdict;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use std::sync::Arc;

use crate::support::{TestProxy, allow_all, start_echo};

const CLIENTS: usize = 100;
const CLIENT_BYTES: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_connections_at_once_each_get_their_own_bytes() {
    let (echo, _tasks) = start_echo().await;
    let mut proxy = TestProxy::start(allow_all).await;
    let address = proxy.address;
    // All tunnels are open before the first byte passes.
    let barrier = Arc::new(Barrier::new(CLIENTS));
    let mut clients = JoinSet::new();
    for index in 0..CLIENTS {
        let barrier = Arc::clone(&barrier);
        clients.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("CONNECT {echo} HTTP/1.1\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 39]).await.unwrap();
            barrier.wait().await;
            let sent = vec![u8::try_from(index).unwrap(); CLIENT_BYTES];
            let (mut reader, mut writer) = stream.split();
            let mut received = Vec::new();
            let (written, read) = tokio::join!(
                async {
                    writer.write_all(&sent).await?;
                    writer.shutdown().await
                },
                reader.read_to_end(&mut received)
            );
            written.unwrap();
            read.unwrap();
            assert!(received == sent, "client {index}: {} bytes", received.len());
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    for _ in 0..CLIENTS {
        let record = proxy.record().await;
        assert_eq!(record.verdict, ConnectionVerdict::Allow);
        assert_eq!(record.error, None);
        assert_eq!((record.sent, record.received), (CLIENT_BYTES as u64, CLIENT_BYTES as u64));
    }
    assert_eq!(proxy.stop().await, []);
}
