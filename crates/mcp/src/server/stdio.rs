//! One client, on standard input and output, until it closes the pipe.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::CancellationToken;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt as _};
use tokio_util::task::AbortOnDropHandle;

use super::lines::{Bounds, Lines};
use super::{Server, Shared};

/// The longest message, enough for a file of that size less its escapes.
const LONGEST: usize = 64 << 20;

/// How long calls may go on after the client has closed the pipe. Their
/// answers may still be read.
const LINGER: Duration = Duration::from_secs(1);

/// How long they may then take to stop and say so.
const ENDING: Duration = Duration::from_secs(2);

/// Serves the client at the other end of standard input and output, until it
/// goes or `stop` is set. Calls that still run are then stopped.
pub async fn serve_stdio<H: ServerHandler>(
    server: &Server,
    handler: H,
    stop: CancellationToken,
) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let closed = CancellationToken::new();
    let bounds = Bounds { longest: LONGEST, patience: LINGER + ENDING };
    let transport = Lines::new(input, output, bounds, closed.clone());
    let _watching = server.watch();
    let shared = &server.shared;
    let _ending =
        AbortOnDropHandle::new(tokio::spawn(end(Arc::clone(shared), closed, stop.clone())));
    let served = match handler.serve_with_ct(transport, stop).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // A client that goes without a word, or is sent away, is no failure.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(ServerInitializeError::TransportError { error, .. }) => cut_off(error.error),
        Err(error) => Err(io::Error::other(error)),
    };
    shared.deserted.cancel();
    shared.calls.cancel();
    served
}

/// What becomes of a server whose first answer could not be written. Nobody
/// reads the types of the library that carried it.
fn cut_off(error: Box<dyn std::error::Error + Send + Sync>) -> io::Result<()> {
    match error.downcast::<io::Error>() {
        Ok(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(error) => Err(*error),
        Err(error) => Err(io::Error::other(error)),
    }
}

impl Server {
    /// Tells clients of changes for as long as the handle lives.
    pub(super) fn watch(&self) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(Shared::watch(Arc::clone(&self.shared))))
    }
}

/// Stops the calls: at once when the server must go, after a moment when the
/// client has gone. Who only waits for news need not.
async fn end(shared: Arc<Shared>, closed: CancellationToken, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => shared.deserted.cancel(),
        () = closed.cancelled() => {
            shared.deserted.cancel();
            let _ = tokio::time::timeout(LINGER, stop.cancelled()).await;
        }
    }
    shared.calls.cancel();
}
