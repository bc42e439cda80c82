//! The accept loop that all listeners share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How long to wait after a failed accept or receive. The usual cause is that
/// the process is out of file descriptors, which an immediate retry does not
/// fix.
pub(crate) const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Handles each connection in its own task, at most `limit` at a time; further
/// clients wait in the backlog. Runs until it is dropped, which ends its tasks.
pub(crate) async fn accept_each<F, T>(listener: TcpListener, limit: usize, handle: F)
where
    F: Fn(TcpStream, SocketAddr) -> T,
    T: Future<Output = ()> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(limit));
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Nagle's algorithm would delay interactive traffic.
                let _ = stream.set_nodelay(true);
                let task = handle(stream, peer);
                tasks.spawn(async move {
                    task.await;
                    drop(slot);
                });
            }
            Err(_) => tokio::time::sleep(RETRY_DELAY).await,
        }
    }
}
