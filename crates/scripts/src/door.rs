//! The door that a script's calls come through on this machine: a Unix socket
//! in a folder that only the user can enter.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::desk::{Answer, Desk};
use crate::frames::{Frame, Frames, Sink, Source, framed, send};

/// Calls of one connection that are made at the same time.
const TOGETHER: usize = 32;
/// Connections at the same time.
const CONNECTIONS: usize = 64;
/// How long is waited after somebody could not be let in.
const PAUSE: Duration = Duration::from_millis(20);

/// A door that is open as long as this lives.
#[derive(Debug)]
pub(crate) struct Door {
    path: PathBuf,
    porter: JoinHandle<()>,
}

impl Door {
    /// Opens one at this place.
    pub(crate) fn open(path: &Path, desk: Arc<Desk>) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let porter = tokio::spawn(welcome(listener, desk));
        Ok(Self { path: path.to_owned(), porter })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.porter.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn welcome(listener: UnixListener, desk: Arc<Desk>) {
    // They go when this task does.
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = listener.accept(), if guests.len() < CONNECTIONS => match guest {
                Ok((stream, _)) => drop(guests.spawn(attend(stream, Arc::clone(&desk)))),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = guests.join_next(), if !guests.is_empty() => {}
        }
    }
}

async fn attend(stream: UnixStream, desk: Arc<Desk>) {
    let frames = Frames::plain(&stream, Arc::clone(&desk.large));
    talk(frames, &stream, Speakers::One, &desk).await;
}

/// Who speaks on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speakers {
    /// One.
    One,
    /// Several, each with a tag.
    Many,
}

/// Answers all that is asked on a stream, several at the same time. Calls of
/// somebody who has gone are still brought to their end.
pub(crate) async fn talk<S: Source>(
    mut frames: Frames<'_, S>,
    sink: &impl Sink,
    speakers: Speakers,
    desk: &Arc<Desk>,
) {
    let make = async |frame: Frame| -> (u32, Answer) {
        let Frame { tag, bytes, permit } = frame;
        let answer = desk.answer(bytes).await;
        drop(permit);
        (tag, answer)
    };
    let mut calls = FuturesUnordered::new();
    let mut listens = true;
    let mut speaks = true;
    while listens || !calls.is_empty() {
        tokio::select! {
            Some(made) = calls.next(), if !calls.is_empty() => {
                let (tag, answer): (u32, Answer) = made;
                let tag = (speakers == Speakers::Many).then_some(tag);
                speaks = speaks && send(sink, &framed(tag, &answer.text)).await.is_ok();
                listens &= speaks && !(answer.hang_up && speakers == Speakers::One);
            }
            frame = frames.next(), if listens && calls.len() < TOGETHER => match frame {
                Ok(Some(frame)) => calls.push(make(frame)),
                _ => listens = false,
            },
        }
    }
}
