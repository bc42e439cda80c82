//! The local transport for a script's calls: a Unix socket in a directory that
//! only the user can enter.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::dispatcher::{RpcDispatcher, RpcResponse};
use crate::frames::{FrameReader, FrameSink, FrameSource, RpcFrame, encode_frame, write_all};

/// Concurrent calls per connection.
const MAX_CONCURRENT_CALLS: usize = 32;
/// Concurrent connections.
const MAX_CONNECTIONS: usize = 64;
/// Pause after `accept` failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// A socket that listens until it is dropped.
#[derive(Debug)]
pub(crate) struct RpcSocket {
    path: PathBuf,
    accept_task: JoinHandle<()>,
}

impl RpcSocket {
    /// Listens on this path.
    pub(crate) fn open(path: &Path, desk: Arc<RpcDispatcher>) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let porter = tokio::spawn(accept_connections(listener, desk));
        Ok(Self { path: path.to_owned(), accept_task: porter })
    }
}

impl Drop for RpcSocket {
    fn drop(&mut self) {
        self.accept_task.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn accept_connections(listener: UnixListener, desk: Arc<RpcDispatcher>) {
    // The connections end with this task.
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = listener.accept(), if guests.len() < MAX_CONNECTIONS => match guest {
                Ok((stream, _)) => drop(guests.spawn(serve_connection(stream, Arc::clone(&desk)))),
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            },
            Some(_) = guests.join_next(), if !guests.is_empty() => {}
        }
    }
}

async fn serve_connection(stream: UnixStream, desk: Arc<RpcDispatcher>) {
    let frames = FrameReader::untagged(&stream, Arc::clone(&desk.large_messages));
    serve_stream(frames, &stream, StreamMode::Single, &desk).await;
}

/// How many senders share a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamMode {
    /// One.
    Single,
    /// Several, each with a tag.
    Multiplexed,
}

/// Serves the requests of a stream concurrently. Calls of a disconnected client
/// still run to completion.
pub(crate) async fn serve_stream<S: FrameSource>(
    mut frames: FrameReader<'_, S>,
    sink: &impl FrameSink,
    speakers: StreamMode,
    desk: &Arc<RpcDispatcher>,
) {
    let make = async |frame: RpcFrame| -> (u32, RpcResponse) {
        let RpcFrame { tag, bytes, permit } = frame;
        let answer = desk.handle_request(bytes).await;
        drop(permit);
        (tag, answer)
    };
    let mut calls = FuturesUnordered::new();
    let mut listens = true;
    let mut speaks = true;
    while listens || !calls.is_empty() {
        tokio::select! {
            Some(made) = calls.next(), if !calls.is_empty() => {
                let (tag, answer): (u32, RpcResponse) = made;
                let tag = (speakers == StreamMode::Multiplexed).then_some(tag);
                speaks = speaks && write_all(sink, &encode_frame(tag, &answer.text)).await.is_ok();
                listens &= speaks && !(answer.hang_up && speakers == StreamMode::Single);
            }
            frame = frames.next(), if listens && calls.len() < MAX_CONCURRENT_CALLS => match frame {
                Ok(Some(frame)) => calls.push(make(frame)),
                _ => listens = false,
            },
        }
    }
}
