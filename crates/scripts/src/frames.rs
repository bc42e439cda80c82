//! Length-prefixed messages on a stream.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum size of a message.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;
/// Messages above this size are large: only a few are read at a time.
const LARGE_FRAME_BYTES: usize = 1 << 20;
/// Bytes per read.
const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Bytes of the length prefix.
const LENGTH_PREFIX_BYTES: usize = 4;

/// A stream that messages are read from.
pub(crate) trait FrameSource: Send + Sync {
    /// Waits until the stream may have data.
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Reads the available bytes.
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// A stream that messages are written to.
pub(crate) trait FrameSink: Send + Sync {
    /// Waits until the stream may have room.
    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Writes as many bytes as fit.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
}

macro_rules! ends {
    ($($kind:ident $end:ty: $ready:ident, $act:ident($bytes:ty);)+) => { $(
        impl $kind for $end {
            async fn $ready(&self) -> io::Result<()> {
                <$end>::$ready(self).await
            }
            fn $act(&self, bytes: $bytes) -> io::Result<usize> {
                <$end>::$act(self, bytes)
            }
        }
    )+ };
}

ends! {
    FrameSource UnixStream: readable, try_read(&mut [u8]);
    FrameSource pipe::Receiver: readable, try_read(&mut [u8]);
    FrameSink UnixStream: writable, try_write(&[u8]);
    FrameSink pipe::Sender: writable, try_write(&[u8]);
}

/// A message.
#[derive(Debug)]
pub(crate) struct RpcFrame {
    /// The sender, if several share a stream.
    pub(crate) tag: u32,
    /// The message body.
    pub(crate) bytes: Vec<u8>,
    /// Held while a large message is in memory.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// Reads the messages of a stream.
#[derive(Debug)]
pub(crate) struct FrameReader<'a, S> {
    source: &'a S,
    /// Bytes before the length: those of a tag, or none.
    tag_bytes: usize,
    large_messages: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
    buffer: Vec<u8>,
    chunk: Vec<u8>,
}

impl<'a, S: FrameSource> FrameReader<'a, S> {
    /// A reader of a stream with one sender.
    pub(crate) fn untagged(source: &'a S, large: Arc<Semaphore>) -> Self {
        Self {
            source,
            tag_bytes: 0,
            large_messages: large,
            permit: None,
            buffer: Vec::new(),
            chunk: vec![0; READ_CHUNK_BYTES],
        }
    }

    /// A reader of a stream with several senders, each with a tag.
    pub(crate) fn tagged(source: &'a S, large: Arc<Semaphore>) -> Self {
        Self { tag_bytes: LENGTH_PREFIX_BYTES, ..Self::untagged(source, large) }
    }

    /// Returns the next message, or `None` at the end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<RpcFrame>> {
        let head = self.tag_bytes + LENGTH_PREFIX_BYTES;
        loop {
            let length = read_u32(&self.buffer, self.tag_bytes);
            if let Some(length) = length {
                let length = length as usize;
                if length > MAX_FRAME_BYTES {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if self.buffer.len() >= head + length {
                    return Ok(Some(self.take_frame(head, length)));
                }
                if length > LARGE_FRAME_BYTES && self.permit.is_none() {
                    let permit = Arc::clone(&self.large_messages).acquire_owned().await;
                    self.permit = permit.ok();
                }
            }
            self.source.readable().await?;
            match self.source.try_read(&mut self.chunk) {
                Ok(0) => return Ok(None),
                Ok(read) => self.buffer.extend(self.chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take_frame(&mut self, head: usize, length: usize) -> RpcFrame {
        let tag =
            if self.tag_bytes > 0 { read_u32(&self.buffer, 0).unwrap_or_default() } else { 0 };
        let rest = self.buffer.split_off(head + length);
        let mut bytes = std::mem::replace(&mut self.buffer, rest);
        bytes.drain(..head);
        RpcFrame { tag, bytes, permit: self.permit.take() }
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + LENGTH_PREFIX_BYTES)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// Prefixes the body with its length, and with the tag if there is one.
pub(crate) fn encode_frame(tag: Option<u32>, body: &str) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(body.len() + 2 * LENGTH_PREFIX_BYTES);
    bytes.extend(tag.map(u32::to_be_bytes).into_iter().flatten());
    bytes.extend(length.to_be_bytes());
    bytes.extend(body.as_bytes());
    bytes
}

/// Writes all bytes.
pub(crate) async fn write_all(sink: &impl FrameSink, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match sink.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sink.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
