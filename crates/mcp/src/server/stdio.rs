//! Serves one client over standard input and output, until it closes the pipe.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::CancellationToken;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt as _};
use tokio_util::task::AbortOnDropHandle;

use super::line_transport::{LineLimits, LineTransport};
use super::{McpServer, ServerShared};

/// Maximum size of a message; fits a file of nearly that size.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// How long calls may continue after the client has closed the pipe, since it
/// may still read the results.
const DISCONNECT_GRACE: Duration = Duration::from_secs(1);

/// How long cancelled calls may then take to respond.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Serves the client on standard input and output until it disconnects or
/// `stop` is set, then cancels running calls.
pub async fn serve_stdio<H: ServerHandler>(
    server: &McpServer,
    handler: H,
    stop: CancellationToken,
) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let closed = CancellationToken::new();
    let bounds = LineLimits {
        max_message_bytes: MAX_MESSAGE_BYTES,
        drain_timeout: DISCONNECT_GRACE + CANCEL_GRACE,
    };
    let transport = LineTransport::new(input, output, bounds, closed.clone());
    let _watching = server.spawn_watcher();
    let shared = &server.shared;
    let _ending = AbortOnDropHandle::new(tokio::spawn(cancel_when_done(
        Arc::clone(shared),
        closed,
        stop.clone(),
    )));
    let served = match handler.serve_with_ct(transport, stop).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // A client that disconnects before initialization is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(ServerInitializeError::TransportError { error, .. }) => broken_pipe_result(error.error),
        Err(error) => Err(io::Error::other(error)),
    };
    shared.clients_gone.cancel();
    shared.cancel_calls.cancel();
    served
}

/// Converts the error of a failed first write. Unwraps the library's error
/// types, which mean nothing to the user.
fn broken_pipe_result(error: Box<dyn std::error::Error + Send + Sync>) -> io::Result<()> {
    match error.downcast::<io::Error>() {
        Ok(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(error) => Err(*error),
        Err(error) => Err(io::Error::other(error)),
    }
}

impl McpServer {
    /// Notifies clients of list changes until the handle is dropped.
    pub(super) fn spawn_watcher(&self) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(ServerShared::watch_lists(Arc::clone(&self.shared))))
    }
}

/// Cancels the calls: at once on shutdown, after a grace period when the client
/// disconnects. Subscriptions end at once.
async fn cancel_when_done(
    shared: Arc<ServerShared>,
    closed: CancellationToken,
    stop: CancellationToken,
) {
    tokio::select! {
        () = stop.cancelled() => shared.clients_gone.cancel(),
        () = closed.cancelled() => {
            shared.clients_gone.cancel();
            let _ = tokio::time::timeout(DISCONNECT_GRACE, stop.cancelled()).await;
        }
    }
    shared.cancel_calls.cancel();
}
