//! The open connections of the HTTP server. When they are full, a connection
//! that is not being answered makes room, so clients that send nothing cannot
//! keep others out.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hermes_core::CancellationToken;
use http_body_util::combinators::BoxBody;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::request::HttpReply;

/// The open connections.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    max_open: usize,
    rows: Mutex<ConnectionRows>,
    /// Notified when a connection closes or waits for a request.
    changed: Notify,
}

#[derive(Debug, Default)]
struct ConnectionRows {
    /// Numbers connections, and the moments at which they began to wait.
    next: u64,
    by_number: HashMap<u64, ConnectionRow>,
}

#[derive(Debug)]
struct ConnectionRow {
    close: CancellationToken,
    state: ConnectionState,
}

/// The order in which connections make room for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ConnectionState {
    /// Has not sent the head of its first request, since this moment.
    Opened(u64),
    /// Has been answered, and waits for another request since this moment.
    Idle(u64),
    /// Is being answered.
    Busy,
}

impl ConnectionTable {
    /// Creates a table for at most this many connections.
    pub(crate) fn new(max_open: usize) -> Arc<Self> {
        Arc::new(Self { max_open, rows: Mutex::default(), changed: Notify::new() })
    }

    /// Adds a connection. If the table is full, closes the one that has waited
    /// longest; if all are busy, waits for one of them.
    pub(crate) async fn admit(self: &Arc<Self>) -> ConnectionSlot {
        loop {
            let changed = self.changed.notified();
            if let Some(slot) = self.try_admit() {
                return slot;
            }
            changed.await;
        }
    }

    fn try_admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut rows = self.rows.lock();
        if rows.by_number.len() >= self.max_open {
            let (number, row) = rows.by_number.iter().min_by_key(|(_, row)| row.state)?;
            if row.state == ConnectionState::Busy {
                return None;
            }
            let number = *number;
            if let Some(row) = rows.by_number.remove(&number) {
                row.close.cancel();
            }
        }
        let number = rows.next_number();
        let close = CancellationToken::new();
        let state = ConnectionState::Opened(number);
        rows.by_number.insert(number, ConnectionRow { close: close.clone(), state });
        Some(ConnectionSlot { table: Arc::clone(self), number, close })
    }
}

impl ConnectionRows {
    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn set_state(&mut self, number: u64, state: ConnectionState) {
        if let Some(row) = self.by_number.get_mut(&number) {
            row.state = state;
        }
    }
}

/// The place of a connection in the table.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    table: Arc<ConnectionTable>,
    number: u64,
    close: CancellationToken,
}

impl ConnectionSlot {
    /// Marks the connection as busy until the guard is dropped.
    pub(crate) fn begin_request(&self) -> BusyGuard {
        self.table.rows.lock().set_state(self.number, ConnectionState::Busy);
        BusyGuard { table: Arc::clone(&self.table), number: self.number }
    }

    /// Waits until the connection has to close: another one needs its place, or
    /// the head of the first request is not complete after `head_timeout`.
    pub(crate) async fn closed(&self, head_timeout: Duration) {
        if tokio::time::timeout(head_timeout, self.close.cancelled()).await.is_ok() {
            return;
        }
        if !self.is_opened() {
            self.close.cancelled().await;
        }
    }

    /// Whether no request has arrived yet.
    fn is_opened(&self) -> bool {
        let rows = self.table.rows.lock();
        let row = rows.by_number.get(&self.number);
        row.is_some_and(|row| matches!(row.state, ConnectionState::Opened(_)))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.table.rows.lock().by_number.remove(&self.number);
        self.table.changed.notify_one();
    }
}

/// Marks a connection as busy.
#[derive(Debug)]
pub(crate) struct BusyGuard {
    table: Arc<ConnectionTable>,
    number: u64,
}

impl BusyGuard {
    /// Keeps the connection busy until this reply has been sent.
    pub(crate) fn attach(self, reply: HttpReply) -> Response<GuardedBody> {
        reply.map(|inner| GuardedBody { inner, _guard: self })
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let mut rows = self.table.rows.lock();
        let since = rows.next_number();
        rows.set_state(self.number, ConnectionState::Idle(since));
        drop(rows);
        self.table.changed.notify_one();
    }
}

/// The body of a reply, whose connection is busy until the body is sent.
#[derive(Debug)]
pub(crate) struct GuardedBody {
    inner: BoxBody<Bytes, Infallible>,
    _guard: BusyGuard,
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
