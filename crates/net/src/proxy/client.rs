//! A client of the proxy, and the operations that all protocols share.

use std::sync::Arc;
use std::time::Instant;

use hermes_core::{ClientProcess, ConnectionKind, ConnectionRequest, NetworkDestination};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ProxyContext;
use super::connection::{JudgedConnection, OpenError};
use super::relay::{relay, reset};
use crate::refusal;

const DRAIN_BUFFER_BYTES: usize = 4096;

/// A client of the proxy.
pub(super) struct ProxyClient {
    pub(super) context: Arc<ProxyContext>,
    pub(super) stream: TcpStream,
    lookup: Option<JoinHandle<Option<ClientProcess>>>,
    started: Instant,
}

impl ProxyClient {
    pub(super) fn new(
        context: Arc<ProxyContext>,
        stream: TcpStream,
        lookup: JoinHandle<Option<ClientProcess>>,
    ) -> Self {
        Self { context, stream, lookup: Some(lookup), started: Instant::now() }
    }

    /// Deadline for the complete request.
    pub(super) fn head_deadline(&self) -> tokio::time::Instant {
        (self.started + self.context.limits.head_timeout).into()
    }

    /// Creates the connection that the client requests.
    pub(super) async fn connection(
        &mut self,
        destination: NetworkDestination,
        kind: ConnectionKind,
    ) -> JudgedConnection {
        let client = match self.lookup.take() {
            Some(lookup) => lookup.await.ok().flatten(),
            None => None,
        };
        let request = ConnectionRequest { destination, address: None, client, kind };
        JudgedConnection::new(self.context.judge.get(), request, self.started)
    }

    /// Records a client whose request could not be parsed. The host is empty,
    /// since the destination is unknown.
    pub(super) async fn record_unreadable(&mut self, kind: ConnectionKind, problem: &str) {
        let destination = NetworkDestination { host: String::new(), port: 0 };
        let mut connection = self.connection(destination, kind).await;
        connection.refuse(refusal::unreadable(problem));
    }

    /// Opens the connection of a client that waits for a reply before it sends
    /// data. If the client closes meanwhile, the decision is moot: returns
    /// none, and the judge stops waiting.
    pub(super) async fn open_unless_closed(
        &self,
        connection: &mut JudgedConnection,
    ) -> Option<Result<TcpStream, OpenError>> {
        tokio::select! {
            opened = connection.open(&self.context.dialer) => Some(opened),
            () = self.closed() => None,
        }
    }

    async fn closed(&self) {
        match self.stream.peek(&mut [0]).await {
            Ok(0) | Err(_) => {}
            // The client sent data early; a close after it cannot be detected.
            Ok(_) => std::future::pending().await,
        }
    }

    /// Relays an established connection until it ends.
    pub(super) async fn relay(
        &mut self,
        connection: &mut JudgedConnection,
        early: &[u8],
        destination: TcpStream,
    ) {
        let limit = self.context.limits.half_close_timeout;
        let relayed = relay(&mut self.stream, early, destination, &connection.meter, limit).await;
        if let Err(error) = relayed {
            connection.fail(error);
            // An orderly close would make a partial response look complete.
            reset(&self.stream);
        }
    }

    /// Sends a final reply. Input from the client is read and discarded:
    /// closing with unread input would reset the connection, and the client
    /// might never see the reply.
    pub(super) async fn finish(mut self, answer: &[u8]) {
        if self.stream.write_all(answer).await.is_err() || self.stream.shutdown().await.is_err() {
            return;
        }
        let mut dropped = [0; DRAIN_BUFFER_BYTES];
        let drain = async { while matches!(self.stream.read(&mut dropped).await, Ok(1..)) {} };
        let _ = timeout(self.context.limits.drain_timeout, drain).await;
    }
}
