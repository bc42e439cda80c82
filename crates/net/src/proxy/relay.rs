//! Relays bytes in both directions and counts them.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;

/// Size of the buffer for each direction.
pub(crate) const COPY_BUFFER_BYTES: usize = 16 * 1024;

/// Counts the bytes between a client and its destination.
#[derive(Debug, Default)]
pub(crate) struct ByteMeter {
    sent: AtomicU64,
    received: AtomicU64,
    is_half_closed: AtomicBool,
}

impl ByteMeter {
    /// Returns the number of bytes sent to the destination.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes received from the destination.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Records that one of the two sides will send nothing more.
    pub(crate) fn set_half_closed(&self) {
        self.is_half_closed.store(true, Ordering::Relaxed);
    }

    /// Completes when the connection is half closed and no byte has passed for
    /// at least `limit`. A client that exited looks exactly like one that only
    /// finished sending, and would otherwise hold its slot while the other side
    /// is silent.
    pub(crate) async fn stalled(&self, limit: Duration) -> io::Error {
        let mut before = None;
        loop {
            tokio::time::sleep(limit).await;
            let is_half_closed = self.is_half_closed.load(Ordering::Relaxed);
            let now = is_half_closed.then(|| (self.sent(), self.received()));
            if now.is_some() && now == before {
                let text = "one side closed the connection and the other side sent nothing more";
                return io::Error::new(io::ErrorKind::TimedOut, text);
            }
            before = now;
        }
    }
}

/// The destination's side of a connection; counts bytes.
#[derive(Debug)]
pub(super) struct MeteredStream<'a, S> {
    inner: S,
    meter: &'a ByteMeter,
}

impl<'a, S> MeteredStream<'a, S> {
    pub(super) fn new(inner: S, meter: &'a ByteMeter) -> Self {
        Self { inner, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = polled {
            let read = buf.filled().len() - before;
            self.meter.received.fetch_add(read as u64, Ordering::Relaxed);
            if read == 0 {
                self.meter.set_half_closed();
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<'_, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.meter.sent.fetch_add(written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.meter.set_half_closed();
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Copies in both directions until both sides have closed. `early` holds bytes
/// already read from the client.
pub(crate) async fn relay(
    client: &mut TcpStream,
    early: &[u8],
    destination: TcpStream,
    meter: &ByteMeter,
    half_close_timeout: Duration,
) -> io::Result<()> {
    let (reader, writer) = client.split();
    let mut client = tokio::io::join(early.chain(reader), writer);
    let mut destination = MeteredStream::new(destination, meter);
    let size = COPY_BUFFER_BYTES;
    tokio::select! {
        copied = copy_bidirectional_with_sizes(&mut client, &mut destination, size, size) => {
            copied.map(|_| ())
        }
        error = meter.stalled(half_close_timeout) => Err(error),
    }
}

/// Makes the client see a reset instead of an orderly close on drop.
pub(crate) fn reset(client: &TcpStream) {
    let _ = client.set_zero_linger();
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
